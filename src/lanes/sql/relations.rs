//! What is made of broadcasts, once per executor.
//!
//! Its memory is [`CommonMemory`]. What no task uses goes when memory is short, that which was used least recently
//! first; a task that wants it later makes it again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use datafusion_common::Result;
use exec::{Shared as Made, SharedMemory};
use parking_lot::Mutex;
use rows::error::bail_out;

use crate::memory::budget::{CommonMemory, ExecutionMemory, Idle};

/// How long a task that waits for another one does not look whether it was killed.
const PATIENCE: Duration = Duration::from_millis(50);

/// A thing, once it is made. Its lock is held meanwhile: tasks that want the same wait.
type Cell = Arc<Mutex<Option<Made>>>;

#[derive(Debug, Default, Clone)]
struct Entry {
    cell: Cell,
    /// Bytes that it has.
    size: Arc<AtomicU64>,
    /// When it was asked for last, as a number that grows.
    used: u64,
}

impl Entry {
    /// Its bytes, if nobody but this place has it.
    fn idle(&self) -> Option<u64> {
        let made = self.cell.try_lock()?;
        let idle = made.as_ref().is_some_and(is_idle);
        idle.then(|| self.size.load(Ordering::Relaxed))
    }
}

fn is_idle(made: &Made) -> bool {
    Arc::strong_count(made) == 1
}

#[derive(Debug, Default)]
struct Cached {
    /// By the broadcast's id and by what they are.
    things: HashMap<i64, HashMap<String, Entry>>,
    clock: u64,
}

/// Things that tasks share.
#[derive(Debug)]
pub(super) struct Relations {
    memory: ExecutionMemory,
    known: Mutex<Cached>,
}

/// Memory of one thing.
#[derive(Debug)]
struct Lease {
    memory: CommonMemory,
    size: Arc<AtomicU64>,
}

impl SharedMemory for Lease {
    fn resize(&mut self, bytes: usize) -> Result<()> {
        if !self.memory.resize(bytes as u64) {
            return Err(bail_out("no memory for a broadcast"));
        }
        self.size.store(bytes as u64, Ordering::Relaxed);
        Ok(())
    }
}

impl Relations {
    /// None yet; they take `memory`, and hear when it is short.
    pub(super) fn new(memory: ExecutionMemory) -> Arc<Self> {
        let relations = Arc::new(Self {
            memory: memory.clone(),
            known: Mutex::default(),
        });
        let weak = Arc::downgrade(&relations);
        memory.set_keeper(weak);
        relations
    }

    /// The thing of that name made of a broadcast; `make` is asked if there is none, and keeps the memory with what it
    /// makes. Waits for others who make it, as long as `alive` says that it should. With it come its bytes.
    pub(super) fn get_or_make(
        &self,
        broadcast_id: i64,
        name: &str,
        alive: impl Fn() -> Result<()>,
        make: impl FnOnce(Box<dyn SharedMemory>) -> Result<Made>,
    ) -> Result<(Made, u64)> {
        let entry = {
            let mut known = self.known.lock();
            known.clock += 1;
            let now = known.clock;
            let of_broadcast = known.things.entry(broadcast_id).or_default();
            let entry = of_broadcast.entry(name.to_owned()).or_default();
            entry.used = now;
            entry.clone()
        };
        let mut made = loop {
            if let Some(made) = entry.cell.try_lock_for(PATIENCE) {
                break made;
            }
            alive()?;
        };
        let size = || entry.size.load(Ordering::Relaxed);
        if let Some(made) = &*made {
            return Ok((Arc::clone(made), size()));
        }
        let new = make(Box::new(Lease {
            memory: self.memory.common(),
            size: Arc::clone(&entry.size),
        }))?;
        *made = Some(Arc::clone(&new));
        Ok((new, size()))
    }

    /// Forgets what was made of a broadcast that the driver removes. Tasks that have it keep it.
    pub(super) fn remove(&self, broadcast_id: i64) {
        let removed = self.known.lock().things.remove(&broadcast_id);
        drop(removed);
    }
}

impl Idle for Relations {
    fn idle(&self) -> u64 {
        let known = self.known.lock();
        let entries = known.things.values().flat_map(HashMap::values);
        entries.filter_map(Entry::idle).sum()
    }

