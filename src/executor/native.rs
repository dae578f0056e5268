//! Tasks that run without the JVM: judged by the native lanes, run on threads of their own, and reported to the driver.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tracing::{debug, error, info, warn};
use wire::WireError;
use wire::ids::{BlockId, TaskState};
use wire::messages::{Accumulator, IndirectTaskResult, StageAttempt, StatusUpdate};
use wire::task_description::TaskDescription;

use super::dependencies::Dependencies;
use super::events::{Input, Verdict};
use super::inbound::no_lane_for;
use super::metrics_peaks::{MetricsPeaks, PoolMemory};
use super::shared::{Shared, TaskHeader};
use super::task::accumulators::{MetricIds, python_accumulator};
use super::task::outcome::{self, Outcome};
use super::task::{
    DecodedTask, StageBinary, TaskContext, TaskError, TaskMetrics, TaskObject, TaskValue,
};
use crate::blocks::broadcast::{TorrentBroadcastRef, java_byte_array};
use crate::blocks::kryo::Kryo;
use crate::blocks::{BlockEnv, BlockPlane};
use crate::cancel::Cancellation;
use crate::config::units::SizeUnit;
use crate::config::{SettingError, Settings};
use crate::lanes::python::worker::PythonWorkers;
use crate::lanes::python::{LaneParts, PythonLane};
use crate::lanes::{Lane, NativeLane, NativePlan};
use crate::report::Report;
use crate::rpc::FileServer;

const LOG: &str = "Executor";
/// Decoded stages that are kept for further tasks.
const KEPT_STAGES: usize = 32;
/// How often memory is looked at at most.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Sizes that decide how a result travels, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultLimits {
    /// `spark.driver.maxResultSize`; 0 is no limit.
    pub(super) max_result_size: u64,
    /// The smaller of `spark.task.maxDirectResultSize` and `spark.rpc.message.maxSize`.
    pub(super) max_direct_result_size: u64,
}

/// A stage's binary, decoded by the first task that needs it.
type StageCell = Arc<OnceCell<Arc<StageBinary>>>;

/// The executor's native lanes and the tasks in them.
pub(super) struct NativeTasks {
    pub(super) lanes: Vec<Box<dyn NativeLane>>,
    pub(super) plane: BlockPlane,
    pub(super) dependencies: Dependencies,
    /// Peaks of memory by stage and task.
    pub(super) peaks: MetricsPeaks,
    /// When memory was last looked at.
    polled: Mutex<Option<Instant>>,
    /// Python's processes.
    workers: Option<PythonWorkers>,
    /// Why no task can run natively: registering with the external shuffle service is left to the JVM.
    refused: Option<String>,
    pub(super) limits: ResultLimits,
    /// Set if `spark.serializer` is Kryo.
    pub(super) kryo: Option<Kryo>,
    /// Decoded stages by the id of their broadcast, those used last at the end.
    pub(super) stages: Mutex<Vec<(i64, StageCell)>>,
    pub(super) tasks: Mutex<HashMap<i64, Known>>,
}

/// What is known of a task here.
pub(super) enum Known {
    /// Launched; nobody has looked at it.
    Launched(Box<TaskDescription>, Instant),
    /// A lane takes it.
    Accepted(Box<Accepted>),
    /// It runs.
    Running(Arc<Running>),
}

pub(super) struct Accepted {
    description: TaskDescription,
    launched: Instant,
    task: DecodedTask,
    plan: Box<dyn NativePlan>,
    lane: Lane,
    ids: MetricIds,
}

pub(super) struct Running {
    pub(super) context: Arc<TaskContext>,
    pub(super) ids: MetricIds,
}

