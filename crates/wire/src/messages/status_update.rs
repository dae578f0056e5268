use crate::ids::TaskState;
use crate::task_description::{TaskCpus, TaskResource};
use bytes::Bytes;

/// Says how a task attempt fares. One-way to `CoarseGrainedScheduler`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdate {
    /// Who runs it.
    pub executor_id: String,
    /// The attempt.
    pub task_id: i64,
    /// How it fares.
    pub state: TaskState,
    /// Empty, or a Java object stream: the result (`FINISHED`), the reason of the failure
    /// (`FAILED`, `KILLED`).
    pub data: Bytes,
    /// Cores that the attempt occupied, as its task description said.
    pub task_cpus: TaskCpus,
    /// Custom resources that it occupied, as its task description said.
    pub resources: Vec<TaskResource>,
}
