//! The accepting end.

use super::connection::{Connection, Side};
use super::ledger::Ledger;
use super::pacing::Pacing;
use super::{RequestHandler, TransportConf, complaints};
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::{AbortHandle, JoinHandle};

/// Pause when the process or the machine has no room for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

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
    let ledger = Ledger::new(conf.max_held_bytes, conf.max_frame);
    loop {
        let accepted = listener.accept().await;
        if let Err(error) = &accepted
            && is_exhausted(error)
        {
            complaints::complain_at_large(|| tracing::warn!("Cannot accept a connection: {error}"));
            ledger.close_longest_idle("this process has no room for another connection");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
        let Ok((socket, addr)) = accepted else {
            // One connection that broke before it was accepted.
            continue;
        };
        if ledger.connections() >= conf.max_connections {
            let limit = conf.max_connections;
            ledger.close_longest_idle(&format!("more than {limit} are connected, and it was idle"));
        }
        pacing.accepted(&socket);
        let side = Side::Server(ledger.clone());
        if let Err(error) = Connection::start(socket, &conf, handler.clone(), side) {
            // It was closed meanwhile.
            tracing::debug!("Cannot take the connection from {addr}: {error}");
        }
    }
}

/// Whether it is this process or machine that has no room, and not the connection that is broken.
fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| exhausted.contains(&error))
}
