//! Files from web servers, with the rules of `java.net.URLConnection` as Spark uses it.

use std::io::{self, Read};
use std::time::Duration;

use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Timeout};

use crate::cancel::{Cancellation, HookGuard};
use crate::executor::task::TaskError;

/// Redirects that are followed, as in the JDK.
const REDIRECTS: u32 = 20;

/// A file while it arrives. The connection is closed when the task is killed, so that no read waits on.
pub(super) struct Download {
    body: Body,
    url: String,
    cancellation: Cancellation,
    _hook: HookGuard,
}

/// Asks for `url`, without a proxy. `timeout` is the longest time to connect, and to wait for anything to arrive.
///
/// Certificates are checked against those of the machine, not of the JDK: if that fails, the JVM is given a chance.
///
/// # Errors
/// As Java's exceptions; [`TaskError::BailOut`] if no trust could be established.
pub(super) fn open(
    url: &str,
    timeout: Duration,
    cancellation: &Cancellation,
) -> Result<Download, TaskError> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .build();
    let timeout = (!timeout.is_zero()).then_some(timeout);
    let config = Agent::config_builder()
        .proxy(None)
        .tls_config(tls)
        .max_redirects(REDIRECTS)
        .http_status_as_error(false)
        .timeout_connect(timeout)
        .timeout_per_read(timeout)
        .timeout_per_write(timeout)
        .build();
    let agent = Agent::new_with_config(config);
    let hook = cancellation.on_cancel({
        let agent = agent.clone();
        move |_| agent.shutdown()
    });
    let response = agent
        .get(url)
        .call()
        .map_err(|error| failure(url, error, cancellation))?;
    let status = response.status().as_u16();
    match status {
        404 | 410 => return Err(TaskError::exception("java.io.FileNotFoundException", url)),
        400.. => {
            return Err(TaskError::io(format!(
                "Server returned HTTP response code: {status} for URL: {url}"
            )));
        }
        _ => {}
    }
    Ok(Download {
        body: response.into_body(),
        url: url.to_owned(),
        cancellation: cancellation.clone(),
        _hook: hook,
    })
}

impl Download {
    /// Reads like [`Read::read`].
    pub(super) fn read(&mut self, buf: &mut [u8]) -> Result<usize, TaskError> {
        let read = self.body.as_reader().read(buf);
        read.map_err(|error| failure(&self.url, error.into(), &self.cancellation))
    }
}

fn failure(url: &str, error: ureq::Error, cancellation: &Cancellation) -> TaskError {
    if let Some(reason) = cancellation.reason() {
        return TaskError::Killed(reason);
    }
    match error {
        ureq::Error::Timeout(Timeout::Connect) => {
            TaskError::exception("java.net.SocketTimeoutException", "Connect timed out")
        }
        ureq::Error::Timeout(_) => {
            TaskError::exception("java.net.SocketTimeoutException", "Read timed out")
        }
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => untrusted(),
        // So the errors of a TLS handshake arrive.
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => untrusted(),
        error => TaskError::io(format!("{url}: {error}")),
    }
}

fn untrusted() -> TaskError {
    TaskError::BailOut(
        "files of scheme https with certificates the machine does not trust".to_owned(),
    )
}
