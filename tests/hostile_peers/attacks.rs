//! What strangers can make the server hold, and how long others wait meanwhile.

use crate::fixture::{APP, Fixture, TIMEOUT, content, fetch, metadata, open, open_blocks};
use bytes::{Bytes, BytesMut};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use wire::block_transfer::BlockTransferMessage as Message;
use wire::frame::{Frame, MAX_FRAME};

const MIB: u64 = 1 << 20;
/// Longer than any honest answer takes here, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(5);
/// What an honest peer sends.
const HONEST: usize = 300_000;

/// Memory is measured of the whole process, so there is one attack at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Watches how much larger the process becomes.
struct Growth {
    before: u64,
    most: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Growth {
    fn watch() -> Self {
        let (most, done) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let watcher = std::thread::spawn({
            let (most, done) = (most.clone(), done.clone());
            move || {
                while !done.load(Ordering::Relaxed) {
                    most.fetch_max(resident(), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        Self {
            before: resident(),
            most,
            done,
            watcher: Some(watcher),
        }
    }

    /// Fails if the process ever was larger by more than `limit` MiB.
    fn stays_below(mut self, limit: u64, what: &str) {
        self.done.store(true, Ordering::Relaxed);
        self.watcher.take().unwrap().join().unwrap();
        let grown = self
            .most
            .load(Ordering::Relaxed)
            .saturating_sub(self.before)
            / MIB;
        println!("{what}: grown by {grown} MiB");
        assert!(
            grown <= limit,
            "{what}: grown by {grown} MiB, allowed are {limit}"
        );
    }
}

fn connect(fixture: &Fixture) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", fixture.server.port())).unwrap();
    socket.set_write_timeout(Some(TIMEOUT)).unwrap();
    socket
}

fn bytes_of(frame: &Frame) -> BytesMut {
    let mut bytes = BytesMut::new();
    frame.encode(&mut bytes);
    bytes
}

fn upload(metadata: Bytes, block_data: Bytes) -> Bytes {
    let message = Message::UploadBlock {
        app_id: APP.into(),
        exec_id: "7".into(),
        block_id: "rdd_1_1".into(),
        metadata,
        block_data,
    };
    message.write().unwrap().into()
}

/// The beginning of a frame that says how much follows.
fn announcement(body_len: u64) -> Vec<u8> {
    const RPC_REQUEST: u8 = 3;
    let mut bytes = (8 + 1 + 8 + 4 + body_len).to_be_bytes().to_vec();
    bytes.push(RPC_REQUEST);
    bytes
}

/// An honest peer uploads `len` bytes over a connection of its own; how long it takes.
async fn honest_upload(fixture: &Fixture, len: usize) -> Duration {
    let message = upload(metadata(), content(1, len).into());
    let began = Instant::now();
    let client = fixture.connect().await;
    assert_eq!(client.ask(message, TIMEOUT).await, Ok(Bytes::new()));
    began.elapsed()
}

async fn honest_upload_is_answered_soon(fixture: &Fixture, what: &str) {
    let waited = honest_upload(fixture, HONEST).await;
    println!("{what}: an honest upload was answered after {waited:?}");
    assert!(waited < SOON, "{what}: {waited:?}");
}

/// Plain Spark: 2.3 s until the next request is answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_reset_keep_nobody_waiting() {
    let _alone = ALONE.lock().await;
    let fixture = Fixture::start();
    let segments = fixture.map_output(3, 10, &[HONEST]);
    let port = fixture.server.port();
    tokio::task::spawn_blocking(move || {
        for _ in 0..3000 {
            let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
            // Closing it resets the connection.
            rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).unwrap();
        }
    })
    .await
    .unwrap();
    let began = Instant::now();
    let client = fixture.connect().await;
    let (stream, _) = open(&client, fetch(&[10], &[&[0]], false)).await;
    assert!(client.fetch_chunk(stream, 0).await.unwrap() == segments[0]);
    println!("reset storm: answered after {:?}", began.elapsed());
    assert!(
        began.elapsed() < Duration::from_millis(2300),
        "{:?}",
        began.elapsed()
    );
}

/// Plain Spark: 0.02 s.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_announces_much_and_sends_nothing_holds_nothing() {
    let _alone = ALONE.lock().await;
    let fixture = Fixture::start();
    honest_upload(&fixture, HONEST).await;
    let growth = Growth::watch();
    let attackers: Vec<_> = (0..4)
        .map(|_| {
            let mut socket = connect(&fixture);
            socket.write_all(&announcement(210 * MIB)).unwrap();
            socket
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    honest_upload_is_answered_soon(&fixture, "announced frames").await;
    growth.stays_below(16, "announced frames");
    drop(attackers);
}

/// The same, but with most of what was announced: the ledger is full.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_fills_the_ledger_and_stops_goes() {
    let _alone = ALONE.lock().await;
    let fixture = Arc::new(Fixture::start());
    let growth = Growth::watch();
    let piece = Arc::new(vec![7; 1 << 20]);
    let attackers: Vec<_> = (0..4)
        .map(|_| {
            let (mut socket, piece) = (connect(&fixture), piece.clone());
            std::thread::spawn(move || {
                socket.write_all(&announcement(210 * MIB)).unwrap();
                // Until the server reads no more, or closes the connection.
                socket
                    .set_write_timeout(Some(Duration::from_secs(2)))
                    .unwrap();
                (0..200).all(|_| socket.write_all(&piece).is_ok());
                socket
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    honest_upload_is_answered_soon(&fixture, "a full ledger").await;
    let attackers: Vec<_> = attackers
        .into_iter()
        .map(|attacker| attacker.join().unwrap())
        .collect();
    // More than may exceed the limit.
    let waited = honest_upload(&fixture, 8 << 20).await;
    println!("a full ledger: an honest upload of 8 MiB was answered after {waited:?}");
    assert!(waited < TIMEOUT);
    growth.stays_below(800, "a full ledger");
    drop(attackers);
}

/// Plain Spark: each upload is written as it comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_uploads_stop_no_other() {
    let _alone = ALONE.lock().await;
    let fixture = Fixture::start();
    honest_upload(&fixture, HONEST).await;
    let growth = Growth::watch();
    let header = Message::UploadBlockStream {
        block_id: "rdd_1_1".into(),
        metadata: metadata(),
    };
    let frame = Frame::UploadStream {
        request_id: 1,
        meta: header.write().unwrap().into(),
        byte_count: 10_000_000,
    };
    let attackers: Vec<_> = (0..16)
        .map(|_| {
            let mut socket = connect(&fixture);
            socket.write_all(&bytes_of(&frame)).unwrap();
            socket.write_all(&[1; 1000]).unwrap();
            socket
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let client = fixture.connect().await;
    let began = Instant::now();
    let data = firesteel::transport::Body::Bytes(content(2, HONEST).into());
    let answer = client.upload(header.write().unwrap().into(), &data, TIMEOUT);
    assert_eq!(answer.await, Ok(Bytes::new()));
    println!("stalled uploads: answered after {:?}", began.elapsed());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    honest_upload_is_answered_soon(&fixture, "stalled uploads").await;
    assert!(fixture.source.streams.lock()[0].2 == content(2, HONEST));
    growth.stays_below(16, "stalled uploads");
    drop(attackers);
}

/// An array of ten million strings.
fn object_graph() -> Bytes {
    let mut bytes = vec![0xac, 0xed, 0, 5, 0x75, 0x72];
    let name = b"[Ljava.lang.Object;";
    bytes.extend((name.len() as u16).to_be_bytes());
    bytes.extend(name);
    bytes.extend(0x90ce_589f_1073_296c_u64.to_be_bytes());
    // Serializable, no fields, no annotation, no superclass.
    bytes.extend([2, 0, 0, 0x78, 0x70]);
    let count = 10_500_000u32;
    bytes.extend(count.to_be_bytes());
    for _ in 0..count {
        bytes.extend([0x74, 0, 1, b'a']);
    }
    bytes.into()
}

/// Firesteel before there were limits: 3.4 GB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn object_graphs_are_not_built() {
    let _alone = ALONE.lock().await;
    let fixture = Arc::new(Fixture::start());
    let message = upload(object_graph(), Bytes::new());
    assert!(message.len() > 42_000_000);
    let growth = Growth::watch();
    let attackers: Vec<_> = (0..3)
        .map(|_| {
            let (fixture, message) = (fixture.clone(), message.clone());
            tokio::spawn(async move {
                let client = fixture.connect().await;
                let error = client.ask(message, TIMEOUT).await.unwrap_err().to_string();
                assert!(error.contains("UploadBlock.metadata: length"), "{error}");
            })
        })
        .collect();
    honest_upload_is_answered_soon(&fixture, "object graphs").await;
    for attacker in attackers {
        attacker.await.unwrap();
    }
    growth.stays_below(400, "object graphs");
    // As a header of a stream it is not even read.
    let mut socket = connect(&fixture);
    let mut bytes = announcement(42 * MIB);
    *bytes.last_mut().unwrap() = 10;
    socket.write_all(&bytes).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    assert_eq!(socket.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(fixture.source.uploads.lock().len() == 1);
}

/// Firesteel before: 2.1 GB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opened_names_hold_no_content() {
    let _alone = ALONE.lock().await;
    let fixture = Fixture::start();
    honest_upload(&fixture, HONEST).await;
    let growth = Growth::watch();
    let names: Vec<_> = (0..40)
        .map(|number| format!("rdd_50000000_{number}"))
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let opener = fixture.connect().await;
    let (stream_id, chunks) = open(&opener, open_blocks(&names)).await;
    assert_eq!(
        (chunks, fixture.source.asked.load(Ordering::SeqCst)),
        (40, 0)
    );
    // A connection's streams are its own.
    let mut attacker = connect(&fixture);
    let message = open_blocks(&names).write().unwrap();
    let request = Frame::RpcRequest {
        request_id: 1,
        body: message.into(),
    };
    attacker.write_all(&bytes_of(&request)).unwrap();
    attacker.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut answer = [0; 128];
    assert!(attacker.read(&mut answer).unwrap() > 0);
    for chunk_index in 0..40 {
        let request = Frame::ChunkFetchRequest {
            stream_id: stream_id + 1,
            chunk_index,
        };
        attacker.write_all(&bytes_of(&request)).unwrap();
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = fixture.source.asked.load(Ordering::SeqCst);
    assert!(
        (1..=2).contains(&asked),
        "{asked} blocks were made for who reads nothing"
    );
    honest_upload_is_answered_soon(&fixture, "opened names").await;
    growth.stays_below(160, "opened names");
    // Who reads gets all of them, one after the other.
    let chunks = [0, 1, 2, 39].map(|chunk| opener.start_fetch_chunk(stream_id, chunk));
    for chunk in chunks {
        assert_eq!(chunk.await.unwrap().len(), 50_000_000);
    }
}

/// Each took 64 KiB before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_frame_takes_its_bytes() {
    let _alone = ALONE.lock().await;
    let fixture = Fixture::start();
    honest_upload(&fixture, HONEST).await;
    let growth = Growth::watch();
    let half = {
        let mut bytes = announcement(1000);
        bytes.extend([1; 500]);
        bytes
    };
    let attackers: Vec<_> = (0..400)
        .map(|_| {
            let mut socket = connect(&fixture);
            // In two parts: one that is read with the length, one that is read alone.
            socket.write_all(&half[..300]).unwrap();
            socket
        })
        .collect();
    for mut attacker in &attackers {
        attacker.write_all(&half[300..]).unwrap();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    honest_upload_is_answered_soon(&fixture, "half frames").await;
    growth.stays_below(12, "400 half frames");
    drop(attackers);
}

fn receive(socket: &mut TcpStream, buffer: &mut BytesMut) -> Frame {
    loop {
        if let Some(frame) = Frame::decode(buffer, MAX_FRAME).unwrap() {
            return frame;
        }
        let mut bytes = [0; 4096];
        let count = socket.read(&mut bytes).unwrap();
        assert!(count > 0, "closed by the server");
        buffer.extend_from_slice(&bytes[..count]);
    }
}

/// Each connection held 16 MiB before, however many there were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_takes_no_answers_holds_few() {
    const SEGMENTS: i32 = 1000;
    let _alone = ALONE.lock().await;
    let fixture = Fixture::start();
    let segments = fixture.map_output(3, 10, &[32 << 10; SEGMENTS as usize]);
    let reducers: Vec<i32> = (0..SEGMENTS).collect();
    let message = fetch(&[10], &[&reducers], false).write().unwrap();
    let request = Frame::RpcRequest {
        request_id: 1,
        body: message.into(),
    };
    let growth = Growth::watch();
    let attackers: Vec<_> = (0..50)
        .map(|_| {
            let mut socket = connect(&fixture);
            socket.set_read_timeout(Some(TIMEOUT)).unwrap();
            socket.write_all(&bytes_of(&request)).unwrap();
            let Frame::RpcResponse { body, .. } = receive(&mut socket, &mut BytesMut::new()) else {
                panic!("not opened")
            };
            let Ok(Message::StreamHandle { stream_id, .. }) = Message::read(&body) else {
                panic!("not opened")
            };
            let mut requests = BytesMut::new();
            for chunk_index in 0..SEGMENTS {
                let request = Frame::ChunkFetchRequest {
                    stream_id,
                    chunk_index,
                };
                request.encode(&mut requests);
            }
            socket.write_all(&requests).unwrap();
            socket
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let began = Instant::now();
    let client = fixture.connect().await;
    let (stream, _) = open(&client, fetch(&[10], &[&reducers], false)).await;
    let chunks: Vec<_> = (0..SEGMENTS)
        .map(|chunk| client.start_fetch_chunk(stream, chunk))
        .collect();
    for (chunk, segment) in chunks.into_iter().zip(&segments) {
        assert!(chunk.await.unwrap() == segment[..]);
    }
    println!(
        "answers nobody takes: an honest reader had 32 MiB after {:?}",
        began.elapsed()
    );
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    growth.stays_below(450, "answers nobody takes");
    drop(attackers);
}
