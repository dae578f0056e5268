use super::message;
use serde::{Deserialize, Serialize};

/// Asks for the stacks of all threads. Ask to `BlockManagerEndpoint1`; the reply is a
/// `ThreadStackTrace[]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.storage.BlockManagerMessages$TriggerThreadDump$")]
pub struct TriggerThreadDump;

message!(
    TriggerThreadDump,
    "org.apache.spark.storage.BlockManagerMessages$TriggerThreadDump$"
);
