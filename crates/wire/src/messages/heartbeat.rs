use super::{Accumulator, java, message};
use crate::WireError;
use crate::ids::BlockManagerId;
use indexmap::IndexMap;
use javaser::Catalog;
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

/// What a running task has counted so far, for [`Heartbeat::accum_updates`]: a `Tuple2` of its attempt id and its
/// accumulators.
///
/// # Errors
/// [`WireError::Unsupported`](crate::WireError::Unsupported) if the distribution's classes do not fit.
pub fn task_progress(
    progress: &(i64, Vec<Accumulator>),
    catalog: &Catalog,
) -> Result<Raw, WireError> {
    java::encode(progress, "scala.Tuple2", catalog).map(Raw)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::LongAccumulator;
    use crate::test_vectors::catalog;
    use javaser::Limits;
    use javaser::arena::Graph;
    use testkit::VERSIONS;

    #[test]
    fn progress_is_a_pair_of_a_long_and_a_sequence() {
        for version in VERSIONS {
            let metric = LongAccumulator::of_metric(3, 77);
            let progress = (5, vec![Accumulator::Long(metric)]);
            let raw = task_progress(&progress, catalog(version)).unwrap();
            let graph = Graph::parse(&raw.0, &Limits::default()).unwrap();
            let root = graph.root().unwrap();
            assert_eq!(graph.class_name(root), Some("scala.Tuple2"));
            let pair = graph.tuple(root).unwrap();
            assert_eq!(graph.class_name(pair[0]), Some("java.lang.Long"));
            assert_eq!(graph.int(pair[0]), Some(5));
            let updates = graph.elements(pair[1]).unwrap();
            let sum = graph.field(updates[0].node().unwrap(), "_sum");
            assert_eq!(graph.int(sum.unwrap()), Some(77));
        }
    }
}
