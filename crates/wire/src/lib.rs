//! Spark's frames, RPC envelopes, ids and typed control messages.
//!
//! Everything here turns bytes into plain structs and back. There are no sockets, clocks or threads in
//! this crate, and no table of Spark versions: what differs between versions is learned from the classes of
//! the distribution ([`javaser::Catalog`]), summarised in [`WireVersion`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`frame`] | transport frames |
//! | [`block_transfer`] | requests and answers of block servers |
//! | [`envelope`] | the header that precedes each RPC message: sender, receiver, endpoint name |
//! | [`ids`] | block ids, block manager ids, storage levels, task states |
//! | [`messages`] | one file per Spark message, as Java object streams |
//! | [`task_description`] | the task as `LaunchTask` carries it |
//! | [`json`] | all of it as JSON, for people |
//! | [`printable`] | texts of strangers as they may be shown to people |
//! | [`map_status`] | where a map task's output is and how large its blocks are |
//! | [`map_status_rules`] | how exact sizes become such a status |
#![forbid(unsafe_code)]

pub mod block_transfer;
pub mod codec;
pub mod envelope;
mod error;
pub mod frame;
pub mod ids;
pub mod json;
pub mod map_status;
pub mod map_status_rules;
pub mod messages;
pub mod printable;
pub mod task_description;
#[cfg(test)]
mod test_vectors;
pub mod version;

pub use error::WireError;
pub use version::WireVersion;
