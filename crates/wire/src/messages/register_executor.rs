use super::{ResourceInformation, RpcEndpointRef, message};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Introduces the executor. Ask to `CoarseGrainedScheduler`; the reply is `true`, or an
/// [`RpcFailure`](super::RpcFailure) for a duplicate id or an excluded node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RegisterExecutor",
    rename_all = "camelCase"
)]
pub struct RegisterExecutor {
    /// Who.
    pub executor_id: String,
    /// The endpoint that the driver sends tasks to.
    pub executor_ref: RpcEndpointRef,
    /// Host for locality and the UI.
    pub hostname: String,
    /// How many cores tasks may occupy.
    pub cores: i32,
    /// Links to logs, by name (`stdout`, `stderr`).
    pub log_urls: IndexMap<String, String>,
    /// Facts for custom log URLs, by upper-case name.
    pub attributes: IndexMap<String, String>,
    /// Custom resources, by name.
    pub resources: IndexMap<String, ResourceInformation>,
    /// The resource profile the executor was started for.
    pub resource_profile_id: i32,
}

message!(
    RegisterExecutor,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RegisterExecutor"
);
