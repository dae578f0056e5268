//! Blocks in memory as bytes, and the account of the memory they take. No locks, no I/O: [`super::BlockManager`] has
//! those.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use wire::ids::BlockId;

/// The blocks in memory, least recently used first.
#[derive(Debug)]
pub(super) struct MemoryStore {
    entries: HashMap<BlockId, Entry>,
    /// Blocks by the time of their last use.
    order: BTreeMap<u64, BlockId>,
    clock: u64,
    /// Bytes of all entries.
    used: u64,
    /// Bytes promised to blocks that are being made.
    reserved: u64,
    /// Bytes lent to tasks.
    lent: u64,
    max: u64,
}

#[derive(Debug)]
struct Entry {
    bytes: Bytes,
    used_at: u64,
    /// On its way to disk or out: counted as free soon, and not to be chosen again.
    leaving: bool,
}

impl MemoryStore {
    pub(super) fn new(max: u64) -> Self {
        Self {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            clock: 0,
            used: 0,
            reserved: 0,
            lent: 0,
            max,
        }
    }

    /// Most bytes that blocks may take.
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    pub(super) fn set_max(&mut self, max: u64) {
        self.max = max;
    }

    /// Bytes of the blocks that are stored.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Bytes taken and promised above the maximum, which has been lowered.
    pub(super) fn excess(&self) -> u64 {
        (self.taken() + self.lent).saturating_sub(self.max)
    }

    /// Bytes taken by blocks and promised to them.
    pub(super) fn taken(&self) -> u64 {
        self.used + self.reserved
    }

    /// Bytes that nobody has.
    pub(super) fn free(&self) -> u64 {
        self.max.saturating_sub(self.taken() + self.lent)
    }

    /// Most bytes that blocks may take now.
    pub(super) fn max_for_blocks(&self) -> u64 {
        self.max.saturating_sub(self.lent)
    }

    /// Bytes lent to tasks.
    pub(super) fn lent(&self) -> u64 {
        self.lent
    }

    /// Lends as much of `bytes` to a task as is free.
    pub(super) fn lend(&mut self, bytes: u64) -> u64 {
        let granted = bytes.min(self.free());
        self.lent += granted;
        granted
    }

    /// Counts bytes that a task takes without asking.
    pub(super) fn overdraw(&mut self, bytes: u64) {
        self.lent += bytes;
    }

    /// Takes back what was lent.
    pub(super) fn take_back(&mut self, bytes: u64) {
        self.lent = self.lent.saturating_sub(bytes);
    }

    /// Promises memory if it is there.
    pub(super) fn try_reserve(&mut self, bytes: u64) -> bool {
        let free = bytes <= self.free();
        if free {
            self.reserved += bytes;
        }
        free
    }

    /// Gives a promise back.
    pub(super) fn release(&mut self, bytes: u64) {
        self.reserved = self.reserved.saturating_sub(bytes);
    }

    /// How much is missing to promise `bytes`; memory that is about to become free counts as free.
    pub(super) fn missing(&self, bytes: u64) -> u64 {
        (self.taken() + self.lent + bytes)
            .saturating_sub(self.max)
            .saturating_sub(self.leaving())
    }

    fn leaving(&self) -> u64 {
        let leaving = self.entries.values().filter(|entry| entry.leaving);
        leaving.map(|entry| entry.bytes.len() as u64).sum()
    }

    /// Stores a block for which its size has been reserved.
    pub(super) fn insert(&mut self, id: BlockId, bytes: Bytes) {
        self.release(bytes.len() as u64);
        self.remove(&id);
        self.used += bytes.len() as u64;
        let used_at = self.tick();
        self.order.insert(used_at, id.clone());
        self.entries.insert(
            id,
            Entry {
                bytes,
                used_at,
                leaving: false,
            },
        );
    }

    /// A block, which becomes the most recently used.
    pub(super) fn get(&mut self, id: &BlockId) -> Option<Bytes> {
        let used_at = self.tick();
        let entry = self.entries.get_mut(id)?;
        self.order.remove(&entry.used_at);
        entry.used_at = used_at;
        self.order.insert(used_at, id.clone());
        Some(entry.bytes.clone())
    }

