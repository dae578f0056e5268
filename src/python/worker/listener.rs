//! Servers of the executor that its own workers connect to.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::message::ServerAddress;
use super::socket::Socket;
use super::wire::{authenticate_client, new_secret};

/// How long a connection may take to tell the secret.
const AUTHENTICATION: Duration = Duration::from_secs(10);

/// Waits for workers on the loopback interface, or at a Unix socket.
#[derive(Debug)]
pub(super) struct LocalListener {
    kind: Listening,
    secret: String,
    address: ServerAddress,
}

#[derive(Debug)]
enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl LocalListener {
    /// Listens; at a Unix socket if there is a directory for such.
    pub(super) fn bind(socket_dir: Option<&Path>) -> io::Result<Self> {
        let secret = new_secret();
        let (kind, address) = match socket_dir {
            Some(dir) => {
                let path = dir.join(format!(".{}.sock", uuid::Uuid::new_v4()));
                let listener = UnixListener::bind(&path)?;
                (
                    Listening::Unix(listener, path.clone()),
                    ServerAddress::Path(path),
                )
            }
            None => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let port = listener.local_addr()?.port();
                let address = ServerAddress::Port(port, secret.clone());
                (Listening::Tcp(listener), address)
            }
        };
        Ok(Self {
            kind,
            secret,
            address,
        })
    }

    /// How to reach it.
    pub(super) fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// The next connection, authenticated; reads of it may take 10 s. `None` if `timeout` passes first, or `stop` ends.
    pub(super) fn accept(
        &self,
        timeout: Option<Duration>,
        stop: Option<BorrowedFd<'_>>,
    ) -> io::Result<Option<Socket>> {
        let listening = match &self.kind {
            Listening::Tcp(listener) => listener.as_fd(),
            Listening::Unix(listener, _) => listener.as_fd(),
        };
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        // Without `stop` the listener is looked at twice.
        let stop = stop.unwrap_or(listening);
        let mut fds = [
            PollFd::from_borrowed_fd(listening, PollFlags::IN),
            PollFd::from_borrowed_fd(stop, PollFlags::IN),
        ];
        // Interruptions are rare and small: the whole time-out starts again.
        while let Err(error) = poll(&mut fds, timeout.as_ref()) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        if fds.first().is_none_or(|fd| fd.revents().is_empty()) {
            return Ok(None);
        }
        let socket = match &self.kind {
            Listening::Tcp(listener) => {
                let (socket, _) = listener.accept()?;
                socket.set_nodelay(true)?;
                Socket::Tcp(socket)
            }
            Listening::Unix(listener, _) => Socket::Unix(listener.accept()?.0),
        };
        socket.set_read_timeout(Some(AUTHENTICATION))?;
        if matches!(self.kind, Listening::Tcp(_)) {
            authenticate_client(&socket, &self.secret)?;
        }
        Ok(Some(socket))
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        if let Listening::Unix(_, path) = &self.kind {
            // Nobody else connects.
            let _ = std::fs::remove_file(path);
        }
    }
}
