use super::message;
use javaser::types::ScalaEnumeration;
use serde::{Deserialize, Serialize};

/// Waits for the other tasks of a barrier stage. Ask to `barrierSync`; the reply comes when the last task has asked,
/// and is a `String[]` with the messages of all tasks in the order of their partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.RequestToSync", rename_all = "camelCase")]
pub struct RequestToSync {
    /// Number of tasks to wait for.
    pub num_tasks: i32,
    /// The stage.
    pub stage_id: i32,
    /// Attempt of the stage.
    pub stage_attempt_id: i32,
    /// The attempt that asks.
    pub task_attempt_id: i64,
    /// How often this attempt has waited before.
    pub barrier_epoch: i32,
    /// The attempt's partition.
    pub partition_id: i32,
    /// What it says to the others.
    pub message: String,
    /// From [`RequestToSync::request_method`].
    pub request_method: ScalaEnumeration,
}

message!(RequestToSync, "org.apache.spark.RequestToSync");

impl RequestToSync {
    /// Value of `org.apache.spark.RequestMethod`: tasks exchange messages, or only wait for each other.
    pub fn request_method(all_gather: bool) -> ScalaEnumeration {
        ScalaEnumeration::new("org.apache.spark.RequestMethod$", all_gather.into())
    }
}
