//! The embedded JVM as the executor sees it, and the executor as the JVM sees it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use wire::ids::BlockId;

/// What the JVM needs before it exists.
#[derive(Debug, Clone)]
pub struct JvmConfig {
    /// `lib/server/libjvm.so` of the JDK to load.
    pub libjvm: PathBuf,
    /// Options in JNI form (`-Xmx1g`, `-Dname=value`, `--add-opens=...`), the class path included as
    /// `-Djava.class.path=` with the bridge jar in front.
    pub options: Vec<String>,
    /// Stack of the thread that becomes Java's `main`, in bytes; 0 means 8 MiB.
    pub stack_size: usize,
}

/// What Spark's backend inside the JVM has to know about the executor that hosts it.
#[derive(Debug, Clone, Default)]
pub struct Bootstrap {
    /// Main class of the launch command, e.g. `org.apache.spark.executor.CoarseGrainedExecutorBackend`.
    pub backend_class: String,
    /// `--driver-url`.
    pub driver_url: String,
    /// `--executor-id`, already resolved (Kubernetes: after `GenerateExecID`).
    pub executor_id: String,
    /// Address that the JVM's own block transfer service binds; used for outgoing fetches only.
    pub bind_address: String,
    /// `--hostname`.
    pub hostname: String,
    /// `--cores`.
    pub cores: u32,
    /// `--app-id`.
    pub app_id: String,
    /// `--resourcesFile`.
    pub resources_file: Option<String>,
    /// `--resourceProfileId`.
    pub resource_profile_id: i32,
    /// `--podName` (Kubernetes).
    pub pod_name: Option<String>,
    /// The driver's answer to `RetrieveSparkAppConfig`, as it came: a Java object stream.
    pub spark_app_config: Bytes,
    /// The executor's `blockmgr-*` directories; the JVM's disk block manager uses these and drops its own.
    pub local_dirs: Vec<PathBuf>,
}

/// A block read out of the JVM's block manager.
#[derive(Debug)]
pub enum JvmBlock {
    /// There is no such block, or it could not be read; the text of Spark's exception.
    NotFound(String),
    /// The block's bytes.
    Bytes(Vec<u8>),
    /// The block is this part of a file. Opened while the JVM still held the block, so a later delete does no harm.
    File {
        /// The open file.
        file: File,
        /// First byte of the block.
        offset: u64,
        /// Length in bytes.
        len: u64,
    },
}

/// The executor as the JVM sees it. Called on Java threads: nothing here may block, except [`JvmHost::open_stream`],
/// [`JvmHost::read_stream`] and [`JvmHost::next_rows`].
pub trait JvmHost: Send + Sync {
    /// A one-way message for the driver: a whole request envelope.
    fn tell(&self, envelope: Vec<u8>);
    /// A question for the driver; answer with [`Jvm::ask_reply`] or [`Jvm::ask_failure`]. The JVM keeps its
    /// own timeouts: a late or missing answer does no harm.
    fn ask(&self, id: i64, envelope: Vec<u8>);
    /// The answer to [`Jvm::rpc_request`]: the reply's object stream, or the stack trace of what went wrong.
    fn reply(&self, request_id: i64, content: Result<Vec<u8>, String>);
    /// The answer to [`Jvm::get_block`].
    fn block(&self, request_id: i64, body: JvmBlock);
    /// The answer to [`Jvm::upload`] and [`Jvm::upload_stream`]: the response body, or a stack trace.
    fn uploaded(&self, request_id: i64, result: Result<Vec<u8>, String>);
    /// Opens a file of the driver's file server (`spark://host:port/jars/x.jar`). The error text reaches the reader
    /// in the JVM unchanged; Spark's class loader for REPL classes looks for ``Stream '...' was not found.``
    fn open_stream(&self, uri: &str) -> Result<i64, String>;
    /// Reads the next bytes of a stream; 0 is its end.
    fn read_stream(&self, handle: i64, buf: &mut [u8]) -> Result<usize, String>;
    /// Forgets a stream.
    fn close_stream(&self, handle: i64);
    /// What the evaluator of this number has to look at next, after waiting for it; `None` if it has to end.
    fn next_rows(&self, id: i64) -> Option<Vec<u8>>;
    /// Results for what [`Self::next_rows`] gave, or the stack trace of what went wrong.
    fn rows_done(&self, id: i64, result: Result<Vec<u8>, String>);
    /// An evaluator has ended, or could not begin: what went wrong, if something did.
    fn evaluator_ended(&self, id: i64, failure: Option<String>);
    /// Asked once, before the JVM is created.
    fn bootstrap(&self) -> Bootstrap;
    /// Spark's environment exists and the `Executor` endpoint takes messages. Tasks must wait longer: until the
    /// backend tells `LaunchedExecutor`.
    fn started(&self);
    /// The JVM could not be created or the backend's main method failed; with the whole stack trace.
    fn failed(&self, message: String);
    /// The JVM begins to end, for whatever reason: its shutdown hooks run now, and [`Self::exiting`] follows if the
    /// process is not killed before.
    fn shutting_down(&self) {}
    /// The JVM is about to end the process with this code (`System.exit`, `Runtime.halt`): last words. Called on a
    /// JVM-internal thread at a safepoint: Java is stopped for good. The answer says whether the process ends too.
    fn exiting(&self, code: i32) -> AfterExit;
    /// The JVM is about to abort (fatal error, or bad options during creation). The JVM ends the process afterwards.
    fn aborting(&self) {}
}

