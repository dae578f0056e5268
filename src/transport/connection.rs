//! One connection: its state, and the task that reads it.

use super::outgoing::{Activity, Outgoing};
use super::reader::{Event, ReadError, Reader};
use super::stream::Stream;
use super::{Answer, AskError, Body, Peer, Reply, RequestHandler, TransportConf};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use wire::frame::{Frame, FrameKind, MAX_FRAME};

/// Chunks and streams of one connection that are being opened at a time.
const MAX_OPENING: usize = 32;
/// Bytes of a chunk frame that are not the chunk.
const CHUNK_HEAD: u64 = 13;

static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);

/// The state of one connection, shared by its tasks and by everybody who asks or answers on it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Peer,
    pub(super) local_addr: SocketAddr,
    pub(super) outgoing: Outgoing,
    outstanding: Mutex<Outstanding>,
    /// Why the connection is closed, once it is.
    closed: watch::Sender<Option<Closed>>,
    activity: Arc<Activity>,
}

/// How a connection ended: the reason, or `None` if the other end closed it between two frames.
type Closed = Option<Arc<str>>;
type Asker<T> = oneshot::Sender<Result<T, AskError>>;

/// Requests of this end that have no answer yet.
#[derive(Debug, Default)]
struct Outstanding {
    next_id: i64,
    rpcs: HashMap<i64, Asker<Bytes>>,
    chunks: HashMap<(i64, i32), Asker<Bytes>>,
    /// Answered in the order of the requests.
    streams: VecDeque<Asker<Stream>>,
    closed: Option<AskError>,
}

impl Outstanding {
    fn is_empty(&self) -> bool {
        self.rpcs.is_empty() && self.chunks.is_empty() && self.streams.is_empty()
    }
}

