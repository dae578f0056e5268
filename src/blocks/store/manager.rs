//! Storing, reading and evicting blocks.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use javaser::Catalog;
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;
use wire::ids::{BlockId, BlockManagerId, StorageLevel};

use super::disk::{DiskStore, Open, Written};
use super::locks::{BlockTable, Phase};
use super::ports::{Master, Peers, Streams};
use super::{BlockData, StoreError, StoreSettings};
use crate::blocks::LocalDirs;
use crate::cancel::Cancellation;
use crate::transport::{Answer, Body};

/// What a [`BlockManager`] is made of.
pub struct Parts {
    /// Who this executor is to others.
    pub block_manager_id: BlockManagerId,
    /// The directories of its files.
    pub local_dirs: Arc<LocalDirs>,
    /// Runs what is asynchronous.
    pub runtime: Handle,
    /// The driver's `BlockManagerMaster`.
    pub master: Arc<dyn Master>,
    /// Other executors.
    pub peers: Arc<dyn Peers>,
    /// The distribution's classes.
    pub catalog: Arc<Catalog>,
    /// Compression and encryption.
    pub streams: Arc<dyn Streams>,
    /// Bytes that blocks may take in memory.
    pub max_memory: u64,
    /// Spark's settings.
    pub settings: StoreSettings,
}

/// Class of records of which nothing is known.
pub(super) const ANY: &str = "java.lang.Object";

/// The blocks of native lanes. Clones are the same.
#[derive(Clone)]
pub struct BlockManager {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) parts: Parts,
    pub(super) disk: DiskStore,
    pub(super) state: Mutex<BlockTable>,
    /// A block became ready or went, or memory became free.
    pub(super) changed: Condvar,
    pub(super) decommissioning: AtomicBool,
    pub(super) unknown_to_master: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// A block that is being read: while this lives it stays in memory if it is there, and its bytes stay readable even if
/// it is removed.
#[derive(Debug)]
pub struct LocalBlock {
    /// Its bytes.
    pub data: BlockData,
    /// The level it was stored at.
    pub level: StorageLevel,
    _pin: Option<Pin>,
}

/// Counts as a reader of a block.
pub(super) struct Pin {
    inner: Arc<Inner>,
    id: BlockId,
    generation: u64,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut state = self.inner.state.lock();
        if let Some(info) = state.same(&self.id, self.generation) {
            info.readers = info.readers.saturating_sub(1);
        }
    }
}

impl std::fmt::Debug for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pin({})", self.id)
    }
}

/// The right to make a block. Dropped before [`WriteLock::complete`], there is no block, and whoever waits for it may
/// make it.
pub(super) struct WriteLock {
    inner: Arc<Inner>,
    id: BlockId,
    level: StorageLevel,
    generation: u64,
    done: bool,
}

/// Where a block that was made is.
pub(super) enum MadeBlock {
    /// In memory that was reserved.
    Memory(Bytes),
    /// In a file.
    Disk(Written),
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut state = self.inner.state.lock();
        if state.same(&self.id, self.generation).is_some() {
            state.blocks.remove(&self.id);
        }
        drop(state);
        self.inner.changed.notify_all();
    }
}

impl WriteLock {
    /// Makes the block readable and tells the driver. If it was removed meanwhile, only the caller gets it.
    ///
    /// # Errors
    /// The file cannot be put in its place.
    pub(super) fn complete(mut self, made: MadeBlock) -> io::Result<LocalBlock> {
        let inner = self.inner.clone();
        let mut state = inner.state.lock();
        let unwanted = state
            .same(&self.id, self.generation)
            .is_none_or(|info| info.phase == Phase::Unwanted);
        let mut on_disk = None;
        let data = match made {
            MadeBlock::Memory(bytes) => {
                if unwanted {
                    state.memory.release(bytes.len() as u64);
                } else {
                    state.memory.insert(self.id.clone(), bytes.clone());
                }
                BlockData::Memory(bytes)
            }
            MadeBlock::Disk(written) => {
                let len = inner.disk.commit(&self.id, &written)?;
                let data = BlockData::Disk(inner.disk.open(&self.id, len)?);
                on_disk = Some(len);
                data
            }
        };
        self.done = true;
        if unwanted {
            state.blocks.remove(&self.id);
            if on_disk.is_some() {
                inner.disk.remove(&self.id);
            }
            drop(state);
            inner.changed.notify_all();
            return Ok(LocalBlock {
                data,
                level: self.level,
                _pin: None,
            });
        }
        let mut tell_master = false;
        if let Some(info) = state.same(&self.id, self.generation) {
            info.phase = Phase::Ready;
            info.on_disk = on_disk;
            info.readers += 1;
            tell_master = info.tell_master;
        }
        let status = state.status(&self.id);
        drop(state);
        inner.changed.notify_all();
        let pin = Pin {
            inner: inner.clone(),
            id: self.id.clone(),
            generation: self.generation,
        };
        if let (true, Some(status)) = (tell_master, status) {
            inner.report(&self.id, status);
        }
        Ok(LocalBlock {
            data,
            level: self.level,
            _pin: Some(pin),
        })
    }
}

