//! Expressions of native tasks that the embedded JVM evaluates. For each task that has some, a task of Spark's own
//! kind runs in the JVM (`org.firesteel.bridge.EvaluatorTask`), which takes rows and gives results until the native
//! one ends:
//!
//! ```text
//!   native task ──ask──▶ Exchange ──next──▶ the evaluator's Java thread
//!   native task ◀─answer─ Exchange ◀─done───
//! ```
//!
//! The driver does not know of it. Its task id is one that the driver does not give: below zero.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::{BufMut, Bytes};
use catalyst::JvmExpression;
use parking_lot::{Condvar, Mutex};
use tracing::{debug, info};
use wire::task_description::TaskDescription;

use super::events::Input;
use super::registered::RegisteredExecutor;
use crate::cancel::Cancellation;
use crate::config::declared;
use crate::task::jvm::Jvm;
use crate::task::{Evaluator, TaskError, TaskObject, thread_cpu};

const LOG: &str = "Executor";

/// How often it is looked whether the JVM is ready.
const JVM_POLL: Duration = Duration::from_millis(5);

/// What evaluators of the executor's tasks and the JVM say to each other, by the evaluators' numbers.
#[derive(Debug, Default)]
pub(super) struct Exchanges(Mutex<HashMap<i64, Arc<Exchange>>>);

impl Exchanges {
    fn get(&self, id: i64) -> Option<Arc<Exchange>> {
        self.0.lock().get(&id).cloned()
    }

    /// What the evaluator has to look at next. Waits for it.
    pub(super) fn next(&self, id: i64) -> Option<Vec<u8>> {
        self.get(id)?.next()
    }

    /// What came of it.
    pub(super) fn done(&self, id: i64, result: Result<Vec<u8>, String>) {
        if let Some(exchange) = self.get(id) {
            exchange.answer(result);
        }
    }

    /// The evaluator's task in the JVM is no more.
    pub(super) fn ended(&self, id: i64, why: String) {
        if let Some(exchange) = self.get(id) {
            exchange.ended(why);
        }
    }
}

/// Why there is no result.
#[derive(Debug)]
enum Trouble {
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
    /// The evaluator works, from this processor time of its thread on.
    Taken(Duration),
    /// Rows have been evaluated.
    Answered(Result<Vec<u8>, Trouble>),
}

/// What is between a task and its evaluator.
#[derive(Debug)]
struct Between {
    turn: Turn,
    /// The evaluator is no more: why. It may have ended after its last answer.
    gone: Option<String>,
    /// The task needs it no more.
    closed: bool,
}

#[derive(Debug)]
struct Exchange {
    between: Mutex<Between>,
    changed: Condvar,
    /// Nanoseconds that the evaluator's thread has worked.
    cpu: AtomicU64,
}

impl Exchange {
    fn new() -> Self {
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
                between.turn = Turn::Taken(thread_cpu());
                return Some(message);
            }
            self.changed.wait(&mut between);
        }
    }

    /// The evaluator's side: what came of what it took.
    fn answer(&self, result: Result<Vec<u8>, String>) {
        let mut between = self.between.lock();
        let Turn::Taken(since) = between.turn else {
            return;
        };
        let worked = thread_cpu().saturating_sub(since).as_nanos();
        let worked = u64::try_from(worked).unwrap_or(u64::MAX);
        self.cpu.fetch_add(worked, Ordering::Relaxed);
        between.turn = Turn::Answered(result.map_err(Trouble::Expression));
        self.changed.notify_all();
    }

    /// The evaluator's side: it is no more.
    fn ended(&self, why: String) {
        self.between.lock().gone.get_or_insert(why);
        self.changed.notify_all();
    }

    /// The task's side: gives rows to the evaluator, and waits for what comes of them.
    fn ask(&self, message: Vec<u8>, cancellation: &Cancellation) -> Result<Vec<u8>, Trouble> {
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
            if let Some(why) = &between.gone {
                return Err(Trouble::Evaluator(why.clone()));
            }
            self.changed.wait(&mut between);
        }
    }

    /// The task may have been killed.
    fn look_again(&self) {
        // Whoever looks at the switch has the lock, so that it sleeps or sees it.
        drop(self.between.lock());
        self.changed.notify_all();
    }

    fn close(&self) {
        self.between.lock().closed = true;
        self.changed.notify_all();
    }
}

