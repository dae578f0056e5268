use super::message;
use javaser::types::Raw;
use serde::{Deserialize, Serialize};

/// An accumulator that adds up whole numbers: `org.apache.spark.util.LongAccumulator`. All numbers of a task's metrics
/// are of this class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.util.LongAccumulator",
    rename_all = "camelCase"
)]
pub struct LongAccumulator {
    /// True only on the way from the driver; the driver expects false.
    pub at_driver_side: bool,
    /// Whose numbers these are.
    pub metadata: AccumulatorMetadata,
    /// How many numbers were added.
    #[serde(rename = "_count")]
    pub count: i64,
    /// Their sum.
    #[serde(rename = "_sum")]
    pub sum: i64,
}

message!(LongAccumulator, "org.apache.spark.util.LongAccumulator");

impl LongAccumulator {
    /// The sum of one internal metric of a task; sent without its name, as Spark does.
    pub fn of_metric(id: i64, sum: i64) -> Self {
        Self {
            at_driver_side: false,
            metadata: AccumulatorMetadata {
                count_failed_values: true,
                id,
                name: None,
            },
            count: 1,
            sum,
        }
    }
}

/// Name and number of an accumulator: `org.apache.spark.util.AccumulatorMetadata`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.util.AccumulatorMetadata",
    rename_all = "camelCase"
)]
pub struct AccumulatorMetadata {
    /// Whether attempts that fail count, too.
    pub count_failed_values: bool,
    /// Its number in the application.
    pub id: i64,
    /// Its name, for the UI.
    pub name: Option<String>,
}

/// An accumulator of a class that matters to the driver only, or one of a task's own numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Accumulator {
    /// A sum.
    Long(LongAccumulator),
    /// Any other, as a stream of its own.
    Raw(Raw),
}

/// What the driver's UI and event log show of an accumulator of a failed task:
/// `org.apache.spark.scheduler.AccumulableInfo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.AccumulableInfo",
    rename_all = "camelCase"
)]
pub struct AccumulableInfo {
    /// The accumulator's number.
    pub id: i64,
    /// Its name.
    pub name: Option<String>,
    /// What this attempt added.
    pub update: Option<i64>,
    /// The driver's total, which an executor does not know.
    pub value: Option<i64>,
    /// Whether it is one of Spark's own.
    pub internal: bool,
    /// Whether attempts that fail count, too.
    pub count_failed_values: bool,
    /// More for SQL metrics.
    pub metadata: Option<String>,
}

message!(
    AccumulableInfo,
    "org.apache.spark.scheduler.AccumulableInfo"
);
