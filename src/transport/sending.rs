//! Pieces of what a connection sends, and the system calls that send them.

use bytes::{Buf, Bytes};
use rustix::io::{Errno, IoSlice, IoSliceMut, ReadWriteFlags};
use rustix::net::sockopt::set_tcp_cork;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Byte pieces given to one system call.
const PIECES_PER_CALL: usize = 64;
/// File bytes given to one system call.
const FILE_BYTES_PER_CALL: u64 = 1 << 20;
/// Bytes that are sent in one go before others have their turn.
pub(super) const BYTES_PER_TURN: u64 = 4 << 20;
/// Of parts of files up to this size only the end is looked up in the page cache.
const SMALL_PART: u64 = 256 << 10;

/// Something to send.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Bytes),
    File(Part),
}

/// A part of a file. None is empty.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) file: Arc<File>,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// What was sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// Bytes that were in memory.
    pub(super) bytes: usize,
    /// Parts of files that were sent to their ends.
    pub(super) files: usize,
    /// Bytes of files.
    pub(super) file_bytes: u64,
}

impl Sent {
    /// Adds what was sent besides.
    pub(super) fn add(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.files += more.files;
        self.file_bytes += more.file_bytes;
    }
}

/// Why nothing more was sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There is nothing more.
    Done,
    /// The socket takes no more now.
    Full,
    /// Others should have their turn.
    Turn,
    /// A disk must be waited for. See [`next_part`] and [`read_ahead`].
    NotCached,
    /// The next piece is larger than the caller wants to send.
    Large,
}

/// What the caller is ready to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes of a piece in memory.
    pub(super) bytes: usize,
    /// Bytes of a part of a file.
    pub(super) part: u64,
    /// The next part is sent even if a disk must be waited for.
    pub(super) read_ahead: bool,
}

/// Sends pieces as far as the socket takes them without waiting, and removes them.
///
/// # Errors
/// The connection broke, or a file is shorter than what was announced. What was sent before counts.
pub(super) fn send(
    socket: &TcpStream,
    pieces: &mut VecDeque<Piece>,
    limits: Limits,
) -> (Sent, io::Result<Stop>) {
    let mut sent = Sent::default();
    // The ends of parts would fill packets of their own.
    let files = pieces
        .iter()
        .filter(|piece| matches!(piece, Piece::File(_)));
    let corked = files.take(2).count() == 2 && set_tcp_cork(socket, true).is_ok();
    let stop = send_on(socket, pieces, limits, &mut sent);
    if corked {
        // What was held back is sent now.
        let _ = set_tcp_cork(socket, false);
    }
    (sent, stop)
}

fn send_on(
    socket: &TcpStream,
    pieces: &mut VecDeque<Piece>,
    mut limits: Limits,
    sent: &mut Sent,
) -> io::Result<Stop> {
    loop {
        if sent.bytes as u64 + sent.file_bytes >= BYTES_PER_TURN {
            return Ok(Stop::Turn);
        }
        let result = match pieces.front() {
            None => return Ok(Stop::Done),
            Some(Piece::Bytes(bytes)) if bytes.len() > limits.bytes => return Ok(Stop::Large),
            Some(Piece::Bytes(_)) => send_bytes(socket, pieces, sent),
            Some(Piece::File(part)) if part.len > limits.part => return Ok(Stop::Large),
            Some(Piece::File(part)) => {
                if !std::mem::take(&mut limits.read_ahead) && !is_cached(part) {
                    return Ok(Stop::NotCached);
                }
                send_file(socket, pieces, sent)
            }
        };
        match result.map_err(|error| (error.kind(), error)) {
            Ok(()) | Err((io::ErrorKind::Interrupted, _)) => {}
            Err((io::ErrorKind::WouldBlock, _)) => return Ok(Stop::Full),
            Err((_, error)) => return Err(error),
        }
    }
}

/// Sends as many of the leading byte pieces as the socket takes in one call, and removes what was sent.
fn send_bytes(socket: &TcpStream, pieces: &mut VecDeque<Piece>, sent: &mut Sent) -> io::Result<()> {
    let mut slices: [IoSlice<'_>; PIECES_PER_CALL] = std::array::from_fn(|_| IoSlice::new(&[]));
    let mut count = 0;
    for (slice, piece) in slices.iter_mut().zip(pieces.iter()) {
        let Piece::Bytes(bytes) = piece else { break };
        *slice = IoSlice::new(bytes);
        count += 1;
    }
    let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    if pieces.len() > count {
        // More follows at once: the end of this call need not fill a packet of its own.
        flags |= SendFlags::MORE;
    }
    let slices = slices.get(..count).unwrap_or_default();
    let bytes = rustix::net::sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags)?;
    sent.bytes += bytes;
    let mut rest = bytes;
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
    Ok(())
}

/// Sends as much of the part at the front as the socket takes in one call, and removes it.
fn send_file(socket: &TcpStream, pieces: &mut VecDeque<Piece>, sent: &mut Sent) -> io::Result<()> {
    let Some(Piece::File(part)) = pieces.front_mut() else {
        return Ok(());
    };
    let count = part.len.min(FILE_BYTES_PER_CALL) as usize;
    let mut offset = part.offset;
    // The socket never waits.
    match rustix::fs::sendfile(socket, &part.file, Some(&mut offset), count)? as u64 {
        0 => return Err(too_short(part)),
        count => {
            part.offset += count;
            part.len -= count;
            sent.file_bytes += count;
        }
    }
    if part.len == 0 {
        pieces.pop_front();
        sent.files += 1;
    }
    Ok(())
}

