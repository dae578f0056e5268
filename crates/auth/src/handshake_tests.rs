use super::*;
use bytes::BytesMut;

const SASL: Protocol = Protocol {
    crypto: None,
    sasl_fallback: true,
};

fn crypto(version: EngineVersion, cipher: Cipher) -> Protocol {
    Protocol {
        crypto: Some(Crypto { version, cipher }),
        sasl_fallback: true,
    }
}

fn all() -> Vec<Protocol> {
    let mut all = vec![SASL];
    for version in [EngineVersion::V1, EngineVersion::V2] {
        for cipher in [Cipher::Ctr, Cipher::Gcm] {
            all.push(crypto(version, cipher));
        }
    }
    all
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

type Sessions = (Option<Session>, Option<Session>);

/// Lets both ends talk to each other; what went over the wire is kept in `said`.
fn talk(
    client: (Protocol, &str, &str),
    server: (Protocol, &str, &str),
    said: &mut Vec<Vec<u8>>,
) -> Result<Sessions, HandshakeError> {
    let (protocol, identity, text) = client;
    let (mut client, mut request) = ClientHandshake::start(protocol, identity, &secret(text))?;
    let (protocol, identity, text) = server;
    let mut server = ServerHandshake::new(protocol, identity, &secret(text));
    let mut of_server = None;
    for _ in 0..4 {
        said.push(request.clone());
        let step = match server.asked(&request) {
            ServerStep::Refuse(words, _) => {
                // The connection is closed; whoever goes on talks to nobody.
                return match client.refused(words)? {
                    ClientStep::Ask(_) => Err(client.gone("closed")),
                    ClientStep::Done(_) => panic!("a refusal is no success"),
                };
            }
            ServerStep::Retry(words) => client.refused(words)?,
            ServerStep::Answer(answer) => {
                said.push(answer.clone());
                client.answered(&answer)?
            }
            ServerStep::Done(answer, session) => {
                said.push(answer.clone());
                of_server = session;
                client.answered(&answer)?
            }
        };
        match step {
            ClientStep::Ask(next) => request = next,
            ClientStep::Done(session) => return Ok((session, of_server)),
        }
    }
    panic!("no end");
}

fn crosses(sealer: &mut Sealer, opener: &mut Opener, content: &[u8]) -> Result<bool, CipherError> {
    let (mut plain, mut sealed) = (content.to_vec(), Vec::new());
    sealer.seal(&mut plain, &mut sealed)?;
    assert_ne!(sealed, content);
    let (mut arrived, mut opened) = (BytesMut::from(sealed.as_slice()), BytesMut::new());
    if opener.has_messages() {
        opener.push(&mut arrived, &mut opened)?;
    } else {
        opener.apply(&mut arrived)?;
        opened = arrived;
    }
    Ok(opened == content)
}

use crate::session::{CipherError, Opener, Sealer};

#[test]
fn ends_that_have_the_same_secret_understand_each_other() {
    for protocol in all() {
        let end = (protocol, "app-1", "secret");
        let (client, server) = talk(end, end, &mut Vec::new()).unwrap();
        assert_eq!(client.is_some(), protocol.crypto.is_some());
        assert_eq!(server.is_some(), protocol.crypto.is_some());
        let (Some(mut client), Some(mut server)) = (client, server) else {
            continue;
        };
        for len in [1, 1000, 100_000, 3] {
            let content: Vec<u8> = (0..len).map(|at| (at * 7 + at / 256) as u8).collect();
            assert!(crosses(&mut client.sealer, &mut server.opener, &content).unwrap());
            assert!(crosses(&mut server.sealer, &mut client.opener, &content).unwrap());
        }
    }
}

#[test]
fn wrong_secrets_and_identities_are_refused() {
    for protocol in all() {
        let right = (protocol, "app-1", "secret");
        for wrong in [(protocol, "app-1", "other"), (protocol, "app-2", "secret")] {
            let error = talk(wrong, right, &mut Vec::new()).unwrap_err();
            assert!(
                matches!(&error, HandshakeError::Refused(_)),
                "{protocol:?}: {error}"
            );
            assert!(error.to_string().contains("spark.authenticate.secret"));
        }
    }
}

#[test]
fn an_end_without_crypto_is_talked_to_in_sasl() {
    let with = (crypto(EngineVersion::V1, Cipher::Ctr), "a", "s");
    let without = (SASL, "a", "s");
    // A server of SASL does not close the connection when it does not understand the message of the other protocol.
    let (mut client, request) = ClientHandshake::start(with.0, "a", &secret("s")).unwrap();
    let mut server = ServerHandshake::new(SASL, "a", &secret("s"));
    let ServerStep::Retry(words) = server.asked(&request) else {
        panic!("it is not understood");
    };
    let Ok(ClientStep::Ask(request)) = client.refused(words) else {
        panic!("it is tried again");
    };
    assert!(client.fell_back());
    let ServerStep::Answer(challenge) = server.asked(&request) else {
        panic!("a challenge");
    };
    let Ok(ClientStep::Ask(request)) = client.answered(&challenge) else {
        panic!("an answer");
    };
    let ServerStep::Done(proof, None) = server.asked(&request) else {
        panic!("a proof");
    };
    assert!(matches!(
        client.answered(&proof),
        Ok(ClientStep::Done(None))
    ));
    assert!(talk(with, without, &mut Vec::new()).is_ok());
    // A server with crypto understands SASL, unless it is told not to.
    assert!(talk(without, with, &mut Vec::new()).is_ok());
    let strict = Protocol {
        sasl_fallback: false,
        ..with.0
    };
    let error = talk(without, (strict, "a", "s"), &mut Vec::new()).unwrap_err();
    assert!(
        error.to_string().contains("Unknown challenge message."),
        "{error}"
    );
    let (mut client, _) = ClientHandshake::start(strict, "a", &secret("s")).unwrap();
    assert!(client.refused("no").is_err());
}

#[test]
fn ends_with_different_ciphers_do_not_understand_each_other() {
    let one = (crypto(EngineVersion::V1, Cipher::Ctr), "a", "s");
    for other in [
        crypto(EngineVersion::V2, Cipher::Ctr),
        crypto(EngineVersion::V1, Cipher::Gcm),
    ] {
        let (client, server) = talk(one, (other, "a", "s"), &mut Vec::new()).unwrap();
        let (Some(mut client), Some(mut server)) = (client, server) else {
            panic!("sessions");
        };
        let content = b"\0\0\0\0\0\0\0\x15 frames begin so";
        assert_ne!(
            crosses(&mut client.sealer, &mut server.opener, content),
            Ok(true)
        );
    }
}

#[test]
fn what_was_said_once_is_no_use_again() {
    for protocol in all() {
        let end = (protocol, "a", "s");
        let mut said = Vec::new();
        let (client, _) = talk(end, end, &mut said).unwrap();
        // To a server: it makes another key, or refuses.
        let mut server = ServerHandshake::new(protocol, "a", &secret("s"));
        let mut session = None;
        for request in said.iter().step_by(2) {
            match server.asked(request) {
                ServerStep::Answer(_) => {}
                ServerStep::Done(_, Some(new)) => session = Some(new),
                ServerStep::Done(_, None) => panic!("an old answer was taken"),
                ServerStep::Refuse(_, error) => assert_eq!(error, HandshakeError::WrongSecret),
                ServerStep::Retry(_) => panic!("it speaks the protocol"),
            }
        }
        if let (Some(mut old), Some(mut new)) = (client, session) {
            assert_ne!(
                crosses(&mut old.sealer, &mut new.opener, b"a frame of before"),
                Ok(true)
            );
        }
        // To a client.
        let (mut client, _) = ClientHandshake::start(protocol, "a", &secret("s")).unwrap();
        let last = said.last().unwrap();
        assert!(client.answered(last).is_err());
    }
}

#[test]
fn hostile_bytes_are_refused_and_end_the_handshake() {
    for protocol in all() {
        let mut said = Vec::new();
        let end = (protocol, "a", "s");
        talk(end, end, &mut said).unwrap();
        for (number, bytes) in said.iter().enumerate() {
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 0x20;
                for hostile in [&changed[..], &bytes[..at]] {
                    if number % 2 == 0 {
                        let mut server = ServerHandshake::new(protocol, "a", &secret("s"));
                        let done = matches!(server.asked(hostile), ServerStep::Done(..));
                        assert!(!done, "{protocol:?} {number} {at}");
                    } else {
                        let (mut client, _) =
                            ClientHandshake::start(protocol, "a", &secret("s")).unwrap();
                        let done = matches!(client.answered(hostile), Ok(ClientStep::Done(_)));
                        assert!(!done, "{protocol:?} {number} {at}");
                    }
                }
            }
        }
        let mut server = ServerHandshake::new(protocol, "a", &secret("s"));
        assert!(matches!(server.asked(b""), ServerStep::Refuse(..)));
        assert!(matches!(server.asked(&said[0]), ServerStep::Refuse(..)));
    }
}

#[test]
fn words_of_the_other_end_are_short_and_printable() {
    let (mut client, _) = ClientHandshake::start(SASL, "a", &secret("s")).unwrap();
    let error = client.gone("java.io.IOException: \x1b[31mno\n\tat a.b.c");
    let HandshakeError::Refused(words) = error else {
        panic!("{error}");
    };
    assert_eq!(words, "java.io.IOException: [31mno");
}
