//! Blocks that arrive as streams, spooled to files.

use super::LocalDirs;
use crate::transport::Stream;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Semaphore;
use wire::block_transfer::BlockTransferMessage as Message;
use wire::ids::BlockId;
use wire::messages::BlockReplicationMetadata;

/// Uploads that are written at a time. One that waits for its peer is not among them.
const MAX_WRITING: usize = 8;
/// Bytes of what is at hand that are written together.
const WRITE_SIZE: usize = 1 << 20;

/// A block that a peer wants to be stored here, as its message says.
#[derive(Clone, Debug)]
pub struct Upload {
    /// Which block.
    pub id: BlockId,
    /// How it shall be kept.
    pub metadata: BlockReplicationMetadata,
    /// The message that says it, type byte included: Spark's block server in the JVM reads it once more.
    pub message: Bytes,
}

impl Upload {
    /// Checks a name and metadata that a peer has sent.
    pub(super) fn new(name: &str, metadata: &[u8], message: Bytes) -> Result<Self, String> {
        let id = BlockId::parse(name).map_err(|error| error.to_string())?;
        let metadata = BlockReplicationMetadata::decode(metadata);
        let metadata = metadata.map_err(|error| error.to_string())?;
        Ok(Self {
            id,
            metadata,
            message,
        })
    }

    /// Reads the message that precedes a stream.
    pub(super) fn of_stream(message: Bytes) -> Result<Self, String> {
        match Message::read(&message) {
            Ok(Message::UploadBlockStream { block_id, metadata }) => {
                Self::new(&block_id, &metadata, message)
            }
            Ok(_) => Err("This upload is not for an executor.".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Takes uploads, and writes a bounded number at a time.
#[derive(Clone, Debug)]
pub(super) struct Uploads {
    dirs: Arc<LocalDirs>,
    writing: Arc<Semaphore>,
}

/// A file that is removed when it is dropped, if it still is where it was.
#[derive(Debug)]
pub(super) struct Spooled {
    path: PathBuf,
}

impl Spooled {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("Cannot remove {}: {error}", self.path.display());
            }
            _ => {}
        }
    }
}

impl Uploads {
    /// Spools to files in `dirs`.
    pub(super) fn new(dirs: Arc<LocalDirs>) -> Self {
        Self {
            dirs,
            writing: Arc::new(Semaphore::new(MAX_WRITING)),
        }
    }

    /// Writes a stream to a file of its own.
    ///
    /// # Errors
    /// The connection broke, or the disk is full or fails.
    pub(super) async fn spool(&self, mut data: Stream) -> io::Result<Spooled> {
        let spooled = Spooled {
            path: self.dirs.scratch(),
        };
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .open(&spooled.path)?;
        while let Some(piece) = data.next().await? {
            let mut gathered = piece.len();
            let mut pieces = vec![piece];
            // A peer that stops sends nothing that is kept in memory.
            while gathered < WRITE_SIZE
                && let Some(piece) = data.next_at_hand()
            {
                gathered += piece.len();
                pieces.push(piece);
            }
            // The semaphore is never closed.
            let _writing = self.writing.acquire().await.map_err(io::Error::other)?;
            file = tokio::task::spawn_blocking(move || write(file, &pieces))
                .await
                .map_err(io::Error::other)??;
        }
        Ok(spooled)
    }
}

fn write(mut file: File, pieces: &[Bytes]) -> io::Result<File> {
    pieces.iter().try_for_each(|piece| file.write_all(piece))?;
    Ok(file)
}
