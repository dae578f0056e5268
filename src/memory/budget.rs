//! Memory for execution, shared with that for blocks: Spark's `UnifiedMemoryManager` and `ExecutionMemoryPool`.
//!
//! Both take from one pool. Blocks may fill what execution does not use; execution may throw blocks out, down to the
//! region that `spark.memory.storageFraction` keeps for them. Of N tasks that use execution memory each may have 1/N of
//! the pool that blocks leave to execution. Where Spark lets a task wait until it has 1/2N, here it goes to disk with
//! what it has: no task waits for another one.
//!
//! What tasks share, such as tables made of broadcasts, is no task's: [`CommonMemory`]. It leaves tasks at least half
//! of their memory, and what of it no task uses goes when memory is short.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;

/// What a task gets in any case, so that it never spills crumbs. It counts, but is not asked for.
pub const LEAST: u64 = 1 << 20;

/// This part of the pool is there for what tasks share even if tasks have taken everything: small tables are not worth
/// a JVM.
const OVERDRAWN: u64 = 16;

/// Where execution memory comes from.
pub trait SharedPool: Send + Sync + 'static {
    /// Bytes for execution and blocks together.
    fn max(&self) -> u64;

    /// Bytes that blocks take.
    fn storage_used(&self) -> u64;

    /// Lends up to `bytes` to execution. Blocks go for it as long as they take more than `region` bytes. May write
    /// blocks to disk.
    fn lend(&self, bytes: u64, region: u64) -> u64;

    /// Counts bytes as lent that are taken anyway.
    fn overdraw(&self, bytes: u64);

    /// Takes back what was lent.
    fn take_back(&self, bytes: u64);
}

/// Who keeps things that tasks share, some of which nobody uses at the moment.
pub trait Idle: Send + Sync + 'static {
    /// Bytes of [`CommonMemory`] that [`Idle::let_go`] could give back.
    fn idle(&self) -> u64;

    /// Drops what nobody uses until `bytes` are given back, if there is as much. Must not ask for memory.
    fn let_go(&self, bytes: u64);
}

/// The execution memory of an executor. Clones are the same.
#[derive(Clone)]
pub struct ExecutionMemory {
    shared: Arc<Budget>,
}

struct Budget {
    pool: Arc<dyn SharedPool>,
    /// `spark.memory.storageFraction`
    storage_fraction: f64,
    /// What a user gets in any case.
    least: u64,
    /// What each task has.
    tasks: Mutex<HashMap<i64, Held>>,
    /// Bytes of what tasks share.
    common: AtomicU64,
    keeper: OnceLock<Weak<dyn Idle>>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: u64,
    /// Users of memory in the task.
    users: usize,
}

impl std::fmt::Debug for ExecutionMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutionMemory")
            .field("tasks", &*self.shared.tasks.lock())
            .field("common", &self.shared.common)
            .finish_non_exhaustive()
    }
}

impl Budget {
    /// Bytes that are the blocks' against execution.
    fn region(&self) -> u64 {
        // A product of a share and a size that fits.
        (self.pool.max() as f64 * self.storage_fraction) as u64
    }

    /// What blocks leave to execution.
    fn execution(&self) -> u64 {
        let blocks = self.pool.storage_used().min(self.region());
        self.pool.max().saturating_sub(blocks)
    }

    /// What each of so many tasks may have.
    fn share(&self, tasks: u64) -> u64 {
        let common = self.common.load(Ordering::Relaxed);
        let idle = match common {
            0 => 0,
            _ => self.keeper().map_or(0, |keeper| keeper.idle()),
        };
        let used = common.saturating_sub(idle);
        self.execution().saturating_sub(used) / tasks
    }

    fn keeper(&self) -> Option<Arc<dyn Idle>> {
        self.keeper.get().and_then(Weak::upgrade)
    }

    /// Takes up to `wanted` bytes from the pool; what is idle goes for those that are `needed`.
    fn take(&self, wanted: u64, needed: u64) -> u64 {
        if wanted == 0 {
            return 0;
        }
        let region = self.region();
        let granted = self.pool.lend(wanted, region);
        let missing = needed.min(wanted).saturating_sub(granted);
        if missing == 0 || self.common.load(Ordering::Relaxed) == 0 {
            return granted;
        }
        let Some(keeper) = self.keeper() else {
            return granted;
        };
        keeper.let_go(missing);
        granted + self.pool.lend(missing, region)
    }
}

