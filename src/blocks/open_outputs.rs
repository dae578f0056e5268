//! Map outputs that were asked for lately, with their files open: reducers ask for many small segments of the same
//! ones, and to open a file costs more than to send a small part of it.

use super::disk_wait::DiskWait;
use super::shuffle_files::MapOutput;
use super::streams::Segment;
use super::{BlockSource, Form, ShuffleFiles};
use crate::transport::Body;
use lru::LruCache;
use parking_lot::Mutex;
use rustix::process::{Resource, getrlimit};
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Map outputs that are kept open, if the system lets this process have many files. Each has one or two.
const MAX_OUTPUTS: usize = 512;
/// Files that this process may have open for each output that is kept open.
const FILES_PER_OUTPUT: u64 = 16;
/// How long outputs are kept open that nobody asks for, at least; twice that at most. Deleted files take space as long
/// as they are open.
const KEPT: Duration = Duration::from_secs(5);

/// An output by shuffle and map id, and whether it is read by somebody who takes columns.
type Key = (i32, i64, bool);

/// Map outputs. Clones share them.
#[derive(Clone)]
pub(super) struct OpenOutputs {
    files: ShuffleFiles,
    source: Arc<dyn BlockSource>,
    open: Arc<Mutex<LruCache<Key, Used>>>,
    /// There is an output, where there was none.
    filled: Arc<Notify>,
}

#[derive(Debug)]
struct Used {
    output: Arc<MapOutput>,
    last: Instant,
}

