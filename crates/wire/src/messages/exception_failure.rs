use super::StackTraceElement;

/// Why a task attempt failed: `org.apache.spark.ExceptionFailure`, the `data` of a
/// [`StatusUpdate`](super::StatusUpdate) with state `FAILED`.
///
/// This is the failure of a task that Firesteel ran itself: without the exception object, which
/// only the JVM that threw it has, and without accumulator updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExceptionFailure {
    /// Class of the exception.
    pub class_name: String,
    /// Its message.
    pub description: String,
    /// Where it was thrown, innermost call first.
    pub stack_trace: Vec<StackTraceElement>,
    /// The text that the driver shows: exception, calls, causes.
    pub full_stack_trace: String,
}
