//! Blocks: where their files are, and the server that other executors read them from.

pub mod broadcast;
pub mod checksum;
pub mod codec;
pub mod crypto;
mod disk_wait;
mod env;
pub mod fetch;
mod file_name;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
pub mod kryo;
mod local_dirs;
pub mod master;
pub mod metrics;
mod open_outputs;
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

pub use env::{BlockEnv, DriverAsks};
use file_name::Form;
pub use file_name::{FileName, NotAFileName, ShuffleFile};
pub use local_dirs::{LocalDirs, NoLocalDir};
pub use plane::BlockPlane;
pub use server::{BindError, BlockServer};
pub use shuffle_files::ShuffleFiles;
pub use uploads::Upload;

use crate::transport::{Answer, Body};
use bytes::Bytes;
use std::io;
use std::path::PathBuf;
use wire::ids::BlockId;

/// Blocks that are not shuffle files of this process.
pub trait BlockSource: Send + Sync + 'static {
    /// Whether there may be such a block. Asked when a peer opens it, and must not wait.
    fn may_have(&self, id: &BlockId) -> bool;

    /// The block with that id, if it can be given without memory of its own.
    fn stored_block(&self, id: &BlockId) -> Option<Answer<Result<Body, String>>>;

    /// The block with that id, or why there is none. It may take memory until it is sent, so it is asked for only
    /// when there is some.
    fn local_block(&self, id: BlockId) -> Answer<Result<Body, String>>;

    /// Whether a map output of this process is columns and nothing else.
    fn lacks_rows(&self, _shuffle_id: i32, _map_id: i64) -> bool {
        false
    }

    /// Makes rows of such a map output, for a reader that takes no columns. Waits for disks.
    ///
    /// # Errors
    /// They cannot be made.
    fn make_rows(&self, _shuffle_id: i32, _map_id: i64) -> io::Result<()> {
        Ok(())
    }

    /// Somebody is going to read the files of map outputs, who takes no columns. Waits for disks.
    fn files_are_read(&self) {}

    /// Takes a block; the answer's body is the result.
    fn upload(&self, upload: Upload, data: Bytes) -> Answer<Result<Bytes, String>>;

    /// Takes a block whose data are in `file`, which may be moved away; what is left of it when the answer is there
    /// is removed.
    fn upload_stream(&self, upload: Upload, file: PathBuf) -> Answer<Result<Bytes, String>>;
}
