//! Both directions of an encrypted connection. Files cannot go from the page cache to the socket here: they are read,
//! encrypted and sent.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use auth::{Opener, Sealer, Session};
use bytes::{Buf, BytesMut};
use rustix::net::SendFlags;
use tokio::net::TcpStream;

use super::protection::Cipher;
use super::reader::ReadError;
use super::sending::{self, Limits, Piece, Sent, Stop};
use super::tls::TlsSession;

/// Bytes asked of the system at a time.
const READ_SIZE: usize = 64 << 10;
/// Bytes that are encrypted at a time, and make one message of AES-GCM.
const BATCH: usize = 256 << 10;

/// What decrypts what arrives.
#[derive(Debug)]
pub(super) enum Unsealing {
    /// A key of this connection.
    Cipher(Opener),
    /// TLS.
    Tls(Arc<TlsSession>),
}

/// What encrypts what is sent.
#[derive(Debug)]
pub(super) enum Sealing {
    /// A key of this connection.
    Cipher(Sealer),
    /// TLS.
    Tls(Arc<TlsSession>),
}

/// The cipher of a connection for either direction.
pub(super) fn halves(cipher: Option<Cipher>) -> (Option<Sealing>, Option<Unsealing>) {
    match cipher {
        None => (None, None),
        Some(Cipher::Session(Session { sealer, opener })) => (
            Some(Sealing::Cipher(sealer)),
            Some(Unsealing::Cipher(opener)),
        ),
        Some(Cipher::Tls(session)) => (
            Some(Sealing::Tls(Arc::clone(&session))),
            Some(Unsealing::Tls(session)),
        ),
    }
}

/// What arrives on an encrypted connection.
#[derive(Debug)]
pub(super) struct Incoming {
    opener: Unsealing,
    /// What is not whole yet.
    arrived: BytesMut,
}

impl Incoming {
    /// `rest` has arrived already; what is in it is appended to `plain`.
    pub(super) fn new(
        opener: Unsealing,
        rest: BytesMut,
        plain: &mut BytesMut,
    ) -> Result<Self, ReadError> {
        let mut incoming = Self {
            opener,
            arrived: BytesMut::new(),
        };
        match &mut incoming.opener {
            Unsealing::Cipher(opener) => {
                incoming.arrived = rest;
                opener.push(&mut incoming.arrived, plain)?;
            }
            // Decrypted already.
            Unsealing::Tls(_) => *plain = rest,
        }
        Ok(incoming)
    }

    /// Whether it is sure that the other end has the same key.
    pub(super) fn is_proven(&self) -> bool {
        matches!(self.opener, Unsealing::Tls(_))
    }

    /// Reads what the socket has and appends what is in it to `plain`; says how many bytes were read.
    pub(super) fn read(
        &mut self,
        socket: &TcpStream,
        plain: &mut BytesMut,
    ) -> Result<usize, ReadError> {
        match &mut self.opener {
            Unsealing::Cipher(opener) if opener.has_messages() => {
                self.arrived.reserve(READ_SIZE);
                let count = socket.try_read_buf(&mut self.arrived)?;
                opener.push(&mut self.arrived, plain)?;
                Ok(count)
            }
            Unsealing::Cipher(opener) => {
                let before = plain.len();
                let count = socket.try_read_buf(plain)?;
                opener.apply(plain.get_mut(before..).unwrap_or_default())?;
                Ok(count)
            }
            Unsealing::Tls(session) => {
                self.arrived.reserve(READ_SIZE);
                let count = socket.try_read_buf(&mut self.arrived)?;
                let before = plain.len();
                let goes_on = session.open(&mut self.arrived, plain)?;
                // What comes behind the other end's farewell is not looked at.
                if !goes_on {
                    self.arrived.clear();
                }
                Ok(if goes_on || plain.len() > before {
                    count
                } else {
                    0
                })
            }
        }
    }

    /// Whether the other end has begun something that it has not finished.
    pub(super) fn is_inside(&self) -> bool {
        let inside = match &self.opener {
            Unsealing::Cipher(opener) => opener.is_inside(),
            Unsealing::Tls(_) => false,
        };
        inside || !self.arrived.is_empty()
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
    sealer: Sealing,
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
    pub(super) fn new(sealer: Sealing) -> Self {
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
        let sealed = match &mut self.sealer {
            Sealing::Cipher(sealer) => sealer
                .seal(&mut self.plain, &mut self.sealed)
                .map_err(io::Error::other),
            Sealing::Tls(session) => session.seal(&self.plain, &mut self.sealed),
        };
        sealed.inspect_err(|_| {
            self.broken = true;
            self.sealed.clear();
        })?;
        Ok(None)
    }

    /// Says that nothing more is sent, if the socket takes that now. What is half sent makes it meaningless.
    pub(super) fn farewell(&mut self, socket: &TcpStream) {
        let Sealing::Tls(session) = &self.sealer else {
            return;
        };
        if !self.has_more() && !self.broken && session.farewell(&mut self.sealed).is_ok() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            let _ = rustix::net::send(socket, &self.sealed, flags);
        }
        (self.plain, self.sealed, self.sent) = (Vec::new(), Vec::new(), 0);
        self.broken = true;
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
