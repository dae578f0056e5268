use crate::envelope::RpcAddress;
use serde::{Deserialize, Serialize};

/// `org.apache.spark.rpc.netty.NettyRpcEndpointRef`: how to reach an endpoint.
///
/// The receiver binds a reference without address to the connection it arrived on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "NettyRpcEndpointRef", into = "NettyRpcEndpointRef")]
pub struct RpcEndpointRef {
    /// Name of the endpoint.
    pub name: String,
    /// Where its RPC environment listens; none for one that only has client connections, as executors do.
    pub address: Option<RpcAddress>,
    /// How long the holder of this reference waits for replies.
    pub default_ask_timeout: RpcTimeout,
}

/// `org.apache.spark.rpc.RpcTimeout`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.rpc.RpcTimeout")]
pub struct RpcTimeout {
    /// How long.
    pub duration: FiniteDuration,
    /// The setting that it comes from, for error messages.
    #[serde(rename = "timeoutProp")]
    pub timeout_prop: String,
}

/// `scala.concurrent.duration.FiniteDuration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "scala.concurrent.duration.FiniteDuration")]
pub struct FiniteDuration {
    /// How many units.
    pub length: i64,
    /// The unit.
    pub unit: TimeUnit,
}

/// `java.util.concurrent.TimeUnit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "java.util.concurrent.TimeUnit",
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
}

impl RpcEndpointRef {
    /// An endpoint of this process, reached through the connection that the reference is sent on.
    ///
    /// `ask_timeout_seconds` is the value of `spark.rpc.askTimeout`.
    pub fn client(name: &str, ask_timeout_seconds: i64) -> Self {
        Self {
            name: name.to_owned(),
            address: None,
            default_ask_timeout: RpcTimeout {
                duration: FiniteDuration {
                    length: ask_timeout_seconds,
                    unit: TimeUnit::Seconds,
                },
                timeout_prop: "spark.rpc.askTimeout".to_owned(),
            },
        }
    }
}

/// The reference as Java has it.
#[derive(Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.rpc.netty.NettyRpcEndpointRef",
    rename_all = "camelCase"
)]
struct NettyRpcEndpointRef {
    default_ask_timeout: RpcTimeout,
    endpoint_address: RpcEndpointAddress,
}

#[derive(Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.rpc.RpcEndpointAddress",
    rename_all = "camelCase"
)]
struct RpcEndpointAddress {
    name: String,
    rpc_address: Option<JavaRpcAddress>,
    to_string: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.rpc.RpcAddress")]
struct JavaRpcAddress {
    host: String,
    port: i32,
}

impl From<NettyRpcEndpointRef> for RpcEndpointRef {
    fn from(java: NettyRpcEndpointRef) -> Self {
        let address = java
            .endpoint_address
            .rpc_address
            .map(|JavaRpcAddress { host, port }| RpcAddress { host, port });
        Self {
            name: java.endpoint_address.name,
            address,
            default_ask_timeout: java.default_ask_timeout,
        }
    }
}

impl From<RpcEndpointRef> for NettyRpcEndpointRef {
    fn from(endpoint: RpcEndpointRef) -> Self {
        let RpcEndpointRef {
            name,
            address,
            default_ask_timeout,
        } = endpoint;
        let to_string = match &address {
            Some(address) => format!("spark://{name}@{address}"),
            None => format!("spark-client://{name}"),
        };
        Self {
            default_ask_timeout,
            endpoint_address: RpcEndpointAddress {
                name,
                rpc_address: address.map(|RpcAddress { host, port }| JavaRpcAddress { host, port }),
                to_string,
            },
        }
    }
}
