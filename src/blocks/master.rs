//! The driver's `BlockManagerMaster`: who has which block.

use std::sync::Arc;

use bytes::Bytes;
use wire::WireError;
use wire::ids::{BlockId, BlockManagerId};
use wire::messages::{
    BlockLocationsAndStatus, BlockStatus, GetLocations, GetLocationsAndStatus,
    GetLocationsMultipleBlockIds, GetPeers, GetRddBlockVisibility, GetReplicateInfoForRddBlocks,
    GetSealedChecksum, IsExecutorAlive, ReplicateBlock, RpcFailure, UpdateBlockInfo,
    UpdateRddBlockTaskInfo, reply,
};

use super::BlockEnv;
use crate::transport::AskError;

const ENDPOINT: &str = "BlockManagerMaster";

/// Why the master did not answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MasterError {
    /// The driver could not be asked, or did not answer in `spark.rpc.askTimeout`.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The message cannot be written, or the answer not be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The driver's answer is an exception: class and message.
    #[error("{0}")]
    Refused(String),
}

/// Asks the master.
#[derive(Clone, Debug)]
pub struct BlockManagerMaster {
    env: Arc<BlockEnv>,
}

impl BlockManagerMaster {
    /// Asks the driver of `env`, in the name of its executor.
    pub fn new(env: Arc<BlockEnv>) -> Self {
        Self { env }
    }

    /// `GetLocations`: who has a block.
    ///
    /// # Errors
    /// [`MasterError`], as all others.
    pub async fn get_locations(
        &self,
        block_id: &BlockId,
    ) -> Result<Vec<BlockManagerId>, MasterError> {
        let block_id = block_id.clone();
        let message = GetLocations { block_id }.encode(&self.env.catalog)?;
        self.ask(message, reply::read_block_manager_ids).await
    }

    /// `GetLocationsMultipleBlockIds`: who has each of several blocks, in their order.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn get_locations_of_all(
        &self,
        block_ids: Vec<BlockId>,
    ) -> Result<Vec<Vec<BlockManagerId>>, MasterError> {
        let message = GetLocationsMultipleBlockIds { block_ids }.encode(&self.env.catalog)?;
        self.ask(message, reply::read_block_manager_ids_by_block)
            .await
    }

    /// `GetLocationsAndStatus`: who has a block, how large it is, and where its file is if that is on this host.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn get_locations_and_status(
        &self,
        block_id: &BlockId,
    ) -> Result<Option<BlockLocationsAndStatus>, MasterError> {
        let message = GetLocationsAndStatus {
            block_id: block_id.clone(),
            requester_host: self.env.block_manager_id.host.clone(),
        };
        let message = message.encode(&self.env.catalog)?;
        self.ask(message, reply::read_block_locations).await
    }

    /// `GetPeers`: all other executors that can take blocks.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn get_peers(&self) -> Result<Vec<BlockManagerId>, MasterError> {
        let block_manager_id = self.env.block_manager_id.clone();
        let message = GetPeers { block_manager_id }.encode(&self.env.catalog)?;
        self.ask(message, reply::read_block_manager_ids).await
    }

    /// `UpdateBlockInfo` about a block of this executor; false if the driver does not know this executor, which has to
    /// register again then.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn update_block_info(
        &self,
        block_id: &BlockId,
        status: BlockStatus,
        checksum: Option<i64>,
    ) -> Result<bool, MasterError> {
        let message = UpdateBlockInfo {
            block_manager_id: self.env.block_manager_id.clone(),
            block_id: block_id.clone(),
            storage_level: status.storage_level,
            mem_size: status.mem_size,
            disk_size: status.disk_size,
            checksum,
        };
        let message = message.encode(&self.env.catalog, &self.env.version)?;
        self.ask(message, reply::read_boolean).await
    }

    /// `GetRDDBlockVisibility`: whether others may read an RDD block.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn is_rdd_block_visible(&self, block_id: &BlockId) -> Result<bool, MasterError> {
        let block_id = block_id.clone();
        let message = GetRddBlockVisibility { block_id }.encode(&self.env.catalog)?;
        self.ask(message, reply::read_boolean).await
    }

    /// `UpdateRDDBlockTaskInfo`: that task made the block, which becomes visible when it succeeds.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn update_rdd_block_task_info(
        &self,
        block_id: &BlockId,
        task_id: i64,
    ) -> Result<(), MasterError> {
        let block_id = block_id.clone();
        let message = UpdateRddBlockTaskInfo { block_id, task_id }.encode(&self.env.catalog)?;
        self.ask(message, reply::read_anything).await
    }

    /// `GetReplicateInfoForRDDBlocks`: the RDD blocks of this executor that have to be copied before it goes.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn get_replicate_info_for_rdd_blocks(
        &self,
    ) -> Result<Vec<ReplicateBlock>, MasterError> {
        let block_manager_id = self.env.block_manager_id.clone();
        let message =
            GetReplicateInfoForRddBlocks { block_manager_id }.encode(&self.env.catalog)?;
        self.ask(message, reply::read_replicate_blocks).await
    }

    /// `GetSealedChecksum`: the checksum that an RDD block must have, if the driver insists on one. Before Spark 4.3
    /// there is none.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn get_sealed_checksum(
        &self,
        block_id: &BlockId,
    ) -> Result<Option<i64>, MasterError> {
        if !self.env.version.block_info_checksum {
            return Ok(None);
        }
        let block_id = block_id.clone();
        let message = GetSealedChecksum { block_id }.encode(&self.env.catalog)?;
        self.ask(message, reply::read_optional_long).await
    }

    /// `IsExecutorAlive`: whether the driver still knows that executor.
    ///
    /// # Errors
    /// [`MasterError`]
    pub async fn is_executor_alive(&self, executor_id: &str) -> Result<bool, MasterError> {
        let executor_id = executor_id.to_owned();
        let message = IsExecutorAlive { executor_id }.encode(&self.env.catalog)?;
        self.ask(message, reply::read_boolean).await
    }

    async fn ask<T>(
        &self,
        message: Vec<u8>,
        read: impl FnOnce(&[u8]) -> Result<T, WireError>,
    ) -> Result<T, MasterError> {
        let env = &self.env;
        let asked = env.driver.ask(ENDPOINT, message.into(), env.ask_timeout);
        answer(asked.await?, read)
    }
}

