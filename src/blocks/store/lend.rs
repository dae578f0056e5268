//! Memory of blocks that is lent to tasks.

use super::manager::BlockManager;
use crate::memory::budget::SharedPool;

impl SharedPool for BlockManager {
    fn max(&self) -> u64 {
        self.inner.state.lock().memory.max()
    }

    fn storage_used(&self) -> u64 {
        self.inner.state.lock().memory.taken()
    }

    fn lend(&self, bytes: u64, region: u64) -> u64 {
        let missing = {
            let state = self.inner.state.lock();
            let above = state.memory.taken().saturating_sub(region);
            bytes.saturating_sub(state.memory.free()).min(above)
        };
        if missing > 0
            && let Err(error) = self.free_memory(missing)
        {
            // What did not go stays in memory, and less is lent.
            tracing::warn!(target: "BlockManager", "Cannot write blocks to disk to make room for tasks: {error}");
        }
        self.inner.state.lock().memory.lend(bytes)
    }

    fn overdraw(&self, bytes: u64) {
        self.inner.state.lock().memory.overdraw(bytes);
    }

    fn take_back(&self, bytes: u64) {
        self.inner.state.lock().memory.take_back(bytes);
        // Somebody may wait for room.
        self.inner.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wire::ids::StorageLevel;

    use super::super::testing::Fixture;
    use crate::memory::budget::ExecutionMemory;

    #[test]
    fn tasks_and_blocks_share_one_pool() {
        const KIB: usize = 1 << 10;
        let fixture = Fixture::new(4096 * KIB as u64);
        let put = |name: &str, level, kib: usize| {
            let bytes = vec![1; kib * KIB].into();
            fixture
                .manager
                .put_bytes(&name.parse().unwrap(), level, bytes, false)
        };
        let (memory, disk) = (
            StorageLevel::MEMORY_ONLY_SER,
            StorageLevel::MEMORY_AND_DISK_SER,
        );
        assert!(put("rdd_1_0", memory, 1024).unwrap());
        assert!(put("rdd_2_0", disk, 2048).unwrap());
        let tasks = ExecutionMemory::new(Arc::new(fixture.manager.clone()), 0.5);
        let mut task = tasks.of_task(1);
        assert!(task.grow_to(2048 * KIB as u64), "the oldest block goes");
        assert_eq!(fixture.manager.memory_used(), 2048 * KIB as u64);
        assert!(
            !task.grow_to(2049 * KIB as u64),
            "the other half is the blocks'"
        );
        assert!(
            !put("rdd_3_0", memory, 2049).unwrap(),
            "tasks have the room"
        );
        assert!(
            put("rdd_3_0", memory, 2048).unwrap(),
            "instead of another RDD's"
        );
        drop(task);
        assert!(put("rdd_4_0", memory, 2048).unwrap());
        assert_eq!(fixture.manager.memory_used(), 4096 * KIB as u64);
    }
}
