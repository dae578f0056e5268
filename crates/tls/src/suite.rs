//! Protocols and ciphers under the names that Java has for them.

use rustls::crypto::ring::cipher_suite as ring;
use rustls::version::{TLS12, TLS13};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

/// The versions of TLS that are spoken: `spark.ssl.rpc.protocol`. Spark speaks no other than the one that is named, and
/// without a name the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// `TLSv1.3`
    #[default]
    Tls13,
    /// `TLSv1.2`
    Tls12,
    /// `TLS`: either.
    Either,
}

impl Protocol {
    /// The names that there are.
    pub const NAMES: [&'static str; 3] = ["TLSv1.3", "TLSv1.2", "TLS"];

    /// The protocol of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "TLSv1.3" => Some(Self::Tls13),
            "TLSv1.2" => Some(Self::Tls12),
            "TLS" => Some(Self::Either),
            _ => None,
        }
    }

    pub(crate) fn versions(self) -> &'static [&'static SupportedProtocolVersion] {
        static NEW: [&SupportedProtocolVersion; 1] = [&TLS13];
        static OLD: [&SupportedProtocolVersion; 1] = [&TLS12];
        static EITHER: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
        match self {
            Self::Tls13 => &NEW,
            Self::Tls12 => &OLD,
            Self::Either => &EITHER,
        }
    }
}

/// A cipher suite: one of `spark.ssl.rpc.enabledAlgorithms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suite(usize);

/// All that there are, in the order in which they are preferred.
const SUITES: [(&str, SupportedCipherSuite); 9] = [
    ("TLS_AES_256_GCM_SHA384", ring::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", ring::TLS13_AES_128_GCM_SHA256),
    (
        "TLS_CHACHA20_POLY1305_SHA256",
        ring::TLS13_CHACHA20_POLY1305_SHA256,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        ring::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        ring::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        ring::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    (
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        ring::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ),
    (
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        ring::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ),
    (
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        ring::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
];

impl Suite {
    /// All suites that there are.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..SUITES.len()).map(Self)
    }

    /// The suite that Java calls so.
    pub fn named(name: &str) -> Option<Self> {
        SUITES.iter().position(|(own, _)| *own == name).map(Self)
    }

    /// Java's name.
    pub fn name(self) -> &'static str {
        SUITES.get(self.0).map_or("", |(name, _)| name)
    }

    pub(crate) fn of_rustls(self) -> Option<SupportedCipherSuite> {
        SUITES.get(self.0).map(|(_, suite)| *suite)
    }

    /// Whether connections of that protocol can have it.
    pub fn goes_with(self, protocol: Protocol) -> bool {
        let versions = protocol.versions();
        self.of_rustls()
            .is_some_and(|suite| versions.iter().any(|version| *version == suite.version()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_java() {
        for suite in Suite::all() {
            assert_eq!(Suite::named(suite.name()), Some(suite));
            // The library calls those of TLS 1.3 otherwise.
            let own = format!("{:?}", suite.of_rustls().unwrap().suite());
            assert_eq!(own.replacen("TLS13_", "TLS_", 1), suite.name());
        }
        assert_eq!(Suite::named("TLS_RSA_WITH_AES_128_CBC_SHA"), None);
        for name in Protocol::NAMES {
            assert!(Protocol::named(name).is_some());
        }
        assert_eq!(Protocol::named("TLSv1.1"), None);
        let all = rustls::crypto::ring::ALL_CIPHER_SUITES;
        assert_eq!(all.len(), Suite::all().count());
    }

    #[test]
    fn suites_go_with_their_protocol() {
        let (old, new) = (
            Suite::named("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256").unwrap(),
            Suite::named("TLS_AES_128_GCM_SHA256").unwrap(),
        );
        assert!(old.goes_with(Protocol::Tls12) && !old.goes_with(Protocol::Tls13));
        assert!(new.goes_with(Protocol::Tls13) && !new.goes_with(Protocol::Tls12));
        assert!(old.goes_with(Protocol::Either) && new.goes_with(Protocol::Either));
    }
}
