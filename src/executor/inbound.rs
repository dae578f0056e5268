//! What the driver says to the executor's endpoints, sorted for the state machine.

use bytes::Bytes;
use wire::messages::ExecutorMessage;
use wire::task_description::TaskDescription;
use wire::version::WireVersion;

use super::events::DriverCommand;

/// Name of the endpoint that takes tasks.
pub(super) const EXECUTOR: &str = "Executor";
/// Name of the block manager's endpoint. The number counts block managers in a process, of which there is one.
pub(super) const BLOCK_MANAGER: &str = "BlockManagerEndpoint1";
/// Name of the endpoint that knows the names of the others.
pub(super) const VERIFIER: &str = "endpoint-verifier";

/// A message to endpoint `Executor`.
pub(super) fn executor_message(
    content: &Bytes,
    version: &WireVersion,
    has_native_lanes: bool,
) -> DriverCommand {
    let message = match ExecutorMessage::decode(content) {
        Ok(message) => message,
        Err(error) => {
            let class = javaser::peek_class(content).unwrap_or("of unknown class");
            if class.ends_with("$LaunchTask") {
                return DriverCommand::UnreadableTask(error.to_string());
            }
            return DriverCommand::Unknown(format!("{class} ({error})"));
        }
    };
    match message {
        ExecutorMessage::LaunchTask(launch) => launch_task(&launch.data, version, has_native_lanes),
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
        ExecutorMessage::TaskThreadDump(dump) => DriverCommand::TaskThreadDump {
            task_id: dump.task_id,
        },
        ExecutorMessage::Unknown { class } => DriverCommand::Unknown(class),
    }
}

fn launch_task(data: &Bytes, version: &WireVersion, has_native_lanes: bool) -> DriverCommand {
    match TaskDescription::read(data, version) {
        Ok(description) => DriverCommand::LaunchTask {
            delegated: (!has_native_lanes).then(|| no_lane_for(&description.serialized_task)),
            description: Box::new(description),
        },
        Err(error) => DriverCommand::UnreadableTask(error.to_string()),
    }
}

/// Why a task is delegated of which no more is known than its class.
pub(super) fn no_lane_for(serialized_task: &[u8]) -> String {
    let class = javaser::peek_class(serialized_task).unwrap_or("a task of unknown class");
    let kind = class.rsplit('.').next().unwrap_or(class);
    format!("no native lane takes {kind}")
}
