//! One connection: its state.

use super::ledger::{Account, Held, Ledger, Reason};
use super::outgoing::{Activity, Outgoing};
use super::protection::Opened;
use super::reader::Reader;
use super::reading::ReadTask;
use super::stream::Stream;
use super::{Answer, AskError, Body, Peer, RequestHandler, TransportConf, encrypted};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::TcpStream;
use tokio::sync::{Mutex as AsyncMutex, oneshot, watch};
use tokio::time::Instant;
use wire::frame::{Frame, MAX_FRAME};

static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);

/// The state of one connection, shared by its tasks and by everybody who asks or answers on it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Peer,
    pub(super) local_addr: SocketAddr,
    pub(super) outgoing: Outgoing,
    pub(super) outstanding: Mutex<Outstanding>,
    /// Why the connection is closed, once it is.
    closed: watch::Sender<Option<Closed>>,
    pub(super) activity: Arc<Activity>,
    /// What the other end may hold, if it is a stranger.
    pub(super) account: Option<Arc<Account>>,
    /// Content that takes memory is made for one chunk at a time.
    pub(super) making: AsyncMutex<()>,
}

/// How a connection ended: the reason, or `None` if the other end closed it between two frames.
pub(super) type Closed = Option<Arc<str>>;
pub(super) type Asker<T> = oneshot::Sender<Result<T, AskError>>;

/// Requests of this end that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    next_id: i64,
    pub(super) rpcs: HashMap<i64, Asker<Bytes>>,
    pub(super) chunks: HashMap<(i64, i32), Asker<Bytes>>,
    /// Answered in the order of the requests.
    pub(super) streams: VecDeque<Asker<Stream>>,
    closed: Option<AskError>,
}

impl Outstanding {
    pub(super) fn is_empty(&self) -> bool {
        self.rpcs.is_empty() && self.chunks.is_empty() && self.streams.is_empty()
    }
}

impl Connection {
    /// Takes over a connected socket on which nothing was said but the handshake, and starts the tasks that read and
    /// write it.
    pub(super) fn start(
        socket: TcpStream,
        conf: &TransportConf,
        handler: Arc<dyn RequestHandler>,
        side: Side,
        opened: Opened,
    ) -> io::Result<Arc<Self>> {
        prepare(&socket, conf)?;
        let peer = Peer {
            connection: NEXT_CONNECTION.fetch_add(1, Ordering::Relaxed),
            addr: socket.peer_addr()?,
        };
        let socket = Arc::new(socket);
        let (sealer, opener) = encrypted::halves(opened.cipher);
        let activity = Arc::new(Activity::new());
        let local_addr = socket.local_addr()?;
        let ledger = match side {
            Side::Client => None,
            Side::Server(ledger) => Some(ledger),
        };
        let connection = Arc::new_cyclic(|this| {
            let account = ledger.as_ref().map(|ledger| {
                let ip = peer.addr.ip();
                ledger.open(peer.connection, ip, this.clone(), activity.clone())
            });
            let (limit, queue) = (conf.max_outgoing_bytes, account.clone());
            Self {
                peer,
                local_addr,
                outgoing: Outgoing::new(limit, socket.clone(), activity.clone(), queue)
                    .encrypted(sealer),
                outstanding: Mutex::default(),
                closed: watch::channel(None).0,
                account,
                making: AsyncMutex::new(()),
                activity: activity.clone(),
            }
        });
        tokio::spawn({
            let (connection, socket) = (connection.clone(), socket.clone());
            async move {
                let written = tokio::select! {
                    written = connection.outgoing.write_to(&socket) => written,
                    // The other end may never read what it was sent.
                    _ = connection.wait_closed() => Ok(()),
                };
                if let Err(error) = written {
                    connection.close(&error.to_string());
                }
                connection.outgoing.farewell(&socket);
                // The reading task sees the end of the connection even if it is not waiting for `closed`.
                let _ = rustix::net::shutdown(&socket, rustix::net::Shutdown::Both);
            }
        });
        let reader = Reader::new(socket, conf.max_frame, activity, connection.account.clone())
            .opened(opener, opened.rest);
        let reader = reader.map_err(|error| {
            connection.close(&error.to_string());
            if let Some(ledger) = &ledger {
                ledger.close(peer.connection);
            }
            io::Error::new(io::ErrorKind::InvalidData, error.to_string())
        })?;
        let task = ReadTask::new(connection.clone(), reader, handler, conf);
        tokio::spawn(async move {
            task.run().await;
            if let Some(ledger) = ledger {
                ledger.close(peer.connection);
            }
        });
        Ok(connection)
    }

    /// Sends a request. The answer, or the reason why there is none, comes through the receiver.
    pub(super) fn ask(&self, body: Bytes) -> (i64, oneshot::Receiver<Result<Bytes, AskError>>) {
        self.ask_with(|request_id| self.outgoing.push(&Frame::RpcRequest { request_id, body }))
    }

    /// Sends a request whose data follow it.
    pub(super) fn ask_upload(
        &self,
        meta: Bytes,
        data: &Body,
    ) -> (i64, oneshot::Receiver<Result<Bytes, AskError>>) {
        self.ask_with(|request_id| {
            let frame = Frame::UploadStream {
                request_id,
                meta,
                byte_count: data.len(),
            };
            self.outgoing.push_with(&frame, data);
        })
    }

    fn ask_with(
        &self,
        send: impl FnOnce(i64),
    ) -> (i64, oneshot::Receiver<Result<Bytes, AskError>>) {
        let (asker, answer) = oneshot::channel();
        let mut outstanding = self.outstanding.lock();
        let request_id = outstanding.next_id;
        // Ids only have to differ among the requests that are outstanding; Spark's are not negative.
        outstanding.next_id = request_id.wrapping_add(1) & i64::MAX;
        match &outstanding.closed {
            Some(error) => answer_asker(asker, Err(error.clone())),
            None => {
                outstanding.rpcs.insert(request_id, asker);
                send(request_id);
            }
        }
        (request_id, answer)
    }

