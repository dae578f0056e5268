//! Recognises what a stage and a task of PySpark's RDDs compute.
//!
//! A stage is judged once: its lineage becomes [`StagePlan`], or there is a reason to delegate it. Each task then binds
//! the plan to its partition, which gives [`Step`]s to compute.

mod bind;
mod hadoop;
mod kinds;
mod lineage;
mod target;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use bytes::Bytes;
use javaser::arena::NodeId;
use wire::ids::StorageLevel;

use crate::files::FilePath;
use crate::python::Element;
use crate::task::{PickledPartition, PickledRdd};

pub(super) use bind::bind;
pub(super) use hadoop::FileRange;
pub(super) use kinds::recognised;

/// Deepest lineage that is looked into. Computing a partition takes stack for each level.
const MAX_DEPTH: usize = 400;

/// What elements an RDD has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// `byte[]`
    Bytes,
    /// `String`
    Text,
    /// A `Tuple2` of a `Long` or `Int` and `byte[]`.
    Keyed(Key),
    /// A `Tuple2` of others.
    Tuple(Box<(Self, Self)>),
    /// A `PortableDataStream`, which only Python's side can use.
    Stream,
    /// A `NullWritable` and a `Text`, for a file.
    Line,
}

/// Class of the keys of [`Shape::Keyed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// `java.lang.Long`: the hash of a Python object.
    Long,
    /// `java.lang.Integer`: where `repartition` sends a batch.
    Int,
}

/// Place of an RDD in [`StagePlan::rdds`].
pub(super) type RddIndex = usize;

/// An RDD of the lineage.
#[derive(Debug)]
pub(super) struct Rdd {
    /// `RDD.id`
    pub(super) id: i32,
    /// Where partitions are to be kept.
    pub(super) level: StorageLevel,
    /// Class of the elements, from the RDD's class tag.
    pub(super) class: String,
    /// What elements there are.
    pub(super) shape: Shape,
    /// How it is computed.
    pub(super) kind: RddKind,
}

/// How an RDD is computed from its parents.
#[derive(Debug)]
pub(super) enum RddKind {
    /// `ParallelCollectionRDD`: the partition has the elements.
    Parallel,
    /// `PythonRDD`
    Python {
        /// The `PythonRDD` in the stage's graph.
        rdd: NodeId,
        parent: RddIndex,
    },
    /// `PairwiseRDD`: two elements of the parent make a pair.
    Pairwise(RddIndex),
    /// The second halves of pairs: `PythonRDD.valueOfPair`, `PairRDDFunctions.values`.
    Second(RddIndex),
    /// What `RDD.coalesce` with a shuffle does before it: pairs of the partition to go to and the element.
    Distribute { parent: RddIndex, partitions: i32 },
    /// `ShuffledRDD`
    Shuffled(ShuffleInput),
    /// `UnionRDD`
    Union(Vec<RddIndex>),
    /// `PartitionerAwareUnionRDD`
    PartitionerAwareUnion(Vec<RddIndex>),
    /// `CoalescedRDD`
    Coalesced(RddIndex),
    /// `ZippedPartitionsRDD2` of `RDD.zip`
    Zip(RddIndex, RddIndex),
    /// `CartesianRDD`
    Cartesian(RddIndex, RddIndex),
    /// Files of Hadoop's input formats.
    Files(Files),
    /// The rows of a data frame, pickled: `EvaluatePython.javaToPython`.
    Rows(Arc<dyn PickledRdd>),
    /// Strings of UTF-8.
    Strings(RddIndex),
    /// The same strings, as Hadoop's records.
    Lines(RddIndex),
    /// An RDD that was checkpointed is read from there.
    Checkpointed(RddIndex),
    /// `ReliableCheckpointRDD`: files in a directory.
    ReliableCheckpoint(CheckpointDir),
    /// `LocalCheckpointRDD`, with the id of the RDD whose cached partitions it is.
    LocalCheckpoint(i32),
}

/// A shuffle that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShuffleInput {
    /// `shuffleId`
    pub(super) shuffle_id: i32,
    /// Number of map partitions.
    pub(super) num_maps: i32,
    /// Number of reduce partitions.
    pub(super) num_partitions: i32,
}

/// An input of files, read through Hadoop's interface in Spark.
#[derive(Debug, Clone)]
pub(super) struct Files {
    /// What is made of them.
    pub(super) format: FileFormat,
    /// Broadcast of the `SerializableConfiguration`, in the stage's graph.
    pub(super) conf: NodeId,
    /// `spark.files.ignoreMissingFiles` and its kin.
    pub(super) ignore_missing: bool,
    /// `spark.files.ignoreCorruptFiles` and its kin.
    pub(super) ignore_corrupt: bool,
}

