//! What happens to a running executor and what it does next: the alphabet of [`super::core`].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use wire::task_description::{TaskCpus, TaskDescription, TaskResource};

use super::native::NativeAttempt;
use crate::report::TaskEnd;

/// Time since the start of the process.
pub type Time = Duration;

/// Names a request of the driver that waits for our reply.
pub type RequestId = u64;

/// What a `StatusUpdate` repeats of a task's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskHeader {
    /// Cores.
    pub cpus: TaskCpus,
    /// Custom resources.
    pub resources: Vec<TaskResource>,
}

impl From<&TaskDescription> for TaskHeader {
    fn from(description: &TaskDescription) -> Self {
        Self {
            cpus: description.cpus,
            resources: description.resources.clone(),
        }
    }
}

/// What the driver says to endpoint `Executor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverCommand {
    /// `LaunchTask`
    LaunchTask {
        /// The task.
        description: Box<TaskDescription>,
        /// Why it goes to the jvm lane unseen; else the native lanes look at it first.
        delegated: Option<String>,
    },
    /// `LaunchTask` whose task description cannot be read.
    UnreadableTask(String),
    /// `KillTask`
    KillTask {
        /// Task attempt id.
        task_id: i64,
        /// Text for the driver's UI.
        reason: String,
    },
    /// `StopExecutor`
    StopExecutor,
    /// `DecommissionExecutor`
    Decommission,
    /// `UpdateDelegationTokens`
    UpdateDelegationTokens,
    /// `UpdateExecutorLogLevel`
    UpdateLogLevel(String),
    /// `TaskThreadDump`, an ask
    TaskThreadDump {
        /// Task attempt id.
        task_id: i64,
    },
    /// A message that this version of Firesteel does not know; the class name.
    Unknown(String),
}

/// What the native lanes say of a task.
#[derive(Debug)]
pub enum Verdict {
    /// A lane runs it.
    Run(Arc<NativeAttempt>),
    /// The jvm lane shall run it; why.
    Delegate(String),
}

/// A reply that Rust gives by itself to an ask of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// `java.lang.Boolean`
    Boolean(bool),
    /// `java.lang.Integer`: how many blocks were removed
    Integer(i32),
    /// `scala.None`
    None,
    /// An empty `Seq`
    EmptySeq,
    /// An empty `String[]`
    NoStrings,
    /// `scala.runtime.BoxedUnit`
    Unit,
    /// A failure that says that nobody answers here.
    NoSuchEndpoint,
}

/// A message from the embedded JVM, as far as Rust looks into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JvmMessage {
    /// `RegisterExecutor`: the JVM's backend introduces itself.
    RegisterExecutor,
    /// `RegisterBlockManager`
    RegisterBlockManager {
        /// True when the JVM was told to register again and will report its blocks afterwards.
        again: bool,
    },
    /// `LaunchedExecutor`: the JVM accepts tasks from now on.
    LaunchedExecutor,
    /// `CheckExistence` of an endpoint that every driver has.
    CheckKnownEndpoint,
    /// `Heartbeat`
    Heartbeat,
    /// `StatusUpdate`
    StatusUpdate {
        /// Task attempt id.
        task_id: i64,
        /// How the attempt ended; `None` while it runs.
        end: Option<TaskEnd>,
    },
    /// `RemoveExecutor`: the JVM's backend is about to exit.
    RemoveExecutor,
    /// An ask for the outputs of this shuffle, or of one that is not known: forwarded as it is.
    AskMapOutputs(Option<i32>),
    /// Anything else: forwarded as it is.
    Other,
}

/// What happens to the executor.
#[derive(Debug)]
pub enum Input {
    /// A message to endpoint `Executor`.
    Driver {
        /** The message. */
        command: DriverCommand,
        /** Its bytes. */
        envelope: Bytes,
        /** Set for an ask. */
        request: Option<RequestId>,
    },
    /// A message to any other endpoint of ours, with the reply that is right while no JVM runs.
    Endpoint {
        /** That reply. */
        without_jvm: Reply,
        /** The message's bytes. */
        envelope: Bytes,
        /** Set for an ask. */
        request: Option<RequestId>,
    },
    /// `TriggerThreadDump`, which is always an ask.
    ThreadDump {
        /** The message's bytes. */
        envelope: Bytes,
        /** The ask. */
        request: RequestId,
    },
    /// A message of the JVM; `ask` names it if the JVM waits for an answer.
    Jvm {
        /** The message. */
        message: JvmMessage,
        /** Its bytes. */
        envelope: Bytes,
        /** Set for an ask. */
        ask: Option<i64>,
    },
    /// The answer to [`Output::Judge`].
    TaskJudged {
        /** Task attempt id. */
        task_id: i64,
        /** Who runs it. */
        verdict: Verdict,
    },
    /// A native lane is done with an attempt.
    TaskEnded {
        /** Task attempt id. */
        task_id: i64,
        /** How it ended. */
        end: TaskEnd,
        /** The `StatusUpdate` that says so, in its envelope. */
        update: Bytes,
    },
    /// A native lane gave an attempt up before anything of it was visible; why.
    TaskBailedOut {
        /** Task attempt id. */
        task_id: i64,
        /** One of a few texts. */
        reason: String,
    },
    /// The answer to [`Output::Heartbeat`]: whether the driver wants the block manager to register again, or why there
    /// is none.
    HeartbeatAnswer {
        /** The beat was the JVM's, which has the answer too. */
        from_jvm: bool,
        /** The answer. */
        answer: Result<bool, String>,
    },
    /// The answer to [`Output::Reregister`]: whether the driver accepted, or why there is none.
    ReregisterAnswer(Result<bool, String>),
    /// The answer to [`Output::AskDecommission`].
    DecommissionAnswer(bool),
    /// The answer to [`Output::AskMigration`].
    MigrationInfo {
        /** What began before this time and was not seen then may still have to move; the end of all times if nothing moves any more. */
        since: Time,
        /** Nothing is left to move. */
        done: bool,
    },
    /// The JVM could not be created or its Spark side did not start.
    JvmFailed(String),
    /// The connection to the driver is gone.
    DriverLost {
        /** `host:port` */
        driver: String,
    },
    /// The connection to the standalone Worker is gone.
    WorkerLost {
        /** The worker's URL. */
        url: String,
    },
    /// `SIGTERM` (while no JVM handles it).
    Terminate,
    /// The decommission signal (while no JVM handles it).
    DecommissionSignal,
    /// A setting wants a JVM before the first task does; which.
    JvmWanted(String),
    /// The embedding program wants the executor to stop.
    Stop,
    /// Time has passed.
    Tick,
}

