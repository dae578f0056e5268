//! The jvm lane: the only code that names `jni`.
//!
//! One JVM per process, created on a thread of its own from the launch command's options. Inside it Spark's own
//! executor backend runs unmodified; only its RPC transport is replaced (see `jvm-bridge/`): every envelope that it
//! would write to the driver's socket is handed to a [`JvmHost`], and everything the driver sends is pushed into the
//! JVM through a [`JvmLane`].
//!
//! ```text
//!   executor ──JvmLane──▶ event queues ──nextEvent()──▶ Java threads ──▶ Spark's Dispatcher, BlockManager
//!   executor ◀──JvmHost── native methods ◀──────────── Spark's Outbox, call contexts, backend
//! ```
mod natives;
mod queue;
mod vm;

use std::ffi::CString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};

pub use vm::end_process;

use queue::{Event, EventKind, EventQueue};

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

/// The executor as the JVM sees it. Called on Java threads: nothing here may block, except [`JvmHost::open_stream`]
/// and [`JvmHost::read_stream`].
pub trait JvmHost: Send + Sync {
    /// A one-way message for the driver: a whole request envelope.
    fn tell(&self, envelope: Vec<u8>);
    /// A question for the driver; answer with [`JvmLane::ask_reply`] or [`JvmLane::ask_failure`]. The JVM keeps its
    /// own timeouts: a late or missing answer does no harm.
    fn ask(&self, id: i64, envelope: Vec<u8>);
    /// The answer to [`JvmLane::rpc_request`]: the reply's object stream, or the stack trace of what went wrong.
    fn reply(&self, request_id: i64, content: Result<Vec<u8>, String>);
    /// The answer to [`JvmLane::get_block`].
    fn block(&self, request_id: i64, body: JvmBlock);
    /// The answer to [`JvmLane::upload`] and [`JvmLane::upload_stream`]: the response body, or a stack trace.
    fn uploaded(&self, request_id: i64, result: Result<Vec<u8>, String>);
    /// Opens a file of the driver's file server (`spark://host:port/jars/x.jar`). The error text reaches the reader
    /// in the JVM unchanged; Spark's class loader for REPL classes looks for ``Stream '...' was not found.``
    fn open_stream(&self, uri: &str) -> Result<i64, String>;
    /// Reads the next bytes of a stream; 0 is its end.
    fn read_stream(&self, handle: i64, buf: &mut [u8]) -> Result<usize, String>;
    /// Forgets a stream.
    fn close_stream(&self, handle: i64);
    /// Asked once, before the JVM is created.
    fn bootstrap(&self) -> Bootstrap;
    /// Spark's environment exists and the `Executor` endpoint takes messages. Tasks must wait longer: until the
    /// backend tells `LaunchedExecutor`.
    fn started(&self);
    /// The JVM could not be created or the backend's main method failed; with the whole stack trace.
    fn failed(&self, message: String);
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

/// Everything the native methods reach: one per process, as the JVM is.
pub(crate) struct Shared {
    host: Arc<dyn JvmHost>,
    bootstrap: Bootstrap,
    messages: EventQueue,
    blocks: EventQueue,
    partial_blocks: parking_lot::Mutex<std::collections::HashMap<i64, Vec<u8>>>,
}

static CLAIMED: AtomicBool = AtomicBool::new(false);
static SHARED: OnceLock<Arc<Shared>> = OnceLock::new();

/// A running (or starting) JVM. Cheap to clone; all methods queue and return at once.
#[derive(Clone)]
pub struct JvmLane {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for JvmLane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JvmLane").finish_non_exhaustive()
    }
}

