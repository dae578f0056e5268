//! Connections over real sockets: well-behaved peers, slow ones, and strangers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod authentication;
mod peers;
mod strangers;
mod tls;

use bytes::Bytes;
use firesteel::transport::{AskError, Client, NoRequests, TransportConf};
use peers::{LOCALHOST, Raw, TIMEOUT, TestHandler, connect, serve, some_bytes, some_file};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use wire::frame::Frame;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_asks_share_a_connection_and_each_gets_its_own_answer() {
    let (server, handler) = serve(TestHandler::default(), &TransportConf::default());
    let client = connect(&server).await;
    let asks: Vec<_> = (0..2000u32)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let mut body = number.wrapping_mul(2_654_435_761).to_be_bytes().to_vec();
                // Some do not fit behind their heads.
                body.resize(if number % 50 == 0 { 100_000 } else { 40 }, number as u8);
                let body = Bytes::from(body);
                assert_eq!(client.ask(body.clone(), TIMEOUT).await, Ok(body));
            })
        })
        .collect();
    for ask in asks {
        ask.await.unwrap();
    }
    for number in 0..100u8 {
        client.send(Bytes::from(vec![number])).await;
    }
    assert!(client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());
    let one_way: Vec<u8> = handler.one_way.lock().iter().map(|body| body[0]).collect();
    assert_eq!(
        one_way,
        (0..100).collect::<Vec<u8>>(),
        "messages keep their order"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_timeouts_and_disconnections_are_told_apart() {
    let (server, handler) = serve(TestHandler::default(), &TransportConf::default());
    let client = connect(&server).await;
    let ask = |body: &'static [u8], timeout| client.ask(Bytes::from_static(body), timeout);
    let failure = AskError::RpcFailure("java.lang.IllegalStateException: as asked".into());
    assert_eq!(ask(b"fail", TIMEOUT).await, Err(failure));
    let dropped = ask(b"drop", TIMEOUT).await.unwrap_err();
    assert_eq!(
        dropped.to_string(),
        "The request was dropped without an answer."
    );
    let after = Duration::from_millis(50);
    assert_eq!(
        ask(b"keep", after).await,
        Err(AskError::Timeout {
            peer: client.peer_addr(),
            after
        })
    );

    let waiting = client.start_ask(Bytes::from_static(b"keep"));
    assert!(ask(b"still alive", TIMEOUT).await.is_ok());
    client.close();
    let error = waiting.answer(TIMEOUT).await.unwrap_err();
    assert!(
        matches!(&error, AskError::Disconnected(text) if text.contains("this process closed it")),
        "{error}"
    );
    assert!(matches!(
        ask(b"x", TIMEOUT).await,
        Err(AskError::Disconnected(_))
    ));
    assert!(matches!(
        client.open_stream("file").await,
        Err(AskError::Disconnected(_))
    ));
    assert_eq!(
        handler.wait_closed().await,
        None,
        "the server sees an orderly end"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_disconnected_and_nobody_else_notices() {
    let conf = TransportConf {
        max_frame: 1 << 20,
        ..TransportConf::default()
    };
    let (server, handler) = serve(TestHandler::default(), &conf);
    let client = connect(&server).await;
    let cases: [(&[u8], &str); 5] = [
        (
            b"GET / HTTP/1.1\r\nHost: spark\r\n\r\n",
            "larger than the maximum of 1048576",
        ),
        (
            &i64::MAX.to_be_bytes(),
            "frame of 9223372036854775807 bytes is larger",
        ),
        (&[0; 8], "frame length 0 is not positive"),
        (
            &[0, 0, 0, 0, 0, 0, 0, 10, 6, 1],
            "StreamRequest: field streamId runs past the end",
        ),
        (
            &[0, 0, 0, 0, 0, 0, 0, 9, 77],
            "frame type 77 was not expected",
        ),
    ];
    for (bytes, reason) in cases {
        let mut stranger = Raw::connect(&server);
        stranger.socket.write_all(bytes).unwrap();
        let closed = handler.wait_closed().await.expect("a reason");
        assert!(closed.contains(reason), "{closed}");
        assert!(stranger.is_refused());
    }
    // Half a frame, and then nothing more.
    let mut stranger = Raw::connect(&server);
    stranger
        .socket
        .write_all(&[0, 0, 0, 0, 0, 0, 0, 99, 3, 1, 2])
        .unwrap();
    drop(stranger);
    assert!(
        handler
            .wait_closed()
            .await
            .expect("a reason")
            .contains("in the middle of a frame")
    );
    // An answer that nobody asked for is ignored, a stream that nobody asked for is not.
    let mut stranger = Raw::connect(&server);
    stranger.send(&Frame::RpcResponse {
        request_id: 1,
        body: Bytes::new(),
    });
    stranger.send(&Frame::RpcRequest {
        request_id: 5,
        body: Bytes::from_static(b"x"),
    });
    assert_eq!(
        stranger.receive(),
        Frame::RpcResponse {
            request_id: 5,
            body: Bytes::from_static(b"x")
        }
    );
    stranger.send(&Frame::StreamResponse {
        stream_id: "x".into(),
        byte_count: 1 << 40,
    });
    assert!(
        handler
            .wait_closed()
            .await
            .expect("a reason")
            .contains("StreamResponse was not expected")
    );
    assert!(client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_arrive_as_they_are() {
    let (handler, bytes) = some_file((5 << 20) + 12_345);
    let (server, _) = serve(handler, &TransportConf::default());
    let client = connect(&server).await;
    for chunk in 0..3 {
        let body = client.fetch_chunk(1, chunk).await.unwrap();
        assert!(body[..] == bytes[3..], "chunk {chunk} differs");
    }
    let mut stream = client.open_stream("file").await.unwrap();
    assert_eq!(stream.len(), bytes.len() as u64);
    let mut received = Vec::new();
    while let Some(piece) = stream.next().await.unwrap() {
        received.extend_from_slice(&piece);
    }
    assert!(received == bytes);
    assert_eq!(
        client.fetch_chunk(7, 3).await,
        Err(AskError::RpcFailure("no chunk 3".into()))
    );
    assert!(client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_are_answered_in_the_order_of_their_requests() {
    let (handler, bytes) = some_file(100_000);
    let (server, _) = serve(handler, &TransportConf::default());
    let mut raw = Raw::connect(&server);
    for name in ["slow", "missing", "empty", "file"] {
        raw.send(&Frame::StreamRequest {
            stream_id: name.into(),
        });
    }
    assert_eq!(
        raw.receive(),
        Frame::StreamResponse {
            stream_id: "slow".into(),
            byte_count: 4
        }
    );
    let mut body = [0; 4];
    while raw.buffer.len() < 4 {
        let count = raw.socket.read(&mut body).unwrap();
        raw.buffer.extend_from_slice(&body[..count]);
    }
    assert_eq!(&raw.buffer.split_to(4)[..], b"slow");
    let error = "Stream 'missing' was not found.".to_owned();
    assert_eq!(
        raw.receive(),
        Frame::StreamFailure {
            stream_id: "missing".into(),
            error
        }
    );
    assert_eq!(
        raw.receive(),
        Frame::StreamResponse {
            stream_id: "empty".into(),
            byte_count: 0
        }
    );
    assert_eq!(
        raw.receive(),
        Frame::StreamResponse {
            stream_id: "file".into(),
            byte_count: 100_000
        }
    );
    let mut body = raw.buffer.to_vec();
    let buffered = body.len();
    body.resize(bytes.len(), 0);
    raw.socket.read_exact(&mut body[buffered..]).unwrap();
    assert!(body == bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_does_not_read_is_not_read_either() {
    let conf = TransportConf {
        max_outgoing_bytes: 1 << 20,
        ..TransportConf::default()
    };
    let chunk = Bytes::from(some_bytes(64 << 10));
    let handler = TestHandler {
        chunk: chunk.clone(),
        ..TestHandler::default()
    };
    let (server, handler) = serve(handler, &conf);
    let mut raw = Raw::connect(&server);
    let count = 1000;
    for chunk_index in 0..count {
        raw.send(&Frame::ChunkFetchRequest {
            stream_id: 2,
            chunk_index,
        });
    }
    let mut opened = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        match handler.chunks_opened.swap(opened, Ordering::SeqCst) {
            now if now == opened => break,
            now => {
                opened = now;
                handler.chunks_opened.store(now, Ordering::SeqCst);
            }
        }
    }
    // What the queue, the requests being opened and the sockets' buffers hold is far from all.
    assert!(
        opened < 500,
        "{opened} chunks of 64 KiB were opened for a peer that reads nothing"
    );
    let mut seen = vec![false; count as usize];
    for _ in 0..count {
        let Frame::ChunkFetchSuccess {
            stream_id: 2,
            chunk_index,
            body,
        } = raw.receive()
        else {
            panic!("no chunk")
        };
        assert!(body == chunk);
        assert!(!std::mem::replace(&mut seen[chunk_index as usize], true));
    }
    assert_eq!(handler.chunks_opened.load(Ordering::SeqCst), count as usize);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_follow_their_frames() {
    let (server, handler) = serve(TestHandler::default(), &TransportConf::default());
    let mut raw = Raw::connect(&server);
    let data = some_bytes((3 << 20) + 7);
    let upload = |request_id, meta: &'static [u8], byte_count| Frame::UploadStream {
        request_id,
        meta: Bytes::from_static(meta),
        byte_count,
    };
    raw.send(&upload(1, b"block", data.len() as u64));
    raw.socket.write_all(&data).unwrap();
    assert_eq!(
        raw.receive(),
        Frame::RpcResponse {
            request_id: 1,
            body: Bytes::from_static(b"stored")
        }
    );
    assert!(handler.uploaded.lock().pop() == Some((Bytes::from_static(b"block"), data.clone())));
    // Empty, and refused while the data are on their way: the connection stays in step.
    raw.send(&upload(2, b"empty", 0));
    assert_eq!(
        raw.receive(),
        Frame::RpcResponse {
            request_id: 2,
            body: Bytes::from_static(b"stored")
        }
    );
    raw.send(&upload(3, b"refuse", 200_000));
    raw.socket.write_all(&data[..200_000]).unwrap();
    raw.send(&Frame::RpcRequest {
        request_id: 4,
        body: Bytes::from_static(b"x"),
    });
    assert_eq!(
        raw.receive(),
        Frame::RpcFailure {
            request_id: 3,
            error: "refused".into()
        }
    );
    assert_eq!(
        raw.receive(),
        Frame::RpcResponse {
            request_id: 4,
            body: Bytes::from_static(b"x")
        }
    );
    // Refused with more to come than is worth reading.
    raw.send(&upload(5, b"refuse", 1 << 40));
    assert_eq!(
        raw.receive(),
        Frame::RpcFailure {
            request_id: 5,
            error: "refused".into()
        }
    );
    let mut sent = 0;
    while raw.socket.write_all(&data).is_ok() {
        sent += data.len();
        assert!(sent < 1 << 30, "the server reads on and on");
    }
    assert!(
        handler
            .wait_closed()
            .await
            .expect("a reason")
            .contains("nobody wants")
    );
    // Broken off in the middle.
    let mut raw = Raw::connect(&server);
    raw.send(&upload(6, b"half", 100));
    raw.socket.write_all(&data[..50]).unwrap();
    drop(raw);
    assert!(
        handler
            .wait_closed()
            .await
            .expect("a reason")
            .contains("in the middle")
    );
    let stored: Vec<_> = handler
        .uploaded
        .lock()
        .iter()
        .map(|(meta, _)| meta.clone())
        .collect();
    assert_eq!(stored, [Bytes::from_static(b"empty")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_shrinks_ends_the_connection() {
    let (handler, bytes) = some_file(1 << 20);
    let file = handler.file.clone().unwrap().0;
    let (server, handler) = serve(handler, &TransportConf::default());
    let client = connect(&server).await;
    file.set_len(700_000).unwrap();
    let mut stream = client.open_stream("file").await.unwrap();
    let mut received = Vec::new();
    let error = loop {
        match stream.next().await {
            Ok(piece) => received.extend_from_slice(&piece.expect("not the end")),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert!(received.len() <= 700_000 && received == bytes[..received.len()]);
    assert!(
        handler
            .wait_closed()
            .await
            .expect("a reason")
            .contains("a file ended")
    );
    assert!(client.closed().await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_ends_a_connection_only_if_something_is_outstanding() {
    let conf = TransportConf {
        connection_timeout: Duration::from_millis(200),
        ..TransportConf::default()
    };
    let (server, handler) = serve(TestHandler::default(), &conf);
    let port = server.local_addr().port();
    let client = Client::connect("localhost", port, &conf, Arc::new(NoRequests))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(
        client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok(),
        "an idle connection lives"
    );
    let error = client
        .ask(Bytes::from_static(b"keep"), TIMEOUT)
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("quiet for 200 ms while there were outstanding requests"),
        "{error}"
    );
    handler.wait_closed().await;

    let closing = TransportConf {
        close_idle_connections: true,
        ..conf.clone()
    };
    let client = Client::connect("localhost", port, &closing, Arc::new(NoRequests))
        .await
        .unwrap();
    assert_eq!(
        client.closed().await.as_deref(),
        Some("it was idle for 200 ms")
    );

    // A consumer may take its time.
    let (handler, bytes) = some_file(4 << 20);
    let (files, _) = serve(handler, &conf);
    let port = files.local_addr().port();
    let client = Client::connect("localhost", port, &conf, Arc::new(NoRequests))
        .await
        .unwrap();
    let mut stream = client.open_stream("file").await.unwrap();
    tokio::time::sleep(Duration::from_millis(700)).await;
    let mut received = Vec::new();
    while let Some(piece) = stream.next().await.unwrap() {
        received.extend_from_slice(&piece);
    }
    assert!(received == bytes);

    // A stranger who never finishes a frame holds nothing for long.
    let mut stranger = Raw::connect(&server);
    stranger
        .socket
        .write_all(&[0, 0, 0, 0, 0, 0, 0, 99, 3])
        .unwrap();
    assert!(stranger.is_refused());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_requests_share_a_budget() {
    let max_frame = 8 << 20;
    let conf = TransportConf {
        max_frame,
        max_held_bytes: max_frame,
        ..TransportConf::default()
    };
    let (server, handler) = serve(TestHandler::default(), &conf);
    let client = connect(&server).await;
    let large = |first| {
        let mut body = vec![0; 6 << 20];
        body[0] = first;
        Bytes::from(body)
    };
    // Two such requests do not fit at a time, so the second is not read before the first is answered.
    let first = client.start_ask(large(b'K'));
    while handler.kept.lock().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let other = connect(&server).await;
    let second = other.start_ask(large(1)).answer(TIMEOUT);
    tokio::pin!(second);
    let early = tokio::time::timeout(Duration::from_millis(300), &mut second).await;
    assert!(early.is_err(), "read beyond the budget: {early:?}");
    let first_reply = handler.kept.lock().pop().unwrap();
    first_reply.success(Bytes::from_static(b"first"));
    assert_eq!(
        first.answer(TIMEOUT).await,
        Ok(Bytes::from_static(b"first"))
    );
    assert!(second.await.unwrap() == large(1));
    // Small requests need no budget.
    assert!(client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_does_not_wait_for_a_peer_that_does_not_read() {
    let listener = std::net::TcpListener::bind((LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = Client::connect(
        "127.0.0.1",
        port,
        &TransportConf::default(),
        Arc::new(NoRequests),
    )
    .await
    .unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    client.send_now(Bytes::from(vec![0; 64 << 20]));
    let full = tokio::time::timeout(
        Duration::from_millis(200),
        client.send(Bytes::from_static(b"x")),
    )
    .await;
    assert!(full.is_err(), "senders wait while too much is queued");
    assert!(
        tokio::time::timeout(Duration::from_millis(50), client.flush())
            .await
            .is_err()
    );
    client.close();
    client.flush().await;
    peer.set_read_timeout(Some(TIMEOUT)).unwrap();
    let received = std::io::copy(&mut peer, &mut std::io::sink()).unwrap();
    assert!(received < 64 << 20, "{received}");
}

#[tokio::test]
async fn an_unreachable_peer_is_named() {
    let listener = std::net::TcpListener::bind((LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = Client::connect(
        "127.0.0.1",
        port,
        &TransportConf::default(),
        Arc::new(NoRequests),
    )
    .await
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert!(
        error
            .to_string()
            .starts_with(&format!("Failed to connect to 127.0.0.1:{port}: ")),
        "{error}"
    );
}
