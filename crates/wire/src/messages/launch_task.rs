use bytes::Bytes;

/// Gives the executor a task. One-way to `Executor`; acknowledged by a
/// [`StatusUpdate`](super::StatusUpdate) with state `RUNNING`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchTask {
    /// A [`TaskDescription`](crate::task_description::TaskDescription).
    pub data: Bytes,
}