/// Where a reliable checkpoint is written and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckpointDir {
    /// The directory.
    pub(super) path: FilePath,
    /// Broadcast of the `SerializableConfiguration`, in the stage's graph.
    pub(super) conf: NodeId,
}

/// How files become elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// `textFile`: lines.
    Lines,
    /// `wholeTextFiles`: pairs of path and content.
    WholeText,
    /// `binaryFiles`: pairs of path and bytes.
    Binary,
    /// `binaryRecords`: records of that many bytes.
    Records(i32),
}

/// What a stage does with a partition of its last RDD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// An array of the elements, at most that many, whose Java class has this name.
    Array { class: String, limit: Option<usize> },
    /// The number of elements, a `java.lang.Long`.
    Count,
    /// Writes for a shuffle.
    Shuffle(ShuffleOutput),
    /// Writes a file of a reliable checkpoint into this directory.
    Checkpoint(CheckpointDir),
    /// `saveAsTextFile`: writes a file.
    TextFile(TextFile),
}

/// A job that writes lines of text, by Hadoop's `TextOutputFormat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextFile {
    /// The `SerializableJobConf`, in the stage's graph.
    pub(super) conf: NodeId,
    /// What the driver calls the job.
    pub(super) tracker: String,
}

/// A shuffle that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShuffleOutput {
    /// `shuffleId`
    pub(super) shuffle_id: i32,
    /// Number of reduce partitions.
    pub(super) num_partitions: i32,
    /// Class of the keys.
    pub(super) key: Key,
    /// The dependency in the stage's graph.
    pub(super) dependency: NodeId,
}

/// A stage that this lane can run.
#[derive(Debug)]
pub(super) struct StagePlan {
    /// What the tasks compute.
    pub(super) rdd: RddPlan,
    /// What is done with it.
    pub(super) target: Target,
}

/// An RDD that this lane can compute.
#[derive(Debug)]
pub(super) struct RddPlan {
    /// The lineage; parents before their children.
    pub(super) rdds: Vec<Rdd>,
    /// The RDD itself.
    pub(super) root: RddIndex,
    /// `PythonAccumulatorV2` of the functions.
    pub(super) accumulator: Option<NodeId>,
}

/// Judges an RDD of a data frame's rows, a node of the stage's graph.
pub(super) type RowsOf<'a> = dyn Fn(NodeId) -> Result<Arc<dyn PickledRdd>, String> + 'a;

/// A partition of an RDD as it is computed.
#[derive(Debug)]
pub(super) enum Step {
    /// These elements.
    Values(Vec<Element>),
    /// What a Python function makes of the input.
    Python {
        /// The `PythonRDD` in the stage's graph.
        rdd: NodeId,
        /// Index of the partition.
        split: i32,
        input: Arc<Self>,
    },
    /// See [`RddKind::Pairwise`].
    Pairwise(Arc<Self>),
    /// See [`RddKind::Second`].
    Second(Arc<Self>),
    /// See [`RddKind::Strings`].
    Strings(Arc<Self>),
    /// See [`RddKind::Distribute`].
    Distribute {
        split: i32,
        partitions: i32,
        input: Arc<Self>,
    },
    /// A partition of a shuffle.
    Shuffle { input: ShuffleInput, partition: i32 },
    /// One after the other.
    Chain(Vec<Arc<Self>>),
    /// See [`RddKind::Zip`].
    Zip(Arc<Self>, Arc<Self>),
    /// See [`RddKind::Cartesian`].
    Cartesian(Arc<Self>, Arc<Self>),
    /// Parts of files.
    Files {
        files: Files,
        ranges: Vec<FileRange>,
    },
    /// See [`RddKind::Rows`].
    Rows(Arc<dyn PickledPartition>),
    /// A block of a cached RDD, computed if nobody has it.
    Cached {
        rdd: i32,
        split: i32,
        level: StorageLevel,
        text: bool,
        input: Arc<Self>,
    },
    /// See [`RddKind::ReliableCheckpoint`].
    ReliableCheckpoint { dir: CheckpointDir, split: i32 },
    /// A block of an RDD that must be there.
    LocalCheckpoint { rdd: i32, split: i32 },
}

/// Bytes of the graph, copied.
fn bytes_of(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// Last part of a Java class name.
fn simple(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}
