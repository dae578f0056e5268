//! Computes the steps of a task.

mod conf;
mod files;
mod lines;
mod random;
mod steps;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use javaser::arena::NodeId;
use wire::ids::StorageLevel;
use wire::map_status::MapStatus;

use super::Elements;
use super::plan::{ShuffleInput, ShuffleOutput};
use crate::executor::task::{StageBinary, TaskContext, TaskError};

pub(super) use conf::HadoopConf;
pub(super) use steps::Run;

/// A partition of a cached RDD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CachedPartition {
    /// `RDD.id`
    pub(super) rdd: i32,
    /// Index of the partition.
    pub(super) split: i32,
    /// Where it is to be kept.
    pub(super) level: StorageLevel,
    /// Whether the elements are texts rather than bytes.
    pub(super) text: bool,
}

/// Computes a partition that is not there yet.
pub(super) type Make = Box<dyn FnOnce() -> Result<Elements<'static>, TaskError> + Send>;

/// What steps need of the executor.
pub(super) trait Services: Send + Sync + std::fmt::Debug {
    /// What a Python function, a node of the stage's graph, makes of a partition.
    fn python(
        &self,
        stage: &Arc<StageBinary>,
        function: NodeId,
        split: i32,
        input: Elements<'static>,
        context: &Arc<TaskContext>,
    ) -> Result<Elements<'static>, TaskError>;

    /// The records of a partition of a shuffle.
    fn shuffle(
        &self,
        input: &ShuffleInput,
        partition: i32,
        context: &Arc<TaskContext>,
    ) -> Result<Elements<'static>, TaskError>;

    /// A cached partition, made if nobody has it.
    fn cached(
        &self,
        partition: &CachedPartition,
        context: &Arc<TaskContext>,
        make: Make,
    ) -> Result<Elements<'static>, TaskError>;

    /// The value of a broadcast `SerializableConfiguration`, a node of the stage's graph.
    fn hadoop_conf(
        &self,
        stage: &Arc<StageBinary>,
        conf: NodeId,
        context: &Arc<TaskContext>,
    ) -> Result<Arc<HadoopConf>, TaskError>;

    /// Writes records for a shuffle.
    fn write_shuffle(
        &self,
        output: &ShuffleOutput,
        records: Elements<'static>,
        context: &Arc<TaskContext>,
    ) -> Result<MapStatus, TaskError>;
}
