use super::message;
use serde::{Deserialize, Serialize};

/// The driver's reply to [`Heartbeat`](super::Heartbeat).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.HeartbeatResponse",
    rename_all = "camelCase"
)]
pub struct HeartbeatResponse {
    /// The driver has forgotten this executor's block manager: register it again and report its blocks.
    pub reregister_block_manager: bool,
}

message!(HeartbeatResponse, "org.apache.spark.HeartbeatResponse");
