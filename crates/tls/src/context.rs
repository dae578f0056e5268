//! Both ends of a connection, ready to be opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ClientConfig, ServerConfig};

use crate::password::Password;
use crate::store::{Passwords, Store, read_file};
use crate::suite::{Protocol, Suite};
use crate::trust::{Anchors, Trust, Verifier};
use crate::{Source, TlsError, curve, pem};

/// What connections are made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Key and certificates of this process.
    pub keys: Keys,
    /// The versions of TLS.
    pub protocol: Protocol,
    /// The ciphers; all that there are if it is empty.
    pub suites: Vec<Suite>,
}

/// Where key and certificates come from, and with them whom to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    /// A key store of Java's.
    Store {
        /// The file.
        path: PathBuf,
        /// Its password.
        password: Option<Password>,
        /// The password of the key, if it has another.
        key_password: Option<Password>,
        /// Who is trusted: everybody, if there is no store.
        trust: Option<TrustStore>,
    },
    /// Files in PEM. The certificates are those that are trusted, too.
    Pem {
        /// The key.
        key: PathBuf,
        /// Its password.
        password: Option<Password>,
        /// The certificates, that of the key first.
        chain: PathBuf,
    },
}

/// Certificates that are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustStore {
    /// The file.
    pub path: PathBuf,
    /// Its password.
    pub password: Option<Password>,
    /// How often it is looked for changes, if it is.
    pub reload: Option<Duration>,
}

/// Key and certificates, and who is trusted.
struct Material {
    key: PrivateKeyDer<'static>,
    chain: Vec<CertificateDer<'static>>,
    trust: Trust,
    /// Where key and certificates were.
    from: (Source, PathBuf),
}

/// Both ends of connections. Clones share keys and certificates.
#[derive(Debug, Clone)]
pub struct Context {
    /// For connections that this process opens.
    pub client: Arc<ClientConfig>,
    /// For connections that this process accepts.
    pub server: Arc<ServerConfig>,
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.client, &other.client) && Arc::ptr_eq(&self.server, &other.server)
    }
}

impl Eq for Context {}

impl Context {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`]
    pub fn new(settings: &Settings) -> Result<Self, TlsError> {
        let mut provider = ring::default_provider();
        if !settings.suites.is_empty() {
            let suites = settings.suites.iter();
            provider.cipher_suites = suites.filter_map(|suite| suite.of_rustls()).collect();
        }
        let provider = Arc::new(provider);
        let Material {
            key,
            chain,
            trust,
            from: (source, path),
        } = Material::read(&settings.keys)?;
        let key = curve::with_public_key(key, &chain);
        let mut server = server(&provider, settings.protocol)?
            .with_single_cert(chain, key)
            .map_err(|why| {
                let why = format!("its key or certificate is none that can be used: {why}");
                failed(source, &path, why)
            })?;
        let algorithms = provider.signature_verification_algorithms;
        let verifier = Verifier { trust, algorithms };
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(settings.protocol.versions())
            .map_err(|why| TlsError::Ciphers(why.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        client.enable_sni = false;
        client.resumption = Resumption::disabled();
        server.send_tls13_tickets = 0;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
        })
    }
}

/// A server without its certificate.
fn server(
    provider: &Arc<CryptoProvider>,
    protocol: Protocol,
) -> Result<rustls::ConfigBuilder<ServerConfig, rustls::server::WantsServerCert>, TlsError> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(protocol.versions())
        .map_err(|why| TlsError::Ciphers(why.to_string()))?;
    Ok(builder.with_no_client_auth())
}

impl Material {
    fn read(keys: &Keys) -> Result<Self, TlsError> {
        match keys {
            Keys::Store {
                path,
                password,
                key_password,
                trust,
            } => {
                let passwords = Passwords {
                    store: password.as_ref(),
                    key: key_password.as_ref(),
                    keys: true,
                };
                let store = Store::read(&read(Source::KeyStore, path)?, passwords);
                let (key, chain) = store
                    .and_then(Store::only_key)
                    .map_err(|why| failed(Source::KeyStore, path, why))?;
                let trust = match trust {
                    None => Trust::All,
                    Some(store) => {
                        Trust::of_store(&store.path, store.password.as_ref(), store.reload)
                            .map_err(|why| failed(Source::TrustStore, &store.path, why))?
                    }
                };
                let from = (Source::KeyStore, path.clone());
                Ok(Self {
                    key,
                    chain,
                    trust,
                    from,
                })
            }
            Keys::Pem {
                key,
                password,
                chain,
            } => {
                let bytes = read(Source::PrivateKey, key)?;
                let from = (Source::PrivateKey, key.clone());
                let key = pem::key(&bytes, password.as_ref())
                    .map_err(|why| failed(Source::PrivateKey, key, why))?;
                let certificates = pem::certificates(&read(Source::CertChain, chain)?)
                    .map_err(|why| failed(Source::CertChain, chain, why))?;
                Ok(Self {
                    key,
                    trust: Trust::Fixed(Anchors::new(certificates.clone())),
                    chain: certificates,
                    from,
                })
            }
        }
    }
}

fn read(source: Source, path: &Path) -> Result<zeroize::Zeroizing<Vec<u8>>, TlsError> {
    read_file(path).map_err(|why| failed(source, path, why.to_string()))
}

fn failed(source_of: Source, path: &Path, why: String) -> TlsError {
    TlsError::File {
        source_of,
        path: path.to_owned(),
        why,
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