impl NativeTasks {
    /// The native side of an executor: its blocks, and the lanes that its settings allow.
    ///
    /// # Errors
    /// A setting that is wrong.
    pub(super) fn new(
        env: Arc<BlockEnv>,
        settings: &Settings,
        files: FileServer,
    ) -> Result<Self, SettingError> {
        let properties = Arc::clone(&env.properties);
        let runtime = env.runtime.clone();
        let count = env.version.executor_metrics;
        let kryo = match properties.text("spark.serializer", "").as_str() {
            "org.apache.spark.serializer.KryoSerializer" => Some(Kryo::from_conf(&properties)?),
            _ => None,
        };
        let plane = BlockPlane::new(env, settings.memory.max_on_heap)?;
        let mut lanes: Vec<Box<dyn NativeLane>> = Vec::new();
        let mut workers = None;
        if settings.native_lanes.contains(&Lane::Python) {
            let processes = PythonWorkers::new(&properties, &plane.env.catalog)?;
            workers = Some(processes.clone());
            let parts = LaneParts {
                workers: processes,
                broadcasts: Arc::clone(&plane.broadcasts),
                shuffle: Arc::clone(&plane.shuffle),
                store: Arc::new(plane.blocks.clone()),
            };
            let limits = plane.env.limits;
            lanes.push(Box::new(PythonLane::new(parts, &properties, limits)?));
        }
        let direct = properties.size("spark.task.maxDirectResultSize", 1 << 20, SizeUnit::Bytes)?;
        Ok(Self {
            lanes,
            plane,
            kryo,
            limits: ResultLimits {
                max_result_size: properties.size(
                    "spark.driver.maxResultSize",
                    1 << 30,
                    SizeUnit::Bytes,
                )?,
                max_direct_result_size: direct.min(settings.rpc.max_message),
            },
            dependencies: Dependencies::new(&properties, files, PathBuf::from("."), runtime)?
                .with_shared_cache(|name| std::env::var(name).ok()),
            peaks: MetricsPeaks::new(&properties, count)?,
            polled: Mutex::default(),
            workers,
            refused: settings
                .shuffle_service
                .as_ref()
                .map(|_| "spark.shuffle.service.enabled is true".to_owned()),
            stages: Mutex::default(),
            tasks: Mutex::default(),
        })
    }

    /// Takes the present memory into the peaks, and that of Python's processes into the report, unless that was done within the last second.
    pub(super) fn poll_memory(&self, report: &Report) {
        let now = Instant::now();
        {
            let mut polled = self.polled.lock();
            if polled.is_some_and(|last| now.duration_since(last) < POLL_INTERVAL) {
                return;
            }
            *polled = Some(now);
        }
        self.peaks.poll(&self.pools());
        if let Some(workers) = &self.workers {
            report.note_python_rss(workers.memory().resident_bytes);
        }
    }

    /// Memory that blocks take now.
    pub(super) fn pools(&self) -> PoolMemory {
        PoolMemory {
            on_heap_storage: self.plane.blocks.memory_used(),
            ..PoolMemory::default()
        }
    }

