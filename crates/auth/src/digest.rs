//! SASL's mechanism DIGEST-MD5 (RFC 2831) as Spark uses it: without a layer of protection.
//!
//! The server sends a challenge with a nonce; the client answers with a digest of the secret, both nonces and what is
//! asked for; the server proves with another digest that it has the secret, too.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use md5::{Digest, Md5};
use ring::rand::SecureRandom;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::handshake::HandshakeError;
use crate::{RPC_IDENTITY, Secret};

const REALM: &str = "default";
const URI: &str = "null/default";
/// Number of the client's answer to a nonce: each nonce is used once.
const COUNT: &str = "00000001";
/// Random bytes of a nonce.
const NONCE: usize = 30;
/// Longest nonce that is taken of the other end.
const MAX_NONCE: usize = 1 << 10;

/// What one end says: `key=value` or `key="value"`, with commas between.
type Directives = HashMap<String, String>;

/// What a digest is made of.
struct Ingredients<'a> {
    secret: &'a Secret,
    realm: &'a str,
    nonce: &'a str,
    client_nonce: &'a str,
}

/// Who proves that he has the secret.
#[derive(Clone, Copy)]
enum Prover {
    Client,
    Server,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex_digest(text: &str) -> String {
    hex(&Md5::digest(text))
}

fn user() -> String {
    BASE64.encode(RPC_IDENTITY)
}

/// The secret as a password: Base64 in lines of 76 characters with a line feed between them, as Netty's encoder makes
/// them. Spark's own secrets (YARN's, 64 characters) have two lines.
fn password(secret: &[u8]) -> Zeroizing<String> {
    /// Bytes that make a line.
    const LINE: usize = 57;
    let lines = secret.len().div_ceil(LINE);
    // Never moved to larger memory: nothing of it is left behind.
    let mut text = Zeroizing::new(String::with_capacity(secret.len().div_ceil(3) * 4 + lines));
    for (number, line) in secret.chunks(LINE).enumerate() {
        if number > 0 {
            text.push('\n');
        }
        BASE64.encode_string(line, &mut text);
    }
    text
}

impl Ingredients<'_> {
    fn digest(&self, prover: Prover) -> String {
        let Self {
            secret,
            realm,
            nonce,
            client_nonce,
        } = self;
        let password = password(secret.bytes());
        let mut start = Md5::new();
        for part in [user().as_str(), ":", realm, ":", &password] {
            start.update(part);
        }
        let mut session = Md5::new();
        session.update(start.finalize());
        session.update(format!(":{nonce}:{client_nonce}"));
        let session = Zeroizing::new(hex(&session.finalize()));
        let asked = hex_digest(&match prover {
            Prover::Client => format!("AUTHENTICATE:{URI}"),
            Prover::Server => format!(":{URI}"),
        });
        let text = format!(
            "{}:{nonce}:{COUNT}:{client_nonce}:auth:{asked}",
            session.as_str()
        );
        hex_digest(&text)
    }
}

/// Reads directives; `None` if they are none. One that comes twice is none: there is nothing to choose by.
fn directives(bytes: &[u8]) -> Option<Directives> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut found = Directives::new();
    let mut rest = text.trim_start_matches([',', ' ']);
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let key = key.trim();
        if key.is_empty() || key.contains(['"', ',', ' ']) {
            return None;
        }
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = after.find(',').unwrap_or(after.len());
                let (value, after) = after.split_at_checked(end)?;
                (value.trim().to_owned(), after)
            }
        };
        let after = after.trim_start();
        if !after.is_empty() && !after.starts_with(',') {
            return None;
        }
        if found.insert(key.to_ascii_lowercase(), value).is_some() {
            return None;
        }
        rest = after.trim_start_matches([',', ' ']);
    }
    Some(found)
}

/// The text before the closing quote, and what is behind it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

