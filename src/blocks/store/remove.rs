//! What the driver asks of this executor's blocks (Spark's `BlockManagerStorageEndpoint`), for the blocks of native
//! lanes.
//!
//! None of it waits for tasks: a block that is being made is marked, and goes when it is done; a block that is being
//! read goes at once, and its readers keep its bytes.

use std::fs;
use std::io;

use wire::ids::BlockId;
use wire::messages::BlockStatus;

use super::locks::{Phase, rdd_of};
use super::manager::BlockManager;
use super::ports::removed;
use crate::blocks::FileName;

impl BlockManager {
    /// `RemoveBlock`: removes a block, and tells the driver if it knows the block and `tell_master`. Whether there was
    /// one.
    pub fn remove_block(&self, id: &BlockId, tell_master: bool) -> bool {
        let inner = &self.inner;
        let mut state = inner.state.lock();
        let status = state.status(id);
        let Some(info) = state.blocks.get_mut(id) else {
            return false;
        };
        if info.phase != Phase::Ready {
            info.phase = Phase::Unwanted;
            return true;
        }
        let tell_master = tell_master && info.tell_master;
        if info.on_disk.is_some() {
            inner.disk.remove(id);
        }
        state.blocks.remove(id);
        state.memory.remove(id);
        drop(state);
        inner.changed.notify_all();
        tracing::debug!(target: "BlockManager", "Removed block {id}");
        if let (true, Some(status)) = (tell_master, status) {
            inner.report(id, removed(status));
        }
        true
    }

    /// `RemoveRdd`: removes the blocks of an RDD and gives their number. The driver forgets them by itself.
    pub fn remove_rdd(&self, rdd_id: i32) -> i32 {
        tracing::info!(target: "BlockManager", "Removing RDD {rdd_id}");
        self.remove_all(false, |id| rdd_of(id) == Some(rdd_id))
    }

    /// `RemoveBroadcast`: removes what is stored of a broadcast variable and gives the number of blocks.
    pub fn remove_broadcast(&self, broadcast_id: i64) -> i32 {
        tracing::debug!(target: "BlockManager", "Removing broadcast {broadcast_id}");
        self.remove_all(
            true,
            |id| matches!(id, BlockId::Broadcast { broadcast_id: of, .. } if *of == broadcast_id),
        )
    }

    fn remove_all(&self, tell_master: bool, which: impl Fn(&BlockId) -> bool) -> i32 {
        let ids = self.matching(which);
        let removed = ids.iter().filter(|id| self.remove_block(id, tell_master));
        // More blocks than that do not fit into memory.
        i32::try_from(removed.count()).unwrap_or(i32::MAX)
    }

    fn matching(&self, which: impl Fn(&BlockId) -> bool) -> Vec<BlockId> {
        let state = self.inner.state.lock();
        state
            .blocks
            .keys()
            .filter(|id| which(id))
            .cloned()
            .collect()
    }

    /// `RemoveShuffle`: removes the files of a shuffle, whichever lane wrote them. The reply is `true`; files that are
    /// not there are no failure.
    pub fn remove_shuffle(&self, shuffle_id: i32) -> bool {
        let prefix = format!("shuffle_{shuffle_id}_");
        self.for_each_file(|name, path| {
            let is_shuffle = || {
                FileName::columns_of(name).is_some()
                    || BlockId::parse(name_without_algorithm(name)).is_ok_and(|id| id.is_shuffle())
            };
            if !name.starts_with(&prefix) || !is_shuffle() {
                return;
            }
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(target: "IndexShuffleBlockResolver", "Error deleting {}: {error}", path.display());
                }
                _ => {}
            }
        });
        true
    }

    /// Calls `found` with the name and path of every file in the hashed directories.
    pub(super) fn for_each_file(&self, mut found: impl FnMut(&str, &std::path::Path)) {
        let dirs = self.inner.parts.local_dirs.dirs().iter();
        // What cannot be listed does not exist or is about to go.
        let subs = dirs
            .filter_map(|dir| fs::read_dir(dir).ok())
            .flatten()
            .flatten();
        for sub in subs.filter(|sub| sub.file_type().is_ok_and(|kind| kind.is_dir())) {
            for file in fs::read_dir(sub.path()).into_iter().flatten().flatten() {
                if let Some(name) = file.file_name().to_str() {
                    found(name, &file.path());
                }
            }
        }
    }

    /// `GetBlockStatus`: where a block is, if it can be read.
    pub fn block_status(&self, id: &BlockId) -> Option<BlockStatus> {
        self.inner.state.lock().status(id)
    }

    /// Ids of all blocks, for `GetMatchingBlockIds`, whose filter only a JVM can apply.
    pub fn block_ids(&self) -> Vec<BlockId> {
        self.matching(|_| true)
    }

    /// Whether there is such a block, ready or being made.
    pub fn contains(&self, id: &BlockId) -> bool {
        self.inner.state.lock().blocks.contains_key(id)
    }

    /// `MarkRDDBlockAsVisible`: the task that made the block has succeeded.
    pub fn mark_rdd_block_as_visible(&self, id: &BlockId) {
        if let Some(info) = self.inner.state.lock().blocks.get_mut(id) {
            info.visible = true;
        }
    }
}

/// `shuffle_1_2_0.checksum.ADLER32` without the last part: the block's name.
fn name_without_algorithm(name: &str) -> &str {
    match name.split_once(".checksum.") {
        Some((block, _)) => name.get(..block.len() + ".checksum".len()).unwrap_or(name),
        None => name,
    }
}