/// A file is shorter than what was announced.
pub(super) fn too_short(part: &Part) -> io::Error {
    let message = format!(
        "a file ended {} bytes before the end of the block that was announced",
        part.len
    );
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

/// What [`send`] looks for in the page cache next, if the front of the queue is a file.
pub(super) fn next_part(pieces: &VecDeque<Piece>) -> Option<Part> {
    match pieces.front() {
        Some(Piece::File(part)) => Some(Part {
            len: part.len.min(FILE_BYTES_PER_CALL),
            ..part.clone()
        }),
        _ => None,
    }
}

/// Whether the end of what is sent next, and of large parts the beginning, can be read without waiting for a disk. What
/// lies in between is taken to be there, too. A file system that cannot tell counts as cached.
pub(super) fn is_cached(part: &Part) -> bool {
    let is_there = |at| {
        let mut byte = [0];
        let mut slices = [IoSliceMut::new(&mut byte)];
        rustix::io::preadv2(&part.file, &mut slices, at, ReadWriteFlags::NOWAIT)
            != Err(Errno::AGAIN)
    };
    let len = part.len.min(FILE_BYTES_PER_CALL);
    is_there(part.offset + len.saturating_sub(1)) && (len <= SMALL_PART || is_there(part.offset))
}

/// Brings a part of a file into the page cache without holding up the tasks that move bytes. Errors show when the part
/// is sent.
pub(super) async fn read_ahead(part: Part) {
    let read = tokio::task::spawn_blocking(move || {
        use std::os::unix::fs::FileExt;
        let Part { file, offset, len } = part;
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
    use std::io::{Read, Write};
    use tokio::net::TcpListener;

    const ALL: Limits = Limits {
        bytes: usize::MAX,
        part: u64::MAX,
        read_ahead: false,
    };

    /// A connected socket, and the other end, which blocks.
    async fn sockets() -> (TcpStream, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().await.unwrap().0, other)
    }

    fn part(content: &[u8], offset: u64, len: u64) -> Piece {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let file = Arc::new(file);
        Piece::File(Part { file, offset, len })
    }

    fn pattern(len: usize, seed: usize) -> Vec<u8> {
        (0..len)
            .map(|at| (at * 31 + seed + at / 251) as u8)
            .collect()
    }

    #[tokio::test]
    async fn pieces_arrive_in_their_order() {
        let (socket, mut other) = sockets().await;
        let (mut pieces, mut expected) = (VecDeque::new(), Vec::new());
        for number in 0..40 {
            let head = pattern(21, number);
            let content = pattern(70_000, number);
            let (offset, len) = (number * 100, 60_000 - number);
            expected.extend_from_slice(&head);
            expected.extend_from_slice(&content[offset..offset + len]);
            pieces.push_back(Piece::Bytes(head.into()));
            pieces.push_back(part(&content, offset as u64, len as u64));
        }
        let reader = std::thread::spawn(move || {
            let mut arrived = Vec::new();
            other.read_to_end(&mut arrived).unwrap();
            arrived
        });
        let mut total = Sent::default();
        loop {
            let (sent, stop) = send(&socket, &mut pieces, ALL);
            total.bytes += sent.bytes;
            total.files += sent.files;
            total.file_bytes += sent.file_bytes;
            match stop.unwrap() {
                Stop::Done => break,
                Stop::Full | Stop::Turn => tokio::task::yield_now().await,
                Stop::NotCached => read_ahead(next_part(&pieces).unwrap()).await,
                Stop::Large => panic!("nothing is too large"),
            }
        }
        drop(socket);
        assert!(reader.join().unwrap() == expected);
        assert_eq!((total.bytes, total.files), (40 * 21, 40));
        assert_eq!(total.bytes as u64 + total.file_bytes, expected.len() as u64);
    }

    #[tokio::test]
    async fn a_full_socket_and_large_pieces_end_the_sending() {
        let (socket, _other) = sockets().await;
        let content = pattern(1 << 20, 0);
        let mut pieces = VecDeque::from([part(&content, 0, 1 << 20)]);
        let limits = Limits {
            part: 1 << 10,
            ..ALL
        };
        let (sent, stop) = send(&socket, &mut pieces, limits);
        assert_eq!((sent, stop.unwrap()), (Sent::default(), Stop::Large));
        let limits = Limits { bytes: 10, ..ALL };
        let mut bytes = VecDeque::from([Piece::Bytes(Bytes::from_static(b"12345678901"))]);
        let (sent, stop) = send(&socket, &mut bytes, limits);
        assert_eq!((sent, stop.unwrap()), (Sent::default(), Stop::Large));
        // Nobody reads.
        let mut turns = 0;
        loop {
            pieces.push_back(part(&content, 0, 1 << 20));
            match send(&socket, &mut pieces, ALL).1.unwrap() {
                Stop::Full => break,
                Stop::NotCached => read_ahead(next_part(&pieces).unwrap()).await,
                _ => turns += 1,
            }
            assert!(turns < 1000);
        }
        assert!(!pieces.is_empty());
    }

    #[tokio::test]
    async fn a_file_that_is_too_short_is_an_error() {
        let (socket, _other) = sockets().await;
        let mut pieces = VecDeque::from([part(b"12345", 0, 9)]);
        let (sent, stop) = send(&socket, &mut pieces, ALL);
        let error = stop.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(
            error.to_string().contains("ended 4 bytes before"),
            "{error}"
        );
        assert_eq!((sent.files, sent.file_bytes), (0, 5));
    }
}
