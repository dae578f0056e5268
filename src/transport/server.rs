//! The accepting end.

use super::connection::{Connection, Side};
use super::ledger::Ledger;
use super::pacing::Pacing;
use super::protection::Opened;
use super::{RequestHandler, TransportConf, complaints};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};
use wire::printable::Printable;

/// Pause when the process or the machine has no room for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Connections that have not said yet who they are.
const MAX_STRANGERS: usize = 1024;

/// Accepts connections until it is dropped. Connections that were accepted live on.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    accepting: AbortHandle,
}

impl Server {
    /// Listens on `addr` (port 0 takes a free one) and gives requests to `handler`.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn bind(
        addr: (IpAddr, u16),
        conf: &TransportConf,
        handler: Arc<dyn RequestHandler>,
    ) -> io::Result<Self> {
        let addr = SocketAddr::from(addr);
        let listen = || {
            let socket = if addr.is_ipv4() {
                TcpSocket::new_v4()
            } else {
                TcpSocket::new_v6()
            }?;
            socket.set_reuseaddr(true)?;
            socket.bind(addr)?;
            let pacing = Pacing::prepare(&socket);
            Ok((socket.listen(conf.back_log)?, pacing))
        };
        let (listener, pacing) = listen().map_err(|error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen on {addr}: {error}"))
        })?;
        let local_addr = listener.local_addr()?;
        let accepting: JoinHandle<()> =
            tokio::spawn(accept(listener, pacing, conf.clone(), handler));
        Ok(Self {
            local_addr,
            accepting: accepting.abort_handle(),
        })
    }

    /// The address that is listened on.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    pacing: Pacing,
    conf: TransportConf,
    handler: Arc<dyn RequestHandler>,
) {
    let accepting = Arc::new(Accepting {
        ledger: Ledger::new(conf.max_held_bytes, conf.max_frame),
        conf,
        handler,
    });
    let mut strangers = Strangers::default();
    loop {
        let accepted = listener.accept().await;
        if let Err(error) = &accepted
            && is_exhausted(error)
        {
            complaints::complain_at_large(|| tracing::warn!("Cannot accept a connection: {error}"));
            accepting
                .ledger
                .close_longest_idle("this process has no room for another connection");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
        let Ok((socket, addr)) = accepted else {
            // One connection that broke before it was accepted.
            continue;
        };
        pacing.accepted(&socket);
        if accepting.conf.protection.is_none() {
            accepting.start(socket, addr, Opened::default());
            continue;
        }
        let accepting = accepting.clone();
        let task = tokio::spawn(async move { accepting.open(socket, addr).await });
        strangers.add(task.abort_handle());
    }
}

/// What connections are started with.
struct Accepting {
    ledger: Arc<Ledger>,
    conf: TransportConf,
    handler: Arc<dyn RequestHandler>,
}

impl Accepting {
    fn start(&self, socket: TcpStream, addr: SocketAddr, opened: Opened) {
        let limit = self.conf.max_connections;
        if self.ledger.connections() >= limit {
            let reason = format!("more than {limit} are connected, and it was idle");
            self.ledger.close_longest_idle(&reason);
        }
        let side = Side::Server(self.ledger.clone());
        let handler = self.handler.clone();
        if let Err(error) = Connection::start(socket, &self.conf, handler, side, opened) {
            // It was closed meanwhile.
            tracing::debug!("Cannot take the connection from {addr}: {error}");
        }
    }

    /// Starts a connection when its other end has said who it is.
    async fn open(&self, socket: TcpStream, addr: SocketAddr) {
        match self.conf.protection.accept(socket).await {
            Ok((socket, opened)) => self.start(socket, addr, opened),
            Err(Some(why)) => complaints::complain(addr.ip(), || {
                tracing::warn!("Refused the connection from {addr}: {}", Printable(&why));
            }),
            Err(None) => {}
        }
    }
}

/// Connections that have not said yet who they are. The oldest goes when there are too many: who has the secret needs
/// milliseconds to say so.
#[derive(Debug, Default)]
struct Strangers {
    tasks: VecDeque<AbortHandle>,
}

impl Strangers {
    fn add(&mut self, task: AbortHandle) {
        while self.tasks.front().is_some_and(AbortHandle::is_finished) {
            self.tasks.pop_front();
        }
        if self.tasks.len() >= MAX_STRANGERS {
            self.tasks.retain(|task| !task.is_finished());
        }
        if self.tasks.len() >= MAX_STRANGERS
            && let Some(oldest) = self.tasks.pop_front()
        {
            oldest.abort();
        }
        self.tasks.push_back(task);
    }
}

/// Whether it is this process or machine that has no room, and not the connection that is broken.
fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| exhausted.contains(&error))
}
