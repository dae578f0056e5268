//! The keys of connections inside TLS: which files they are in, and where their passwords are.

use std::path::{Path, PathBuf};

use tls::{Context, Keys, Password, Settings, Source, TlsError, TrustStore};

use crate::config::declared::{self, Property, Text};
use crate::config::{SettingError, SparkProperties, TlsSettings, with_general};

/// The passwords, each with the variable by which a Standalone worker tells it an executor.
const PASSWORDS: [(&Property<Text>, &str); 4] = [
    (
        &declared::SSL_RPC_KEY_STORE_PASSWORD,
        "_SPARK_SSL_RPC_KEY_STORE_PASSWORD",
    ),
    (
        &declared::SSL_RPC_KEY_PASSWORD,
        "_SPARK_SSL_RPC_KEY_PASSWORD",
    ),
    (
        &declared::SSL_RPC_TRUST_STORE_PASSWORD,
        "_SPARK_SSL_RPC_TRUST_STORE_PASSWORD",
    ),
    (
        &declared::SSL_RPC_PRIVATE_KEY_PASSWORD,
        "_SPARK_SSL_RPC_PRIVATE_KEY_PASSWORD",
    ),
];

/// Variables with passwords.
pub(super) fn password_variables() -> impl Iterator<Item = &'static str> {
    PASSWORDS.into_iter().map(|(_, variable)| variable)
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A setting is wrong.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A file is not there that must be.
    #[error(
        "RPC SSL encryption enabled but keys not found! {} is true, and {key} {what}; with {}=true files in PEM are \
         needed ({} and {}), else a key store ({})",
        declared::SSL_RPC_ENABLED.key,
        declared::SSL_RPC_OPEN_SSL.key,
        declared::SSL_RPC_PRIVATE_KEY.key,
        declared::SSL_RPC_CERT_CHAIN.key,
        declared::SSL_RPC_KEY_STORE.key
    )]
    Missing {
        /// The setting with the file's name.
        key: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// A file or the ciphers cannot be used.
    #[error("{key}: {why}{hint}")]
    Unusable {
        /// The setting to look at.
        key: &'static str,
        /// Why.
        why: TlsError,
        /// Where the password should be.
        hint: String,
    },
}

