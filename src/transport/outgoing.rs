//! What waits to be sent on a connection, and the task that sends it.

use super::Body;
use bytes::{Buf, Bytes, BytesMut};
use parking_lot::Mutex;
use rustix::io::{Errno, IoSlice, IoSliceMut, ReadWriteFlags};
use rustix::net::{SendAncillaryBuffer, SendFlags};
use std::collections::VecDeque;
use std::fs::File;
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
/// Up to so many bytes are sent by whoever queues them, if nothing else is waiting: it saves a message the way through another thread.
const SENT_AT_ONCE: usize = 64 << 10;
/// So much of a file is sent likewise: a small block of a shuffle, with what framing and compression add to it.
const FILE_SENT_AT_ONCE: u64 = 256 << 10;
/// Pieces given to one system call.
const PIECES_PER_CALL: usize = 64;
/// File bytes given to one system call.
const FILE_BYTES_PER_CALL: u64 = 1 << 20;
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
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    pub(super) fn touch(&self) {
        self.last
            .store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    pub(super) fn quiet_since(&self) -> Instant {
        self.started + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

/// The queue of one connection.
#[derive(Debug)]
pub(super) struct Outgoing {
    state: Mutex<State>,
    activity: Arc<Activity>,
    /// There is something to send, or the queue is closed.
    ready: Notify,
    /// Something was sent or answered, or the queue is closed.
    room: Notify,
    max_bytes: usize,
}

#[derive(Debug)]
struct State {
    /// The socket, until the queue is closed.
    socket: Option<Arc<TcpStream>>,
    /// The sending task has pieces in hand, so that nobody else may send.
    sending: bool,
    pieces: VecDeque<Piece>,
    /// Heads and small bodies behind the last piece.
    tail: BytesMut,
    /// Bytes queued or being sent, files not counted.
    bytes: usize,
    /// Files queued or being sent.
    files: usize,
    /// Requests of the other end that still will be answered.
    promises: usize,
    closed: bool,
}

#[derive(Debug)]
enum Piece {
    Bytes(Bytes),
    File {
        file: Arc<File>,
        offset: u64,
        len: u64,
    },
}

impl State {
    fn cut_tail(&mut self) {
        if !self.tail.is_empty() {
            let tail = self.tail.split().freeze();
            self.pieces.push_back(Piece::Bytes(tail));
        }
    }

    /// Sends what waits, if it is little and nobody else is sending. True if nothing is left for the sending task. Errors are left to it, too.
    fn send_now(&mut self) -> bool {
        if self.sending {
            return false;
        }
        let Some(socket) = self.socket.clone() else {
            return false;
        };
        if self.pieces.is_empty() && self.tail.len() <= SENT_AT_ONCE {
            return self.send_tail(&socket);
        }
        self.tail.is_empty() && self.send_small_file(&socket)
    }

    fn send_tail(&mut self, socket: &TcpStream) -> bool {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match rustix::net::send(socket, &self.tail, flags) {
            Ok(sent) => {
                self.tail.advance(sent);
                self.bytes -= sent;
                self.tail.is_empty()
            }
            Err(_) => false,
        }
    }

    /// A head and a short part of a file: a small block of a shuffle.
    fn send_small_file(&mut self, socket: &TcpStream) -> bool {
        let (Some(Piece::Bytes(head)), Some(Piece::File { file, offset, len }), 2) =
            (self.pieces.front(), self.pieces.back(), self.pieces.len())
        else {
            return false;
        };
        let (file, offset, len, head_len) = (file.clone(), *offset, *len, head.len());
        if len > FILE_SENT_AT_ONCE || head_len > COPIED_BODY || !is_cached(&file, offset, len) {
            return false;
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT | SendFlags::MORE;
        let Ok(sent) = rustix::net::send(socket, head, flags) else {
            return false;
        };
        self.bytes -= sent;
        if sent < head_len {
            if let Some(Piece::Bytes(head)) = self.pieces.front_mut() {
                head.advance(sent);
            }
            return false;
        }
        self.pieces.pop_front();
        // The socket never waits.
        let mut at = offset;
        match rustix::fs::sendfile(socket, &file, Some(&mut at), len as usize) {
            Ok(sent) if sent as u64 == len => {
                self.pieces.clear();
                self.files -= 1;
                true
            }
            Ok(sent) => {
                if let Some(Piece::File { offset, len, .. }) = self.pieces.front_mut() {
                    *offset += sent as u64;
                    *len -= sent as u64;
                }
                false
            }
            Err(_) => false,
        }
    }

    fn has_room(&self, max_bytes: usize) -> bool {
        self.closed
            || (self.bytes < max_bytes && self.files < MAX_FILES && self.promises < MAX_PROMISES)
    }

    /// Whether whoever waits for room is to go on. Not as soon as there is some: for a single file they and the sending task would wake each other all the
    /// time. Answers that were promised may take long, though, and must not hold up requests that there is room for.
    fn has_much_room(&self, max_bytes: usize) -> bool {
        self.has_room(max_bytes) && self.bytes <= max_bytes / 2 && self.files <= MAX_FILES / 2
    }
}

impl Outgoing {
    pub(super) fn new(max_bytes: usize, socket: Arc<TcpStream>, activity: Arc<Activity>) -> Self {
        Self {
            state: Mutex::new(State {
                socket: Some(socket),
                sending: false,
                pieces: VecDeque::new(),
                tail: BytesMut::new(),
                bytes: 0,
                files: 0,
                promises: 0,
                closed: false,
            }),
            activity,
            ready: Notify::new(),
            room: Notify::new(),
            max_bytes,
        }
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
                state.pieces.push_back(Piece::File {
                    file: file.clone(),
                    offset: *offset,
                    len: *len,
                });
            }
        }
        let all_sent = state.send_now();
        drop(state);
        if all_sent {
            self.activity.touch();
            // What is sent here is released by nobody else.
            self.room.notify_waiters();
        } else {
            self.ready.notify_one();
        }
    }

    /// An answer will be queued.
    pub(super) fn promise(&self) {
        self.state.lock().promises += 1;
    }

    /// The answer was queued.
    pub(super) fn keep_promise(&self) {
        self.release(0, 0, 1);
    }

    /// Whether more should be queued now. Nothing breaks if it is; the limits say when to stop.
    pub(super) fn has_room(&self) -> bool {
        self.state.lock().has_room(self.max_bytes)
    }

    /// Waits until more should be queued; returns at once when the queue is closed.
    pub(super) async fn room(&self) {
        self.wait(|state| state.has_room(self.max_bytes)).await;
    }

    /// Waits until everything queued so far has been given to the system, or the queue is closed.
    pub(super) async fn flushed(&self) {
        self.wait(|state| state.closed || (state.bytes == 0 && state.files == 0))
            .await;
    }

    async fn wait(&self, until: impl Fn(&State) -> bool) {
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
        drop(state);
        self.ready.notify_one();
        self.room.notify_waiters();
    }

    fn release(&self, bytes: usize, files: usize, promises: usize) {
        let mut state = self.state.lock();
        let had_room = state.has_much_room(self.max_bytes);
        state.bytes -= bytes;
        state.files -= files;
        state.promises -= promises;
        let wake = (!had_room && state.has_much_room(self.max_bytes))
            || (state.bytes == 0 && state.files == 0);
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
                state.cut_tail();
                state.sending = !state.pieces.is_empty();
                if state.sending {
                    return Some(std::mem::take(&mut state.pieces));
                }
            }
            self.ready.notified().await;
        }
    }

    /// Sends what is queued until the queue is closed or the socket fails.
    pub(super) async fn write_to(&self, socket: &TcpStream) -> io::Result<()> {
        while let Some(mut pieces) = self.take().await {
            while let Some(front) = pieces.front_mut() {
                match front {
                    Piece::Bytes(_) => {
                        let bytes = send_bytes(socket, &mut pieces).await?;
                        self.release(bytes, 0, 0);
                    }
                    Piece::File { file, offset, len } => {
                        let bytes = send_file(socket, file, *offset, *len).await?;
                        *offset += bytes;
                        *len -= bytes;
                        if *len == 0 {
                            pieces.pop_front();
                            self.release(0, 1, 0);
                        }
                    }
                }
                self.activity.touch();
            }
        }
        Ok(())
    }
}