/// What becomes of the process when Java code ends "the process".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterExit {
    /// It ends, with the same code.
    EndProcess,
    /// It goes on, for it belongs to a host program. The JVM stays as it is, stopped for ever.
    StopJvm,
}

/// Why the JVM could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JvmError {
    /// JNI allows one JVM per process.
    #[error("a JVM was already started in this process; there can be only one")]
    AlreadyStarted,
    /// The JDK's library is not where it should be.
    #[error(
        "cannot load the JVM: {path} does not exist; set FIRESTEEL_JAVA_HOME to a JDK 17 or newer"
    )]
    NoLibrary {
        /// The path that was tried.
        path: PathBuf,
    },
    /// An option contains a NUL character.
    #[error("the JVM option {0:?} contains a NUL character")]
    BadOption(String),
    /// The operating system refused a thread.
    #[error("cannot create the JVM's thread: {0}")]
    Thread(std::io::Error),
}

/// Where a JVM comes from. There can be one per process.
pub trait Jvms: std::fmt::Debug + Send + Sync {
    /// Starts the JVM on a new thread and returns without waiting for it; [`JvmHost::started`] or [`JvmHost::failed`]
    /// follows. What is queued before then is delivered after.
    ///
    /// # Errors
    /// When a JVM was started before, the library or an option is unusable, or no thread can be had. Everything that
    /// goes wrong later is told to [`JvmHost::failed`].
    fn start(&self, config: JvmConfig, host: Arc<dyn JvmHost>) -> Result<Arc<dyn Jvm>, JvmError>;

    /// Whether a JVM lives in this process, or is being created.
    fn exists(&self) -> bool;

    /// Ends this process with a code, past the JVM's own exit hooks.
    fn end_process(&self, code: i32) -> !;
}

/// A running (or starting) JVM. All methods queue and return at once.
pub trait Jvm: Send + Sync {
    /// A request of the driver (with its envelope) for an endpoint in the JVM; answered by [`JvmHost::reply`].
    fn rpc_request(&self, id: i64, envelope: Bytes);

    /// A one-way message of the driver (with its envelope) for an endpoint in the JVM.
    fn one_way(&self, envelope: Bytes);

    /// The driver's answer to [`JvmHost::ask`]: an object stream without envelope. Unknown ids are ignored.
    fn ask_reply(&self, id: i64, body: Bytes);

    /// An ask failed in transport; the JVM's asker sees a `RuntimeException` with this message.
    fn ask_failure(&self, id: i64, message: &str);

    /// Reads a block of the JVM's block manager; answered by [`JvmHost::block`].
    fn get_block(&self, id: i64, block: &BlockId);

    /// An `UploadBlock` RPC body of a peer; answered by [`JvmHost::uploaded`].
    fn upload(&self, id: i64, body: Bytes);

    /// An upload stream of a peer: its `UploadBlockStream` header, and the stream's bytes in a file that the caller
    /// deletes after [`JvmHost::uploaded`]. The path must be UTF-8.
    fn upload_stream(&self, id: i64, header: &[u8], file: &Path);

    /// Starts a task that evaluates expressions; it asks [`JvmHost::next_rows`]. The payload says for which task.
    fn start_evaluator(&self, id: i64, payload: Bytes);

    /// Makes an evaluator stop, by interrupting its thread if `interrupts`.
    fn kill_evaluator(&self, id: i64, interrupts: bool, reason: &str);

    /// The connection to the driver is lost: Spark's backend is told so and ends the process with its own code.
    fn disconnected(&self);

    /// Runs `System.exit(code)`: shutdown hooks, then [`JvmHost::exiting`]. Waits in the queue until the backend has
    /// made its RPC environment; a JVM that failed to start does not answer.
    fn exit(&self, code: i32);
}
