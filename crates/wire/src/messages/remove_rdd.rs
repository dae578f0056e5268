use super::message;
use serde::{Deserialize, Serialize};

/// Asks the executor to drop all blocks of an RDD. Ask to `BlockManagerEndpoint1`; the reply is
/// how many there were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$RemoveRdd",
    rename_all = "camelCase"
)]
pub struct RemoveRdd {
    /// Which.
    pub rdd_id: i32,
}

message!(
    RemoveRdd,
    "org.apache.spark.storage.BlockManagerMessages$RemoveRdd"
);
