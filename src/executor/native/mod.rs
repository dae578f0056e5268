//! Tasks that run without the JVM: judged by the native lanes, run on threads of their own, and reported to the driver.
//! Which of them are here is known to the state machine alone.

mod attempt;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use javaser::kryo::KryoForm;
use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tracing::{debug, info, warn};
use wire::ids::BlockId;
use wire::messages::IndirectTaskResult;
use wire::task_description::TaskDescription;

use super::dependencies::Dependencies;
use super::evaluator::TaskEvaluator;
use attempt::Work;

use super::events::{Input, Verdict};
use super::inbound::no_lane_for;
use super::metrics_peaks::{MetricsPeaks, PoolMemory};
use super::registered::RegisteredExecutor;
use crate::blocks::broadcast::{TorrentBroadcastRef, java_byte_array};
use crate::blocks::kryo;
use crate::blocks::{BlockEnv, BlockPlane};
use crate::cancel::Cancellation;
use crate::config::{LaneName, MemorySettings, SettingError, Settings, declared};
use crate::files::{Environment, FileSystems};
use crate::memory;
use crate::report::Report;
use crate::rpc::FileServer;
use crate::task::accumulators::MetricIds;
use crate::task::{
    Assembly, DecodedTask, Lane, LaneParts, StageBinary, TaskContext, TaskMetrics, TaskObject,
    Verifier,
};

pub(super) use attempt::NativeAttempt;

const LOG: &str = "Executor";
/// Decoded stages that are kept for further tasks.
const KEPT_STAGES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);
/// Bytes that blocks and tasks of the native lanes keep beside any JVM.
const LEAST_BESIDE_JVM: u64 = 64 << 20;
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