impl ExecutionMemory {
    /// The memory that `pool` lends. `storage_fraction` of the pool is the blocks' against execution.
    pub fn new(pool: Arc<dyn SharedPool>, storage_fraction: f64) -> Self {
        Self::with_least(pool, storage_fraction, LEAST)
    }

    pub(crate) fn with_least(pool: Arc<dyn SharedPool>, storage_fraction: f64, least: u64) -> Self {
        Self {
            shared: Arc::new(Budget {
                pool,
                storage_fraction,
                least,
                tasks: Mutex::default(),
                common: AtomicU64::new(0),
                keeper: OnceLock::new(),
            }),
        }
    }

    /// Who is told when memory is short. There is one; others are not heard.
    pub fn set_keeper(&self, keeper: Weak<dyn Idle>) {
        let _ = self.shared.keeper.set(keeper);
    }

    /// Memory of something that tasks share; none yet.
    pub fn common(&self) -> CommonMemory {
        CommonMemory {
            shared: Arc::clone(&self.shared),
            held: 0,
        }
    }

    /// The memory of one user in a task, which counts as a task at work from now on.
    pub fn of_task(&self, task_id: i64) -> TaskMemory {
        self.shared.tasks.lock().entry(task_id).or_default().users += 1;
        TaskMemory {
            shared: Arc::clone(&self.shared),
            task_id,
            held: 0,
        }
    }

    /// Bytes that tasks have.
    pub fn used(&self) -> u64 {
        self.shared
            .tasks
            .lock()
            .values()
            .map(|held| held.bytes)
            .sum()
    }
}

/// Memory of one user in a task; given back when it is dropped.
pub struct TaskMemory {
    shared: Arc<Budget>,
    task_id: i64,
    held: u64,
}

impl std::fmt::Debug for TaskMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskMemory")
            .field("task_id", &self.task_id)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl TaskMemory {
    /// Bytes that this user has.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Asks for memory until there are `bytes`; more is asked for than needed, so that not every record asks. `false`
    /// if there is not as much: then the user should write what it has to disk, and give the memory back.
    pub fn grow_to(&mut self, bytes: u64) -> bool {
        if bytes <= self.held {
            return true;
        }
        let mut tasks = self.shared.tasks.lock();
        let active = tasks.len().max(1) as u64;
        let Some(task) = tasks.get_mut(&self.task_id) else {
            // Not before this is dropped.
            return false;
        };
        let share = self.shared.share(active).saturating_sub(task.bytes);
        let needed = bytes - self.held;
        let wanted = needed.max(self.held / 2).max(LEAST).min(share);
        let mut granted = self.shared.take(wanted, needed);
        if granted < needed && bytes <= self.shared.least {
            self.shared.pool.overdraw(needed - granted);
            granted = needed;
        }
        task.bytes += granted;
        self.held += granted;
        bytes <= self.held
    }

    /// The most bytes that this user could have now, others of its task keeping what they have.
    pub fn limit(&self) -> u64 {
        let tasks = self.shared.tasks.lock();
        let share = self.shared.share(tasks.len().max(1) as u64);
        let others = tasks
            .get(&self.task_id)
            .map_or(0, |task| task.bytes.saturating_sub(self.held));
        share.saturating_sub(others)
    }

    /// Gives back what is beyond `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        let freed = self.held.saturating_sub(bytes);
        if freed == 0 {
            return;
        }
        self.held = bytes;
        if let Some(task) = self.shared.tasks.lock().get_mut(&self.task_id) {
            task.bytes = task.bytes.saturating_sub(freed);
        }
        self.shared.pool.take_back(freed);
    }

    /// Gives everything back.
    pub fn release(&mut self) {
        self.shrink_to(0);
    }
}

impl Drop for TaskMemory {
    fn drop(&mut self) {
        self.release();
        let mut tasks = self.shared.tasks.lock();
        if let Some(task) = tasks.get_mut(&self.task_id) {
            task.users = task.users.saturating_sub(1);
            if task.users == 0 {
                tasks.remove(&self.task_id);
            }
        }
    }
}

/// Memory of something that tasks share; given back when it is dropped.
pub struct CommonMemory {
    shared: Arc<Budget>,
    held: u64,
}

