//! The reading half of a connection: frames, and the raw bytes that follow some of them.

use super::encrypted::{Incoming, Unsealing};
use super::ledger::{Account, Held, Reason, Turn};
use super::outgoing::Activity;
use auth::CipherError;
use bytes::{Bytes, BytesMut};
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use wire::frame::{Frame, FrameError, FrameKind};

/// Bytes asked of the system at a time. Frames above this size are in the ledger while they arrive.
const READ_SIZE: usize = 64 << 10;
/// Bytes of the longest request for data: the names of streams are short, and the metadata of uploads have at most 64
/// KiB.
const MAX_REQUEST: usize = 68 << 10;
/// Raw bytes that nobody wants are read and thrown away up to this number; beyond it the connection is given up.
const MAX_DISCARDED: u64 = 1 << 20;

/// Reads one connection.
pub(super) struct Reader {
    socket: Arc<TcpStream>,
    buffer: BytesMut,
    max_frame: usize,
    activity: Arc<Activity>,
    /// What the other end may hold, if it is a stranger.
    account: Option<Arc<Account>>,
    /// Memory of the frame that is being read.
    held: Option<Held>,
    turn: Option<Turn>,
    /// This end does not read on: there is no memory, or nobody takes what has arrived.
    held_up: bool,
    /// As `held_up`, at any time since [`Reader::was_held_up`] was called last.
    was_held_up: bool,
    raw: Option<Raw>,
    /// The cipher of what arrives.
    encrypted: Option<Incoming>,
    /// Frames and runs of raw bytes that have come to their ends.
    finished: u64,
}

/// Bytes outside of frames.
struct Raw {
    missing: u64,
    consumer: mpsc::Sender<Bytes>,
}

/// What was read.
pub(super) enum Event {
    /// A frame, with the memory that it holds.
    Frame(Frame, Option<Held>),
    /// Some bytes of a frame or behind it.
    Progress,
    /// The other end closed the connection between two frames.
    End,
}

/// Why a connection cannot be read on.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the connection was closed in the middle of a frame or stream")]
    Truncated,
    #[error("nobody wants the {0} bytes of a stream that are still to come")]
    Unwanted(u64),
    #[error("{0}")]
    Cipher(#[from] CipherError),
    #[error("{0} bytes are too many for a {1}")]
    TooLarge(usize, FrameKind),
}

impl Reader {
    /// Without an account whatever comes is taken: this end has asked for it.
    pub(super) fn new(
        socket: Arc<TcpStream>,
        max_frame: usize,
        activity: Arc<Activity>,
        account: Option<Arc<Account>>,
    ) -> Self {
        Self {
            socket,
            buffer: BytesMut::new(),
            max_frame,
            activity,
            account,
            held: None,
            turn: None,
            held_up: false,
            was_held_up: false,
            raw: None,
            encrypted: None,
            finished: 0,
        }
    }

    /// A reader of a connection that was opened with a handshake: what arrives is encrypted, and `rest` has arrived.
    pub(super) fn opened(
        mut self,
        opener: Option<Unsealing>,
        rest: BytesMut,
    ) -> Result<Self, ReadError> {
        match opener {
            Some(opener) => {
                self.encrypted = Some(Incoming::new(opener, rest, &mut self.buffer)?);
            }
            None => self.buffer = rest,
        }
        Ok(self)
    }

    /// Whether what arrives is encrypted and nothing of it has made sense so far.
    pub(super) fn understands_nothing(&self) -> bool {
        let encrypted = self.encrypted.as_ref();
        encrypted.is_some_and(|encrypted| !encrypted.is_proven()) && self.finished == 0
    }

    /// The next `len` bytes are not a frame but go to `consumer`.
    pub(super) fn divert(&mut self, len: u64, consumer: mpsc::Sender<Bytes>) {
        self.raw = (len > 0).then_some(Raw {
            missing: len,
            consumer,
        });
    }

    /// Whether the other end has begun something that it has not finished.
    pub(super) fn is_inside(&self) -> bool {
        let encrypted = self.encrypted.as_ref();
        self.raw.is_some() || !self.buffer.is_empty() || encrypted.is_some_and(Incoming::is_inside)
    }

    /// How many things the other end has finished.
    pub(super) fn finished(&self) -> u64 {
        self.finished
    }

    /// Whether a frame is here that [`Reader::next`] gives at once.
    pub(super) fn has_frame(&self) -> bool {
        self.raw.is_none()
            && Frame::announced(&self.buffer, self.max_frame).is_ok_and(|size| {
                size.is_some_and(|size| size <= READ_SIZE && size <= self.buffer.len())
            })
    }

    /// Whether it is this end that does not read on: nobody takes what has arrived, or there is no memory for what is
    /// to come.
    pub(super) fn is_held_up(&self) -> bool {
        self.held_up || (self.raw.is_some() && !self.buffer.is_empty())
    }

    /// As [`Reader::is_held_up`], at any time since this was called last.
    pub(super) fn was_held_up(&mut self) -> bool {
        std::mem::replace(&mut self.was_held_up, false) | self.is_held_up()
    }

