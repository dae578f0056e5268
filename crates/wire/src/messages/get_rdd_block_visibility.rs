use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Asks whether a task that wrote an RDD block has succeeded, so that others may read it. Ask to `BlockManagerMaster`;
/// the reply is a Boolean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetRDDBlockVisibility",
    rename_all = "camelCase"
)]
pub struct GetRddBlockVisibility {
    /// Which; an [`BlockId::Rdd`].
    pub block_id: BlockId,
}

message!(
    GetRddBlockVisibility,
    "org.apache.spark.storage.BlockManagerMessages$GetRDDBlockVisibility"
);
