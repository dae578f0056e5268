use crate::ids::{BlockId, BlockManagerId};

/// Asks the executor to copy a block to others. Ask to `BlockManagerEndpoint1`; the reply is a
/// Boolean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicateBlock {
    /// Which.
    pub block_id: BlockId,
    /// Who has it already.
    pub replicas: Vec<BlockManagerId>,
    /// How many copies there shall be.
    pub max_replicas: i32,
}
