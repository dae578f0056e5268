//! The driver's endpoint and file server, with a driver that replays captured frames.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use bytes::{Bytes, BytesMut};
use firesteel::rpc::{DriverEndpoint, Event, FetchError, FileServer, RpcConf};
use firesteel::transport::{AskError, Body, Opening, Peer, RequestHandler, Server, TransportConf};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::{VERSIONS, from_hex, recorded_frames};
use tokio::sync::mpsc::UnboundedReceiver;
use wire::envelope::{RequestEnvelope, RpcAddress};
use wire::frame::{Frame, MAX_FRAME};

const TIMEOUT: Duration = Duration::from_secs(20);
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The captured frames that a driver sent to an executor's endpoints.
fn frames_of_the_driver(version: &str) -> Vec<Frame> {
    let text = recorded_frames(version);
    let frames: Vec<Frame> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|frame| frame["direction"] == "D->E")
        .map(|frame| {
            let bytes = from_hex(frame["hex"].as_str().unwrap());
            let mut bytes = BytesMut::from(&bytes[..]);
            Frame::decode(&mut bytes, MAX_FRAME).unwrap().unwrap()
        })
        .collect();
    assert!(frames.len() >= 8, "{version}: {} frames", frames.len());
    frames
}

/// A driver whose every word is scripted.
struct Driver {
    socket: TcpStream,
    buffer: BytesMut,
}