fn is_plain(nonce: &str) -> bool {
    !nonce.is_empty()
        && nonce.len() <= MAX_NONCE
        && nonce
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

fn equal(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

fn new_nonce(random: &dyn SecureRandom) -> Result<String, HandshakeError> {
    let mut bytes = [0; NONCE];
    random
        .fill(&mut bytes)
        .map_err(|_| HandshakeError::Library)?;
    Ok(BASE64.encode(bytes))
}

/// A client that has answered the challenge.
pub(crate) struct Client {
    /// What the server has to say.
    proof: String,
}

impl Client {
    /// The answer to a challenge.
    pub(crate) fn answer(
        secret: &Secret,
        challenge: &[u8],
        random: &dyn SecureRandom,
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        let challenge = directives(challenge).ok_or(HandshakeError::Malformed)?;
        let get = |key: &str| challenge.get(key).map(String::as_str);
        let protections = get("qop").unwrap_or("auth");
        if !protections.split(',').any(|word| word.trim() == "auth") {
            return Err(HandshakeError::Protection(protections.to_owned()));
        }
        let (realm, nonce) = (get("realm").unwrap_or_default(), get("nonce"));
        let nonce = nonce.filter(|nonce| is_plain(nonce));
        let nonce = nonce.ok_or(HandshakeError::Malformed)?;
        let known = get("algorithm") == Some("md5-sess") && (realm.is_empty() || is_plain(realm));
        if !known {
            return Err(HandshakeError::Malformed);
        }
        let client_nonce = new_nonce(random)?;
        let ingredients = Ingredients {
            secret,
            realm,
            nonce,
            client_nonce: &client_nonce,
        };
        let response = ingredients.digest(Prover::Client);
        let answer = format!(
            "charset=utf-8,username=\"{}\",realm=\"{realm}\",nonce=\"{nonce}\",nc={COUNT},cnonce=\"{client_nonce}\",\
             digest-uri=\"{URI}\",maxbuf=65536,response={response},qop=auth",
            user()
        );
        let proof = ingredients.digest(Prover::Server);
        Ok((Self { proof }, answer.into_bytes()))
    }

    /// Checks that the server has the secret.
    pub(crate) fn check(&self, answer: &[u8]) -> Result<(), HandshakeError> {
        let answer = directives(answer).ok_or(HandshakeError::Malformed)?;
        let proof = answer.get("rspauth").ok_or(HandshakeError::Malformed)?;
        equal(proof, &self.proof)
            .then_some(())
            .ok_or(HandshakeError::WrongSecret)
    }
}

/// A server that has sent a challenge.
pub(crate) struct Server {
    nonce: String,
}

impl Server {
    /// A challenge.
    pub(crate) fn challenge(random: &dyn SecureRandom) -> Result<(Self, Vec<u8>), HandshakeError> {
        let nonce = new_nonce(random)?;
        let challenge = format!(
            "realm=\"{REALM}\",nonce=\"{nonce}\",qop=\"auth\",charset=utf-8,algorithm=md5-sess"
        );
        Ok((Self { nonce }, challenge.into_bytes()))
    }

    /// Checks that the client has the secret, and proves that this end has it. A challenge is answered once.
    pub(crate) fn check(self, secret: &Secret, answer: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        let answer = directives(answer).ok_or(HandshakeError::Malformed)?;
        let get = |key: &str| answer.get(key).map_or("", String::as_str);
        let client_nonce = get("cnonce");
        if !is_plain(client_nonce) {
            return Err(HandshakeError::Malformed);
        }
        let protection = answer.get("qop").map_or("auth", String::as_str);
        if protection != "auth" {
            return Err(HandshakeError::Protection(protection.to_owned()));
        }
        let expected = [
            ("username", user().as_str()),
            ("realm", REALM),
            ("nonce", &self.nonce),
            ("nc", COUNT),
            ("digest-uri", URI),
        ]
        .iter()
        .all(|(key, value)| get(key) == *value);
        let ingredients = Ingredients {
            secret,
            realm: REALM,
            nonce: &self.nonce,
            client_nonce,
        };
        let response = ingredients.digest(Prover::Client);
        if !equal(get("response"), &response) || !expected {
            return Err(HandshakeError::WrongSecret);
        }
        Ok(format!("rspauth={}", ingredients.digest(Prover::Server)).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::rand::SystemRandom;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    #[test]
    fn both_ends_find_the_same_digests() {
        let random = SystemRandom::new();
        let secret = secret("käse");
        let (server, challenge) = Server::challenge(&random).unwrap();
        let (client, answer) = Client::answer(&secret, &challenge, &random).unwrap();
        let proof = server.check(&secret, &answer).unwrap();
        assert_eq!(proof.len(), 40);
        client.check(&proof).unwrap();
        assert_eq!(
            client.check(b"rspauth=00000000000000000000000000000000"),
            Err(HandshakeError::WrongSecret)
        );
    }

    #[test]
    fn passwords_of_long_secrets_have_lines_as_nettys_have() {
        let whole = "eHh4".repeat(19);
        for (length, expected) in [
            (0, String::new()),
            (56, "eHh4".repeat(18) + "eHg="),
            (57, whole.clone()),
            (58, format!("{whole}\neA==")),
            (64, format!("{whole}\neHh4eHh4eA==")),
            (114, format!("{whole}\n{whole}")),
            (115, format!("{whole}\n{whole}\neA==")),
        ] {
            let found = password("x".repeat(length).as_bytes());
            assert_eq!(found.as_str(), expected, "{length}");
        }
    }

    #[test]
    fn an_answer_is_good_for_one_challenge_and_one_secret() {
        let random = SystemRandom::new();
        let (server, challenge) = Server::challenge(&random).unwrap();
        let (_, answer) = Client::answer(&secret("a"), &challenge, &random).unwrap();
        let wrong = Err(HandshakeError::WrongSecret);
        assert_eq!(server.check(&secret("b"), &answer), wrong);
        let (another, _) = Server::challenge(&random).unwrap();
        assert_eq!(another.check(&secret("a"), &answer), wrong);
    }

    #[test]
    fn directives_are_read_as_the_rfc_writes_them() {
        let read = directives(br#"realm="a \"b\" c" , nonce="x,y=z",qop=auth ,, N=1"#).unwrap();
        let get = |key: &str| read.get(key).map(String::as_str);
        assert_eq!(get("realm"), Some("a \"b\" c"));
        assert_eq!(get("nonce"), Some("x,y=z"));
        assert_eq!((get("qop"), get("n")), (Some("auth"), Some("1")));
        for wrong in [
            &b"nonce"[..],
            b"nonce=\"x",
            b"nonce=\"x\\",
            b"=x",
            b"a=1,a=2",
            b"a=\"1\"2",
            b"\xff=1",
        ] {
            assert_eq!(directives(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_server_that_wants_more_than_authentication_is_named() {
        let challenge =
            br#"realm="default",nonce="abc",qop="auth-conf",charset=utf-8,algorithm=md5-sess"#;
        let answer = Client::answer(&secret("a"), challenge, &SystemRandom::new());
        assert_eq!(
            answer.err(),
            Some(HandshakeError::Protection("auth-conf".to_owned()))
        );
    }
}
