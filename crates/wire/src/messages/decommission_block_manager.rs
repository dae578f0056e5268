use super::message;
use serde::{Deserialize, Serialize};

/// Tells a block manager to take no more blocks and to move its own away. Ask to `BlockManagerEndpoint1`, which an
/// executor's backend sends to itself; the reply is a `Unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.storage.BlockManagerMessages$DecommissionBlockManager$")]
pub struct DecommissionBlockManager;

message!(
    DecommissionBlockManager,
    "org.apache.spark.storage.BlockManagerMessages$DecommissionBlockManager$"
);
