use super::message;
use javaser::types::Raw;
use serde::{Deserialize, Serialize};

/// Why a task attempt was killed: `org.apache.spark.TaskKilled`, the `data` of a
/// [`StatusUpdate`](super::StatusUpdate) with state `KILLED`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.TaskKilled", rename_all = "camelCase")]
pub struct TaskKilled {
    /// The reason that came with [`KillTask`](super::KillTask).
    pub reason: String,
    /// `AccumulableInfo`s.
    pub accum_updates: Vec<Raw>,
    /// Accumulators.
    pub accums: Vec<Raw>,
    /// Peaks of executor metrics during the task.
    pub metric_peaks: Vec<i64>,
}

message!(TaskKilled, "org.apache.spark.TaskKilled");

impl TaskKilled {
    /// An attempt killed before it had accumulators or peaks.
    pub fn new(reason: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            ..Self::default()
        }
    }
}
