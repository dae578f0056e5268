//! The records of one block, and what to say when they are damaged.

use super::error::{FetchFailure, ShuffleError};
use super::frames::{ColumnFrame, Frames, are_columns};
use super::locations::ShuffleBlock;
use super::reader::Shared;
use crate::blocks::checksum::Algorithm;
use crate::blocks::fetch::{DownloadFile, FetchedBlock};
use crate::blocks::shuffle_files::Section;
use crate::blocks::{Form, ShuffleFiles};
use crate::transport::Body;
use bytes::{Buf, Bytes};
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use wire::block_transfer::Cause;
use wire::ids::BlockManagerId;

/// Bytes of a file that are read at a time.
const READ_SIZE: usize = 128 << 10;

/// Reads the serialized records of one block, or its frames of columns. Damage is an error that holds a
/// [`ShuffleError`]. To be read on a thread outside of the runtime: finding out the cause of damage asks the block's
/// server.
pub struct ShuffleStream {
    source: Source,
    input: Result<Unpacked, ShuffleError>,
}

/// What is in a block.
enum Unpacked {
    Records(Box<dyn Read + Send>),
    Columns(Frames),
}

/// Where a block came from.
pub(super) struct Source {
    pub(super) shared: Arc<Shared>,
    pub(super) block: ShuffleBlock,
    pub(super) address: Arc<BlockManagerId>,
    /// Its bytes, as they are in the file.
    pub(super) raw: Raw,
    pub(super) form: Form,
    /// The files, if they are on this host.
    pub(super) files: Option<ShuffleFiles>,
}

/// Bytes that can be read again.
#[derive(Debug)]
pub(super) enum Raw {
    /// A part of a file on this host.
    Near(Body),
    /// What came over the network.
    Far(Bytes),
    /// What came over the network, in a file.
    Spooled(Arc<DownloadFile>),
}

impl From<FetchedBlock> for Raw {
    fn from(block: FetchedBlock) -> Self {
        match block {
            FetchedBlock::Memory(bytes) => Self::Far(bytes),
            FetchedBlock::File(file) => Self::Spooled(Arc::new(file)),
        }
    }
}

impl Raw {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Near(body) => body.len(),
            Self::Far(bytes) => bytes.len() as u64,
            Self::Spooled(file) => file.len(),
        }
    }

    /// What these are for a reader that takes columns, to whom either may have been sent.
    pub(super) fn form(&self) -> io::Result<Form> {
        let columns = match self {
            Self::Near(Body::Bytes(bytes)) | Self::Far(bytes) => are_columns(bytes),
            Self::Near(Body::File { .. }) | Self::Spooled(_) => {
                let mut start = Vec::new();
                self.reader()?.take(4).read_to_end(&mut start)?;
                are_columns(&start)
            }
        };
        Ok(if columns { Form::Columns } else { Form::Rows })
    }

    fn frames(&self) -> io::Result<Frames> {
        Ok(match self {
            Self::Near(Body::Bytes(bytes)) | Self::Far(bytes) => Frames::Memory(bytes.clone()),
            Self::Near(Body::File { .. }) | Self::Spooled(_) => Frames::Stream(self.reader()?),
        })
    }

    /// From the beginning.
    pub(super) fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Near(Body::Bytes(bytes)) | Self::Far(bytes) => Box::new(bytes.clone().reader()),
            Self::Near(Body::File { file, offset, len }) => {
                let size = usize::try_from(*len).unwrap_or(READ_SIZE).min(READ_SIZE);
                let section = Section {
                    file: Arc::clone(file),
                    offset: *offset,
                    len: *len,
                };
                Box::new(BufReader::with_capacity(size, section))
            }
            // Kept by the source for as long as this reader.
            Self::Spooled(file) => file.reader()?,
        })
    }
}

impl std::fmt::Debug for ShuffleStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShuffleStream")
            .field("block", &self.source.block)
            .finish_non_exhaustive()
    }
}

impl ShuffleStream {
    /// Unpacks up to `ahead` bytes at once, to know whether they can be unpacked.
    ///
    /// # Errors
    /// They cannot; the source comes back.
    pub(super) fn open(source: Source, ahead: Option<u64>) -> Result<Self, (Source, io::Error)> {
        match source.unpack(ahead) {
            Ok(input) => Ok(Self {
                source,
                input: Ok(input),
            }),
            Err(error) => Err((source, error)),
        }
    }

    /// Which block this is.
    pub fn block(&self) -> &ShuffleBlock {
        &self.source.block
    }

    /// Whether it has columns, which nobody is given who did not ask for them.
    pub fn has_columns(&self) -> bool {
        self.source.form == Form::Columns
    }

