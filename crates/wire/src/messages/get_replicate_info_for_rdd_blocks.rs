use super::message;
use crate::ids::BlockManagerId;
use serde::{Deserialize, Serialize};

/// Asks which RDD blocks of an executor that goes away have to be copied. Ask to `BlockManagerMaster`; the reply is a
/// `Seq[ReplicateBlock]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetReplicateInfoForRDDBlocks",
    rename_all = "camelCase"
)]
pub struct GetReplicateInfoForRddBlocks {
    /// Who goes away.
    pub block_manager_id: BlockManagerId,
}

message!(
    GetReplicateInfoForRddBlocks,
    "org.apache.spark.storage.BlockManagerMessages$GetReplicateInfoForRDDBlocks"
);
