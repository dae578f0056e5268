//! Agreement on keys: X25519 with public keys that are sealed with the application's secret (Spark's `AuthEngine`).

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SecureRandom;
use zeroize::Zeroizing;

use crate::Secret;
use crate::handshake::HandshakeError;
use crate::message::{Exchange, SALT, SEALED_KEY};
use crate::session::{Cipher, Session};

const NONCE: usize = 12;
const PUBLIC_KEY: usize = 32;
const TAG: usize = 16;
const IV: usize = 16;

/// How the session's key is made: `spark.network.crypto.authEngineVersion`. It is not said on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineVersion {
    /// The shared secret of X25519 itself is the key.
    V1,
    /// The key is derived from it.
    V2,
}

/// Number of bytes to derive.
struct Len(usize);

impl KeyType for Len {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF with SHA-256.
pub(crate) fn derive(
    key: &[u8],
    salt: &[u8],
    info: &[&[u8]],
    out: &mut [u8],
) -> Result<(), HandshakeError> {
    let derived = Salt::new(HKDF_SHA256, salt).extract(key);
    let derived = derived
        .expand(info, Len(out.len()))
        .and_then(|okm| okm.fill(out));
    derived.map_err(|_| HandshakeError::Library)
}

/// The key that seals public keys, and what is authenticated with them.
fn sealing_key(
    secret: &Secret,
    identity: &str,
    salt: &[u8],
    transcript: &[u8],
) -> Result<(LessSafeKey, Vec<u8>), HandshakeError> {
    let aad = [identity.as_bytes(), salt, transcript].concat();
    let mut key = Zeroizing::new([0; 16]);
    derive(secret.bytes(), salt, &[&aad], key.as_mut())?;
    let key = UnboundKey::new(&AES_128_GCM, key.as_ref()).map_err(|_| HandshakeError::Library)?;
    Ok((LessSafeKey::new(key), aad))
}

/// One end's private key and message.
pub(crate) struct Half {
    private: EphemeralPrivateKey,
    message: Vec<u8>,
}

/// Makes a private key, and the message that carries its public half; `transcript` is what the other end has sent.
pub(crate) fn offer(
    secret: &Secret,
    identity: &str,
    transcript: &[u8],
    random: &dyn SecureRandom,
) -> Result<Half, HandshakeError> {
    let library = |_| HandshakeError::Library;
    let private = EphemeralPrivateKey::generate(&X25519, random).map_err(library)?;
    let public = private.compute_public_key().map_err(library)?;
    let (mut salt, mut nonce) = ([0; SALT], [0; NONCE]);
    random.fill(&mut salt).map_err(library)?;
    random.fill(&mut nonce).map_err(library)?;
    let (key, aad) = sealing_key(secret, identity, &salt, transcript)?;
    let mut sealed = public.as_ref().to_vec();
    let nonce_used = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce_used, Aad::from(aad), &mut sealed)
        .map_err(library)?;
    sealed.splice(0..0, nonce);
    let sealed_key: &[u8; SEALED_KEY] = sealed
        .as_slice()
        .try_into()
        .map_err(|_| HandshakeError::Library)?;
    let message = Exchange {
        identity,
        salt: &salt,
        sealed_key,
    };
    Ok(Half {
        private,
        message: message.write(),
    })
}

/// The public key in a message.
fn open(
    secret: &Secret,
    message: &Exchange<'_>,
    transcript: &[u8],
) -> Result<[u8; PUBLIC_KEY], HandshakeError> {
    let (key, aad) = sealing_key(secret, message.identity, message.salt, transcript)?;
    let (nonce, sealed) = message
        .sealed_key
        .split_first_chunk::<NONCE>()
        .ok_or(HandshakeError::Malformed)?;
    let mut sealed = sealed.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let public = key
        .open_in_place(nonce, Aad::from(aad), &mut sealed)
        .map_err(|_| HandshakeError::WrongSecret)?;
    debug_assert_eq!(public.len(), SEALED_KEY - NONCE - TAG);
    (&*public).try_into().map_err(|_| HandshakeError::Malformed)
}

/// Which end a session is for.
#[derive(Clone, Copy)]
enum End {
    Client,
    Server,
}

fn agree(
    private: EphemeralPrivateKey,
    public: [u8; PUBLIC_KEY],
    messages: [&[u8]; 2],
    version: EngineVersion,
    cipher: Cipher,
    end: End,
) -> Result<Session, HandshakeError> {
    let transcript = messages.concat();
    let other = UnparsedPublicKey::new(&X25519, public);
    // A public key that leads to nothing but zeros is refused.
    agree_ephemeral(private, &other, |shared| {
        let mut keys = Zeroizing::new([[0; IV]; 2]);
        let [to_client, to_server] = &mut *keys;
        derive(shared, &transcript, &[b"inputIv"], to_client)?;
        derive(shared, &transcript, &[b"outputIv"], to_server)?;
        let (sealing, opening) = match end {
            End::Client => (&*to_server, &*to_client),
            End::Server => (&*to_client, &*to_server),
        };
        match version {
            EngineVersion::V1 => Session::new(cipher, shared, sealing, opening),
            EngineVersion::V2 => {
                let mut key = Zeroizing::new([0; 16]);
                derive(shared, &transcript, &[b"derivedKey"], key.as_mut())?;
                Session::new(cipher, key.as_ref(), sealing, opening)
            }
        }
    })
    .map_err(|_| HandshakeError::Malformed)?
}

impl Half {
    /// The message to send.
    pub(crate) fn message(&self) -> &[u8] {
        &self.message
    }

    /// The client's end of the session that the server's answer makes.
    pub(crate) fn finish(
        self,
        secret: &Secret,
        identity: &str,
        answer: &[u8],
        version: EngineVersion,
        cipher: Cipher,
    ) -> Result<Session, HandshakeError> {
        let message = Exchange::read(answer).map_err(|_| HandshakeError::Malformed)?;
        if message.identity != identity {
            return Err(HandshakeError::Identity(message.identity.to_owned()));
        }
        let public = open(secret, &message, &self.message)?;
        let messages = [&self.message, answer];
        agree(self.private, public, messages, version, cipher, End::Client)
    }
}

/// The server's answer to a client's message, and its end of the session.
pub(crate) fn accept(
    secret: &Secret,
    challenge: &[u8],
    version: EngineVersion,
    cipher: Cipher,
    random: &dyn SecureRandom,
) -> Result<(Vec<u8>, Session), HandshakeError> {
    let message = Exchange::read(challenge).map_err(|_| HandshakeError::Malformed)?;
    let public = open(secret, &message, &[])?;
    let half = offer(secret, message.identity, challenge, random)?;
    let messages = [challenge, &half.message];
    let session = agree(half.private, public, messages, version, cipher, End::Server)?;
    Ok((half.message, session))
}
