use super::message;
use serde::{Deserialize, Serialize};

/// Tells the executor to move its blocks away and leave. One-way to `Executor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$DecommissionExecutor$"
)]
pub struct DecommissionExecutor;

message!(
    DecommissionExecutor,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$DecommissionExecutor$"
);