impl Inner {
    /// The right to make a block, or `None` if it is there. Waits for whoever is making it.
    pub(super) fn lock_new(
        self: &Arc<Self>,
        id: &BlockId,
        level: StorageLevel,
        class_tag: &str,
        tell_master: bool,
        cancellation: Option<&Cancellation>,
    ) -> Result<Option<WriteLock>, StoreError> {
        let mut state = self.state.lock();
        let mut waiting = None;
        loop {
            match state.blocks.get(id).map(|info| info.phase) {
                None => {
                    let generation = state.begin(id, level, class_tag, tell_master);
                    drop(state);
                    return Ok(Some(WriteLock {
                        inner: self.clone(),
                        id: id.clone(),
                        level,
                        generation,
                        done: false,
                    }));
                }
                Some(Phase::Ready) => return Ok(None),
                Some(Phase::Writing | Phase::Unwanted) => {
                    self.wait(&mut state, cancellation, &mut waiting)?;
                }
            }
        }
    }

    /// Waits for a change, or until the task is told to stop.
    fn wait(
        self: &Arc<Self>,
        state: &mut parking_lot::MutexGuard<'_, BlockTable>,
        cancellation: Option<&Cancellation>,
        hook: &mut Option<crate::cancel::HookGuard>,
    ) -> Result<(), StoreError> {
        if let Some(cancellation) = cancellation {
            if hook.is_none() {
                let inner = Arc::downgrade(self);
                // Without the lock: the hook takes it, maybe at once.
                parking_lot::MutexGuard::unlocked(state, || {
                    *hook = Some(cancellation.on_cancel(move |_| {
                        if let Some(inner) = inner.upgrade() {
                            drop(inner.state.lock());
                            inner.changed.notify_all();
                        }
                    }));
                });
                if let Some(reason) = cancellation.reason() {
                    return Err(StoreError::Cancelled(reason));
                }
                // What is waited for may have come meanwhile.
                return Ok(());
            }
            if let Some(reason) = cancellation.reason() {
                return Err(StoreError::Cancelled(reason));
            }
        }
        self.changed.wait(state);
        match cancellation.and_then(Cancellation::reason) {
            Some(reason) => Err(StoreError::Cancelled(reason)),
            None => Ok(()),
        }
    }

    /// Promises memory for a block, after throwing others out if that helps.
    ///
    /// # Errors
    /// A block that should go to disk could not be written.
    pub(super) fn reserve(&self, for_block: Option<&BlockId>, bytes: u64) -> io::Result<bool> {
        loop {
            let victims = {
                let mut state = self.state.lock();
                if state.memory.try_reserve(bytes) {
                    return Ok(true);
                }
                if bytes > state.memory.max_for_blocks() {
                    return Ok(false);
                }
                let missing = state.memory.missing(bytes);
                if missing == 0 {
                    // Others are making room.
                    self.changed.wait(&mut state);
                    continue;
                }
                state.choose_victims(missing, for_block)
            };
            if victims.is_empty() {
                return Ok(false);
            }
            self.evict(&victims)?;
        }
    }

    /// Throws blocks out of memory, to disk if their level says so.
    pub(super) fn evict(&self, victims: &[BlockId]) -> io::Result<()> {
        let mut result = Ok(());
        for id in victims {
            if result.is_ok() {
                result = self.drop_from_memory(id);
            }
            if result.is_err() {
                self.state.lock().memory.set_leaving(id, false);
            }
        }
        self.changed.notify_all();
        result
    }

    fn drop_from_memory(&self, id: &BlockId) -> io::Result<()> {
        let (bytes, generation, to_disk) = {
            let state = self.state.lock();
            let (Some(info), Some(bytes)) = (state.blocks.get(id), state.memory.peek(id)) else {
                return Ok(());
            };
            let to_disk = info.level.use_disk() && info.on_disk.is_none();
            (bytes.clone(), info.generation, to_disk)
        };
        tracing::info!(target: "BlockManager", "Dropping block {id} from memory");
        let written = match to_disk {
            true => {
                tracing::info!(target: "BlockManager", "Writing block {id} to disk");
                Some(self.disk.write(&bytes)?)
            }
            false => None,
        };
        let mut state = self.state.lock();
        let Some(info) = state.same(id, generation) else {
            return Ok(());
        };
        if let Some(written) = written {
            info.on_disk = Some(self.disk.commit(id, &written)?);
        }
        let tell_master = info.tell_master;
        state.memory.remove(id);
        let status = state.status(id);
        if status.is_some_and(|status| !status.storage_level.is_valid()) {
            state.blocks.remove(id);
        }
        drop(state);
        self.changed.notify_all();
        if let (true, Some(mut status)) = (tell_master, status) {
            // The driver's account of memory goes down by what is told with a level that has none.
            status.mem_size = status.mem_size.max((bytes.len() as u64).cast_signed());
            self.report(id, status);
        }
        Ok(())
    }
}

