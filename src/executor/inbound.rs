//! What the driver says to the executor's endpoints, sorted for the state machine.

use bytes::Bytes;
use wire::messages::{ExecutorMessage, StorageEndpointMessage};
use wire::task_description::TaskDescription;
use wire::version::WireVersion;

use super::events::{DriverCommand, Reply, TaskInfo};
use crate::lanes::Lane;

/// Name of the endpoint that takes tasks.
pub(super) const EXECUTOR: &str = "Executor";
/// Name of the block manager's endpoint. The number counts block managers in a process, of which there is one.
pub(super) const BLOCK_MANAGER: &str = "BlockManagerEndpoint1";
/// Name of the endpoint that knows the names of the others.
pub(super) const VERIFIER: &str = "endpoint-verifier";

/// A message to endpoint `Executor` and, for `LaunchTask`, its task description.
pub(super) fn executor_message(
    content: &Bytes,
    version: &WireVersion,
) -> (DriverCommand, Option<TaskDescription>) {
    let message = match ExecutorMessage::decode(content) {
        Ok(message) => message,
        Err(error) => {
            let class = javaser::peek_class(content).unwrap_or("of unknown class");
            if class.ends_with("$LaunchTask") {
                return (DriverCommand::UnreadableTask(error.to_string()), None);
            }
            return (DriverCommand::Unknown(format!("{class} ({error})")), None);
        }
    };
    let command = match message {
        ExecutorMessage::LaunchTask(launch) => return launch_task(&launch.data, version),
        ExecutorMessage::KillTask(kill) => DriverCommand::KillTask {
            task_id: kill.task_id,
            reason: kill.reason,
        },
        ExecutorMessage::StopExecutor => DriverCommand::StopExecutor,
        ExecutorMessage::DecommissionExecutor => DriverCommand::Decommission,
        ExecutorMessage::UpdateDelegationTokens(_) => DriverCommand::UpdateDelegationTokens,
        ExecutorMessage::UpdateExecutorLogLevel(update) => {
            DriverCommand::UpdateLogLevel(update.log_level)
        }
        ExecutorMessage::TaskThreadDump(_) => DriverCommand::TaskThreadDump,
        ExecutorMessage::Unknown { class } => DriverCommand::Unknown(class),
    };
    (command, None)
}

fn launch_task(data: &Bytes, version: &WireVersion) -> (DriverCommand, Option<TaskDescription>) {
    match TaskDescription::read(data, version) {
        Ok(description) => {
            let task = TaskInfo {
                task_id: description.task_id,
                name: description.name.clone(),
            };
            let (lane, reason) = choose_lane(&description);
            (
                DriverCommand::LaunchTask { task, lane, reason },
                Some(description),
            )
        }
        Err(error) => (DriverCommand::UnreadableTask(error.to_string()), None),
    }
}

/// The lane that runs a task, and why if it is the jvm lane. The choice is made once, from what the task is.
fn choose_lane(task: &TaskDescription) -> (Lane, String) {
    let class = javaser::peek_class(&task.serialized_task).unwrap_or("a task of unknown class");
    let kind = class.rsplit('.').next().unwrap_or(class);
    (Lane::Jvm, format!("no native lane takes {kind}"))
}

/// The reply to a message to the block manager's endpoint that is right while no JVM runs, and so no lane holds a block.
pub(super) fn storage_reply(content: &Bytes) -> Reply {
    match StorageEndpointMessage::decode(content) {
        Ok(message) => {
            match message {
                StorageEndpointMessage::RemoveRdd(_)
                | StorageEndpointMessage::RemoveBroadcast(_) => Reply::Zero,
                StorageEndpointMessage::RemoveBlock(_)
                | StorageEndpointMessage::RemoveShuffle(_) => Reply::Boolean(true),
                // Spark, too, has nothing to object when the block is not there.
                StorageEndpointMessage::ReplicateBlock(_) => Reply::Boolean(true),
                StorageEndpointMessage::GetBlockStatus(_) => Reply::None,
                StorageEndpointMessage::GetMatchingBlockIds(_) => Reply::EmptySeq,
                StorageEndpointMessage::MarkRddBlockAsVisible(_) => Reply::Unit,
                StorageEndpointMessage::TriggerThreadDump => Reply::NoThreads,
                StorageEndpointMessage::TriggerHeapHistogram => Reply::NoStrings,
                StorageEndpointMessage::Unknown { .. } => Reply::NoSuchEndpoint,
            }
        }
        Err(_) => Reply::NoSuchEndpoint,
    }
}
