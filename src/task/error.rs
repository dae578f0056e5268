//! How a native attempt ends when it does not finish.

use std::sync::Arc;

use bytes::Bytes;
use javaser::types::Throwable;

use crate::blocks::broadcast::BroadcastError;
use crate::blocks::shuffle::ShuffleError;
use crate::blocks::store::StoreError;
use crate::files::FileError;

pub use crate::blocks::shuffle::FetchFailure;

/// An exception as Spark's driver and UI show it: `org.apache.spark.ExceptionFailure`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskException {
    /// Java class of the exception.
    pub class_name: String,
    /// Its message.
    pub message: String,
    /// What `Utils.exceptionString` would print; made of class, message and causes if empty.
    pub full_stack_trace: String,
    /// `getCause`
    pub cause: Option<Box<Throwable>>,
}

/// Why an attempt did not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskError {
    /// The task failed as it would have in Spark.
    Exception(TaskException),
    /// Python code raised; the worker's traceback, as received.
    Python(String),
    /// The same of Python code that Spark SQL called.
    PythonUdf(String),
    /// A shuffle block cannot be read: the map stage runs again.
    FetchFailed(Box<FetchFailure>),
    /// The task was told to stop.
    Killed(Arc<str>),
    /// The driver did not agree to the commit of what the attempt has written: another attempt has committed.
    CommitDenied {
        /// The stage.
        stage_id: i32,
        /// The partition.
        partition_id: i32,
        /// The attempt, from 0.
        attempt_number: i32,
    },
    /// The task failed in Spark's own code: the `TaskFailedReason` that the JVM made of it, as a Java object stream.
    InSpark {
        /// `KILLED` in place of `FAILED`: the attempt must not commit.
        killed: bool,
        /// The reason.
        reason: Bytes,
    },
    /// This lane cannot go on, and nothing of the attempt is visible to anybody: another lane shall run it. The reason
    /// is one of a few texts.
    BailOut(String),
}

impl TaskError {
    /// An exception of class `java.io.IOException`.
    pub fn io(message: impl std::fmt::Display) -> Self {
        Self::exception("java.io.IOException", message)
    }

    /// An exception of class `org.apache.spark.SparkException`.
    pub fn spark(message: impl std::fmt::Display) -> Self {
        Self::exception("org.apache.spark.SparkException", message)
    }

    /// An exception of a Java class.
    pub fn exception(class_name: &str, message: impl std::fmt::Display) -> Self {
        Self::Exception(TaskException {
            class_name: class_name.to_owned(),
            message: message.to_string(),
            full_stack_trace: String::new(),
            cause: None,
        })
    }

    /// The same with a cause, if it is an exception.
    pub fn caused_by(mut self, cause: Throwable) -> Self {
        if let Self::Exception(exception) = &mut self {
            exception.cause = Some(Box::new(cause));
        }
        self
    }
}

impl From<std::io::Error> for TaskError {
    fn from(error: std::io::Error) -> Self {
        match (ShuffleError::of_io(&error), FileError::of_io(&error)) {
            (Some(of_shuffle), _) => of_shuffle.clone().into(),
            (_, Some(of_file)) => of_file.clone().into(),
            (None, None) => Self::io(error),
        }
    }
}

impl From<FileError> for TaskError {
    /// Another machine's file system has many ways to say no, and the JVM has Hadoop's words for them.
    fn from(error: FileError) -> Self {
        match error {
            FileError::Cancelled(reason) => Self::Killed(reason),
            error => Self::BailOut(error.reason()),
        }
    }
}

impl From<ShuffleError> for TaskError {
    fn from(error: ShuffleError) -> Self {
        match error {
            ShuffleError::FetchFailed(failure) => Self::FetchFailed(failure),
            ShuffleError::Killed(reason) => Self::Killed(reason),
            ShuffleError::Unsupported(reason) => Self::BailOut(reason),
            ShuffleError::Spark(message) => Self::spark(message),
        }
    }
}

impl From<BroadcastError> for TaskError {
    fn from(error: BroadcastError) -> Self {
        match error {
            BroadcastError::Spark(message) => Self::spark(message),
            BroadcastError::Io(error) => error.into(),
            BroadcastError::Killed(reason) => Self::Killed(reason),
        }
    }
}

impl From<StoreError> for TaskError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io(error) => error.into(),
            StoreError::Spark(message) => Self::spark(message),
            StoreError::Cancelled(reason) => Self::Killed(reason),
        }
    }
}
