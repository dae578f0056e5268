//! A partition of a stage: what it reads, and its rows as they are computed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use catalyst::{Broadcast, LeafId, LeafInput, OperatorKind, TaskInputs};
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::memory_pool::MemoryPool;
use exec::{TaskCalls, TaskPlan};
use futures_util::StreamExt;
use javaser::arena::NodeId;
use wire::messages::Accumulator;

use super::engine::Engine;
use super::failure::of_run;
use super::lane::{JudgedStage, Shared};
use super::memory::TaskPool;
use super::source_files::{local_path, remote_path};
use super::sources::{self, TaskSources};
use crate::files::HadoopConf;
use crate::memory::budget::TaskMemory;
use crate::task::{DecodedTask, PickledPartition, StageBinary, TaskContext, TaskError};

/// A partition that can be computed.
#[derive(Debug, Clone)]
pub(super) struct SqlPartition {
    pub(super) shared: Arc<Shared>,
    pub(super) binary: Arc<StageBinary>,
    pub(super) stage: Arc<JudgedStage>,
    inputs: TaskInputs,
    /// Partitions of Python's that it reads, by the leaf and the partition's node in the task's graph.
    pub(super) pickled: HashMap<(LeafId, NodeId), Arc<dyn PickledPartition>>,
}

impl SqlPartition {
    /// Looks at a partition, a node of the task's graph.
    ///
    /// # Errors
    /// The reason to delegate the task.
    pub(super) fn new(
        shared: &Arc<Shared>,
        stage: &Arc<JudgedStage>,
        task: &DecodedTask,
        partition: NodeId,
    ) -> Result<Self, String> {
        let inputs = stage.native.stage().bind(&task.task.graph, partition);
        let inputs = inputs.map_err(|why| why.to_string())?;
        let mut pickled = HashMap::new();
        for (leaf, input) in leaves(&inputs) {
            match input {
                LeafInput::Files(files) => {
                    // Of a path without a scheme it shows where its file system is known.
                    let mut others = files.iter().filter(|file| {
                        local_path(&file.path).is_none() && !file.path.starts_with('/')
                    });
                    others.try_for_each(|file| remote_path(&file.path).map(|_| ()))?;
                }
                LeafInput::Partition(node) => {
                    let rdd = stage.pickled.get(&leaf).ok_or("a scan of another RDD")?;
                    pickled.insert((leaf, *node), rdd.bind(task, *node)?);
                }
                LeafInput::Shuffle(_)
                | LeafInput::Rows(_)
                | LeafInput::Slice(_)
                | LeafInput::Object(_) => {}
            }
        }
        Ok(Self {
            shared: Arc::clone(shared),
            binary: Arc::clone(&task.stage),
            stage: Arc::clone(stage),
            inputs,
            pickled,
        })
    }

    /// Begins to compute it. `number` is that of the partition in its RDD, if it is known.
    ///
    /// # Errors
    /// What keeps it from beginning.
    pub(super) fn start(
        &self,
        number: Option<i32>,
        context: &Arc<TaskContext>,
    ) -> Result<TaskRows, TaskError> {
        let parts = &self.shared.parts;
        parts.shuffle.tracker().update_epoch(context.epoch);
        let sources = Arc::new(TaskSources::new(self, number, Arc::clone(context)));
        let plan = self
            .stage
            .native
            .task(&self.inputs, Arc::clone(&sources) as _)
            .map_err(|why| TaskError::BailOut(why.to_string()))?;
        let engine = match self.shared.engine.get() {
            Some(engine) => engine,
            None => {
                let engine = Engine::new(&context.blocks).map_err(of_run)?;
                self.shared.engine.get_or_init(|| engine)
            }
        };
        let memory = Arc::new(TaskPool::new(parts.memory.of_task(context.task_attempt_id)));
        let surroundings = engine
            .task(context.task_attempt_id, Arc::clone(&memory) as _)
            .map_err(of_run)?;
        let calls = TaskCalls::new(Arc::clone(&sources) as _, Arc::clone(&memory) as _);
        let entered = calls.enter();
        let batches = plan.root.execute(0, surroundings).map_err(of_run)?;
        drop(entered);
        Ok(TaskRows {
            stage: Arc::clone(&self.stage),
            plan,
            batches: Some(batches),
            calls,
            memory,
            sources,
            context: Arc::clone(context),
        })
    }
}

