//! Fuzz target of this room; see [`crate::fuzzing`].

use std::cell::Cell;
use std::net::TcpStream as StdTcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use wire::frame::Frame;

use super::outgoing::Activity;
use super::reader::{Event, Reader};

const MAX_FRAME: usize = 1 << 20;

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("threads are not needed");
}

/// What a connection brought: frames, raw bytes behind them, and whether all of it was well-formed to the end.
#[derive(Debug, Default, PartialEq)]
struct Arrived {
    frames: Vec<Frame>,
    raw: Vec<u8>,
    complete: bool,
}

/// Bytes that follow a frame.
fn raw_bytes(frame: &Frame) -> u64 {
    match frame {
        Frame::StreamResponse { byte_count, .. } | Frame::UploadStream { byte_count, .. } => {
            *byte_count
        }
        _ => 0,
    }
}

/// Frames that arrive in pieces are those that arrive at once.
pub fn frame_reader(data: &[u8]) {
    let cut = data.first().map_or(0, |byte| usize::from(*byte));
    let data = data.get(1..).unwrap_or_default();
    let (one, two) = data.split_at(cut.min(data.len()));
    let arrived = RUNTIME.with(|runtime| runtime.block_on(read_in_pieces(one, two)));
    assert_eq!(arrived, read_at_once(data));
}

fn read_at_once(data: &[u8]) -> Arrived {
    let mut arrived = Arrived::default();
    let mut buffer = BytesMut::from(data);
    loop {
        let Ok(frame) = Frame::decode(&mut buffer, MAX_FRAME) else {
            return arrived;
        };
        let Some(frame) = frame else {
            arrived.complete = buffer.is_empty();
            return arrived;
        };
        let raw = usize::try_from(raw_bytes(&frame)).unwrap_or(usize::MAX);
        arrived.frames.push(frame);
        let here = raw.min(buffer.len());
        arrived.raw.extend_from_slice(&buffer.split_to(here));
        if here < raw {
            return arrived;
        }
    }
}

async fn read_in_pieces(one: &[u8], two: &[u8]) -> Arrived {
    // A pair of Unix sockets: there is an end to the ports of TCP.
    let (here, there) = UnixStream::pair().expect("a pair of sockets");
    let [here, there] = [here, there].map(|socket| {
        socket.set_nonblocking(true).expect("a socket");
        TcpStream::from_std(StdTcpStream::from(OwnedFd::from(socket))).expect("a socket")
    });
    let over = Rc::new(Cell::new(false));
    let send = {
        let over = Rc::clone(&over);
        let mut there = there;
        async move {
            for piece in [one, two] {
                // A reader that has given up closes its end.
                if over.get() || there.write_all(piece).await.is_err() {
                    return;
                }
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
            }
            drop(there);
        }
    };
    let receive = async move {
        let arrived = read(Reader::new(
            Arc::new(here),
            MAX_FRAME,
            Arc::new(Activity::new()),
            None,
        ))
        .await;
        over.set(true);
        arrived
    };
    tokio::join!(send, receive).1
}

async fn read(mut reader: Reader) -> Arrived {
    let mut arrived = Arrived::default();
    let (sender, mut raw) = mpsc::channel::<Bytes>(1);
    loop {
        let event = reader.next().await;
        while let Ok(bytes) = raw.try_recv() {
            arrived.raw.extend_from_slice(&bytes);
        }
        match event {
            Ok(Event::Frame(frame, _)) => {
                reader.divert(raw_bytes(&frame), sender.clone());
                arrived.frames.push(frame);
            }
            Ok(Event::Progress) => {}
            Ok(Event::End) => {
                arrived.complete = true;
                return arrived;
            }
            Err(_) => return arrived,
        }
    }
}
