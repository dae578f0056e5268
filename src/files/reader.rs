//! Reading a file from a position on.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::FileError;
use super::hdfs::{self, HdfsFile};
use super::object::ObjectFile;
use crate::cancel::Cancellation;

/// Bytes of a file in order.
pub(super) type Chunks = BoxStream<'static, Result<Bytes, FileError>>;

/// Bytes that wait for the task at most, per open file. Larger pieces come one at a time.
const READ_AHEAD: u32 = 4 << 20;

/// Pieces that wait at most.
const PIECES: usize = 1024;

/// Bytes asked for at a time behind the part that the reader was opened for.
const MORE: u64 = 4 << 20;

/// A file that is read in order, from a position on. Reads block the thread; that of a remote file ends when the task
/// is told to stop.
#[derive(Debug)]
pub struct FileInput(Source);

#[derive(Debug)]
enum Source {
    Local(File),
    Remote(Box<Remote>),
}

impl FileInput {
    /// A file of the operating system.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn local(path: &std::path::Path, start: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if start > 0 {
            file.seek(SeekFrom::Start(start))?;
        }
        Ok(Self(Source::Local(file)))
    }

    pub(super) fn remote(remote: Remote) -> Self {
        Self(Source::Remote(Box::new(remote)))
    }

    /// The length of the whole file, in bytes.
    ///
    /// # Errors
    /// The operating system does not say.
    pub fn length(&self) -> io::Result<u64> {
        match &self.0 {
            Source::Local(file) => Ok(file.metadata()?.len()),
            Source::Remote(remote) => Ok(remote.length),
        }
    }
}

impl Read for FileInput {
    /// Of a remote file, gives what is left of the piece that came last, as Hadoop's streams do.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Source::Local(file) => file.read(buf),
            Source::Remote(remote) => remote.read(buf),
        }
    }
}

/// A file of another machine.
pub(super) enum Opened {
    Hdfs(HdfsFile),
    Object(ObjectFile),
}

impl Opened {
    pub(super) fn scheme(&self) -> &str {
        match self {
            Self::Hdfs(_) => hdfs::SCHEME,
            Self::Object(file) => file.scheme(),
        }
    }

    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Hdfs(file) => file.length(),
            Self::Object(file) => file.length(),
        }
    }

    pub(super) fn chunks(&self, range: &Range<u64>) -> Chunks {
        match self {
            Self::Hdfs(file) => file.chunks(range),
            Self::Object(file) => file.chunks(range),
        }
    }
}

/// A remote file that is read in order.
pub(super) struct Remote {
    file: Opened,
    length: u64,
    /// Where the next piece begins.
    position: u64,
    /// Where the bytes end that have been asked for.
    asked: u64,
    pieces: Pieces,
    current: Bytes,
    runtime: Handle,
    cancellation: Cancellation,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("length", &self.length)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Remote {
    /// Reads from the start of `wanted` on; its end says how far the reader will probably go. `begun` has the first
    /// bytes, if they have been asked for.
    pub(super) fn new(
        file: Opened,
        wanted: Range<u64>,
        begun: Option<Chunks>,
        runtime: &Handle,
        cancellation: &Cancellation,
    ) -> Self {
        let length = file.length();
        let end = wanted.end.min(length);
        let chunks = match begun {
            Some(chunks) => chunks,
            None if wanted.start < end => file.chunks(&(wanted.start..end)),
            None => futures_util::stream::empty().boxed(),
        };
        Self {
            length,
            position: wanted.start,
            asked: end,
            pieces: Pieces::new(chunks, runtime),
            file,
            current: Bytes::new(),
            runtime: runtime.clone(),
            cancellation: cancellation.clone(),
        }
    }

    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            if !self.next_piece()? {
                return Ok(0);
            }
        }
        let count = self.current.len().min(buf.len());
        let taken = self.current.split_to(count);
        if let Some(room) = buf.get_mut(..count) {
            room.copy_from_slice(&taken);
        }
        Ok(count)
    }

    /// False at the end of the file.
    fn next_piece(&mut self) -> Result<bool, FileError> {
        loop {
            let next = match self.pieces.ready() {
                Some(next) => next,
                None => self.runtime.block_on(async {
                    tokio::select! {
                        biased;
                        reason = self.cancellation.cancelled() => Some(Err(FileError::Cancelled(reason))),
                        next = self.pieces.next() => next,
                    }
                }),
            };
            match next.transpose()? {
                Some(piece) => {
                    self.position += piece.len() as u64;
                    self.current = piece;
                    return Ok(true);
                }
                None if self.position >= self.length => return Ok(false),
                None if self.position < self.asked => {
                    let scheme = self.file.scheme();
                    return Err(FileError::failed(scheme, "less came than was asked for"));
                }
                None => {
                    self.asked = (self.position + MORE).min(self.length);
                    let chunks = self.file.chunks(&(self.position..self.asked));
                    self.pieces = Pieces::new(chunks, &self.runtime);
                }
            }
        }
    }
}

type Piece = (Result<Bytes, FileError>, Option<OwnedSemaphorePermit>);

/// Bytes that arrive while the task works with those before.
struct Pieces {
    receiver: mpsc::Receiver<Piece>,
    /// Room that the piece given out last takes, until the next is asked for.
    held: Option<OwnedSemaphorePermit>,
}

impl Pieces {
    fn new(mut chunks: Chunks, runtime: &Handle) -> Self {
        let (sender, receiver) = mpsc::channel(PIECES);
        let room = Arc::new(Semaphore::new(READ_AHEAD as usize));
        runtime.spawn(async move {
            loop {
                // Whoever reads may have gone.
                let chunk = tokio::select! {
                    () = sender.closed() => return,
                    chunk = chunks.next() => chunk,
                };
                let Some(chunk) = chunk else { return };
                let size = chunk.as_ref().map_or(0, Bytes::len);
                let permits = u32::try_from(size).unwrap_or(READ_AHEAD).min(READ_AHEAD);
                let permit = tokio::select! {
                    () = sender.closed() => return,
                    permit = Arc::clone(&room).acquire_many_owned(permits) => permit.ok(),
                };
                if sender.send((chunk, permit)).await.is_err() {
                    return;
                }
            }
        });
        Self {
            receiver,
            held: None,
        }
    }

    /// What is there already.
    fn ready(&mut self) -> Option<Option<Result<Bytes, FileError>>> {
        self.held = None;
        let (chunk, permit) = self.receiver.try_recv().ok()?;
        self.held = permit;
        Some(Some(chunk))
    }

    async fn next(&mut self) -> Option<Result<Bytes, FileError>> {
        let (chunk, permit) = self.receiver.recv().await?;
        self.held = permit;
        Some(chunk)
    }
}
