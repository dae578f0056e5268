use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Says that the task that wrote an RDD block has succeeded, so that others may read it. Ask to
/// `BlockManagerEndpoint1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$MarkRDDBlockAsVisible",
    rename_all = "camelCase"
)]
pub struct MarkRddBlockAsVisible {
    /// Which.
    pub block_id: BlockId,
}

message!(
    MarkRddBlockAsVisible,
    "org.apache.spark.storage.BlockManagerMessages$MarkRDDBlockAsVisible"
);
