//! Computes the steps of a task.

mod checkpoint;
mod files;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod steps;
mod text_file;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use javaser::arena::NodeId;
use wire::ids::StorageLevel;
use wire::map_status::MapStatus;

use super::plan::{ShuffleInput, ShuffleOutput};
use crate::blocks::codec::Codec;
use crate::files::{FileSystems, HadoopConf};
use crate::python::Elements;
use crate::task::{StageBinary, TaskContext, TaskError};

pub(super) use checkpoint::write as write_checkpoint;
pub(super) use steps::Run;
pub(super) use text_file::write as write_text_file;

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
    /// Fails with [`TaskError::BailOut`] if the function of a `PythonRDD`, a node of the stage's graph, is not known.
    fn check_python(&self, stage: &StageBinary, rdd: NodeId) -> Result<(), TaskError>;

    /// What the function of a `PythonRDD`, a node of the stage's graph, makes of a partition.
    fn python(
        &self,
        stage: &StageBinary,
        rdd: NodeId,
        split: i32,
        input: Elements<'static>,
        context: &Arc<TaskContext>,
    ) -> Result<Elements<'static>, TaskError>;

    /// The records of a partition of a shuffle.
    fn shuffle(
        &self,
        input: &ShuffleInput,
        partition: i32,
        context: &TaskContext,
    ) -> Result<Elements<'static>, TaskError>;

    /// A cached partition, made if nobody has it.
    fn cached(
        &self,
        partition: &CachedPartition,
        context: &TaskContext,
        make: Make,
    ) -> Result<Elements<'static>, TaskError>;

    /// The value of a broadcast `SerializableConfiguration`, a node of the stage's graph.
    fn hadoop_conf(
        &self,
        stage: &StageBinary,
        conf: NodeId,
        context: &TaskContext,
    ) -> Result<Arc<HadoopConf>, TaskError>;

    /// What the files of checkpoints are compressed with (`spark.checkpoint.compress`).
    fn checkpoint_codec(&self) -> Option<&Codec>;

    /// Where files are read.
    fn file_systems(&self) -> &Arc<FileSystems>;

    /// Writes records for a shuffle.
    fn write_shuffle(
        &self,
        output: &ShuffleOutput,
        records: Elements<'_>,
        context: &TaskContext,
    ) -> Result<MapStatus, TaskError>;
}
