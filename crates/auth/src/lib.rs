//! Who is at the other end of one of Spark's connections, and the ciphers that hide what is said on it.
//!
//! Everything here turns bytes into bytes: there are no sockets, clocks or threads. Both ends of each protocol are
//! here.
//!
//! | module | what it holds |
//! |---|---|
//! | [`Secret`] | the secret that all processes of an application share |
//! | [`ClientHandshake`], [`ServerHandshake`] | the requests and answers at the beginning of a connection |
//! | [`Session`] | the ciphers of a connection, one for each direction |
//!
//! Spark has two protocols. SASL (DIGEST-MD5) says who is there and hides nothing
//! (`spark.network.crypto.enabled=false`). The other one (X25519, HKDF, AES-GCM; Spark's `AuthEngine`) agrees on keys
//! besides, for AES in counter mode or for messages sealed with AES-GCM (`spark.network.crypto.cipher`).
#![forbid(unsafe_code)]

mod digest;
mod engine;
mod gcm;
mod handshake;
mod message;
mod secret;
mod session;

pub use engine::EngineVersion;
pub use handshake::{
    ClientHandshake, ClientStep, Crypto, HandshakeError, Protocol, ServerHandshake, ServerStep,
};
pub use secret::Secret;
pub use session::{Cipher, CipherError, Opener, Sealer, Session};

/// The identity of connections that carry control messages and files.
pub const RPC_IDENTITY: &str = "sparkSaslUser";

#[cfg(test)]
mod spark_tests;

/// What fuzz targets call.
#[cfg(fuzzing)]
pub mod fuzzing;
