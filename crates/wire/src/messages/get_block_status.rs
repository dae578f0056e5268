use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Asks what the executor has of a block. Ask to `BlockManagerEndpoint1`; the reply is an
/// `Option[BlockStatus]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetBlockStatus",
    rename_all = "camelCase"
)]
pub struct GetBlockStatus {
    /// Which.
    pub block_id: BlockId,
    /// Meant for the driver: whether it shall ask the executors.
    pub ask_storage_endpoints: bool,
}

message!(
    GetBlockStatus,
    "org.apache.spark.storage.BlockManagerMessages$GetBlockStatus"
);
