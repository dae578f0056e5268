//! Why a broadcast cannot be read.

use std::fmt::Display;
use std::io;
use std::sync::Arc;

/// Why a broadcast cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BroadcastError {
    /// What Spark has an exception of its own for (`SparkException`), such as a piece that is nowhere or damaged; its
    /// text.
    #[error("{0}")]
    Spark(String),
    /// A disk fails, or the pieces do not make a value.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The task was told to stop meanwhile, for this reason.
    #[error("{0}")]
    Killed(Arc<str>),
}

impl BroadcastError {
    pub(super) fn spark(why: impl Display) -> Self {
        Self::Spark(why.to_string())
    }
}
