use super::message;
use serde::{Deserialize, Serialize};

/// Says that the executor accepts tasks. One-way to `CoarseGrainedScheduler`; tasks may arrive at
/// once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$LaunchedExecutor",
    rename_all = "camelCase"
)]
pub struct LaunchedExecutor {
    /// Who.
    pub executor_id: String,
}

message!(
    LaunchedExecutor,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$LaunchedExecutor"
);
