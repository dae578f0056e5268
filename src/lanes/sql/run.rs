//! An attempt: from what it reads to what it returns.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use catalyst::{OperatorKind, TaskInputs};
use datafusion_execution::memory_pool::MemoryPool;
use futures::StreamExt;
use javaser::arena::NodeId;

use super::engine::Engine;
use super::failure::of_run;
use super::lane::{JudgedStage, Shared};
use super::memory::TaskPool;
use super::sink::Finished;
use super::sources::{self, TaskSources};
use super::verify::Expected;
use crate::task::AcceptedTask;
use crate::task::{StageBinary, TaskContext, TaskError, TaskValue};

/// A task that the lane can run.
#[derive(Debug)]
pub(super) struct SqlPlan {
    pub(super) shared: Arc<Shared>,
    pub(super) binary: Arc<StageBinary>,
    pub(super) stage: Arc<JudgedStage>,
    pub(super) inputs: TaskInputs,
}

impl AcceptedTask for SqlPlan {
    fn run(self: Box<Self>, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError> {
        let shuffle = &self.shared.parts.shuffle;
        shuffle.tracker().update_epoch(context.epoch);
        let sources = Arc::new(TaskSources::new(&self, Arc::clone(context)));
        // Nothing of the attempt is visible before its last step.
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| self.attempt(context, &sources)));
        for (_, read) in sources.shuffles_read() {
            sources::add_up(&read, &context.metrics.shuffle_read);
        }
        result.unwrap_or_else(|panic| {
            let what = crate::panic_text(&*panic).unwrap_or("no message");
            tracing::error!("Panic in a stage of Spark SQL: {what}");
            Err(TaskError::BailOut(format!("an error in Firesteel: {what}")))
        })
    }

    fn accumulator(&self) -> Option<NodeId> {
        self.stage.python.accumulator()
    }
}

impl SqlPlan {
    fn attempt(
        &self,
        context: &Arc<TaskContext>,
        sources: &Arc<TaskSources>,
    ) -> Result<TaskValue, TaskError> {
        let plan = self
            .stage
            .native
            .task(&self.inputs, Arc::clone(sources) as _)
            .map_err(|why| TaskError::BailOut(why.to_string()))?;
        let parts = &self.shared.parts;
        let engine = match self.shared.engine.get() {
            Some(engine) => engine,
            None => {
                let engine = Engine::new(&context.blocks).map_err(of_run)?;
                self.shared.engine.get_or_init(|| engine)
            }
        };
        let memory = Arc::new(TaskPool::new(parts.memory.of_task(context.task_attempt_id)));
        let pool: Arc<dyn MemoryPool> = Arc::clone(&memory) as _;
        let surroundings = engine
            .task(context.task_attempt_id, Arc::clone(&pool))
            .map_err(of_run)?;
        let stage = &self.stage;
        let rules = stage.rules.as_ref();
        let mut sink = stage
            .output
            .sink(&stage.native, rules, &self.shared, &pool, context)?;
        let mut batches = plan.root.execute(0, surroundings).map_err(of_run)?;
        while sink.wants_more() {
            context.check()?;
            let Some(batch) = futures::executor::block_on(batches.next()) else {
                break;
            };
            sink.take(&batch.map_err(of_run)?)?;
        }
        // What is left is not needed; its memory is.
        drop(batches);
        context.check()?;
        // Nothing may bail out once the sink has finished: what it has written may be visible.
        let made = sources.made_tables().map_err(of_run)?;
        let finished = sink.finish()?;
        let spill = &context.metrics.spill;
        let peak = memory.peak().saturating_add(sources.broadcast_bytes());
        let peak = i64::try_from(peak).unwrap_or(i64::MAX);
        spill.peak_execution_memory.add(peak);
        let spilled = plan.spilled_bytes();
        spill.memory_bytes_spilled.add_len(spilled);
        spill.disk_bytes_spilled.add_len(spilled);
        let values = self.measured(plan.metrics(), &finished, sources);
        let rows = i64::try_from(plan.input_rows()).unwrap_or(i64::MAX);
        context.metrics.input.records_read.add(rows);
        context
            .accumulator_updates
            .lock()
            .extend(self.stage.metrics.updates(&values));
        context.accumulator_updates.lock().extend(made);
        let verified = rules.zip(self.shared.verifier.as_ref());
        let expected = verified.and_then(|(rules, verifier)| {
            let expected = Expected::of(&finished.value, rules)?;
            Some(verifier.expect(context.task_attempt_id, expected))
        });
        match expected {
            Some(for_the_jvm) => Err(for_the_jvm),
            None => Ok(finished.value),
        }
    }

    /// The numbers of all SQL metrics, by accumulator.
    fn measured(
        &self,
        operators: Vec<(i64, i64)>,
        finished: &Finished,
        sources: &TaskSources,
    ) -> HashMap<i64, i64> {
        let mut values = HashMap::new();
        for (accumulator, value) in operators.into_iter().chain(finished.metrics.clone()) {
            *values.entry(accumulator).or_default() += value;
        }
        let read: HashMap<_, _> = sources.shuffles_read().into_iter().collect();
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
