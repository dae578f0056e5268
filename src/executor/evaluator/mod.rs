//! Expressions of native tasks, and operators on objects, that the embedded JVM evaluates. For each task that has some,
//! a task of Spark's own kind runs in the JVM (`org.firesteel.bridge.EvaluatorTask`), which takes rows and gives
//! results until the native one ends:
//!
//! ```text
//!   native task ──ask──▶ Exchange ──next──▶ the evaluator's Java thread
//!   native task ◀─answer─ Exchange ◀─done───
//! ```
//!
//! The driver does not know of it. Its task id is one that the driver does not give: below zero.
//!
//! Operators on objects ask for rows while they make some, and what gives these may ask the evaluator, too: the Java
//! thread then does that within what it does, as a call within a call.

mod exchange;
mod messages;

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::{BufMut, Bytes};
use catalyst::{JvmExpression, JvmRest, ObjectsAnswer, ObjectsCall, ObjectsInput};
use parking_lot::Mutex;
use tracing::{debug, info};
use wire::task_description::TaskDescription;

pub(super) use exchange::Exchanges;
use exchange::{Exchange, Trouble};

use super::events::Input;
use super::registered::RegisteredExecutor;
use crate::cancel::Cancellation;
use crate::config::declared;
use crate::task::jvm::Jvm;
use crate::task::{Evaluated, Evaluator, RestAnswer, TaskError, TaskObject};

const LOG: &str = "Executor";

/// How often it is looked whether the JVM is ready.
const JVM_POLL: Duration = Duration::from_millis(5);

/// How often somebody who waits for the end of an evaluator looks whether the executor ends.
const END_POLL: Duration = Duration::from_millis(100);

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
    /// What it knows.
    known: HashSet<Known>,
}

/// What is described to an evaluator once, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Known {
    Expression(u64),
    Objects(u64),
    Rest,
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
        exchanges.insert(self.id(), &exchange);
        jvm.start_evaluator(self.id(), payload.into());
        executor.report.count_jvm_evaluator();
        Ok(Begun {
            exchange,
            known: HashSet::new(),
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

impl TaskEvaluator {
    /// Asks the evaluator for something, whose message is made for what it may not know yet.
    fn ask(
        &self,
        name: &str,
        of: Known,
        message: impl FnOnce(bool) -> Vec<u8>,
    ) -> Result<Vec<u8>, TaskError> {
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
        let message = message(begun.known.insert(of));
        executor.report.count_jvm_batch();
        self.exchange(&begun.exchange, jvm, name, message)
    }

    fn exchange(
        &self,
        exchange: &Arc<Exchange>,
        jvm: &dyn Jvm,
        name: &str,
        message: Vec<u8>,
    ) -> Result<Vec<u8>, TaskError> {
        let hooked = Arc::clone(exchange);
        let guard = self.cancellation.on_cancel(move |_| hooked.look_again());
        let answer = exchange.ask(message, &self.cancellation);
        drop(guard);
        answer.map_err(|trouble| self.failed(jvm, name, trouble))
    }

    fn failed(&self, jvm: &dyn Jvm, name: &str, trouble: Trouble) -> TaskError {
        match trouble {
            Trouble::Killed => self.kill(jvm),
            Trouble::Expression(why) => {
                debug!(target: LOG, "{name} in the JVM, for {}: {why}", self.description.name);
                TaskError::BailOut(format!("{name} fails in the JVM"))
            }
            Trouble::Evaluator(why) => {
                info!(target: LOG, "Expressions of {} cannot be evaluated: {why}", self.description.name);
                TaskError::BailOut("expressions that the JVM does not evaluate".to_owned())
            }
        }
    }
}

impl Evaluator for TaskEvaluator {
    fn evaluate(
        &self,
        number: u64,
        expression: &JvmExpression,
        rows: &[u8],
    ) -> Result<Bytes, TaskError> {
        let message = |is_new: bool| messages::evaluate(number, is_new.then_some(expression), rows);
        let answer = self.ask(&expression.class, Known::Expression(number), message);
        answer.map(Bytes::from)
    }

    fn objects(
        &self,
        call: &ObjectsCall,
        input: ObjectsInput<'_>,
    ) -> Result<ObjectsAnswer, TaskError> {
        let message = |is_new: bool| messages::objects(call, is_new, input);
        let last = call.objects.chain.last();
        let last = last.map_or("", |operator| operator.name());
        let answer = self.ask(last, Known::Objects(call.number), message)?;
        let other = || TaskError::BailOut("another answer of the JVM".to_owned());
        messages::answer(answer).ok_or_else(other)
    }

    fn rest(&self, rest: &JvmRest, input: ObjectsInput<'_>) -> Result<RestAnswer, TaskError> {
        let task = (
            self.description.task_id,
            &self.description.serialized_task[..],
        );
        if let (ObjectsInput::Next, Some(executor)) = (input, self.executor.upgrade()) {
            executor.report.count_jvm_rest();
        }
        let message = |_| messages::rest(task, rest, input);
        let answer = self.ask("what is above native operators", Known::Rest, message)?;
        let other = || TaskError::BailOut("another answer of the JVM".to_owned());
        messages::rest_answer(answer).ok_or_else(other)?
    }

    fn abandon(&self) {
        let begun = self.begun.lock();
        let (Some(begun), Some(executor)) = (&*begun, self.executor.upgrade()) else {
            return;
        };
        if let Some(jvm) = executor
            .ready_jvm()
            .filter(|_| self.cancellation.is_cancelled())
        {
            self.kill(jvm);
        }
        begun.exchange.close();
        while !begun.exchange.waited_for_end(END_POLL) {
            if executor.ending.is_finished() {
                return;
            }
        }
    }

    fn finish(&self) -> Result<Evaluated, TaskError> {
        let begun = self.begun.lock();
        let Some(begun) = &*begun else {
            return Ok(Evaluated::default());
        };
        let gone = || TaskError::BailOut("an executor that is gone".to_owned());
        let executor = self.executor.upgrade().ok_or_else(gone)?;
        let jvm = self.wait_for_jvm(&executor)?;
        let name = "the end of functions";
        let added = self.exchange(&begun.exchange, jvm, name, messages::finish())?;
        let exchange = Arc::clone(&begun.exchange);
        let guard = self.cancellation.on_cancel(move |_| exchange.look_again());
        let ended = begun.exchange.wait_for_end(&self.cancellation);
        drop(guard);
        ended.map_err(|trouble| self.failed(jvm, name, trouble))?;
        let other = || TaskError::BailOut("other numbers of the JVM".to_owned());
        messages::evaluated(added).ok_or_else(other)
    }

    fn cpu_time(&self) -> Duration {
        let begun = self.begun.lock();
        begun
            .as_ref()
            .map_or(Duration::ZERO, |begun| begun.exchange.cpu_time())
    }
}

impl Drop for TaskEvaluator {
    fn drop(&mut self) {
        let Some(begun) = self.begun.get_mut() else {
            return;
        };
        begun.exchange.close();
        if let Some(executor) = self.executor.upgrade() {
            executor.jvm.exchanges.remove(self.id());
        }
    }
}
