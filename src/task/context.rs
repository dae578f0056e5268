//! What a lane gets to run a task with.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use wire::messages::Accumulator;

use super::evaluator::Evaluator;
use super::metrics::TaskMetrics;
use crate::blocks::BlockEnv;
use crate::cancel::Cancellation;

/// Resources given to a task: name, then addresses.
pub type Resources = Vec<(String, Vec<String>)>;

/// One attempt of a task: who it is, what it may use, where it counts.
#[derive(Debug)]
pub struct TaskContext {
    /// The stage.
    pub stage_id: i32,
    /// Attempt of the stage.
    pub stage_attempt: i32,
    /// Number of partitions (tasks) of the stage.
    pub num_partitions: i32,
    /// The partition that this task computes.
    pub partition_id: i32,
    /// Attempt of the task, from 0.
    pub attempt_number: i32,
    /// Id of the attempt, unique in the application; the map id of its shuffle files.
    pub task_attempt_id: i64,
    /// Whether the stage is a barrier stage.
    pub is_barrier: bool,
    /// Map output epoch of the driver at launch.
    pub epoch: i64,
    /// CPUs of the task as Spark writes the number: `1`, `0.5`.
    pub cpus: String,
    /// Other resources.
    pub resources: Resources,
    /// The job's local properties.
    pub local_properties: Vec<(String, String)>,
    /// `JobArtifactSet` id, if the session has its own artifacts.
    pub job_artifact_uuid: Option<String>,
    /// Where the files of `addFile` and `addPyFile` are (`SparkFiles.getRootDirectory`).
    pub files_dir: PathBuf,
    /// Thrown when the task is killed.
    pub cancellation: Cancellation,
    /// What the attempt counts.
    pub metrics: Arc<TaskMetrics>,
    /// Pickled `(id, value)` updates of Python accumulators, in the order received.
    pub python_updates: Mutex<Vec<Vec<u8>>>,
    /// Accumulators of the stage as the attempt leaves them, sent if it finishes.
    pub accumulator_updates: Mutex<Vec<Accumulator>>,
    /// What only Spark's own code can evaluate.
    pub evaluator: Arc<dyn Evaluator>,
    /// The executor's blocks.
    pub blocks: Arc<BlockEnv>,
}

impl TaskContext {
    /// A local property.
    pub fn local_property(&self, key: &str) -> Option<&str> {
        self.local_properties
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, value)| value.as_str())
    }

    /// Fails if the task has been told to stop.
    ///
    /// # Errors
    /// [`super::TaskError::Killed`]
    pub fn check(&self) -> Result<(), super::TaskError> {
        match self.cancellation.reason() {
            None => Ok(()),
            Some(reason) => Err(super::TaskError::Killed(reason)),
        }
    }
}
