/// Why a task attempt was killed: `org.apache.spark.TaskKilled`, the `data` of a
/// [`StatusUpdate`](super::StatusUpdate) with state `KILLED`. Without accumulator updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskKilled {
    /// The reason that came with [`KillTask`](super::KillTask).
    pub reason: String,
}
