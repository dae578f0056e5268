//! Stages and tasks that run natively.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_physical_plan::ExecutionPlan;

use super::draws::check_partitions;
use super::lower::{Demand, Lowered, Lowering};
use super::metrics::{Measured, spilled_bytes};
use super::sources::Sources;
use catalyst::Columns;
use catalyst::ExprId;
use catalyst::TaskInputs;
use catalyst::Unsupported;
use catalyst::{Output, Stage};

/// A stage that was judged: its tasks run natively. Made once per stage and shared by its tasks.
#[derive(Debug)]
pub struct NativeStage {
    stage: Arc<Stage>,
    root: Lowered,
}

/// What a task executes.
pub struct TaskPlan {
    /// Executed as partition 0, with the task's memory pool and disks in its context. A task's plan is executed once.
    pub root: Arc<dyn ExecutionPlan>,
    measured: Vec<Measured>,
    scans: Vec<Arc<dyn ExecutionPlan>>,
}

impl NativeStage {
    /// Judges every operator and expression of a stage.
    ///
    /// # Errors
    /// Something in it is not done natively.
    pub fn new(stage: Arc<Stage>) -> Result<Self, Unsupported> {
        check_partitions(&stage.root, &stage.inputs)?;
        let demand = Demand {
            columns: None,
            // Spark leaves out sorts of what is sorted already.
            ordered: matches!(
                stage.output,
                Output::Collect { .. }
                    | Output::TakeOrdered
                    | Output::Files(_)
                    | Output::Checkpoint(_)
                    | Output::Pickled(_)
                    | Output::ArrowBatches(_)
                    | Output::Rest(_)
            ),
        };
        let root = Lowering::new().operator(&stage.root, &stage.inputs, demand)?;
        let ids = |columns: &Columns| -> Option<Vec<ExprId>> {
            let columns = columns.known()?;
            Some(columns.iter().map(|column| column.id).collect())
        };
        if ids(&root.columns) != ids(&stage.root.output) {
            return Err(Unsupported::of_use("columns in another order"));
        }
        Ok(Self { stage, root })
    }

    /// The stage.
    #[must_use]
    pub fn stage(&self) -> &Arc<Stage> {
        &self.stage
    }

    /// Columns of the batches that a task's plan gives.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.root.schema)
    }

    /// Whether rows are passed on that nobody looks into: batches have one column of type `BinaryView` with the bytes
    /// of each `UnsafeRow` in place of its columns.
    #[must_use]
    pub fn raw_rows(&self) -> bool {
        self.root.columns.known().is_none()
    }

    /// What the task with these inputs executes.
    ///
    /// # Errors
    /// Something about the partition is not done natively.
    pub fn task(
        &self,
        inputs: &TaskInputs,
        sources: Arc<dyn Sources>,
    ) -> Result<TaskPlan, Unsupported> {
        let mut task = Task {
            sources,
            measured: Vec::new(),
            scans: Vec::new(),
        };
        let root = self.root.build(&mut task, inputs)?;
        Ok(TaskPlan {
            root,
            measured: task.measured,
            scans: task.scans,
        })
    }
}

impl TaskPlan {
    /// After the run: by accumulator, what each operator's SQL metrics say. Those of shuffles that are read are not
    /// among them.
    #[must_use]
    pub fn metrics(&self) -> Vec<(i64, i64)> {
        self.measured.iter().flat_map(Measured::values).collect()
    }

    /// After the run: how many rows were read from files or made by ranges, `recordsRead` of the task's input.
    #[must_use]
    pub fn input_rows(&self) -> u64 {
        let scans = self.scans.iter().filter_map(|scan| scan.metrics());
        let rows = scans.filter_map(|metrics| metrics.output_rows());
        rows.map(|rows| rows as u64).sum()
    }

    /// After the run: how many bytes went to disk because they did not fit into memory.
    #[must_use]
    pub fn spilled_bytes(&self) -> usize {
        spilled_bytes(&self.root)
    }
}

impl fmt::Debug for TaskPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPlan")
            .field("root", &self.root)
            .finish()
    }
}

/// What the plan of a task is made with.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) sources: Arc<dyn Sources>,
    pub(super) measured: Vec<Measured>,
    /// Plans of scans and ranges.
    pub(super) scans: Vec<Arc<dyn ExecutionPlan>>,
}
