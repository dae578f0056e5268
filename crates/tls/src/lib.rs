//! Spark's TLS connections (`spark.ssl.rpc.*`, since Spark 4.0): keys and certificates from key stores of Java and
//! files in PEM, who is trusted, and with which protocols and ciphers.
//!
//! | module | what it holds |
//! |---|---|
//! | [`Context`] | both ends of a connection, ready for `rustls` |
//! | [`Settings`] | what it is made from |
//! | [`Suite`], [`Protocol`] | ciphers and protocols under Java's names |
//! | `store`, `jks`, `pem`, `curve` | readers of files |
//! | `trust` | whose certificates are accepted |
//!
//! As in Spark, a server never asks for a certificate of the client, names of hosts are not compared with certificates,
//! and without a trust store every certificate is accepted.
#![forbid(unsafe_code)]

mod context;
mod curve;
mod jks;
mod password;
mod pem;
mod store;
mod suite;
mod trust;

pub use context::{Context, Keys, Settings, TrustStore};
pub use password::Password;
pub use suite::{Protocol, Suite};

use std::path::PathBuf;

/// A file that connections are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Key and certificates of this process, in a store of Java's.
    KeyStore,
    /// Certificates that are trusted, in a store of Java's.
    TrustStore,
    /// Key of this process, in PEM.
    PrivateKey,
    /// Certificates of this process, in PEM; they are trusted, too.
    CertChain,
}

/// Why there can be no connections.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be used.
    #[error("{} cannot be used: {why}", path.display())]
    File {
        /// What it is for.
        source_of: Source,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Protocols and ciphers do not go together.
    #[error("no cipher of these is one of that protocol: {0}")]
    Ciphers(String),
}

/// What fuzz targets call.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::jks::fuzzing::java_key_store;
}
