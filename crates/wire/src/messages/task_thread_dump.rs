use super::message;
use serde::{Deserialize, Serialize};

/// Asks for the stack of the thread that runs a task, from Spark 4.0. Ask to `Executor`; the reply
/// is an `Option[ThreadStackTrace]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$TaskThreadDump",
    rename_all = "camelCase"
)]
pub struct TaskThreadDump {
    /// The attempt.
    pub task_id: i64,
}

message!(
    TaskThreadDump,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$TaskThreadDump"
);
