//! One attempt of a native task, from its launch to its last status update.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use rustix::process::Pid;
use tracing::{error, info};
use wire::WireError;
use wire::ids::TaskState;
use wire::messages::{Accumulator, ExceptionFailure, StageAttempt};
use wire::task_description::TaskDescription;

use super::super::events::{Input, TaskHeader};
use super::super::registered::RegisteredExecutor;
use super::LOG;
use crate::blocks::kryo::map_status;
use crate::cancel::Cancellation;
use crate::config::LaneName;
use crate::task::accumulators::{MetricIds, python_accumulator};
use crate::task::outcome::{self, Outcome};
use crate::task::{
    AcceptedTask, DecodedTask, TaskContext, TaskError, TaskMetrics, TaskValue, thread_cpu,
};

/// An attempt that a native lane has accepted. Whoever has it can stop it and see what it has counted; its thread has
/// the rest.
pub struct NativeAttempt {
    /// Task attempt id.
    id: i64,
    /// Such as `task 0.0 in stage 1.0 (TID 0)`.
    name: String,
    lane: LaneName,
    /// The thread that runs it, by the kernel's number.
    thread: OnceLock<Pid>,
    cancellation: Cancellation,
    metrics: Arc<TaskMetrics>,
    ids: MetricIds,
    /// Until it runs.
    waiting: Mutex<Option<Waiting>>,
}

impl NativeAttempt {
    /// An attempt that has not begun. `ids` are the driver's numbers for its metrics.
    pub(super) fn new(
        lane: LaneName,
        ids: MetricIds,
        work: Work,
        plan: Box<dyn AcceptedTask>,
    ) -> Self {
        Self {
            id: work.description.task_id,
            name: work.description.name.clone(),
            lane,
            thread: OnceLock::new(),
            cancellation: work.context.cancellation.clone(),
            metrics: Arc::clone(&work.context.metrics),
            ids,
            waiting: Mutex::new(Some(Waiting { work, plan })),
        }
    }

    /// An attempt that does nothing.
    #[cfg(test)]
    pub(in crate::executor) fn without_work(id: i64, lane: LaneName) -> Self {
        Self {
            id,
            name: "a task".to_owned(),
            lane,
            thread: OnceLock::new(),
            cancellation: Cancellation::default(),
            metrics: Arc::default(),
            ids: MetricIds::default(),
            waiting: Mutex::default(),
        }
    }

    /// Task attempt id.
    pub(in crate::executor) fn id(&self) -> i64 {
        self.id
    }

    /// What the driver calls it.
    pub(in crate::executor) fn name(&self) -> &str {
        &self.name
    }

    /// The thread that runs it, by the kernel's number.
    pub(in crate::executor) fn thread(&self) -> Option<i32> {
        self.thread
            .get()
            .map(|thread| thread.as_raw_nonzero().get())
    }

    /// Says that this thread runs it.
    pub(in crate::executor) fn is_here(&self) {
        let _ = self.thread.set(rustix::thread::gettid());
    }

    /// The lane that runs it.
    pub fn lane(&self) -> LaneName {
        self.lane
    }

    /// Makes it stop. Its end is told as if it had not been killed.
    pub(in crate::executor) fn kill(&self, reason: &str) {
        self.cancellation.cancel(reason);
    }

    /// What it has counted so far.
    pub(in crate::executor) fn counted(&self) -> Vec<Accumulator> {
        let updates = self.ids.updates(&self.metrics, false);
        updates.into_iter().map(Accumulator::Long).collect()
    }

