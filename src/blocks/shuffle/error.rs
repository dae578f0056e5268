//! Why a shuffle cannot be read or written.

use std::io;
use std::sync::Arc;

use wire::ids::BlockManagerId;

/// A block that a shuffle should have and cannot be read: `org.apache.spark.FetchFailed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchFailure {
    /// Who should have it; unknown when the driver knows of no output.
    pub address: Option<BlockManagerId>,
    /// The shuffle.
    pub shuffle_id: i32,
    /// Task id of the map task; -1 if unknown.
    pub map_id: i64,
    /// Map partition; -1 if unknown.
    pub map_index: i32,
    /// Reduce partition.
    pub reduce_id: i32,
    /// Spark's text for it.
    pub message: String,
}

impl FetchFailure {
    /// Spark's `MetadataFetchFailedException`: it is not known where the outputs are.
    pub fn metadata(shuffle_id: i32, reduce_id: i32, why: &str) -> Self {
        Self {
            address: None,
            shuffle_id,
            map_id: -1,
            map_index: -1,
            reduce_id,
            message: format!("org.apache.spark.shuffle.MetadataFetchFailedException: {why}"),
        }
    }
}

/// Why a shuffle cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShuffleError {
    /// Outputs are missing or damaged: the map stage must run again.
    #[error("{}", .0.message)]
    FetchFailed(Box<FetchFailure>),
    /// The task was told to stop, for this reason.
    #[error("{0}")]
    Killed(Arc<str>),
    /// The shuffle is of a kind that this reader does not know.
    #[error("{0}")]
    Unsupported(String),
    /// `org.apache.spark.SparkException`: the driver does not answer, or not what it should.
    #[error("{0}")]
    Spark(String),
}

impl From<FetchFailure> for ShuffleError {
    fn from(failure: FetchFailure) -> Self {
        Self::FetchFailed(Box::new(failure))
    }
}

impl ShuffleError {
    /// The error as one of reading, from which it can be got back.
    pub(super) fn into_io(self) -> io::Error {
        io::Error::other(self)
    }

    /// The error that was the reason for one of reading.
    pub fn of_io(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}
