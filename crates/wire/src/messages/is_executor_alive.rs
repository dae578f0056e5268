use super::message;
use serde::{Deserialize, Serialize};

/// Asks whether an executor is still known. Ask to `BlockManagerMaster`; the reply is a Boolean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockManagerMessages$IsExecutorAlive",
    rename_all = "camelCase"
)]
pub struct IsExecutorAlive {
    /// Which.
    pub executor_id: String,
}

message!(
    IsExecutorAlive,
    "org.apache.spark.storage.BlockManagerMessages$IsExecutorAlive"
);
