use super::{RpcEndpointRef, message};
use crate::ids::BlockManagerId;
use serde::{Deserialize, Serialize};

/// Introduces the executor's block manager. Ask to `BlockManagerMaster`; the reply is the
/// `BlockManagerId` with its topology, or one with the executor id `invalid` if a re-registration
/// was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$RegisterBlockManager",
    rename_all = "camelCase"
)]
pub struct RegisterBlockManager {
    /// Whose blocks, and where they are served.
    pub block_manager_id: BlockManagerId,
    /// Directories of shuffle and block files, for readers on the same host.
    pub local_dirs: Vec<String>,
    /// Bytes of memory for blocks on the Java heap.
    pub max_on_heap_mem_size: i64,
    /// Bytes of memory for blocks outside it.
    pub max_off_heap_mem_size: i64,
    /// The endpoint that the driver asks to drop blocks.
    pub sender: RpcEndpointRef,
    /// Whether the driver said that it had forgotten us.
    pub is_re_register: bool,
}

message!(
    RegisterBlockManager,
    "org.apache.spark.storage.BlockManagerMessages$RegisterBlockManager"
);
