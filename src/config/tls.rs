//! TLS for control messages, files and blocks: `spark.ssl.rpc.*`, which Spark has since version 4.0.

use std::time::Duration;

use tls::{Protocol, Suite};

use super::declared::{self, Property, Text};
use super::{SettingError, SparkProperties};

/// What `spark.ssl.rpc.*` say, with `spark.ssl.*` where they say nothing; passwords are looked for elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The versions of TLS.
    pub protocol: Protocol,
    /// The ciphers; all that there are if it is empty.
    pub suites: Vec<Suite>,
    /// Whether there have to be files in PEM, and no key store.
    pub open_ssl: bool,
    /// The key store.
    pub key_store: Option<String>,
    /// The private key in PEM.
    pub private_key: Option<String>,
    /// The certificates in PEM.
    pub cert_chain: Option<String>,
    /// The trust store.
    pub trust_store: Option<String>,
    /// How often the trust store is looked at again, if it is.
    pub reload: Option<Duration>,
}

impl TlsSettings {
    /// Reads the settings; `None` if connections are not inside TLS. Files are not looked at.
    ///
    /// # Errors
    /// [`SettingError`]: a value is wrong, or names something that is not there.
    pub fn new(conf: &SparkProperties) -> Result<Option<Self>, SettingError> {
        if !conf.switch(&declared::SSL_RPC_ENABLED)? {
            return Ok(None);
        }
        if conf.switch(&declared::NETWORK_CRYPTO_ENABLED)? {
            return Err(SettingError::Unsupported {
                key: declared::NETWORK_CRYPTO_ENABLED.key.to_owned(),
                value: format!("true with {}=true", declared::SSL_RPC_ENABLED.key),
                cure: "remove it: TLS encrypts already".to_owned(),
            });
        }
        let conf = &with_general(conf)?;
        let text = |property: &Property<Text>| conf.get(property.key);
        // Spark does not resolve references in names of files in PEM.
        let raw = |property: &Property<Text>| conf.raw(property.key).map(str::to_owned);
        let reloads = conf.switch(&declared::SSL_RPC_TRUST_STORE_RELOADING)?;
        let interval: u64 = conf.number(&declared::SSL_RPC_TRUST_STORE_INTERVAL)?;
        let settings = Self {
            protocol: protocol(text(&declared::SSL_RPC_PROTOCOL))?,
            suites: suites(text(&declared::SSL_RPC_ALGORITHMS))?,
            open_ssl: conf.switch(&declared::SSL_RPC_OPEN_SSL)?,
            key_store: text(&declared::SSL_RPC_KEY_STORE),
            private_key: raw(&declared::SSL_RPC_PRIVATE_KEY),
            cert_chain: raw(&declared::SSL_RPC_CERT_CHAIN),
            trust_store: text(&declared::SSL_RPC_TRUST_STORE),
            reload: reloads.then(|| Duration::from_millis(interval)),
        };
        settings.check_ciphers()?;
        Ok(Some(settings))
    }

    fn check_ciphers(&self) -> Result<(), SettingError> {
        let mut suites = self.suites.iter();
        if self.suites.is_empty() || suites.any(|suite| suite.goes_with(self.protocol)) {
            return Ok(());
        }
        let message = format!(
            "{} names no cipher that connections can have with {}; name one of {}",
            declared::SSL_RPC_ALGORITHMS.key,
            declared::SSL_RPC_PROTOCOL.key,
            names(Suite::all().filter(|suite| suite.goes_with(self.protocol)))
        );
        Err(SettingError::Conflict { message })
    }
}

/// The properties with those of `spark.ssl.*` under the names of `spark.ssl.rpc.*` where these are not set. Spark reads
/// none of them unless `spark.ssl.enabled` is true, and does not turn TLS on for that.
///
/// # Errors
/// `spark.ssl.enabled` is neither true nor false.
pub fn with_general(conf: &SparkProperties) -> Result<SparkProperties, SettingError> {
    const PREFIX: &str = "spark.ssl.";
    let mut all = conf.clone();
    if conf.switch(&declared::SSL_ENABLED)? {
        for (key, value) in conf.iter() {
            let name = key.strip_prefix(PREFIX).filter(|name| !name.contains('.'));
            if let Some(own) = name.map(|name| format!("{PREFIX}rpc.{name}"))
                && !conf.contains(&own)
            {
                all.set(own, value);
            }
        }
    }
    Ok(all)
}

fn protocol(name: Option<String>) -> Result<Protocol, SettingError> {
    let Some(name) = name else {
        return Ok(Protocol::default());
    };
    Protocol::named(&name).ok_or_else(|| SettingError::Unsupported {
        key: declared::SSL_RPC_PROTOCOL.key.to_owned(),
        value: name,
        cure: format!("use one of {}", Protocol::NAMES.join(", ")),
    })
}

