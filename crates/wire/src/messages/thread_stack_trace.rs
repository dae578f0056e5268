use serde::{Deserialize, Serialize};

/// A thread in a thread dump: an element of the reply to [`TriggerThreadDump`](super::TriggerThreadDump), and the reply
/// to [`TaskThreadDump`](super::TaskThreadDump).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.status.api.v1.ThreadStackTrace",
    rename_all = "camelCase",
    default
)]
pub struct ThreadStackTrace {
    /// Its number.
    pub thread_id: i64,
    /// Its name. The UI shows names with `Executor task launch worker` first.
    pub thread_name: String,
    /// What it does.
    pub thread_state: ThreadState,
    /// Where it is.
    pub stack_trace: StackTrace,
    /// The thread that has the lock that it waits for.
    pub blocked_by_thread_id: Option<i64>,
    /// That lock, or nothing.
    pub blocked_by_lock: String,
    /// Locks that it has.
    pub holding_locks: Vec<String>,
    /// Since Spark 4.0, as all that follow.
    pub synchronizers: Vec<String>,
    /// Monitors that it has.
    pub monitors: Vec<String>,
    /// Name of the lock that it waits for.
    pub lock_name: Option<String>,
    /// Name of the thread that has that lock.
    pub lock_owner_name: Option<String>,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether it runs native code.
    pub in_native: bool,
    /// Whether it is a daemon.
    pub is_daemon: bool,
    /// 1 to 10.
    pub priority: i32,
}

/// `java.lang.Thread.State`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "java.lang.Thread$State", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ThreadState {
    /// Not started.
    New,
    /// Runs, or could.
    #[default]
    Runnable,
    /// Waits for a monitor.
    Blocked,
    /// Waits for another thread.
    Waiting,
    /// The same for some time only.
    TimedWaiting,
    /// Has ended.
    Terminated,
}

/// The lines of a stack trace, the last call first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.status.api.v1.StackTrace")]
pub struct StackTrace {
    /// One call each.
    pub elems: Vec<String>,
}