/// Makes what connections are opened and accepted with; `None` if they are not inside TLS.
///
/// # Errors
/// [`KeysError`]
pub fn find(
    properties: &SparkProperties,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Option<Context>, KeysError> {
    let Some(settings) = TlsSettings::new(properties)? else {
        return Ok(None);
    };
    check_files(&settings)?;
    let general = with_general(properties)?;
    let password = |property: &Property<Text>| {
        let own = properties.get(property.key);
        let variable = || {
            let (_, variable) = PASSWORDS.iter().find(|(of, _)| of.key == property.key)?;
            env(variable).filter(|text| !text.trim().is_empty())
        };
        let found = own.or_else(variable).or_else(|| general.get(property.key));
        found.map(Password::new)
    };
    let settings = Settings {
        keys: keys(&settings, password),
        protocol: settings.protocol,
        suites: settings.suites,
    };
    Context::new(&settings).map(Some).map_err(unusable)
}

/// As Spark: one kind of files must be there, and files in PEM are taken if both are named.
fn check_files(settings: &TlsSettings) -> Result<(), KeysError> {
    let wanted: &[_] = match settings.open_ssl {
        true => &[
            (&declared::SSL_RPC_PRIVATE_KEY, &settings.private_key),
            (&declared::SSL_RPC_CERT_CHAIN, &settings.cert_chain),
        ],
        false => &[(&declared::SSL_RPC_KEY_STORE, &settings.key_store)],
    };
    for (property, path) in wanted {
        let what = match path {
            Some(path) if Path::new(path).exists() => continue,
            Some(path) => format!("names {path}, which does not exist"),
            None => "is not set".to_owned(),
        };
        let key = property.key;
        return Err(KeysError::Missing { key, what });
    }
    Ok(())
}

fn keys(settings: &TlsSettings, password: impl Fn(&Property<Text>) -> Option<Password>) -> Keys {
    if let (Some(key), Some(chain)) = (&settings.private_key, &settings.cert_chain) {
        return Keys::Pem {
            key: key.into(),
            password: password(&declared::SSL_RPC_PRIVATE_KEY_PASSWORD),
            chain: chain.into(),
        };
    }
    let trust = settings.trust_store.as_ref().map(PathBuf::from);
    // As Spark: a trust store that is not there is as if it were not named.
    let trust = trust.filter(|path| {
        let exists = path.exists();
        if !exists {
            tracing::warn!(
                "{} names {}, which does not exist: every certificate is accepted",
                declared::SSL_RPC_TRUST_STORE.key,
                path.display()
            );
        }
        exists
    });
    Keys::Store {
        path: settings.key_store.clone().unwrap_or_default().into(),
        password: password(&declared::SSL_RPC_KEY_STORE_PASSWORD),
        key_password: password(&declared::SSL_RPC_KEY_PASSWORD),
        trust: trust.map(|path| TrustStore {
            path,
            password: password(&declared::SSL_RPC_TRUST_STORE_PASSWORD),
            reload: settings.reload,
        }),
    }
}

fn unusable(why: TlsError) -> KeysError {
    let (key, password) = match &why {
        TlsError::Ciphers(_) => (declared::SSL_RPC_ALGORITHMS.key, None),
        TlsError::File { source_of, .. } => match source_of {
            Source::KeyStore => (
                declared::SSL_RPC_KEY_STORE.key,
                Some(&declared::SSL_RPC_KEY_STORE_PASSWORD),
            ),
            Source::TrustStore => (
                declared::SSL_RPC_TRUST_STORE.key,
                Some(&declared::SSL_RPC_TRUST_STORE_PASSWORD),
            ),
            Source::PrivateKey => (
                declared::SSL_RPC_PRIVATE_KEY.key,
                Some(&declared::SSL_RPC_PRIVATE_KEY_PASSWORD),
            ),
            Source::CertChain => (declared::SSL_RPC_CERT_CHAIN.key, None),
        },
    };
    let names = PASSWORDS.iter();
    let mut names = names.filter(|(of, _)| password.is_some_and(|one| one.key == of.key));
    let hint = names.next().map(|(property, variable)| {
        format!(
            " (its password is that of the environment, {variable}, or of {})",
            property.key
        )
    });
    KeysError::Unusable {
        key,
        why,
        hint: hint.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores that keytool of JDK 17 wrote.
    fn fixture(name: &str) -> String {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/tls/fixtures");
        dir.join(name).display().to_string()
    }

    fn found(pairs: &[(&str, &str)], env: &[(&str, &str)]) -> Result<Option<Context>, KeysError> {
        let on = [("spark.ssl.rpc.enabled", "true")];
        let pairs = pairs.iter().copied().chain(on);
        find(&SparkProperties::from_launch(pairs, []), |name| {
            let found = env.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn passwords_are_in_the_settings_or_in_the_environment() {
        let off = SparkProperties::from_launch([], []);
        assert!(find(&off, |_| None).unwrap().is_none());
        let (rsa, trust) = (fixture("rsa.jks"), fixture("trust.p12"));
        let files = [
            ("spark.ssl.rpc.keyStore", rsa.as_str()),
            ("spark.ssl.rpc.trustStore", trust.as_str()),
        ];
        let variables = [
            ("_SPARK_SSL_RPC_KEY_STORE_PASSWORD", "changeit"),
            ("_SPARK_SSL_RPC_KEY_PASSWORD", "another"),
            ("_SPARK_SSL_RPC_TRUST_STORE_PASSWORD", "changeit"),
        ];
        assert!(found(&files, &variables).unwrap().is_some());
        let settings = [
            ("spark.ssl.rpc.keyStorePassword", "changeit"),
            ("spark.ssl.rpc.keyPassword", "another"),
            ("spark.ssl.rpc.trustStorePassword", "changeit"),
        ];
        let all = [&files[..], &settings].concat();
        assert!(found(&all, &[]).unwrap().is_some());
        let wrong = variables.map(|(name, _)| (name, "wrong"));
        assert!(found(&all, &wrong).unwrap().is_some(), "settings win");
        assert_eq!(password_variables().count(), 4);
    }

    #[test]
    fn files_in_pem_need_no_store() {
        let (key, chain) = (fixture("encrypted.pem"), fixture("cert.pem"));
        let pairs = [
            ("spark.ssl.rpc.openSslEnabled", "true"),
            ("spark.ssl.rpc.privateKey", key.as_str()),
            ("spark.ssl.rpc.certChain", chain.as_str()),
            ("spark.ssl.rpc.privateKeyPassword", "changeit"),
        ];
        assert!(found(&pairs, &[]).unwrap().is_some());
    }

    #[test]
    fn what_is_missing_or_wrong_is_said_without_the_password() {
        let (rsa, absent) = (fixture("rsa.jks"), fixture("absent"));
        let password = ("spark.ssl.rpc.keyStorePassword", "do-not-print-me");
        let store = "spark.ssl.rpc.keyStore";
        let cases: [(&[_], &str); 4] = [
            (&[], "and spark.ssl.rpc.keyStore is not set; with"),
            (&[(store, absent.as_str())], "absent, which does not exist"),
            (
                &[
                    (store, rsa.as_str()),
                    ("spark.ssl.rpc.openSslEnabled", "true"),
                ],
                "and spark.ssl.rpc.privateKey is not set",
            ),
            (
                &[(store, rsa.as_str()), password],
                "rsa.jks cannot be used: its password is another one, or it was changed (its password is that of the \
                 environment, _SPARK_SSL_RPC_KEY_STORE_PASSWORD, or of spark.ssl.rpc.keyStorePassword)",
            ),
        ];
        for (pairs, words) in cases {
            let message = found(pairs, &[]).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
            assert!(message.contains("spark.ssl.rpc"));
            assert!(!message.contains("do-not-print-me"));
        }
    }
}
