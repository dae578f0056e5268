//! Files that stages read: of this host or of another machine, all at once or in order. Those of a task's scan tell its
//! metrics what they read.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use datafusion_common::Result;
use exec::FileBytes;
use percent_encoding::percent_decode_str;
use rows::error::bail_out;

use super::failure::of_source;
use crate::files::{FileError, FileInput, FilePath, RangeFile, is_known_scheme};
use crate::task::TaskContext;

/// A file of another machine, or why it is not read natively.
pub(super) fn remote_path(url: &str) -> std::result::Result<FilePath, String> {
    let unknown = |scheme: &str| Err(format!("files of {scheme}:"));
    match FilePath::of_uri(url) {
        Some(path) if path.scheme == "file" => Err("files of file: with such names".to_owned()),
        Some(path) if is_known_scheme(&path.scheme) => Ok(path),
        Some(path) => unknown(&path.scheme),
        None => Err("files with such names".to_owned()),
    }
}

/// The path of a `file:` URL as Spark writes it.
pub(super) fn local_path(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("file:")?;
    // With an authority, which is empty, or without.
    let path = path.strip_prefix("//").unwrap_or(path);
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return None;
    }
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Some(PathBuf::from(path.into_owned()))
}

/// Opens a file of this host that the driver knows to have so many bytes, or says why it is left to the JVM: whatever
/// is wrong, Spark has words for it and settings about it.
pub(super) fn open_local(path: &Path, size: u64) -> std::result::Result<File, &'static str> {
    let file = File::open(path).map_err(|_| "a file that cannot be opened")?;
    match file.metadata().map(|found| found.len()) {
        Ok(found) if found == size => Ok(file),
        _ => Err("a file that has changed"),
    }
}

/// A file of this host, read where it is asked for.
#[derive(Debug)]
pub(super) struct LocalFileBytes(pub(super) File);

impl FileBytes for LocalFileBytes {
    fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        let length = range.end.checked_sub(range.start);
        let length = length
            .and_then(|length| usize::try_from(length).ok())
            .ok_or_else(|| bail_out("a file of more bytes than there are"))?;
        let mut bytes = vec![0; length];
        self.0
            .read_exact_at(&mut bytes, range.start)
            .map_err(|_| bail_out("a file that cannot be read"))?;
        Ok(bytes.into())
    }
}

/// The same for a scan, which tells what it reads.
#[derive(Debug)]
pub(super) struct LocalBytes {
    pub(super) file: LocalFileBytes,
    pub(super) context: Arc<TaskContext>,
}

impl FileBytes for LocalBytes {
    fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        let bytes = self.file.read_at(range)?;
        self.context.metrics.input.bytes_read.add_len(bytes.len());
        Ok(bytes)
    }
}

/// A file of another machine, read in order.
pub(super) struct RemoteStream {
    pub(super) file: FileInput,
    pub(super) context: Arc<TaskContext>,
}

impl Read for RemoteStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buf);
        let count = count.map_err(|error| match FileError::of_io(&error) {
            Some(error) => io::Error::other(of_source(error.clone())),
            None => error,
        })?;
        self.context.metrics.input.bytes_read.add_len(count);
        Ok(count)
    }
}

/// A file of another machine.
#[derive(Debug)]
pub(super) struct RemoteFile {
    pub(super) file: RangeFile,
    pub(super) context: Arc<TaskContext>,
}

impl FileBytes for RemoteFile {
    fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        let read = self.read_ranges(&[range])?;
        read.into_iter()
            .next()
            .ok_or_else(|| bail_out("a file that cannot be read"))
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let read = self.file.read(ranges).map_err(of_source)?;
        let length = read.iter().map(Bytes::len).sum();
        self.context.metrics.input.bytes_read.add_len(length);
        Ok(read)
    }

    fn is_remote(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_urls() {
        let path = |url| local_path(url).map(|path| path.display().to_string());
        assert_eq!(path("file:///a/b%20c.parquet").unwrap(), "/a/b c.parquet");
        assert_eq!(path("file:/a/k=%25/b").unwrap(), "/a/k=%/b");
        for other in ["s3a://b/c", "file://host/a", "file:a", "/a", "file:///a?b"] {
            assert_eq!(path(other), None, "{other}");
        }
        assert_eq!(remote_path("s3a://b/c%20d").unwrap().path, "/c d");
        let reason = |url| remote_path(url).unwrap_err();
        assert_eq!(reason("ftp://b/c"), "files of ftp:");
        assert_eq!(reason("s3a://b/c?d"), "files with such names");
        assert_eq!(reason("file://host/a"), "files of file: with such names");
    }
}
