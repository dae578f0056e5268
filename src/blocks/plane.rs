//! The block plane of the native lanes put together.

use std::sync::Arc;

use super::BlockEnv;
use super::broadcast::Broadcasts;
use super::fetch::BlockFetcher;
use super::serializer_manager::SerializerManager;
use super::shuffle::{DriverBroadcasts, NetworkTransfer, Shuffle};
use super::store::BlockManager;
use crate::config::SettingError;

/// Everything that native lanes and the executor need of blocks. Clones are the same.
#[derive(Clone, Debug)]
pub struct BlockPlane {
    /// Who and where this executor is.
    pub env: Arc<BlockEnv>,
    /// Blocks in memory and on disk.
    pub blocks: BlockManager,
    /// Broadcast variables.
    pub broadcasts: Arc<Broadcasts>,
    /// Shuffles.
    pub shuffle: Arc<Shuffle>,
}

impl BlockPlane {
    /// The plane of one executor; blocks may take `max_memory` bytes.
    ///
    /// # Errors
    /// A setting is wrong, or names a codec or cipher that is not Spark's own.
    pub fn new(env: Arc<BlockEnv>, max_memory: u64) -> Result<Self, SettingError> {
        let fetcher = Arc::new(BlockFetcher::new(Arc::clone(&env))?);
        let streams = SerializerManager::new(&env.properties, env.io_encryption_key.as_deref())?;
        let blocks =
            BlockManager::of_executor(&env, Arc::clone(&fetcher), Arc::new(streams), max_memory)?;
        let broadcasts = Arc::new(Broadcasts::new(
            Arc::clone(&env),
            Arc::clone(&fetcher),
            Arc::new(blocks.clone()),
        )?);
        let shuffle = Shuffle::new(
            Arc::clone(&env),
            Arc::new(DriverBroadcasts(Arc::clone(&broadcasts))),
            Arc::new(NetworkTransfer(fetcher)),
        )?;
        Ok(Self {
            env,
            blocks,
            broadcasts,
            shuffle: Arc::new(shuffle),
        })
    }
}
