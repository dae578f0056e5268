//! Blocks in files, in Spark's names and places (`DiskStore`), encrypted if `spark.io.encryption.enabled`.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use wire::ids::BlockId;

use super::ports::Streams;
use crate::blocks::{FileName, LocalDirs, NotAFileName};
use crate::transport::Body;

/// Bytes gathered before they are written.
const WRITE_SIZE: usize = 128 << 10;

/// The directories of an executor, for blocks that are files of their own.
#[derive(Clone)]
pub(super) struct DiskStore {
    dirs: Arc<LocalDirs>,
    streams: Arc<dyn Streams>,
    /// Whether others than this user read the files, and remove them.
    open: Open,
}

/// What the external shuffle service, another user of the same group, may do.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Open {
    pub(super) read: bool,
    pub(super) remove: bool,
}

/// A block in a file that is open, and stays readable when the block is removed.
#[derive(Clone)]
pub struct DiskBlock {
    file: Arc<File>,
    /// Bytes of the block, without encryption.
    len: u64,
    streams: Arc<dyn Streams>,
}

/// A file that is being written under a temporary name. Dropped without [`DiskWriter::finish`], it is removed.
pub(super) struct DiskWriter {
    out: Box<dyn Write + Send>,
    temporary: Temporary,
    len: u64,
}

/// A file with a whole block, not yet under its name. Dropped without [`DiskStore::commit`], it is removed.
pub(super) struct Written {
    temporary: Temporary,
    len: u64,
}

struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Renamed, if all went well.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl DiskStore {
    pub(super) fn new(dirs: Arc<LocalDirs>, streams: Arc<dyn Streams>, open: Open) -> Self {
        Self {
            dirs,
            streams,
            open,
        }
    }

    /// Whether what is read from files has to be decrypted into memory.
    pub(super) fn encrypts(&self) -> bool {
        self.streams.encrypts()
    }

    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn create(&self) -> io::Result<DiskWriter> {
        let temporary = Temporary(self.dirs.scratch());
        let file = File::options()
            .write(true)
            .create_new(true)
            .open(&temporary.0)?;
        let out = self
            .streams
            .encrypt(Box::new(BufWriter::with_capacity(WRITE_SIZE, file)))?;
        Ok(DiskWriter {
            out,
            temporary,
            len: 0,
        })
    }

    /// Writes a whole block.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<Written> {
        let mut writer = self.create()?;
        writer.write_all(bytes)?;
        writer.finish()
    }

    /// Takes over a file that somebody else wrote, unencrypted; it is moved if nothing has to be done with it.
    ///
    /// # Errors
    /// It cannot be read, or the disk is full or fails.
    pub(super) fn adopt(&self, file: &Path) -> io::Result<Written> {
        if self.streams.encrypts() {
            let mut writer = self.create()?;
            io::copy(&mut File::open(file)?, &mut writer)?;
            return writer.finish();
        }
        let temporary = Temporary(self.dirs.scratch());
        std::fs::rename(file, &temporary.0)?;
        let len = std::fs::metadata(&temporary.0)?.len();
        Ok(Written { temporary, len })
    }

    /// Gives a file its name; a file that has it is replaced. Gives the size of the block.
    ///
    /// # Errors
    /// The directory cannot be made, or the file not renamed.
    pub(super) fn commit(&self, id: &BlockId, written: &Written) -> io::Result<u64> {
        let path = self.path(id)?;
        self.dirs.create_parent(&path, self.open.remove)?;
        if self.open.read {
            LocalDirs::make_world_readable(&written.temporary.0)?;
        }
        std::fs::rename(&written.temporary.0, path)?;
        Ok(written.len)
    }

    /// Opens the file of a block of `len` bytes.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub(super) fn open(&self, id: &BlockId, len: u64) -> io::Result<DiskBlock> {
        Ok(DiskBlock {
            file: Arc::new(File::open(self.path(id)?)?),
            len,
            streams: self.streams.clone(),
        })
    }

    /// Removes the file of a block.
    pub(super) fn remove(&self, id: &BlockId) {
        let removed = self.path(id).map_err(io::Error::from);
        match removed.and_then(std::fs::remove_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(target: "DiskStore", "Error deleting the file of {id}: {error}");
            }
            _ => {}
        }
    }

    fn path(&self, id: &BlockId) -> Result<PathBuf, NotAFileName> {
        Ok(self.dirs.path(&FileName::try_from(id)?))
    }
}

impl DiskWriter {
    /// Ends the file.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub(super) fn finish(mut self) -> io::Result<Written> {
        self.out.flush()?;
        Ok(Written {
            temporary: self.temporary,
            len: self.len,
        })
    }
}

impl Write for DiskWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = self.out.write(buf)?;
        self.len += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl DiskBlock {
    /// Number of bytes, without encryption.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the block has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads the block from its beginning.
    ///
    /// # Errors
    /// It is encrypted and its header cannot be read.
    pub fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        let file = FileReader {
            file: self.file.clone(),
            offset: 0,
        };
        Ok(Box::new(
            self.streams.decrypt(Box::new(file))?.take(self.len),
        ))
    }

    /// Reads the whole block.
    ///
    /// # Errors
    /// The disk fails or the file is too short.
    pub fn bytes(&self) -> io::Result<Bytes> {
        let len = usize::try_from(self.len).map_err(io::Error::other)?;
        let mut bytes = Vec::with_capacity(len);
        self.reader()?.read_to_end(&mut bytes)?;
        if bytes.len() != len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes.into())
    }

    /// The block as others get it: from the file, or decrypted.
    ///
    /// # Errors
    /// As [`DiskBlock::bytes`].
    pub fn body(&self) -> io::Result<Body> {
        if self.streams.encrypts() {
            return self.bytes().map(Body::Bytes);
        }
        Ok(Body::File {
            file: self.file.clone(),
            offset: 0,
            len: self.len,
        })
    }
}

impl std::fmt::Debug for DiskBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskBlock").field("len", &self.len).finish()
    }
}

/// Reads a shared file from its beginning.
struct FileReader {
    file: Arc<File>,
    offset: u64,
}

impl Read for FileReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buf, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
