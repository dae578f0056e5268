//! How fast the block server gives shuffle blocks from the page cache to one connection, compared with a bare
//! `sendfile` loop.
//!
//! `cargo bench --bench serve_blocks [-- <seconds per case>]` prints GB/s and their ratio for several block sizes, and
//! the rate of small blocks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use bytes::{Bytes, BytesMut};
use firesteel::blocks::{BlockServer, BlockSource, LocalDirs, Upload};
use firesteel::transport::{Answer, Body};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::block_transfer::{BlockTransferMessage as Message, FetchShuffleBlocks};
use wire::frame::Frame;
use wire::ids::BlockId;

/// Bytes of the map output that is served.
const OUTPUT: usize = 256 << 20;
/// Chunks that the reader asks for before the first one is there, as a reducer does.
const AHEAD: i32 = 8;

struct NoBlocks;

impl BlockSource for NoBlocks {
    fn may_have(&self, _id: &BlockId) -> bool {
        false
    }

    fn stored_block(&self, _id: &BlockId) -> Option<Answer<Result<Body, String>>> {
        None
    }

    fn local_block(&self, id: BlockId) -> Answer<Result<Body, String>> {
        Box::pin(async move { Err(id.to_string()) })
    }

    fn upload(&self, _upload: Upload, _data: Bytes) -> Answer<Result<Bytes, String>> {
        Box::pin(async { Err(String::new()) })
    }

    fn upload_stream(&self, _upload: Upload, _file: PathBuf) -> Answer<Result<Bytes, String>> {
        Box::pin(async { Err(String::new()) })
    }
}

/// Reads and throws away.
struct Reader {
    socket: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Reader {
    fn new(socket: TcpStream) -> Self {
        socket.set_nodelay(true).unwrap();
        Self {
            socket,
            buffer: vec![0; 1 << 20],
            start: 0,
            end: 0,
        }
    }

    fn send(&mut self, frame: &Frame) {
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }

    fn fill(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start.., 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let count = self.socket.read(&mut self.buffer[self.end..]).unwrap();
        assert!(count > 0, "closed by the server");
        self.end += count;
    }

    fn skip(&mut self, mut count: usize) {
        loop {
            let here = count.min(self.end - self.start);
            self.start += here;
            count -= here;
            if count == 0 {
                return;
            }
            self.fill();
        }
    }

    /// Type and size of the next frame; its bytes are thrown away but for those returned.
    fn skip_frame(&mut self) -> (u8, Vec<u8>) {
        while self.end - self.start < 9 {
            self.fill();
        }
        let head = &self.buffer[self.start..self.start + 9];
        let length = i64::from_be_bytes(head[..8].try_into().unwrap()) as usize;
        let kind = head[8];
        if length > 1000 {
            self.skip(length);
            return (kind, Vec::new());
        }
        while self.end - self.start < length {
            self.fill();
        }
        let frame = self.buffer[self.start..self.start + length].to_vec();
        self.start += length;
        (kind, frame)
    }
}

/// Fetches all segments over and over; returns bytes per second and the number of blocks.
fn fetch(port: u16, segments: i32, segment: usize, time: Duration) -> (f64, usize) {
    let mut reader = Reader::new(TcpStream::connect(("127.0.0.1", port)).unwrap());
    let request = Message::FetchShuffleBlocks(FetchShuffleBlocks {
        app_id: "app".into(),
        exec_id: "1".into(),
        shuffle_id: 0,
        map_ids: vec![segment as i64],
        reduce_ids: vec![(0..segments).collect()],
        batch_fetch_enabled: false,
    });
    let request = Bytes::from(request.write().unwrap());
    let started = Instant::now();
    let mut blocks = 0;
    while started.elapsed() < time {
        reader.send(&Frame::RpcRequest {
            request_id: 1,
            body: request.clone(),
        });
        let (kind, handle) = reader.skip_frame();
        assert_eq!(kind, 4);
        let stream_id = i64::from_be_bytes(handle[22..30].try_into().unwrap());
        for chunk_index in 0..segments + AHEAD {
            if chunk_index < segments {
                reader.send(&Frame::ChunkFetchRequest {
                    stream_id,
                    chunk_index,
                });
            }
            if chunk_index >= AHEAD {
                let (kind, failure) = reader.skip_frame();
                assert_eq!(kind, 1, "{}", String::from_utf8_lossy(&failure));
                blocks += 1;
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    ((blocks * segment) as f64 / seconds, blocks)
}

/// Bytes per second and bytes of a thread that does nothing but `sendfile`.
fn bare(path: PathBuf, segment: usize, time: Duration) -> (f64, f64) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut reader = Reader::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
    let server = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let file = File::open(path).unwrap();
        'serve: loop {
            for start in (0..OUTPUT - segment + 1).step_by(segment) {
                let mut offset = start as u64;
                while offset < (start + segment) as u64 {
                    let count = start + segment - offset as usize;
                    if rustix::fs::sendfile(&socket, &file, Some(&mut offset), count).is_err() {
                        break 'serve;
                    }
                }
            }
        }
    });
    let started = Instant::now();
    let mut bytes = 0u64;
    while started.elapsed() < time {
        reader.skip(OUTPUT / 4);
        bytes += OUTPUT as u64 / 4;
    }
    let rate = bytes as f64 / started.elapsed().as_secs_f64();
    drop(reader);
    server.join().unwrap();
    (rate, bytes as f64)
}

/// Seconds of processor time that this process has used, reader and server together.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().unwrap())
        .sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

fn main() {
    let seconds = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(2.0);
    let time = Duration::from_secs_f64(seconds);
    let root = tempfile::tempdir().unwrap();
    let dirs = Arc::new(LocalDirs::create(&[root.path().to_owned()], 64, false).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let _guard = runtime.enter();
    let server = BlockServer::bind(
        ("127.0.0.1", 0),
        "app",
        "1",
        dirs.clone(),
        Arc::new(NoBlocks),
        Default::default(),
        |_| None,
    )
    .unwrap();
    let data: Vec<u8> = (0..OUTPUT).map(|at| at as u8).collect();
    println!(
        "{:>10} {:>12} {:>12} {:>7} {:>12}",
        "block", "served GB/s", "bare GB/s", "ratio", "blocks/s"
    );
    for segment in [16 << 20, 2 << 20, 128 << 10, 8 << 10, 512] {
        let segments = (OUTPUT / segment).min(8192) as i32;
        let index: Vec<u8> = (0..=i64::from(segments))
            .flat_map(|at| (at * segment as i64).to_be_bytes())
            .collect();
        for (kind, bytes) in [("index", &index), ("data", &data)] {
            let path = dirs.path(&format!("shuffle_0_{segment}_0.{kind}").parse().unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let data_path = dirs.path(&format!("shuffle_0_{segment}_0.data").parse().unwrap());
        let before = cpu();
        let (bare, bare_bytes) = bare(data_path.clone(), segment, time);
        let between = cpu();
        let (served, blocks) = fetch(server.port(), segments, segment, time);
        let served_cpu = (cpu() - between) / (blocks * segment) as f64;
        let bare_cpu = (between - before) / bare_bytes;
        println!(
            "{segment:>10} {:>12.3} {:>10.3} {:>6.2} {:>10.0} {:>12.2} {:>10.2}",
            served / 1e9,
            bare / 1e9,
            served / bare,
            served / segment as f64,
            served_cpu * 1e9,
            bare_cpu * 1e9
        );
        std::fs::remove_file(data_path).unwrap();
    }
}
