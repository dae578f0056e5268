//! Telling running work to stop.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// A switch that is thrown once, with a reason. Clones are the same switch.
#[derive(Clone)]
pub struct Cancellation(Arc<Inner>);

type Hook = Box<dyn FnOnce(&str) + Send>;

struct Inner {
    reason: watch::Sender<Option<Arc<str>>>,
    hooks: Mutex<Hooks>,
}

#[derive(Default)]
struct Hooks {
    next: u64,
    waiting: Vec<(u64, Hook)>,
}

/// Keeps a hook of [`Cancellation::on_cancel`] in place until dropped.
#[must_use = "the hook is taken away when this is dropped"]
#[derive(Debug)]
pub struct HookGuard {
    switch: Cancellation,
    id: u64,
}

impl Drop for HookGuard {
    fn drop(&mut self) {
        let mut hooks = self.switch.0.hooks.lock();
        hooks.waiting.retain(|(id, _)| *id != self.id);
    }
}

impl Default for Cancellation {
    fn default() -> Self {
        Self(Arc::new(Inner {
            reason: watch::Sender::new(None),
            hooks: Mutex::default(),
        }))
    }
}

impl std::fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cancellation").field(&self.reason()).finish()
    }
}

impl Cancellation {
    /// Throws the switch. Only the first reason counts.
    pub fn cancel(&self, reason: &str) {
        let first = self.0.reason.send_if_modified(|held| {
            let first = held.is_none();
            held.get_or_insert_with(|| Arc::from(reason));
            first
        });
        if first {
            // Taken out first: a hook may use this switch again.
            let hooks = std::mem::take(&mut self.0.hooks.lock().waiting);
            for (_, hook) in hooks {
                hook(reason);
            }
        }
    }

    /// Why the work shall stop, if it shall.
    pub fn reason(&self) -> Option<Arc<str>> {
        self.0.reason.borrow().clone()
    }

    /// Whether the work shall stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.reason.borrow().is_some()
    }

    /// Waits until the work shall stop.
    pub async fn cancelled(&self) -> Arc<str> {
        let mut receiver = self.0.reason.subscribe();
        loop {
            if let Some(reason) = receiver.borrow_and_update().clone() {
                return reason;
            }
            // The sender lives as long as `self`.
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Calls `hook` when the switch is thrown (at once, if it is), unless the guard has been dropped before. The hook
    /// runs on the thread that throws the switch and must not wait.
    pub fn on_cancel(&self, hook: impl FnOnce(&str) + Send + 'static) -> HookGuard {
        let mut hooks = self.0.hooks.lock();
        let id = hooks.next;
        hooks.next += 1;
        // Under the lock of the hooks: `cancel` sets the reason before it takes them.
        if let Some(reason) = self.reason() {
            drop(hooks);
            hook(&reason);
        } else {
            hooks.waiting.push((id, Box::new(hook)));
        }
        HookGuard {
            switch: self.clone(),
            id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn the_first_reason_counts_and_hooks_run_once() {
        let switch = Cancellation::default();
        let count = Arc::new(AtomicU32::new(0));
        let hook = |count: &Arc<AtomicU32>| {
            let count = Arc::clone(count);
            move |reason: &str| {
                assert_eq!(reason, "stage cancelled");
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        let _kept = switch.on_cancel(hook(&count));
        drop(switch.on_cancel(hook(&count)));
        assert!(!switch.is_cancelled());
        switch.cancel("stage cancelled");
        switch.cancel("another");
        assert_eq!(count.load(Ordering::Relaxed), 1);
        let _late = switch.on_cancel(hook(&count));
        assert_eq!(count.load(Ordering::Relaxed), 2);
        assert_eq!(switch.reason().as_deref(), Some("stage cancelled"));
    }

    #[tokio::test]
    async fn waiting_ends_with_the_switch() {
        let switch = Cancellation::default();
        let other = switch.clone();
        let waiting = tokio::spawn(async move { other.cancelled().await });
        tokio::task::yield_now().await;
        switch.cancel("why");
        assert_eq!(waiting.await.ok().as_deref(), Some("why"));
    }
}
