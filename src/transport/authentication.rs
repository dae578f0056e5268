//! What both ends of a connection say to each other before anything else: who they are, and with which keys they go on.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use auth::{
    ClientHandshake, ClientStep, HandshakeError, RPC_IDENTITY, Secret, ServerHandshake, ServerStep,
    Session,
};
use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use wire::frame::Frame;

use crate::config::ConnectionSecurity;
use crate::config::declared::AUTH_RPC_TIMEOUT;

/// The largest request of a client that is not known yet.
const MAX_REQUEST: usize = 16 << 10;
/// The largest answer; a JVM that refuses sends its stack trace.
const MAX_ANSWER: usize = 256 << 10;
/// Bytes asked of the system at a time.
const READ_SIZE: usize = 4 << 10;
/// How long a client that was refused may take to read why.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes that are thrown away meanwhile.
const MAX_DISCARDED: usize = 256 << 10;

/// How connections of this process are authenticated. Clones share the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    security: ConnectionSecurity,
    identity: Arc<str>,
    secret: Secret,
}

/// The other end is not who it should be, or thinks so of this end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("authentication with {peer} failed: {why}")]
pub struct AuthenticationError {
    peer: SocketAddr,
    why: String,
}

/// What a handshake has brought.
#[derive(Debug, Default)]
pub(super) struct Handshaken {
    /// The ciphers, if there are any.
    pub(super) session: Option<Session>,
    /// What arrived behind the handshake.
    pub(super) rest: BytesMut,
}

impl Authentication {
    /// For connections that carry control messages and files.
    pub fn new(security: ConnectionSecurity, secret: Secret) -> Self {
        Self {
            security,
            identity: RPC_IDENTITY.into(),
            secret,
        }
    }

    /// For connections that carry blocks of an application.
    #[must_use]
    pub fn of_application(&self, app_id: &str) -> Self {
        Self {
            identity: app_id.into(),
            ..self.clone()
        }
    }

    /// Authenticates a connection that this process has opened.
    pub(super) async fn open(
        &self,
        socket: &mut impl Channel,
        peer: SocketAddr,
    ) -> io::Result<Handshaken> {
        self.ask(socket, peer).await.map_err(|why| {
            let kind = io::ErrorKind::PermissionDenied;
            io::Error::new(kind, AuthenticationError { peer, why })
        })
    }

    async fn ask(&self, socket: &mut impl Channel, peer: SocketAddr) -> Result<Handshaken, String> {
        let words = |error: HandshakeError| error.to_string();
        let protocol = self.security.protocol;
        let (mut handshake, mut request) =
            ClientHandshake::start(protocol, &self.identity, &self.secret).map_err(words)?;
        let mut talk = Talk::new(socket, MAX_ANSWER);
        for request_id in 0.. {
            let frame = Frame::RpcRequest {
                request_id,
                body: request.into(),
            };
            let answer = match talk.send(&frame).await {
                Ok(()) => self.in_time(talk.frame()).await?,
                Err(error) => Err(error),
            };
            let step = match answer {
                Ok(Some(Frame::RpcResponse {
                    request_id: id,
                    body,
                })) if id == request_id => handshake.answered(&body),
                Ok(Some(Frame::RpcFailure {
                    request_id: id,
                    error,
                })) if id == request_id => handshake.refused(&error),
                Ok(Some(_)) => Err(HandshakeError::Malformed),
                Ok(None) => Err(handshake.gone("the connection was closed")),
                Err(error) => Err(handshake.gone(&error.to_string())),
            };
            match step.map_err(words)? {
                ClientStep::Ask(next) => request = next,
                ClientStep::Done(session) => {
                    if handshake.fell_back() {
                        tracing::warn!(
                            "{peer} does not take encrypted connections: going on with SASL, in clear \
                             (spark.network.crypto.saslFallback)"
                        );
                    }
                    return Ok(Handshaken {
                        session,
                        rest: talk.buffer,
                    });
                }
            }
        }
        Err(words(HandshakeError::Malformed))
    }

