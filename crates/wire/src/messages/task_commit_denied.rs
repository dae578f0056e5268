use super::message;
use serde::{Deserialize, Serialize};

/// Why a task attempt ended that was not allowed to commit its files: `org.apache.spark.TaskCommitDenied`, the `data`
/// of a [`StatusUpdate`](super::StatusUpdate) with state `KILLED`. It does not count as a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.TaskCommitDenied", rename_all = "camelCase")]
pub struct TaskCommitDenied {
    /// The stage, whatever its name says.
    #[serde(rename = "jobID")]
    pub job_id: i32,
    /// The partition whose rows were written.
    #[serde(rename = "partitionID")]
    pub partition_id: i32,
    /// Attempt of the task, from 0.
    pub attempt_number: i32,
}

message!(TaskCommitDenied, "org.apache.spark.TaskCommitDenied");
