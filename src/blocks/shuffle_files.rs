//! The files of map tasks: data, index and checksums (Spark's `IndexShuffleBlockResolver`).
//!
//! `shuffle_<shuffle>_<map>_0.index` holds one i64 per reducer and one more: the offsets of the reducers' segments in
//! `shuffle_<shuffle>_<map>_0.data`. `shuffle_<shuffle>_<map>_0.checksum.<ALGORITHM>` holds one i64 per reducer. All
//! are big-endian. Native executors have files of their own for outputs that are columns,
//! `shuffle_<shuffle>_<map>_0.columns` with its `.index`.

use super::checksum::Algorithm;
use super::disk_wait::DiskWait;
use super::shuffle_index::Index;
use super::{FileName, Form, LocalDirs, ShuffleFile};
use crate::transport::Body;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use wire::block_transfer::Cause;

/// The shuffle files below the local directories. All methods read from disk and may block.
#[derive(Clone, Debug)]
pub struct ShuffleFiles {
    dirs: Arc<LocalDirs>,
}

impl ShuffleFiles {
    /// Looks for files in `dirs`.
    pub fn new(dirs: Arc<LocalDirs>) -> Self {
        Self { dirs }
    }

    /// The segments of the reducers `start..end` of one map output, which lie one behind the other.
    ///
    /// # Errors
    /// `NotFound` if there is no index file, `InvalidData` if the files contradict each other or the range.
    pub fn segment(&self, shuffle_id: i32, map_id: i64, start: i32, end: i32) -> io::Result<Body> {
        self.open(shuffle_id, map_id, Form::Rows, DiskWait::Allowed)?
            .segment(start, end, DiskWait::Allowed)
    }

    /// Fails with `NotFound` if a map output has no index file of that form.
    pub(super) fn find(&self, shuffle_id: i32, map_id: i64, form: Form) -> io::Result<()> {
        let path = self.path(shuffle_id, map_id, form.index());
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_found(&path)),
            found => found.map(drop),
        }
    }

    /// Opens a map output of which several segments are wanted.
    pub(super) fn open(
        &self,
        shuffle_id: i32,
        map_id: i64,
        form: Form,
        wait: DiskWait,
    ) -> io::Result<MapOutput> {
        let index_path = self.path(shuffle_id, map_id, form.index());
        Ok(MapOutput {
            form,
            index: Index::new(open(&index_path, wait)?, wait)?,
            index_path,
            data_path: self.path(shuffle_id, map_id, form.data()),
            data: OnceLock::new(),
        })
    }

    /// As [`ShuffleFiles::open`] for whoever takes columns: those if there are any, and else rows.
    pub(super) fn open_any(
        &self,
        shuffle_id: i32,
        map_id: i64,
        wait: DiskWait,
    ) -> io::Result<MapOutput> {
        match self.open(shuffle_id, map_id, Form::Columns, wait) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.open(shuffle_id, map_id, Form::Rows, wait)
            }
            found => found,
        }
    }

    /// Finds out why a reader of a segment got another `checksum` than the writer made.
    pub fn diagnose(
        &self,
        shuffle_id: i32,
        map_id: i64,
        reduce_id: i32,
        checksum: i64,
        algorithm: &str,
    ) -> Cause {
        let Some(algorithm) = Algorithm::parse(algorithm) else {
            return Cause::UNSUPPORTED_CHECKSUM_ALGORITHM;
        };
        match self.checksums(shuffle_id, map_id, reduce_id, algorithm) {
            Ok((written, now)) if written != now => Cause::DISK_ISSUE,
            Ok((written, _)) if written != checksum => Cause::NETWORK_ISSUE,
            Ok(_) => Cause::CHECKSUM_VERIFY_PASS,
            Err(error) => {
                tracing::warn!("Unable to diagnose shuffle block corruption: {error}");
                Cause::UNKNOWN_ISSUE
            }
        }
    }

    /// The checksum that the writer made, and that of the bytes that are there now.
    fn checksums(
        &self,
        shuffle_id: i32,
        map_id: i64,
        reduce_id: i32,
        algorithm: Algorithm,
    ) -> io::Result<(i64, i64)> {
        let path = self.path(shuffle_id, map_id, ShuffleFile::Checksum(algorithm));
        let reducer =
            u64::try_from(reduce_id).map_err(|_| invalid(format!("no reducer {reduce_id}")))?;
        let mut written = [0; 8];
        open(&path, DiskWait::Allowed)?.read_exact_at(&mut written, reducer * 8)?;
        let written = i64::from_be_bytes(written);
        let end = reduce_id
            .checked_add(1)
            .ok_or_else(|| invalid(format!("no reducer {reduce_id}")))?;
        let now = match self.segment(shuffle_id, map_id, reduce_id, end)? {
            Body::File { file, offset, len } => algorithm.of(Section { file, offset, len })?,
            Body::Bytes(bytes) => algorithm.of(&bytes[..])?,
        };
        Ok((written, i64::from(now)))
    }

    fn path(&self, shuffle_id: i32, map_id: i64, file: ShuffleFile) -> PathBuf {
        self.dirs
            .path(&FileName::of_shuffle(shuffle_id, map_id, file))
    }
}

