use super::message;
use serde::{Deserialize, Serialize};

/// Asks the driver for the configuration of the application. Ask to `CoarseGrainedScheduler`; the
/// reply is [`SparkAppConfig`](super::SparkAppConfig).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RetrieveSparkAppConfig",
    rename_all = "camelCase"
)]
pub struct RetrieveSparkAppConfig {
    /// The resource profile the executor was started for; 0 is the default one.
    pub resource_profile_id: i32,
}

message!(
    RetrieveSparkAppConfig,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RetrieveSparkAppConfig"
);
