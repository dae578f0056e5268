use super::message;
use crate::ids::BlockManagerId;
use serde::{Deserialize, Serialize};

/// Asks for all other executors that can take blocks. Ask to `BlockManagerMaster`; the reply is a
/// `Seq[BlockManagerId]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetPeers",
    rename_all = "camelCase"
)]
pub struct GetPeers {
    /// Who asks.
    pub block_manager_id: BlockManagerId,
}

message!(
    GetPeers,
    "org.apache.spark.storage.BlockManagerMessages$GetPeers"
);