impl Connection {
    /// Takes over a connected socket on which nothing was said yet and starts the tasks that read and write it.
    pub(super) fn start(
        socket: TcpStream,
        conf: &TransportConf,
        handler: Arc<dyn RequestHandler>,
        side: Side,
    ) -> io::Result<Arc<Self>> {
        prepare(&socket, conf)?;
        let peer = Peer {
            connection: NEXT_CONNECTION.fetch_add(1, Ordering::Relaxed),
            addr: socket.peer_addr()?,
        };
        let socket = Arc::new(socket);
        let activity = Arc::new(Activity::new());
        let connection = Arc::new(Self {
            peer,
            local_addr: socket.local_addr()?,
            outgoing: Outgoing::new(conf.max_outgoing_bytes, socket.clone(), activity.clone()),
            outstanding: Mutex::default(),
            closed: watch::channel(None).0,
            activity,
        });
        let (accepted, budget) = match side {
            Side::Client => (None, None),
            Side::Server { accepted, budget } => (Some(accepted), Some(budget)),
        };
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
                // The reading task sees the end of the connection even if it is not waiting for `closed`.
                let _ = rustix::net::shutdown(&socket, rustix::net::Shutdown::Both);
            }
        });
        let task = ReadTask {
            reader: Reader::new(socket, conf.max_frame, budget),
            connection: connection.clone(),
            handler,
            opening: FuturesUnordered::new(),
            streams: FuturesOrdered::new(),
            idle_after: conf.connection_timeout,
            close_idle: conf.close_idle_connections,
            holds_back: accepted.is_some(),
            holds_answers: false,
        };
        tokio::spawn(async move {
            task.run().await;
            drop(accepted);
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

    fn end(&self, reason: Closed) {
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

    /// Waits for the end of the connection and says how it came: the reason, or `None` if the other end closed it between two frames.
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
fn answer_asker<T>(asker: Asker<T>, answer: Result<T, AskError>) {
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
    /// The end that was connected to. It reads no requests while their answers pile up.
    Server {
        /// The server's permission to hold this connection.
        accepted: OwnedSemaphorePermit,
        /// Memory for large requests, shared by all connections.
        budget: Arc<Semaphore>,
    },
}

/// Reads a connection until it ends.
struct ReadTask {
    connection: Arc<Connection>,
    reader: Reader,
    handler: Arc<dyn RequestHandler>,
    /// Chunks being opened and uploads being taken.
    opening: FuturesUnordered<Answer<()>>,
    /// Streams being opened; answered in the order of their requests.
    streams: FuturesOrdered<Answer<(String, Result<Body, String>)>>,
    idle_after: Duration,
    close_idle: bool,
    /// Whether requests wait while answers pile up.
    holds_back: bool,
    /// Whether answers wait for others.
    holds_answers: bool,
}

impl ReadTask {
    async fn run(mut self) {
        let ended = self.read().await;
        self.connection.outgoing.hold(false);
        let error = match ended {
            Ok(()) => None,
            Err(error) => {
                tracing::warn!(
                    "Closing the connection to {}: {error}",
                    self.connection.peer.addr
                );
                Some(Arc::<str>::from(error.to_string()))
            }
        };
        self.connection.end(error);
        let reason = self.connection.wait_closed().await;
        // Whatever is being opened is dropped before the handler hears of the end.
        let Self {
            connection,
            handler,
            opening,
            streams,
            ..
        } = self;
        drop((opening, streams));
        handler.on_close(connection.peer, reason.as_deref());
    }

    async fn read(&mut self) -> Result<(), ReadError> {
        let connection = self.connection.clone();
        let closed = connection.wait_closed();
        tokio::pin!(closed);
        let mut idle_at = Instant::now() + self.idle_after;
        loop {
            let waits = self.holds_back && !connection.outgoing.has_room();
            let full = self.opening.len() + self.streams.len() >= MAX_OPENING;
            // Answers to requests that are here already go out together.
            let more = self.holds_back && !waits && !full && self.reader.has_frame();
            if more || self.holds_answers {
                self.holds_answers = more;
                connection.outgoing.hold(more);
            }
            tokio::select! {
                biased;
                _ = &mut closed => return Ok(()),
                Some(()) = self.opening.next(), if !self.opening.is_empty() => {}
                Some((stream_id, body)) = self.streams.next(), if !self.streams.is_empty() => {
                    self.answer_stream(stream_id, body);
                }
                () = connection.outgoing.room(), if waits => {}
                event = self.reader.next(), if !waits && !full => match event? {
                    Event::Frame(frame, memory) => self.dispatch(frame, memory)?,
                    Event::Progress => connection.activity.touch(),
                    Event::End => return Ok(()),
                },
                () = sleep_until(idle_at) => {
                    let quiet_since = connection.activity.quiet_since();
                    idle_at = quiet_since + self.idle_after;
                    if idle_at <= Instant::now() {
                        let held_up = waits || full || self.reader.is_held_up();
                        if !held_up && let Some(reason) = self.idle_reason() {
                            connection.close(&reason);
                            return Ok(());
                        }
                        idle_at = Instant::now() + self.idle_after;
                    }
                }
            }
        }
    }

    /// Why a connection that was silent for the timeout must end, if it must.
    fn idle_reason(&self) -> Option<String> {
        let quiet = self.idle_after.as_millis();
        if !self.connection.outstanding.lock().is_empty() {
            return Some(format!(
                "it was quiet for {quiet} ms while there were outstanding requests"
            ));
        }
        if self.reader.is_inside() {
            return Some(format!(
                "it was quiet for {quiet} ms in the middle of a frame"
            ));
        }
        self.close_idle
            .then(|| format!("it was idle for {quiet} ms"))
    }

    fn dispatch(
        &mut self,
        frame: Frame,
        memory: Option<OwnedSemaphorePermit>,
    ) -> Result<(), ReadError> {
        let connection = &self.connection;
        let peer = connection.peer;
        match frame {
            Frame::RpcRequest { request_id, body } => {
                let reply = Reply::new(connection.clone(), request_id, memory);
                self.handler.on_rpc(peer, body, reply);
            }
            Frame::OneWayMessage { body } => self.handler.on_one_way(peer, body),
            Frame::ChunkFetchRequest {
                stream_id,
                chunk_index,
            } => self.open_chunk(stream_id, chunk_index),
            Frame::StreamRequest { stream_id } => {
                let body = self.handler.open_stream(peer, stream_id.clone());
                self.streams
                    .push_back(Box::pin(async move { (stream_id, body.await) }));
            }
            Frame::UploadStream {
                request_id,
                meta,
                byte_count,
            } => {
                let (data, consumer) = Stream::new(byte_count);
                self.reader.divert(byte_count, consumer);
                let reply = Reply::new(connection.clone(), request_id, memory);
                self.opening
                    .push(self.handler.on_upload(peer, meta, data, reply));
            }
            Frame::MergedBlockMetaRequest { request_id, .. } => {
                let error =
                    "Merged shuffle blocks are served by the external shuffle service only."
                        .to_owned();
                connection.respond_failure(request_id, error);
            }
            Frame::RpcResponse { request_id, body } => self.answer_rpc(request_id, Ok(body)),
            Frame::RpcFailure { request_id, error } => {
                self.answer_rpc(request_id, Err(AskError::RpcFailure(error)))
            }
            Frame::ChunkFetchSuccess {
                stream_id,
                chunk_index,
                body,
            } => {
                self.answer_chunk(stream_id, chunk_index, Ok(body));
            }
            Frame::ChunkFetchFailure {
                stream_id,
                chunk_index,
                error,
            } => {
                self.answer_chunk(stream_id, chunk_index, Err(AskError::RpcFailure(error)));
            }
            Frame::StreamResponse { byte_count, .. } => {
                let (stream, consumer) = Stream::new(byte_count);
                self.reader.divert(byte_count, consumer);
                self.answer_stream_request(Ok(stream))?;
            }
            Frame::StreamFailure { error, .. } => {
                self.answer_stream_request(Err(AskError::RpcFailure(error)))?
            }
            Frame::MergedBlockMetaSuccess { .. } => {
                return Err(unexpected(FrameKind::MergedBlockMetaSuccess));
            }
            Frame::Unknown { kind, .. } => return Err(unexpected(kind)),
        }
        Ok(())
    }

    fn open_chunk(&self, stream_id: i64, chunk_index: i32) {
        let body = self
            .handler
            .open_chunk(self.connection.peer, stream_id, chunk_index);
        let connection = self.connection.clone();
        self.opening.push(Box::pin(async move {
            let body = body.await.and_then(|body| match body.len() {
                len if len > MAX_FRAME as u64 - CHUNK_HEAD => {
                    Err(format!("A chunk of {len} bytes does not fit into a frame."))
                }
                _ => Ok(body),
            });
            match body {
                Ok(body) => {
                    let frame = Frame::ChunkFetchSuccess {
                        stream_id,
                        chunk_index,
                        body: Bytes::new(),
                    };
                    connection.outgoing.push_with(&frame, &body);
                }
                Err(error) => connection.outgoing.push(&Frame::ChunkFetchFailure {
                    stream_id,
                    chunk_index,
                    error,
                }),
            }
        }));
    }

    fn answer_stream(&self, stream_id: String, body: Result<Body, String>) {
        match body {
            Ok(body) => {
                let frame = Frame::StreamResponse {
                    stream_id,
                    byte_count: body.len(),
                };
                self.connection.outgoing.push_with(&frame, &body);
            }
            Err(error) => self
                .connection
                .outgoing
                .push(&Frame::StreamFailure { stream_id, error }),
        }
    }

    fn answer_rpc(&self, request_id: i64, answer: Result<Bytes, AskError>) {
        let asker = self.connection.outstanding.lock().rpcs.remove(&request_id);
        match asker {
            Some(asker) => answer_asker(asker, answer),
            None => tracing::debug!(
                "Ignoring the answer to RPC {request_id} from {} since it is not outstanding",
                self.connection.peer.addr
            ),
        }
    }

    fn answer_chunk(&self, stream_id: i64, chunk_index: i32, answer: Result<Bytes, AskError>) {
        let asker = self
            .connection
            .outstanding
            .lock()
            .chunks
            .remove(&(stream_id, chunk_index));
        match asker {
            Some(asker) => answer_asker(asker, answer),
            None => tracing::debug!(
                "Ignoring chunk {chunk_index} of stream {stream_id} from {} since it is not outstanding",
                self.connection.peer.addr
            ),
        }
    }

    fn answer_stream_request(&self, answer: Result<Stream, AskError>) -> Result<(), ReadError> {
        let asker = self.connection.outstanding.lock().streams.pop_front();
        let asker = asker.ok_or_else(|| unexpected(FrameKind::StreamResponse))?;
        answer_asker(asker, answer);
        Ok(())
    }
}

/// A frame that nobody who follows the protocol would send.
fn unexpected(kind: FrameKind) -> ReadError {
    ReadError::Io(io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{kind} was not expected"),
    ))
}