/// The value of an answer, or the exception that it is instead.
fn answer<T>(
    content: Bytes,
    read: impl FnOnce(&[u8]) -> Result<T, WireError>,
) -> Result<T, MasterError> {
    read(&content).map_err(|error| match RpcFailure::decode(&content) {
        Ok(RpcFailure { error }) => MasterError::Refused(match error.message {
            Some(message) => format!("{}: {message}", error.class),
            None => error.class,
        }),
        Err(_) => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of JVMs, as `tools/WireVectors.java` recorded them.
    fn recorded(name: &str) -> Vec<u8> {
        let path = testkit::fixtures().join(format!("wire/{}.jsonl", testkit::NEWEST));
        let text = std::fs::read_to_string(path).unwrap();
        let found = text.lines().find_map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            (object["name"] == name).then(|| object["hex"].as_str().unwrap().to_owned())
        });
        testkit::from_hex(&found.unwrap())
    }

    #[test]
    fn answers_are_values_or_exceptions() {
        let yes = recorded("reply/Boolean");
        assert_eq!(answer(yes.clone().into(), reply::read_boolean), Ok(true));
        assert_eq!(answer(yes.into(), reply::read_anything), Ok(()));
        let none = Bytes::from(recorded("reply/None"));
        assert_eq!(answer(none.clone(), reply::read_block_locations), Ok(None));
        assert_eq!(answer(none, reply::read_optional_long), Ok(None));
        let nil = Bytes::from(recorded("reply/Nil"));
        assert_eq!(answer(nil, reply::read_block_manager_ids), Ok(Vec::new()));
    }

    #[test]
    fn nonsense_is_no_answer() {
        let error = answer(Bytes::from_static(b"?"), reply::read_boolean).unwrap_err();
        assert!(matches!(error, MasterError::Wire(_)), "{error}");
    }
}