/// What evaluates for one task.
pub(super) struct TaskEvaluator {
    executor: Weak<RegisteredExecutor>,
    /// The task.
    description: Arc<TaskDescription>,
    cancellation: Cancellation,
    /// Once it has begun.
    begun: Mutex<Option<Begun>>,
}

struct Begun {
    exchange: Arc<Exchange>,
    /// Expressions that it has.
    sent: HashSet<u64>,
}

impl std::fmt::Debug for TaskEvaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskEvaluator")
            .field("task", &self.description.name)
            .finish_non_exhaustive()
    }
}

impl TaskEvaluator {
    /// For a task that has not begun.
    pub(super) fn new(
        executor: &Arc<RegisteredExecutor>,
        description: &Arc<TaskDescription>,
        cancellation: &Cancellation,
    ) -> Self {
        Self {
            executor: Arc::downgrade(executor),
            description: Arc::clone(description),
            cancellation: cancellation.clone(),
            begun: Mutex::default(),
        }
    }

    /// What Spark's executor in the JVM calls it.
    fn id(&self) -> i64 {
        // The driver counts from 0.
        -1 - self.description.task_id
    }

    /// The JVM, which is started if there is none.
    fn wait_for_jvm<'e>(
        &self,
        executor: &'e Arc<RegisteredExecutor>,
    ) -> Result<&'e dyn Jvm, TaskError> {
        if executor.ready_jvm().is_none() {
            // Nothing happens if it is being started. If it cannot be, the executor ends.
            let name = &self.description.name;
            executor.input(Input::JvmWanted(format!("expressions of {name}")));
        }
        loop {
            if let Some(jvm) = executor.ready_jvm() {
                return Ok(jvm);
            }
            std::thread::sleep(JVM_POLL);
            if let Some(reason) = self.cancellation.reason() {
                return Err(TaskError::Killed(reason));
            }
            if executor.ending.is_finished() {
                return Err(TaskError::BailOut("an executor that is gone".to_owned()));
            }
        }
    }

    fn begin(&self, executor: &RegisteredExecutor, jvm: &dyn Jvm) -> Result<Begun, String> {
        let payload = self.payload(executor)?;
        let exchange = Arc::new(Exchange::new());
        let exchanges = &executor.jvm.exchanges;
        exchanges.0.lock().insert(self.id(), Arc::clone(&exchange));
        jvm.start_evaluator(self.id(), payload.into());
        executor.report.count_jvm_evaluator();
        Ok(Begun {
            exchange,
            sent: HashSet::new(),
        })
    }

    /// What `org.firesteel.bridge.Evaluators.start` reads.
    fn payload(&self, executor: &RegisteredExecutor) -> Result<Vec<u8>, String> {
        let limits = &executor.native.plane.env.limits;
        let task = TaskObject::decode(&self.description.serialized_task, limits);
        let task = task.map_err(|error| error.to_string())?;
        let description = TaskDescription {
            task_id: self.id(),
            name: format!("expressions of {}", self.description.name),
            serialized_task: Bytes::new(),
            ..TaskDescription::clone(&self.description)
        };
        let metrics = task.serialized_task_metrics().unwrap_or_default();
        let mut out = Vec::new();
        out.put_i32(task.stage_id);
        out.put_i32(task.stage_attempt_id);
        out.put_i32(task.partition_id);
        out.put_i32(task.num_partitions);
        // It was part of a message.
        out.put_i32(i32::try_from(metrics.len()).unwrap_or_default());
        out.put_slice(metrics);
        let description = description.write(&executor.driver.version);
        out.extend(description.map_err(|error| error.to_string())?);
        Ok(out)
    }

    fn kill(&self, jvm: &dyn Jvm) -> TaskError {
        let reason = self.cancellation.reason().unwrap_or_default();
        let interrupts = self.description.property(declared::INTERRUPT_ON_CANCEL.key);
        let interrupts = interrupts.is_some_and(|value| value.eq_ignore_ascii_case("true"));
        jvm.kill_evaluator(self.id(), interrupts, &reason);
        TaskError::Killed(reason)
    }
}