impl JvmLane {
    /// Starts the JVM on a new thread and returns without waiting for it; [`JvmHost::started`] or
    /// [`JvmHost::failed`] follows. What is queued before then is delivered after.
    ///
    /// # Errors
    /// When a JVM was started before, the library or an option is unusable, or no thread can be had. Everything that
    /// goes wrong later is told to [`JvmHost::failed`].
    pub fn start(config: JvmConfig, host: Arc<dyn JvmHost>) -> Result<Self, JvmError> {
        if !config.libjvm.is_file() {
            return Err(JvmError::NoLibrary {
                path: config.libjvm,
            });
        }
        let options = config
            .options
            .into_iter()
            .map(|o| {
                CString::new(o).map_err(|e| {
                    JvmError::BadOption(String::from_utf8_lossy(&e.into_vec()).into_owned())
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        if CLAIMED.swap(true, Ordering::AcqRel) {
            return Err(JvmError::AlreadyStarted);
        }
        let bootstrap = host.bootstrap();
        let shared = Arc::clone(SHARED.get_or_init(|| {
            Arc::new(Shared {
                host,
                bootstrap,
                messages: EventQueue::default(),
                blocks: EventQueue::default(),
                partial_blocks: parking_lot::Mutex::default(),
            })
        }));
        vm::spawn(
            config.libjvm,
            options,
            config.stack_size,
            Arc::clone(&shared),
        )
        .map_err(JvmError::Thread)?;
        Ok(Self { shared })
    }

    /// A request of the driver (with its envelope) for an endpoint in the JVM; answered by [`JvmHost::reply`].
    pub fn rpc_request(&self, id: i64, envelope: impl Into<Bytes>) {
        self.message(EventKind::RpcRequest, id, envelope.into());
    }

    /// A one-way message of the driver (with its envelope) for an endpoint in the JVM.
    pub fn one_way(&self, envelope: impl Into<Bytes>) {
        self.message(EventKind::OneWay, 0, envelope.into());
    }

    /// The driver's answer to [`JvmHost::ask`]: an object stream without envelope. Unknown ids are ignored.
    pub fn ask_reply(&self, id: i64, body: impl Into<Bytes>) {
        self.message(EventKind::AskReply, id, body.into());
    }

    /// An ask failed in transport; the JVM's asker sees a `RuntimeException` with this message.
    pub fn ask_failure(&self, id: i64, message: &str) {
        self.message(
            EventKind::AskFailure,
            id,
            Bytes::copy_from_slice(message.as_bytes()),
        );
    }

    /// Reads a block of the JVM's block manager by its name; answered by [`JvmHost::block`].
    pub fn get_block(&self, id: i64, name: &str) {
        self.block(
            EventKind::GetBlock,
            id,
            Bytes::copy_from_slice(name.as_bytes()),
        );
    }

    /// An `UploadBlock` RPC body of a peer; answered by [`JvmHost::uploaded`].
    pub fn upload(&self, id: i64, body: impl Into<Bytes>) {
        self.block(EventKind::Upload, id, body.into());
    }

    /// An upload stream of a peer: its `UploadBlockStream` header, and the stream's bytes in a file that the caller
    /// deletes after [`JvmHost::uploaded`]. The path must be UTF-8.
    pub fn upload_stream(&self, id: i64, header: &[u8], file: &std::path::Path) {
        let path = file.to_string_lossy();
        let mut payload = BytesMut::with_capacity(4 + header.len() + path.len());
        // A header is part of a frame, and frames are limited to 2 GiB.
        payload.put_i32(i32::try_from(header.len()).unwrap_or(i32::MAX));
        payload.put_slice(header);
        payload.put_slice(path.as_bytes());
        self.block(EventKind::UploadStream, id, payload.freeze());
    }

    /// The connection to the driver is lost: Spark's backend is told so and ends the process with its own code.
    pub fn disconnected(&self) {
        self.message(EventKind::Disconnected, 0, Bytes::new());
    }

    /// Runs `System.exit(code)`: shutdown hooks, then [`JvmHost::exiting`]. Waits in the queue until the backend has
    /// made its RPC environment; a JVM that failed to start does not answer.
    pub fn exit(&self, code: i32) {
        self.message(EventKind::Exit, i64::from(code), Bytes::new());
    }

    fn message(&self, kind: EventKind, id: i64, payload: Bytes) {
        self.shared.messages.push(Event { kind, id, payload });
    }

    fn block(&self, kind: EventKind, id: i64, payload: Bytes) {
        self.shared.blocks.push(Event { kind, id, payload });
    }
}

impl Shared {
    /// The process-wide state, once [`JvmLane::start`] was called.
    pub(crate) fn get() -> Option<&'static Arc<Self>> {
        SHARED.get()
    }
}

impl Bootstrap {
    /// The command line of the backend's main method. The worker URL is left out on purpose: the native side watches
    /// the worker, and one watcher per executor is enough.
    fn arguments(&self) -> Vec<String> {
        let mut args: Vec<String> = Vec::with_capacity(18);
        let mut add = |name: &str, value: &str| {
            args.push(name.to_owned());
            args.push(value.to_owned());
        };
        add("--driver-url", &self.driver_url);
        add("--executor-id", &self.executor_id);
        add("--bind-address", &self.bind_address);
        add("--hostname", &self.hostname);
        add("--cores", &self.cores.to_string());
        add("--app-id", &self.app_id);
        add("--resourceProfileId", &self.resource_profile_id.to_string());
        if let Some(file) = &self.resources_file {
            add("--resourcesFile", file);
        }
        if let Some(pod) = &self.pod_name {
            add("--podName", pod);
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl JvmHost for Nobody {
        fn tell(&self, _: Vec<u8>) {}
        fn ask(&self, _: i64, _: Vec<u8>) {}
        fn reply(&self, _: i64, _: Result<Vec<u8>, String>) {}
        fn block(&self, _: i64, _: JvmBlock) {}
        fn uploaded(&self, _: i64, _: Result<Vec<u8>, String>) {}
        fn open_stream(&self, _: &str) -> Result<i64, String> {
            Ok(0)
        }
        fn read_stream(&self, _: i64, _: &mut [u8]) -> Result<usize, String> {
            Ok(0)
        }
        fn close_stream(&self, _: i64) {}
        fn bootstrap(&self) -> Bootstrap {
            panic!("refused before the host is asked")
        }
        fn started(&self) {}
        fn failed(&self, _: String) {}
        fn exiting(&self, _: i32) -> AfterExit {
            AfterExit::EndProcess
        }
    }

    #[test]
    fn what_cannot_work_is_refused_before_anything_starts() {
        let mut config = JvmConfig {
            libjvm: "/nonexistent/libjvm.so".into(),
            options: vec!["-Da=\0".into()],
            stack_size: 0,
        };
        assert!(matches!(
            JvmLane::start(config.clone(), Arc::new(Nobody)),
            Err(JvmError::NoLibrary { path }) if path == config.libjvm
        ));
        config.libjvm = std::env::current_exe().unwrap();
        assert!(matches!(
            JvmLane::start(config, Arc::new(Nobody)),
            Err(JvmError::BadOption(text)) if text == "-Da=\0"
        ));
    }

    #[test]
    fn arguments_are_sparks() {
        let bootstrap = Bootstrap {
            driver_url: "spark://CoarseGrainedScheduler@d:1".into(),
            executor_id: "3".into(),
            bind_address: "127.0.0.1".into(),
            hostname: "h".into(),
            cores: 2,
            app_id: "app-1".into(),
            pod_name: Some("p".into()),
            ..Bootstrap::default()
        };
        assert_eq!(
            bootstrap.arguments().join(" "),
            "--driver-url spark://CoarseGrainedScheduler@d:1 --executor-id 3 --bind-address 127.0.0.1 --hostname h \
             --cores 2 --app-id app-1 --resourceProfileId 0 --podName p"
        );
    }
}
