//! A task's part of the executor's memory as DataFusion's operators ask for it.
//!
//! Operators that can go to disk get equal parts of what those that cannot leave to them: the first of two sorts must
//! not take what the second one needs, neither while it gathers rows nor when it merges what it has spilled. A sort
//! needs some memory to sort what it has gathered: it must not gather until nothing is left.

use std::fmt;

use datafusion_common::{Result, resources_datafusion_err};
use datafusion_execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use parking_lot::Mutex;

use super::engine::SORT_RESERVATION;
use crate::memory::budget::TaskMemory;

/// Memory that is given back in smaller pieces is kept: operators ask for it again.
const KEPT: u64 = 4 << 20;

/// What a consumer has memory for, which says how much it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It can go to disk.
    Spills,
    /// A sort gathers rows.
    Sorts,
    /// A sort merges sorted rows: what it has spilled, with as much memory as it gets; or what it has gathered, which
    /// it gives back meanwhile.
    Merges,
    /// It cannot go to disk.
    Stays,
}

impl Use {
    fn of(consumer: &MemoryConsumer) -> Self {
        match (consumer.can_spill(), consumer.name()) {
            (true, name) if name.starts_with("ExternalSorter[") => Self::Sorts,
            (true, _) => Self::Spills,
            (false, name) if name.starts_with("ExternalSorterMerge[") => Self::Merges,
            (false, _) => Self::Stays,
        }
    }
}

/// Where a task's memory comes from.
pub(super) trait Budget: fmt::Debug + Send + 'static {
    /// The most bytes that the task may have now.
    fn limit(&self) -> u64;

    /// Asks for more until there are `bytes`; `false` if there is not as much.
    fn grow_to(&mut self, bytes: u64) -> bool;

    /// Gives back what is beyond `bytes`.
    fn shrink_to(&mut self, bytes: u64);
}

impl Budget for TaskMemory {
    fn limit(&self) -> u64 {
        // The rest is for writing a shuffle.
        self.limit() / 4 * 3
    }

    fn grow_to(&mut self, bytes: u64) -> bool {
        self.grow_to(bytes)
    }

    fn shrink_to(&mut self, bytes: u64) {
        self.shrink_to(bytes);
    }
}

/// The memory of one attempt.
#[derive(Debug)]
pub(super) struct TaskPool<B>(Mutex<PoolUse<B>>);

#[derive(Debug)]
struct PoolUse<B> {
    budget: B,
    used: usize,
    /// Part of it that stays in memory.
    stays: usize,
    /// Consumers that can go to disk.
    spillers: usize,
    held: u64,
    peak: u64,
}

impl<B: Budget> PoolUse<B> {
    fn add(&mut self, what: Use, bytes: usize) {
        self.used += bytes;
        if what == Use::Stays {
            self.stays += bytes;
        }
        self.peak = self.peak.max(self.used as u64);
    }

    /// The most bytes that a consumer may have; `None` if it is all that there is.
    fn most(&self, what: Use) -> Option<usize> {
        let limit = usize::try_from(self.budget.limit()).unwrap_or(usize::MAX);
        let part = limit.saturating_sub(self.stays) / self.spillers.max(1);
        match what {
            Use::Spills => Some(part),
            Use::Sorts => Some(part / 3 * 2),
            Use::Merges => Some(part.max(SORT_RESERVATION)),
            Use::Stays => None,
        }
    }
}

impl<B: Budget> TaskPool<B> {
    pub(super) fn new(budget: B) -> Self {
        Self(Mutex::new(PoolUse {
            budget,
            used: 0,
            stays: 0,
            spillers: 0,
            held: 0,
            peak: 0,
        }))
    }

    /// The most bytes that were in use at a time.
    pub(super) fn peak(&self) -> u64 {
        self.0.lock().peak
    }
}

impl<B: Budget> fmt::Display for TaskPool<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        write!(f, "task({} of {})", state.used, state.budget.limit())
    }
}

