//! Who makes and who reads which block (Spark's `BlockInfoManager`).

use std::collections::HashMap;

use wire::ids::{BlockId, StorageLevel};
use wire::messages::BlockStatus;

use super::memory::MemoryStore;

/// What a block manager knows, under its lock.
#[derive(Debug)]
pub(super) struct BlockTable {
    pub(super) blocks: HashMap<BlockId, Info>,
    pub(super) memory: MemoryStore,
    next_generation: u64,
}

/// A block.
#[derive(Debug)]
pub(super) struct Info {
    pub(super) level: StorageLevel,
    /// Class of its records, as `Class.getName` gives it.
    pub(super) class_tag: String,
    /// Whether the driver hears of it.
    pub(super) tell_master: bool,
    /// Tells this block from an earlier one of the same id.
    pub(super) generation: u64,
    pub(super) phase: Phase,
    /// Its size, if it is on disk.
    pub(super) on_disk: Option<u64>,
    /// Readers at work: a block that is read is not thrown out of memory.
    pub(super) readers: usize,
    /// The task that made it has succeeded, so that others may use it.
    pub(super) visible: bool,
}

/// How far a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Somebody makes it; others wait.
    Writing,
    /// Somebody makes it, but it was removed meanwhile.
    Unwanted,
    /// It can be read.
    Ready,
}

impl BlockTable {
    pub(super) fn new(max_memory: u64) -> Self {
        Self {
            blocks: HashMap::new(),
            memory: MemoryStore::new(max_memory),
            next_generation: 0,
        }
    }

    /// Adds a block that is to be made, and gives its generation.
    pub(super) fn begin(
        &mut self,
        id: &BlockId,
        level: StorageLevel,
        class_tag: &str,
        tell_master: bool,
    ) -> u64 {
        self.next_generation += 1;
        let info = Info {
            level,
            class_tag: class_tag.to_owned(),
            tell_master,
            generation: self.next_generation,
            phase: Phase::Writing,
            on_disk: None,
            readers: 0,
            visible: false,
        };
        self.blocks.insert(id.clone(), info);
        self.next_generation
    }

    /// The block, if it still is the one of that generation.
    pub(super) fn same(&mut self, id: &BlockId, generation: u64) -> Option<&mut Info> {
        self.blocks
            .get_mut(id)
            .filter(|info| info.generation == generation)
    }

    /// Where a block is, if it can be read.
    pub(super) fn status(&self, id: &BlockId) -> Option<BlockStatus> {
        let info = self.blocks.get(id)?;
        (info.phase == Phase::Ready).then(|| {
            let in_memory = self.memory.peek(id).map(|bytes| bytes.len() as u64);
            status(info.level, in_memory, info.on_disk)
        })
    }

    /// Chooses blocks to be thrown out of memory for a new one: such that nobody reads, of other RDDs, least recently
    /// used first. Empty if that does not help.
    pub(super) fn choose_victims(
        &mut self,
        bytes: u64,
        for_block: Option<&BlockId>,
    ) -> Vec<BlockId> {
        let rdd = for_block.and_then(rdd_of);
        let Self { blocks, memory, .. } = self;
        memory.choose(bytes, |id| {
            let idle = blocks
                .get(id)
                .is_some_and(|info| info.phase == Phase::Ready && info.readers == 0);
            idle && (rdd.is_none() || rdd_of(id) != rdd)
        })
    }
}

/// Where a block of that level is, as the driver is told.
pub(super) fn status(
    level: StorageLevel,
    in_memory: Option<u64>,
    on_disk: Option<u64>,
) -> BlockStatus {
    let mut flags = level.flags & StorageLevel::USE_OFF_HEAP;
    if in_memory.is_some() {
        flags |= StorageLevel::USE_MEMORY | level.flags & StorageLevel::DESERIALIZED;
    }
    if on_disk.is_some() {
        flags |= StorageLevel::USE_DISK;
    }
    let exists = in_memory.is_some() || on_disk.is_some();
    BlockStatus {
        storage_level: StorageLevel {
            flags,
            replication: if exists { level.replication } else { 1 },
        },
        mem_size: in_memory.unwrap_or(0).cast_signed(),
        disk_size: on_disk.unwrap_or(0).cast_signed(),
    }
}

/// The RDD that a block is a partition of.
pub(super) fn rdd_of(id: &BlockId) -> Option<i32> {
    match id {
        BlockId::Rdd { rdd_id, .. } => Some(*rdd_id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_driver_is_told_of_levels() {
        let level = |flags, replication| StorageLevel { flags, replication };
        let told = |level, memory, disk| status(level, memory, disk).storage_level;
        assert_eq!(told(level(12, 2), Some(1), None), level(4, 2));
        assert_eq!(told(level(12, 2), None, Some(1)), level(8, 2));
        assert_eq!(told(level(13, 1), Some(1), Some(1)), level(13, 1));
        assert_eq!(told(level(13, 1), None, Some(1)), level(8, 1));
        assert!(!told(level(13, 2), None, None).is_valid());
    }
}
