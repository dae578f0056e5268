//! The task that reads a connection: it gives requests to the handler, and answers to whoever asked.

use super::complaints::complain;
use super::connection::{Connection, answer_asker};
use super::ledger::{Held, Reason};
use super::reader::{Event, ReadError, Reader};
use super::stream::Stream;
use super::{Answer, AskError, Body, Opening, Reply, RequestHandler, TransportConf};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use wire::frame::{Frame, FrameKind, MAX_FRAME};
use wire::printable::Printable;

/// Chunks and streams of one connection that are being opened at a time.
const MAX_OPENING: usize = 32;
/// Bytes of a chunk frame that are not the chunk.
const CHUNK_HEAD: u64 = 13;
/// Bytes of requests that are too small to be entered into the ledger.
const UNCOUNTED_REQUEST: usize = 4 << 10;
/// Bytes that what the other end has begun must bring in each [`TransportConf::progress_window`].
const MIN_PROGRESS: u64 = 1 << 20;

/// Reads a connection until it ends.
pub(super) struct ReadTask {
    connection: Arc<Connection>,
    reader: Reader,
    handler: Arc<dyn RequestHandler>,
    /// Chunks being opened and uploads being taken.
    opening: FuturesUnordered<Answer<()>>,
    /// Streams being opened, in the order of their requests; the first one is waited for.
    streams: VecDeque<Answer<(String, Result<Body, String>)>>,
    idle_after: Duration,
    close_idle: bool,
    /// Whether requests wait while answers pile up.
    holds_back: bool,
    /// Whether answers wait for others.
    holds_answers: bool,
    progress_window: Duration,
    /// What the other end has begun, on a server.
    watched: Option<Watched>,
}

/// Something that the other end has begun and must go on with.
struct Watched {
    /// End of the window.
    at: Instant,
    /// Bytes received when it began.
    received: u64,
    /// What was finished then.
    finished: u64,
}

impl ReadTask {
    pub(super) fn new(
        connection: Arc<Connection>,
        reader: Reader,
        handler: Arc<dyn RequestHandler>,
        conf: &TransportConf,
    ) -> Self {
        Self {
            reader,
            holds_back: connection.account.is_some(),
            connection,
            handler,
            opening: FuturesUnordered::new(),
            streams: VecDeque::new(),
            idle_after: conf.connection_timeout,
            close_idle: conf.close_idle_connections,
            holds_answers: false,
            progress_window: conf.progress_window,
            watched: None,
        }
    }

