use std::path::Path;

use rustls::{ClientConnection, ServerConnection};
use tls::{Keys, Password, Protocol, Settings};

use super::*;

fn context(protocol: Protocol) -> Context {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/tls/fixtures/ec.p12");
    let settings = Settings {
        keys: Keys::Store {
            path,
            password: Some(Password::new("changeit".to_owned())),
            key_password: None,
            trust: None,
        },
        protocol,
        suites: Vec::new(),
    };
    Context::new(&settings).unwrap()
}

/// Both ends after their handshake.
fn sessions(protocol: Protocol) -> [TlsSession; 2] {
    let context = context(protocol);
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let client = ClientConnection::new(Arc::clone(&context.client), name).unwrap();
    let server = ServerConnection::new(Arc::clone(&context.server)).unwrap();
    let mut ends = [Connection::from(client), Connection::from(server)];
    while ends
        .iter()
        .any(|end| end.is_handshaking() || end.wants_write())
    {
        for (from, to) in [(0, 1), (1, 0)] {
            let mut bytes = Vec::new();
            while ends[from].wants_write() {
                ends[from].write_tls(&mut bytes).unwrap();
            }
            let mut bytes = bytes.as_slice();
            while !bytes.is_empty() {
                ends[to].read_tls(&mut bytes).unwrap();
                ends[to].process_new_packets().unwrap();
            }
        }
    }
    ends.map(|mut end| {
        end.set_buffer_limit(None);
        TlsSession(Mutex::new(end))
    })
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

fn sealed(session: &TlsSession, plain: &[u8]) -> Vec<u8> {
    let mut sealed = vec![1, 2, 3];
    session.seal(plain, &mut sealed).unwrap();
    sealed
}

#[test]
fn records_are_opened_however_they_are_cut() {
    for protocol in [Protocol::Tls13, Protocol::Tls12] {
        let [client, server] = sessions(protocol);
        let content = pattern(300_000);
        for step in [1000, 16_409, 65_536] {
            let (mut arrived, mut plain) = (BytesMut::new(), BytesMut::new());
            for piece in sealed(&client, &content).chunks(step) {
                arrived.extend_from_slice(piece);
                assert!(server.open(&mut arrived, &mut plain).unwrap());
                assert!(arrived.len() < MAX_RECORD);
            }
            assert!(arrived.is_empty() && plain == content);
        }
    }
}

#[test]
fn either_end_may_change_its_key() {
    let [client, server] = sessions(Protocol::Tls13);
    for _ in 0..3 {
        for (one, other) in [(&client, &server), (&server, &client)] {
            one.0.lock().refresh_traffic_keys().unwrap();
            for (from, to) in [(one, other), (other, one)] {
                let (mut arrived, mut plain) = (BytesMut::new(), BytesMut::new());
                arrived.extend_from_slice(&sealed(from, b"something"));
                assert!(to.open(&mut arrived, &mut plain).unwrap());
                assert_eq!(plain.as_ref(), b"something");
            }
        }
    }
}

#[test]
fn nothing_comes_behind_a_farewell() {
    for protocol in [Protocol::Tls13, Protocol::Tls12] {
        let [client, server] = sessions(protocol);
        let (mut arrived, mut plain) = (BytesMut::new(), BytesMut::new());
        arrived.extend_from_slice(&sealed(&client, b"last"));
        let mut farewell = Vec::new();
        client.farewell(&mut farewell).unwrap();
        arrived.extend_from_slice(&farewell);
        assert!(!server.open(&mut arrived, &mut plain).unwrap());
        assert_eq!(plain.as_ref(), b"last");
        assert!(!server.open(&mut arrived, &mut plain).unwrap());
    }
}

#[test]
fn what_was_changed_on_its_way_is_noticed() {
    let [client, server] = sessions(Protocol::Tls13);
    let mut bytes = sealed(&client, b"something");
    bytes[HEAD + 2] ^= 1;
    let (mut arrived, mut plain) = (BytesMut::from(bytes.as_slice()), BytesMut::new());
    let error = server.open(&mut arrived, &mut plain).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    for garbage in [&[0x17, 3, 3, 0xff, 0xff, 1][..], &[0x50; 20_000]] {
        let [_client, server] = sessions(Protocol::Tls13);
        let (mut arrived, mut plain) = (BytesMut::from(garbage), BytesMut::new());
        assert!(server.open(&mut arrived, &mut plain).is_err());
        assert!(plain.is_empty());
    }
}
