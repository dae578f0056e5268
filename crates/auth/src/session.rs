//! The ciphers of a connection.

use aes::{Aes128, Aes256};
use bytes::BytesMut;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use thiserror::Error;

use crate::gcm;
use crate::handshake::HandshakeError;

/// `spark.network.crypto.cipher`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// `AES/CTR/NoPadding`: one stream of key bytes for each direction. Nothing shows that bytes were changed.
    Ctr,
    /// `AES/GCM/NoPadding`: messages of sealed segments.
    Gcm,
}

/// Why what arrived cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CipherError {
    /// It was not sealed with the session's key, or changed on its way.
    #[error("what arrived was not encrypted with the key of this connection")]
    NotSealed,
    /// A length that no message has.
    #[error("an encrypted message cannot have {0} bytes")]
    Length(i64),
    /// A header that no message has.
    #[error("the header of an encrypted message is wrong")]
    Header,
    /// More bytes than one key is good for.
    #[error("more bytes than the key of this connection is good for")]
    Exhausted,
}

/// The ciphers of one end of a connection.
pub struct Session {
    /// For what this end sends.
    pub sealer: Sealer,
    /// For what this end receives.
    pub opener: Opener,
}

/// Encrypts what one end sends.
pub struct Sealer(Sealing);

/// Decrypts what one end receives.
pub struct Opener(Opening);

enum Sealing {
    Ctr(Box<Stream>),
    Gcm(gcm::Sealer),
}

enum Opening {
    Ctr(Box<Stream>),
    Gcm(Box<gcm::Opener>),
}

enum Stream {
    Aes128(Ctr128BE<Aes128>),
    Aes256(Ctr128BE<Aes256>),
}

impl Stream {
    fn new(key: &[u8], iv: &[u8; 16]) -> Result<Self, HandshakeError> {
        match key.len() {
            16 => Ctr128BE::new_from_slices(key, iv).map(Self::Aes128),
            _ => Ctr128BE::new_from_slices(key, iv).map(Self::Aes256),
        }
        .map_err(|_| HandshakeError::Library)
    }

    fn apply(&mut self, bytes: &mut [u8]) -> Result<(), CipherError> {
        match self {
            Self::Aes128(cipher) => cipher.try_apply_keystream(bytes),
            Self::Aes256(cipher) => cipher.try_apply_keystream(bytes),
        }
        .map_err(|_| CipherError::Exhausted)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(
        cipher: Cipher,
        key: &[u8],
        sealing_iv: &[u8; 16],
        opening_iv: &[u8; 16],
    ) -> Result<Self, HandshakeError> {
        let (sealing, opening) = match cipher {
            Cipher::Ctr => (
                Sealing::Ctr(Box::new(Stream::new(key, sealing_iv)?)),
                Opening::Ctr(Box::new(Stream::new(key, opening_iv)?)),
            ),
            Cipher::Gcm => (
                Sealing::Gcm(gcm::Sealer::new(key)),
                Opening::Gcm(Box::new(gcm::Opener::new(key))),
            ),
        };
        Ok(Self {
            sealer: Sealer(sealing),
            opener: Opener(opening),
        })
    }
}

impl Sealer {
    /// Encrypts all of `plain`, which is left in any state, to `sealed`, whose former content is gone.
    ///
    /// # Errors
    /// [`CipherError::Exhausted`], or there are no random bytes.
    pub fn seal(&mut self, plain: &mut Vec<u8>, sealed: &mut Vec<u8>) -> Result<(), CipherError> {
        match &mut self.0 {
            Sealing::Ctr(stream) => {
                stream.apply(plain)?;
                std::mem::swap(plain, sealed);
                Ok(())
            }
            Sealing::Gcm(sealer) => sealer.seal(plain, sealed),
        }
    }
}

impl Opener {
    /// True if bytes have to be [pushed](Self::push); else they are decrypted [in place](Self::apply).
    pub fn has_messages(&self) -> bool {
        matches!(self.0, Opening::Gcm(_))
    }

    /// Decrypts what arrived next where it is.
    ///
    /// # Errors
    /// [`CipherError`]
    pub fn apply(&mut self, arrived: &mut [u8]) -> Result<(), CipherError> {
        match &mut self.0 {
            Opening::Ctr(stream) => stream.apply(arrived),
            Opening::Gcm(_) => Err(CipherError::NotSealed),
        }
    }

    /// Takes from `arrived` what is whole, decrypts it and appends it to `plain`. At most 64 KiB stay in `arrived`
    /// however it is cut.
    ///
    /// # Errors
    /// [`CipherError`]
    pub fn push(
        &mut self,
        arrived: &mut BytesMut,
        plain: &mut BytesMut,
    ) -> Result<(), CipherError> {
        match &mut self.0 {
            Opening::Ctr(stream) => {
                stream.apply(arrived)?;
                plain.unsplit(arrived.split());
                Ok(())
            }
            Opening::Gcm(opener) => opener.push(arrived, plain),
        }
    }

    /// Whether the other end has begun a message that it has not finished.
    pub fn is_inside(&self) -> bool {
        match &self.0 {
            Opening::Ctr(_) => false,
            Opening::Gcm(opener) => opener.is_inside(),
        }
    }
}
