//! Handshakes and sealed messages as the fuzz targets see them. Compiled for `cargo fuzz` only.

use bytes::BytesMut;

use crate::engine::EngineVersion;
use crate::session::Cipher;
use crate::{ClientHandshake, ClientStep, Crypto, Protocol, Secret, ServerHandshake, ServerStep};

fn protocol(choice: u8) -> Protocol {
    let version = match choice & 1 {
        0 => EngineVersion::V1,
        _ => EngineVersion::V2,
    };
    let cipher = match choice & 2 {
        0 => Cipher::Ctr,
        _ => Cipher::Gcm,
    };
    Protocol {
        crypto: (choice & 4 == 0).then_some(Crypto { version, cipher }),
        sasl_fallback: choice & 8 == 0,
    }
}

/// Any two messages to a server and to a client: nobody who does not know the secret is let in.
pub fn handshake(data: &[u8]) {
    let [choice, cut, data @ ..] = data else {
        return;
    };
    let protocol = protocol(*choice);
    let secret = Secret::new("a secret".to_owned());
    let (one, two) = data.split_at(usize::from(*cut).min(data.len()));
    let mut server = ServerHandshake::new(protocol, "app", &secret);
    for request in [one, two] {
        assert!(!matches!(server.asked(request), ServerStep::Done(..)));
    }
    let start = ClientHandshake::start(protocol, "app", &secret);
    let (mut client, _) = start.expect("random bytes");
    for answer in [one, two] {
        assert!(!matches!(client.answered(answer), Ok(ClientStep::Done(_))));
    }
    let _ = client.refused(&String::from_utf8_lossy(one));
}

/// Any bytes as sealed messages, cut anywhere: nothing of them is opened, and little of them is kept.
pub fn sealed_messages(data: &[u8]) {
    let [choice, step, data @ ..] = data else {
        return;
    };
    let key = [7; 32];
    let key = if choice & 1 == 0 {
        &key[..16]
    } else {
        &key[..]
    };
    let mut opener = crate::gcm::Opener::new(key);
    let (mut arrived, mut plain) = (BytesMut::new(), BytesMut::new());
    for piece in data.chunks(usize::from(*step) * 16 + 1) {
        arrived.extend_from_slice(piece);
        if opener.push(&mut arrived, &mut plain).is_err() {
            break;
        }
        assert!(arrived.len() < (32 << 10));
    }
    assert!(plain.is_empty());
}
