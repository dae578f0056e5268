//! The block plane of the native lanes put together.

use std::sync::Arc;

use super::BlockEnv;
use super::broadcast::Broadcasts;
use super::fetch::BlockFetcher;
use super::serializer_manager::SerializerManager;
use super::shuffle::{DriverBroadcasts, NetworkTransfer, Shuffle};
use super::store::BlockManager;
use crate::config::{MemorySettings, SettingError};
use crate::memory::budget::ExecutionMemory;

/// Everything that native lanes and the executor need of blocks. Clones are the same.
#[derive(Clone, Debug)]
pub struct BlockPlane {
    /// Who and where this executor is.
    pub env: Arc<BlockEnv>,
    /// Blocks in memory and on disk.
    pub blocks: BlockManager,
    /// Blocks of others.
    pub fetcher: Arc<BlockFetcher>,
    /// Broadcast variables.
    pub broadcasts: Arc<Broadcasts>,
    /// Shuffles.
    pub shuffle: Arc<Shuffle>,
    /// Memory of tasks, which comes from that of the blocks.
    pub memory: ExecutionMemory,
}

impl BlockPlane {
    /// The plane of one executor. Blocks and tasks share the memory that `memory` says.
    ///
    /// # Errors
    /// A setting is wrong, or names a codec or cipher that is not Spark's own.
    pub fn new(env: Arc<BlockEnv>, memory: &MemorySettings) -> Result<Self, SettingError> {
        let fetcher = Arc::new(BlockFetcher::new(Arc::clone(&env))?);
        let streams = SerializerManager::new(&env.properties, env.io_encryption_key.as_deref())?;
        let blocks = BlockManager::of_executor(
            &env,
            Arc::clone(&fetcher),
            Arc::new(streams),
            memory.max_on_heap,
        )?;
        let memory = ExecutionMemory::new(Arc::new(blocks.clone()), memory.storage_fraction);
        let broadcasts = Arc::new(Broadcasts::new(
            Arc::clone(&env),
            Arc::clone(&fetcher),
            Arc::new(blocks.clone()),
        )?);
        let shuffle = Shuffle::new(
            Arc::clone(&env),
            Arc::new(DriverBroadcasts(Arc::clone(&broadcasts))),
            Arc::new(NetworkTransfer(Arc::clone(&fetcher))),
            memory.clone(),
        )?;
        Ok(Self {
            env,
            blocks,
            fetcher,
            broadcasts,
            shuffle: Arc::new(shuffle),
            memory,
        })
    }
}
