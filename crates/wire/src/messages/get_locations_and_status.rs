use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Asks who has a block and how large it is. Ask to `BlockManagerMaster`; the reply is an
/// `Option[BlockLocationsAndStatus]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetLocationsAndStatus",
    rename_all = "camelCase"
)]
pub struct GetLocationsAndStatus {
    /// Which.
    pub block_id: BlockId,
    /// The host of whoever asks: of an executor on the same host the driver tells the directories too.
    pub requester_host: String,
}

message!(
    GetLocationsAndStatus,
    "org.apache.spark.storage.BlockManagerMessages$GetLocationsAndStatus"
);
