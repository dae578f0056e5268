use super::message;
use javaser::types::Throwable;
use serde::{Deserialize, Serialize};

/// The reply to an ask whose handler failed: `org.apache.spark.rpc.netty.RpcFailure`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.rpc.netty.RpcFailure")]
pub struct RpcFailure {
    /// What the asker's future fails with.
    #[serde(rename = "e")]
    pub error: Throwable,
}

message!(RpcFailure, "org.apache.spark.rpc.netty.RpcFailure");
