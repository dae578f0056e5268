//! What a way to run tasks without a JVM is to the executor.

use std::sync::Arc;

use javaser::arena::NodeId;
use wire::task_description::TaskDescription;

use super::{DecodedTask, TaskContext, TaskError, TaskValue};
use crate::blocks::BlockPlane;
use crate::config::{LaneName, SettingError, Settings};
use crate::files::FileSystems;
use crate::report::{Report, Verification};

/// A lane that runs tasks without a JVM.
pub trait Lane: Send + Sync {
    /// Its name.
    fn name(&self) -> LaneName;

    /// Judges a task from what it is. A stage is judged once; for a task only its partition is looked at.
    ///
    /// # Errors
    /// Why the task is delegated: one of a few texts, which are counted.
    fn accepts(
        &self,
        task: &DecodedTask,
        description: &TaskDescription,
    ) -> Result<Box<dyn AcceptedTask>, String>;

    /// The driver has removed a broadcast: what was made of it is not needed any more.
    fn broadcast_removed(&self, id: i64);

    /// Resident memory of the lane's child processes, in bytes.
    fn children_memory(&self) -> u64 {
        0
    }

    /// Counts in the executor's report what the lane and its child processes have counted since the last time. Does not
    /// wait.
    fn report_children(&self, _report: &Report) {}

    /// Holds the end of a task in the JVM against the native attempt before it; see [`Verifier`].
    fn verifier(&self) -> Option<&dyn Verifier> {
        None
    }
}

/// Attempts that are run natively and in the JVM (`spark.firesteel.verify=both`): what a lane says to the JVM's end of
/// a task. Called before the end is sent to the driver, on a thread that may wait for files.
pub trait Verifier: Send + Sync {
    /// A task has finished in the JVM; `data` are those of its status update. `None` if it was not run natively before.
    fn finished_in_jvm(&self, task_id: i64, data: &[u8]) -> Option<Verification>;

    /// A task has failed in the JVM or was killed there.
    fn failed_in_jvm(&self, task_id: i64, data: &[u8]) -> Option<Verification>;
}

/// What a lane made of a task that it accepted.
pub trait AcceptedTask: Send {
    /// Runs the task on this thread.
    ///
    /// # Errors
    /// How the attempt ended instead of finishing.
    fn run(self: Box<Self>, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError>;

    /// The accumulator of PySpark in the stage's binary that [`TaskContext::python_updates`] belongs to.
    fn accumulator(&self) -> Option<NodeId>;
}

/// The executor's parts that lanes are made of.
#[derive(Debug, Clone, Copy)]
pub struct LaneParts<'e> {
    /// Blocks, broadcasts, shuffles, memory.
    pub plane: &'e BlockPlane,
    /// Where files are read.
    pub files: &'e Arc<FileSystems>,
    /// The executor's settings.
    pub settings: &'e Settings,
}

/// Makes the native lanes of an executor.
pub type LanesOf = fn(LaneParts<'_>) -> Result<Vec<Box<dyn Lane>>, SettingError>;

/// The lanes that there are, as an executor makes them: named in one place, which the executor is started with.
#[derive(Debug, Clone, Copy)]
pub struct Assembly {
    /// Makes the native lanes that the settings allow, in the order in which they are asked.
    pub lanes: LanesOf,
    /// The JVM.
    pub jvms: &'static dyn super::jvm::Jvms,
}
