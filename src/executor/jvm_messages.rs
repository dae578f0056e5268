//! What the embedded JVM says to the driver, as far as the executor has to look into it.

use bytes::Bytes;
use wire::envelope::RequestEnvelope;
use wire::ids::TaskState;
use wire::messages::{CheckExistence, GetMapOutputStatuses, RegisterBlockManager, StatusUpdate};

use super::events::JvmMessage;
use crate::report::TaskEnd;

const COARSE_GRAINED: &str = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$";

const MAP_OUTPUT_TRACKER: &str = "MapOutputTracker";

/// Endpoints that every driver of a supported version has from its start; `endpoint-verifier` need not be asked for
/// them.
const KNOWN_ENDPOINTS: [&str; 6] = [
    "CoarseGrainedScheduler",
    "BlockManagerMaster",
    "BlockManagerMasterHeartbeat",
    MAP_OUTPUT_TRACKER,
    "OutputCommitCoordinator",
    "HeartbeatReceiver",
];

/// Sorts an envelope of the JVM. What cannot be read is [`JvmMessage::Other`]: the driver is the one to judge it.
pub(super) fn classify(envelope: &Bytes) -> JvmMessage {
    let Ok(request) = RequestEnvelope::read(envelope) else {
        return JvmMessage::Other;
    };
    let Some(class) = javaser::peek_class(&request.content) else {
        return JvmMessage::Other;
    };
    match request.endpoint.as_str() {
        "CoarseGrainedScheduler" => match class.strip_prefix(COARSE_GRAINED) {
            Some("StatusUpdate") => status_update(&request.content),
            Some("RegisterExecutor") => JvmMessage::RegisterExecutor,
            Some("LaunchedExecutor") => JvmMessage::LaunchedExecutor,
            Some("RemoveExecutor") => JvmMessage::RemoveExecutor,
            _ => JvmMessage::Other,
        },
        "BlockManagerMaster"
            if class == "org.apache.spark.storage.BlockManagerMessages$RegisterBlockManager" =>
        {
            match RegisterBlockManager::decode(&request.content) {
                Ok(message) => JvmMessage::RegisterBlockManager {
                    again: message.is_re_register,
                },
                Err(_) => JvmMessage::Other,
            }
        }
        MAP_OUTPUT_TRACKER => asked_map_outputs(&request.content),
        "HeartbeatReceiver" if class == "org.apache.spark.Heartbeat" => JvmMessage::Heartbeat,
        "endpoint-verifier" => match CheckExistence::decode(&request.content) {
            Ok(message) if KNOWN_ENDPOINTS.contains(&message.name.as_str()) => {
                JvmMessage::CheckKnownEndpoint
            }
            _ => JvmMessage::Other,
        },
        _ => JvmMessage::Other,
    }
}

/// Whoever asks where the outputs of a shuffle are is going to read them.
fn asked_map_outputs(content: &Bytes) -> JvmMessage {
    let asked = GetMapOutputStatuses::decode(content);
    JvmMessage::AskMapOutputs(asked.ok().map(|message| message.shuffle_id))
}

fn status_update(content: &Bytes) -> JvmMessage {
    match StatusUpdate::peek(content) {
        Ok((task_id, state)) => JvmMessage::StatusUpdate {
            task_id,
            end: task_end(state),
        },
        Err(_) => JvmMessage::Other,
    }
}

fn task_end(state: TaskState) -> Option<TaskEnd> {
    match state {
        TaskState::FINISHED => Some(TaskEnd::Finished),
        TaskState::FAILED | TaskState::LOST => Some(TaskEnd::Failed),
        TaskState::KILLED => Some(TaskEnd::Killed),
        _ => None,
    }
}
