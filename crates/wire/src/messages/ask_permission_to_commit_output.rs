use super::message;
use serde::{Deserialize, Serialize};

/// Asks whether an attempt may commit the files that it has written. Ask to `OutputCommitCoordinator`; the reply is a
/// Boolean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.AskPermissionToCommitOutput",
    rename_all = "camelCase"
)]
pub struct AskPermissionToCommitOutput {
    /// The stage.
    pub stage: i32,
    /// Attempt of the stage.
    pub stage_attempt: i32,
    /// The partition whose rows were written.
    pub partition: i32,
    /// Attempt of the task, from 0.
    pub attempt_number: i32,
}

message!(
    AskPermissionToCommitOutput,
    "org.apache.spark.scheduler.AskPermissionToCommitOutput"
);
