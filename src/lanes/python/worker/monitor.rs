//! The one thread that looks after idle and condemned workers.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::factory::{Condemned, Factory};

/// How often idle workers are looked at.
const TICK: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct State {
    condemned: Vec<(Instant, Condemned)>,
    factories: Vec<Weak<Factory>>,
    stopped: bool,
}

/// Kills workers when their time has come, and stops those that have been idle for long.
#[derive(Debug, Default)]
pub(super) struct Monitor {
    shared: Arc<(Mutex<State>, Condvar)>,
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

    /// Kills a worker after a time, if it is still there.
    pub(super) fn kill_later(&self, condemned: Condemned, after: Duration) {
        let (state, changed) = &*self.shared;
        state
            .lock()
            .condemned
            .push((Instant::now() + after, condemned));
        changed.notify_all();
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let (state, changed) = &*self.shared;
        let condemned = {
            let mut state = state.lock();
            state.stopped = true;
            std::mem::take(&mut state.condemned)
        };
        changed.notify_all();
        for (_, condemned) in condemned {
            condemned.kill();
        }
    }
}

fn run(shared: &(Mutex<State>, Condvar)) {
    let (state, changed) = shared;
    let mut next_tick = Instant::now() + TICK;
    let mut held = state.lock();
    while !held.stopped {
        let first = held.condemned.iter().map(|(at, _)| *at).min();
        let wake = first.map_or(next_tick, |at| at.min(next_tick));
        changed.wait_until(&mut held, wake);
        let now = Instant::now();
        let due: Vec<_> = held
            .condemned
            .extract_if(.., |(at, _)| *at <= now)
            .collect();
        let mut factories = Vec::new();
        if next_tick <= now {
            next_tick = now + TICK;
            factories = held.factories.clone();
        }
        drop(held);
        for (_, condemned) in due {
            condemned.kill();
        }
        for factory in factories.iter().filter_map(Weak::upgrade) {
            factory.stop_idle();
        }
        held = state.lock();
    }
}
