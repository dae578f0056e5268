use super::message;
use crate::ids::{BlockId, BlockManagerId};
use serde::{Deserialize, Serialize};

/// Asks the executor to copy a block to others. Ask to `BlockManagerEndpoint1`; the reply is a
/// Boolean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$ReplicateBlock",
    rename_all = "camelCase"
)]
pub struct ReplicateBlock {
    /// Which.
    pub block_id: BlockId,
    /// Who has it already.
    pub replicas: Vec<BlockManagerId>,
    /// How many copies there shall be.
    pub max_replicas: i32,
}

message!(
    ReplicateBlock,
    "org.apache.spark.storage.BlockManagerMessages$ReplicateBlock"
);
