use super::message;
use serde::{Deserialize, Serialize};

/// Tells the executor to stop and exit with code 0. One-way to `Executor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StopExecutor$")]
pub struct StopExecutor;

message!(
    StopExecutor,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StopExecutor$"
);
