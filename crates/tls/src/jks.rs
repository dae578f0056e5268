//! Java's own format of key stores (JKS), which JDKs wrote before version 9 and still read.

use pkcs8::der::asn1::OctetStringRef;
use pkcs8::der::{Decode, Reader as _, SliceReader};
use pkcs8::spki::{AlgorithmIdentifierRef, ObjectIdentifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::password::Password;
use crate::store::{KeyEntry, Store};

/// What a store of this format begins with.
const MAGIC: u32 = 0xfeed_feed;
/// What is hashed besides the password and the store.
const WHITENER: &[u8] = b"Mighty Aphrodite";
/// How a key is hidden: there is one way.
const PROTECTION: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.42.2.17.1.1");
const DIGEST: usize = 20;
/// Kinds of entries.
const KEY: u32 = 1;
const CERTIFICATE: u32 = 2;

/// Whether a file has this format.
pub(crate) fn is_jks(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_be_bytes())
}

/// Reads a store. Without a password, nothing shows that it was changed. Keys have a password of their own; where it is
/// not given they are left out.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn read(
    bytes: &[u8],
    password: Option<&Password>,
    key_password: Option<&Password>,
) -> Result<Store, String> {
    let cut = "it ends too early".to_owned();
    let body = bytes.len().checked_sub(DIGEST).ok_or(cut)?;
    let (body, digest) = bytes.split_at(body);
    if let Some(password) = password {
        let mut hash = Sha1::new();
        hash.update(password.wide().as_slice());
        hash.update(WHITENER);
        hash.update(body);
        if !bool::from(hash.finalize().as_slice().ct_eq(digest)) {
            return Err("its password is another one, or it was changed".to_owned());
        }
    }
    let mut reader = Reader { rest: body };
    reader.u32()?;
    let version = reader.u32()?;
    if !(1..=2).contains(&version) {
        return Err(format!("its version {version} is not known"));
    }
    let mut store = Store::default();
    for _ in 0..reader.u32()? {
        let kind = reader.u32()?;
        let alias = reader.text()?;
        reader.take(8)?;
        match kind {
            KEY => {
                let protected = reader.bytes()?;
                let mut chain = Vec::new();
                for _ in 0..reader.u32()? {
                    chain.push(reader.certificate(version)?);
                }
                let key = key_password
                    .map(|password| key(protected, password))
                    .transpose()
                    .map_err(|why| format!("the key '{alias}' cannot be read: {why}"))?;
                store.keys.push(KeyEntry { alias, key, chain });
            }
            CERTIFICATE => store.trusted.push(reader.certificate(version)?),
            _ => return Err(format!("its entry '{alias}' is of the unknown kind {kind}")),
        }
    }
    match reader.rest.is_empty() {
        true => Ok(store),
        false => Err("there is something behind its last entry".to_owned()),
    }
}

/// Uncovers a key: a salt, the key under a stream of digests, and a digest of the key.
fn key(protected: &[u8], password: &Password) -> Result<PrivateKeyDer<'static>, String> {
    let (algorithm, data) = sequence(protected).map_err(|why| why.to_string())?;
    if algorithm.oid != PROTECTION {
        return Err(format!("it is hidden in the unknown way {}", algorithm.oid));
    }
    let data = data.as_bytes();
    let parts = data
        .split_first_chunk::<DIGEST>()
        .and_then(|(salt, rest)| Some((salt, rest.split_last_chunk::<DIGEST>()?)));
    let (salt, (hidden, check)) = parts.ok_or("it is too short")?;
    let password = password.wide();
    let digest = |bytes: &[u8]| {
        let mut hash = Sha1::new();
        hash.update(password.as_slice());
        hash.update(bytes);
        hash.finalize()
    };
    let mut key = Zeroizing::new(hidden.to_vec());
    let mut block = Zeroizing::new(salt.to_vec());
    for piece in key.chunks_mut(DIGEST) {
        block = Zeroizing::new(digest(&block).to_vec());
        for (byte, with) in piece.iter_mut().zip(block.iter()) {
            *byte ^= with;
        }
    }
    if !bool::from(digest(&key).as_slice().ct_eq(check)) {
        return Err("its password is another one".to_owned());
    }
    Ok(PrivatePkcs8KeyDer::from(key.to_vec()).into())
}

/// An `EncryptedPrivateKeyInfo`.
fn sequence(bytes: &[u8]) -> pkcs8::der::Result<(AlgorithmIdentifierRef<'_>, &'_ OctetStringRef)> {
    let mut reader = SliceReader::new(bytes)?;
    let parts = reader.sequence(|inner| {
        Ok::<_, pkcs8::der::Error>((
            AlgorithmIdentifierRef::decode(inner)?,
            <&OctetStringRef>::decode(inner)?,
        ))
    })?;
    reader.finish()?;
    Ok(parts)
}

/// Numbers and runs of bytes, one after the other.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let split = self.rest.split_at_checked(count);
        let (taken, rest) = split.ok_or("it ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, String> {
        let bytes = self.take(4)?;
        let bytes = bytes.try_into().map_err(|_| "it ends too early")?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn bytes(&mut self) -> Result<&'a [u8], String> {
        let count = self.u32()?;
        self.take(usize::try_from(count).map_err(|_| "it ends too early")?)
    }

    /// A text as Java writes it. What is not plain UTF-8 of it is replaced: it is only shown.
    fn text(&mut self) -> Result<String, String> {
        let count = self.take(2)?;
        let count = count
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        Ok(String::from_utf8_lossy(self.take(count)?).into_owned())
    }

    fn certificate(&mut self, version: u32) -> Result<CertificateDer<'static>, String> {
        if version > 1 {
            let kind = self.text()?;
            if kind != "X.509" {
                return Err(format!("it has a certificate of the unknown kind {kind}"));
            }
        }
        Ok(CertificateDer::from(self.bytes()?.to_vec()))
    }
}

/// The reader as the fuzz targets see it. Compiled for `cargo fuzz` only.
#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    use super::*;

    /// Any bytes as a store, whose digest is not looked at: nothing is made up.
    pub fn java_key_store(data: &[u8]) {
        let password = Password::new("changeit".to_owned());
        let Ok(store) = read(data, None, Some(&password)) else {
            return;
        };
        let chains = store.keys.iter().flat_map(|entry| &entry.chain);
        let bytes: usize = chains.chain(&store.trusted).map(|cert| cert.len()).sum();
        assert!(bytes <= data.len());
    }
}