impl std::fmt::Debug for CommonMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommonMemory")
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl CommonMemory {
    /// Asks for so many bytes in place of those that there are. `false` if there are not as many; then nothing changes.
    pub fn resize(&mut self, bytes: u64) -> bool {
        let shared = &self.shared;
        let Some(more) = bytes.checked_sub(self.held) else {
            self.give_back(self.held - bytes);
            return true;
        };
        let all = shared
            .common
            .fetch_add(more, Ordering::Relaxed)
            .saturating_add(more);
        let most = shared.execution() / 2;
        if all > most
            && let Some(keeper) = shared.keeper()
        {
            keeper.let_go(all - most);
        }
        let mut granted = 0;
        // Others may have let go, or taken, meanwhile.
        let all = shared.common.load(Ordering::Relaxed);
        if all <= most {
            granted = shared.take(more, more);
            if granted < more && all <= shared.pool.max() / OVERDRAWN {
                shared.pool.overdraw(more - granted);
                granted = more;
            }
        }
        if granted < more {
            shared.pool.take_back(granted);
            shared.common.fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.held = bytes;
        true
    }

    fn give_back(&mut self, bytes: u64) {
        self.held -= bytes;
        self.shared.common.fetch_sub(bytes, Ordering::Relaxed);
        if bytes > 0 {
            self.shared.pool.take_back(bytes);
        }
    }
}

impl Drop for CommonMemory {
    fn drop(&mut self) {
        self.give_back(self.held);
    }
}

/// A pool without blocks.
#[cfg(test)]
#[derive(Debug)]
pub struct FixedPool {
    max: u64,
    lent: Mutex<u64>,
}

#[cfg(test)]
impl FixedPool {
    /// Execution memory of `max` bytes, and nothing beyond.
    pub fn execution(max: u64) -> ExecutionMemory {
        let lent = Mutex::default();
        ExecutionMemory::with_least(Arc::new(Self { max, lent }), 0.0, 0)
    }
}

#[cfg(test)]
impl SharedPool for FixedPool {
    fn max(&self) -> u64 {
        self.max
    }

    fn storage_used(&self) -> u64 {
        0
    }

    fn lend(&self, bytes: u64, _: u64) -> u64 {
        let mut lent = self.lent.lock();
        let granted = bytes.min(self.max.saturating_sub(*lent));
        *lent += granted;
        granted
    }

    fn overdraw(&self, bytes: u64) {
        *self.lent.lock() += bytes;
    }

    fn take_back(&self, bytes: u64) {
        let mut lent = self.lent.lock();
        *lent = lent.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Blocks that go when they have to.
    struct WithBlocks {
        max: u64,
        state: Mutex<(u64, u64)>,
    }

    impl SharedPool for WithBlocks {
        fn max(&self) -> u64 {
            self.max
        }

        fn storage_used(&self) -> u64 {
            self.state.lock().0
        }

        fn lend(&self, bytes: u64, region: u64) -> u64 {
            let mut state = self.state.lock();
            let (blocks, lent) = &mut *state;
            let missing = bytes.saturating_sub(self.max - *blocks - *lent);
            *blocks -= missing.min(blocks.saturating_sub(region));
            let granted = bytes.min(self.max - *blocks - *lent);
            *lent += granted;
            granted
        }

        fn overdraw(&self, bytes: u64) {
            self.state.lock().1 += bytes;
        }

        fn take_back(&self, bytes: u64) {
            self.state.lock().1 -= bytes;
        }
    }

    #[test]
    fn each_of_n_tasks_may_have_an_nth() {
        let memory = FixedPool::execution(100 * MIB);
        let mut first = memory.of_task(1);
        assert!(first.grow_to(90 * MIB), "alone");
        let mut second = memory.of_task(2);
        assert!(
            !first.grow_to(91 * MIB),
            "it has more than its half already"
        );
        assert!(second.grow_to(10 * MIB));
        assert!(!second.grow_to(11 * MIB), "there is no more");
        first.release();
        assert!(second.grow_to(50 * MIB));
        assert!(!second.grow_to(50 * MIB + 1), "that is its half");
        assert!(first.grow_to(50 * MIB));
        assert_eq!(memory.used(), 100 * MIB);
        first.shrink_to(20 * MIB);
        assert_eq!((memory.used(), first.limit()), (70 * MIB, 50 * MIB));
        drop(first);
        assert!(second.grow_to(100 * MIB), "alone again");
        drop(second);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn users_of_one_task_share_its_part() {
        let memory = FixedPool::execution(100 * MIB);
        let (mut a, mut b) = (memory.of_task(1), memory.of_task(1));
        let _other = memory.of_task(2);
        assert!(a.grow_to(30 * MIB));
        assert!(!b.grow_to(30 * MIB));
        drop(a);
        assert!(b.grow_to(50 * MIB));
    }

    #[test]
    fn what_is_held_grows_in_steps() {
        let memory = FixedPool::execution(100 * MIB);
        let mut task = memory.of_task(1);
        assert!(task.grow_to(1));
        assert_eq!(task.held(), LEAST);
        assert!(task.grow_to(10 * MIB));
        assert!(task.grow_to(10 * MIB + 1));
        assert_eq!(task.held(), 15 * MIB);
    }

    #[test]
    fn the_least_is_there_even_if_nothing_is() {
        let lent = Mutex::default();
        let memory = ExecutionMemory::new(Arc::new(FixedPool { max: 0, lent }), 0.0);
        let mut task = memory.of_task(1);
        assert!(task.grow_to(LEAST));
        assert!(!task.grow_to(LEAST + 1));
        assert_eq!(memory.used(), LEAST);
    }

    #[test]
    fn blocks_go_for_execution_down_to_their_region() {
        let pool = Arc::new(WithBlocks {
            max: 100 * MIB,
            state: Mutex::new((80 * MIB, 0)),
        });
        let memory = ExecutionMemory::new(Arc::clone(&pool) as _, 0.5);
        let mut task = memory.of_task(1);
        assert!(task.grow_to(20 * MIB));
        assert_eq!(pool.storage_used(), 80 * MIB);
        assert!(task.grow_to(50 * MIB));
        assert_eq!(pool.storage_used(), 50 * MIB);
        assert!(!task.grow_to(51 * MIB));
        pool.state.lock().0 = 10 * MIB;
        assert!(task.grow_to(90 * MIB), "blocks do not use their region");
    }

    /// Keeps some memory until it is asked to let go.
    #[derive(Default)]
    struct Kept(Mutex<Vec<CommonMemory>>);

    impl Idle for Kept {
        fn idle(&self) -> u64 {
            self.0.lock().iter().map(|memory| memory.held).sum()
        }

        fn let_go(&self, bytes: u64) {
            let mut freed = 0;
            self.0.lock().retain(|memory| {
                let keep = freed >= bytes;
                freed += if keep { 0 } else { memory.held };
                keep
            });
        }
    }

    #[test]
    fn what_tasks_share_leaves_them_half() {
        let memory = FixedPool::execution(100 * MIB);
        let mut table = memory.common();
        assert!(!table.resize(51 * MIB));
        assert!(table.resize(30 * MIB));
        let mut other = memory.common();
        assert!(!other.resize(21 * MIB));
        assert!(other.resize(20 * MIB));
        let mut task = memory.of_task(1);
        assert_eq!(task.limit(), 50 * MIB);
        assert!(task.grow_to(50 * MIB));
        assert!(!task.grow_to(51 * MIB));
        drop(other);
        assert!(table.resize(10 * MIB));
        assert!(task.grow_to(90 * MIB));
        assert!(!table.resize(11 * MIB), "the task has the rest");
        drop((task, table));
        assert_eq!(memory.of_task(2).limit(), 100 * MIB);
    }

    #[test]
    fn what_nobody_uses_goes_when_memory_is_short() {
        let memory = FixedPool::execution(100 * MIB);
        let keeper = Arc::new(Kept::default());
        let weak: Weak<Kept> = Arc::downgrade(&keeper);
        memory.set_keeper(weak);
        for _ in 0..2 {
            let mut table = memory.common();
            assert!(table.resize(20 * MIB));
            keeper.0.lock().push(table);
        }
        let mut task = memory.of_task(1);
        assert_eq!(task.limit(), 100 * MIB, "all of it could be had");
        assert!(task.grow_to(60 * MIB));
        assert_eq!(keeper.0.lock().len(), 2);
        assert!(task.grow_to(70 * MIB));
        assert_eq!(keeper.0.lock().len(), 1);
        let mut table = memory.common();
        assert!(table.resize(10 * MIB));
        assert_eq!(keeper.0.lock().len(), 1);
        assert!(table.resize(30 * MIB), "in place of the idle one");
        assert!(keeper.0.lock().is_empty());
        assert!(!task.grow_to(71 * MIB));
    }

    #[test]
    fn small_tables_are_there_even_if_tasks_have_everything() {
        let lent = Mutex::default();
        let max = 160 * MIB;
        let memory = ExecutionMemory::new(Arc::new(FixedPool { max, lent }), 0.0);
        let mut task = memory.of_task(1);
        assert!(task.grow_to(160 * MIB));
        let mut table = memory.common();
        assert!(table.resize(10 * MIB));
        assert!(!table.resize(11 * MIB));
    }
}
