use super::message;
use crate::ids::BlockId;
use serde::{Deserialize, Serialize};

/// Says which task wrote an RDD block; the block becomes visible when the task succeeds. Ask to `BlockManagerMaster`;
/// the reply is `()`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$UpdateRDDBlockTaskInfo",
    rename_all = "camelCase"
)]
pub struct UpdateRddBlockTaskInfo {
    /// Which; an [`BlockId::Rdd`].
    pub block_id: BlockId,
    /// The attempt.
    pub task_id: i64,
}

message!(
    UpdateRddBlockTaskInfo,
    "org.apache.spark.storage.BlockManagerMessages$UpdateRDDBlockTaskInfo"
);
