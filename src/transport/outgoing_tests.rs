use super::*;
use bytes::Bytes;
use futures_util::FutureExt;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

#[tokio::test]
async fn whoever_waits_for_room_goes_on_when_half_of_the_files_are_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let outgoing = Outgoing::new(1 << 20, Arc::new(socket), Arc::new(Activity::new()), None);
    let head = Frame::ChunkFetchSuccess {
        stream_id: 1,
        chunk_index: 0,
        body: Bytes::new(),
    };
    // Too much to be sent at once; nothing else sends.
    let body = Body::File {
        file: Arc::new(tempfile::tempfile().unwrap()),
        offset: 0,
        len: AT_ONCE.part + 1,
    };
    for _ in 0..MAX_FILES {
        assert!(outgoing.has_room());
        outgoing.push_with(&head, &body);
    }
    assert!(!outgoing.has_room());
    let mut waiting = std::pin::pin!(outgoing.room());
    assert!(waiting.as_mut().now_or_never().is_none());
    let mut sent = 0;
    while waiting.as_mut().now_or_never().is_none() {
        let one = Sent {
            files: 1,
            ..Sent::default()
        };
        outgoing.release(outgoing.state.lock(), one, 0);
        sent += 1;
        assert!(outgoing.has_room());
    }
    assert_eq!(sent, MAX_FILES / 2);
}

fn answer(number: i32) -> Frame {
    Frame::ChunkFetchSuccess {
        stream_id: 1,
        chunk_index: number,
        body: Bytes::new(),
    }
}

/// A queue that sends to a socket, and the other end of it.
async fn connected() -> (Arc<Outgoing>, Arc<TcpStream>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap());
    let (socket, accepted) = tokio::join!(socket, listener.accept());
    let socket = Arc::new(socket.unwrap());
    let outgoing = Outgoing::new(1 << 20, socket.clone(), Arc::new(Activity::new()), None);
    (Arc::new(outgoing), socket, accepted.unwrap().0)
}

fn small_file(content: &[u8]) -> Body {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, content).unwrap();
    Body::File {
        file: Arc::new(file),
        offset: 0,
        len: content.len() as u64,
    }
}

#[tokio::test]
async fn what_is_held_is_sent_together() {
    let (outgoing, _socket, mut other) = connected().await;
    outgoing.hold(true);
    let body = vec![7; 20_000];
    for number in 0..3 {
        outgoing.push_with(&answer(number), &small_file(&body));
        outgoing.push(&Frame::RpcFailure {
            request_id: 5,
            error: "no".to_owned(),
        });
    }
    let wait = Duration::from_millis(50);
    let early = tokio::time::timeout(wait, other.read_u8()).await;
    assert!(early.is_err(), "{early:?}");
    // Nobody but the caller sends.
    outgoing.hold(false);
    let mut arrived = BytesMut::new();
    for number in 0..6 {
        let frame = loop {
            match Frame::decode(&mut arrived, 1 << 20).unwrap() {
                Some(frame) => break frame,
                None => assert_ne!(other.read_buf(&mut arrived).await.unwrap(), 0),
            }
        };
        match frame {
            Frame::ChunkFetchSuccess {
                chunk_index,
                body: found,
                ..
            } => assert_eq!((chunk_index * 2, &found[..]), (number, &body[..])),
            frame => assert!(number % 2 == 1 && matches!(frame, Frame::RpcFailure { .. })),
        }
    }
    assert!(outgoing.flushed().now_or_never().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_of_many_threads_arrive_whole() {
    const THREADS: i32 = 4;
    const FRAMES: i32 = 400;
    let (outgoing, socket, mut other) = connected().await;
    let sending = tokio::spawn({
        let outgoing = outgoing.clone();
        async move { outgoing.write_to(&socket).await }
    });
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let outgoing = outgoing.clone();
            std::thread::spawn(move || {
                let body = small_file(&vec![thread as u8; 30_000]);
                for number in 0..FRAMES {
                    // One of them is the reading task.
                    if thread == 0 {
                        outgoing.hold(number % 7 != 0 && number + 1 < FRAMES);
                    }
                    let head = answer(thread * FRAMES + number);
                    match number % 3 {
                        0 => outgoing.push_with(&head, &body),
                        1 => outgoing
                            .push_with(&head, &Body::Bytes(vec![thread as u8; 100_000].into())),
                        _ => outgoing.push_with(&head, &Body::Bytes(Bytes::new())),
                    }
                }
            })
        })
        .collect();
    let mut last = [-1; THREADS as usize];
    let mut arrived = BytesMut::new();
    for _ in 0..THREADS * FRAMES {
        let frame = loop {
            match Frame::decode(&mut arrived, 1 << 20).unwrap() {
                Some(frame) => break frame,
                None => assert_ne!(other.read_buf(&mut arrived).await.unwrap(), 0),
            }
        };
        let Frame::ChunkFetchSuccess {
            chunk_index, body, ..
        } = frame
        else {
            panic!("another frame");
        };
        let (thread, number) = (chunk_index / FRAMES, chunk_index % FRAMES);
        let expected = [30_000, 100_000, 0][number as usize % 3];
        assert_eq!(body.len(), expected);
        assert!(body.iter().all(|byte| *byte == thread as u8));
        assert_eq!(last[thread as usize] + 1, number);
        last[thread as usize] = number;
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    outgoing.flushed().await;
    outgoing.close();
    sending.await.unwrap().unwrap();
}
