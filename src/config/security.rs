//! How connections are authenticated and encrypted.

use std::time::Duration;

use auth::{Cipher, Crypto, EngineVersion, Protocol};

use super::declared::{self, AES_CTR, AES_GCM};
use super::{SettingError, SparkProperties};

/// What both ends of a connection do before anything else is said on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionSecurity {
    /// Which protocols are spoken.
    pub protocol: Protocol,
    /// How long each answer may take: `spark.network.auth.rpcTimeout`.
    pub timeout: Duration,
}

impl ConnectionSecurity {
    /// Reads the settings; `None` if connections are not authenticated.
    ///
    /// # Errors
    /// [`SettingError`]: a value is wrong, or there is encryption without authentication.
    pub fn new(conf: &SparkProperties) -> Result<Option<Self>, SettingError> {
        let encrypted = conf.switch(&declared::NETWORK_CRYPTO_ENABLED)?;
        let crypto = Crypto {
            version: match conf.number::<u8>(&declared::CRYPTO_ENGINE_VERSION)? {
                1 => EngineVersion::V1,
                _ => EngineVersion::V2,
            },
            cipher: cipher(conf)?,
        };
        let security = Self {
            protocol: Protocol {
                crypto: encrypted.then_some(crypto),
                sasl_fallback: conf.switch(&declared::CRYPTO_SASL_FALLBACK)?,
            },
            timeout: conf.time(&declared::AUTH_RPC_TIMEOUT)?,
        };
        if conf.switch(&declared::AUTHENTICATE)? {
            return Ok(Some(security));
        }
        if encrypted {
            let message = format!(
                "{} must be enabled when enabling encryption ({}=true)",
                declared::AUTHENTICATE.key,
                declared::NETWORK_CRYPTO_ENABLED.key
            );
            return Err(SettingError::Conflict { message });
        }
        Ok(None)
    }
}

fn cipher(conf: &SparkProperties) -> Result<Cipher, SettingError> {
    let name = conf.text(&declared::CRYPTO_CIPHER);
    match name.as_str() {
        AES_CTR => Ok(Cipher::Ctr),
        AES_GCM => Ok(Cipher::Gcm),
        _ => Err(SettingError::Unsupported {
            key: declared::CRYPTO_CIPHER.key.to_owned(),
            value: name,
            cure: format!("use {AES_CTR} or {AES_GCM}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::refuse_unsupported;

    fn conf(pairs: &[(&str, &str)]) -> SparkProperties {
        SparkProperties::from_launch(pairs.iter().copied(), [])
    }

    fn of(pairs: &[(&str, &str)]) -> Result<Option<ConnectionSecurity>, SettingError> {
        ConnectionSecurity::new(&conf(pairs))
    }

    const ON: (&str, &str) = ("spark.authenticate", "true");
    const CRYPTO: (&str, &str) = ("spark.network.crypto.enabled", "true");

    #[test]
    fn the_protocol_is_what_the_settings_say() {
        assert_eq!(of(&[]), Ok(None));
        let sasl = of(&[ON]).unwrap().unwrap();
        assert_eq!(sasl.protocol.crypto, None);
        assert_eq!(sasl.timeout, Duration::from_secs(30));
        let crypto = of(&[ON, CRYPTO]).unwrap().unwrap().protocol;
        let expected = Crypto {
            version: EngineVersion::V1,
            cipher: Cipher::Ctr,
        };
        assert_eq!(
            (crypto.crypto, crypto.sasl_fallback),
            (Some(expected), true)
        );
        let other = of(&[
            ON,
            CRYPTO,
            ("spark.network.crypto.cipher", "AES/GCM/NoPadding"),
            ("spark.network.crypto.authEngineVersion", "2"),
            ("spark.network.crypto.saslFallback", "false"),
            ("spark.network.auth.rpcTimeout", "5s"),
        ]);
        let other = other.unwrap().unwrap();
        let expected = Crypto {
            version: EngineVersion::V2,
            cipher: Cipher::Gcm,
        };
        assert_eq!(other.protocol.crypto, Some(expected));
        assert!(!other.protocol.sasl_fallback);
        assert_eq!(other.timeout, Duration::from_secs(5));
    }

    #[test]
    fn what_is_not_there_is_refused_by_name() {
        let cases: [(&[_], &str); 5] = [
            (&[CRYPTO], "spark.authenticate must be enabled"),
            (
                &[ON, CRYPTO, ("spark.network.crypto.cipher", "AES/CBC")],
                "spark.network.crypto.cipher=AES/CBC is not supported by Firesteel yet; use AES/CTR",
            ),
            (
                &[ON, ("spark.network.crypto.authEngineVersion", "3")],
                "spark.network.crypto.authEngineVersion should be a number between 1 and 2",
            ),
            (
                &[ON, ("spark.authenticate.enableSaslEncryption", "true")],
                "spark.authenticate.enableSaslEncryption=true is not supported by Firesteel yet; remove it and set \
                 spark.network.crypto.enabled=true",
            ),
            (
                &[ON, ("spark.network.sasl.serverAlwaysEncrypt", "true")],
                "spark.network.sasl.serverAlwaysEncrypt=true is not supported",
            ),
        ];
        for (pairs, begin) in cases {
            let message = refuse_unsupported(&conf(pairs)).unwrap_err().to_string();
            assert!(message.starts_with(begin), "{message}");
        }
        let unused = conf(&[("spark.network.sasl.serverAlwaysEncrypt", "true")]);
        assert_eq!(refuse_unsupported(&unused), Ok(()));
    }
}
