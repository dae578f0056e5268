//! Blocks: where their files are, and the server that other executors read them from.

pub mod broadcast;
pub mod checksum;
pub mod codec;
pub mod crypto;
mod env;
pub mod fetch;
pub mod kryo;
mod local_dirs;
pub mod master;
pub mod metrics;
mod open_outputs;
mod patience;
mod plane;
pub mod serializer_manager;
mod server;
pub mod shuffle;
mod shuffle_files;
mod shuffle_index;
mod shuffle_service;
pub mod store;
mod streams;
mod uploads;

pub use env::BlockEnv;
pub use local_dirs::{LocalDirs, NoLocalDir};
pub use plane::BlockPlane;
pub use server::{BindError, BlockServer};
pub use shuffle_files::ShuffleFiles;

use crate::transport::{Answer, Body};
use bytes::Bytes;
use std::path::PathBuf;

/// Blocks that are not shuffle files of this process.
pub trait BlockSource: Send + Sync + 'static {
    /// The block of that name, or why there is none.
    fn local_block(&self, name: String) -> Answer<Result<Body, String>>;

    /// Takes an `UploadBlock` message, type byte included; the answer's body is the result.
    fn upload(&self, body: Bytes) -> Answer<Result<Bytes, String>>;

    /// Takes a block whose data are in `file`; `header` is an `UploadBlockStream` message, type byte included. The file may be
    /// moved away; what is left of it when the answer is there is removed.
    fn upload_stream(&self, header: Bytes, file: PathBuf) -> Answer<Result<Bytes, String>>;
}
