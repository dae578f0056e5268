//! Sockets to workers, of either kind.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A connection to a worker. It is used from one thread at a time, but another one may shut it down.
#[derive(Debug)]
pub(super) enum Socket {
    /// Over the loopback interface.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Whether reads and writes wait.
    pub(super) fn set_blocking(&self, blocking: bool) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_nonblocking(!blocking),
            Self::Unix(socket) => socket.set_nonblocking(!blocking),
        }
    }

    /// How long a read may wait.
    pub(super) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_read_timeout(timeout),
            Self::Unix(socket) => socket.set_read_timeout(timeout),
        }
    }

    /// Ends the connection for both sides; whoever waits for it wakes up.
    pub(super) fn shutdown(&self) {
        // A connection that is gone already is what is wanted.
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// Waits until there is something to read (or the end), or something can be written if `write`. False if `timeout`
    /// passed first.
    pub(super) fn wait(&self, write: bool, timeout: Option<Duration>) -> io::Result<bool> {
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, write);
        wait_for(self.as_fd(), flags, timeout)
    }

    /// Whether there is something to read, or the end has come. An idle worker has neither.
    pub(super) fn is_readable(&self) -> bool {
        self.wait(false, Some(Duration::ZERO)).unwrap_or(true)
    }
}

/// Waits until a descriptor is ready. False if `timeout` passed first.
pub(super) fn wait_for(
    fd: BorrowedFd<'_>,
    flags: PollFlags,
    timeout: Option<Duration>,
) -> io::Result<bool> {
    let end = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        match poll(&mut [PollFd::from_borrowed_fd(fd, flags)], left.as_ref()) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&mut &*socket).read(buffer),
            Socket::Unix(socket) => (&mut &*socket).read(buffer),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&mut &*socket).write(buffer),
            Socket::Unix(socket) => (&mut &*socket).write(buffer),
        }
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&mut &*socket).write_vectored(buffers),
            Socket::Unix(socket) => (&mut &*socket).write_vectored(buffers),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
