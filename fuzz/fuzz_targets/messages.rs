//! Everything that may stand in a message to an executor, or in a reply to one.
#![no_main]

use wire::ids::BlockManagerId;
use wire::map_status::{MapStatus, MergeStatus};
use wire::messages::*;

firesteel_fuzz::target!(|data: &[u8]| {
    let _ = ExecutorMessage::decode(data);
    let _ = StorageEndpointMessage::decode(data);
    let _ = SparkAppConfig::decode(data);
    let _ = HeartbeatResponse::decode(data);
    let _ = RpcFailure::decode(data);
    let _ = BlockManagerId::decode(data);
    let _ = MapStatus::decode(data);
    let _ = MergeStatus::decode(data);
    let _ = reply::read_boolean(data);
    let _ = reply::read_string(data);
    let _ = reply::read_integer(data);
    let _ = reply::read_strings(data);
    let _ = reply::read_block_status(data);
    let _ = reply::read_block_manager_ids(data);
    let _ = reply::read_block_manager_ids_by_block(data);
    let _ = reply::read_block_locations(data);
    let _ = reply::read_replicate_blocks(data);
    let _ = reply::read_optional_long(data);
    let _ = reply::read_anything(data);
    // From the embedded JVM.
    let _ = Heartbeat::decode(data);
    let _ = RegisterBlockManager::decode(data);
    let _ = UpdateBlockInfo::decode(data);
    if let (Ok(peeked), Ok(update)) = (StatusUpdate::peek(data), StatusUpdate::decode(data)) {
        assert_eq!(peeked, (update.task_id, update.state));
    }
});