/// What the executor does next, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// Let the native lanes look at a task. Answered by [`Input::TaskJudged`].
    Judge(Box<TaskDescription>),
    /// Run a task in the native lane that accepted it. Answered by [`Input::TaskEnded`] or [`Input::TaskBailedOut`].
    RunNative(Arc<NativeAttempt>),
    /// Make a running native task stop; it still ends as asked by [`Output::RunNative`].
    KillNative {
        /** The task. */
        attempt: Arc<NativeAttempt>,
        /** The kill's reason. */
        reason: String,
    },
    /// Give memory that is free back to the system: the native lanes have had tasks, and have none now.
    TrimMemory,
    /// Create the JVM.
    StartJvm,
    /// Hand a one-way message of the driver to the JVM.
    JvmOneWay(Bytes),
    /// Hand an ask of the driver to the JVM; its reply goes back under the same id.
    JvmRequest(RequestId, Bytes),
    /// Tell the JVM's block manager that it is decommissioned, so that it moves its cached partitions. Its backend does
    /// not leave.
    JvmDecommissionBlocks,
    /// Hand the JVM a `DecommissionExecutor` of our own making: its backend leaves when it is done.
    JvmDecommission,
    /// Tell the JVM that the driver is gone.
    JvmDisconnected,
    /// Make the JVM exit with this code.
    JvmExit(i32),
    /// Answer an ask of the JVM: true.
    AnswerTrue(i64),
    /// Answer `RegisterBlockManager` of the JVM with our own block manager id.
    AnswerBlockManagerId(i64),
    /// Answer a heartbeat of the JVM without asking the driver: it shall register its block manager again.
    AnswerReregister(i64),
    /// Send the JVM's one-way message to the driver.
    Forward(Bytes),
    /// Send the JVM's ask to the driver and its answer to the JVM.
    ForwardAsk(i64, Bytes),
    /// Send the JVM's heartbeat (its ask and bytes). Answered by [`Input::HeartbeatAnswer`].
    ForwardHeartbeat(i64, Bytes),
    /// Send a heartbeat of our own, which says what native tasks have counted so far.
    Heartbeat {
        /** It stands for the executor, and is answered by [`Input::HeartbeatAnswer`]. Else the JVM's does, and this
        one is sent beside it. */
        counts: bool,
        /** Native tasks. */
        running: Vec<Arc<NativeAttempt>>,
    },
    /// Register the block manager again; the raw answer also goes to this ask of the JVM, if any. Answered by
    /// [`Input::ReregisterAnswer`].
    Reregister(Option<i64>),
    /// Ask the driver to decommission us. Answered by [`Input::DecommissionAnswer`].
    AskDecommission,
    /// Take no more blocks, and begin to move those of the native lanes and the files of all shuffles to other
    /// executors.
    StartMigration,
    /// Look at once whether there is more to move: tasks have ended.
    MigrateAgain,
    /// Look how far that is. Answered by [`Input::MigrationInfo`].
    AskMigration,
    /// Tell the driver that an attempt was killed before it began.
    TaskKilled {
        /** Task attempt id. */
        task_id: i64,
        /** The kill's reason. */
        reason: String,
        /** What the attempt occupied. */
        header: TaskHeader,
    },
    /// Tell the driver why this executor leaves.
    RemoveExecutor {
        /** Why. */
        reason: String,
    },
    /// Reply to an ask of the driver.
    Reply(RequestId, Reply),
    /// Reply with all threads of the process, among them those of these native tasks.
    ReplyThreads(RequestId, Vec<Arc<NativeAttempt>>),
    /// Reply with the thread of a native task, if there is one.
    ReplyThread(RequestId, Option<Arc<NativeAttempt>>),
    /// Change the log level.
    SetLogLevel(String),
    /// End the process with this code.
    Exit(i32),
}
