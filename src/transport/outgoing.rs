//! What waits to be sent on a connection, and the task that sends it.

use super::Body;
use super::encrypted::{Outbound, Sealing};
use super::ledger::{Account, Held, Reason};
use super::sending::{self, Limits, Part, Piece, Sent, Stop};
use bytes::{Buf, BytesMut};
use parking_lot::{Mutex, MutexGuard};
use rustix::net::SendFlags;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;
use wire::frame::Frame;

/// Bodies up to this size are copied behind their heads instead of being sent as a piece of their own.
const COPIED_BODY: usize = 8 << 10;
/// What is sent by whoever queues it: it saves small messages and small blocks of shuffles, with what framing and
/// compression add to them, the way through another thread.
const AT_ONCE: Limits = Limits {
    bytes: 64 << 10,
    part: 256 << 10,
    read_ahead: false,
};
/// What is queued is entered into the ledger in units of this size.
const COUNTED: usize = 1 << 20;
/// Bytes queued from which on requests are no longer read when the ledger is full.
const FEW_BYTES: usize = 64 << 10;
/// Open files that may wait on one connection.
const MAX_FILES: usize = 32;
/// Requests of the other end that may be unanswered.
const MAX_PROMISES: usize = 1024;

/// When something was last sent or received on a connection.
#[derive(Debug)]
pub(super) struct Activity {
    started: Instant,
    /// Milliseconds after `started`.
    last: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            last: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        }
    }

    pub(super) fn touch(&self) {
        self.last
            .store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Bytes arrived.
    pub(super) fn receive(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes that arrived so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Bytes that were sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(super) fn quiet_since(&self) -> Instant {
        self.started + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

/// The queue of one connection.
#[derive(Debug)]
pub(super) struct Outgoing {
    state: Mutex<Queue>,
    activity: Arc<Activity>,
    /// There is something to send, or the queue is closed.
    ready: Notify,
    /// Something was sent or answered, or the queue is closed.
    room: Notify,
    max_bytes: usize,
    account: Option<Arc<Account>>,
    /// The cipher, used by whoever sends.
    encrypted: Option<Mutex<Outbound>>,
}

#[derive(Debug)]
struct Queue {
    /// The socket, until the queue is closed.
    socket: Option<Arc<TcpStream>>,
    sender: Sender,
    /// More is about to be queued: nothing is sent yet.
    waits: bool,
    pieces: VecDeque<Piece>,
    /// Heads and small bodies behind the last piece.
    tail: BytesMut,
    /// Something is encrypted that was not sent; it comes before the first piece.
    sealed: bool,
    /// Bytes queued or being sent, files not counted.
    bytes: usize,
    /// The memory of `bytes`, if the other end is a stranger.
    held: Option<Held>,
    /// Files queued or being sent.
    files: usize,
    /// Requests of the other end that still will be answered.
    promises: usize,
    closed: bool,
}

/// Who has pieces in hand, so that nobody else may send.
#[derive(Debug, PartialEq, Eq)]
enum Sender {
    Nobody,
    /// The sending task.
    Task,
    /// Who queued something.
    Caller,
}

impl Queue {
    fn cut_tail(&mut self) {
        if !self.tail.is_empty() {
            let tail = self.tail.split().freeze();
            self.pieces.push_back(Piece::Bytes(tail));
        }
    }

    /// Enters what is queued into the ledger, roughly: whoever takes what he is sent has little in the queue.
    fn count(&mut self) {
        let counted = self.bytes / COUNTED * COUNTED;
        if let Some(held) = &mut self.held
            && held.bytes() != counted
        {
            held.resize(counted);
        }
    }

    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.tail.is_empty() && !self.sealed
    }

    /// Sends the tail. Errors are left to the sending task.
    fn send_tail(&mut self, socket: &TcpStream) -> Sent {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let bytes = rustix::net::send(socket, &self.tail, flags).unwrap_or_default();
        self.tail.advance(bytes);
        Sent {
            bytes,
            ..Sent::default()
        }
    }

    fn has_room(&self, max_bytes: usize) -> bool {
        self.closed
            || (self.bytes < max_bytes && self.files < MAX_FILES && self.promises < MAX_PROMISES)
    }

    /// Whether whoever waits for room is to go on. Not as soon as there is some: for a single file they and the sending
    /// task would wake each other all the time. Answers that were promised may take long, though, and must not hold up
    /// requests that there is room for.
    fn has_much_room(&self, max_bytes: usize) -> bool {
        self.has_room(max_bytes) && self.bytes <= max_bytes / 2 && self.files <= MAX_FILES / 2
    }
}

impl Outgoing {
    /// With an account, the other end is a stranger.
    pub(super) fn new(
        max_bytes: usize,
        socket: Arc<TcpStream>,
        activity: Arc<Activity>,
        account: Option<Arc<Account>>,
    ) -> Self {
        let held = account
            .as_ref()
            .map(|account| account.hold(0, Reason::Untaken));
        Self {
            state: Mutex::new(Queue {
                socket: Some(socket),
                sender: Sender::Nobody,
                waits: false,
                pieces: VecDeque::new(),
                tail: BytesMut::new(),
                sealed: false,
                bytes: 0,
                held,
                files: 0,
                promises: 0,
                closed: false,
            }),
            activity,
            ready: Notify::new(),
            room: Notify::new(),
            max_bytes,
            account,
            encrypted: None,
        }
    }

    /// Everything that is sent is encrypted.
    pub(super) fn encrypted(mut self, sealer: Option<Sealing>) -> Self {
        self.encrypted = sealer.map(|sealer| Mutex::new(Outbound::new(sealer)));
        self
    }

    /// Queues a frame with its own body. Nothing happens when the queue is closed.
    pub(super) fn push(&self, frame: &Frame) {
        self.push_with(frame, &Body::Bytes(frame.body()));
    }

    /// Queues the head of `frame` and `body`, which may be in the frame or follow it.
    pub(super) fn push_with(&self, frame: &Frame, body: &Body) {
        let outside = matches!(
            frame,
            Frame::StreamResponse { .. } | Frame::UploadStream { .. }
        );
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        let before = state.tail.len();
        frame.encode_head_for(if outside { 0 } else { body.len() }, &mut state.tail);
        state.bytes += state.tail.len() - before;
        match body {
            Body::Bytes(bytes) => {
                state.bytes += bytes.len();
                if bytes.len() <= COPIED_BODY {
                    state.tail.extend_from_slice(bytes);
                } else {
                    state.cut_tail();
                    state.pieces.push_back(Piece::Bytes(bytes.clone()));
                }
            }
            Body::File { len: 0, .. } => {}
            Body::File { file, offset, len } => {
                state.cut_tail();
                state.files += 1;
                state.pieces.push_back(Piece::File(Part {
                    file: file.clone(),
                    offset: *offset,
                    len: *len,
                }));
            }
        }
        state.count();
        if !state.waits {
            self.send_now(state);
        }
    }

    /// Whether whoever calls this has more to queue at once. What is queued is sent when they have not: one behind the
    /// other it costs less, and the other end does not go to sleep in between.
    pub(super) fn hold(&self, held: bool) {
        let mut state = self.state.lock();
        state.waits = held;
        if !held {
            self.send_now(state);
        }
    }

    /// Sends what waits, if it is little and nobody else is sending. What is left is the sending task's.
    fn send_now<'a>(&'a self, mut state: MutexGuard<'a, Queue>) {
        // Whoever is sending goes on with it.
        if state.sender != Sender::Nobody || state.is_empty() {
            return;
        }
        let Some(socket) = state.socket.clone() else {
            return;
        };
        let sent;
        let plain = self.encrypted.is_none();
        if plain && state.pieces.is_empty() && state.tail.len() <= AT_ONCE.bytes {
            sent = state.send_tail(&socket);
        } else {
            state.cut_tail();
            state.sender = Sender::Caller;
            let mut pieces = std::mem::take(&mut state.pieces);
            drop(state);
            (sent, _) = self.send(&socket, &mut pieces, AT_ONCE);
            let sealed = self.has_sealed();
            state = self.state.lock();
            state.sealed = sealed;
            state.sender = Sender::Nobody;
            if !state.closed {
                // Behind what is left comes what was queued meanwhile.
                pieces.append(&mut state.pieces);
                state.pieces = pieces;
            }
        }
        let left = !state.is_empty();
        self.release(state, sent, 0);
        if left {
            self.ready.notify_one();
        }
    }

    /// Sends pieces, encrypted if the connection is. Called by who has the pieces in hand.
    fn send(
        &self,
        socket: &TcpStream,
        pieces: &mut VecDeque<Piece>,
        limits: Limits,
    ) -> (Sent, io::Result<Stop>) {
        match &self.encrypted {
            Some(encrypted) => encrypted.lock().send(socket, pieces, limits),
            None => sending::send(socket, pieces, limits),
        }
    }

    /// Tells the other end, if it listens, that nothing more is sent.
    pub(super) fn farewell(&self, socket: &TcpStream) {
        if let Some(encrypted) = &self.encrypted {
            encrypted.lock().farewell(socket);
        }
    }

    /// Whether something is encrypted that was not sent.
    fn has_sealed(&self) -> bool {
        let encrypted = self.encrypted.as_ref();
        encrypted.is_some_and(|encrypted| encrypted.lock().has_more())
    }

    /// An answer will be queued.
    pub(super) fn promise(&self) {
        self.state.lock().promises += 1;
    }

    /// The answer was queued.
    pub(super) fn keep_promise(&self) {
        self.release(self.state.lock(), Sent::default(), 1);
    }

    /// Bytes that may be queued.
    fn limit(&self) -> usize {
        match &self.account {
            Some(account) if !account.fits(COUNTED) => self.max_bytes.min(FEW_BYTES),
            _ => self.max_bytes,
        }
    }

    /// Whether more should be queued now. Nothing breaks if it is; the limits say when to stop.
    pub(super) fn has_room(&self) -> bool {
        self.state.lock().has_room(self.limit())
    }

    /// Waits until more should be queued; returns at once when the queue is closed.
    pub(super) async fn room(&self) {
        self.wait(|state| state.has_room(self.limit())).await;
    }

    /// Waits until everything queued so far has been given to the system, or the queue is closed.
    pub(super) async fn flushed(&self) {
        self.wait(|state| state.closed || (state.bytes == 0 && state.files == 0))
            .await;
    }

    async fn wait(&self, until: impl Fn(&Queue) -> bool) {
        loop {
            let changed = self.room.notified();
            tokio::pin!(changed);
            // Registered before the check, so that a change right after it is not missed.
            changed.as_mut().enable();
            if until(&self.state.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// Discards what is queued and refuses more.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.socket = None;
        state.pieces.clear();
        state.tail.clear();
        state.held = None;
        drop(state);
        self.ready.notify_one();
        self.room.notify_waiters();
    }

    /// Counts what was sent and answered, and wakes whoever waits for it.
    fn release(&self, mut state: MutexGuard<'_, Queue>, sent: Sent, promises: usize) {
        if sent != Sent::default() {
            self.activity.touch();
            let bytes = sent.bytes as u64 + sent.file_bytes;
            self.activity.sent.fetch_add(bytes, Ordering::Relaxed);
        }
        let limit = self.limit();
        let had_room = state.has_much_room(limit);
        state.bytes -= sent.bytes;
        state.count();
        state.files -= sent.files;
        state.promises -= promises;
        let wake =
            (!had_room && state.has_much_room(limit)) || (state.bytes == 0 && state.files == 0);
        drop(state);
        if wake {
            self.room.notify_waiters();
        }
    }

    /// Everything queued, or `None` when the queue is closed.
    async fn take(&self) -> Option<VecDeque<Piece>> {
        loop {
            {
                let mut state = self.state.lock();
                if state.closed {
                    return None;
                }
                // Who queued something gives it back.
                if state.sender != Sender::Caller {
                    state.cut_tail();
                    if !state.is_empty() {
                        state.sealed = false;
                        state.sender = Sender::Task;
                        return Some(std::mem::take(&mut state.pieces));
                    }
                    state.sender = Sender::Nobody;
                }
            }
            self.ready.notified().await;
        }
    }

    /// Sends what is queued until the queue is closed or the socket fails.
    pub(super) async fn write_to(&self, socket: &TcpStream) -> io::Result<()> {
        while let Some(mut pieces) = self.take().await {
            let mut limits = Limits {
                bytes: usize::MAX,
                part: u64::MAX,
                read_ahead: false,
            };
            loop {
                let mut sent = Sent::default();
                let stop = socket.try_io(Interest::WRITABLE, || {
                    let stop;
                    (sent, stop) = self.send(socket, &mut pieces, limits);
                    match stop? {
                        Stop::Full => Err(io::ErrorKind::WouldBlock.into()),
                        stop => Ok(stop),
                    }
                });
                if sent != Sent::default() {
                    self.release(self.state.lock(), sent, 0);
                    limits.read_ahead = false;
                }
                match stop {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        socket.writable().await?;
                    }
                    Err(error) => return Err(error),
                    Ok(Stop::NotCached) => {
                        if let Some(part) = sending::next_part(&pieces) {
                            sending::read_ahead(part).await;
                            limits.read_ahead = true;
                        }
                    }
                    Ok(Stop::Turn) => tokio::task::yield_now().await,
                    Ok(Stop::Done) => break,
                    Ok(Stop::Full | Stop::Large) => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