    /// Reads until the connection ends, and tells the handler.
    pub(super) async fn run(mut self) {
        let ended = self.read().await;
        self.connection.outgoing.hold(false);
        let hint = self.hint();
        let error = match ended {
            Ok(()) => hint.map(|hint| format!("the other end closed it{hint}").into()),
            Err(error) => {
                let error = format!("{error}{}", hint.unwrap_or_default());
                let addr = self.connection.peer.addr;
                complain(addr.ip(), || {
                    tracing::warn!("Closing the connection to {addr}: {}", Printable(&error));
                });
                Some(Arc::<str>::from(error))
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

    /// What to look at when an encrypted connection ends and nothing that came on it made sense.
    fn hint(&self) -> Option<&'static str> {
        let waits = !self.connection.outstanding.lock().is_empty();
        let lost = self.reader.understands_nothing() && (waits || self.reader.is_inside());
        lost.then_some(
            ": spark.network.crypto.cipher and spark.network.crypto.authEngineVersion must be the same at both ends",
        )
    }

    async fn read(&mut self) -> Result<(), ReadError> {
        let connection = self.connection.clone();
        let closed = connection.wait_closed();
        tokio::pin!(closed);
        let mut idle_at = Instant::now() + self.idle_after;
        loop {
            let waits = self.holds_back && !connection.outgoing.has_room();
            let full = self.is_full();
            // Answers to requests that are here already go out together.
            let more = self.holds_back && !waits && !full && self.reader.has_frame();
            if more || self.holds_answers {
                self.holds_answers = more;
                connection.outgoing.hold(more);
            }
            let look_at = self.next_look(idle_at);
            tokio::select! {
                biased;
                _ = &mut closed => return Ok(()),
                Some(()) = self.opening.next(), if !self.opening.is_empty() => {}
                (stream_id, body) = first(&mut self.streams), if !self.streams.is_empty() => {
                    self.streams.pop_front();
                    self.answer_stream(stream_id, body);
                }
                () = connection.outgoing.room(), if waits => {}
                event = self.reader.next(), if !waits && !full => match event? {
                    Event::Frame(frame, memory) => self.dispatch(frame, memory)?,
                    Event::Progress => connection.activity.touch(),
                    Event::End => return Ok(()),
                },
                () = sleep_until(look_at) => {
                    if let Some(reason) = self.stalled() {
                        connection.close(&reason);
                        return Ok(());
                    }
                    if Instant::now() < idle_at {
                        continue;
                    }
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

    /// Whether as much is being opened as may be at a time.
    fn is_full(&self) -> bool {
        self.opening.len() + self.streams.len() >= MAX_OPENING
    }

    /// When to look next whether the connection goes on.
    fn next_look(&mut self, idle_at: Instant) -> Instant {
        if !self.holds_back || !self.reader.is_inside() {
            self.watched = None;
            return idle_at;
        }
        let watched = self.watched.get_or_insert_with(|| Watched {
            at: Instant::now() + self.progress_window,
            received: self.connection.activity.received(),
            finished: {
                self.reader.was_held_up();
                self.reader.finished()
            },
        });
        watched.at.min(idle_at)
    }

    /// Why a connection must end that was too slow with what it has begun, if it was.
    fn stalled(&mut self) -> Option<String> {
        let now = Instant::now();
        let watched = self.watched.take_if(|watched| watched.at <= now)?;
        let received = self.connection.activity.received() - watched.received;
        let waited =
            self.reader.was_held_up() || self.is_full() || !self.connection.outgoing.has_room();
        let goes_on = self.reader.finished() != watched.finished || received >= MIN_PROGRESS;
        (!goes_on && !waited).then(|| {
            let window = self.progress_window.as_millis();
            format!("in {window} ms it sent {received} bytes of a frame or stream that it has not finished")
        })
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

    fn dispatch(&mut self, frame: Frame, memory: Option<Held>) -> Result<(), ReadError> {
        let connection = &self.connection;
        let peer = connection.peer;
        match frame {
            Frame::RpcRequest { request_id, body } => {
                let account = connection.account.as_ref();
                let account = account.filter(|_| body.len() > UNCOUNTED_REQUEST);
                let memory = memory.or_else(|| Some(account?.hold(body.len(), Reason::Busy)));
                let reply = Reply::new(connection.clone(), request_id, memory);
                self.handler.on_rpc(peer, body, reply);
            }
            Frame::OneWayMessage { body } => self.handler.on_one_way(peer, body),
            Frame::ChunkFetchRequest {
                stream_id,
                chunk_index,
            } => self.open_chunk(stream_id, chunk_index),
            Frame::StreamRequest { stream_id } => {
                let opening = self.handler.open_stream(peer, stream_id.clone());
                let connection = connection.clone();
                self.streams.push_back(Box::pin(async move {
                    let body = match opening {
                        Opening::Begun(body) => body.await,
                        Opening::Waiting(make) => connection.make(make).await,
                    };
                    (stream_id, body)
                }));
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
        let opening = self
            .handler
            .open_chunk(self.connection.peer, stream_id, chunk_index);
        let connection = self.connection.clone();
        self.opening.push(Box::pin(async move {
            let mut making = None;
            let body = match opening {
                Opening::Begun(body) => body.await,
                Opening::Waiting(make) => {
                    // Held until the answer is in the queue.
                    making = Some(connection.making.lock().await);
                    connection.make(make).await
                }
            };
            let body = body.and_then(|body| match body.len() {
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
            drop(making);
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

/// The first of several answers, when it is there. Dropping the future loses nothing.
async fn first<T>(answers: &mut VecDeque<Answer<T>>) -> T {
    match answers.front_mut() {
        Some(answer) => answer.await,
        None => std::future::pending().await,
    }
}

/// A frame that nobody who follows the protocol would send.
fn unexpected(kind: FrameKind) -> ReadError {
    ReadError::Io(io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{kind} was not expected"),
    ))
}