impl Driver {
    async fn connect() -> (Self, DriverEndpoint, UnboundedReceiver<Event>) {
        let listener = TcpListener::bind((LOCALHOST, 0)).unwrap();
        let address = RpcAddress {
            host: "localhost".into(),
            port: listener.local_addr().unwrap().port().into(),
        };
        let conf = RpcConf::new(|_| None).unwrap();
        let (endpoint, events) = DriverEndpoint::connect(address, &conf).await.unwrap();
        let (socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        (
            Self {
                socket,
                buffer: BytesMut::new(),
            },
            endpoint,
            events,
        )
    }

    fn send(&mut self, frame: &Frame) {
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }

    fn receive(&mut self) -> Frame {
        loop {
            if let Some(frame) = Frame::decode(&mut self.buffer, MAX_FRAME).unwrap() {
                return frame;
            }
            let mut bytes = [0; 65536];
            let count = self.socket.read(&mut bytes).unwrap();
            assert!(count > 0, "closed by the executor");
            self.buffer.extend_from_slice(&bytes[..count]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_the_driver_reach_the_endpoints_in_order() {
    for version in VERSIONS {
        let (mut driver, _endpoint, mut events) = Driver::connect().await;
        let frames = frames_of_the_driver(version);
        frames.iter().for_each(|frame| driver.send(frame));
        for frame in &frames {
            let Some(Event::Incoming(incoming)) = events.recv().await else {
                panic!("{version}: no message")
            };
            assert_eq!(incoming.envelope, frame.body(), "{version}");
            assert!(
                ["Executor", "BlockManagerEndpoint1"].contains(&incoming.endpoint.as_str()),
                "{version}"
            );
            assert!(
                incoming.content.starts_with(&[0xac, 0xed, 0, 5]),
                "{version}"
            );
            match (frame, incoming.reply) {
                (Frame::RpcRequest { request_id, .. }, Some(reply)) => {
                    reply.success(Bytes::from_static(b"done"));
                    let expected = Frame::RpcResponse {
                        request_id: *request_id,
                        body: Bytes::from_static(b"done"),
                    };
                    assert_eq!(driver.receive(), expected, "{version}");
                }
                (Frame::OneWayMessage { .. }, None) => {}
                (frame, reply) => panic!("{version}: {} with {reply:?}", frame.kind()),
            }
        }
        drop(driver);
        assert!(
            matches!(events.recv().await, Some(Event::Disconnected(None))),
            "{version}"
        );
        assert!(
            events.recv().await.is_none(),
            "{version}: nothing comes after the end"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_to_the_driver_keep_their_order_and_name_their_endpoint() {
    let (mut driver, endpoint, _events) = Driver::connect().await;
    endpoint
        .tell("CoarseGrainedScheduler", Bytes::from_static(b"first"))
        .unwrap();
    let raw = endpoint
        .envelope("HeartbeatReceiver", Bytes::from_static(b"second"))
        .unwrap();
    let asked = endpoint.start_ask_raw(raw);
    endpoint
        .tell("CoarseGrainedScheduler", Bytes::from_static(b"third"))
        .unwrap();
    let mut requests = Vec::new();
    for (name, content) in [
        ("CoarseGrainedScheduler", "first"),
        ("HeartbeatReceiver", "second"),
        ("CoarseGrainedScheduler", "third"),
    ] {
        let frame = driver.receive();
        let envelope = RequestEnvelope::read(&frame.body()).unwrap();
        assert_eq!(
            (envelope.endpoint.as_str(), &envelope.content[..]),
            (name, content.as_bytes())
        );
        assert_eq!(
            (envelope.sender, envelope.receiver.as_ref()),
            (None, Some(endpoint.driver()))
        );
        requests.push(frame);
    }
    let Frame::RpcRequest { request_id, .. } = requests[1] else {
        panic!("{requests:?}")
    };
    driver.send(&Frame::RpcResponse {
        request_id,
        body: Bytes::from_static(b"answer"),
    });
    assert_eq!(
        asked.answer(TIMEOUT).await,
        Ok(Bytes::from_static(b"answer"))
    );

    let waiting = tokio::spawn({
        let endpoint = endpoint.clone();
        async move {
            endpoint
                .ask("MapOutputTracker", Bytes::from_static(b"?"), TIMEOUT)
                .await
        }
    });
    driver.receive();
    drop(driver);
    let error = waiting.await.unwrap().unwrap_err();
    assert!(
        matches!(&error, AskError::Disconnected(text) if text.contains("the other end closed it")),
        "{error}"
    );
}

/// A file server: `/jars/<n>` has n bytes.
#[derive(Default)]
struct Files {
    connections: Arc<AtomicUsize>,
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 253) as u8).collect()
}

impl RequestHandler for Files {
    fn open_stream(&self, peer: Peer, stream_id: String) -> Opening {
        self.connections
            .fetch_max(peer.connection as usize, Ordering::SeqCst);
        Opening::Begun(Box::pin(async move {
            match stream_id
                .strip_prefix("/jars/")
                .and_then(|len| len.parse().ok())
            {
                Some(len) => Ok(Body::Bytes(content(len).into())),
                None => Err(format!("Stream '{stream_id}' was not found.")),
            }
        }))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_read_by_threads_outside_the_runtime() {
    let server = Server::bind(
        (LOCALHOST, 0),
        &TransportConf::default(),
        Arc::new(Files::default()),
    )
    .unwrap();
    let base = format!("spark://127.0.0.1:{}", server.local_addr().port());
    let files = FileServer::new(TransportConf::for_module("files", |_| None).unwrap());
    // A slow reader of one file holds up no other file.
    let slow = files
        .open(&format!("{base}/jars/{}", 20 << 20))
        .await
        .unwrap();
    assert_eq!(slow.len(), 20 << 20);
    for len in [0, 1, 5_000_000] {
        let file = files.open(&format!("{base}/%6Aars/{len}")).await.unwrap();
        let read = std::thread::spawn(move || {
            let (mut all, mut buf) = (Vec::new(), [0; 3333]);
            loop {
                match file.read(&mut buf).unwrap() {
                    0 => return all,
                    count => all.extend_from_slice(&buf[..count]),
                }
            }
        });
        assert!(read.join().unwrap() == content(len), "{len}");
    }
    let read = std::thread::spawn(move || {
        let mut all = vec![0; 20 << 20];
        let mut at = 0;
        while at < all.len() {
            at += slow.read(&mut all[at..]).unwrap();
        }
        assert_eq!(slow.read(&mut [0; 1]).unwrap(), 0);
        all
    });
    assert!(read.join().unwrap() == content(20 << 20));

    let uri = format!("{base}/classes/foo/Bar.class");
    let error = files.open(&uri).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{uri}: Stream '/classes/foo/Bar.class' was not found.")
    );
    assert!(matches!(
        files.open("hdfs://x/y").await,
        Err(FetchError::Uri(_))
    ));

    let mut file = files.open(&format!("{base}/jars/100000")).await.unwrap();
    let mut all = Vec::new();
    while let Some(piece) = file.next().await.unwrap() {
        all.extend_from_slice(&piece);
    }
    assert!(all == content(100_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_used_for_one_file_after_the_other() {
    let connections = Arc::new(AtomicUsize::new(0));
    let handler = Files {
        connections: connections.clone(),
    };
    let server =
        Server::bind((LOCALHOST, 0), &TransportConf::default(), Arc::new(handler)).unwrap();
    let uri = format!("spark://localhost:{}/jars/1000", server.local_addr().port());
    let files = FileServer::new(TransportConf::default());
    let fetch = async || {
        let mut file = files.open(&uri).await.unwrap();
        while file.next().await.unwrap().is_some() {}
        connections.load(Ordering::SeqCst)
    };
    let first = fetch().await;
    assert_eq!(fetch().await, first);
    drop(files.open(&uri).await.unwrap());
    assert_ne!(
        fetch().await,
        first,
        "a file that was given up takes its connection with it"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_breaks_off_is_an_error() {
    let listener = TcpListener::bind((LOCALHOST, 0)).unwrap();
    let uri = format!(
        "spark://localhost:{}/jars/x",
        listener.local_addr().unwrap().port()
    );
    let serve = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = [0; 20];
        socket.read_exact(&mut request).unwrap();
        assert!(request.ends_with(b"/jars/x"));
        let mut bytes = BytesMut::new();
        Frame::StreamResponse {
            stream_id: "/jars/x".into(),
            byte_count: 100,
        }
        .encode(&mut bytes);
        bytes.extend_from_slice(&[1; 60]);
        socket.write_all(&bytes).unwrap();
    });
    let file = FileServer::new(TransportConf::default())
        .open(&uri)
        .await
        .unwrap();
    serve.join().unwrap();
    let error = std::thread::spawn(move || {
        let mut buf = [0; 100];
        let mut count = 0;
        loop {
            match file.read(&mut buf) {
                Ok(read) => count += read,
                Err(error) => return (count, error.kind()),
            }
        }
    });
    assert_eq!(error.join().unwrap(), (60, ErrorKind::UnexpectedEof));
}