    /// The next frame of a block with columns; `None` after the last, and for other blocks.
    ///
    /// # Errors
    /// It is damaged, or cannot be read.
    pub fn next_frame(&mut self) -> io::Result<Option<ColumnFrame>> {
        self.take(|input| match input {
            Unpacked::Columns(frames) => frames.next(),
            Unpacked::Records(_) => Ok(None),
        })
    }

    fn take<T>(&mut self, read: impl FnOnce(&mut Unpacked) -> io::Result<T>) -> io::Result<T> {
        let input = match &mut self.input {
            Ok(input) => input,
            Err(failure) => return Err(failure.clone().into_io()),
        };
        match read(input) {
            Err(error)
                if error.kind() != io::ErrorKind::Interrupted
                    && self.source.shared.conf.detect_corrupt =>
            {
                let failure = ShuffleError::from(self.source.damaged(&error));
                self.input = Err(failure.clone());
                Err(failure.into_io())
            }
            result => result,
        }
    }
}

impl Read for ShuffleStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.take(|input| match input {
            Unpacked::Records(records) => records.read(buf),
            Unpacked::Columns(_) => Err(io::ErrorKind::Unsupported.into()),
        })
    }
}

impl Source {
    fn unpack(&self, ahead: Option<u64>) -> io::Result<Unpacked> {
        match self.form {
            Form::Rows => self.records(ahead).map(Unpacked::Records),
            Form::Columns => {
                let frames = self.raw.frames()?;
                // To look through what is in memory costs little, and what the network has damaged can be had again.
                if let (Frames::Memory(bytes), true) = (&frames, self.shared.conf.detect_corrupt) {
                    Frames::Memory(bytes.clone()).verify()?;
                }
                Ok(Unpacked::Columns(frames))
            }
        }
    }

    fn records(&self, ahead: Option<u64>) -> io::Result<Box<dyn Read + Send>> {
        let mut input = self.shared.format.reader(self.raw.reader()?)?;
        let Some(ahead) = ahead.filter(|_| self.shared.format.changes_bytes()) else {
            return Ok(input);
        };
        let mut start = Vec::new();
        input.by_ref().take(ahead).read_to_end(&mut start)?;
        Ok(Box::new(Read::chain(io::Cursor::new(start), input)))
    }

    /// The failed fetch that damage of this block is.
    pub(super) fn damaged(&self, error: &io::Error) -> FetchFailure {
        let why = match self.shared.conf.checksum {
            Some(algorithm) => self.diagnosis(algorithm),
            None => error.to_string(),
        };
        tracing::error!("{why}: {error}");
        let cause = format!("{why}\nCaused by: java.io.IOException: {error}");
        self.block.failure(&self.address, &cause)
    }

    /// Spark's words for why a block is damaged (`ShuffleBlockFetcherIterator.diagnoseCorruption`).
    fn diagnosis(&self, algorithm: Algorithm) -> String {
        let block = &self.block;
        if self.form == Form::Columns {
            // They have no checksums that a server knows.
            return format!("Block {block} is corrupted but the cause is unknown");
        }
        if block.batch {
            return format!(
                "BlockBatch {block} is corrupted but corruption diagnosis is skipped due to lack of shuffle checksum support for ShuffleBlockBatchId"
            );
        }
        tracing::info!("Start corruption diagnosis.");
        let cause = self.cause(algorithm).unwrap_or_else(|error| {
            tracing::warn!("Unable to diagnose the corruption cause of the shuffle block: {error}");
            Cause::UNKNOWN_ISSUE
        });
        match cause {
            Cause::UNSUPPORTED_CHECKSUM_ALGORITHM => format!(
                "Block {block} is corrupted but corruption diagnosis failed due to unsupported checksum algorithm: {}",
                algorithm.name()
            ),
            Cause::CHECKSUM_VERIFY_PASS => {
                format!("Block {block} is corrupted but checksum verification passed")
            }
            Cause::DISK_ISSUE => format!("Block {block} is corrupted due to DISK_ISSUE"),
            Cause::NETWORK_ISSUE => format!("Block {block} is corrupted due to NETWORK_ISSUE"),
            _ => format!("Block {block} is corrupted but the cause is unknown"),
        }
    }

    fn cause(&self, algorithm: Algorithm) -> Result<Cause, String> {
        let checksum = self.raw.reader().and_then(|bytes| algorithm.of(bytes));
        let checksum = checksum.map_err(|error| error.to_string())?;
        let (block, checksum) = (self.block.clone(), i64::from(checksum));
        if let Some(files) = &self.files {
            return Ok(files.diagnose(
                block.shuffle_id,
                block.map_id,
                block.reducers.start,
                checksum,
                algorithm.name(),
            ));
        }
        let address = Arc::clone(&self.address);
        let transfer = &self.shared.transfer;
        let asked = transfer.diagnose(address, block, checksum, algorithm.name());
        self.shared.env.runtime.block_on(asked)
    }
}