    /// Authenticates a connection that was accepted.
    ///
    /// # Errors
    /// Why it must be closed; `None` if the other end closed it before it said anything.
    pub(super) async fn accept(
        &self,
        socket: &mut impl Channel,
    ) -> Result<Handshaken, Option<String>> {
        let protocol = self.security.protocol;
        let mut handshake = ServerHandshake::new(protocol, &self.identity, &self.secret);
        let mut talk = Talk::new(socket, MAX_REQUEST);
        loop {
            let said = self.in_time(talk.frame()).await?;
            let (request_id, body) = match said.map_err(|error| Some(error.to_string()))? {
                Some(Frame::RpcRequest { request_id, body }) => (request_id, body),
                Some(frame) => {
                    return Err(Some(format!(
                        "it sent {} before it said who it is (spark.authenticate is true)",
                        frame.kind()
                    )));
                }
                None => return Err(None),
            };
            let (frame, end) = match handshake.asked(&body) {
                ServerStep::Answer(answer) => (answered(request_id, answer), None),
                ServerStep::Done(answer, session) => {
                    (answered(request_id, answer), Some(Ok(session)))
                }
                ServerStep::Retry(words) => (refused(request_id, words), None),
                ServerStep::Refuse(words, why) => (refused(request_id, words), Some(Err(why))),
            };
            let sent = talk.send(&frame).await;
            match end {
                None => sent.map_err(|error| Some(error.to_string()))?,
                Some(Ok(session)) => {
                    sent.map_err(|error| Some(error.to_string()))?;
                    return Ok(Handshaken {
                        session,
                        rest: talk.buffer,
                    });
                }
                Some(Err(why)) => {
                    talk.linger().await;
                    return Err(Some(why.to_string()));
                }
            }
        }
    }

    async fn in_time<T>(&self, answer: impl Future<Output = T>) -> Result<T, String> {
        let timeout = self.security.timeout;
        let answer = tokio::time::timeout(timeout, answer).await;
        answer.map_err(|_| {
            format!(
                "nothing came in {} ms ({})",
                timeout.as_millis(),
                AUTH_RPC_TIMEOUT.key
            )
        })
    }
}

fn answered(request_id: i64, answer: Vec<u8>) -> Frame {
    Frame::RpcResponse {
        request_id,
        body: answer.into(),
    }
}

fn refused(request_id: i64, words: &str) -> Frame {
    Frame::RpcFailure {
        request_id,
        error: words.to_owned(),
    }
}

/// A connection, which may be inside TLS.
pub(super) trait Channel: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Channel for T {}

/// Frames on a connection, one after the other.
struct Talk<'a, C> {
    socket: &'a mut C,
    buffer: BytesMut,
    max_frame: usize,
}

impl<'a, C: Channel> Talk<'a, C> {
    fn new(socket: &'a mut C, max_frame: usize) -> Self {
        Self {
            socket,
            buffer: BytesMut::new(),
            max_frame,
        }
    }

    async fn send(&mut self, frame: &Frame) -> io::Result<()> {
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        self.socket.write_all(&bytes).await?;
        self.socket.flush().await
    }

    /// The next frame, or `None` if the other end closed the connection.
    async fn frame(&mut self) -> io::Result<Option<Frame>> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        loop {
            let frame = Frame::decode(&mut self.buffer, self.max_frame).map_err(invalid)?;
            if frame.is_some() {
                return Ok(frame);
            }
            self.buffer.reserve(READ_SIZE);
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Lets the other end read what it was sent last: bytes of it that are not read would take that away.
    async fn linger(&mut self) {
        let read_on = async {
            let _ = self.socket.shutdown().await;
            let mut discarded = 0;
            while discarded < MAX_DISCARDED {
                self.buffer.clear();
                self.buffer.reserve(READ_SIZE);
                match self.socket.read_buf(&mut self.buffer).await {
                    Ok(count) if count > 0 => discarded += count,
                    _ => return,
                }
            }
        };
        let _ = tokio::time::timeout(LINGER, read_on).await;
    }
}
