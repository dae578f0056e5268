//! Both directions of an encrypted connection. Files cannot go from the page cache to the socket here: they are read,
//! encrypted and sent.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::FileExt;

use auth::{Opener, Sealer};
use bytes::{Buf, BytesMut};
use rustix::net::SendFlags;
use tokio::net::TcpStream;

use super::reader::ReadError;
use super::sending::{self, Limits, Piece, Sent, Stop};

/// Bytes asked of the system at a time.
const READ_SIZE: usize = 64 << 10;
/// Bytes that are encrypted at a time, and make one message of AES-GCM.
const BATCH: usize = 256 << 10;

/// What arrives on an encrypted connection.
#[derive(Debug)]
pub(super) struct Incoming {
    opener: Opener,
    /// What is not whole yet.
    arrived: BytesMut,
}

impl Incoming {
    /// `rest` has arrived already; what is in it is appended to `plain`.
    pub(super) fn new(
        opener: Opener,
        rest: BytesMut,
        plain: &mut BytesMut,
    ) -> Result<Self, ReadError> {
        let mut incoming = Self {
            opener,
            arrived: rest,
        };
        incoming.opener.push(&mut incoming.arrived, plain)?;
        Ok(incoming)
    }

    /// Reads what the socket has and appends what is in it to `plain`; says how many bytes were read.
    pub(super) fn read(
        &mut self,
        socket: &TcpStream,
        plain: &mut BytesMut,
    ) -> Result<usize, ReadError> {
        if self.opener.has_messages() {
            self.arrived.reserve(READ_SIZE);
            let count = socket.try_read_buf(&mut self.arrived)?;
            self.opener.push(&mut self.arrived, plain)?;
            return Ok(count);
        }
        let before = plain.len();
        let count = socket.try_read_buf(plain)?;
        self.opener
            .apply(plain.get_mut(before..).unwrap_or_default())?;
        Ok(count)
    }

    /// Whether the other end has begun something that it has not finished.
    pub(super) fn is_inside(&self) -> bool {
        !self.arrived.is_empty() || self.opener.is_inside()
    }

    /// Nothing more is here for now: gives back what the buffer has too much.
    pub(super) fn settle(&mut self) {
        self.arrived = match self.arrived.is_empty() {
            true => BytesMut::new(),
            false => BytesMut::from(self.arrived.as_ref()),
        };
    }
}

/// What is sent on an encrypted connection.
#[derive(Debug)]
pub(super) struct Outbound {
    sealer: Sealer,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    /// Bytes of `sealed` that were sent.
    sent: usize,
    /// What `sealed` is made of.
    covers: Sent,
    /// The key stream is no longer where the other end expects it.
    broken: bool,
}

impl Outbound {
    pub(super) fn new(sealer: Sealer) -> Self {
        Self {
            sealer,
            plain: Vec::new(),
            sealed: Vec::new(),
            sent: 0,
            covers: Sent::default(),
            broken: false,
        }
    }

    /// Whether there is something encrypted that was not sent.
    pub(super) fn has_more(&self) -> bool {
        self.sent < self.sealed.len()
    }

    /// As [`sending::send`]. What was sent is counted when all that was encrypted together was.
    pub(super) fn send(
        &mut self,
        socket: &TcpStream,
        pieces: &mut VecDeque<Piece>,
        mut limits: Limits,
    ) -> (Sent, io::Result<Stop>) {
        let mut sent = Sent::default();
        let stop = self.send_on(socket, pieces, &mut limits, &mut sent);
        if !self.has_more() {
            // An idle connection has no buffers.
            (self.plain, self.sealed, self.sent) = (Vec::new(), Vec::new(), 0);
        }
        (sent, stop)
    }

    fn send_on(
        &mut self,
        socket: &TcpStream,
        pieces: &mut VecDeque<Piece>,
        limits: &mut Limits,
        sent: &mut Sent,
    ) -> io::Result<Stop> {
        loop {
            while self.has_more() {
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                let rest = self.sealed.get(self.sent..).unwrap_or_default();
                match rustix::net::send(socket, rest, flags).map_err(io::Error::from) {
                    Ok(count) => self.sent += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        return Ok(Stop::Full);
                    }
                    Err(error) => return Err(error),
                }
            }
            sent.add(std::mem::take(&mut self.covers));
            if sent.bytes as u64 + sent.file_bytes >= sending::BYTES_PER_TURN {
                return Ok(Stop::Turn);
            }
            if let Some(stop) = self.seal(pieces, limits)? {
                return Ok(stop);
            }
        }
    }

    /// Encrypts what comes next, or says why that cannot be done now.
    fn seal(
        &mut self,
        pieces: &mut VecDeque<Piece>,
        limits: &mut Limits,
    ) -> io::Result<Option<Stop>> {
        if self.broken {
            return Err(io::Error::other("this connection cannot be encrypted on"));
        }
        self.plain.clear();
        let stop = self.gather(pieces, limits);
        if self.plain.is_empty() {
            return stop.map(Some);
        }
        // What stopped the gathering is met again.
        self.sent = 0;
        self.sealer
            .seal(&mut self.plain, &mut self.sealed)
            .map_err(|error| {
                self.broken = true;
                self.sealed.clear();
                io::Error::other(error)
            })?;
        Ok(None)
    }

    /// Moves the next bytes out of the pieces.
    fn gather(&mut self, pieces: &mut VecDeque<Piece>, limits: &mut Limits) -> io::Result<Stop> {
        loop {
            let room = BATCH - self.plain.len().min(BATCH);
            let done = match pieces.front_mut() {
                None => return Ok(Stop::Done),
                Some(_) if room == 0 => return Ok(Stop::Turn),
                Some(Piece::Bytes(bytes)) => {
                    if bytes.len() > limits.bytes {
                        return Ok(Stop::Large);
                    }
                    let count = bytes.len().min(room);
                    self.plain
                        .extend_from_slice(bytes.get(..count).unwrap_or_default());
                    bytes.advance(count);
                    self.covers.bytes += count;
                    bytes.is_empty()
                }
                Some(Piece::File(part)) => {
                    if part.len > limits.part {
                        return Ok(Stop::Large);
                    }
                    if !std::mem::take(&mut limits.read_ahead) && !sending::is_cached(part) {
                        return Ok(Stop::NotCached);
                    }
                    let count = usize::try_from(part.len).unwrap_or(room).min(room);
                    let start = self.plain.len();
                    self.plain.resize(start + count, 0);
                    let into = self.plain.get_mut(start..).unwrap_or_default();
                    if let Err(error) = part.file.read_exact_at(into, part.offset) {
                        self.plain.truncate(start);
                        return Err(match error.kind() {
                            io::ErrorKind::UnexpectedEof => sending::too_short(part),
                            _ => error,
                        });
                    }
                    part.offset += count as u64;
                    part.len -= count as u64;
                    self.covers.file_bytes += count as u64;
                    let done = part.len == 0;
                    self.covers.files += usize::from(done);
                    done
                }
            };
            if done {
                pieces.pop_front();
            }
        }
    }
}

#[cfg(test)]
#[path = "encrypted_tests.rs"]
mod tests;
