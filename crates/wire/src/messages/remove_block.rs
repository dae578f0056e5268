use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Asks the executor to drop a block. Ask to `BlockManagerEndpoint1`; the reply is a Boolean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$RemoveBlock",
    rename_all = "camelCase"
)]
pub struct RemoveBlock {
    /// Which.
    pub block_id: BlockId,
}

message!(
    RemoveBlock,
    "org.apache.spark.storage.BlockManagerMessages$RemoveBlock"
);
