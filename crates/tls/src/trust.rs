//! Whose certificates are accepted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::password::Password;
use crate::store::{Passwords, Store, read_file};

/// The certificates that are trusted.
#[derive(Debug)]
pub(crate) struct Anchors {
    /// They are accepted themselves, whatever is in them.
    certificates: Vec<CertificateDer<'static>>,
    /// What they have signed is accepted.
    roots: RootCertStore,
}

impl Anchors {
    pub(crate) fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            // What cannot sign others is still accepted itself.
            let _ = roots.add(certificate.clone());
        }
        Self {
            certificates,
            roots,
        }
    }

    /// Those of a trust store.
    ///
    /// # Errors
    /// Why there are none.
    fn of_store(path: &Path, password: Option<&Password>) -> Result<Self, String> {
        let bytes = read_file(path).map_err(|why| why.to_string())?;
        let passwords = Passwords {
            store: password,
            key: None,
            keys: false,
        };
        let trusted = Store::read(&bytes, passwords)?.trusted();
        match trusted.is_empty() {
            true => Err("it has no certificate that is trusted".to_owned()),
            false => Ok(Self::new(trusted)),
        }
    }

    fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        now: UnixTime,
        algorithms: &WebPkiSupportedAlgorithms,
    ) -> Result<(), Error> {
        if self
            .certificates
            .iter()
            .any(|trusted| trusted == certificate)
        {
            return Ok(());
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        let known = algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, issuers, now, known)
    }
}

/// A trust store that may be looked at again.
#[derive(Debug)]
pub(crate) struct Reloading {
    path: PathBuf,
    password: Option<Password>,
    every: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    anchors: Arc<Anchors>,
    looked: Instant,
    modified: Option<SystemTime>,
}

impl Reloading {
    /// The anchors as the file has them now, or had them when it was last whole.
    fn anchors(&self) -> Arc<Anchors> {
        // Nothing panics while it is locked; a state is whole at any time.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= self.every {
            state.looked = Instant::now();
            let modified = modified(&self.path);
            if modified.is_some()
                && modified != state.modified
                && let Ok(anchors) = Anchors::of_store(&self.path, self.password.as_ref())
            {
                state.anchors = Arc::new(anchors);
                state.modified = modified;
            }
        }
        Arc::clone(&state.anchors)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// Who is trusted.
#[derive(Debug)]
pub(crate) enum Trust {
    /// Whoever has a certificate.
    All,
    /// Who has one of these certificates, or one that was signed with them.
    Fixed(Anchors),
    /// As [`Trust::Fixed`], from a file that changes.
    Reloading(Reloading),
}

impl Trust {
    /// What a trust store says, which is looked at again after each `reload`.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn of_store(
        path: &Path,
        password: Option<&Password>,
        reload: Option<Duration>,
    ) -> Result<Self, String> {
        let modified = modified(path);
        let anchors = Anchors::of_store(path, password)?;
        Ok(match reload {
            None => Self::Fixed(anchors),
            Some(every) => Self::Reloading(Reloading {
                path: path.to_owned(),
                password: password.cloned(),
                every,
                state: Mutex::new(State {
                    anchors: Arc::new(anchors),
                    looked: Instant::now(),
                    modified,
                }),
            }),
        })
    }
}

/// Asks no more of a server than Spark does: names are not compared.
#[derive(Debug)]
pub(crate) struct Verifier {
    pub(crate) trust: Trust,
    pub(crate) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verify =
            |anchors: &Anchors| anchors.verify(end_entity, intermediates, now, &self.algorithms);
        match &self.trust {
            Trust::All => {}
            Trust::Fixed(anchors) => verify(anchors)?,
            Trust::Reloading(store) => verify(&store.anchors())?,
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