    /// Reads on. May be dropped at any point without losing bytes.
    pub(super) async fn next(&mut self) -> Result<Event, ReadError> {
        if self.raw.is_some() {
            return self.next_raw().await;
        }
        let size = Frame::announced(&self.buffer, self.max_frame)?.unwrap_or_default();
        if self.account.is_some() && size > MAX_REQUEST {
            self.check_large(size)?;
        }
        if let Some(frame) = Frame::decode(&mut self.buffer, self.max_frame)? {
            self.finished += 1;
            self.turn = None;
            let mut held = self.held.take();
            if let Some(held) = &mut held {
                held.because(Reason::Busy);
            }
            return Ok(Event::Frame(frame, held));
        }
        self.fill(size.saturating_sub(self.buffer.len())).await
    }

    /// Messages may be large, requests for data never are.
    fn check_large(&self, size: usize) -> Result<(), ReadError> {
        match Frame::announced_kind(&self.buffer) {
            Some(
                kind @ (FrameKind::ChunkFetchRequest
                | FrameKind::StreamRequest
                | FrameKind::UploadStream),
            ) => Err(ReadError::TooLarge(size, kind)),
            _ => Ok(()),
        }
    }

    async fn next_raw(&mut self) -> Result<Event, ReadError> {
        if self.buffer.is_empty() {
            self.room(READ_SIZE).await;
            self.turn = None;
            return self.fill(0).await;
        }
        let Some(Raw { missing, consumer }) = &mut self.raw else {
            return Ok(Event::Progress);
        };
        let count = self
            .buffer
            .len()
            .min(usize::try_from(*missing).unwrap_or(usize::MAX));
        if consumer.capacity() == 0 {
            self.was_held_up = true;
        }
        match consumer.reserve().await {
            Ok(slot) => {
                let piece = self.buffer.split_to(count).freeze();
                slot.send(match &self.account {
                    Some(account) => account.hold(count, Reason::Busy).with(piece),
                    None => piece,
                });
            }
            Err(_) if *missing > MAX_DISCARDED => return Err(ReadError::Unwanted(*missing)),
            Err(_) => drop(self.buffer.split_to(count)),
        }
        *missing -= count as u64;
        if *missing == 0 {
            self.raw = None;
            self.finished += 1;
        }
        // What is left may be a frame that is not whole.
        self.held = None;
        Ok(Event::Progress)
    }

    /// Waits until that many more bytes may be held.
    async fn room(&mut self, bytes: usize) {
        let Some(account) = &self.account else {
            return;
        };
        if !account.fits(bytes) {
            (self.held_up, self.was_held_up) = (true, true);
            account.hold_up(true);
            account.room(bytes, &mut self.turn).await;
        }
        // Also if the waiting was dropped and begun again.
        if std::mem::take(&mut self.held_up) {
            account.hold_up(false);
        }
    }

    /// Makes room for what comes next, of which the frame has `missing` bytes.
    async fn reserve(&mut self, missing: usize) {
        if self.account.is_none() {
            // The system gives memory only as bytes arrive.
            return self.buffer.reserve(missing.max(READ_SIZE));
        }
        // As much again as has arrived: a frame of which nothing comes has no memory.
        let step = missing.min(self.buffer.len()).max(READ_SIZE);
        let wanted = self.buffer.len() + step;
        let held = self.held.as_ref().map_or(0, Held::bytes);
        // Most frames are smaller than what is read at a time, and gone at once.
        if wanted > 2 * READ_SIZE && wanted > held {
            self.room(wanted - held).await;
            self.hold(wanted);
        }
        self.buffer.reserve(step);
    }

    /// Enters the frame that is being read into the ledger with at least that many bytes.
    fn hold(&mut self, bytes: usize) {
        match (&mut self.held, &self.account) {
            (Some(held), _) => held.resize(bytes.max(held.bytes())),
            (held, Some(account)) => *held = Some(account.hold(bytes, Reason::Unfinished)),
            (None, None) => {}
        }
    }

    /// Reads what the socket has. An idle connection has no buffer, and one in the middle of a small frame one of its
    /// size.
    async fn fill(&mut self, missing: usize) -> Result<Event, ReadError> {
        loop {
            self.reserve(missing).await;
            let read = match &mut self.encrypted {
                Some(encrypted) => encrypted.read(&self.socket, &mut self.buffer),
                None => self
                    .socket
                    .try_read_buf(&mut self.buffer)
                    .map_err(ReadError::Io),
            };
            match read {
                Ok(0) if self.is_inside() => return Err(ReadError::Truncated),
                Ok(0) => return Ok(Event::End),
                Ok(count) => {
                    self.activity.receive(count);
                    return Ok(Event::Progress);
                }
                Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.settle();
                    self.socket.readable().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Nothing more is here for now: gives back what the buffer has too much, and enters the rest into the ledger.
    fn settle(&mut self) {
        if let Some(encrypted) = &mut self.encrypted {
            encrypted.settle();
        }
        let len = self.buffer.len();
        if len == 0 {
            self.buffer = BytesMut::new();
            return;
        }
        if self.account.is_none() {
            return;
        }
        if len < READ_SIZE && self.buffer.capacity() > 2 * len {
            self.buffer = BytesMut::from(self.buffer.as_ref());
        }
        self.hold(len);
    }
}
