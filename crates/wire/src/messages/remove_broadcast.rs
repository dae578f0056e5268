use super::message;
use serde::{Deserialize, Serialize};

/// Asks the executor to drop all pieces of a broadcast variable. Ask to `BlockManagerEndpoint1`;
/// the reply is how many there were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$RemoveBroadcast",
    rename_all = "camelCase"
)]
pub struct RemoveBroadcast {
    /// Which.
    pub broadcast_id: i64,
    /// Whether the driver drops its own copy too.
    pub remove_from_driver: bool,
}

message!(
    RemoveBroadcast,
    "org.apache.spark.storage.BlockManagerMessages$RemoveBroadcast"
);
