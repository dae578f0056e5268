use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// `org.apache.spark.resource.ResourceInformation`: addresses of a custom resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.resource.ResourceInformation")]
pub struct ResourceInformation {
    /// The resource, for example `gpu`.
    pub name: String,
    /// Its devices.
    pub addresses: Vec<String>,
}

/// `org.apache.spark.resource.ResourceProfile`: what executors and tasks of a stage need.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceProfile {
    /// 0 for the default profile.
    pub id: i32,
    /// What an executor gets, by resource name.
    pub executor_resources: IndexMap<String, ExecutorResourceRequest>,
    /// What a task takes, by resource name.
    pub task_resources: IndexMap<String, TaskResourceRequest>,
    /// A `TaskResourceProfile`: only the task's part counts.
    pub task_only: bool,
}

/// `org.apache.spark.resource.ExecutorResourceRequest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.resource.ExecutorResourceRequest",
    rename_all = "camelCase"
)]
pub struct ExecutorResourceRequest {
    /// `cores`, `memory`, `memoryOverhead`, `offHeap` (memory in MiB), `pyspark.memory`, or a custom resource.
    pub resource_name: String,
    /// How much.
    pub amount: i64,
    /// Script that finds the addresses of a custom resource.
    pub discovery_script: String,
    /// Vendor of a custom resource.
    pub vendor: String,
}

/// `org.apache.spark.resource.TaskResourceRequest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.resource.TaskResourceRequest",
    rename_all = "camelCase"
)]
pub struct TaskResourceRequest {
    /// `cpus` or a custom resource.
    pub resource_name: String,
    /// How much; a part of one device if below 1.
    pub amount: f64,
}
