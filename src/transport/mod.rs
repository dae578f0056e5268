//! Connections that speak Spark's transport frames.
//!
//! A connection carries requests in both directions. One task reads it: it decodes frames, gives
//! requests to the [`RequestHandler`] in their order, and answers to whoever asked. One
//! task writes it: it sends everything that is queued in as few system calls as possible, and files straight from
//! the page cache. [`Client`] opens connections, [`Server`] accepts them.
//!
//! With [`Protection`], a connection begins with TLS or both ends say who they are before anything else reaches a
//! handler, and what follows may be encrypted.
//!
//! Memory is bounded everywhere a stranger could fill it: frames have a maximum, a server keeps a ledger of what
//! all its peers hold, and a peer that does not read its answers is not read either.

mod authentication;
mod client;
mod complaints;
mod conf;
mod connection;
mod encrypted;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod ledger;
mod outgoing;
mod pacing;
mod protection;
mod reader;
mod reading;
mod sending;
mod server;
mod stream;
mod tls;

pub use authentication::{Authentication, AuthenticationError};
pub use client::{Asked, Client};
pub use complaints::complain;
pub use conf::{ConfError, TransportConf};
pub use ledger::Held;
pub use protection::Protection;
pub use server::Server;
pub use stream::Stream;

pub use self::tls::TlsError;

use bytes::Bytes;
use connection::Connection;
use std::fs::File;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use wire::printable::Printable;

/// A future that a [`RequestHandler`] gives away. It is dropped when the connection closes.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Data to be sent.
#[derive(Clone, Debug)]
pub enum Body {
    /// Bytes in memory.
    Bytes(Bytes),
    /// A part of a file, sent from the page cache without a copy.
    File {
        /// The file, open for reading. Its position is neither used nor changed.
        file: Arc<File>,
        /// First byte.
        offset: u64,
        /// Number of bytes. If the file turns out shorter, the connection is closed.
        len: u64,
    },
}

impl Body {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { len, .. } => *len,
        }
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

/// Content that is to be sent.
pub enum Opening {
    /// It is on its way, and takes no memory to speak of until it is sent.
    Begun(Answer<Result<Body, String>>),
    /// It takes memory. It is made when the other end has taken most of what it was sent before, one such at a time.
    Waiting(Box<dyn FnOnce() -> Answer<Result<Body, String>> + Send>),
}

impl Opening {
    /// There is no such content.
    pub fn failed(error: impl Into<String>) -> Self {
        let error = error.into();
        Self::Begun(Box::pin(async { Err(error) }))
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Number of the connection, unique in this process.
    pub connection: u64,
    /// Address of the other end.
    pub addr: SocketAddr,
}

/// What a process does with the requests that reach it. Methods are called on the task that reads the
/// connection, in the order of the requests, and must not block; whatever takes time goes into the returned future or
/// to another task. Every method has a default that refuses the request.
pub trait RequestHandler: Send + Sync + 'static {
    /// A request that wants an answer. It may be answered at any time, in any order.
    fn on_rpc(&self, _peer: Peer, _body: Bytes, reply: Reply) {
        reply.failure("This process serves no RPC on this connection.");
    }

    /// A message without an answer.
    fn on_one_way(&self, peer: Peer, _body: Bytes) {
        complain(peer.addr.ip(), || {
            tracing::warn!("Ignored a one-way message from {}", peer.addr);
        });
    }

    /// A chunk of a stream. Chunks are answered as they become ready.
    fn open_chunk(&self, _peer: Peer, _stream_id: i64, _chunk_index: i32) -> Opening {
        Opening::failed("This process serves no chunks on this connection.")
    }

    /// A whole stream. Streams are answered in the order of their requests.
    fn open_stream(&self, _peer: Peer, stream_id: String) -> Opening {
        Opening::failed(format!("Stream '{}' was not found.", Printable(&stream_id)))
    }

    /// A request whose data follow. Dropping `data` early discards the rest of it.
    fn on_upload(&self, _peer: Peer, _meta: Bytes, _data: Stream, reply: Reply) -> Answer<()> {
        reply.failure("This process takes no uploads on this connection.");
        Box::pin(async {})
    }

    /// The connection is closed, `error` says why unless the other end closed it between two frames. Nothing of it is
    /// called afterwards.
    fn on_close(&self, _peer: Peer, _error: Option<&str>) {}
}

/// A handler for connections on which only this end asks.
#[derive(Debug)]
pub struct NoRequests;

impl RequestHandler for NoRequests {}

/// The right to answer one request. Dropped without an answer, it answers with a failure, so that the other end never
/// waits in vain.
#[derive(Debug)]
pub struct Reply {
    connection: Arc<Connection>,
    request_id: i64,
    answered: bool,
    /// Memory that the request holds.
    _memory: Option<Held>,
}

impl Reply {
    fn new(connection: Arc<Connection>, request_id: i64, memory: Option<Held>) -> Self {
        connection.promise();
        Self {
            connection,
            request_id,
            answered: false,
            _memory: memory,
        }
    }

    /// Enters memory into the ledger that is kept for the other end until it asks for it, or goes; it is the caller's
    /// to drop. `None` if the other end holds too much already.
    pub fn keep(&self, bytes: usize) -> Option<Held> {
        self.connection.keep_for_peer(bytes)
    }

    /// Answers.
    pub fn success(mut self, body: Bytes) {
        self.answered = true;
        self.connection.respond(self.request_id, body);
    }

    /// Answers that the request failed.
    pub fn failure(mut self, error: impl Into<String>) {
        self.answered = true;
        self.connection
            .respond_failure(self.request_id, error.into());
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.answered {
            let error = "The request was dropped without an answer.".to_owned();
            self.connection.respond_failure(self.request_id, error);
        }
        self.connection.keep_promise();
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The other end answered that it failed; a JVM sends its stack trace.
    #[error("{0}")]
    RpcFailure(String),
    /// No answer came in time.
    #[error("no answer from {peer} in {} ms", after.as_millis())]
    Timeout {
        /// Who was asked.
        peer: SocketAddr,
        /// The time it had.
        after: Duration,
    },
    /// The connection was closed before the answer came.
    #[error("{0}")]
    Disconnected(String),
}
