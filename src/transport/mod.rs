//! Connections that speak Spark's transport frames.
//!
//! A connection carries requests in both directions. One task reads it: it decodes frames, gives
//! requests to the [`RequestHandler`] in their order, and answers to whoever asked. One
//! task writes it: it sends everything that is queued in as few system calls as possible, and files straight from
//! the page cache. [`Client`] opens connections, [`Server`] accepts them.
//!
//! Memory is bounded everywhere a stranger could fill it: frames have a maximum, a server's connections share a
//! budget for large frames, and a peer that does not read its answers is not read either.

mod client;
mod conf;
mod connection;
mod outgoing;
mod pacing;
mod reader;
mod sending;
mod server;
mod stream;

pub use client::{Asked, Client};
pub use conf::{ConfError, TransportConf};
pub use server::Server;
pub use stream::Stream;

use bytes::Bytes;
use connection::Connection;
use std::fs::File;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

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

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Number of the connection, unique in this process.
    pub connection: u64,
    /// Address of the other end.
    pub addr: SocketAddr,
}

/// What a process does with the requests that reach it. Methods are called on the task that reads the
/// connection, in the order of the requests, and must not block; whatever takes time goes into the returned future or to
/// another task. Every method has a default that refuses the request.
pub trait RequestHandler: Send + Sync + 'static {
    /// A request that wants an answer. It may be answered at any time, in any order.
    fn on_rpc(&self, _peer: Peer, _body: Bytes, reply: Reply) {
        reply.failure("This process serves no RPC on this connection.");
    }

    /// A message without an answer.
    fn on_one_way(&self, peer: Peer, _body: Bytes) {
        tracing::warn!("Ignored a one-way message from {}", peer.addr);
    }

    /// A chunk of a stream. Chunks are answered as they become ready.
    fn open_chunk(
        &self,
        _peer: Peer,
        _stream_id: i64,
        _chunk_index: i32,
    ) -> Answer<Result<Body, String>> {
        Box::pin(async { Err("This process serves no chunks on this connection.".to_owned()) })
    }

    /// A whole stream. Streams are answered in the order of their requests.
    fn open_stream(&self, _peer: Peer, stream_id: String) -> Answer<Result<Body, String>> {
        Box::pin(async move { Err(format!("Stream '{stream_id}' was not found.")) })
    }

    /// A request whose data follow. Dropping `data` early discards the rest of it.
    fn on_upload(&self, _peer: Peer, _meta: Bytes, _data: Stream, reply: Reply) -> Answer<()> {
        reply.failure("This process takes no uploads on this connection.");
        Box::pin(async {})
    }

    /// The connection is closed, `error` says why unless the other end closed it between two frames. Nothing of it is called afterwards.
    fn on_close(&self, _peer: Peer, _error: Option<&str>) {}
}

/// A handler for connections on which only this end asks.
#[derive(Debug)]
pub struct NoRequests;

impl RequestHandler for NoRequests {}

/// The right to answer one request. Dropped without an answer, it answers with a failure, so that the other end never waits in vain.
#[derive(Debug)]
pub struct Reply {
    connection: Arc<Connection>,
    request_id: i64,
    answered: bool,
    /// Share of the server's memory that the request occupies.
    _memory: Option<OwnedSemaphorePermit>,
}

impl Reply {
    fn new(
        connection: Arc<Connection>,
        request_id: i64,
        memory: Option<OwnedSemaphorePermit>,
    ) -> Self {
        connection.promise();
        Self {
            connection,
            request_id,
            answered: false,
            _memory: memory,
        }
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
