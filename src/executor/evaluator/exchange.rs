//! What a task and its evaluator say to each other, one after the other.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::cancel::Cancellation;
use crate::task::thread_cpu;

/// What evaluators of the executor's tasks and the JVM say to each other, by the evaluators' numbers.
#[derive(Debug, Default)]
pub(in super::super) struct Exchanges(Mutex<HashMap<i64, Arc<Exchange>>>);

impl Exchanges {
    pub(super) fn insert(&self, id: i64, exchange: &Arc<Exchange>) {
        self.0.lock().insert(id, Arc::clone(exchange));
    }

    pub(super) fn remove(&self, id: i64) {
        self.0.lock().remove(&id);
    }

    fn get(&self, id: i64) -> Option<Arc<Exchange>> {
        self.0.lock().get(&id).cloned()
    }

    /// What the evaluator has to look at next. Waits for it.
    pub(in super::super) fn next(&self, id: i64) -> Option<Vec<u8>> {
        self.get(id)?.next()
    }

    /// What came of it.
    pub(in super::super) fn done(&self, id: i64, result: Result<Vec<u8>, String>) {
        if let Some(exchange) = self.get(id) {
            exchange.answer(result);
        }
    }

    /// The evaluator's task in the JVM is no more. `failure` says what went wrong, if something did.
    pub(in super::super) fn ended(&self, id: i64, failure: Option<String>) {
        if let Some(exchange) = self.get(id) {
            exchange.ended(failure);
        }
    }
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The expression fails: the stack trace.
    Expression(String),
    /// Nobody evaluates: why not.
    Evaluator(String),
    /// The task was killed.
    Killed,
}

/// Whose turn it is.
#[derive(Debug)]
enum Turn {
    /// Nothing is to be done.
    Idle,
    /// Rows are to be evaluated.
    Asked(Vec<u8>),
    /// The evaluator works, from this processor time of this thread of its on.
    Taken(ThreadId, Duration),
    /// Rows have been evaluated.
    Answered(Result<Vec<u8>, Trouble>),
}

/// How an evaluator ended.
#[derive(Debug, Clone)]
enum Gone {
    Finished,
    Failed(String),
}

/// What is between a task and its evaluator.
#[derive(Debug)]
struct Between {
    turn: Turn,
    /// The evaluator is no more. It may have ended after its last answer.
    gone: Option<Gone>,
    /// The task needs it no more.
    closed: bool,
}

#[derive(Debug)]
pub(super) struct Exchange {
    between: Mutex<Between>,
    changed: Condvar,
    /// Nanoseconds that the evaluator's thread has worked.
    cpu: AtomicU64,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "its task in the JVM has ended",
            Self::Failed(why) => why,
        })
    }
}

impl Exchange {
    pub(super) fn new() -> Self {
        Self {
            between: Mutex::new(Between {
                turn: Turn::Idle,
                gone: None,
                closed: false,
            }),
            changed: Condvar::new(),
            cpu: AtomicU64::new(0),
        }
    }

    /// The evaluator's side: waits for something to do; `None` if there is no more.
    fn next(&self) -> Option<Vec<u8>> {
        let mut between = self.between.lock();
        loop {
            if between.closed || between.gone.is_some() {
                return None;
            }
            if let Turn::Asked(message) = &mut between.turn {
                let message = std::mem::take(message);
                between.turn = Turn::Taken(thread::current().id(), thread_cpu());
                return Some(message);
            }
            self.changed.wait(&mut between);
        }
    }

    /// The evaluator's side: what came of what it took.
    fn answer(&self, result: Result<Vec<u8>, String>) {
        let mut between = self.between.lock();
        let Turn::Taken(thread, since) = between.turn else {
            return;
        };
        // Functions may ask for rows on threads of their own.
        if thread == thread::current().id() {
            let worked = thread_cpu().saturating_sub(since).as_nanos();
            let worked = u64::try_from(worked).unwrap_or(u64::MAX);
            self.cpu.fetch_add(worked, Ordering::Relaxed);
        }
        between.turn = Turn::Answered(result.map_err(Trouble::Expression));
        self.changed.notify_all();
    }

    /// The evaluator's side: it is no more.
    fn ended(&self, failure: Option<String>) {
        let how = failure.map_or(Gone::Finished, Gone::Failed);
        self.between.lock().gone.get_or_insert(how);
        self.changed.notify_all();
    }

    /// The task's side: gives rows to the evaluator, and waits for what comes of them.
    pub(super) fn ask(
        &self,
        message: Vec<u8>,
        cancellation: &Cancellation,
    ) -> Result<Vec<u8>, Trouble> {
        let mut between = self.between.lock();
        between.turn = Turn::Asked(message);
        self.changed.notify_all();
        loop {
            if cancellation.is_cancelled() {
                between.closed = true;
                self.changed.notify_all();
                return Err(Trouble::Killed);
            }
            match std::mem::replace(&mut between.turn, Turn::Idle) {
                Turn::Answered(result) => return result,
                other => between.turn = other,
            }
            if let Some(how) = &between.gone {
                return Err(Trouble::Evaluator(how.to_string()));
            }
            self.changed.wait(&mut between);
        }
    }

