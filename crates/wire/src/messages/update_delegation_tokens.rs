use super::message;
use serde::{Deserialize, Serialize};

/// New Hadoop credentials for the application. One-way to `Executor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$UpdateDelegationTokens",
    rename_all = "camelCase"
)]
pub struct UpdateDelegationTokens {
    /// Hadoop's token storage stream.
    #[serde(with = "super::java::byte_array")]
    pub tokens: Vec<u8>,
}

message!(
    UpdateDelegationTokens,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$UpdateDelegationTokens"
);