/// Sends as many of the leading byte pieces as the socket takes, and removes what was sent.
async fn send_bytes(socket: &TcpStream, pieces: &mut VecDeque<Piece>) -> io::Result<usize> {
    let mut slices: [IoSlice<'_>; PIECES_PER_CALL] = std::array::from_fn(|_| IoSlice::new(&[]));
    let mut count = 0;
    for (slice, piece) in slices.iter_mut().zip(pieces.iter()) {
        let Piece::Bytes(bytes) = piece else { break };
        *slice = IoSlice::new(bytes);
        count += 1;
    }
    // More follows at once: the end of this call need not fill a packet of its own.
    let flags = SendFlags::NOSIGNAL
        | if pieces.len() > count {
            SendFlags::MORE
        } else {
            SendFlags::empty()
        };
    let slices = slices.get(..count).unwrap_or_default();
    let sent = when_writable(socket, || {
        rustix::net::sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags)
    })
    .await?;
    let mut rest = sent;
    while rest > 0
        && let Some(Piece::Bytes(bytes)) = pieces.front_mut()
    {
        if rest < bytes.len() {
            bytes.advance(rest);
            break;
        }
        rest -= bytes.len();
        pieces.pop_front();
    }
    Ok(sent)
}

/// Sends a part of a file as far as the socket takes it in one call.
async fn send_file(socket: &TcpStream, file: &Arc<File>, offset: u64, len: u64) -> io::Result<u64> {
    let count = len.min(FILE_BYTES_PER_CALL);
    if !is_cached(file, offset, count) {
        read_ahead(file.clone(), offset, count).await;
    }
    let sent = when_writable(socket, || {
        let mut offset = offset;
        rustix::fs::sendfile(socket, file, Some(&mut offset), count as usize)
    })
    .await?;
    if sent == 0 {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("a file ended {len} bytes before the end of the block that was announced"),
        ));
    }
    Ok(sent as u64)
}