    /// The task's side: waits until the evaluator, which has been told, has ended.
    pub(super) fn wait_for_end(&self, cancellation: &Cancellation) -> Result<(), Trouble> {
        let mut between = self.between.lock();
        between.closed = true;
        self.changed.notify_all();
        loop {
            if cancellation.is_cancelled() {
                return Err(Trouble::Killed);
            }
            match &between.gone {
                Some(Gone::Finished) => return Ok(()),
                Some(how) => return Err(Trouble::Evaluator(how.to_string())),
                None => self.changed.wait(&mut between),
            }
        }
    }

    /// The task's side: waits for so long at most. Gives whether the evaluator has ended.
    pub(super) fn waited_for_end(&self, most: Duration) -> bool {
        let mut between = self.between.lock();
        if between.gone.is_none() {
            self.changed.wait_for(&mut between, most);
        }
        between.gone.is_some()
    }

    /// The task may have been killed.
    pub(super) fn look_again(&self) {
        // Whoever looks at the switch has the lock, so that it sleeps or sees it.
        drop(self.between.lock());
        self.changed.notify_all();
    }

    /// Processor time of the evaluator's thread so far.
    pub(super) fn cpu_time(&self) -> Duration {
        Duration::from_nanos(self.cpu.load(Ordering::Relaxed))
    }

    pub(super) fn close(&self) {
        self.between.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluator(exchange: &Arc<Exchange>, rounds: usize) -> std::thread::JoinHandle<usize> {
        let exchange = Arc::clone(exchange);
        std::thread::spawn(move || {
            let mut seen = 0;
            while let Some(mut rows) = exchange.next() {
                if seen == rounds {
                    exchange.answer(Err("too many".to_owned()));
                    continue;
                }
                seen += 1;
                rows.reverse();
                exchange.answer(Ok(rows));
            }
            seen
        })
    }

    #[test]
    fn rows_are_answered_one_after_the_other() {
        let exchange = Arc::new(Exchange::new());
        let thread = evaluator(&exchange, 2);
        let never = Cancellation::default();
        assert_eq!(exchange.ask(vec![1, 2], &never).unwrap(), [2, 1]);
        assert_eq!(exchange.ask(vec![3], &never).unwrap(), [3]);
        // A failure is told, and does not end it.
        for _ in 0..2 {
            let failed = exchange.ask(vec![], &never);
            assert!(matches!(failed, Err(Trouble::Expression(why)) if why == "too many"));
        }
        exchange.close();
        assert_eq!(thread.join().unwrap(), 2);
        assert!(exchange.next().is_none());
    }

    #[test]
    fn a_killed_task_does_not_wait() {
        let exchange = Arc::new(Exchange::new());
        let switch = Cancellation::default();
        let hooked = Arc::clone(&exchange);
        let _guard = switch.on_cancel(move |_| hooked.look_again());
        let killer = switch.clone();
        let taken = Arc::clone(&exchange);
        let thread = std::thread::spawn(move || {
            assert_eq!(taken.next(), Some(vec![7]));
            killer.cancel("stage cancelled");
            // The answer comes too late.
            taken.answer(Ok(vec![8]));
            taken.next()
        });
        assert!(matches!(
            exchange.ask(vec![7], &switch),
            Err(Trouble::Killed)
        ));
        assert_eq!(thread.join().unwrap(), None);
    }

    #[test]
    fn an_evaluator_that_ends_is_not_waited_for() {
        let never = Cancellation::default();
        let exchanges = Exchanges::default();
        let exchange = Arc::new(Exchange::new());
        exchanges.0.lock().insert(-1, Arc::clone(&exchange));
        let ended = |trouble| matches!(trouble, Err(Trouble::Evaluator(why)) if why == "no class");
        // While it is asked, and ever after.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(exchanges.next(-1), Some(vec![1]));
                exchanges.ended(-1, Some("no class".to_owned()));
            });
            assert!(ended(exchange.ask(vec![1], &never)));
        });
        assert!(ended(exchange.ask(vec![1], &never)));
        assert!(exchanges.next(-1).is_none());
        // Before it is asked, and after its last answer.
        let idle = Exchange::new();
        idle.ended(Some("no class".to_owned()));
        assert!(ended(idle.ask(vec![1], &never)));
        let last = Exchange::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(last.next(), Some(vec![1]));
                last.answer(Ok(vec![2]));
                last.ended(Some("no class".to_owned()));
            });
            assert_eq!(last.ask(vec![1], &never).unwrap(), [2]);
        });
        assert!(ended(last.ask(vec![1], &never)));
        assert!(!Exchange::new().waited_for_end(Duration::from_millis(1)));
        assert!(idle.waited_for_end(Duration::from_secs(60)));
        // It is waited for at the end.
        assert!(matches!(
            idle.wait_for_end(&never),
            Err(Trouble::Evaluator(_))
        ));
        let finished = Exchange::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(finished.next(), None);
                finished.ended(None);
            });
            assert!(finished.wait_for_end(&never).is_ok());
        });
        let killed = Cancellation::default();
        killed.cancel("stage cancelled");
        assert!(matches!(
            Exchange::new().wait_for_end(&killed),
            Err(Trouble::Killed)
        ));
        // Unknown ones are told that there is nothing to do.
        assert!(exchanges.next(-2).is_none());
    }
}
