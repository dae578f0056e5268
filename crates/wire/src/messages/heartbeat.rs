use crate::ids::BlockManagerId;

/// Says that the executor lives. Ask to `HeartbeatReceiver`; the reply is a
/// [`HeartbeatResponse`](super::HeartbeatResponse).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// Who.
    pub executor_id: String,
    /// Its block manager, so that the driver can say that it has forgotten it.
    pub block_manager_id: BlockManagerId,
    /// Peaks of the executor's metrics by stage and stage attempt, in the order of
    /// [`EXECUTOR_METRICS`](crate::version::EXECUTOR_METRICS).
    pub executor_updates: Vec<((i32, i32), Vec<i64>)>,
}
