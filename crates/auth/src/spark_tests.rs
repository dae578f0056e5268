//! Handshakes that Spark's own classes made (`tools/AuthVectors.java`), and what they encrypted.

use bytes::BytesMut;
#[allow(deprecated)]
use ring::test::rand::FixedSliceSequenceRandom;

use crate::handshake::ClientHandshake;
use crate::session::Cipher;
use crate::{ClientStep, Crypto, EngineVersion, HandshakeError, Protocol, Secret};

const VECTORS: [&str; 2] = [
    include_str!("../tests/fixtures/spark-3.5.9.txt"),
    include_str!("../tests/fixtures/spark-4.3.0.txt"),
];
/// Where the salt and the nonce are in a message of the vectors' application.
const SALT: usize = 1 + 4 + 17 + 4;
const NONCE: usize = SALT + 16 + 4;

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap())
        .collect()
}

#[allow(deprecated)]
fn client(fields: &[&str], secret: &str) -> (ClientHandshake, Vec<u8>) {
    let version = match fields[0] {
        "1" => EngineVersion::V1,
        _ => EngineVersion::V2,
    };
    let cipher = match fields[1] {
        "CTR" => Cipher::Ctr,
        _ => Cipher::Gcm,
    };
    let protocol = Protocol {
        crypto: Some(Crypto { version, cipher }),
        sasl_fallback: false,
    };
    let (key, message) = (unhex(fields[2]), unhex(fields[3]));
    let random = [
        key.as_slice(),
        &message[SALT..SALT + 16],
        &message[NONCE..NONCE + 12],
    ];
    let random = FixedSliceSequenceRandom {
        bytes: &random,
        current: std::cell::UnsafeCell::new(0),
    };
    let secret = Secret::new(secret.to_owned());
    ClientHandshake::start_with(protocol, "app-20260101-0001", &secret, &random).unwrap()
}

#[test]
fn what_spark_says_and_encrypts_is_understood() {
    let mut read = 0;
    for line in VECTORS.iter().flat_map(|text| text.lines()) {
        let fields: Vec<&str> = line.split(' ').collect();
        let (mut client, request) = client(&fields, "a secret of ours");
        assert_eq!(request, unhex(fields[3]), "the same to the bit");
        let Ok(ClientStep::Done(Some(mut session))) = client.answered(&unhex(fields[4])) else {
            panic!("a session");
        };
        let mut arrived = BytesMut::from(unhex(fields[5]).as_slice());
        let mut plain = BytesMut::new();
        session.opener.push(&mut arrived, &mut plain).unwrap();
        let expected: Vec<u8> = (0..plain.len())
            .map(|at| (at * 31 + at / 251) as u8)
            .collect();
        assert!(plain.len() >= 300 && plain == expected);
        read += 1;
    }
    assert_eq!(read, 8);
}

#[test]
fn another_secret_does_not_fit() {
    let fields: Vec<&str> = VECTORS[0].lines().next().unwrap().split(' ').collect();
    let (mut client, request) = client(&fields, "a secret of theirs");
    assert_ne!(request, unhex(fields[3]));
    assert_eq!(
        client.answered(&unhex(fields[4])).err(),
        Some(HandshakeError::WrongSecret)
    );
}
