//! The connecting end.

use super::connection::{Connection, Side};
use super::{AskError, Body, RequestHandler, Stream, TransportConf};
use bytes::Bytes;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use wire::frame::Frame;

/// A connection that this process opened. Clones share it; it is closed when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Client {
    open: Arc<Open>,
}

/// Closes the connection when nobody can ask on it any more.
#[derive(Debug)]
struct Open {
    connection: Arc<Connection>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connection.close("this process closed it");
    }
}

impl Client {
    /// Connects to `host` (a name or an address, IPv6 with or without brackets). `handler` gets the
    /// requests that the other end sends on this connection.
    ///
    /// # Errors
    /// The connection could not be made in [`TransportConf::connection_creation_timeout`]; or the other end is not who
    /// it should be, which is a [`TlsError`](super::TlsError) or an
    /// [`AuthenticationError`](super::AuthenticationError) inside.
    pub async fn connect(
        host: &str,
        port: u16,
        conf: &TransportConf,
        handler: Arc<dyn RequestHandler>,
    ) -> io::Result<Self> {
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        let timeout = conf.connection_creation_timeout;
        let socket = tokio::time::timeout(timeout, TcpStream::connect((bare, port)))
            .await
            .unwrap_or_else(|_| {
                let message = format!("no connection after {} ms", timeout.as_millis());
                Err(io::Error::new(io::ErrorKind::TimedOut, message))
            })
            .map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("Failed to connect to {host}:{port}: {error}"),
                )
            })?;
        let (socket, opened) = conf.protection.open(socket).await?;
        let connection = Connection::start(socket, conf, handler, Side::Client, opened)?;
        Ok(Self {
            open: Arc::new(Open { connection }),
        })
    }

    /// Asks and waits for the answer, and before that for room if too much is queued already.
    ///
    /// # Errors
    /// [`AskError`]: the other end failed, did not answer in time, or is gone.
    pub async fn ask(&self, body: Bytes, timeout: Duration) -> Result<Bytes, AskError> {
        self.connection().outgoing.room().await;
        self.start_ask(body).answer(timeout).await
    }

    /// Queues a request without waiting; everything queued later is sent after it.
    pub fn start_ask(&self, body: Bytes) -> Asked {
        let (request_id, answer) = self.connection().ask(body);
        Asked {
            connection: self.connection().clone(),
            request_id,
            answer,
        }
    }

    /// Sends a message that has no answer, after waiting for room if too much is queued already.
    pub async fn send(&self, body: Bytes) {
        self.connection().outgoing.room().await;
        self.send_now(body);
    }

    /// Queues a message that has no answer without waiting; everything queued later is sent after it.
    /// On a closed connection it is lost, as it is when the connection breaks later.
    pub fn send_now(&self, body: Bytes) {
        self.connection()
            .outgoing
            .push(&Frame::OneWayMessage { body });
    }

    /// Asks for a whole stream and waits for its beginning.
    ///
    /// # Errors
    /// [`AskError`]: the other end does not have it or is gone. There is no timeout but that for silent connections.
    pub async fn open_stream(&self, stream_id: &str) -> Result<Stream, AskError> {
        self.connection().outgoing.room().await;
        let answer = self.connection().ask_stream(stream_id.to_owned()).await;
        answer.unwrap_or_else(|_| Err(self.disconnected()))
    }

    /// Asks for one chunk of a stream that a block transfer request opened.
    ///
    /// # Errors
    /// [`AskError`]: the other end failed or is gone. There is no timeout but that for silent connections.
    pub async fn fetch_chunk(&self, stream_id: i64, chunk_index: i32) -> Result<Bytes, AskError> {
        self.connection().outgoing.room().await;
        let answer = self.connection().ask_chunk(stream_id, chunk_index).await;
        answer.unwrap_or_else(|_| Err(self.disconnected()))
    }

    /// Queues a request for one chunk without waiting; chunks are asked for in the order of these calls. The future is
    /// its answer, as of [`Client::fetch_chunk`].
    pub fn start_fetch_chunk(
        &self,
        stream_id: i64,
        chunk_index: i32,
    ) -> impl Future<Output = Result<Bytes, AskError>> + Send + use<> {
        let answer = self.connection().ask_chunk(stream_id, chunk_index);
        let disconnected = self.disconnected();
        async move { answer.await.unwrap_or(Err(disconnected)) }
    }

    /// Asks with data that follow the request, and waits for the answer.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub async fn upload(
        &self,
        meta: Bytes,
        data: &Body,
        timeout: Duration,
    ) -> Result<Bytes, AskError> {
        self.connection().outgoing.room().await;
        let (request_id, answer) = self.connection().ask_upload(meta, data);
        let asked = Asked {
            connection: self.connection().clone(),
            request_id,
            answer,
        };
        asked.answer(timeout).await
    }

    /// Waits until everything queued so far has been given to the system, or the connection is closed.
    pub async fn flush(&self) {
        self.connection().outgoing.flushed().await;
    }

    /// Waits until the connection is closed and says why; `None` if the other end closed it between two frames.
    pub async fn closed(&self) -> Option<Arc<str>> {
        self.connection().wait_closed().await
    }

    /// Whether the connection is closed.
    pub fn is_closed(&self) -> bool {
        self.connection().is_closed()
    }

    /// Closes the connection now. What is still queued is lost; outstanding asks fail.
    pub fn close(&self) {
        self.connection().close("this process closed it");
    }

    /// Address of this end.
    pub fn local_addr(&self) -> SocketAddr {
        self.connection().local_addr
    }

    /// Address of the other end.
    pub fn peer_addr(&self) -> SocketAddr {
        self.connection().peer.addr
    }

    fn connection(&self) -> &Arc<Connection> {
        &self.open.connection
    }

    fn disconnected(&self) -> AskError {
        AskError::Disconnected(format!("connection to {} is closed", self.peer_addr()))
    }
}

/// A request that was sent. Dropping it gives the answer up.
#[derive(Debug)]
pub struct Asked {
    connection: Arc<Connection>,
    request_id: i64,
    answer: oneshot::Receiver<Result<Bytes, AskError>>,
}

impl Asked {
    /// Waits for the answer. The time starts with this call.
    ///
    /// # Errors
    /// [`AskError`]: the other end failed, did not answer in time, or is gone.
    pub async fn answer(mut self, timeout: Duration) -> Result<Bytes, AskError> {
        let peer = self.connection.peer.addr;
        match tokio::time::timeout(timeout, &mut self.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(AskError::Disconnected(format!(
                "connection to {peer} is closed"
            ))),
            Err(_) => Err(AskError::Timeout {
                peer,
                after: timeout,
            }),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.connection.forget(self.request_id);
    }
}