impl BlockManager {
    /// A manager without blocks.
    pub fn new(parts: Parts) -> Self {
        Self {
            inner: Arc::new(Inner {
                disk: DiskStore::new(
                    parts.local_dirs.clone(),
                    parts.streams.clone(),
                    Open {
                        read: parts.settings.service_reads,
                        remove: parts.settings.service_removes,
                    },
                ),
                state: Mutex::new(BlockTable::new(parts.max_memory)),
                changed: Condvar::new(),
                decommissioning: AtomicBool::new(false),
                unknown_to_master: OnceLock::new(),
                parts,
            }),
        }
    }

    /// Stores a block that is there as bytes; `false` if there was no room for it at that level. A block that exists
    /// stays as it is, which is success.
    ///
    /// # Errors
    /// The disk is full or fails, or this executor takes no more blocks because it is going away.
    pub fn put_bytes(
        &self,
        id: &BlockId,
        level: StorageLevel,
        bytes: Bytes,
        tell_master: bool,
    ) -> Result<bool, StoreError> {
        self.put_bytes_of(id, level, ANY, bytes, tell_master)
    }

    /// As [`BlockManager::put_bytes`], for records of a class, as `Class.getName` gives it.
    pub(super) fn put_bytes_of(
        &self,
        id: &BlockId,
        level: StorageLevel,
        class_tag: &str,
        bytes: Bytes,
        tell_master: bool,
    ) -> Result<bool, StoreError> {
        self.check_should_store(id)?;
        let lock = self
            .inner
            .lock_new(id, level, class_tag, tell_master, None)?;
        let Some(lock) = lock else {
            return Ok(true);
        };
        let block = if level.use_memory() && self.inner.reserve(Some(id), bytes.len() as u64)? {
            lock.complete(MadeBlock::Memory(bytes))?
        } else if level.use_disk() {
            lock.complete(MadeBlock::Disk(self.inner.disk.write(&bytes)?))?
        } else {
            tracing::warn!(target: "BlockManager", "Putting block {id} failed");
            return Ok(false);
        };
        self.replicate_new(id, &block);
        Ok(true)
    }

    /// Keeps the result of a task that is too large to be sent, until the driver has fetched it. Gives its id.
    ///
    /// # Errors
    /// As [`BlockManager::put_bytes`].
    pub fn put_task_result(&self, task_id: i64, bytes: Bytes) -> Result<BlockId, StoreError> {
        let id = BlockId::TaskResult { task_id };
        self.put_bytes(&id, StorageLevel::MEMORY_AND_DISK_SER, bytes, true)?;
        Ok(id)
    }

    /// A block of this executor's native lanes. Waits if it is being made. A block that is on disk and may be in memory
    /// goes there if there is room.
    ///
    /// # Errors
    /// Its file cannot be read; then it is removed.
    pub fn get_local(
        &self,
        id: &BlockId,
        cancellation: Option<&Cancellation>,
    ) -> Result<Option<LocalBlock>, StoreError> {
        let inner = &self.inner;
        let mut waiting = None;
        let mut state = inner.state.lock();
        let (level, on_disk, generation) = loop {
            match state.blocks.get_mut(id) {
                None => return Ok(None),
                Some(info) if info.phase == Phase::Ready => {
                    info.readers += 1;
                    break (info.level, info.on_disk, info.generation);
                }
                Some(_) => inner.wait(&mut state, cancellation, &mut waiting)?,
            }
        };
        let in_memory = state.memory.get(id);
        drop(state);
        let pin = Pin {
            inner: inner.clone(),
            id: id.clone(),
            generation,
        };
        let data = match (in_memory, on_disk) {
            (Some(bytes), _) => BlockData::Memory(bytes),
            (None, Some(len)) => match self.read_from_disk(id, level, len, generation) {
                Ok(data) => data,
                Err(error) => {
                    drop(pin);
                    tracing::warn!(target: "BlockManager", "Cannot read block {id}: {error}");
                    self.remove_block(id, true);
                    return Err(StoreError::Spark(format!(
                        "Block {id} was not found even though it's read-locked"
                    )));
                }
            },
            // A block that is ready is somewhere.
            (None, None) => return Ok(None),
        };
        Ok(Some(LocalBlock {
            data,
            level,
            _pin: Some(pin),
        }))
    }