/// The executor's native lanes and what their tasks share.
pub(super) struct NativeTasks {
    pub(super) lanes: Vec<Box<dyn Lane>>,
    pub(super) plane: BlockPlane,
    pub(super) dependencies: Dependencies,
    /// Peaks of memory by stage and task.
    pub(super) peaks: MetricsPeaks,
    /// When memory was last looked at.
    polled: Mutex<Option<Instant>>,
    /// What the executor was given.
    memory: MemorySettings,
    pub(super) limits: ResultLimits,
    /// Set if `spark.serializer` is Kryo.
    pub(super) kryo: Option<KryoForm>,
    /// Decoded stages by the id of their broadcast.
    pub(super) stages: Mutex<LruCache<i64, StageCell>>,
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
        class_path: Vec<PathBuf>,
        assembly: Assembly,
    ) -> Result<Self, SettingError> {
        let properties = Arc::clone(&env.properties);
        let runtime = env.runtime.clone();
        let count = env.version.executor_metrics;
        let kryo = kryo::form_of_serializer(&properties)?;
        let systems = Arc::new(FileSystems::new(
            runtime.clone(),
            Arc::clone(&properties),
            class_path,
            Environment::of_process(),
        ));
        let plane = BlockPlane::new(env, &settings.memory)?;
        let lanes = (assembly.lanes)(LaneParts {
            plane: &plane,
            files: &systems,
            settings,
        })?;
        let direct = properties.size(&declared::MAX_DIRECT_RESULT_SIZE)?;
        Ok(Self {
            lanes,
            plane,
            kryo,
            limits: ResultLimits {
                max_result_size: properties.size(&declared::MAX_RESULT_SIZE)?,
                max_direct_result_size: direct.min(settings.rpc.max_message),
            },
            dependencies: Dependencies::new(
                &properties,
                files,
                systems,
                PathBuf::from("."),
                runtime,
            )?
            .with_shared_cache(|name| std::env::var(name).ok()),
            peaks: MetricsPeaks::new(&properties, count)?,
            polled: Mutex::default(),
            memory: settings.memory,
            stages: Mutex::new(LruCache::new(KEPT_STAGES)),
        })
    }

    /// Takes the present memory into the peaks, and that of Python's processes into the report, unless that was done
    /// within the last second.
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
        report.note_python_rss(self.lanes.iter().map(|lane| lane.children_memory()).sum());
    }

    /// Counts what child processes have told, in the report.
    pub(super) fn report_children(&self, report: &Report) {
        for lane in &self.lanes {
            lane.report_children(report);
        }
    }

    /// Leaves to the embedded JVM the memory that it has come to occupy: tasks and blocks of the native lanes get what
    /// is left of all that the executor was given, and never more than without a JVM. May write blocks to disk.
    pub(super) fn share_memory_with_jvm(&self) {
        let blocks = &self.plane.blocks;
        let ours = blocks.memory_used() + blocks.memory_lent();
        let others = memory::rss_bytes().saturating_sub(ours);
        let limit = limit_beside_jvm(&self.memory, others);
        let now = blocks.max_memory();
        // Small moves are not worth a look at all blocks.
        if limit.abs_diff(now) < self.memory.max_on_heap / 64 {
            return;
        }
        debug!(target: LOG, "The process takes {others} bytes besides blocks and tasks of native lanes, which may now take {limit} bytes");
        if let Err(error) = blocks.set_max_memory(limit) {
            warn!(target: LOG, "Cannot write blocks to disk to make room for the JVM: {error}");
        }
    }

    /// Memory that blocks take now.
    pub(super) fn pools(&self) -> PoolMemory {
        PoolMemory {
            on_heap_execution: self.plane.blocks.memory_lent(),
            on_heap_storage: self.plane.blocks.memory_used(),
            ..PoolMemory::default()
        }
    }

    /// The lane whose tasks are run by the JVM too, if there is one.
    pub(super) fn verifier(&self) -> Option<&dyn Verifier> {
        self.lanes.iter().find_map(|lane| lane.verifier())
    }

    /// Drops what is kept of a broadcast that the driver has no more use for.
    pub(super) fn broadcast_removed(&self, id: i64) {
        self.stages.lock().pop(&id);
        self.plane.broadcasts.remove(id);
        for lane in &self.lanes {
            lane.broadcast_removed(id);
        }
    }

    /// Whether any native lane is allowed to take tasks.
    pub(super) fn has_lanes(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// Drops what is known of a shuffle that the driver has no more use for.
    pub(super) fn shuffle_removed(&self, shuffle_id: i32) {
        self.plane.shuffle.tracker().unregister_shuffle(shuffle_id);
    }

    /// Lets the lanes look at a task; or why none takes it.
    async fn accept(
        &self,
        executor: &Arc<RegisteredExecutor>,
        description: TaskDescription,
        launched: Instant,
    ) -> Result<NativeAttempt, String> {
        let limits = &self.plane.env.limits;
        let description = Arc::new(description);
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
                    let work = Work {
                        context: Arc::new(self.context(executor, &description, &task.task)),
                        description,
                        launched,
                        task,
                    };
                    return Ok(NativeAttempt::new(lane.name(), ids, work, plan));
                }
                Err(reason) => reasons.push((lane.name(), reason)),
            }
        }
        // One lane's reason says more than all of them: of the one that would be in charge.
        let properties = &description.properties;
        let expected = match properties
            .iter()
            .any(|(key, _)| key == declared::SQL_EXECUTION_ID.key)
        {
            true => LaneName::Sql,
            false => LaneName::Python,
        };
        reasons.sort_by_key(|(lane, _)| *lane != expected);
        Err(reasons
            .into_iter()
            .map(|(_, reason)| reason)
            .next()
            .unwrap_or_else(|| no_lane_for(&description.serialized_task)))
    }

    fn context(
        &self,
        executor: &Arc<RegisteredExecutor>,
        description: &Arc<TaskDescription>,
        task: &TaskObject,
    ) -> TaskContext {
        let cancellation = Cancellation::default();
        let evaluator = TaskEvaluator::new(executor, description, &cancellation);
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
            files_dir: self
                .dependencies
                .directory(&description.artifacts)
                .unwrap_or_else(|_| PathBuf::from(".")),
            cancellation,
            evaluator: Arc::new(evaluator),
            metrics: Arc::new(TaskMetrics::default()),
            python_updates: Mutex::default(),
            accumulator_updates: Mutex::default(),
            blocks: Arc::clone(&self.plane.env),
        }
    }

    /// The decoded binary of a stage: fetched once, shared by its tasks.
    async fn stage(&self, binary: &TorrentBroadcastRef) -> Result<Arc<StageBinary>, String> {
        let id = binary.id;
        let cell = {
            let mut stages = self.stages.lock();
            Arc::clone(stages.get_or_insert(id, || Arc::new(OnceCell::new())))
        };
        cell.get_or_try_init(|| async {
            let value = self.plane.broadcasts.value(binary).await.map_err(|why| {
                warn!(target: LOG, "Cannot fetch task binary broadcast_{id}: {why}");
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

/// What blocks and tasks of the native lanes may take when everything else in the process, mostly the JVM, takes
/// `others` bytes.
fn limit_beside_jvm(memory: &MemorySettings, others: u64) -> u64 {
    let least = LEAST_BESIDE_JVM.min(memory.max_on_heap);
    memory
        .total
        .saturating_sub(others)
        .clamp(least, memory.max_on_heap)
}

/// Lets the lanes look at a task and tells the state machine what they say.
pub(super) fn judge(executor: &Arc<RegisteredExecutor>, description: TaskDescription) {
    let task_id = description.task_id;
    let launched = Instant::now();
    let executor = Arc::clone(executor);
    executor.runtime.clone().spawn(async move {
        let verdict = match executor
            .native
            .accept(&executor, description, launched)
            .await
        {
            Ok(attempt) => Verdict::Run(Arc::new(attempt)),
            Err(reason) => Verdict::Delegate(reason),
        };
        executor.input(Input::TaskJudged { task_id, verdict });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jvm_gets_what_it_occupies() {
        const MIB: u64 = 1 << 20;
        let memory = MemorySettings {
            max_on_heap: 434 * MIB,
            max_off_heap: 0,
            storage_fraction: 0.5,
            total: 1408 * MIB,
        };
        assert_eq!(limit_beside_jvm(&memory, 300 * MIB), 434 * MIB);
        assert_eq!(limit_beside_jvm(&memory, 1200 * MIB), 208 * MIB);
        assert_eq!(limit_beside_jvm(&memory, 1400 * MIB), 64 * MIB);
        assert_eq!(limit_beside_jvm(&memory, 4000 * MIB), 64 * MIB);
    }
}