async fn when_writable(
    socket: &TcpStream,
    mut call: impl FnMut() -> Result<usize, Errno>,
) -> io::Result<usize> {
    loop {
        match socket.try_io(Interest::WRITABLE, || call().map_err(io::Error::from)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => socket.writable().await?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Whether the first and the last byte can be read without waiting for a disk. A file system that
/// cannot tell counts as cached.
fn is_cached(file: &File, offset: u64, len: u64) -> bool {
    [offset, offset + len.saturating_sub(1)]
        .into_iter()
        .all(|at| {
            let mut byte = [0];
            let mut slices = [IoSliceMut::new(&mut byte)];
            rustix::io::preadv2(file, &mut slices, at, ReadWriteFlags::NOWAIT) != Err(Errno::AGAIN)
        })
}

/// Brings a part of a file into the page cache without holding up the tasks that move bytes. Errors show when the part is sent.
async fn read_ahead(file: Arc<File>, offset: u64, len: u64) {
    let read = tokio::task::spawn_blocking(move || {
        use std::os::unix::fs::FileExt;
        let size = std::num::NonZeroU64::new(len);
        let _ = rustix::fs::fadvise(&file, offset, size, rustix::fs::Advice::WillNeed);
        for at in [offset, offset + len.saturating_sub(1)] {
            let _ = file.read_at(&mut [0], at);
        }
    });
    let _ = read.await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn whoever_waits_for_room_goes_on_when_half_of_the_files_are_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let outgoing = Outgoing::new(1 << 20, Arc::new(socket), Arc::new(Activity::new()));
        let head = Frame::ChunkFetchSuccess {
            stream_id: 1,
            chunk_index: 0,
            body: Bytes::new(),
        };
        // Too much to be sent at once; nothing else sends.
        let body = Body::File {
            file: Arc::new(tempfile::tempfile().unwrap()),
            offset: 0,
            len: FILE_SENT_AT_ONCE + 1,
        };
        for _ in 0..MAX_FILES {
            assert!(outgoing.has_room());
            outgoing.push_with(&head, &body);
        }
        assert!(!outgoing.has_room());
        let mut waiting = std::pin::pin!(outgoing.room());
        assert!(waiting.as_mut().now_or_never().is_none());
        let mut sent = 0;
        while waiting.as_mut().now_or_never().is_none() {
            outgoing.release(0, 1, 0);
            sent += 1;
            assert!(outgoing.has_room());
        }
        assert_eq!(sent, MAX_FILES / 2);
    }
}