/// The files of one map output.
#[derive(Debug)]
pub(super) struct MapOutput {
    form: Form,
    index: Index,
    index_path: PathBuf,
    data_path: PathBuf,
    /// The data file, once a segment that is not empty was wanted.
    data: OnceLock<Arc<File>>,
}

impl MapOutput {
    /// How its records are written.
    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// How many reducers it has segments of.
    pub(super) fn reducers(&self) -> io::Result<usize> {
        self.index.reducers()
    }

    /// As [`ShuffleFiles::segment`]. A data file that was deleted meanwhile is `NotFound`, too.
    pub(super) fn segment(&self, start: i32, end: i32, wait: DiskWait) -> io::Result<Body> {
        let [Ok(first), Ok(last)] = [start, end].map(u64::try_from) else {
            return Err(invalid(format!("no reducers {start} to {end}")));
        };
        if first >= last {
            return Err(invalid(format!("no reducers between {start} and {end}")));
        }
        let (from, to) =
            self.index
                .offsets(first, last, wait)
                .map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => invalid(format!(
                        "{} has no reducers {start} to {end}",
                        self.index_path.display()
                    )),
                    _ => error,
                })?;
        let [Ok(offset), Ok(len)] = [from, to.wrapping_sub(from)].map(u64::try_from) else {
            let message = format!(
                "{} says that a segment lies from {from} to {to}",
                self.index_path.display()
            );
            return Err(invalid(message));
        };
        if len == 0 {
            // Without any records there is no data file.
            return Ok(Body::Bytes(Bytes::new()));
        }
        let file = match self.data.get() {
            Some(file) => file,
            None => {
                let file = open(&self.data_path, wait)?;
                self.data.get_or_init(|| Arc::new(file))
            }
        };
        let stat = rustix::fs::fstat(file)?;
        if stat.st_nlink == 0 {
            return Err(not_found(&self.data_path));
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        if size < offset + len {
            let message = format!(
                "{} has {size} bytes, its index says {}",
                self.data_path.display(),
                offset + len
            );
            return Err(invalid(message));
        }
        let file = file.clone();
        Ok(Body::File { file, offset, len })
    }
}

/// Opens a file; the error names it as a JVM would.
fn open(path: &Path, wait: DiskWait) -> io::Result<File> {
    wait.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => not_found(path),
        kind => io::Error::new(kind, format!("{}: {error}", path.display())),
    })
}