/// The ciphers that are named, without those that are not there: both ends choose one that both have.
fn suites(list: Option<String>) -> Result<Vec<Suite>, SettingError> {
    let list = list.unwrap_or_default();
    let named = list.split(',').map(str::trim);
    let named: Vec<_> = named.filter(|name| !name.is_empty()).collect();
    let found: Vec<_> = named.iter().filter_map(|name| Suite::named(name)).collect();
    match found.is_empty() && !named.is_empty() {
        true => Err(SettingError::Unsupported {
            key: declared::SSL_RPC_ALGORITHMS.key.to_owned(),
            value: list.clone(),
            cure: format!("name one of {}", names(Suite::all())),
        }),
        false => Ok(found),
    }
}

fn names(suites: impl Iterator<Item = Suite>) -> String {
    suites.map(Suite::name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Option<TlsSettings>, SettingError> {
        TlsSettings::new(&SparkProperties::from_launch(pairs.iter().copied(), []))
    }

    const ON: (&str, &str) = ("spark.ssl.rpc.enabled", "true");

    #[test]
    fn the_settings_are_those_of_rpc_and_behind_them_the_general_ones() {
        let general = [
            ("spark.ssl.keyStore", "general"),
            ("spark.ssl.protocol", "TLSv1.2"),
            ("spark.ssl.trustStore", "trusted"),
            ("spark.ssl.ui.keyStore", "of the pages"),
        ];
        assert_eq!(of(&general), Ok(None));
        let all = ("spark.ssl.enabled", "true");
        assert_eq!(of(&[all]), Ok(None), "this does not turn it on");
        let own = ("spark.ssl.rpc.keyStore", "own");
        let alone = of(&[&general[..], &[ON, own]].concat()).unwrap().unwrap();
        assert_eq!(alone.key_store.as_deref(), Some("own"));
        assert_eq!((alone.trust_store, alone.protocol), (None, Protocol::Tls13));
        let both = of(&[&general[..], &[ON, own, all]].concat());
        let both = both.unwrap().unwrap();
        assert_eq!(both.key_store.as_deref(), Some("own"));
        assert_eq!(both.trust_store.as_deref(), Some("trusted"));
        assert_eq!((both.protocol, both.reload), (Protocol::Tls12, None));
        let reloading = ("spark.ssl.rpc.trustStoreReloadingEnabled", "true");
        let reload = of(&[ON, reloading]).unwrap().unwrap().reload;
        assert_eq!(reload, Some(Duration::from_secs(10)));
    }

    #[test]
    fn ciphers_are_those_that_are_there() {
        let key = "spark.ssl.rpc.enabledAlgorithms";
        let some = (key, "TLS_AES_128_GCM_SHA256 , TLS_RSA_WITH_AES_128_CBC_SHA");
        let names = of(&[ON, some]).unwrap().unwrap().suites;
        assert_eq!(names, [Suite::named("TLS_AES_128_GCM_SHA256").unwrap()]);
        assert!(of(&[ON, (key, " ")]).unwrap().unwrap().suites.is_empty());
    }

    #[test]
    fn what_is_not_there_is_refused_by_name() {
        let old = (
            "spark.ssl.rpc.enabledAlgorithms",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        );
        let cases: [(&[_], &str); 5] = [
            (
                &[("spark.network.crypto.enabled", "true")],
                "spark.network.crypto.enabled=true with spark.ssl.rpc.enabled=true is not supported by Firesteel yet; \
                 remove it",
            ),
            (
                &[("spark.ssl.rpc.protocol", "TLSv1.1")],
                "spark.ssl.rpc.protocol=TLSv1.1 is not supported by Firesteel yet; use one of TLSv1.3, TLSv1.2, TLS",
            ),
            (
                &[(
                    "spark.ssl.rpc.enabledAlgorithms",
                    "TLS_RSA_WITH_AES_128_CBC_SHA",
                )],
                "spark.ssl.rpc.enabledAlgorithms=TLS_RSA_WITH_AES_128_CBC_SHA is not supported by Firesteel yet; name",
            ),
            (
                &[old],
                "spark.ssl.rpc.enabledAlgorithms names no cipher that connections can have with spark.ssl.rpc.protocol; \
                 name one of TLS_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256, TLS_CHACHA20_POLY1305_SHA256",
            ),
            (
                &[("spark.ssl.rpc.trustStoreReloadIntervalMs", "-1")],
                "spark.ssl.rpc.trustStoreReloadIntervalMs should be a number between",
            ),
        ];
        for (pairs, begin) in cases {
            let message = of(&[&[ON], pairs].concat()).unwrap_err().to_string();
            assert!(message.starts_with(begin), "{message}");
        }
        let either = ("spark.ssl.rpc.protocol", "TLS");
        assert!(of(&[ON, old, either]).is_ok());
    }
}
