//! One attempt of a native task, from its launch to its last status update.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tracing::{error, info};
use wire::WireError;
use wire::ids::TaskState;
use wire::messages::StageAttempt;
use wire::task_description::TaskDescription;

use super::super::events::{Input, TaskHeader};
use super::super::registered::RegisteredExecutor;
use super::{Accepted, LOG, NativeTask, Running};
use crate::cancel::Cancellation;
use crate::task::accumulators::python_accumulator;
use crate::task::outcome::{self, Outcome};
use crate::task::{AcceptedTask, DecodedTask, TaskContext, TaskError, TaskMetrics, TaskValue};

/// Runs an accepted task on a thread of its own.
pub(in crate::executor) fn run(executor: &Arc<RegisteredExecutor>, task_id: i64) {
    let accepted = {
        let mut tasks = executor.native.tasks.lock();
        match tasks.remove(&task_id) {
            Some(NativeTask::Accepted(accepted)) => accepted,
            Some(other) => {
                tasks.insert(task_id, other);
                return;
            }
            None => return,
        }
    };
    let Accepted {
        description,
        launched,
        task,
        plan,
        ids,
        ..
    } = *accepted;
    // Map outputs may have been lost since the last task.
    executor
        .native
        .plane
        .shuffle
        .tracker()
        .update_epoch(task.task.epoch);
    let context = context(executor, &description, &task);
    let running = Arc::new(Running {
        context: Arc::new(context),
        ids,
    });
    executor
        .native
        .tasks
        .lock()
        .insert(task_id, NativeTask::Running(Arc::clone(&running)));
    let header = TaskHeader::from(&description);
    let update = executor
        .driver
        .status_update(task_id, &header, TaskState::RUNNING, Bytes::new());
    match update {
        Ok(update) => executor.driver.endpoint.tell_raw(update),
        Err(error) => return ended_badly(executor, task_id, &error),
    }
    info!(target: LOG, "Running {}", description.name);
    let stage = StageAttempt {
        stage_id: running.context.stage_id,
        attempt: running.context.stage_attempt,
    };
    executor.native.peaks.task_started(task_id, stage);
    let for_thread = Arc::clone(executor);
    executor.runtime.spawn_blocking(move || {
        let executor = for_thread;
        let work = Work {
            name: description.name.clone(),
            description,
            launched,
            task,
        };
        let result = work.attempt(&executor, plan, &running);
        match result {
            Err(TaskError::BailOut(reason)) => {
                executor.native.peaks.task_ended(task_id);
                executor.native.forget(task_id);
                executor.input(Input::TaskBailedOut { task_id, reason });
            }
            result => {
                let outcome = work.outcome(&executor, result, &running);
                executor.native.forget(task_id);
                let sent = outcome.and_then(|outcome| {
                    let end = outcome.end();
                    executor
                        .driver
                        .status_update(task_id, &header, outcome.state, outcome.data)
                        .map(|update| (end, update))
                });
                match sent {
                    Ok((end, update)) => executor.input(Input::TaskEnded {
                        task_id,
                        end,
                        update,
                    }),
                    Err(error) => ended_badly(&executor, task_id, &error),
                }
            }
        }
    });
}

/// The distribution's classes do not fit what we have to say: the JVM can say it.
fn ended_badly(executor: &Arc<RegisteredExecutor>, task_id: i64, error: &WireError) {
    error!(target: LOG, "Cannot report task {task_id}: {error}");
    executor.native.forget(task_id);
    let executor = Arc::clone(executor);
    // Not from here: the state machine may be the caller.
    executor.runtime.clone().spawn(async move {
        let reason = "its outcome cannot be written for this Spark version".to_owned();
        executor.input(Input::TaskBailedOut { task_id, reason });
    });
}

fn context(
    executor: &RegisteredExecutor,
    description: &TaskDescription,
    decoded: &DecodedTask,
) -> TaskContext {
    let task = &decoded.task;
    TaskContext {
        stage_id: task.stage_id,
        stage_attempt: task.stage_attempt_id,
        num_partitions: task.num_partitions,
        partition_id: task.partition_id,
        attempt_number: description.attempt_number,
        task_attempt_id: description.task_id,
        is_barrier: task.is_barrier,
        epoch: task.epoch,
        cpus: description.cpus.to_string(),
        resources: description
            .resources
            .iter()
            .map(|r| {
                let addresses = r.addresses.iter().map(|(a, _)| a.clone()).collect();
                (r.name.clone(), addresses)
            })
            .collect(),
        local_properties: description.properties.clone(),
        job_artifact_uuid: task.artifact_uuid.clone(),
        files_dir: executor
            .native
            .dependencies
            .directory(&description.artifacts)
            .unwrap_or_else(|_| PathBuf::from(".")),
        cancellation: Cancellation::default(),
        metrics: Arc::new(TaskMetrics::default()),
        python_updates: Mutex::default(),
        accumulator_updates: Mutex::default(),
        blocks: Arc::clone(&executor.native.plane.env),
    }
}

/// One attempt on its thread.
struct Work {
    name: String,
    description: TaskDescription,
    launched: Instant,
    task: DecodedTask,
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
        running: &Running,
    ) -> Result<Finished, TaskError> {
        let context = &running.context;
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
        metrics
            .executor_cpu_time
            .set(nanos(thread_cpu().saturating_sub(cpu_before)));
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
                error!(target: LOG, "Panic in {}: {what}", self.name);
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
        running: &Running,
    ) -> Result<Outcome, WireError> {
        let Running { context, ids } = running;
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
                    Some(kryo) => kryo.map_status(&status, &executor.driver.version),
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
                        info!(target: LOG, "Executor interrupted and killed {}, reason: {reason}", self.name)
                    }
                    error => error!(target: LOG, "Exception in {}: {}", self.name, words(error)),
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
        TaskError::Python(traceback) => traceback.clone(),
        TaskError::FetchFailed(failure) => failure.message.clone(),
        TaskError::Killed(reason) => reason.to_string(),
        TaskError::BailOut(reason) => reason.clone(),
    }
}

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
