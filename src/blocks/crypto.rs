//! Encryption of what Spark writes to local disks (`spark.io.encryption.enabled`): 16 random bytes, then the data, AES
//! in counter mode with those bytes as the first counter (Spark's `CryptoStreamUtils`). There is no authentication:
//! damage is seen by what reads the data.

use crate::config::declared::{AES_CTR, IO_CRYPTO_TRANSFORMATION};
use crate::config::{SettingError, SparkProperties};
use aes::{Aes128, Aes192, Aes256};
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Bytes in front of the data.
pub const IV_LENGTH: usize = 16;
/// Bytes encrypted at a time.
const BUFFER: usize = 64 << 10;

/// The application's key for local files.
#[derive(Clone)]
pub struct IoEncryption {
    key: Arc<[u8]>,
}

impl fmt::Debug for IoEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoEncryption").finish_non_exhaustive()
    }
}

enum Cipher {
    Aes128(Ctr128BE<Aes128>),
    Aes192(Ctr128BE<Aes192>),
    Aes256(Ctr128BE<Aes256>),
}

impl Cipher {
    fn new(key: &[u8], iv: &[u8; IV_LENGTH]) -> Option<Self> {
        match key.len() {
            16 => Ctr128BE::new_from_slices(key, iv).ok().map(Self::Aes128),
            24 => Ctr128BE::new_from_slices(key, iv).ok().map(Self::Aes192),
            32 => Ctr128BE::new_from_slices(key, iv).ok().map(Self::Aes256),
            _ => None,
        }
    }

    fn apply(&mut self, data: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Aes128(cipher) => cipher.try_apply_keystream(data),
            Self::Aes192(cipher) => cipher.try_apply_keystream(data),
            Self::Aes256(cipher) => cipher.try_apply_keystream(data),
        }
        .map_err(|_| io::Error::other("more data than one initialization vector is good for"))
    }
}

fn no_cipher() -> io::Error {
    io::Error::other("the key's length changed")
}

impl IoEncryption {
    /// With the key that the driver sent, and the settings that say how it is used.
    ///
    /// # Errors
    /// The cipher is not AES in counter mode, or the key has another length than AES's.
    pub fn new(key: &[u8], properties: &SparkProperties) -> Result<Self, SettingError> {
        let transformation = properties.text(&IO_CRYPTO_TRANSFORMATION);
        if transformation != AES_CTR {
            return Err(SettingError::Unsupported {
                key: IO_CRYPTO_TRANSFORMATION.key.to_owned(),
                value: transformation,
                cure: format!("use {AES_CTR}"),
            });
        }
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(SettingError::Conflict {
                message: format!(
                    "The key for spark.io.encryption has {} bits, but should have 128, 192 or 256",
                    key.len().saturating_mul(8)
                ),
            });
        }
        Ok(Self { key: key.into() })
    }

    /// Decrypts `source`, whose first bytes are read at once.
    ///
    /// # Errors
    /// Those of the source; `UnexpectedEof` if it has fewer than [`IV_LENGTH`] bytes.
    pub fn reader<R: Read>(&self, mut source: R) -> io::Result<DecryptingReader<R>> {
        let mut iv = [0; IV_LENGTH];
        source.read_exact(&mut iv)?;
        let cipher = Cipher::new(&self.key, &iv).ok_or_else(no_cipher)?;
        Ok(DecryptingReader { source, cipher })
    }

    /// Encrypts into `sink`, to which the initialization vector is written at once. Nothing is held back.
    ///
    /// # Errors
    /// Those of the sink, or the system has no random numbers.
    pub fn writer<W: Write>(&self, mut sink: W) -> io::Result<EncryptingWriter<W>> {
        let mut iv = [0; IV_LENGTH];
        getrandom::fill(&mut iv).map_err(io::Error::other)?;
        sink.write_all(&iv)?;
        let cipher = Cipher::new(&self.key, &iv).ok_or_else(no_cipher)?;
        Ok(EncryptingWriter {
            sink,
            cipher,
            buffer: Vec::new(),
        })
    }
}

/// Decrypts what it reads.
pub struct DecryptingReader<R> {
    source: R,
    cipher: Cipher,
}

impl<R> fmt::Debug for DecryptingReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptingReader").finish_non_exhaustive()
    }
}

impl<R: Read> Read for DecryptingReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buf)?;
        self.cipher
            .apply(buf.get_mut(..count).unwrap_or_default())?;
        Ok(count)
    }
}

/// Encrypts what is written. After an error of the sink the stream is lost.
pub struct EncryptingWriter<W> {
    sink: W,
    cipher: Cipher,
    buffer: Vec<u8>,
}

impl<W> fmt::Debug for EncryptingWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptingWriter").finish_non_exhaustive()
    }
}

impl<W: Write> EncryptingWriter<W> {
    /// Where the encrypted bytes go.
    pub fn get_ref(&self) -> &W {
        &self.sink
    }

    /// Gives the sink back.
    pub fn into_inner(self) -> W {
        self.sink
    }
}

impl<W: Write> Write for EncryptingWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let (now, _) = buf.split_at(buf.len().min(BUFFER));
        self.buffer.clear();
        self.buffer.extend_from_slice(now);
        self.cipher.apply(&mut self.buffer)?;
        self.sink.write_all(&self.buffer)?;
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encryption(bytes: usize) -> IoEncryption {
        let key: Vec<u8> = (0..bytes as u8).collect();
        IoEncryption::new(&key, &SparkProperties::default()).unwrap()
    }

    /// Written by Spark 4.3.0.
    #[test]
    fn files_of_a_jvm_are_read() {
        let hex = "fc19b5df1ca5ae92a4f645fd8d03bb524c845803ef13602ca710afb9260c63a3f2dbd990dcd5de979aa12e14a800cc454df7";
        let bytes = testkit::from_hex(hex);
        let mut text = String::new();
        let mut reader = encryption(16).reader(&bytes[..]).unwrap();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello hello hello hello firesteel ");
        let error = encryption(16).reader(&bytes[..15]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_was_encrypted_is_decrypted() {
        let data: Vec<u8> = (0..200_000u32).map(|at| ((at * at) >> 3) as u8).collect();
        for bytes in [16, 24, 32] {
            let encryption = encryption(bytes);
            let mut writer = encryption.writer(Vec::new()).unwrap();
            for piece in data.chunks(77_777) {
                writer.write_all(piece).unwrap();
            }
            let encrypted = writer.into_inner();
            assert_eq!(encrypted.len(), data.len() + IV_LENGTH);
            let mut decrypted = Vec::new();
            let mut reader = encryption.reader(&encrypted[..]).unwrap();
            reader.read_to_end(&mut decrypted).unwrap();
            assert!(decrypted == data);
            let again = encryption.writer(Vec::new()).unwrap().into_inner();
            assert_ne!(
                again,
                encrypted[..IV_LENGTH],
                "each stream has its own vector"
            );
        }
    }

    #[test]
    fn other_ciphers_are_refused() {
        let mut properties = SparkProperties::default();
        assert!(IoEncryption::new(&[0; 17], &properties).is_err());
        properties.set(IO_CRYPTO_TRANSFORMATION.key, "AES/CBC/PKCS5Padding");
        assert!(IoEncryption::new(&[0; 16], &properties).is_err());
    }
}
