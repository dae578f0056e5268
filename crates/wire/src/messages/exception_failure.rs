use super::message;
use javaser::types::{Raw, StackTraceElement};
use serde::{Deserialize, Serialize};

/// Why a task attempt failed: `org.apache.spark.ExceptionFailure`, the `data` of a
/// [`StatusUpdate`](super::StatusUpdate) with state `FAILED`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.ExceptionFailure", rename_all = "camelCase")]
pub struct ExceptionFailure {
    /// Class of the exception.
    pub class_name: String,
    /// Its message.
    pub description: Option<String>,
    /// Where it was thrown, innermost call first.
    pub stack_trace: Vec<StackTraceElement>,
    /// The text that the driver shows: exception, calls, causes.
    pub full_stack_trace: Option<String>,
    /// The exception itself (`ThrowableSerializationWrapper`), if a JVM threw it.
    pub exception_wrapper: Option<Raw>,
    /// `AccumulableInfo`s.
    pub accum_updates: Vec<Raw>,
    /// Accumulators.
    pub accums: Vec<Raw>,
    /// Peaks of executor metrics during the task.
    pub metric_peaks: Vec<i64>,
}

message!(ExceptionFailure, "org.apache.spark.ExceptionFailure");

impl ExceptionFailure {
    /// A failure that no JVM knows of: without exception object, accumulators and peaks.
    pub fn new(
        class_name: &str,
        description: &str,
        stack_trace: Vec<StackTraceElement>,
        full_stack_trace: &str,
    ) -> Self {
        Self {
            class_name: class_name.to_owned(),
            description: Some(description.to_owned()),
            stack_trace,
            full_stack_trace: Some(full_stack_trace.to_owned()),
            exception_wrapper: None,
            accum_updates: Vec::new(),
            accums: Vec::new(),
            metric_peaks: Vec::new(),
        }
    }
}
