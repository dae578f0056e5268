//! What the stores need of others: the driver's block manager master, other executors, compression.

use std::io::{self, Read, Write};

use bytes::Bytes;
use wire::ids::{BlockId, BlockManagerId, StorageLevel};
use wire::messages::BlockStatus;

use crate::transport::{Answer, Body};

/// Where a block is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockLocations {
    /// Executors that have it.
    pub locations: Vec<BlockManagerId>,
    /// The most that one of them has.
    pub status: BlockStatus,
}

/// The driver's `BlockManagerMaster`.
pub trait Master: Send + Sync + 'static {
    /// `UpdateBlockInfo` about a block of this executor; false if the driver does not know this executor, which has to
    /// register again then.
    fn update_block_info(
        &self,
        id: &BlockId,
        status: BlockStatus,
        checksum: Option<i64>,
    ) -> Answer<Result<bool, String>>;

    /// `GetLocationsAndStatus`
    fn get_locations_and_status(
        &self,
        id: &BlockId,
    ) -> Answer<Result<Option<BlockLocations>, String>>;

    /// `GetPeers`: all other executors that can take blocks.
    fn get_peers(&self) -> Answer<Result<Vec<BlockManagerId>, String>>;

    /// `GetRDDBlockVisibility`
    fn is_rdd_block_visible(&self, id: &BlockId) -> Answer<Result<bool, String>>;

    /// `UpdateRDDBlockTaskInfo`: that task made the block, which becomes visible when it succeeds.
    fn update_rdd_block_task_info(&self, id: &BlockId, task_id: i64) -> Answer<Result<(), String>>;
}

/// A block of another executor, as stored there.
pub struct RemoteBlock {
    /// Number of bytes.
    pub size: u64,
    /// The bytes.
    pub reader: Box<dyn Read + Send>,
}

/// The block servers of other executors.
pub trait Peers: Send + Sync + 'static {
    /// The bytes of a block, as stored there. `size` is what the driver knows of it: a large one may go through a file.
    fn fetch(
        &self,
        from: &BlockManagerId,
        id: &BlockId,
        size: u64,
    ) -> Answer<Result<RemoteBlock, String>>;

    /// Stores a block there. `metadata` is that of `UploadBlock`.
    fn upload(
        &self,
        to: &BlockManagerId,
        id: &BlockId,
        metadata: Bytes,
        body: Body,
    ) -> Answer<Result<(), String>>;
}

/// A stream whose end has to be written.
pub trait FinishWrite: Write {
    /// Writes what is held back and the end.
    ///
    /// # Errors
    /// Those of the stream below.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Compression of blocks and encryption of files (`SerializerManager`, `CryptoStreamUtils`).
pub trait Streams: Send + Sync + 'static {
    /// Compresses what is written, if blocks of that kind are.
    ///
    /// # Errors
    /// The codec cannot be set up, or does not write its header.
    fn compress(
        &self,
        id: &BlockId,
        out: Box<dyn Write + Send>,
    ) -> io::Result<Box<dyn FinishWrite + Send>>;

    /// The reverse of [`Streams::compress`].
    ///
    /// # Errors
    /// The codec cannot be set up.
    fn decompress(
        &self,
        id: &BlockId,
        input: Box<dyn Read + Send>,
    ) -> io::Result<Box<dyn Read + Send>>;

    /// Whether files of blocks are encrypted.
    fn encrypts(&self) -> bool;

    /// Encrypts what is written, if `spark.io.encryption.enabled`.
    ///
    /// # Errors
    /// The header cannot be written.
    fn encrypt(&self, out: Box<dyn Write + Send>) -> io::Result<Box<dyn Write + Send>>;

    /// The reverse of [`Streams::encrypt`].
    ///
    /// # Errors
    /// The header cannot be read.
    fn decrypt(&self, input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>>;
}

/// A report that a block is gone: sizes are those that it had.
pub(super) fn removed(status: BlockStatus) -> BlockStatus {
    BlockStatus {
        storage_level: StorageLevel::NONE,
        ..status
    }
}
