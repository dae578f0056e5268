//! The accepting end.

use super::connection::{Connection, Side};
use super::pacing::Pacing;
use super::reader::BUDGET_UNIT;
use super::{RequestHandler, TransportConf};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinHandle};

/// Pause after a failure to accept, which mostly means that the process is out of file descriptors.
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
    let connections = Arc::new(Semaphore::new(conf.max_connections));
    // One frame of the largest size must fit, or it would wait for ever.
    let budget = conf
        .max_incoming_bytes
        .max(conf.max_frame)
        .div_ceil(BUDGET_UNIT)
        + 1;
    let budget = Arc::new(Semaphore::new(budget.min(Semaphore::MAX_PERMITS)));
    // The semaphore is never closed.
    while let Ok(accepted) = connections.clone().acquire_owned().await {
        let side = Side::Server {
            accepted,
            budget: budget.clone(),
        };
        let started = match listener.accept().await {
            Ok((socket, _)) => {
                pacing.accepted(&socket);
                Connection::start(socket, &conf, handler.clone(), side).map(drop)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = started {
            tracing::warn!("Cannot accept a connection: {error}");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}
