//! Fetched blocks, in memory or in files.

use super::super::LocalDirs;
use super::super::crypto::{DecryptingReader, EncryptingWriter, IoEncryption};
use super::BlockFetchError;
use crate::transport::Stream;
use bytes::{Buf, Bytes};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written.
const WRITE_SIZE: usize = 1 << 20;
/// Bytes read at a time.
const READ_SIZE: usize = 128 << 10;

/// A block as it came.
#[derive(Debug)]
pub enum FetchedBlock {
    /// In memory.
    Memory(Bytes),
    /// In a file that goes with this value.
    File(DownloadFile),
}

impl FetchedBlock {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(file) => file.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the block. The file goes with the reader.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn into_reader(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Memory(bytes) => Box::new(bytes.reader()),
            Self::File(file) => Box::new(FileReader {
                reader: file.reader()?,
                _file: file,
            }),
        })
    }

    /// The block's bytes; a file is read into memory.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn into_bytes(self) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes),
            Self::File(file) => {
                let mut bytes = Vec::with_capacity(usize::try_from(file.len()).unwrap_or(0));
                file.reader()?.read_to_end(&mut bytes)?;
                Ok(bytes.into())
            }
        }
    }
}

struct FileReader {
    reader: Box<dyn Read + Send>,
    _file: DownloadFile,
}

impl Read for FileReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf)
    }
}

/// A temporary file with a block, encrypted if Spark's local files are. It is removed when this is dropped.
#[derive(Debug)]
pub struct DownloadFile {
    path: PathBuf,
    len: u64,
    encryption: Option<IoEncryption>,
}

impl DownloadFile {
    /// Bytes of the block.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where it is. It may be moved away; its content is what [`DownloadFile::is_encrypted`] says.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file is encrypted, besides what the block itself may be.
    pub fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }

    /// Reads the block from its beginning, decrypted.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        let file = io::BufReader::with_capacity(READ_SIZE, File::open(&self.path)?);
        Ok(match &self.encryption {
            Some(encryption) => {
                let reader: DecryptingReader<_> = encryption.reader(file)?;
                Box::new(reader)
            }
            None => Box::new(file),
        })
    }

    /// Writes a stream to a file in `dirs`.
    pub(super) async fn download(
        mut data: Stream,
        dirs: &LocalDirs,
        encryption: Option<&IoEncryption>,
    ) -> Result<Self, BlockFetchError> {
        let disk = |error: io::Error| BlockFetchError::Disk(error.to_string().into());
        let file = Self {
            path: dirs.scratch(),
            len: data.len(),
            encryption: encryption.cloned(),
        };
        let mut sink = Sink::create(&file.path, encryption).map_err(disk)?;
        loop {
            let mut pieces = Vec::new();
            let mut gathered = 0;
            while gathered < WRITE_SIZE {
                let Some(piece) = data.next().await.map_err(BlockFetchError::connection)? else {
                    break;
                };
                gathered += piece.len();
                pieces.push(piece);
            }
            if pieces.is_empty() {
                return Ok(file);
            }
            let written = tokio::task::spawn_blocking(move || {
                pieces.iter().try_for_each(|piece| sink.write_all(piece))?;
                Ok(sink)
            });
            sink = written
                .await
                .map_err(io::Error::other)
                .flatten()
                .map_err(disk)?;
        }
    }
}

impl Drop for DownloadFile {
    fn drop(&mut self) {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("Cannot remove {}: {error}", self.path.display());
            }
            _ => {}
        }
    }
}

#[allow(clippy::large_enum_variant, reason = "one per file")]
enum Sink {
    Plain(File),
    Encrypted(EncryptingWriter<File>),
}

impl Sink {
    fn create(path: &Path, encryption: Option<&IoEncryption>) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        Ok(match encryption {
            Some(encryption) => Self::Encrypted(encryption.writer(file)?),
            None => Self::Plain(file),
        })
    }

    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(data),
            Self::Encrypted(writer) => writer.write_all(data),
        }
    }
}