impl Evaluator for TaskEvaluator {
    fn evaluate(
        &self,
        number: u64,
        expression: &JvmExpression,
        rows: &[u8],
    ) -> Result<Bytes, TaskError> {
        let gone = || TaskError::BailOut("an executor that is gone".to_owned());
        let executor = self.executor.upgrade().ok_or_else(gone)?;
        let jvm = self.wait_for_jvm(&executor)?;
        // One after the other: the thread in the JVM is one.
        let mut begun = self.begun.lock();
        let begun = match &mut *begun {
            Some(begun) => begun,
            none => {
                let new = self.begin(&executor, jvm).map_err(TaskError::BailOut)?;
                none.insert(new)
            }
        };
        let first = begun.sent.insert(number);
        executor.report.count_jvm_batch();
        let message = message(number, first.then_some(expression), rows);
        let exchange = Arc::clone(&begun.exchange);
        let guard = self.cancellation.on_cancel(move |_| exchange.look_again());
        let answer = begun.exchange.ask(message, &self.cancellation);
        drop(guard);
        answer.map(Bytes::from).map_err(|trouble| match trouble {
            Trouble::Killed => self.kill(jvm),
            Trouble::Expression(why) => {
                debug!(target: LOG, "{} in the JVM, for {}: {why}", expression.class, self.description.name);
                TaskError::BailOut(format!("{} fails in the JVM", expression.class))
            }
            Trouble::Evaluator(why) => {
                info!(target: LOG, "Expressions of {} cannot be evaluated: {why}", self.description.name);
                TaskError::BailOut("expressions that the JVM does not evaluate".to_owned())
            }
        })
    }

    fn cpu_time(&self) -> Duration {
        let begun = self.begun.lock();
        let nanos = begun
            .as_ref()
            .map(|begun| begun.exchange.cpu.load(Ordering::Relaxed));
        Duration::from_nanos(nanos.unwrap_or_default())
    }
}

impl Drop for TaskEvaluator {
    fn drop(&mut self) {
        let Some(begun) = self.begun.get_mut() else {
            return;
        };
        begun.exchange.close();
        if let Some(executor) = self.executor.upgrade() {
            executor.jvm.exchanges.0.lock().remove(&self.id());
        }
    }
}

/// What `org.firesteel.bridge.EvaluatorTask` reads: the number of an expression, the expression if it is new, and rows.
fn message(number: u64, expression: Option<&JvmExpression>, rows: &[u8]) -> Vec<u8> {
    const ID: usize = 24;
    let new = expression.map_or(0, |new| 4 + ID * new.columns.len() + new.stream.len());
    let mut out = Vec::with_capacity(12 + new + rows.len());
    out.put_u64(number);
    // Of at most 16 MiB, and as many columns as a stage has.
    out.put_i32(i32::try_from(new).unwrap_or(i32::MAX));
    if let Some(new) = expression {
        out.put_i32(i32::try_from(new.columns.len()).unwrap_or(i32::MAX));
        for column in &new.columns {
            out.put_i64(column.id);
            out.put_u128(column.jvm_id);
        }
        out.put_slice(&new.stream);
    }
    out.put_slice(rows);
    out
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
                exchanges.ended(-1, "no class".to_owned());
            });
            assert!(ended(exchange.ask(vec![1], &never)));
        });
        assert!(ended(exchange.ask(vec![1], &never)));
        assert!(exchanges.next(-1).is_none());
        // Before it is asked, and after its last answer.
        let idle = Exchange::new();
        idle.ended("no class".to_owned());
        assert!(ended(idle.ask(vec![1], &never)));
        let last = Exchange::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(last.next(), Some(vec![1]));
                last.answer(Ok(vec![2]));
                last.ended("no class".to_owned());
            });
            assert_eq!(last.ask(vec![1], &never).unwrap(), [2]);
        });
        assert!(ended(last.ask(vec![1], &never)));
        // Unknown ones are told that there is nothing to do.
        assert!(exchanges.next(-2).is_none());
    }

    #[test]
    fn messages_have_an_expression_once() {
        let id = |id| catalyst::ExprId {
            id,
            jvm_id: 1 << 64 | 2,
        };
        let expression = JvmExpression {
            class: "ScalaUDF".to_owned(),
            stream: vec![0xac, 0xed],
            columns: vec![id(5)],
        };
        let mut expected = Vec::new();
        expected.put_u64(3);
        expected.put_i32(4 + 24 + 2);
        expected.put_i32(1);
        for part in [5, 1, 2] {
            expected.put_i64(part);
        }
        expected.extend([0xac, 0xed, 9]);
        assert_eq!(message(3, Some(&expression), &[9]), expected);
        assert_eq!(
            message(3, None, &[9]),
            [0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 9]
        );
    }
}
