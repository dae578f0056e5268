use super::Throwable;

/// The reply to an ask whose handler failed: `org.apache.spark.rpc.netty.RpcFailure`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcFailure {
    /// What the asker's future fails with.
    pub error: Throwable,
}
