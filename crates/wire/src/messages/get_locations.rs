use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Asks who has a block. Ask to `BlockManagerMaster`; the reply is a `Seq[BlockManagerId]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetLocations",
    rename_all = "camelCase"
)]
pub struct GetLocations {
    /// Which.
    pub block_id: BlockId,
}

message!(
    GetLocations,
    "org.apache.spark.storage.BlockManagerMessages$GetLocations"
);
