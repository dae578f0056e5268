//! The first words with the driver: the connection, asks, and what is said of a driver that does not answer as it
//! should.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tracing::warn;
use wire::WireError;
use wire::envelope::RpcAddress;

use super::super::driver_link::failure_text;
use super::super::error::ExecutorError;
use crate::config::declared::CRYPTO_CIPHER;
use crate::launch::DriverUrl;
use crate::rpc::{DriverEndpoint, Event, RpcConf};
use crate::transport::{AskError, AuthenticationError, TlsError};

/// How often a first connection is tried; Kubernetes sets `EXECUTOR_DRIVER_PROPS_FETCHER_MAX_ATTEMPTS`.
const CONNECTION_ATTEMPTS: u32 = 3;
/// Pause between attempts.
const ATTEMPT_PAUSE: Duration = Duration::from_secs(1);

/// What a JVM answers when it cannot deserialize a message.
const FOREIGN: [&str; 4] = [
    "InvalidClassException",
    "ClassNotFoundException",
    "StreamCorruptedException",
    "ClassCastException",
];

/// What a driver answers that expected to be told who is there, and what is said of a connection with two ciphers.
const DISTRUST: [&str; 3] = [
    "Expected SaslMessage",
    "Unknown challenge message",
    CRYPTO_CIPHER.key,
];

/// Whether a connection failed because the other end was not who it should be.
fn is_distrust(error: &io::Error) -> bool {
    let denied = error.kind() == io::ErrorKind::PermissionDenied;
    let inside = error.get_ref().filter(|_| denied);
    inside.is_some_and(|error| error.is::<AuthenticationError>() || error.is::<TlsError>())
}

/// A driver that the executor is not registered with yet.
pub(super) struct Contact {
    /// The connection.
    pub(super) endpoint: DriverEndpoint,
    /// `host:port`, for error messages.
    name: String,
    /// Version of the executor's distribution, for error messages.
    spark_version: String,
}

impl Contact {
    /// Connects to the driver, a few times if that fails.
    ///
    /// # Errors
    /// There is nobody, or somebody else.
    pub(super) async fn connect(
        url: &DriverUrl,
        conf: &RpcConf,
        spark_version: &str,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Event>), ExecutorError> {
        let name = format!("{}:{}", url.host, url.port);
        let attempts = std::env::var("EXECUTOR_DRIVER_PROPS_FETCHER_MAX_ATTEMPTS")
            .ok()
            .and_then(|n| n.parse().ok())
            .unwrap_or(CONNECTION_ATTEMPTS)
            .max(1);
        let mut attempt = 1;
        loop {
            let address = RpcAddress {
                host: url.socket_host().to_owned(),
                port: i32::from(url.port),
            };
            match DriverEndpoint::connect(address, conf).await {
                Ok((endpoint, events)) => {
                    let contact = Self {
                        endpoint,
                        name,
                        spark_version: spark_version.to_owned(),
                    };
                    return Ok((contact, events));
                }
                Err(why) if is_distrust(&why) => {
                    let why = why.to_string();
                    return Err(ExecutorError::Authentication { driver: name, why });
                }
                Err(why) if attempt >= attempts => {
                    return Err(ExecutorError::DriverUnreachable {
                        driver: name,
                        host: url.host.clone(),
                        why: why.to_string(),
                    });
                }
                Err(why) => {
                    warn!(target: "CoarseGrainedExecutorBackend", "Cannot connect to the driver at {name} (attempt {attempt} of {attempts}): {why}");
                    attempt += 1;
                    tokio::time::sleep(ATTEMPT_PAUSE).await;
                }
            }
        }
    }

    /// Asks an endpoint of the driver.
    ///
    /// # Errors
    /// The question cannot be written, or there is no answer.
    pub(super) async fn ask(
        &self,
        message: &'static str,
        endpoint: &'static str,
        content: Result<Vec<u8>, WireError>,
        timeout: Duration,
    ) -> Result<Bytes, ExecutorError> {
        let content = content.map_err(|why| self.unsupported(&why))?;
        self.endpoint
            .ask(endpoint, content.into(), timeout)
            .await
            .map_err(|why| self.no_answer(message, &why))
    }

    /// A message cannot be written with the distribution's classes.
    pub(super) fn unsupported(&self, why: &WireError) -> ExecutorError {
        ExecutorError::Unsupported {
            version: self.spark_version.clone(),
            why: why.to_string(),
        }
    }

    fn no_answer(&self, what: &'static str, why: &AskError) -> ExecutorError {
        let text = why.to_string();
        let line = text.lines().next().unwrap_or_default().to_owned();
        if matches!(why, AskError::RpcFailure(_))
            && FOREIGN.iter().any(|class| text.contains(class))
        {
            return ExecutorError::DriverOfAnotherVersion {
                driver: self.name.clone(),
                version: self.spark_version.clone(),
                why: line,
            };
        }
        if DISTRUST.iter().any(|words| text.contains(words)) {
            return ExecutorError::Authentication {
                driver: self.name.clone(),
                why: format!(
                    "{line}: check that spark.authenticate, spark.authenticate.secret and spark.network.crypto.* are the \
                     same for both"
                ),
            };
        }
        ExecutorError::NoAnswer {
            driver: self.name.clone(),
            what,
            why: line,
        }
    }

    /// The driver's answer cannot be read, or says no.
    pub(super) fn refused(
        &self,
        what: &'static str,
        body: &Bytes,
        why: &WireError,
    ) -> ExecutorError {
        self.refused_with(what, failure_text(body, why))
    }

    /// As [`Contact::refused`], for a reason of our own.
    pub(super) fn refused_with(&self, what: &'static str, why: String) -> ExecutorError {
        ExecutorError::Refused {
            driver: self.name.clone(),
            what,
            why,
        }
    }
}
