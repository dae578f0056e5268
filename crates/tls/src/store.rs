//! Key stores of Java, in either of the two formats that Spark's executors read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use p12_keystore::{KeyStore, KeyStoreEntry, Pkcs12ImportPolicy};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use crate::jks;
use crate::password::Password;

/// Larger files are not read; real ones have some kilobytes, and stores of all known authorities a few hundred.
const MAX_BYTES: u64 = 16 << 20;

/// What is in a key store.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) keys: Vec<KeyEntry>,
    pub(crate) trusted: Vec<CertificateDer<'static>>,
}

/// A key with its certificates, that of the key first.
#[derive(Debug)]
pub(crate) struct KeyEntry {
    pub(crate) alias: String,
    /// The key, if it was asked for.
    pub(crate) key: Option<PrivateKeyDer<'static>>,
    pub(crate) chain: Vec<CertificateDer<'static>>,
}

/// What a store is opened with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passwords<'a> {
    /// That of the store.
    pub(crate) store: Option<&'a Password>,
    /// That of its keys, if it is another one.
    pub(crate) key: Option<&'a Password>,
    /// Whether keys are wanted, or only certificates.
    pub(crate) keys: bool,
}

/// Reads a whole file.
///
/// # Errors
/// It cannot be read, or is too large.
pub(crate) fn read_file(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    if len > MAX_BYTES {
        let message = format!("{len} bytes are too many");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    // Not moved to larger memory: nothing of it is left behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(len).unwrap_or(0) + 1));
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Store {
    /// Reads a store; the format is seen from its first bytes.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn read(bytes: &[u8], passwords: Passwords<'_>) -> Result<Self, String> {
        if jks::is_jks(bytes) {
            let of_keys = passwords.key.or(passwords.store);
            return jks::read(bytes, passwords.store, of_keys.filter(|_| passwords.keys));
        }
        if passwords.keys
            && passwords
                .key
                .is_some_and(|key| Some(key) != passwords.store)
        {
            return Err(
                "its key has another password than the store, which is supported for stores in the format JKS only"
                    .to_owned(),
            );
        }
        Self::read_pkcs12(bytes, passwords)
    }

    fn read_pkcs12(bytes: &[u8], passwords: Passwords<'_>) -> Result<Self, String> {
        let password = passwords.store.map_or("", Password::text);
        let found = KeyStore::from_pkcs12(bytes, password, Pkcs12ImportPolicy::Strict);
        let found = found.map_err(|why| match (passwords.store, why) {
            (None, why) => format!("there is no password for it ({why})"),
            (_, p12_keystore::error::Error::MacError(_)) => {
                "its password is another one, or it was changed".to_owned()
            }
            (_, why) => format!("it is no key store in the format JKS or PKCS12: {why}"),
        })?;
        let mut store = Self::default();
        for (alias, entry) in found.entries() {
            match entry {
                KeyStoreEntry::PrivateKeyChain(chain) => {
                    let key = PrivatePkcs8KeyDer::from(chain.key().as_der().to_vec());
                    store.keys.push(KeyEntry {
                        alias: alias.clone(),
                        key: passwords.keys.then(|| key.into()),
                        chain: chain
                            .certs()
                            .iter()
                            .map(|cert| der(cert.as_der()))
                            .collect(),
                    });
                }
                KeyStoreEntry::Certificate(cert) => store.trusted.push(der(cert.as_der())),
                KeyStoreEntry::Secret(_) => {}
            }
        }
        Ok(store)
    }

    /// The only key of the store and its certificates.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub(crate) fn only_key(
        mut self,
    ) -> Result<(PrivateKeyDer<'static>, Vec<CertificateDer<'static>>), String> {
        if self.keys.len() > 1 {
            let names: Vec<_> = self.keys.iter().map(|key| key.alias.as_str()).collect();
            return Err(format!(
                "it has several keys ({}): keep one in it",
                names.join(", ")
            ));
        }
        let entry = self.keys.pop().ok_or("it has no private key")?;
        let key = entry.key.ok_or("there is no password for its key")?;
        Ok((key, entry.chain))
    }

    /// What the store trusts: certificates that were put into it, and those of its keys, without their issuers.
    pub(crate) fn trusted(self) -> Vec<CertificateDer<'static>> {
        let of_keys = self.keys.into_iter();
        let of_keys = of_keys.filter_map(|entry| entry.chain.into_iter().next());
        let mut trusted = self.trusted;
        trusted.extend(of_keys);
        trusted
    }
}

fn der(bytes: &[u8]) -> CertificateDer<'static> {
    CertificateDer::from(bytes.to_vec())
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
