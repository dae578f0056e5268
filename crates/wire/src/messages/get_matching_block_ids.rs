use super::message;
use javaser::types::Raw;
use serde::{Deserialize, Serialize};

/// Asks which of the executor's blocks a filter accepts. Ask to `BlockManagerEndpoint1`; the
/// reply is a `Seq[BlockId]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$GetMatchingBlockIds",
    rename_all = "camelCase"
)]
pub struct GetMatchingBlockIds {
    /// A Scala closure of a block id, which only a JVM can run.
    pub filter: Raw,
    /// Meant for the driver: whether it shall ask the executors.
    pub ask_storage_endpoints: bool,
}

message!(
    GetMatchingBlockIds,
    "org.apache.spark.storage.BlockManagerMessages$GetMatchingBlockIds"
);
