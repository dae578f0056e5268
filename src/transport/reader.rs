//! The reading half of a connection: frames, and the raw bytes that follow some of them.

use bytes::{Bytes, BytesMut};
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::PollSemaphore;
use wire::frame::{Frame, FrameError};

/// Bytes asked of the system at a time.
const READ_SIZE: usize = 64 << 10;
/// Frames above this size take part in the server's memory budget, which counts in units of this size.
pub(super) const BUDGET_UNIT: usize = 64 << 10;
/// Raw bytes that nobody wants are read and thrown away up to this number; beyond it the connection is given up.
const MAX_DISCARDED: u64 = 1 << 20;

/// Reads one connection.
pub(super) struct Reader {
    socket: Arc<TcpStream>,
    buffer: BytesMut,
    max_frame: usize,
    budget: Option<PollSemaphore>,
    /// Memory granted to the frame that is being read.
    granted: Option<OwnedSemaphorePermit>,
    /// The frame that is being read waits for memory.
    waits_for_memory: bool,
    raw: Option<Raw>,
}

/// Bytes outside of frames.
struct Raw {
    missing: u64,
    consumer: mpsc::Sender<Bytes>,
}

/// What was read.
pub(super) enum Event {
    /// A frame, with its share of the memory budget.
    Frame(Frame, Option<OwnedSemaphorePermit>),
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
}

impl Reader {
    /// `budget` counts units of [`BUDGET_UNIT`] bytes.
    pub(super) fn new(
        socket: Arc<TcpStream>,
        max_frame: usize,
        budget: Option<Arc<Semaphore>>,
    ) -> Self {
        let budget = budget.map(PollSemaphore::new);
        Self {
            socket,
            buffer: BytesMut::new(),
            max_frame,
            budget,
            granted: None,
            waits_for_memory: false,
            raw: None,
        }
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
        self.raw.is_some() || !self.buffer.is_empty()
    }

    /// Whether a frame is here that [`Reader::next`] gives at once.
    pub(super) fn has_frame(&self) -> bool {
        self.raw.is_none()
            && Frame::announced(&self.buffer, self.max_frame).is_ok_and(|size| {
                size.is_some_and(|size| size <= BUDGET_UNIT && size <= self.buffer.len())
            })
    }

    /// Whether it is this end that does not read on: nobody takes what has arrived, or there is no memory for what is to come.
    pub(super) fn is_held_up(&self) -> bool {
        self.waits_for_memory || (self.raw.is_some() && !self.buffer.is_empty())
    }

    /// Reads on. May be dropped at any point without losing bytes.
    pub(super) async fn next(&mut self) -> Result<Event, ReadError> {
        if self.raw.is_some() {
            return self.next_raw().await;
        }
        let size = Frame::announced(&self.buffer, self.max_frame)?.unwrap_or_default();
        if size > BUDGET_UNIT
            && self.granted.is_none()
            && let Some(budget) = &mut self.budget
        {
            self.waits_for_memory = true;
            let units = size.div_ceil(BUDGET_UNIT) as u32;
            self.granted = poll_fn(|cx| budget.poll_acquire_many(cx, units)).await;
            self.waits_for_memory = false;
        }
        if let Some(frame) = Frame::decode(&mut self.buffer, self.max_frame)? {
            return Ok(Event::Frame(frame, self.granted.take()));
        }
        self.fill(size.saturating_sub(self.buffer.len())).await
    }

    async fn next_raw(&mut self) -> Result<Event, ReadError> {
        if self.buffer.is_empty() {
            return self.fill(0).await;
        }
        let Some(Raw { missing, consumer }) = &mut self.raw else {
            return Ok(Event::Progress);
        };
        let count = self
            .buffer
            .len()
            .min(usize::try_from(*missing).unwrap_or(usize::MAX));
        match consumer.reserve().await {
            Ok(slot) => slot.send(self.buffer.split_to(count).freeze()),
            Err(_) if *missing > MAX_DISCARDED => return Err(ReadError::Unwanted(*missing)),
            Err(_) => drop(self.buffer.split_to(count)),
        }
        *missing -= count as u64;
        if *missing == 0 {
            self.raw = None;
        }
        Ok(Event::Progress)
    }

    /// Reads what the socket has into a buffer with room for the `missing` bytes of a frame; the system gives memory to
    /// it only as they arrive. An idle connection has no buffer.
    async fn fill(&mut self, missing: usize) -> Result<Event, ReadError> {
        loop {
            self.buffer.reserve(missing.max(READ_SIZE));
            match self.socket.try_read_buf(&mut self.buffer) {
                Ok(0) if self.is_inside() => return Err(ReadError::Truncated),
                Ok(0) => return Ok(Event::End),
                Ok(_) => return Ok(Event::Progress),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.buffer.is_empty() {
                        self.buffer = BytesMut::new();
                    }
                    self.socket.readable().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