    /// Runs it on a thread of its own, once.
    pub(in crate::executor) fn run(self: &Arc<Self>, executor: &Arc<RegisteredExecutor>) {
        let Some(Waiting { work, plan }) = self.waiting.lock().take() else {
            return;
        };
        // Map outputs may have been lost since the last task.
        let tracker = executor.native.plane.shuffle.tracker();
        tracker.update_epoch(work.task.task.epoch);
        let task_id = work.context.task_attempt_id;
        let header = TaskHeader::from(&*work.description);
        let update =
            executor
                .driver
                .status_update(task_id, &header, TaskState::RUNNING, Bytes::new());
        match update {
            Ok(update) => executor.driver.endpoint.tell_raw(update),
            Err(error) => return ended_badly(executor, task_id, &error),
        }
        info!(target: LOG, "Running {}", work.description.name);
        let stage = StageAttempt {
            stage_id: work.context.stage_id,
            attempt: work.context.stage_attempt,
        };
        executor.native.peaks.task_started(task_id, stage);
        let attempt = Arc::clone(self);
        let executor = Arc::clone(executor);
        executor.runtime.clone().spawn_blocking(move || {
            attempt.run_here(&executor, &work, plan, &header);
        });
    }

    /// Runs it, and tells the state machine how it ended.
    fn run_here(
        &self,
        executor: &Arc<RegisteredExecutor>,
        work: &Work,
        plan: Box<dyn AcceptedTask>,
        header: &TaskHeader,
    ) {
        self.is_here();
        let task_id = work.context.task_attempt_id;
        let result = match work.attempt(executor, plan) {
            Err(TaskError::BailOut(reason)) => {
                executor.native.peaks.task_ended(task_id);
                return executor.input(Input::TaskBailedOut { task_id, reason });
            }
            result => result,
        };
        let outcome = work.outcome(executor, result, &self.ids);
        let sent = outcome.and_then(|outcome| {
            let end = outcome.end();
            executor
                .driver
                .status_update(task_id, header, outcome.state, outcome.data)
                .map(|update| (end, update))
        });
        match sent {
            Ok((end, update)) => executor.input(Input::TaskEnded {
                task_id,
                end,
                update,
            }),
            Err(error) => ended_badly(executor, task_id, &error),
        }
    }
}

/// Two are equal if they are one.
impl PartialEq for NativeAttempt {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for NativeAttempt {}

impl std::fmt::Debug for NativeAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeAttempt")
            .field("lane", &self.lane)
            .finish_non_exhaustive()
    }
}

/// The distribution's classes do not fit what we have to say: the JVM can say it.
fn ended_badly(executor: &Arc<RegisteredExecutor>, task_id: i64, error: &WireError) {
    error!(target: LOG, "Cannot report task {task_id}: {error}");
    let executor = Arc::clone(executor);
    // Not from here: the state machine may be the caller.
    executor.runtime.clone().spawn(async move {
        let reason = "its outcome cannot be written for this Spark version".to_owned();
        executor.input(Input::TaskBailedOut { task_id, reason });
    });
}

/// What is to be done, and how a lane does it.
struct Waiting {
    work: Work,
    plan: Box<dyn AcceptedTask>,
}

/// One attempt on its thread.
pub(super) struct Work {
    pub(super) description: Arc<TaskDescription>,
    /// When it came.
    pub(super) launched: Instant,
    pub(super) task: DecodedTask,
    pub(super) context: Arc<TaskContext>,
}

struct Finished {
    value: TaskValue,
    accumulator: Option<javaser::arena::NodeId>,
}

impl Work {
    fn attempt(
        &self,
        executor: &RegisteredExecutor,
        plan: Box<dyn AcceptedTask>,
    ) -> Result<Finished, TaskError> {
        let context = &self.context;
        let metrics = &context.metrics;
        executor.runtime.block_on(
            executor
                .native
                .dependencies
                .update(&self.description.artifacts, &context.cancellation),
        )?;
        context.check()?;
        let cpu_before = thread_cpu();
        metrics
            .executor_deserialize_time
            .set(millis(self.launched.elapsed()));
        let start = Instant::now();
        let accumulator = plan.accumulator();
        // A panic of a lane is that task's failure, not the executor's.
        let ran = std::panic::catch_unwind(AssertUnwindSafe(|| plan.run(context)));
        metrics
            .executor_run_time
            .set(millis(self.weighted(start.elapsed())));
        let cpu = thread_cpu().saturating_sub(cpu_before) + context.evaluator.cpu_time();
        metrics.executor_cpu_time.set(nanos(cpu));
        match ran {
            Ok(Ok(value)) => {
                // A kill that came while the last bytes were written.
                context.check()?;
                Ok(Finished { value, accumulator })
            }
            Ok(Err(error)) => match (context.cancellation.reason(), error) {
                // What a killed task fails with is the kill.
                (Some(reason), _) => Err(TaskError::Killed(reason)),
                (None, error) => Err(error),
            },
            Err(panic) => {
                let what = crate::panic_text(&*panic).unwrap_or("no message");
                error!(target: LOG, "Panic in {}: {what}", self.description.name);
                Err(TaskError::spark(format!(
                    "An error in Firesteel itself, please report it; spark.firesteel.lanes=jvm avoids it: {what}"
                )))
            }
        }
    }

