//! Why a native function did not give what it should.

/// Why a library cannot be used, or a call of one of its functions failed. The message names both.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    /// It has a bug, or does not keep to the interface.
    #[error("{0}")]
    Failed(String),
    /// It does not work with these values, or has no memory.
    #[error("{0}")]
    Refused(String),
    /// It noticed that the task was cancelled.
    #[error("{0} noticed that its task was cancelled")]
    Cancelled(String),
    /// Its process ended, with whatever else was in it. What is called again may end another.
    #[error("{0}")]
    Crashed(String),
    /// It does not take the arguments that it was bound to.
    #[error("{0} does not take these arguments")]
    NotApplicable(String),
}

impl FunctionError {
    /// A failure of what `of` names.
    pub(super) fn of(of: impl std::fmt::Display, what: impl std::fmt::Display) -> Self {
        Self::Failed(format!("{of} {what}"))
    }
}