    fn read_from_disk(
        &self,
        id: &BlockId,
        level: StorageLevel,
        len: u64,
        generation: u64,
    ) -> io::Result<BlockData> {
        let inner = &self.inner;
        let file = inner.disk.open(id, len)?;
        if !level.use_memory() || !inner.reserve(Some(id), len)? {
            return Ok(BlockData::Disk(file));
        }
        let bytes = match file.bytes() {
            Ok(bytes) => bytes,
            Err(error) => {
                inner.state.lock().memory.release(len);
                return Err(error);
            }
        };
        let mut state = inner.state.lock();
        if state.same(id, generation).is_some() && state.memory.peek(id).is_none() {
            state.memory.insert(id.clone(), bytes.clone());
        } else {
            state.memory.release(len);
        }
        Ok(BlockData::Memory(bytes))
    }

    /// Whether there is a block that can be read.
    pub fn is_ready(&self, id: &BlockId) -> bool {
        let state = self.inner.state.lock();
        let info = state.blocks.get(id);
        info.is_some_and(|info| info.phase == Phase::Ready)
    }

    /// Whether a block that is read for others takes no memory of its own: it is in memory already, or sent from its
    /// file.
    pub fn is_lent(&self, id: &BlockId) -> bool {
        !self.inner.disk.encrypts() || self.inner.state.lock().memory.peek(id).is_some()
    }

    /// The block with that id for another executor or the driver, or `None` at once if there is none that can be read.
    pub fn local_body(&self, id: &BlockId) -> Option<Answer<Result<Body, String>>> {
        let inner = &self.inner;
        let state = inner.state.lock();
        let info = state.blocks.get(id)?;
        if info.phase != Phase::Ready {
            return None;
        }
        if let Some(bytes) = state.memory.peek(id) {
            let bytes = bytes.clone();
            return Some(Box::pin(async move { Ok(Body::Bytes(bytes)) }));
        }
        let len = info.on_disk?;
        let (disk, id) = (inner.disk.clone(), id.clone());
        Some(Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || disk.open(&id, len)?.body()).await;
            match read {
                Ok(Ok(body)) => Ok(body),
                Ok(Err(error)) => Err(error.to_string()),
                Err(error) => Err(error.to_string()),
            }
        }))
    }

    /// Bytes that blocks take in memory.
    pub fn memory_used(&self) -> u64 {
        self.inner.state.lock().memory.used()
    }

    /// Bytes that blocks and tasks may take in memory.
    pub fn max_memory(&self) -> u64 {
        self.inner.state.lock().memory.max()
    }

    /// Bytes that tasks have of the blocks' memory.
    pub fn memory_lent(&self) -> u64 {
        self.inner.state.lock().memory.lent()
    }

    /// Changes how many bytes blocks may take in memory; throws out what is too much, if nobody reads it.
    ///
    /// # Errors
    /// A block that should go to disk could not be written.
    pub fn set_max_memory(&self, max: u64) -> io::Result<()> {
        self.inner.state.lock().memory.set_max(max);
        self.free(|state| state.memory.excess()).map(|_| ())
    }

    /// Throws blocks out of memory for something more urgent, and gives how many bytes became free: at least `bytes` or
    /// nothing.
    ///
    /// # Errors
    /// A block that should go to disk could not be written.
    pub fn free_memory(&self, bytes: u64) -> io::Result<u64> {
        self.free(|_| bytes)
    }

    fn free(&self, bytes: impl Fn(&BlockTable) -> u64) -> io::Result<u64> {
        let (before, victims) = {
            let mut state = self.inner.state.lock();
            let bytes = bytes(&state);
            (state.memory.used(), state.choose_victims(bytes, None))
        };
        self.inner.evict(&victims)?;
        Ok(before.saturating_sub(self.memory_used()))
    }

    /// From now on no block is stored that would be lost with this executor.
    pub fn set_decommissioning(&self) {
        self.inner.decommissioning.store(true, Ordering::Relaxed);
    }

    /// Fails if this executor is going away; pieces of broadcasts are taken even then.
    pub(super) fn check_should_store(&self, id: &BlockId) -> Result<(), StoreError> {
        let going = self.inner.decommissioning.load(Ordering::Relaxed);
        if going && !matches!(id, BlockId::Broadcast { .. } | BlockId::TaskResult { .. }) {
            return Err(StoreError::Spark(format!(
                "org.apache.spark.storage.BlockSavedOnDecommissionedBlockManagerException: Block {id} cannot be saved on decommissioned executor"
            )));
        }
        Ok(())
    }
}

impl std::fmt::Debug for BlockManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.inner.state.lock();
        f.debug_struct("BlockManager")
            .field("blocks", &state.blocks.len())
            .field("memory_used", &state.memory.used())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "manager_tests.rs"]
mod tests;
