use super::message;
use serde::{Deserialize, Serialize};

/// Asks whether an endpoint exists. Ask to `endpoint-verifier`; the reply is a Boolean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.rpc.netty.RpcEndpointVerifier$CheckExistence",
    rename_all = "camelCase"
)]
pub struct CheckExistence {
    /// The endpoint.
    pub name: String,
}

message!(
    CheckExistence,
    "org.apache.spark.rpc.netty.RpcEndpointVerifier$CheckExistence"
);
