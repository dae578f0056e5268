//! Processes of isolated functions: one for the functions of a task, which others use after it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::worker::Worker;
use crate::config::{SettingError, SparkProperties, declared};
use crate::launch::jdk::own_dist;

/// How long a process is kept that nobody uses, as Spark keeps Python workers.
const KEPT: Duration = Duration::from_secs(60);

/// The processes of this executor, if its functions are isolated.
static ISOLATED: Mutex<Option<Arc<Isolated>>> = Mutex::new(None);

/// Processes for functions.
#[derive(Debug)]
pub struct Isolated {
    program: PathBuf,
    idle: Mutex<Idle>,
    /// Of tasks that run, by the ids of their attempts.
    leases: Mutex<HashMap<i64, Weak<Lease>>>,
    counts: Mutex<ProcessCounts>,
}

/// Processes that nobody uses, and since when.
#[derive(Debug, Default)]
struct Idle {
    workers: Vec<(Instant, Worker)>,
    /// Whether a thread ends those that are not used for long.
    watched: bool,
}

/// What became of processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessCounts {
    /// How many were started.
    pub started: u64,
    /// How many ended, or were ended, in a call.
    pub ended: u64,
}

/// A process that a task uses.
#[derive(Debug)]
pub(super) struct Lease {
    of: Arc<Isolated>,
    /// `None` when it has ended.
    worker: Mutex<Option<Worker>>,
}

/// Makes all native functions of this process isolated ones, if `spark.firesteel.functions.isolate` says so.
///
/// # Errors
/// The setting has no such value.
pub fn isolate(properties: &SparkProperties) -> Result<(), SettingError> {
    let isolates = properties.switch(&declared::FUNCTIONS_ISOLATE)?;
    *ISOLATED.lock() = isolates.then(|| {
        // An empty name cannot be run, and the error says so.
        let program = own_dist().map(|dist| dist.join("bin/firesteel"));
        Isolated::new(&program.unwrap_or_default())
    });
    Ok(())
}

/// The processes of this executor, if its functions are isolated.
pub(in super::super) fn isolation() -> Option<Arc<Isolated>> {
    ISOLATED.lock().clone()
}

/// What became of processes since the last time.
pub fn count_isolated() -> ProcessCounts {
    let isolated = isolation();
    isolated.map_or_else(ProcessCounts::default, |of| of.take_counts())
}

impl Isolated {
    /// Processes of a program, which is this one.
    pub fn new(program: &Path) -> Arc<Self> {
        Arc::new(Self {
            program: program.to_owned(),
            idle: Mutex::default(),
            leases: Mutex::default(),
            counts: Mutex::default(),
        })
    }

    /// What became of processes since the last time.
    pub fn take_counts(&self) -> ProcessCounts {
        std::mem::take(&mut *self.counts.lock())
    }

    /// The process of a task. One that is its own, if the task is not known.
    ///
    /// # Errors
    /// None can be started.
    pub(super) fn of_task(self: &Arc<Self>, task: i64) -> io::Result<Arc<Lease>> {
        if task < 0 {
            return self.own();
        }
        let mut leases = self.leases.lock();
        leases.retain(|_, lease| lease.strong_count() > 0);
        if let Some(lease) = leases.get(&task).and_then(Weak::upgrade) {
            return Ok(lease);
        }
        let lease = self.own()?;
        leases.insert(task, Arc::downgrade(&lease));
        Ok(lease)
    }

    /// A process that nobody else uses.
    ///
    /// # Errors
    /// None can be started.
    pub(super) fn own(self: &Arc<Self>) -> io::Result<Arc<Lease>> {
        let worker = match self.idle_worker() {
            Some(worker) => worker,
            None => {
                self.counts.lock().started += 1;
                Worker::start(&self.program)?
            }
        };
        Ok(Arc::new(Lease {
            of: Arc::clone(self),
            worker: Mutex::new(Some(worker)),
        }))
    }

    /// A process that nobody uses and that lives.
    fn idle_worker(&self) -> Option<Worker> {
        loop {
            // Not locked while another is ended.
            let (_, mut worker) = self.idle.lock().workers.pop()?;
            if worker.lives() {
                return Some(worker);
            }
        }
    }

    /// Keeps a process for whoever comes next.
    fn keep(self: &Arc<Self>, worker: Worker) {
        let mut idle = self.idle.lock();
        idle.workers.push((Instant::now(), worker));
        if idle.watched {
            return;
        }
        let of = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("isolated-functions-idle".to_owned());
        let spawned = thread.spawn(move || {
            while let Some(wait) = of.upgrade().and_then(|of| of.end_idle()) {
                std::thread::sleep(wait);
            }
        });
        idle.watched = spawned.is_ok();
    }

    /// Ends processes that were not used for long; how long the next one has, if there is one.
    fn end_idle(&self) -> Option<Duration> {
        let mut idle = self.idle.lock();
        let now = Instant::now();
        let is_old = |since: &Instant| now.duration_since(*since) >= KEPT;
        let old: Vec<_> = idle
            .workers
            .extract_if(.., |(since, _)| is_old(since))
            .collect();
        let oldest = idle.workers.iter().map(|(since, _)| *since).min();
        idle.watched = oldest.is_some();
        drop(idle);
        // Not while others wait.
        drop(old);
        oldest.map(|since| KEPT.saturating_sub(now.duration_since(since)))
    }
}

impl Lease {
    /// Lets the process do something; `None` if it has ended. One that `act` fails with has.
    pub(super) fn with<T, E>(
        &self,
        act: impl FnOnce(&mut Worker) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        let mut held = self.worker.lock();
        let done = act(held.as_mut()?);
        if done.is_err() {
            self.of.counts.lock().ended += 1;
            *held = None;
        }
        Some(done)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.get_mut().take() {
            self.of.keep(worker);
        }
    }
}