    /// A block, whose use does not count.
    pub(super) fn peek(&self, id: &BlockId) -> Option<&Bytes> {
        self.entries.get(id).map(|entry| &entry.bytes)
    }

    pub(super) fn remove(&mut self, id: &BlockId) -> Option<Bytes> {
        let entry = self.entries.remove(id)?;
        self.order.remove(&entry.used_at);
        self.used -= entry.bytes.len() as u64;
        Some(entry.bytes)
    }

    /// Chooses the least recently used blocks that `may_go` allows, of at least `bytes` together, and marks them as
    /// leaving. Empty if there are not enough: then nothing shall go in vain.
    pub(super) fn choose(&mut self, bytes: u64, may_go: impl Fn(&BlockId) -> bool) -> Vec<BlockId> {
        let mut chosen = Vec::new();
        let mut freed = 0;
        for id in self.order.values() {
            if freed >= bytes {
                break;
            }
            let Some(entry) = self.entries.get(id) else {
                continue;
            };
            if !entry.leaving && may_go(id) {
                freed += entry.bytes.len() as u64;
                chosen.push(id.clone());
            }
        }
        if freed < bytes {
            return Vec::new();
        }
        for id in &chosen {
            self.set_leaving(id, true);
        }
        chosen
    }

    /// Marks a block as leaving, or as staying after all.
    pub(super) fn set_leaving(&mut self, id: &BlockId, leaving: bool) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.leaving = leaving;
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(store: &mut MemoryStore, name: &str, len: usize) -> bool {
        let reserved = store.try_reserve(len as u64);
        if reserved {
            store.insert(BlockId::parse(name).unwrap(), vec![1; len].into());
        }
        reserved
    }

    fn names(ids: &[BlockId]) -> Vec<String> {
        ids.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_least_recently_used_go_first_and_only_if_that_helps() {
        let mut store = MemoryStore::new(100);
        assert!(put(&mut store, "rdd_1_0", 40));
        assert!(put(&mut store, "rdd_2_0", 30));
        assert!(put(&mut store, "rdd_1_1", 30));
        assert!(!put(&mut store, "rdd_3_0", 1));
        assert_eq!(
            store
                .get(&"rdd_1_0".parse().unwrap())
                .map(|bytes| bytes.len()),
            Some(40)
        );
        assert_eq!(store.missing(50), 50);
        assert!(store.choose(101, |_| true).is_empty(), "not enough there");
        let not_rdd_1 = |id: &BlockId| !id.to_string().starts_with("rdd_1_");
        assert!(store.choose(31, not_rdd_1).is_empty());
        assert_eq!(names(&store.choose(50, |_| true)), ["rdd_2_0", "rdd_1_1"]);
        assert_eq!(store.missing(50), 0, "what leaves counts as free");
        assert!(
            store.choose(50, |_| true).is_empty(),
            "nothing is chosen twice"
        );
        store.set_leaving(&"rdd_2_0".parse().unwrap(), false);
        assert_eq!(names(&store.choose(1, |_| true)), ["rdd_2_0"]);
        store.remove(&"rdd_2_0".parse().unwrap());
        store.remove(&"rdd_1_1".parse().unwrap());
        assert_eq!(
            (store.used(), store.missing(60), store.missing(61)),
            (40, 0, 1)
        );
        store.set_max(30);
        assert_eq!(store.excess(), 10);
    }

    #[test]
    fn promises_count_until_they_are_kept_or_given_back() {
        let mut store = MemoryStore::new(100);
        assert!(store.try_reserve(60));
        assert!(!store.try_reserve(41));
        store.release(60);
        assert!(put(&mut store, "test_a", 100));
        assert!(put(&mut store, "test_b", 0));
        assert_eq!(
            store.peek(&"test_a".parse().unwrap()).map(Bytes::len),
            Some(100)
        );
        assert_eq!(
            store
                .remove(&"test_a".parse().unwrap())
                .map(|bytes| bytes.len()),
            Some(100)
        );
        assert_eq!(store.remove(&"test_a".parse().unwrap()), None);
        assert_eq!(store.used(), 0);
    }
}
