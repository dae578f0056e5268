use super::message;
use serde::{Deserialize, Serialize};

/// Asks the executor to delete the files of a shuffle. Ask to `BlockManagerEndpoint1`; the reply
/// is a Boolean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$RemoveShuffle",
    rename_all = "camelCase"
)]
pub struct RemoveShuffle {
    /// Which.
    pub shuffle_id: i32,
}

message!(
    RemoveShuffle,
    "org.apache.spark.storage.BlockManagerMessages$RemoveShuffle"
);