fn not_found(path: &Path) -> io::Error {
    let message = format!("java.nio.file.NoSuchFileException: {}", path.display());
    io::Error::new(io::ErrorKind::NotFound, message)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// A part of a file.
pub(super) struct Section {
    pub(super) file: Arc<File>,
    pub(super) offset: u64,
    pub(super) len: u64,
}

impl Read for Section {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = buf
            .len()
            .min(usize::try_from(self.len).unwrap_or(usize::MAX));
        let count = self
            .file
            .read_at(buf.get_mut(..count).unwrap_or_default(), self.offset)?;
        self.offset += count as u64;
        self.len -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        _root: tempfile::TempDir,
        dirs: Arc<LocalDirs>,
        files: ShuffleFiles,
    }

    fn fixture() -> Fixture {
        let root = tempfile::tempdir().unwrap();
        let roots = [root.path().join("a"), root.path().join("b")];
        let dirs = Arc::new(LocalDirs::create(&roots, 64, false).unwrap());
        Fixture {
            _root: root,
            files: ShuffleFiles::new(dirs.clone()),
            dirs,
        }
    }

    impl Fixture {
        fn write(&self, name: &str, bytes: &[u8]) {
            let path = self.dirs.path(&name.parse().unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }

        fn write_longs(&self, name: &str, values: &[i64]) {
            self.write(
                name,
                &values
                    .iter()
                    .flat_map(|value| value.to_be_bytes())
                    .collect::<Vec<_>>(),
            );
        }
    }

    fn content(body: io::Result<Body>) -> Result<Vec<u8>, String> {
        match body.map_err(|error| error.to_string())? {
            Body::Bytes(bytes) => Ok(bytes.to_vec()),
            Body::File { file, offset, len } => {
                let mut bytes = Vec::new();
                Section { file, offset, len }
                    .read_to_end(&mut bytes)
                    .unwrap();
                Ok(bytes)
            }
        }
    }

    #[test]
    fn segments_are_found_through_the_index() {
        let fixture = fixture();
        fixture.write("shuffle_4_77_0.data", b"aaabbbbbc");
        fixture.write_longs("shuffle_4_77_0.index", &[0, 3, 3, 8, 9]);
        let segment = |start, end| {
            let found = content(fixture.files.segment(4, 77, start, end));
            let output = fixture.files.open(4, 77, Form::Rows, DiskWait::Forbidden);
            match output.and_then(|output| output.segment(start, end, DiskWait::Forbidden)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                at_once => assert_eq!(content(at_once), found),
            }
            found
        };
        assert_eq!(segment(0, 1), Ok(b"aaa".to_vec()));
        assert_eq!(segment(1, 2), Ok(vec![]));
        assert_eq!(segment(3, 4), Ok(b"c".to_vec()));
        assert_eq!(segment(0, 4), Ok(b"aaabbbbbc".to_vec()));
        assert_eq!(segment(1, 3), Ok(b"bbbbb".to_vec()));
        for (start, end) in [(4, 5), (0, 9), (i32::MAX - 1, i32::MAX)] {
            assert!(
                segment(start, end)
                    .unwrap_err()
                    .ends_with(&format!("has no reducers {start} to {end}"))
            );
        }
        for (start, end) in [(-1, 1), (2, 2), (3, 1), (i32::MIN, i32::MAX)] {
            assert!(
                segment(start, end).unwrap_err().starts_with("no reducers "),
                "{start} {end}"
            );
        }
        let missing = fixture.files.segment(4, 78, 0, 1).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let path = fixture.dirs.path(&"shuffle_4_78_0.index".parse().unwrap());
        assert_eq!(
            missing.to_string(),
            format!("java.nio.file.NoSuchFileException: {}", path.display())
        );
    }

    #[test]
    fn files_that_contradict_each_other_are_refused() {
        let fixture = fixture();
        let segment = |map_id| content(fixture.files.segment(1, map_id, 0, 1)).unwrap_err();
        fixture.write_longs("shuffle_1_1_0.index", &[0, 10]);
        assert!(segment(1).contains("NoSuchFileException"));
        fixture.write("shuffle_1_1_0.data", b"short");
        assert!(segment(1).ends_with("has 5 bytes, its index says 10"));
        fixture.write_longs("shuffle_1_2_0.index", &[10, 0]);
        assert!(segment(2).ends_with("says that a segment lies from 10 to 0"));
        fixture.write_longs("shuffle_1_3_0.index", &[-1, i64::MAX]);
        assert!(segment(3).contains("lies from -1"));
        fixture.write_longs("shuffle_1_4_0.index", &[0, 0]);
        assert_eq!(
            content(fixture.files.segment(1, 4, 0, 1)),
            Ok(vec![]),
            "no data file is needed"
        );
    }

    #[test]
    fn damage_is_diagnosed() {
        let fixture = fixture();
        fixture.write("shuffle_0_1_0.data", b"123456789");
        fixture.write_longs("shuffle_0_1_0.index", &[0, 0, 9]);
        // Check values of the algorithms for "123456789", and what they give for nothing.
        for (algorithm, empty, value) in [
            ("ADLER32", 1, 0x091e_01de),
            ("CRC32", 0, 0xcbf4_3926),
            ("CRC32C", 0, 0xe306_9283),
        ] {
            fixture.write_longs(
                &format!("shuffle_0_1_0.checksum.{algorithm}"),
                &[empty, value],
            );
            let diagnose =
                |reduce_id, checksum| fixture.files.diagnose(0, 1, reduce_id, checksum, algorithm);
            assert_eq!(
                diagnose(0, empty),
                Cause::CHECKSUM_VERIFY_PASS,
                "{algorithm}"
            );
            assert_eq!(
                diagnose(1, value),
                Cause::CHECKSUM_VERIFY_PASS,
                "{algorithm}"
            );
            assert_eq!(diagnose(1, value + 1), Cause::NETWORK_ISSUE, "{algorithm}");
            assert_eq!(diagnose(2, value), Cause::UNKNOWN_ISSUE, "{algorithm}");
            assert_eq!(diagnose(-1, value), Cause::UNKNOWN_ISSUE, "{algorithm}");
            assert_eq!(
                diagnose(i32::MAX, value),
                Cause::UNKNOWN_ISSUE,
                "{algorithm}"
            );
        }
        fixture.write("shuffle_0_1_0.data", b"12345678x");
        assert_eq!(
            fixture.files.diagnose(0, 1, 1, 0x091e_01de, "ADLER32"),
            Cause::DISK_ISSUE
        );
        assert_eq!(
            fixture.files.diagnose(0, 2, 1, 0, "ADLER32"),
            Cause::UNKNOWN_ISSUE
        );
        assert_eq!(
            fixture.files.diagnose(0, 1, 1, 0, "MD5"),
            Cause::UNSUPPORTED_CHECKSUM_ALGORITHM
        );
    }
}
