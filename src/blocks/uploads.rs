//! Blocks that arrive as streams, spooled to files.

use super::LocalDirs;
use crate::transport::Stream;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Uploads that are written at a time; more wait, and their connections with them.
const MAX_UPLOADS: usize = 8;
/// Bytes gathered before they are written.
const WRITE_SIZE: usize = 1 << 20;

/// Takes uploads, a bounded number at a time.
#[derive(Clone, Debug)]
pub(super) struct Uploads {
    dirs: Arc<LocalDirs>,
    running: Arc<Semaphore>,
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
            running: Arc::new(Semaphore::new(MAX_UPLOADS)),
        }
    }

    /// Writes a stream to a file of its own.
    ///
    /// # Errors
    /// The connection broke, or the disk is full or fails.
    pub(super) async fn spool(&self, mut data: Stream) -> io::Result<Spooled> {
        // The semaphore is never closed.
        let _running = self.running.acquire().await.map_err(io::Error::other)?;
        let spooled = Spooled {
            path: self.dirs.scratch(),
        };
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .open(&spooled.path)?;
        loop {
            let mut pieces = Vec::new();
            let mut gathered = 0;
            while gathered < WRITE_SIZE {
                let Some(piece) = data.next().await? else {
                    break;
                };
                gathered += piece.len();
                pieces.push(piece);
            }
            if pieces.is_empty() {
                return Ok(spooled);
            }
            file = tokio::task::spawn_blocking(move || write(file, &pieces))
                .await
                .map_err(io::Error::other)??;
        }
    }
}

fn write(mut file: File, pieces: &[Bytes]) -> io::Result<File> {
    pieces.iter().try_for_each(|piece| file.write_all(piece))?;
    Ok(file)
}