    /// Whether any native lane is allowed to take tasks.
    pub(super) fn has_lanes(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// Keeps a task that has been launched.
    pub(super) fn launched(&self, description: TaskDescription) {
        let task_id = description.task_id;
        let known = Known::Launched(Box::new(description), Instant::now());
        self.tasks.lock().insert(task_id, known);
    }

    /// Drops a task that another lane or none runs.
    pub(super) fn forget(&self, task_id: i64) {
        self.tasks.lock().remove(&task_id);
    }

    /// Makes a running task stop.
    pub(super) fn kill(&self, task_id: i64, reason: &str) {
        let running = match self.tasks.lock().get(&task_id) {
            Some(Known::Running(running)) => Arc::clone(running),
            _ => return,
        };
        running.context.cancellation.cancel(reason);
    }

    /// Drops what is known of a shuffle that the driver has no more use for.
    pub(super) fn shuffle_removed(&self, shuffle_id: i32) {
        self.plane.shuffle.tracker().unregister_shuffle(shuffle_id);
    }

    /// Drops what is kept of a stage whose binary the driver has no more use for.
    pub(super) fn forget_stage(&self, broadcast_id: i64) {
        self.stages.lock().retain(|(id, _)| *id != broadcast_id);
    }

    /// Running tasks and what they have counted so far.
    pub(super) fn progress(&self) -> Vec<(i64, Vec<Accumulator>)> {
        let tasks = self.tasks.lock();
        tasks
            .iter()
            .filter_map(|(id, known)| match known {
                Known::Running(running) => {
                    let updates = running.ids.updates(&running.context.metrics, false);
                    Some((*id, updates.into_iter().map(Accumulator::Long).collect()))
                }
                _ => None,
            })
            .collect()
    }

    /// Lets the lanes look at a task.
    async fn judge(&self, task_id: i64) -> Verdict {
        let (description, launched) = match self.tasks.lock().remove(&task_id) {
            Some(Known::Launched(description, launched)) => (description, launched),
            Some(other) => {
                self.tasks.lock().insert(task_id, other);
                return Verdict::Delegate("the task is not there any more".to_owned());
            }
            None => return Verdict::Delegate("the task is not there any more".to_owned()),
        };
        match self.accept(*description, launched).await {
            Ok(accepted) => {
                let lane = accepted.lane;
                let known = Known::Accepted(Box::new(accepted));
                self.tasks.lock().insert(task_id, known);
                Verdict::Run(lane)
            }
            Err(reason) => Verdict::Delegate(reason),
        }
    }

    async fn accept(
        &self,
        description: TaskDescription,
        launched: Instant,
    ) -> Result<Accepted, String> {
        if let Some(reason) = &self.refused {
            return Err(reason.clone());
        }
        let limits = &self.plane.env.limits;
        let task = TaskObject::decode(&description.serialized_task, limits).map_err(|error| {
            debug!(target: LOG, "Cannot look into {}: {error}", description.name);
            no_lane_for(&description.serialized_task)
        })?;
        let ids = task
            .serialized_task_metrics()
            .ok_or_else(|| "the task has no TaskMetrics".to_owned())
            .and_then(MetricIds::read)?;
        let binary = TorrentBroadcastRef::read(&task.graph, task.task_binary)
            .map_err(|why| format!("the task's binary is no broadcast that we know: {why}"))?;
        let stage = self.stage(&binary).await?;
        let task = DecodedTask { task, stage };
        let mut reasons = Vec::new();
        for lane in &self.lanes {
            match lane.accepts(&task, &description) {
                Ok(plan) => {
                    return Ok(Accepted {
                        lane: lane.lane(),
                        description,
                        launched,
                        task,
                        plan,
                        ids,
                    });
                }
                Err(reason) => reasons.push(reason),
            }
        }
        // One lane's reason says more than all of them.
        Err(reasons
            .into_iter()
            .next()
            .unwrap_or_else(|| no_lane_for(&description.serialized_task)))
    }

    /// The decoded binary of a stage: fetched once, shared by its tasks.
    async fn stage(&self, binary: &TorrentBroadcastRef) -> Result<Arc<StageBinary>, String> {
        let id = binary.id;
        let cell = {
            let mut stages = self.stages.lock();
            match stages.iter().position(|(known, _)| *known == id) {
                Some(index) => {
                    let found = stages.remove(index);
                    let cell = Arc::clone(&found.1);
                    stages.push(found);
                    cell
                }
                None => {
                    if stages.len() >= KEPT_STAGES {
                        stages.remove(0);
                    }
                    let cell = Arc::new(OnceCell::new());
                    stages.push((id, Arc::clone(&cell)));
                    cell
                }
            }
        };
        cell.get_or_try_init(|| async {
            let value = self.plane.broadcasts.value(binary).await.map_err(|why| {
                warn!(target: LOG, "Cannot fetch task binary broadcast_{id}: {}", words(&why));
                "the task's binary cannot be fetched".to_owned()
            })?;
            let bytes = java_byte_array(&value, self.kryo)
                .map_err(|why| format!("the task's binary is no byte array: {why}"))?;
            StageBinary::decode(&bytes, &self.plane.env.limits)
                .map(Arc::new)
                .map_err(|why| format!("the task's binary cannot be read: {why}"))
        })
        .await
        .cloned()
    }

    /// Serialized value and metrics to what is sent: the result itself, or where it is.
    fn package(&self, task_id: i64, direct: Vec<u8>) -> Result<Bytes, String> {
        let size = direct.len() as u64;
        let ResultLimits {
            max_result_size,
            max_direct_result_size,
        } = self.limits;
        let too_large = max_result_size > 0 && size > max_result_size;
        if too_large {
            warn!(
                target: LOG,
                "Finished TID {task_id}. Result is larger than maxResultSize ({size} bytes > {max_result_size} bytes), dropping it."
            );
        } else if size <= max_direct_result_size {
            info!(target: LOG, "Finished TID {task_id}. {size} bytes result sent to driver");
            return Ok(direct.into());
        } else {
            self.plane
                .blocks
                .put_task_result(task_id, direct.into())
                .map_err(|why| format!("cannot store the result: {why}"))?;
            info!(target: LOG, "Finished TID {task_id}. {size} bytes result sent via BlockManager)");
        }
        IndirectTaskResult {
            block_id: BlockId::TaskResult { task_id },
            size: i64::try_from(size).unwrap_or(i64::MAX),
        }
        .encode(&self.plane.env.catalog)
        .map(Bytes::from)
        .map_err(|error| error.to_string())
    }
}

/// Lets the lanes look at a task and tells the state machine what they say.
pub(super) fn judge(shared: &Arc<Shared>, task_id: i64) {
    let shared = Arc::clone(shared);
    shared.runtime.clone().spawn(async move {
        let verdict = shared.native.judge(task_id).await;
        shared.input(Input::TaskJudged { task_id, verdict });
    });
}

/// Runs an accepted task on a thread of its own.
pub(super) fn run(shared: &Arc<Shared>, task_id: i64) {
    let accepted = {
        let mut tasks = shared.native.tasks.lock();
        match tasks.remove(&task_id) {
            Some(Known::Accepted(accepted)) => accepted,
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
    shared
        .native
        .plane
        .shuffle
        .tracker()
        .update_epoch(task.task.epoch);
    let context = context(shared, &description, &task);
    let running = Arc::new(Running {
        context: Arc::new(context),
        ids,
    });
    shared
        .native
        .tasks
        .lock()
        .insert(task_id, Known::Running(Arc::clone(&running)));
    let header = TaskHeader {
        cpus: description.cpus,
        resources: description.resources.clone(),
    };
    let update = status_update(shared, task_id, &header, TaskState::RUNNING, Bytes::new());
    match update {
        Ok(update) => shared.driver.tell_raw(update),
        Err(error) => return ended_badly(shared, task_id, &error),
    }
    info!(target: LOG, "Running {}", description.name);
    let stage = StageAttempt {
        stage_id: running.context.stage_id,
        attempt: running.context.stage_attempt,
    };
    shared.native.peaks.task_started(task_id, stage);
    let for_thread = Arc::clone(shared);
    shared.runtime.spawn_blocking(move || {
        let shared = for_thread;
        let work = Work {
            name: description.name.clone(),
            description,
            launched,
            task,
        };
        let result = work.attempt(&shared, plan, &running);
        match result {
            Err(TaskError::BailOut(reason)) => {
                shared.native.peaks.task_ended(task_id);
                shared.native.forget(task_id);
                shared.input(Input::TaskBailedOut { task_id, reason });
            }
            result => {
                let outcome = work.outcome(&shared, result, &running);
                shared.native.forget(task_id);
                let sent = outcome.and_then(|outcome| {
                    let end = outcome.end();
                    status_update(&shared, task_id, &header, outcome.state, outcome.data)
                        .map(|update| (end, update))
                });
                match sent {
                    Ok((end, update)) => shared.input(Input::TaskEnded {
                        task_id,
                        end,
                        update,
                    }),
                    Err(error) => ended_badly(&shared, task_id, &error),
                }
            }
        }
    });
}

/// The distribution's classes do not fit what we have to say: the JVM can say it.
fn ended_badly(shared: &Arc<Shared>, task_id: i64, error: &WireError) {
    error!(target: LOG, "Cannot report task {task_id}: {error}");
    shared.native.forget(task_id);
    let shared = Arc::clone(shared);
    // Not from here: the state machine may be the caller.
    shared.runtime.clone().spawn(async move {
        let reason = "its outcome cannot be written for this Spark version".to_owned();
        shared.input(Input::TaskBailedOut { task_id, reason });
    });
}

fn context(shared: &Shared, description: &TaskDescription, decoded: &DecodedTask) -> TaskContext {
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
        files_dir: shared
            .native
            .dependencies
            .directory(&description.artifacts)
            .unwrap_or_else(|_| PathBuf::from(".")),
        cancellation: Cancellation::default(),
        metrics: Arc::new(TaskMetrics::default()),
        python_updates: Mutex::default(),
        blocks: Arc::clone(&shared.native.plane.env),
    }
}

fn status_update(
    shared: &Shared,
    task_id: i64,
    header: &TaskHeader,
    state: TaskState,
    data: Bytes,
) -> Result<Bytes, WireError> {
    let update = StatusUpdate {
        executor_id: shared.executor_id.clone(),
        task_id,
        state,
        data,
        task_cpus: header.cpus,
        resources: header.resources.clone(),
    };
    let content = update.encode(&shared.catalog)?;
    shared
        .driver
        .envelope("CoarseGrainedScheduler", content.into())
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
        shared: &Shared,
        plan: Box<dyn NativePlan>,
        running: &Running,
    ) -> Result<Finished, TaskError> {
        let context = &running.context;
        let metrics = &context.metrics;
        shared.runtime.block_on(
            shared
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
                let what = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
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
        shared: &Shared,
        result: Result<Finished, TaskError>,
        running: &Running,
    ) -> Result<Outcome, WireError> {
        let Running { context, ids } = running;
        let catalog = &shared.catalog;
        let native = &shared.native;
        native.poll_memory(&shared.report);
        let peaks = native.peaks.task_ended(context.task_attempt_id);
        let finished = result.and_then(|finished| {
            let start = Instant::now();
            let value = match finished.value {
                TaskValue::Result(bytes) => bytes,
                TaskValue::MapStatus(status) => status
                    .encode(catalog, &shared.version)
                    .map_err(TaskError::spark)?,
            };
            let updates = std::mem::take(&mut *context.python_updates.lock());
            let others = finished
                .accumulator
                .map(|node| python_accumulator(&self.task.stage.graph, node, &updates, catalog))
                .transpose()
                .map_err(TaskError::spark)?;
            context
                .metrics
                .result_serialization_time
                .set(millis(start.elapsed()));
            let metrics = ids.updates(&context.metrics, true);
            let direct = outcome::direct_result(
                value,
                metrics,
                others.into_iter().collect(),
                peaks.clone(),
                catalog,
            )
            .map_err(TaskError::spark)?;
            shared
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
