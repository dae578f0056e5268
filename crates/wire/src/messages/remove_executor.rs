use super::message;
use serde::{Deserialize, Serialize};

/// Says that the executor is about to leave. One-way to `CoarseGrainedScheduler`; the driver
/// answers with [`StopExecutor`](super::StopExecutor).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RemoveExecutor",
    rename_all = "camelCase"
)]
pub struct RemoveExecutor {
    /// Who.
    pub executor_id: String,
    /// Why.
    pub reason: ExecutorLossReason,
}

message!(
    RemoveExecutor,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RemoveExecutor"
);

/// `org.apache.spark.scheduler.ExecutorLossReason`. Executors send the base class; of a subclass
/// only the message is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.scheduler.ExecutorLossReason")]
pub struct ExecutorLossReason {
    /// Text for the driver's log and UI.
    pub message: String,
}
