//! Rows of data frames, pickled for RDDs of PySpark: `DataFrame.rdd`, `DataFrame.toLocalIterator`.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use catalyst::{Output, Stage};
use exec::DataFramePickler;
use javaser::arena::NodeId;
use wire::task_description::TaskDescription;

use super::lane::{JudgedStage, Shared};
use super::partition::{SqlPartition, TaskRows};
use super::run::caught;
use crate::task::{
    DecodedTask, PickledBatches, PickledPartition, PickledRdd, PickledSource, StageBinary,
    TaskContext, TaskError,
};

/// The lane as a source of pickled rows.
#[derive(Debug)]
pub(super) struct RowsForPython {
    pub(super) shared: Arc<Shared>,
    /// Why nothing can be computed.
    pub(super) nothing: Option<String>,
}

/// A data frame whose rows are pickled.
#[derive(Debug)]
struct PickledFrame {
    shared: Arc<Shared>,
    stage: Arc<JudgedStage>,
    pickler: Arc<DataFramePickler>,
}

/// A partition of it.
#[derive(Debug)]
struct FramePartition {
    partition: SqlPartition,
    pickler: Arc<DataFramePickler>,
}

impl PickledSource for RowsForPython {
    fn judge(
        &self,
        binary: &StageBinary,
        rdd: NodeId,
        description: &TaskDescription,
    ) -> Result<Arc<dyn PickledRdd>, String> {
        if let Some(reason) = &self.nothing {
            return Err(reason.clone());
        }
        let shared = &self.shared;
        let property = |name: &str| description.property(name);
        let stage = Stage::read_pickled(&binary.graph, rdd, property, |settings| {
            shared.complete(settings);
        });
        let stage = stage.map_err(|why| why.to_string())?;
        let Output::Pickled(rows) = &stage.output else {
            return Err("rows of another kind".to_owned());
        };
        let pickler = DataFramePickler::new(rows).map_err(|why| why.to_string())?;
        let stage = shared.judged_stage(stage, binary, description)?;
        if stage.native.raw_rows() {
            return Err("rows of unknown columns for Python".to_owned());
        }
        Ok(Arc::new(PickledFrame {
            shared: Arc::clone(shared),
            stage: Arc::new(stage),
            pickler: Arc::new(pickler),
        }))
    }
}

impl PickledRdd for PickledFrame {
    fn bind(
        &self,
        task: &DecodedTask,
        partition: NodeId,
    ) -> Result<Arc<dyn PickledPartition>, String> {
        Ok(Arc::new(FramePartition {
            partition: SqlPartition::new(&self.shared, &self.stage, task, partition)?,
            pickler: Arc::clone(&self.pickler),
        }))
    }

    fn accumulator(&self) -> Option<NodeId> {
        self.stage.accumulator()
    }
}

impl PickledPartition for FramePartition {
    fn batches(&self, context: &Arc<TaskContext>) -> Result<PickledBatches, TaskError> {
        // A union, for one, numbers the partitions of its RDDs anew.
        let rows = caught(|| self.partition.start(None, context))?;
        Ok(Box::new(PickledFrames {
            rows,
            pickler: Arc::clone(&self.pickler),
            made: VecDeque::new(),
            failed: false,
        }))
    }
}

/// Rows as they are computed and pickled.
struct PickledFrames {
    rows: TaskRows,
    pickler: Arc<DataFramePickler>,
    made: VecDeque<Vec<u8>>,
    failed: bool,
}

impl PickledFrames {
    fn more(&mut self) -> Result<Option<Bytes>, TaskError> {
        loop {
            if let Some(frame) = self.made.pop_front() {
                return Ok(Some(frame.into()));
            }
            let Some(batch) = self.rows.next()? else {
                return Ok(None);
            };
            let frames = self.pickler.frames(&batch);
            let frames =
                frames.ok_or_else(|| TaskError::BailOut("rows of other columns".into()))?;
            self.made = frames.into();
        }
    }
}

impl Iterator for PickledFrames {
    type Item = Result<Bytes, TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = caught(|| self.more());
        self.failed = next.is_err();
        next.transpose()
    }
}

/// Counts what was done, also of rows that nobody wanted to the end.
impl Drop for PickledFrames {
    fn drop(&mut self) {
        if self.failed {
            return;
        }
        let made = self.rows.end().unwrap_or_default();
        let values = self.rows.count(&[]);
        let mut updates = self.rows.context.accumulator_updates.lock();
        updates.extend(self.rows.stage.metrics.updates_of(&values));
        updates.extend(made);
    }
}
