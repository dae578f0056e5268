use super::message;
use serde::{Deserialize, Serialize};

/// Changes the log level, from Spark 4.0. One-way to `Executor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$UpdateExecutorLogLevel",
    rename_all = "camelCase"
)]
pub struct UpdateExecutorLogLevel {
    /// A Log4j level such as `DEBUG`.
    pub log_level: String,
}

message!(
    UpdateExecutorLogLevel,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$UpdateExecutorLogLevel"
);