impl<B: Budget> MemoryPool for TaskPool<B> {
    fn name(&self) -> &str {
        "task"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if consumer.can_spill() {
            self.0.lock().spillers += 1;
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if consumer.can_spill() {
            let mut state = self.0.lock();
            state.spillers = state.spillers.saturating_sub(1);
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        let mut state = self.0.lock();
        state.add(Use::of(reservation.consumer()), additional);
        let used = state.used as u64;
        if used > state.held && state.budget.grow_to(used) {
            state.held = used;
        }
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut state = self.0.lock();
        state.used = state.used.saturating_sub(shrink);
        if Use::of(reservation.consumer()) == Use::Stays {
            state.stays = state.stays.saturating_sub(shrink);
        }
        let used = state.used as u64;
        if state.held > used + KEPT {
            state.budget.shrink_to(used);
            state.held = used;
        }
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut state = self.0.lock();
        let what = Use::of(reservation.consumer());
        let size = reservation.size().saturating_add(additional);
        if state.most(what).is_some_and(|most| size > most) {
            return Err(refused(reservation, additional));
        }
        let wanted = state.used.saturating_add(additional) as u64;
        if wanted > state.held {
            if !state.budget.grow_to(wanted) {
                return Err(refused(reservation, additional));
            }
            state.held = wanted;
        }
        state.add(what, additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.0.lock().used
    }

    fn memory_limit(&self) -> MemoryLimit {
        let limit = self.0.lock().budget.limit();
        MemoryLimit::Finite(usize::try_from(limit).unwrap_or(usize::MAX))
    }
}

fn refused(
    reservation: &MemoryReservation,
    additional: usize,
) -> datafusion_common::DataFusionError {
    resources_datafusion_err!(
        "{} has {} bytes and cannot have {additional} more",
        reservation.consumer().name(),
        reservation.size()
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Debug)]
    struct Counted {
        limit: u64,
        held: Arc<Mutex<u64>>,
    }

    impl Budget for Counted {
        fn limit(&self) -> u64 {
            self.limit
        }

        fn grow_to(&mut self, bytes: u64) -> bool {
            let fits = bytes <= self.limit;
            if fits {
                *self.held.lock() = bytes;
            }
            fits
        }

        fn shrink_to(&mut self, bytes: u64) {
            *self.held.lock() = bytes;
        }
    }

    #[test]
    fn those_that_can_go_to_disk_share_what_the_others_leave() {
        let held = Arc::default();
        let budget = Counted {
            limit: 100 << 20,
            held: Arc::clone(&held),
        };
        let pool = Arc::new(TaskPool::new(budget));
        let dynamic: Arc<dyn MemoryPool> = Arc::clone(&pool) as _;
        let table = MemoryConsumer::new("table").register(&dynamic);
        let sort = |name| {
            MemoryConsumer::new(name)
                .with_can_spill(true)
                .register(&dynamic)
        };
        let (one, other) = (sort("one"), sort("other"));
        table.try_grow(20 << 20).unwrap();
        one.try_grow(40 << 20).unwrap();
        assert!(one.try_grow(1).is_err(), "the other's half");
        other.try_grow(30 << 20).unwrap();
        assert!(table.try_grow(11 << 20).is_err(), "there is no more");
        table.try_grow(10 << 20).unwrap();
        assert_eq!(*held.lock(), 100 << 20);
        assert!(other.try_grow(1).is_err());
        drop(other);
        assert_eq!(*held.lock(), 70 << 20);
        one.try_grow(20 << 20).unwrap();
        drop((one, table));
        assert_eq!(dynamic.reserved(), 0);
        assert_eq!(pool.peak(), 100 << 20);
    }

    #[test]
    fn sorts_keep_something_for_merging_and_for_each_other() {
        let budget = Counted {
            limit: 120 << 20,
            held: Arc::default(),
        };
        let pool: Arc<dyn MemoryPool> = Arc::new(TaskPool::new(budget));
        let sort = || {
            let rows = MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true);
            let merge = MemoryConsumer::new("ExternalSorterMerge[0]");
            (rows.register(&pool), merge.register(&pool))
        };
        let (one, one_merge) = sort();
        let (other, other_merge) = sort();
        one.try_grow(40 << 20).unwrap();
        assert!(one.try_grow(1).is_err());
        one.free();
        one_merge.try_grow(60 << 20).unwrap();
        assert!(one_merge.try_grow(1).is_err());
        other.try_grow(40 << 20).unwrap();
        other_merge.try_grow(20 << 20).unwrap();
        other.free();
        other_merge.try_grow(40 << 20).unwrap();
        assert_eq!(pool.reserved(), 120 << 20);
    }
}
