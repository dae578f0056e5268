use std::fmt;

/// `org.apache.spark.TaskState`: the id of a value of that Scala enumeration; unknown ids survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskState(pub i32);

impl TaskState {
    /// Sent to an executor, not yet heard of.
    pub const LAUNCHING: Self = Self(0);
    /// Started by the executor.
    pub const RUNNING: Self = Self(1);
    /// Ended with a result.
    pub const FINISHED: Self = Self(2);
    /// Ended with an error.
    pub const FAILED: Self = Self(3);
    /// Ended because it was told to.
    pub const KILLED: Self = Self(4);
    /// The executor is gone.
    pub const LOST: Self = Self(5);

    /// The enumeration's module class.
    pub const ENUMERATION: &str = "org.apache.spark.TaskState$";

    /// Whether no further state can follow.
    pub fn is_finished(self) -> bool {
        matches!(
            self,
            Self::FINISHED | Self::FAILED | Self::KILLED | Self::LOST
        )
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::LAUNCHING => "LAUNCHING",
            Self::RUNNING => "RUNNING",
            Self::FINISHED => "FINISHED",
            Self::FAILED => "FAILED",
            Self::KILLED => "KILLED",
            Self::LOST => "LOST",
            Self(other) => return write!(f, "TaskState({other})"),
        })
    }
}