    fn let_go(&self, bytes: u64) {
        let known = self.known.lock();
        let mut idle: Vec<&Entry> = known.things.values().flat_map(HashMap::values).collect();
        idle.sort_unstable_by_key(|entry| entry.used);
        let mut freed = 0;
        for entry in idle {
            if freed >= bytes {
                break;
            }
            let Some(mut made) = entry.cell.try_lock() else {
                continue;
            };
            if made.as_ref().is_some_and(is_idle) {
                freed += entry.size.load(Ordering::Relaxed);
                *made = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rows::error::RunError;

    use super::*;
    use crate::memory::budget::FixedPool;

    const MIB: usize = 1 << 20;

    /// Something of so many MiB.
    #[derive(Debug)]
    struct Thing(
        usize,
        #[expect(dead_code, reason = "kept")] Box<dyn SharedMemory>,
    );

    fn alive() -> Result<()> {
        Ok(())
    }

    fn get(relations: &Relations, id: i64, name: &str, size: usize) -> Result<Arc<Thing>> {
        let made = relations.get_or_make(id, name, alive, |mut memory| {
            memory.resize(size * MIB)?;
            Ok(Arc::new(Thing(size, memory)) as Made)
        })?;
        assert_eq!(made.1, (made_size(&made.0) * MIB) as u64);
        Ok(made.0.downcast().unwrap())
    }

    fn made_size(made: &Made) -> usize {
        Arc::clone(made).downcast::<Thing>().unwrap().0
    }

    #[test]
    fn each_thing_is_made_once() {
        let relations = Relations::new(FixedPool::execution(100 << 20));
        let get = |id, name, value| get(&relations, id, name, value).unwrap().0;
        let failed = relations.get_or_make(1, "table", alive, |_| Err(bail_out("no")));
        assert!(failed.is_err());
        assert_eq!(get(1, "table", 7), 7);
        assert_eq!(get(1, "table", 8), 7);
        assert_eq!(get(1, "rows", 9), 9);
        assert_eq!(get(2, "table", 10), 10);
        relations.remove(1);
        assert_eq!(get(1, "table", 11), 11);
        assert_eq!(get(2, "table", 12), 10);
    }

    #[test]
    fn what_no_task_uses_goes_when_memory_is_short() {
        let memory = FixedPool::execution(100 << 20);
        let relations = Relations::new(memory.clone());
        let used = get(&relations, 1, "used", 20).unwrap();
        get(&relations, 2, "old", 10).unwrap();
        get(&relations, 3, "new", 10).unwrap();
        get(&relations, 2, "old", 1).unwrap();
        assert_eq!(relations.idle(), 20 << 20);
        let mut task = memory.of_task(1);
        assert!(task.grow_to(65 << 20));
        assert_eq!(relations.idle(), 10 << 20, "one had to go");
        assert_eq!(get(&relations, 2, "old", 1).unwrap().0, 10, "it is newer");
        assert!(!task.grow_to(81 << 20), "the rest is used");
        drop(used);
        assert!(task.grow_to(81 << 20));
        assert!(task.grow_to(100 << 20));
        assert_eq!(relations.idle(), 0);
        drop(task);
        assert_eq!(get(&relations, 1, "used", 5).unwrap().0, 5, "made again");
    }

    #[test]
    fn what_does_not_fit_is_a_bail_out() {
        let memory = FixedPool::execution(100 << 20);
        let relations = Relations::new(memory.clone());
        let _used = get(&relations, 1, "a", 30).unwrap();
        match get(&relations, 2, "b", 30).map_err(RunError::of) {
            Err(RunError::BailOut(reason)) => assert_eq!(reason, "no memory for a broadcast"),
            other => panic!("{other:?}"),
        }
        assert_eq!(get(&relations, 2, "b", 20).unwrap().0, 20);
        relations.remove(1);
        assert_eq!(memory.of_task(1).limit(), 70 << 20, "a task has it still");
    }

    #[test]
    fn who_is_killed_does_not_wait() {
        let relations = Relations::new(FixedPool::execution(100 << 20));
        let killed = relations.get_or_make(1, "a", alive, |_| {
            let inner = std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    let killed = || Err(RunError::Killed.into());
                    relations.get_or_make(1, "a", killed, |_| Err(bail_out("not asked")))
                });
                other.join().unwrap()
            });
            assert!(matches!(RunError::of(inner.unwrap_err()), RunError::Killed));
            Err(bail_out("done"))
        });
        assert!(killed.is_err());
    }
}
