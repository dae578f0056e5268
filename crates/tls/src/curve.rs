//! Keys of elliptic curves as Java writes them: without the public key, which is in the certificate only.

use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::{Decode, Encode};
use pkcs8::spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivateSec1KeyDer};
use rustls::server::ParsedCertificate;
use sec1::EcPrivateKey;

/// Keys of elliptic curves.
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

/// The key with the public key of its certificate, if it is one of a curve and has none; else as it is. Whether the
/// two belong together is found out when it is used.
pub(crate) fn with_public_key(
    key: PrivateKeyDer<'static>,
    chain: &[CertificateDer<'static>],
) -> PrivateKeyDer<'static> {
    let certificate = chain.first();
    let whole = certificate.and_then(|certificate| completed(&key, certificate));
    whole.map_or(key, |whole| PrivateSec1KeyDer::from(whole).into())
}

fn completed(
    key: &PrivateKeyDer<'static>,
    certificate: &CertificateDer<'static>,
) -> Option<Vec<u8>> {
    let sec1 = match key {
        PrivateKeyDer::Pkcs8(key) => {
            let info = PrivateKeyInfoRef::try_from(key.secret_pkcs8_der()).ok()?;
            (info.algorithm.oid == EC).then(|| info.private_key.as_bytes())?
        }
        PrivateKeyDer::Sec1(key) => key.secret_sec1_der(),
        _ => return None,
    };
    let mut sec1 = EcPrivateKey::from_der(sec1).ok()?;
    if sec1.public_key.is_some() {
        return None;
    }
    let certificate = ParsedCertificate::try_from(certificate).ok()?;
    let public = certificate.subject_public_key_info();
    let public = SubjectPublicKeyInfoRef::from_der(&public).ok()?;
    sec1.public_key = public.subject_public_key.as_bytes();
    sec1.to_der().ok()
}
