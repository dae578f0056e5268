use super::{BlockStatus, message};
use crate::ids::BlockManagerId;
use serde::{Deserialize, Serialize};

/// The reply to [`GetLocationsAndStatus`](super::GetLocationsAndStatus), inside an `Option`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$BlockLocationsAndStatus",
    rename_all = "camelCase"
)]
pub struct BlockLocationsAndStatus {
    /// Executors that have it, the driver among them.
    pub locations: Vec<BlockManagerId>,
    /// What one of them has of it.
    pub status: BlockStatus,
    /// Directories of an executor on the host of whoever asked that has the block on disk.
    pub local_dirs: Option<Vec<String>>,
}

message!(
    BlockLocationsAndStatus,
    "org.apache.spark.storage.BlockManagerMessages$BlockLocationsAndStatus"
);
