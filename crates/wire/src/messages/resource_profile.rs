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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Java", into = "Java")]
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

/// The two classes of profiles. What the driver has computed from a profile so far is not kept: every
/// process computes it again.
#[derive(Serialize, Deserialize)]
enum Java {
    #[serde(rename = "org.apache.spark.resource.ResourceProfile")]
    Whole(Fields),
    #[serde(rename = "org.apache.spark.resource.TaskResourceProfile")]
    TaskOnly(Fields),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    #[serde(rename = "_id")]
    id: i32,
    executor_resources: IndexMap<String, ExecutorResourceRequest>,
    task_resources: IndexMap<String, TaskResourceRequest>,
    #[serde(rename = "_coresLimitKnown", skip_deserializing)]
    cores_limit_known: bool,
    #[serde(rename = "_executorResourceSlotsPerAddr", skip_deserializing)]
    executor_resource_slots_per_addr: Option<i32>,
    #[serde(rename = "_limitingResource", skip_deserializing)]
    limiting_resource: Option<String>,
    #[serde(rename = "_maxTasksPerExecutor", skip_deserializing)]
    max_tasks_per_executor: Option<i32>,
}

impl From<Java> for ResourceProfile {
    fn from(java: Java) -> Self {
        let (fields, task_only) = match java {
            Java::Whole(fields) => (fields, false),
            Java::TaskOnly(fields) => (fields, true),
        };
        let Fields {
            id,
            executor_resources,
            task_resources,
            ..
        } = fields;
        Self {
            id,
            executor_resources,
            task_resources,
            task_only,
        }
    }
}

impl From<ResourceProfile> for Java {
    fn from(profile: ResourceProfile) -> Self {
        let ResourceProfile {
            id,
            executor_resources,
            task_resources,
            task_only,
        } = profile;
        let fields = Fields {
            id,
            executor_resources,
            task_resources,
            cores_limit_known: false,
            executor_resource_slots_per_addr: None,
            limiting_resource: None,
            max_tasks_per_executor: None,
        };
        if task_only {
            Self::TaskOnly(fields)
        } else {
            Self::Whole(fields)
        }
    }
}
