//! Keys and certificates in PEM.

use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::password::Password;

/// How the section of a key begins that has a password.
const ENCRYPTED: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";

/// The private key of a file.
///
/// # Errors
/// Why there is none.
pub(crate) fn key(
    bytes: &[u8],
    password: Option<&Password>,
) -> Result<PrivateKeyDer<'static>, String> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let Some(start) = text.find(ENCRYPTED) else {
        return PrivateKeyDer::from_pem_slice(bytes)
            .map_err(|why| format!("it has no private key: {why}"));
    };
    let password = password.ok_or("its key is encrypted, and there is no password")?;
    let (_, document) = SecretDocument::from_pem(text.get(start..).unwrap_or_default())
        .map_err(|why| format!("its key cannot be read: {why}"))?;
    let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes()).map_err(|why| {
        format!(
            "its key is encrypted in an unknown way ({why}); use openssl pkcs8 -topk8 -v2 aes256"
        )
    })?;
    let key = info.decrypt(password.text()).map_err(|why| {
        format!(
            "its key cannot be decrypted ({why}): the password is another one, or the way of encryption; use openssl \
             pkcs8 -topk8 -v2 aes256"
        )
    })?;
    Ok(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()).into())
}

/// The certificates of a file.
///
/// # Errors
/// Why there are none.
pub(crate) fn certificates(bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    let found = found.map_err(|why| format!("its certificates cannot be read: {why}"))?;
    match found.is_empty() {
        true => Err("it has no certificate".to_owned()),
        false => Ok(found),
    }
}
