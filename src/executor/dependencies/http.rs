//! Files from web servers, with the rules of `java.net.URLConnection` as Spark uses it.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};

use crate::files::http_client;
use crate::task::TaskError;

/// Redirects that are followed, as in the JDK.
const REDIRECTS: usize = 20;

/// Writes what is at `url` to a file, without a proxy. `timeout` is the longest time to connect, and to wait for
/// anything to arrive; zero is for ever. Whoever drops this closes the connection.
///
/// Certificates are checked against those of the machine, not of the JDK: if that fails, the JVM is given a chance.
///
/// # Errors
/// As Java's exceptions; [`TaskError::BailOut`] if no trust could be established.
pub(super) async fn download(
    url: &str,
    timeout: Duration,
    mut file: File,
) -> Result<(), TaskError> {
    let failed = |error: reqwest::Error| failure(url, &error);
    let request = client(url, timeout).map_err(failed)?.get(url);
    let mut response = request.send().await.map_err(failed)?;
    match response.status().as_u16() {
        404 | 410 => return Err(TaskError::exception("java.io.FileNotFoundException", url)),
        status @ 400.. => {
            return Err(TaskError::io(format!(
                "Server returned HTTP response code: {status} for URL: {url}"
            )));
        }
        _ => {}
    }
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        // The runtime's thread that waits here is this one alone.
        file.write_all(&piece)?;
    }
    Ok(())
}

/// What asks for `url`. From a server that proved who it is nobody is sent to one that does not: such a redirect is
/// refused.
fn client(url: &str, timeout: Duration) -> reqwest::Result<reqwest::Client> {
    let is_secure = url
        .get(..8)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    let redirects = move |attempt: Attempt<'_>| {
        if attempt.previous().len() > REDIRECTS {
            attempt.error("redirected too many times")
        } else if is_secure && attempt.url().scheme() != "https" {
            attempt.error("redirected from https to another protocol")
        } else {
            attempt.follow()
        }
    };
    let mut client = http_client()
        .https_only(is_secure)
        .redirect(Policy::custom(redirects));
    if !timeout.is_zero() {
        client = client.connect_timeout(timeout).read_timeout(timeout);
    }
    client.build()
}

fn failure(url: &str, error: &reqwest::Error) -> TaskError {
    if error.is_timeout() {
        let text = match error.is_connect() {
            true => "Connect timed out",
            false => "Read timed out",
        };
        return TaskError::exception("java.net.SocketTimeoutException", text);
    }
    if is_of_tls(error) {
        return TaskError::BailOut(
            "files of scheme https with certificates the machine does not trust".to_owned(),
        );
    }
    // The last cause says what happened; those before it that something did.
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    TaskError::io(format!("{url}: {cause}"))
}

/// Whether a handshake failed.
fn is_of_tls(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = cause {
        let is_tls = match error.downcast_ref::<io::Error>() {
            Some(io) => io
                .get_ref()
                .is_some_and(|inner| inner.is::<rustls::Error>()),
            None => error.is::<rustls::Error>(),
        };
        if is_tls {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    use super::*;

    /// A server that gives each of these answers once, and where it is.
    fn serve(answers: &'static [&'static str]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut connection, _) = listener.accept().unwrap();
                let request = BufReader::new(connection.try_clone().unwrap());
                let last = request
                    .lines()
                    .find(|line| line.as_ref().unwrap().is_empty());
                assert!(last.is_some(), "a whole request");
                connection.write_all(answer.as_bytes()).unwrap();
            }
        });
        format!("http://{place}/x")
    }

    async fn text(url: &str) -> Result<String, TaskError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        download(url, Duration::from_secs(5), File::create(&path).unwrap()).await?;
        Ok(std::fs::read_to_string(path).unwrap())
    }

    const FOUND: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab";
    const NEXT: &str =
        "HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    const CUT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nab";
    const BROKEN: &str = "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

    #[tokio::test]
    async fn answers_are_files_or_javas_exceptions() {
        assert_eq!(text(&serve(&[FOUND])).await.unwrap(), "ab");
        assert_eq!(text(&serve(&[NEXT, NEXT, FOUND])).await.unwrap(), "ab");
        assert!(text(&serve(&[CUT])).await.is_err(), "a part is no file");
        let url = serve(&[BROKEN]);
        let error = format!("{:?}", text(&url).await.unwrap_err());
        assert!(
            error.contains(&format!("HTTP response code: 500 for URL: {url}")),
            "{error}"
        );
        let error = format!("{:?}", text(&serve(&[NEXT; 22])).await.unwrap_err());
        assert!(error.contains("too many times"), "{error}");
    }

    #[tokio::test]
    async fn servers_that_say_nothing_are_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        let nothing = tempfile::tempfile().unwrap();
        let error = download(&url, Duration::from_millis(200), nothing).await;
        let error = format!("{:?}", error.unwrap_err());
        assert!(error.contains("Read timed out"), "{error}");
    }

    /// The client asks for the target of a redirect as it asks for this.
    #[tokio::test]
    async fn who_began_with_https_never_goes_on_without() {
        for (first, refused) in [
            ("https://h/x", true),
            ("HTTPS://h/x", true),
            ("http://h/x", false),
        ] {
            let client = client(first, Duration::from_secs(5)).unwrap();
            let error = client.get("http://127.0.0.1:1/x").send().await.unwrap_err();
            assert_eq!(error.is_builder(), refused, "{first}: {error:?}");
        }
    }
}
