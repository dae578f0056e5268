//! The one thread that looks after idle workers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::factory::Factory;

/// How often idle workers are looked at.
const TICK: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct Watched {
    factories: Vec<Weak<Factory>>,
    stopped: bool,
}

/// Stops workers that have been idle for long.
#[derive(Debug, Default)]
pub(super) struct Monitor {
    shared: Arc<(Mutex<Watched>, Condvar)>,
}

impl Monitor {
    /// Looks after a factory's idle workers from now on.
    pub(super) fn watch(&self, factory: &Arc<Factory>) {
        let (state, _) = &*self.shared;
        let mut state = state.lock();
        if state.factories.is_empty() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name("python-monitor".to_owned())
                .stack_size(128 << 10);
            if let Err(error) = thread.spawn(move || run(&shared)) {
                tracing::error!("Idle Python workers stay: {error}");
            }
        }
        state.factories.push(Arc::downgrade(factory));
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let (state, changed) = &*self.shared;
        state.lock().stopped = true;
        changed.notify_all();
    }
}

fn run(shared: &(Mutex<Watched>, Condvar)) {
    let (state, changed) = shared;
    let mut held = state.lock();
    while !held.stopped {
        if !changed.wait_for(&mut held, TICK).timed_out() {
            continue;
        }
        let factories = held.factories.clone();
        drop(held);
        for factory in factories.iter().filter_map(Weak::upgrade) {
            factory.stop_idle();
        }
        held = state.lock();
    }
}
