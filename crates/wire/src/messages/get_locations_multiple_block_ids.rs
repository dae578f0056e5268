use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Asks who has each of several blocks. Ask to `BlockManagerMaster`; the reply is an
/// `IndexedSeq[Seq[BlockManagerId]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetLocationsMultipleBlockIds",
    rename_all = "camelCase"
)]
pub struct GetLocationsMultipleBlockIds {
    /// Which.
    pub block_ids: Vec<BlockId>,
}

message!(
    GetLocationsMultipleBlockIds,
    "org.apache.spark.storage.BlockManagerMessages$GetLocationsMultipleBlockIds"
);
