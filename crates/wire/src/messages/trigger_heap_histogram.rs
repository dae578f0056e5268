use super::message;
use serde::{Deserialize, Serialize};

/// Asks for a histogram of the Java heap. Ask to `BlockManagerEndpoint1`; the reply is a
/// `String[]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.storage.BlockManagerMessages$TriggerHeapHistogram$")]
pub struct TriggerHeapHistogram;

message!(
    TriggerHeapHistogram,
    "org.apache.spark.storage.BlockManagerMessages$TriggerHeapHistogram$"
);
