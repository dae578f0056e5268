//! A task as the driver sent it, looked into.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use javaser::Limits;
use javaser::arena::{Graph, NodeId};
use parking_lot::Mutex;

/// Why a task's bytes cannot be looked into. Such a task is not for a native lane; the JVM may still know what to do
/// with it.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// No Java object stream.
    #[error("no Java object stream: {0}")]
    Stream(#[from] javaser::Error),
    /// A class other than those that Spark sends.
    #[error("unexpected class {0}")]
    Class(String),
    /// A field that every version has is not there.
    #[error("no field {0}")]
    Field(&'static str),
}

/// What a task is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// `org.apache.spark.scheduler.ResultTask`: a partition of the last stage of a job.
    Result {
        /// Position of its result among the job's.
        output_id: i32,
    },
    /// `org.apache.spark.scheduler.ShuffleMapTask`: a partition of a stage that writes for a shuffle.
    ShuffleMap,
}

/// The object stream in a task description, an `org.apache.spark.scheduler.Task`. The names are Spark's.
#[derive(Debug)]
pub struct TaskObject {
    /// The stream.
    pub graph: Graph,
    /// The task in it.
    pub node: NodeId,
    /// What it is for.
    pub kind: TaskKind,
    /// The stage.
    pub stage_id: i32,
    /// Attempt of the stage.
    pub stage_attempt_id: i32,
    /// The partition that the task computes.
    pub partition_id: i32,
    /// Number of partitions of the stage.
    pub num_partitions: i32,
    /// Map output epoch of the driver.
    pub epoch: i64,
    /// Whether the stage is a barrier stage.
    pub is_barrier: bool,
    /// The job that the stage was first submitted for.
    pub job_id: Option<i32>,
    /// The application.
    pub app_id: Option<String>,
    /// Attempt of the application, where the cluster manager has such.
    pub app_attempt_id: Option<String>,
    /// `JobArtifactState.uuid` of the task's artifacts.
    pub artifact_uuid: Option<String>,
    /// The `Partition`.
    pub partition: NodeId,
    /// The `Broadcast[Array[Byte]]` whose value is the stage's binary.
    pub task_binary: NodeId,
}

impl TaskObject {
    /// Looks into the bytes of [`wire::task_description::TaskDescription::serialized_task`].
    ///
    /// # Errors
    /// [`DecodeError`]
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, DecodeError> {
        let (graph, _) = Graph::parse_first(bytes, limits)?;
        let root = graph.root();
        let node = root
            .and_then(|value| value.node())
            .ok_or_else(|| DecodeError::Class("null".to_owned()))?;
        let int = |name: &'static str| {
            graph
                .field(node, name)
                .and_then(|value| graph.int(value))
                .ok_or(DecodeError::Field(name))
        };
        let int32 = |name| i32::try_from(int(name)?).map_err(|_| DecodeError::Field(name));
        let object = |name| graph.field_node(node, name).ok_or(DecodeError::Field(name));
        let option = |of: NodeId, name| {
            graph
                .field(of, name)
                .and_then(|value| graph.scala_option(value))
                .flatten()
        };
        let text = |value| graph.str(value).map(std::borrow::Cow::into_owned);
        let kind = match root.and_then(|value| graph.class_name(value)) {
            Some("org.apache.spark.scheduler.ResultTask") => TaskKind::Result {
                output_id: int32("outputId")?,
            },
            Some("org.apache.spark.scheduler.ShuffleMapTask") => TaskKind::ShuffleMap,
            other => return Err(DecodeError::Class(other.unwrap_or("null").to_owned())),
        };
        let artifact_uuid = graph
            .field_node(node, "artifacts")
            .and_then(|artifacts| option(artifacts, "state"))
            .and_then(|state| text(graph.field(state.node()?, "uuid")?));
        Ok(Self {
            kind,
            stage_id: int32("stageId")?,
            stage_attempt_id: int32("stageAttemptId")?,
            partition_id: int32("partitionId")?,
            num_partitions: int32("numPartitions")?,
            epoch: int("epoch")?,
            is_barrier: graph
                .field(node, "isBarrier")
                .and_then(|value| graph.bool(value))
                .ok_or(DecodeError::Field("isBarrier"))?,
            job_id: option(node, "jobId")
                .and_then(|value| graph.int(value))
                .and_then(|id| i32::try_from(id).ok()),
            app_id: option(node, "appId").and_then(text),
            app_attempt_id: option(node, "appAttemptId").and_then(text),
            artifact_uuid,
            partition: object("partition")?,
            task_binary: object("taskBinary")?,
            node,
            graph,
        })
    }

    /// Java stream of the stage's `TaskMetrics`, with what the driver's buffer had behind it.
    pub fn serialized_task_metrics(&self) -> Option<&[u8]> {
        let value = self.graph.field(self.node, "serializedTaskMetrics")?;
        self.graph.byte_array(value)
    }
}

/// What a stage does with a partition of its RDD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageTarget {
    /// Gives it to a function `(TaskContext, Iterator) => U` and sends what that returns.
    Function(NodeId),
    /// Writes it for this `ShuffleDependency`.
    Shuffle(NodeId),
}

/// The binary of a stage, which all its tasks share: an RDD and what to do with it.
#[derive(Debug)]
pub struct StageBinary {
    /// The stream.
    pub graph: Graph,
    /// The RDD.
    pub rdd: NodeId,
    /// What to do with it.
    pub target: StageTarget,
    judgements: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl StageBinary {
    /// Looks into the `byte[]` that is the value of the broadcast [`TaskObject::task_binary`].
    ///
    /// # Errors
    /// [`DecodeError`]
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, DecodeError> {
        let (graph, _) = Graph::parse_first(bytes, limits)?;
        let pair = graph.root().and_then(|root| graph.tuple(root));
        let Some([rdd, target]) = pair.as_deref() else {
            let class = graph.root().and_then(|root| graph.class_name(root));
            return Err(DecodeError::Class(class.unwrap_or("null").to_owned()));
        };
        let rdd = rdd.node().ok_or(DecodeError::Field("_1"))?;
        let node = target.node().ok_or(DecodeError::Field("_2"))?;
        let target = if graph.is_instance(node, "org.apache.spark.ShuffleDependency") {
            StageTarget::Shuffle(node)
        } else {
            StageTarget::Function(node)
        };
        Ok(Self {
            rdd,
            target,
            graph,
            judgements: Mutex::default(),
        })
    }

    /// What a lane made of this stage; `judge` is asked once per type.
    pub fn judged<T: Any + Send + Sync>(&self, judge: impl FnOnce(&Self) -> T) -> Arc<T> {
        let mut judgements = self.judgements.lock();
        let known = judgements
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(judge(self)));
        match Arc::clone(known).downcast() {
            Ok(known) => known,
            // The key is the type.
            Err(_) => unreachable!("a judgement of another type"),
        }
    }
}

/// A task that is ready to be judged by the lanes.
#[derive(Debug)]
pub struct DecodedTask {
    /// The task itself.
    pub task: TaskObject,
    /// Its stage.
    pub stage: Arc<StageBinary>,
}
