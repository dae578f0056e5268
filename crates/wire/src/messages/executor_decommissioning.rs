use super::message;
use serde::{Deserialize, Serialize};

/// Asks the driver to give this executor no more tasks. Ask to `CoarseGrainedScheduler`; the reply
/// is a Boolean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$ExecutorDecommissioning",
    rename_all = "camelCase"
)]
pub struct ExecutorDecommissioning {
    /// Who.
    pub executor_id: String,
}

message!(
    ExecutorDecommissioning,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$ExecutorDecommissioning"
);
