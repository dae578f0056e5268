//! Everything that a driver sends to the endpoints of an executor.

use super::java::class_of;
use super::{DecommissionExecutor, StopExecutor, TriggerHeapHistogram, TriggerThreadDump};
use super::{
    GetBlockStatus, GetMatchingBlockIds, KillTask, LaunchTask, MarkRddBlockAsVisible, RemoveBlock,
    RemoveBroadcast, RemoveRdd, RemoveShuffle, ReplicateBlock, TaskThreadDump,
    UpdateDelegationTokens, UpdateExecutorLogLevel,
};
use crate::WireError;

/// A message to the endpoint `Executor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutorMessage {
    /// One-way.
    LaunchTask(LaunchTask),
    /// One-way.
    KillTask(KillTask),
    /// One-way.
    StopExecutor,
    /// One-way.
    DecommissionExecutor,
    /// One-way.
    UpdateDelegationTokens(UpdateDelegationTokens),
    /// One-way.
    UpdateExecutorLogLevel(UpdateExecutorLogLevel),
    /// Ask: `Option[ThreadStackTrace]`.
    TaskThreadDump(TaskThreadDump),
    /// A message that this program does not know.
    Unknown {
        /// Its Java class.
        class: String,
    },
}

impl ExecutorMessage {
    /// Reads a Java object stream.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds no object.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        Ok(match class_of(content)? {
            LaunchTask::CLASS => Self::LaunchTask(LaunchTask::decode(content)?),
            KillTask::CLASS => Self::KillTask(KillTask::decode(content)?),
            StopExecutor::CLASS => Self::StopExecutor,
            DecommissionExecutor::CLASS => Self::DecommissionExecutor,
            UpdateDelegationTokens::CLASS => {
                Self::UpdateDelegationTokens(UpdateDelegationTokens::decode(content)?)
            }
            UpdateExecutorLogLevel::CLASS => {
                Self::UpdateExecutorLogLevel(UpdateExecutorLogLevel::decode(content)?)
            }
            TaskThreadDump::CLASS => Self::TaskThreadDump(TaskThreadDump::decode(content)?),
            class => Self::Unknown {
                class: class.to_owned(),
            },
        })
    }
}

/// A message to the block manager's endpoint, `BlockManagerEndpoint1`. All are asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageEndpointMessage {
    /// Reply: Boolean.
    RemoveBlock(RemoveBlock),
    /// Reply: Integer.
    RemoveRdd(RemoveRdd),
    /// Reply: Boolean.
    RemoveShuffle(RemoveShuffle),
    /// Reply: Integer.
    RemoveBroadcast(RemoveBroadcast),
    /// Reply: `Option[BlockStatus]`.
    GetBlockStatus(GetBlockStatus),
    /// Reply: `Seq[BlockId]`.
    GetMatchingBlockIds(GetMatchingBlockIds),
    /// Reply: Boolean.
    ReplicateBlock(ReplicateBlock),
    /// Reply: anything.
    MarkRddBlockAsVisible(MarkRddBlockAsVisible),
    /// Reply: `ThreadStackTrace[]`.
    TriggerThreadDump,
    /// Reply: `String[]`.
    TriggerHeapHistogram,
    /// A message that this program does not know.
    Unknown {
        /// Its Java class.
        class: String,
    },
}

impl StorageEndpointMessage {
    /// Reads a Java object stream.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds no object.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        Ok(match class_of(content)? {
            RemoveBlock::CLASS => Self::RemoveBlock(RemoveBlock::decode(content)?),
            RemoveRdd::CLASS => Self::RemoveRdd(RemoveRdd::decode(content)?),
            RemoveShuffle::CLASS => Self::RemoveShuffle(RemoveShuffle::decode(content)?),
            RemoveBroadcast::CLASS => Self::RemoveBroadcast(RemoveBroadcast::decode(content)?),
            GetBlockStatus::CLASS => Self::GetBlockStatus(GetBlockStatus::decode(content)?),
            GetMatchingBlockIds::CLASS => {
                Self::GetMatchingBlockIds(GetMatchingBlockIds::decode(content)?)
            }
            ReplicateBlock::CLASS => Self::ReplicateBlock(ReplicateBlock::decode(content)?),
            MarkRddBlockAsVisible::CLASS => {
                Self::MarkRddBlockAsVisible(MarkRddBlockAsVisible::decode(content)?)
            }
            TriggerThreadDump::CLASS => Self::TriggerThreadDump,
            TriggerHeapHistogram::CLASS => Self::TriggerHeapHistogram,
            class => Self::Unknown {
                class: class.to_owned(),
            },
        })
    }
}
