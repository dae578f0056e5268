use super::message;
use serde::{Deserialize, Serialize};

/// Tells the executor to end a task attempt; the attempt may have ended already. One-way to
/// `Executor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$KillTask",
    rename_all = "camelCase"
)]
pub struct KillTask {
    /// The attempt.
    pub task_id: i64,
    /// The executor that runs it.
    pub executor: String,
    /// Whether the thread of the task shall be interrupted.
    pub interrupt_thread: bool,
    /// Text for the driver's UI.
    pub reason: String,
}

message!(
    KillTask,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$KillTask"
);
