//! Peers that are too slow, or too many.

use crate::peers::{Raw, TIMEOUT, TestHandler, connect, serve, some_bytes};
use bytes::{Bytes, BytesMut};
use firesteel::transport::TransportConf;
use std::io::Write;
use std::time::Duration;
use wire::frame::Frame;

/// What a peer has begun must come, or be finished.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_sends_drop_by_drop_is_disconnected() {
    let conf = TransportConf {
        // Long enough for a machine that is busy with other tests.
        progress_window: Duration::from_secs(2),
        ..TransportConf::default()
    };
    let (server, handler) = serve(TestHandler::default(), &conf);
    let frame = Frame::UploadStream {
        request_id: 1,
        meta: Bytes::new(),
        byte_count: 100_000,
    };
    let mut upload = BytesMut::new();
    frame.encode(&mut upload);
    for start in [&[0, 0, 0, 0, 0, 0, 99, 99, 3][..], &upload] {
        let mut stranger = Raw::connect(&server);
        stranger.socket.write_all(start).unwrap();
        let dripping = std::thread::spawn(move || {
            // Far less often than a frame is looked at.
            while stranger.socket.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let closed = handler.wait_closed().await.expect("a reason");
        assert!(closed.starts_with("in 2000 ms it sent "), "{closed}");
        dripping.join().unwrap();
    }
    // Whoever finishes one thing after the other may be as slow, and so may the process that takes an upload.
    let mut peer = Raw::connect(&server);
    let mut slow = Raw::connect(&server);
    slow.send(&Frame::UploadStream {
        request_id: 2,
        meta: Bytes::from_static(b"slow"),
        byte_count: 4 << 20,
    });
    let body = some_bytes(4 << 20);
    let uploading = std::thread::spawn(move || {
        slow.socket.write_all(&body).unwrap();
        slow.receive()
    });
    for request_id in 0..4 {
        let mut bytes = BytesMut::new();
        let body = Bytes::from_static(b"x");
        Frame::RpcRequest { request_id, body }.encode(&mut bytes);
        // The end of one frame with the beginning of the next.
        let (first, second) = bytes.split_at(12);
        peer.socket.write_all(first).unwrap();
        tokio::time::sleep(Duration::from_millis(1200)).await;
        peer.socket.write_all(second).unwrap();
    }
    for _ in 0..4 {
        assert!(matches!(peer.receive(), Frame::RpcResponse { .. }));
    }
    assert!(matches!(
        uploading.join().unwrap(),
        Frame::RpcResponse { request_id: 2, .. }
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_the_limit_the_longest_idle_connection_goes() {
    let conf = TransportConf {
        max_connections: 3,
        ..TransportConf::default()
    };
    let (server, handler) = serve(TestHandler::default(), &conf);
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(connect(&server).await);
        let ask = clients
            .last()
            .unwrap()
            .ask(Bytes::from_static(b"x"), TIMEOUT);
        assert!(ask.await.is_ok());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The first is not the one that was idle for the longest time.
    assert!(
        clients[0]
            .ask(Bytes::from_static(b"x"), TIMEOUT)
            .await
            .is_ok()
    );
    let another = connect(&server).await;
    assert!(another.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());
    let closed = handler.wait_closed().await.expect("a reason");
    assert_eq!(closed, "more than 3 are connected, and it was idle");
    clients[1].closed().await;
    for client in [&clients[0], &clients[2], &another] {
        assert!(client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());
    }
}
