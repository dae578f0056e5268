use super::message;
use crate::ids::BlockManagerId;
use indexmap::IndexMap;
use javaser::types::Raw;
use serde::{Deserialize, Serialize};

/// Says that the executor lives. Ask to `HeartbeatReceiver`; the reply is a
/// [`HeartbeatResponse`](super::HeartbeatResponse).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.Heartbeat", rename_all = "camelCase")]
pub struct Heartbeat {
    /// Who.
    pub executor_id: String,
    /// Its block manager, so that the driver can say that it has forgotten it.
    pub block_manager_id: BlockManagerId,
    /// Accumulators of running tasks: each a `Tuple2` of the task attempt id and a sequence of
    /// accumulators, whose classes are the driver's business.
    pub accum_updates: Vec<Raw>,
    /// Peaks of the executor's metrics by stage and attempt.
    pub executor_updates: IndexMap<StageAttempt, ExecutorMetrics>,
}

message!(Heartbeat, "org.apache.spark.Heartbeat");

/// A stage and the number of its attempt: a `Tuple2[Int, Int]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(i32, i32)", into = "IntPair")]
pub struct StageAttempt {
    /// The stage.
    pub stage_id: i32,
    /// Attempts of the stage before this one.
    pub attempt: i32,
}

/// `org.apache.spark.executor.ExecutorMetrics`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.executor.ExecutorMetrics")]
pub struct ExecutorMetrics {
    /// Values in the order of [`EXECUTOR_METRICS`](crate::version::EXECUTOR_METRICS), as many as
    /// [`WireVersion::executor_metrics`](crate::WireVersion::executor_metrics) says.
    pub metrics: Vec<i64>,
}

impl From<(i32, i32)> for StageAttempt {
    fn from((stage_id, attempt): (i32, i32)) -> Self {
        Self { stage_id, attempt }
    }
}

/// The form the Scala compiler gives a pair of ints: the fields of the general pair stay null.
#[derive(Serialize)]
#[serde(rename = "scala.Tuple2$mcII$sp")]
struct IntPair {
    #[serde(rename = "_1")]
    first_boxed: Option<i32>,
    #[serde(rename = "_2")]
    second_boxed: Option<i32>,
    #[serde(rename = "_1$mcI$sp")]
    first: i32,
    #[serde(rename = "_2$mcI$sp")]
    second: i32,
}

impl From<StageAttempt> for IntPair {
    fn from(attempt: StageAttempt) -> Self {
        Self {
            first_boxed: None,
            second_boxed: None,
            first: attempt.stage_id,
            second: attempt.attempt,
        }
    }
}