    /// Asks for one chunk of a stream.
    pub(super) fn ask_chunk(
        &self,
        stream_id: i64,
        chunk_index: i32,
    ) -> oneshot::Receiver<Result<Bytes, AskError>> {
        let (asker, answer) = oneshot::channel();
        let mut outstanding = self.outstanding.lock();
        match &outstanding.closed {
            Some(error) => answer_asker(asker, Err(error.clone())),
            None => {
                outstanding.chunks.insert((stream_id, chunk_index), asker);
                self.outgoing.push(&Frame::ChunkFetchRequest {
                    stream_id,
                    chunk_index,
                });
            }
        }
        answer
    }

    /// Asks for a stream.
    pub(super) fn ask_stream(
        &self,
        stream_id: String,
    ) -> oneshot::Receiver<Result<Stream, AskError>> {
        let (asker, answer) = oneshot::channel();
        // The lock makes the order of the askers the order of the requests.
        let mut outstanding = self.outstanding.lock();
        match &outstanding.closed {
            Some(error) => answer_asker(asker, Err(error.clone())),
            None => {
                outstanding.streams.push_back(asker);
                self.outgoing.push(&Frame::StreamRequest { stream_id });
            }
        }
        answer
    }

    /// Nobody waits for the answer any more.
    pub(super) fn forget(&self, request_id: i64) {
        self.outstanding.lock().rpcs.remove(&request_id);
    }

    pub(super) fn respond(&self, request_id: i64, body: Bytes) {
        if body.len() > MAX_FRAME - 13 {
            let error = format!(
                "The answer of {} bytes does not fit into a frame.",
                body.len()
            );
            return self.respond_failure(request_id, error);
        }
        self.outgoing.push(&Frame::RpcResponse { request_id, body });
    }

    pub(super) fn respond_failure(&self, request_id: i64, error: String) {
        self.outgoing.push(&Frame::RpcFailure { request_id, error });
    }

    /// When something was last sent or received.
    pub(super) fn quiet_since(&self) -> Instant {
        self.activity.quiet_since()
    }

    /// Holds memory for the other end until it asks for it, if it does not hold too much already.
    pub(super) fn keep_for_peer(&self, bytes: usize) -> Option<Held> {
        let account = self.account.as_ref()?;
        account
            .fits(bytes)
            .then(|| account.hold(bytes, Reason::Kept))
    }

    /// Makes content that takes memory, when there is some and the other end has taken most of what it was sent before.
    pub(super) async fn make(
        &self,
        make: impl FnOnce() -> Answer<Result<Body, String>>,
    ) -> Result<Body, String> {
        self.outgoing.room().await;
        let Some(account) = &self.account else {
            return make().await;
        };
        account.room(0, &mut None).await;
        match make().await? {
            Body::Bytes(bytes) => {
                let held = account.hold(bytes.len(), Reason::Untaken);
                Ok(Body::Bytes(held.with(bytes)))
            }
            body => Ok(body),
        }
    }

    pub(super) fn promise(&self) {
        self.outgoing.promise();
    }

    pub(super) fn keep_promise(&self) {
        self.outgoing.keep_promise();
    }

    /// Ends the connection. What is queued is not sent any more.
    pub(super) fn close(&self, reason: &str) {
        self.end(Some(reason.into()));
    }

    /// Ends the connection, with a reason unless the other end closed it between two frames.
    pub(super) fn end(&self, reason: Closed) {
        let first = self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.clone());
            }
            first
        });
        if !first {
            return;
        }
        self.outgoing.close();
        let why = reason.as_deref().unwrap_or("the other end closed it");
        let error =
            AskError::Disconnected(format!("connection to {} is closed: {why}", self.peer.addr));
        let mut outstanding = self.outstanding.lock();
        outstanding.closed = Some(error.clone());
        let Outstanding {
            rpcs,
            chunks,
            streams,
            ..
        } = std::mem::take(&mut *outstanding);
        outstanding.closed = Some(error.clone());
        drop(outstanding);
        rpcs.into_values()
            .chain(chunks.into_values())
            .for_each(|asker| answer_asker(asker, Err(error.clone())));
        streams
            .into_iter()
            .for_each(|asker| answer_asker(asker, Err(error.clone())));
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    /// Waits for the end of the connection and says how it came: the reason, or `None` if the other end closed it
    /// between two frames.
    pub(super) async fn wait_closed(&self) -> Option<Arc<str>> {
        let mut closed = self.closed.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        closed
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|closed| closed.clone().flatten())
    }
}

/// The asker may have given up; then the answer is for nobody.
pub(super) fn answer_asker<T>(asker: Asker<T>, answer: Result<T, AskError>) {
    let _ = asker.send(answer);
}

fn prepare(socket: &TcpStream, conf: &TransportConf) -> io::Result<()> {
    socket.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(socket, true)?;
    if let Some(size) = conf.send_buffer {
        rustix::net::sockopt::set_socket_send_buffer_size(socket, size)?;
    }
    if let Some(size) = conf.receive_buffer {
        rustix::net::sockopt::set_socket_recv_buffer_size(socket, size)?;
    }
    Ok(())
}

/// Which end of a connection this is.
pub(super) enum Side {
    /// The end that connected. It always reads, so that two ends can never wait for each other.
    Client,
    /// The end that was connected to. It reads no requests while their answers pile up, and keeps account of what the
    /// other end holds.
    Server(Arc<Ledger>),
}