impl OpenOutputs {
    /// Outputs in `files`, of which `source` makes rows if they are columns.
    pub(super) fn new(files: ShuffleFiles, source: Arc<dyn BlockSource>) -> Self {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / FILES_PER_OUTPUT;
        let limit = usize::try_from(limit).map_or(MAX_OUTPUTS, |limit| limit.min(MAX_OUTPUTS));
        let limit = NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN);
        Self {
            files,
            source,
            open: Arc::new(Mutex::new(LruCache::new(limit))),
            filled: Arc::default(),
        }
    }

    /// A segment of a map output.
    ///
    /// # Errors
    /// As [`ShuffleFiles::segment`], and `WouldBlock` if it cannot be had with that `wait`.
    pub(super) fn segment(&self, segment: Segment, wait: DiskWait) -> io::Result<Body> {
        let Segment {
            shuffle_id,
            map_id,
            start,
            end,
            columns,
        } = segment;
        let key = (shuffle_id, map_id, columns);
        if let Some(output) = self.used(key) {
            match output.segment(start, end, wait) {
                // Its files were deleted. There may be others now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.open.lock().pop(&key);
                }
                result => return result,
            }
        }
        let output = Arc::new(self.open(key, wait)?);
        let body = output.segment(start, end, wait)?;
        self.keep(key, output);
        Ok(body)
    }

    /// Fails if a map output is not here, or cannot be found with that `wait`.
    ///
    /// # Errors
    /// As [`OpenOutputs::segment`].
    pub(super) fn find(&self, segment: Segment, wait: DiskWait) -> io::Result<()> {
        let Segment {
            shuffle_id,
            map_id,
            columns,
            ..
        } = segment;
        let key = (shuffle_id, map_id, columns);
        if self.used(key).is_some() {
            return Ok(());
        }
        // Many are looked up with wait, which should not close those that were asked for lately.
        if wait == DiskWait::Allowed {
            // Rows of columns are made when they are read.
            let found = self.files.find(shuffle_id, map_id, Form::Columns);
            return match found {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.files.find(shuffle_id, map_id, Form::Rows)
                }
                found => found,
            };
        }
        let output = self.open(key, wait)?;
        self.keep(key, Arc::new(output));
        Ok(())
    }

    fn open(&self, key: Key, wait: DiskWait) -> io::Result<MapOutput> {
        let (shuffle_id, map_id, columns) = key;
        if columns {
            return self.files.open_any(shuffle_id, map_id, wait);
        }
        if self.source.lacks_rows(shuffle_id, map_id) {
            if wait == DiskWait::Forbidden {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.source.make_rows(shuffle_id, map_id)?;
        }
        self.files.open(shuffle_id, map_id, Form::Rows, wait)
    }

    fn keep(&self, key: Key, output: Arc<MapOutput>) {
        let mut open = self.open.lock();
        if open.is_empty() {
            self.filled.notify_one();
        }
        let last = Instant::now();
        let replaced = open.push(key, Used { output, last });
        drop(open);
        // Files are closed without the lock.
        drop(replaced);
    }

    fn used(&self, key: Key) -> Option<Arc<MapOutput>> {
        let mut open = self.open.lock();
        let used = open.get_mut(&key)?;
        used.last = Instant::now();
        Some(used.output.clone())
    }

    /// Closes outputs that nobody asks for, for ever.
    pub(super) async fn close_unused(self) {
        loop {
            self.filled.notified().await;
            while !self.open.lock().is_empty() {
                tokio::time::sleep(KEPT).await;
                self.close_unused_at(Instant::now());
            }
        }
    }

    fn close_unused_at(&self, now: Instant) {
        while let Some(unused) = self.longest_unused(now) {
            drop(unused);
        }
    }

    fn longest_unused(&self, now: Instant) -> Option<Used> {
        let mut open = self.open.lock();
        let (_, used) = open.peek_lru()?;
        if now.saturating_duration_since(used.last) < KEPT {
            return None;
        }
        open.pop_lru().map(|(_, used)| used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{LocalDirs, Upload};
    use crate::transport::Answer;
    use bytes::Bytes;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;
    use wire::ids::BlockId;

    struct Nothing;

    impl BlockSource for Nothing {
        fn may_have(&self, _id: &BlockId) -> bool {
            false
        }

        fn stored_block(&self, _id: &BlockId) -> Option<Answer<Result<Body, String>>> {
            None
        }

        fn local_block(&self, _id: BlockId) -> Answer<Result<Body, String>> {
            unreachable!()
        }

        fn upload(&self, _upload: Upload, _data: Bytes) -> Answer<Result<Bytes, String>> {
            unreachable!()
        }

        fn upload_stream(&self, _upload: Upload, _file: PathBuf) -> Answer<Result<Bytes, String>> {
            unreachable!()
        }
    }

    struct Fixture {
        _root: tempfile::TempDir,
        dirs: Arc<LocalDirs>,
        outputs: OpenOutputs,
    }

    fn fixture() -> Fixture {
        let root = tempfile::tempdir().unwrap();
        let dirs = Arc::new(LocalDirs::create(&[root.path().join("a")], 4, false).unwrap());
        Fixture {
            _root: root,
            outputs: OpenOutputs::new(ShuffleFiles::new(dirs.clone()), Arc::new(Nothing)),
            dirs,
        }
    }

    impl Fixture {
        fn write(&self, map_id: i64, data: &[u8]) {
            let index = [0, data.len() as i64].map(i64::to_be_bytes);
            for (kind, bytes) in [("data", data), ("index", index.as_flattened())] {
                let path = self
                    .dirs
                    .path(&format!("shuffle_0_{map_id}_0.{kind}").parse().unwrap());
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                // Another file of the same name, as a writer makes it.
                let new = path.with_extension("new");
                std::fs::write(&new, bytes).unwrap();
                std::fs::rename(new, path).unwrap();
            }
        }

        fn delete(&self, map_id: i64) {
            for kind in ["data", "index"] {
                let path = self
                    .dirs
                    .path(&format!("shuffle_0_{map_id}_0.{kind}").parse().unwrap());
                std::fs::remove_file(path).unwrap();
            }
        }

        fn read(&self, map_id: i64) -> io::Result<Vec<u8>> {
            let segment = Segment {
                shuffle_id: 0,
                map_id,
                start: 0,
                end: 1,
                columns: false,
            };
            match self.outputs.segment(segment, DiskWait::Allowed)? {
                Body::Bytes(bytes) => Ok(bytes.to_vec()),
                Body::File { file, offset, len } => {
                    let mut bytes = vec![0; len as usize];
                    file.read_exact_at(&mut bytes, offset)?;
                    Ok(bytes)
                }
            }
        }

        fn is_open(&self, map_id: i64) -> bool {
            self.outputs.open.lock().contains(&(0, map_id, false))
        }
    }

    #[test]
    fn deleted_and_replaced_files_are_not_read() {
        let fixture = fixture();
        fixture.write(1, b"first");
        for _ in 0..2 {
            assert_eq!(fixture.read(1).unwrap(), b"first");
        }
        assert!(fixture.is_open(1));
        fixture.write(1, b"another");
        assert_eq!(fixture.read(1).unwrap(), b"another");
        fixture.delete(1);
        let error = fixture.read(1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("NoSuchFileException"), "{error}");
        assert!(!fixture.is_open(1));
    }

    #[test]
    fn outputs_without_records_are_read_too() {
        let fixture = fixture();
        fixture.write(1, b"");
        for _ in 0..2 {
            assert_eq!(fixture.read(1).unwrap(), b"");
        }
    }

    #[test]
    fn no_more_are_open_than_may_be() {
        let fixture = fixture();
        let limit = fixture.outputs.open.lock().cap().get() as i64;
        for map_id in 0..=limit {
            fixture.write(map_id, b"x");
            fixture.read(map_id).unwrap();
        }
        assert!(!fixture.is_open(0));
        assert!(fixture.is_open(1) && fixture.is_open(limit));
    }

    #[test]
    fn outputs_that_nobody_asks_for_are_closed() {
        let fixture = fixture();
        for map_id in [1, 2] {
            fixture.write(map_id, b"x");
            fixture.read(map_id).unwrap();
        }
        let now = Instant::now();
        fixture.outputs.close_unused_at(now);
        assert!(fixture.is_open(1) && fixture.is_open(2));
        fixture
            .outputs
            .open
            .lock()
            .get_mut(&(0, 2, false))
            .unwrap()
            .last = now + KEPT;
        fixture.outputs.close_unused_at(now + KEPT);
        assert!(!fixture.is_open(1) && fixture.is_open(2));
        fixture.outputs.close_unused_at(now + 2 * KEPT);
        assert!(!fixture.is_open(2));
    }
}
