use super::message;
use serde::{Deserialize, Serialize};

/// Asks for an executor id, on Kubernetes. Ask to `CoarseGrainedScheduler`; the reply is a String.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.k8s.GenerateExecID",
    rename_all = "camelCase"
)]
pub struct GenerateExecId {
    /// The pod the executor runs in.
    pub pod_name: String,
}

message!(
    GenerateExecId,
    "org.apache.spark.scheduler.cluster.k8s.GenerateExecID"
);
