//! The block server over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod fixture;
mod spark;

use bytes::{Bytes, BytesMut};
use firesteel::blocks::BlockServer;
use firesteel::transport::{AskError, Client, NoRequests, TransportConf};
use fixture::{APP, Fixture, Shared, TIMEOUT, ask, content, fetch, metadata, open, open_blocks};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wire::block_transfer::{BlockTransferMessage as Message, Cause, TAKES_COLUMNS};
use wire::frame::{Frame, MAX_FRAME};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shuffle_blocks_are_served_from_their_files() {
    let fixture = Fixture::start();
    let first = fixture.map_output(3, 10, &[100, 0, 3 << 20, 70_000]);
    let second = fixture.map_output(3, 11, &[5, 6, 7, 8]);
    let client = fixture.connect().await;

    let (stream, chunks) = open(&client, fetch(&[10, 11], &[&[0, 1, 2, 3], &[2]], false)).await;
    assert_eq!(chunks, 5);
    for (chunk, segment) in [
        (4, &second[2]),
        (2, &first[2]),
        (0, &first[0]),
        (1, &first[1]),
        (3, &first[3]),
    ] {
        assert!(
            client.fetch_chunk(stream, chunk).await.unwrap() == segment[..],
            "chunk {chunk}"
        );
    }
    let closed = client.fetch_chunk(stream, 0).await.unwrap_err();
    assert_eq!(
        closed.to_string(),
        format!("Requested chunk not available since streamId {stream} is closed")
    );

    let (stream, chunks) = open(&client, fetch(&[10, 11], &[&[1, 4], &[0, 2]], true)).await;
    assert_eq!(chunks, 2);
    assert!(client.fetch_chunk(stream, 0).await.unwrap() == first[1..].concat());
    assert!(client.fetch_chunk(stream, 1).await.unwrap() == second[..2].concat());

    // The old protocol, and a chunk as a stream.
    let (stream, chunks) = open(&client, open_blocks(&["shuffle_3_10_2", "shuffle_3_11_3"])).await;
    assert_eq!(chunks, 2);
    let mut large = client.open_stream(&format!("{stream}_0")).await.unwrap();
    assert_eq!(large.len(), 3 << 20);
    let mut received = Vec::new();
    while let Some(piece) = large.next().await.unwrap() {
        received.extend_from_slice(&piece);
    }
    assert!(received == first[2]);
    assert_eq!(client.fetch_chunk(stream, 1).await.unwrap(), second[3]);
    assert_eq!(
        fixture.source.asked.load(Ordering::SeqCst),
        0,
        "files need nobody else"
    );

    for wrong in ["x", "1", "1_x", "_"] {
        let error = client.open_stream(wrong).await.unwrap_err().to_string();
        assert!(
            error.starts_with("Stream id and chunk index should be specified"),
            "{error}"
        );
    }
    let error = ask(&client, fetch(&[10], &[&[1]], true))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("Invalid shuffle fetch request when batch mode is enabled"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_blocks_come_from_the_source_and_missing_ones_are_failures() {
    let fixture = Fixture::start();
    fixture.map_output(3, 10, &[100]);
    let client = fixture.connect().await;
    let names = ["rdd_300000_1", "shuffle_3_10_1", "rdd_0_0"];
    let (stream, chunks) = open(&client, open_blocks(&names)).await;
    assert_eq!(chunks, 3);
    assert!(client.fetch_chunk(stream, 0).await.unwrap() == content(1, 300_000));
    let error = client.fetch_chunk(stream, 1).await.unwrap_err().to_string();
    assert!(error.ends_with("has no reducers 1 to 2"), "{error}");
    assert!(client.fetch_chunk(stream, 2).await.unwrap().is_empty());
    // What is not there cannot be opened, whatever stands beside it.
    let index = fixture.dirs.path(&"shuffle_3_99_0.index".parse().unwrap());
    let no_file = format!("java.nio.file.NoSuchFileException: {}", index.display());
    let no_block =
        "org.apache.spark.storage.BlockNotFoundException: Block broadcast_5_piece0 not found";
    for (request, expected) in [
        (open_blocks(&["rdd_1_1", "broadcast_5_piece0"]), no_block),
        (open_blocks(&["rdd_1_1", "shuffle_3_99_0"]), &no_file),
        (fetch(&[10, 99], &[&[0], &[0]], false), &no_file),
    ] {
        let error = ask(&client, request).await.unwrap_err();
        assert_eq!(error, AskError::RpcFailure(expected.into()));
    }
    // So many that a disk may be waited for.
    let maps: Vec<i64> = (0..400).collect();
    maps.iter()
        .for_each(|map| drop(fixture.map_output(3, *map, &[1])));
    let reducers: Vec<&[i32]> = vec![&[0]; 401];
    assert_eq!(
        open(&client, fetch(&maps, &reducers[1..], false)).await.1,
        400
    );
    let maps: Vec<i64> = (0..400).chain([1000]).collect();
    let error = ask(&client, fetch(&maps, &reducers, false))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("shuffle_3_1000_0.index"),
        "{error}"
    );
    // Another connection does not see the stream.
    let (stream, _) = open(&client, open_blocks(&["rdd_1_1"])).await;
    assert!(
        fixture
            .connect()
            .await
            .fetch_chunk(stream, 0)
            .await
            .is_err()
    );
    assert_eq!(client.fetch_chunk(stream, 0).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_directories_are_told_only_for_this_executor() {
    let fixture = Fixture::start();
    let client = fixture.connect().await;
    let dirs_of = async |app_id: &str, exec_ids: &[&str]| {
        let exec_ids = exec_ids.iter().map(|id| (*id).to_owned()).collect();
        ask(
            &client,
            Message::GetLocalDirsForExecutors {
                app_id: app_id.into(),
                exec_ids,
            },
        )
        .await
    };
    let dirs: Vec<_> = fixture
        .dirs
        .dirs()
        .iter()
        .map(|dir| dir.to_str().unwrap().to_owned())
        .collect();
    assert_eq!(dirs.len(), 2);
    let expected = Message::LocalDirsForExecutors {
        local_dirs_by_exec: vec![("7".into(), dirs)],
    };
    assert_eq!(dirs_of(APP, &["7"]).await, Ok(expected));
    let refused = async |app_id, exec_ids| dirs_of(app_id, exec_ids).await.unwrap_err().to_string();
    assert_eq!(
        refused("other", &["7"]).await,
        "Invalid GetLocalDirsForExecutors request: incorrect application id: other;"
    );
    assert_eq!(
        refused(APP, &["7", "8"]).await,
        "Invalid GetLocalDirsForExecutors request: incorrect executor number: 2 (expected 1);"
    );
    assert_eq!(
        refused(APP, &["8"]).await,
        "Invalid executor id: 8, expected 7."
    );
}

/// The same of somebody who takes columns.
async fn ask_for_columns(client: &Client, message: Message) -> Message {
    let body = [&message.write().unwrap(), TAKES_COLUMNS].concat();
    let answer = client.ask(body.into(), TIMEOUT).await.unwrap();
    Message::read(&answer).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_are_sent_to_those_who_take_them_and_rows_to_all_others() {
    let fixture = Fixture::start();
    let endings = ["columns.index", "columns"];
    let (columns, files) = fixture.files_of(3, 10, &[40, 60_000], endings);
    for (name, bytes) in files {
        fixture.write(&name, &bytes);
    }
    let (rows, files) = fixture.files_of(3, 10, &[300, 50], ["index", "data"]);
    let path = |(name, bytes): (String, _)| (fixture.dirs.path(&name.parse().unwrap()), bytes);
    let files = files.into_iter().map(path).collect();
    fixture.source.columns.lock().insert(10, files);
    let only_rows = fixture.map_output(3, 11, &[7]);
    let client = fixture.connect().await;
    let of_columns = async || {
        let request = fetch(&[10, 11], &[&[0, 1], &[0]], false);
        let Message::StreamHandle { stream_id, .. } = ask_for_columns(&client, request).await
        else {
            panic!("no stream")
        };
        for (chunk, expected) in (0..).zip([&columns[0], &columns[1], &only_rows[0]]) {
            assert!(client.fetch_chunk(stream_id, chunk).await.unwrap() == *expected);
        }
    };
    of_columns().await;
    assert!(
        fixture.source.columns.lock().contains_key(&10),
        "nobody wants rows"
    );
    let (stream, chunks) = open(&client, fetch(&[10], &[&[0, 1]], false)).await;
    assert_eq!(chunks, 2);
    for (chunk, expected) in (0..).zip(&rows) {
        assert!(client.fetch_chunk(stream, chunk).await.unwrap() == *expected);
    }
    assert!(!fixture.source.columns.lock().contains_key(&10));
    of_columns().await;
    let dirs = Message::GetLocalDirsForExecutors {
        app_id: APP.into(),
        exec_ids: vec!["7".into()],
    };
    let read_by_others = || fixture.source.read_by_others.load(Ordering::SeqCst);
    let told = ask_for_columns(&client, dirs.clone()).await;
    assert_eq!(read_by_others(), 0);
    assert_eq!(ask(&client, dirs).await, Ok(told));
    assert_eq!(read_by_others(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_diagnosed_and_nonsense_is_refused() {
    let fixture = Fixture::start();
    fixture.map_output(3, 10, &[0, 0]);
    fixture.write(
        "shuffle_3_10_0.checksum.ADLER32",
        &[1i64.to_be_bytes(), 2i64.to_be_bytes()].concat(),
    );
    let client = fixture.connect().await;
    let diagnose = async |reduce_id, checksum| {
        let request = Message::DiagnoseCorruption {
            app_id: APP.into(),
            exec_id: "7".into(),
            shuffle_id: 3,
            map_id: 10,
            reduce_id,
            checksum,
            algorithm: "ADLER32".into(),
        };
        ask(&client, request).await
    };
    let cause = |cause| Ok(Message::CorruptionCause { cause });
    assert_eq!(diagnose(0, 1).await, cause(Cause::CHECKSUM_VERIFY_PASS));
    assert_eq!(diagnose(0, 9).await, cause(Cause::NETWORK_ISSUE));
    assert_eq!(diagnose(1, 1).await, cause(Cause::DISK_ISSUE));
    assert_eq!(diagnose(5, 1).await, cause(Cause::UNKNOWN_ISSUE));

    let handle = Message::StreamHandle {
        stream_id: 1,
        num_chunks: 1,
    };
    assert!(
        ask(&client, handle)
            .await
            .unwrap_err()
            .to_string()
            .contains("not for an executor")
    );
    let error = client
        .ask(Bytes::from_static(&[0xea, 1, 2]), TIMEOUT)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("Unknown message type: 234"),
        "{error}"
    );
    assert!(client.ask(Bytes::new(), TIMEOUT).await.is_err());
    assert_eq!(
        diagnose(0, 1).await,
        cause(Cause::CHECKSUM_VERIFY_PASS),
        "the connection lives on"
    );
}

/// A peer that sends uploads, which the product itself does not do yet.
struct Uploader {
    socket: TcpStream,
    buffer: BytesMut,
}

impl Uploader {
    fn connect(fixture: &Fixture) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", fixture.server.port())).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        Self {
            socket,
            buffer: BytesMut::new(),
        }
    }

    fn announce(&mut self, request_id: i64, meta: Bytes, byte_count: usize) {
        let mut bytes = BytesMut::new();
        Frame::UploadStream {
            request_id,
            meta,
            byte_count: byte_count as u64,
        }
        .encode(&mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }

    fn receive(&mut self) -> Frame {
        loop {
            if let Some(frame) = Frame::decode(&mut self.buffer, MAX_FRAME).unwrap() {
                return frame;
            }
            let mut bytes = [0; 4096];
            let count = self.socket.read(&mut bytes).unwrap();
            assert!(count > 0, "closed by the server");
            self.buffer.extend_from_slice(&bytes[..count]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_reach_the_source_and_leave_nothing_behind() {
    let fixture = Fixture::start();
    let client = fixture.connect().await;
    let upload = Message::UploadBlock {
        app_id: APP.into(),
        exec_id: "7".into(),
        block_id: "rdd_1_1".into(),
        metadata: metadata(),
        block_data: content(3, 100_000).into(),
    };
    let body = Bytes::from(upload.write().unwrap());
    assert_eq!(client.ask(body.clone(), TIMEOUT).await, Ok(Bytes::new()));
    {
        let uploads = fixture.source.uploads.lock();
        let [(upload, data)] = uploads.as_slice() else {
            panic!("{uploads:?}")
        };
        assert_eq!(upload.id.to_string(), "rdd_1_1");
        assert!(upload.message == body && *data == content(3, 100_000));
    }

    let header = Message::UploadBlockStream {
        block_id: "rdd_2_2".into(),
        metadata: metadata(),
    };
    let header = Bytes::from(header.write().unwrap());
    let mut peer = Uploader::connect(&fixture);
    let sizes = [(5 << 20) + 1, 0, 13];
    for (request_id, size) in sizes.into_iter().enumerate() {
        peer.announce(request_id as i64, header.clone(), size);
        peer.socket.write_all(&content(request_id, size)).unwrap();
        let request_id = request_id as i64;
        let expected = match size {
            13 => Frame::RpcFailure {
                request_id,
                error: "not stored".into(),
            },
            _ => Frame::RpcResponse {
                request_id,
                body: Bytes::new(),
            },
        };
        assert_eq!(peer.receive(), expected);
    }
    for (request_id, (upload, path, data)) in fixture.source.streams.lock().iter().enumerate() {
        assert_eq!(upload.message, header);
        assert!(
            *data == content(request_id, sizes[request_id]),
            "{request_id}"
        );
        assert!(
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("temp_local_")
        );
    }
    peer.announce(9, Bytes::from_static(b"\x03nonsense"), 3);
    peer.socket.write_all(b"abc").unwrap();
    assert!(matches!(
        peer.receive(),
        Frame::RpcFailure { request_id: 9, .. }
    ));

    // Broken off in the middle.
    peer.announce(10, header, 5 << 20);
    peer.socket.write_all(&content(1, 3 << 20)).unwrap();
    let deadline = Instant::now() + TIMEOUT;
    while fixture.files_left().is_empty() {
        assert!(Instant::now() < deadline, "no file was begun");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(peer);
    while !fixture.files_left().is_empty() {
        assert!(
            Instant::now() < deadline,
            "left behind: {:?}",
            fixture.files_left()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(fixture.source.streams.lock().len(), sizes.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_readers_get_what_they_asked_for() {
    let fixture = Fixture::start();
    let maps: Vec<i64> = (0..40).collect();
    let outputs: Vec<_> = maps
        .iter()
        .map(|map| fixture.map_output(3, *map, &[1000, 20_000, 333]))
        .collect();
    let outputs = Arc::new(outputs);
    let readers: Vec<_> = (0..8)
        .map(|_| {
            let (outputs, maps) = (outputs.clone(), maps.clone());
            let port = fixture.server.port();
            tokio::spawn(async move {
                let conf = TransportConf::default();
                let client = Client::connect("localhost", port, &conf, Arc::new(NoRequests))
                    .await
                    .unwrap();
                let reducers: Vec<&[i32]> = vec![&[0, 1, 2]; maps.len()];
                let (stream, chunks) = open(&client, fetch(&maps, &reducers, false)).await;
                assert_eq!(chunks, 120);
                let fetches: Vec<_> = (0..chunks)
                    .map(|chunk| {
                        let client = client.clone();
                        tokio::spawn(async move {
                            (
                                chunk as usize,
                                client.fetch_chunk(stream, chunk).await.unwrap(),
                            )
                        })
                    })
                    .collect();
                for fetch in fetches {
                    let (chunk, body) = fetch.await.unwrap();
                    assert!(body == outputs[chunk / 3][chunk % 3][..], "chunk {chunk}");
                }
            })
        })
        .collect();
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test]
async fn a_taken_port_and_a_wrong_setting_are_named() {
    let fixture = Fixture::start();
    let bind = |address, port, setting: Option<(&'static str, &'static str)>| {
        let source = Arc::new(Shared(fixture.source.clone()));
        BlockServer::bind(
            (address, port),
            APP,
            "7",
            fixture.dirs.clone(),
            source,
            Default::default(),
            |key| {
                setting
                    .filter(|(name, _)| *name == key)
                    .map(|(_, value)| value.to_owned())
            },
        )
        .map(|server| server.port())
        .map_err(|error| error.to_string())
    };
    let port = fixture.server.port();
    let error = bind("127.0.0.1", port, None).unwrap_err();
    assert!(
        error.starts_with(&format!("cannot listen on 127.0.0.1:{port}: ")),
        "{error}"
    );
    assert!(bind("localhost", 0, None).unwrap() > 0);
    let key = "spark.network.maxRemoteBlockSizeFetchToMem";
    assert_eq!(
        bind("127.0.0.1", 0, Some((key, "big"))).unwrap_err(),
        format!("{key}: 'big' is not a size such as 200m")
    );
}

#[tokio::test]
async fn only_the_own_application_is_served() {
    let fixture = Fixture::start();
    fixture.map_output(3, 10, &[100]);
    let client = fixture.connect().await;
    for (app_id, served) in [(APP, true), ("another", false)] {
        for message in [
            Message::OpenBlocks {
                app_id: app_id.into(),
                exec_id: "7".into(),
                block_ids: vec!["shuffle_3_10_0".into()],
            },
            Message::DiagnoseCorruption {
                app_id: app_id.into(),
                exec_id: "7".into(),
                shuffle_id: 3,
                map_id: 10,
                reduce_id: 0,
                checksum: 7,
                algorithm: "ADLER32".into(),
            },
        ] {
            let answer = ask(&client, message).await;
            match answer {
                Ok(_) => assert!(served),
                Err(error) => assert!(
                    !served && error.to_string().contains("SecurityException"),
                    "{error}"
                ),
            }
        }
    }
}
