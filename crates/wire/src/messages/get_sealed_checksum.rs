use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Asks for the checksum that an RDD block must have (from Spark 4.3). Ask to `BlockManagerMaster`; the reply is an
/// `Option[Long]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetSealedChecksum",
    rename_all = "camelCase"
)]
pub struct GetSealedChecksum {
    /// Which; an [`BlockId::Rdd`].
    pub block_id: BlockId,
}

message!(
    GetSealedChecksum,
    "org.apache.spark.storage.BlockManagerMessages$GetSealedChecksum"
);