/// What the leaves read.
fn leaves(inputs: &TaskInputs) -> Vec<(LeafId, &LeafInput)> {
    match inputs {
        TaskInputs::Leaf(leaf, input) => vec![(*leaf, input)],
        TaskInputs::Union(_, one) | TaskInputs::Cached(_, one) => leaves(one),
        TaskInputs::Zip(all) | TaskInputs::Coalesced(all) => all.iter().flat_map(leaves).collect(),
    }
}

/// The rows of a partition, computed as they are asked for.
pub(super) struct TaskRows {
    pub(super) stage: Arc<JudgedStage>,
    plan: TaskPlan,
    /// Until no more are wanted.
    batches: Option<SendableRecordBatchStream>,
    /// Functions of shared libraries that its expressions call.
    pub(super) calls: TaskCalls,
    memory: Arc<TaskPool<TaskMemory>>,
    sources: Arc<TaskSources>,
    pub(super) context: Arc<TaskContext>,
}

impl TaskRows {
    /// The task's memory.
    pub(super) fn memory(&self) -> Arc<dyn MemoryPool> {
        Arc::clone(&self.memory) as _
    }

    /// Hadoop's settings in a broadcast of the stage.
    ///
    /// # Errors
    /// They cannot be had.
    pub(super) fn hadoop(&self, conf: &Broadcast) -> Result<Arc<HadoopConf>, TaskError> {
        self.sources.hadoop(conf).map_err(of_run)
    }

    /// The next rows; `None` after the last.
    ///
    /// # Errors
    /// How the attempt ends.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        self.context.check()?;
        let Some(batches) = &mut self.batches else {
            return Ok(None);
        };
        // Other than most executors this one may run within itself: rows may come from Python, and Python's from rows.
        let _entered = self.calls.enter();
        let batch = pollster::block_on(batches.next());
        batch.transpose().map_err(of_run)
    }

    /// No more rows are wanted. Gives what the driver is to be told of cached tables.
    ///
    /// # Errors
    /// How the attempt ends.
    pub(super) fn end(&mut self) -> Result<Vec<Accumulator>, TaskError> {
        // What is left is not needed; its memory is.
        self.batches = None;
        self.context.check()?;
        self.sources.made_tables().map_err(of_run)
    }

    /// Counts what was done in the task's context, and gives the numbers of all SQL metrics, by accumulator.
    pub(super) fn count(&self, written: &[(i64, i64)]) -> HashMap<i64, i64> {
        let metrics = &self.context.metrics;
        let peak = self.memory.peak();
        let peak = peak.saturating_add(self.sources.broadcast_bytes());
        let peak = i64::try_from(peak).unwrap_or(i64::MAX);
        metrics.spill.peak_execution_memory.add(peak);
        let spilled = self.plan.spilled_bytes();
        metrics.spill.memory_bytes_spilled.add_len(spilled);
        metrics.spill.disk_bytes_spilled.add_len(spilled);
        let rows = i64::try_from(self.plan.input_rows()).unwrap_or(i64::MAX);
        metrics.input.records_read.add(rows);
        self.measured(written)
    }

    fn measured(&self, written: &[(i64, i64)]) -> HashMap<i64, i64> {
        let mut values = HashMap::new();
        for (accumulator, value) in self
            .plan
            .metrics()
            .into_iter()
            .chain(written.iter().copied())
        {
            *values.entry(accumulator).or_default() += value;
        }
        let read: HashMap<_, _> = self.sources.shuffles_read().into_iter().collect();
        for leaf in self.stage.native.stage().leaves() {
            let OperatorKind::ShuffleRead { shuffle, .. } = &leaf.kind else {
                continue;
            };
            let Some(read) = read.get(&shuffle.shuffle_id) else {
                continue;
            };
            for (name, value) in sources::values(read) {
                let mut metrics = leaf.metrics.iter();
                if let Some(metric) = metrics.find(|metric| metric.name == name) {
                    // Leaves that read the same shuffle have the same metrics.
                    values.insert(metric.accumulator, value);
                }
            }
        }
        values
    }
}

/// Adds up what was read of shuffles, however the attempt ends.
impl Drop for TaskRows {
    fn drop(&mut self) {
        for (_, read) in self.sources.shuffles_read() {
            sources::add_up(&read, &self.context.metrics.shuffle_read);
        }
    }
}
