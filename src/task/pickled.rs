//! What one lane computes for another within a task: RDDs of pickled batches of Python objects. Data frames are made of
//! them (`createDataFrame`), and they are made of data frames (`DataFrame.rdd`). Lanes know each other only so.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use javaser::arena::NodeId;
use wire::task_description::TaskDescription;

use super::{DecodedTask, StageBinary, TaskContext, TaskError};

/// Pickled batches, each a list of objects.
pub type PickledBatches = Box<dyn Iterator<Item = Result<Bytes, TaskError>> + Send>;

/// A lane as a source of pickled batches.
pub trait PickledSource: Debug + Send + Sync {
    /// Judges an RDD of `byte[]` within a stage, a node of its graph, that is computed by tasks of this description.
    ///
    /// # Errors
    /// Why it is not computed natively: one of a few texts, which are counted.
    fn judge(
        &self,
        stage: &StageBinary,
        rdd: NodeId,
        description: &TaskDescription,
    ) -> Result<Arc<dyn PickledRdd>, String>;
}

/// An RDD that was judged.
pub trait PickledRdd: Debug + Send + Sync {
    /// Looks at a partition of it, a node of the task's graph.
    ///
    /// # Errors
    /// Why it is not computed natively.
    fn bind(
        &self,
        task: &DecodedTask,
        partition: NodeId,
    ) -> Result<Arc<dyn PickledPartition>, String>;

    /// The accumulator of PySpark in the stage's binary that [`TaskContext::python_updates`] belongs to.
    fn accumulator(&self) -> Option<NodeId>;
}

/// A partition that can be computed.
pub trait PickledPartition: Debug + Send + Sync {
    /// Computes it. What it counts is in the context when the iterator is dropped.
    ///
    /// # Errors
    /// What keeps it from beginning. After [`TaskError::BailOut`], here or from the iterator, nothing is visible.
    fn batches(&self, context: &Arc<TaskContext>) -> Result<PickledBatches, TaskError>;
}

/// The other lane, which may be made later, or not at all.
#[derive(Debug, Default)]
pub struct OtherLane(OnceLock<Weak<dyn PickledSource>>);

impl OtherLane {
    /// Makes the lane known; the first one stays.
    pub fn connect(&self, source: &Arc<dyn PickledSource>) {
        let _ = self.0.set(Arc::downgrade(source));
    }

    /// The lane, if there is one.
    #[must_use]
    pub fn get(&self) -> Option<Arc<dyn PickledSource>> {
        self.0.get()?.upgrade()
    }
}