    /// Spark 4.3 counts the time of a task that has a part of a core by that part.
    fn weighted(&self, time: Duration) -> Duration {
        match self.description.cpus.as_whole() {
            Some(_) => time,
            None => time.mul_f64(self.description.cpus.nanos as f64 / 1e9),
        }
    }

    fn outcome(
        &self,
        executor: &RegisteredExecutor,
        result: Result<Finished, TaskError>,
        ids: &MetricIds,
    ) -> Result<Outcome, WireError> {
        let context = &self.context;
        let catalog = &executor.driver.catalog;
        let native = &executor.native;
        native.poll_memory(&executor.report);
        native.report_children(&executor.report);
        let peaks = native.peaks.task_ended(context.task_attempt_id);
        let finished = result.and_then(|finished| {
            let start = Instant::now();
            let value = match finished.value {
                TaskValue::Result(bytes) => bytes,
                TaskValue::MapStatus(status) => match native.kryo {
                    Some(form) => map_status(form, &status, &executor.driver.version),
                    None => status
                        .encode(catalog, &executor.driver.version)
                        .map_err(TaskError::spark)?,
                },
            };
            let updates = std::mem::take(&mut *context.python_updates.lock());
            let mut others = std::mem::take(&mut *context.accumulator_updates.lock());
            if let Some(node) = finished.accumulator {
                let stage = &self.task.stage.graph;
                let python = python_accumulator(stage, node, &updates, catalog);
                others.push(python.map_err(TaskError::spark)?);
            }
            context
                .metrics
                .result_serialization_time
                .set(millis(start.elapsed()));
            let metrics = ids.updates(&context.metrics, true);
            let direct = outcome::direct_result(value, metrics, others, peaks.clone(), catalog)
                .map_err(TaskError::spark)?;
            executor
                .native
                .package(context.task_attempt_id, direct)
                .map_err(TaskError::spark)
        });
        match finished {
            Ok(data) => Ok(Outcome {
                state: TaskState::FINISHED,
                data,
            }),
            Err(error) => {
                match &error {
                    TaskError::Killed(reason) => {
                        info!(target: LOG, "Executor interrupted and killed {}, reason: {reason}", self.description.name)
                    }
                    error => {
                        error!(target: LOG, "Exception in {}: {}", self.description.name, words(error))
                    }
                }
                let metrics = ids.updates(&context.metrics, true);
                outcome::failure(error, &metrics, peaks, catalog)
            }
        }
    }
}

fn words(error: &TaskError) -> String {
    match error {
        TaskError::Exception(e) => format!("{}: {}", e.class_name, e.message),
        TaskError::Python(traceback) | TaskError::PythonUdf(traceback) => traceback.clone(),
        TaskError::FetchFailed(failure) => failure.message.clone(),
        TaskError::Killed(reason) => reason.to_string(),
        TaskError::CommitDenied { .. } => {
            "Not committed because the driver did not authorize commit".to_owned()
        }
        TaskError::InSpark { reason, .. } => ExceptionFailure::decode(reason)
            .ok()
            .and_then(|failure| failure.full_stack_trace)
            .unwrap_or_else(|| "of Spark's own code".to_owned()),
        TaskError::BailOut(reason) => reason.clone(),
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
