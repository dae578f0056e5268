//! The two ends of the connections under test.

use bytes::{Bytes, BytesMut};
use firesteel::transport::{
    Answer, Body, Client, NoRequests, Opening, Peer, Reply, RequestHandler, Server, Stream,
    TransportConf,
};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wire::frame::{Frame, MAX_FRAME};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Answers RPCs by what their bodies say, serves one file and blocks of memory, and counts.
#[derive(Default)]
pub(crate) struct TestHandler {
    pub(crate) file: Option<(Arc<File>, u64)>,
    pub(crate) chunk: Bytes,
    pub(crate) chunks_opened: AtomicUsize,
    pub(crate) one_way: Mutex<Vec<Bytes>>,
    pub(crate) uploaded: Mutex<Vec<(Bytes, Vec<u8>)>>,
    pub(crate) kept: Mutex<Vec<Reply>>,
    pub(crate) closed: Mutex<Vec<Option<String>>>,
}

impl TestHandler {
    pub(crate) async fn wait_closed(&self) -> Option<String> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(reason) = self.closed.lock().pop() {
                return reason;
            }
            assert!(Instant::now() < deadline, "the connection was not closed");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(crate) struct Shared(pub(crate) Arc<TestHandler>);

impl RequestHandler for Shared {
    fn on_rpc(&self, _peer: Peer, body: Bytes, reply: Reply) {
        match &body[..] {
            b"fail" => reply.failure("java.lang.IllegalStateException: as asked"),
            b"keep" => self.0.kept.lock().push(reply),
            b"drop" => drop(reply),
            [b'K', ..] if body.len() > 1 << 20 => self.0.kept.lock().push(reply),
            _ => {
                tokio::spawn(async move {
                    // Later requests overtake earlier ones.
                    tokio::time::sleep(Duration::from_micros(u64::from(body[0]) * 20)).await;
                    reply.success(body);
                });
            }
        }
    }

    fn on_one_way(&self, _peer: Peer, body: Bytes) {
        self.0.one_way.lock().push(body);
    }

    fn open_chunk(&self, _peer: Peer, stream_id: i64, chunk_index: i32) -> Opening {
        let handler = self.0.clone();
        Opening::Begun(Box::pin(async move {
            handler.chunks_opened.fetch_add(1, Ordering::SeqCst);
            match (&handler.file, stream_id) {
                (Some((file, len)), 1) => Ok(Body::File {
                    file: file.clone(),
                    offset: 3,
                    len: *len - 3,
                }),
                (_, 2) => Ok(Body::Bytes(handler.chunk.clone())),
                _ => Err(format!("no chunk {chunk_index}")),
            }
        }))
    }

    fn open_stream(&self, _peer: Peer, stream_id: String) -> Opening {
        let handler = self.0.clone();
        Opening::Begun(Box::pin(async move {
            match (stream_id.as_str(), &handler.file) {
                ("slow", _) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    Ok(Body::Bytes(Bytes::from_static(b"slow")))
                }
                ("empty", _) => Ok(Body::Bytes(Bytes::new())),
                ("file", Some((file, len))) => Ok(Body::File {
                    file: file.clone(),
                    offset: 0,
                    len: *len,
                }),
                _ => Err(format!("Stream '{stream_id}' was not found.")),
            }
        }))
    }

    fn on_upload(&self, _peer: Peer, meta: Bytes, mut data: Stream, reply: Reply) -> Answer<()> {
        let handler = self.0.clone();
        Box::pin(async move {
            if &meta[..] == b"refuse" {
                return reply.failure("refused");
            }
            if &meta[..] == b"slow" {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            let mut all = Vec::new();
            while let Some(piece) = data.next().await.expect("all bytes") {
                all.extend_from_slice(&piece);
            }
            handler.uploaded.lock().push((meta, all));
            reply.success(Bytes::from_static(b"stored"));
        })
    }

    fn on_close(&self, _peer: Peer, error: Option<&str>) {
        self.0.closed.lock().push(error.map(str::to_owned));
    }
}

pub(crate) fn serve(handler: TestHandler, conf: &TransportConf) -> (Server, Arc<TestHandler>) {
    let handler = Arc::new(handler);
    let server = Server::bind((LOCALHOST, 0), conf, Arc::new(Shared(handler.clone()))).unwrap();
    (server, handler)
}

pub(crate) async fn connect(server: &Server) -> Client {
    let port = server.local_addr().port();
    Client::connect(
        "127.0.0.1",
        port,
        &TransportConf::default(),
        Arc::new(NoRequests),
    )
    .await
    .unwrap()
}

pub(crate) fn some_bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

pub(crate) fn some_file(len: usize) -> (TestHandler, Vec<u8>) {
    let mut file = tempfile::tempfile().unwrap();
    let bytes = some_bytes(len);
    file.write_all(&bytes).unwrap();
    (
        TestHandler {
            file: Some((Arc::new(file), len as u64)),
            ..TestHandler::default()
        },
        bytes,
    )
}

/// A peer that says whatever it likes.
pub(crate) struct Raw {
    pub(crate) socket: TcpStream,
    pub(crate) buffer: BytesMut,
}

impl Raw {
    pub(crate) fn connect(server: &Server) -> Self {
        let socket = TcpStream::connect(server.local_addr()).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        Self {
            socket,
            buffer: BytesMut::new(),
        }
    }

    pub(crate) fn send(&mut self, frame: &Frame) {
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Frame {
        loop {
            if let Some(frame) = Frame::decode(&mut self.buffer, MAX_FRAME).unwrap() {
                return frame;
            }
            let mut bytes = [0; 65536];
            let count = self.socket.read(&mut bytes).unwrap();
            assert!(count > 0, "closed by the server");
            self.buffer.extend_from_slice(&bytes[..count]);
        }
    }

    /// Whether the server has closed the connection without sending anything.
    pub(crate) fn is_refused(&mut self) -> bool {
        match self.socket.read(&mut [0; 1]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}
