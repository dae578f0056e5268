//! A file of another machine that is written.

use std::io::{self, Write};

use bytes::{Bytes, BytesMut};
use object_store::buffered::BufWriter;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Handle;

use crate::cancel::Cancellation;
use crate::files::hdfs::HdfsWriter;
use crate::files::object::without_queries;
use crate::files::{FileError, wait};

/// Bytes that are sent at a time.
const PIECE: usize = 1 << 20;

/// Longest object that a store copies by itself: S3 does not copy longer ones at once, and nothing may fail once the
/// driver has agreed to a commit.
const MAX_OBJECT: u64 = 5 << 30;

/// Who sends the bytes.
pub(super) enum Writer {
    Hdfs(HdfsWriter),
    /// Small ones are sent at the end, large ones in parts.
    Object(Box<BufWriter>),
}

impl From<HdfsWriter> for Writer {
    fn from(writer: HdfsWriter) -> Self {
        Self::Hdfs(writer)
    }
}

impl From<BufWriter> for Writer {
    fn from(writer: BufWriter) -> Self {
        Self::Object(Box::new(writer))
    }
}

/// A file of another machine that is written. One that is dropped unfinished is left to whoever removes its directory.
pub struct RemoteOutput {
    /// Until the file ends.
    writer: Option<Writer>,
    pending: BytesMut,
    length: u64,
    scheme: String,
    runtime: Handle,
    cancellation: Cancellation,
}

impl std::fmt::Debug for RemoteOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteOutput")
            .field("scheme", &self.scheme)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl RemoteOutput {
    pub(super) fn new(
        writer: Writer,
        scheme: &str,
        runtime: &Handle,
        cancellation: &Cancellation,
    ) -> Self {
        Self {
            writer: Some(writer),
            pending: BytesMut::new(),
            length: 0,
            scheme: scheme.to_owned(),
            runtime: runtime.clone(),
            cancellation: cancellation.clone(),
        }
    }

    fn send(&mut self) -> Result<(), FileError> {
        let bytes = self.pending.split().freeze();
        let writer = self.writer.as_mut();
        let writer = writer.ok_or_else(|| FileError::failed(&self.scheme, "a file that failed"))?;
        let sent = send(writer, bytes, &self.scheme);
        wait(&self.runtime, &self.cancellation, sent)
    }

    /// Ends the file, and gives its length in bytes. Blocks.
    ///
    /// # Errors
    /// What the servers say; [`FileError::Cancelled`].
    pub(super) fn finish(mut self) -> Result<u64, FileError> {
        self.send()?;
        if let Some(Writer::Object(_)) = self.writer
            && self.length > MAX_OBJECT
        {
            return Err(FileError::unsupported("an object of so many bytes"));
        }
        let writer = self.writer.as_mut();
        let writer = writer.ok_or_else(|| FileError::failed(&self.scheme, "a file that failed"))?;
        let end = async {
            match writer {
                Writer::Hdfs(writer) => writer.close().await,
                Writer::Object(writer) => {
                    let ended = writer.shutdown().await;
                    ended.map_err(|error| FileError::failed(&self.scheme, without_queries(&error)))
                }
            }
        };
        wait(&self.runtime, &self.cancellation, end)?;
        self.writer = None;
        Ok(self.length)
    }
}

async fn send(writer: &mut Writer, bytes: Bytes, scheme: &str) -> Result<(), FileError> {
    if bytes.is_empty() {
        return Ok(());
    }
    match writer {
        Writer::Hdfs(writer) => writer.write(bytes).await,
        Writer::Object(writer) => {
            let sent = writer.put(bytes).await;
            sent.map_err(|error| FileError::failed(scheme, without_queries(&error)))
        }
    }
}

impl Write for RemoteOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.pending.len() >= PIECE {
            self.send()?;
        }
        Ok(bytes.len())
    }

    /// Pieces go out when they are large enough: who writes a file flushes it often.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RemoteOutput {
    /// Parts of an object that nobody completes would stay in the store.
    fn drop(&mut self) {
        if let Some(Writer::Object(mut writer)) = self.writer.take() {
            let scheme = std::mem::take(&mut self.scheme);
            self.runtime.spawn(async move {
                if let Err(error) = writer.abort().await {
                    tracing::warn!(
                        "{scheme}: parts of an object are left: {}",
                        without_queries(&error)
                    );
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use object_store::{ObjectStore, ObjectStoreExt};
    use tokio::runtime::Runtime;

    use super::*;
    use crate::files::FilePath;
    use crate::files::object::Objects;

    fn output(runtime: &Runtime, store: &Arc<InMemory>, path: &FilePath) -> RemoteOutput {
        let objects = Objects::new(Arc::clone(store) as Arc<dyn ObjectStore>, "s3a");
        let writer = runtime.block_on(objects.create(path)).unwrap();
        let never = Cancellation::default();
        RemoteOutput::new(writer.into(), "s3a", runtime.handle(), &never)
    }

    #[test]
    fn objects_of_any_size_are_written_whole() {
        let runtime = Runtime::new().unwrap();
        let store = Arc::new(InMemory::new());
        // None, one piece, several of them, and more than goes out at once.
        for size in [0, 1, PIECE, PIECE + 1, 20 * PIECE + 7] {
            let path = FilePath::parse(&format!("s3a://b/d/{size}"));
            let bytes: Vec<u8> = (0..size).map(|at| (at * 7 + at / 251) as u8).collect();
            let mut out = output(&runtime, &store, &path);
            for piece in bytes.chunks(70_001) {
                out.write_all(piece).unwrap();
                out.flush().unwrap();
            }
            assert_eq!(out.finish().unwrap(), size as u64);
            let found = runtime.block_on(async {
                let found = store.get(&format!("d/{size}").into()).await.unwrap();
                found.bytes().await.unwrap()
            });
            assert!(found == bytes, "{size}");
        }
    }

    #[test]
    fn a_killed_task_writes_no_more() {
        let runtime = Runtime::new().unwrap();
        let store = Arc::new(InMemory::new());
        let path = FilePath::parse("s3a://b/x");
        let mut out = output(&runtime, &store, &path);
        out.write_all(b"rows").unwrap();
        out.cancellation.cancel("another attempt");
        let error = out.finish().unwrap_err();
        assert_eq!(error, FileError::Cancelled("another attempt".into()));
        let found = runtime.block_on(store.head(&"x".into()));
        assert!(found.is_err());
    }
}
