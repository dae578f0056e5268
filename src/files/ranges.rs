//! Reading ranges of a file of another machine, in any order.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::path::FilePath;
use super::reader::{Chunks, Opened};
use super::{Backend, FileError, FileSystem, wait};
use crate::cancel::Cancellation;

/// Ranges that are asked for at a time.
const AT_ONCE: usize = 8;

/// A file of which ranges are read. It is opened by the first of them: that tells, too, whether the file is the one
/// that is meant.
pub struct RangeFile {
    file_system: FileSystem,
    path: FilePath,
    length: u64,
    opened: Mutex<Option<Arc<Opened>>>,
    runtime: Handle,
    cancellation: Cancellation,
}

impl std::fmt::Debug for RangeFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RangeFile")
            .field("path", &self.path)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl RangeFile {
    /// A file that is expected to have this length.
    pub(super) fn new(
        file_system: FileSystem,
        path: FilePath,
        length: u64,
        runtime: &Handle,
        cancellation: &Cancellation,
    ) -> Self {
        Self {
            file_system,
            path,
            length,
            opened: Mutex::default(),
            runtime: runtime.clone(),
            cancellation: cancellation.clone(),
        }
    }

    /// The bytes of each range, all of them. Blocks.
    ///
    /// # Errors
    /// They cannot be read, there are fewer, or the file has another length than is expected; [`FileError::Cancelled`].
    pub fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, FileError> {
        wait(&self.runtime, &self.cancellation, self.read_all(ranges))
    }

    async fn read_all(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, FileError> {
        let Some((first, others)) = ranges.split_first() else {
            return Ok(Vec::new());
        };
        let opened = self.opened.lock().clone();
        let (file, others, mut read) = match opened {
            Some(file) => (file, ranges, Vec::new()),
            None => {
                let (file, begun) = self.open(first).await?;
                if file.length() != self.length {
                    return Err(FileError::unsupported("a file that has changed"));
                }
                let chunks = begun.unwrap_or_else(|| file.chunks(first));
                let read = vec![whole(&file, chunks, first).await?];
                let file = Arc::new(file);
                *self.opened.lock() = Some(Arc::clone(&file));
                (file, others, read)
            }
        };
        let more = others
            .iter()
            .map(|range| whole(&file, file.chunks(range), range));
        let more: Vec<Bytes> = stream::iter(more).buffered(AT_ONCE).try_collect().await?;
        read.extend(more);
        Ok(read)
    }

    async fn open(&self, range: &Range<u64>) -> Result<(Opened, Option<Chunks>), FileError> {
        match &self.file_system.0 {
            Backend::Hdfs(client) => Ok((Opened::Hdfs(client.open(&self.path).await?), None)),
            Backend::Objects(objects) => {
                let (file, begun) = objects.open(&self.path, range).await?;
                Ok((Opened::Object(file), begun))
            }
            Backend::Local => Err(FileError::unsupported("files of file:")),
        }
    }
}

/// All bytes of a range.
async fn whole(file: &Opened, mut chunks: Chunks, range: &Range<u64>) -> Result<Bytes, FileError> {
    let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let first = chunks.next().await.transpose()?.unwrap_or_default();
    if first.len() == length {
        return Ok(first);
    }
    let mut bytes = BytesMut::from(first);
    while let Some(chunk) = chunks.next().await.transpose()? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > length {
            break;
        }
    }
    match bytes.len() == length {
        true => Ok(bytes.freeze()),
        false => Err(FileError::failed(
            file.scheme(),
            "another number of bytes came than was asked for",
        )),
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};
    use tokio::runtime::Runtime;

    use super::super::object::Objects;
    use super::*;

    fn file(runtime: &Runtime, content: &[u8], length: u64) -> (Arc<InMemory>, RangeFile) {
        let store = Arc::new(InMemory::new());
        let name = Path::from("d/x");
        let put = store.put(&name, content.to_vec().into());
        runtime.block_on(put).unwrap();
        let objects = Objects::new(Arc::clone(&store) as Arc<dyn ObjectStore>, "s3a");
        let file = RangeFile::new(
            FileSystem(Backend::Objects(Arc::new(objects))),
            FilePath::parse("s3a://b/d/x"),
            length,
            runtime.handle(),
            &Cancellation::default(),
        );
        (store, file)
    }

    fn one(range: Range<u64>) -> [Range<u64>; 1] {
        [range]
    }

    #[test]
    fn ranges_come_in_the_order_in_which_they_are_asked_for() {
        let runtime = Runtime::new().unwrap();
        let content: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
        let (_store, file) = file(&runtime, &content, 200_000);
        assert!(file.read(&[]).unwrap().is_empty());
        let ranges: Vec<Range<u64>> = (0..20).rev().map(|n| n * 9_999..n * 9_999 + 5).collect();
        // The first call opens the file.
        for _ in 0..2 {
            let read = file.read(&ranges).unwrap();
            for (range, bytes) in ranges.iter().zip(read) {
                let range = range.start as usize..range.end as usize;
                assert_eq!(bytes, content[range]);
            }
        }
        assert_eq!(file.read(&one(0..200_000)).unwrap(), [Bytes::from(content)]);
        assert!(file.read(&one(199_999..200_001)).is_err());
    }

    #[test]
    fn a_file_of_another_length_or_version_is_not_read() {
        let runtime = Runtime::new().unwrap();
        let (_store, longer) = file(&runtime, b"0123", 5);
        let reason = longer.read(&one(0..4)).unwrap_err().reason();
        assert_eq!(reason, "a file that has changed");
        let (store, file) = file(&runtime, b"0123", 4);
        assert_eq!(file.read(&one(1..3)).unwrap(), ["12"]);
        let name = Path::from("d/x");
        let put = store.put(&name, b"4567".to_vec().into());
        runtime.block_on(put).unwrap();
        let reason = file.read(&one(1..3)).unwrap_err().reason();
        assert_eq!(reason, "files of s3a: that cannot be read");
    }

    #[test]
    fn a_killed_task_reads_nothing() {
        let runtime = Runtime::new().unwrap();
        let (_store, file) = file(&runtime, b"0123", 4);
        file.cancellation.cancel("enough");
        let error = file.read(&one(0..4)).unwrap_err();
        assert_eq!(error, FileError::Cancelled("enough".into()));
    }
}
