use super::*;
use std::io::{Read, Write};
use std::sync::Arc;

use auth::{
    Cipher, ClientHandshake, ClientStep, Crypto, EngineVersion, Protocol, Secret, ServerHandshake,
    ServerStep, Session,
};
use bytes::Bytes;
use tokio::net::TcpListener;

use crate::transport::sending::Part;

const ALL: Limits = Limits {
    bytes: usize::MAX,
    part: u64::MAX,
    read_ahead: false,
};

/// Both ends of a session.
fn sessions(cipher: Cipher) -> (Session, Session) {
    let protocol = Protocol {
        crypto: Some(Crypto {
            version: EngineVersion::V1,
            cipher,
        }),
        sasl_fallback: false,
    };
    let secret = Secret::new("secret".to_owned());
    let (mut client, request) = ClientHandshake::start(protocol, "app", &secret).unwrap();
    let mut server = ServerHandshake::new(protocol, "app", &secret);
    let ServerStep::Done(answer, Some(of_server)) = server.asked(&request) else {
        panic!("a session");
    };
    let Ok(ClientStep::Done(Some(of_client))) = client.answered(&answer) else {
        panic!("a session");
    };
    (of_client, of_server)
}

async fn sockets() -> (TcpStream, std::net::TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener.accept().await.unwrap().0, other)
}

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at * 31 + seed + at / 251) as u8)
        .collect()
}

fn part(content: &[u8], offset: u64, len: u64) -> Piece {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    let file = Arc::new(file);
    Piece::File(Part { file, offset, len })
}

#[tokio::test]
async fn pieces_arrive_in_their_order_and_are_counted() {
    for cipher in [Cipher::Ctr, Cipher::Gcm] {
        let (ours, theirs) = sessions(cipher);
        let (socket, mut other) = sockets().await;
        let (mut pieces, mut expected) = (VecDeque::new(), Vec::new());
        for number in 0..40 {
            let head = pattern(if number % 7 == 0 { 300_000 } else { 21 }, number);
            let content = pattern(370_000, number);
            let (offset, len) = (number * 100, 360_000 - number);
            expected.extend_from_slice(&head);
            expected.extend_from_slice(&content[offset..offset + len]);
            pieces.push_back(Piece::Bytes(head.into()));
            pieces.push_back(part(&content, offset as u64, len as u64));
        }
        let reader = std::thread::spawn(move || {
            let mut wire = Vec::new();
            other.read_to_end(&mut wire).unwrap();
            wire
        });
        let mut outbound = Outbound::new(Sealing::Cipher(ours.sealer));
        let mut total = Sent::default();
        loop {
            let (sent, stop) = outbound.send(&socket, &mut pieces, ALL);
            total.add(sent);
            match stop.unwrap() {
                Stop::Done => break,
                Stop::Full | Stop::Turn => tokio::task::yield_now().await,
                Stop::NotCached => {
                    sending::read_ahead(sending::next_part(&pieces).unwrap()).await;
                }
                Stop::Large => panic!("nothing is too large"),
            }
        }
        assert!(!outbound.has_more());
        drop(socket);
        let wire = reader.join().unwrap();
        assert!(wire != expected && wire.len() >= expected.len());
        let mut plain = BytesMut::new();
        let rest = BytesMut::from(wire.as_slice());
        let incoming = Incoming::new(Unsealing::Cipher(theirs.opener), rest, &mut plain).unwrap();
        assert!(!incoming.is_inside());
        assert!(plain == expected);
        assert_eq!(total.files, 40);
        assert_eq!(total.bytes as u64 + total.file_bytes, expected.len() as u64);
    }
}

#[tokio::test]
async fn what_is_in_front_of_a_short_file_is_sent() {
    let (ours, theirs) = sessions(Cipher::Gcm);
    let (socket, mut other) = sockets().await;
    let mut pieces = VecDeque::from([
        Piece::Bytes(Bytes::from_static(b"head")),
        part(b"12345", 0, 9),
    ]);
    let mut outbound = Outbound::new(Sealing::Cipher(ours.sealer));
    let (sent, stop) = outbound.send(&socket, &mut pieces, ALL);
    let error = stop.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(
        error.to_string().contains("ended 9 bytes before"),
        "{error}"
    );
    assert_eq!((sent.bytes, sent.file_bytes), (4, 0));
    drop(socket);
    let mut wire = Vec::new();
    other.read_to_end(&mut wire).unwrap();
    let mut plain = BytesMut::new();
    Incoming::new(
        Unsealing::Cipher(theirs.opener),
        BytesMut::from(wire.as_slice()),
        &mut plain,
    )
    .unwrap();
    assert_eq!(plain, &b"head"[..]);
}

#[tokio::test]
async fn limits_are_kept_and_a_full_socket_is_gone_on_with() {
    let (ours, _) = sessions(Cipher::Ctr);
    let (socket, _other) = sockets().await;
    let mut outbound = Outbound::new(Sealing::Cipher(ours.sealer));
    let limits = Limits { bytes: 10, ..ALL };
    let mut bytes = VecDeque::from([Piece::Bytes(Bytes::from_static(b"12345678901"))]);
    let (sent, stop) = outbound.send(&socket, &mut bytes, limits);
    assert_eq!((sent, stop.unwrap()), (Sent::default(), Stop::Large));
    // Nobody reads.
    let content = Bytes::from(pattern(1 << 20, 0));
    let (mut queued, mut sent) = (0, 0);
    loop {
        bytes.clear();
        bytes.push_back(Piece::Bytes(content.clone()));
        queued += content.len();
        let (more, stop) = outbound.send(&socket, &mut bytes, ALL);
        sent += more.bytes;
        if stop.unwrap() == Stop::Full {
            break;
        }
        assert!(queued < 1 << 30);
    }
    assert!(outbound.has_more() && sent < queued);
}
