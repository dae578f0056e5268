use crate::ids::{BlockId, BlockManagerId, StorageLevel};

/// Says that a block was stored or removed. Ask to `BlockManagerMaster`; the reply is a Boolean,
/// false if the driver does not know the block manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateBlockInfo {
    /// Who has or had it.
    pub block_manager_id: BlockManagerId,
    /// Which.
    pub block_id: BlockId,
    /// Where it is; replication 0 says that it was removed.
    pub storage_level: StorageLevel,
    /// Bytes in memory.
    pub mem_size: i64,
    /// Bytes on disk.
    pub disk_size: i64,
    /// Checksum of its content (from Spark 4.3, if `spark.storage.rddBlockChecksum.enabled`).
    pub checksum: Option<i64>,
}
