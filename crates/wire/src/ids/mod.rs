//! The names Spark gives to things: blocks, block managers, storage levels, task states.

mod block_id;
mod block_manager_id;
mod storage_level;
mod task_state;

pub use block_id::{BlockId, UnrecognizedBlockId};
pub use block_manager_id::BlockManagerId;
pub use storage_level::StorageLevel;
pub use task_state::TaskState;
