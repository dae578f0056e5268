//! Downloads from an RPC file server: `spark://host:port/jars/x.jar`.

use crate::transport::{AskError, Client, NoRequests, Stream, TransportConf};
use bytes::{Buf, Bytes};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

/// Connections kept open between downloads.
const IDLE_CONNECTIONS: usize = 4;

/// Why a file cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Not a URI of a file server.
    #[error("'{0}' is not of the form spark://host:port/path")]
    Uri(String),
    /// The file server cannot be reached.
    #[error("{0}")]
    Connect(#[from] io::Error),
    /// The file server refused, or the connection broke.
    #[error("{uri}: {error}")]
    Stream {
        /// What was asked for.
        uri: String,
        /// Why it did not come.
        error: AskError,
    },
}

/// Fetches files. Every download has a connection for itself while it lasts, so that a slow consumer holds up nobody
/// else.
#[derive(Clone, Debug)]
pub struct FileServer {
    conf: TransportConf,
    idle: Arc<Mutex<Vec<Idle>>>,
}

#[derive(Debug)]
struct Idle {
    host: String,
    port: u16,
    client: Client,
}

impl FileServer {
    /// `conf` is that of the module `files`.
    pub fn new(conf: TransportConf) -> Self {
        Self {
            conf,
            idle: Arc::default(),
        }
    }

    /// Asks for a file and waits for its beginning.
    ///
    /// # Errors
    /// [`FetchError`]; a file that the server does not have is a [`FetchError::Stream`].
    pub async fn open(&self, uri: &str) -> Result<FileStream, FetchError> {
        let (host, port, path) = parse(uri).ok_or_else(|| FetchError::Uri(uri.to_owned()))?;
        let client = match self.take_idle(&host, port) {
            Some(client) => client,
            None => Client::connect(&host, port, &self.conf, Arc::new(NoRequests)).await?,
        };
        let stream = client
            .open_stream(&path)
            .await
            .map_err(|error| FetchError::Stream {
                uri: uri.to_owned(),
                error,
            })?;
        let len = stream.len();
        let done = Some((self.idle.clone(), Idle { host, port, client }));
        let mut state = OpenStream {
            stream,
            current: Bytes::new(),
            done,
        };
        state.release_if_complete();
        Ok(FileStream {
            len,
            state: Mutex::new(state),
        })
    }

    fn take_idle(&self, host: &str, port: u16) -> Option<Client> {
        let mut idle = self.idle.lock();
        idle.retain(|idle| !idle.client.is_closed());
        let at = idle
            .iter()
            .position(|idle| idle.host == host && idle.port == port)?;
        Some(idle.swap_remove(at).client)
    }
}

/// Host, port and decoded path of a URI.
fn parse(uri: &str) -> Option<(String, u16, String)> {
    let (authority, path) = uri.strip_prefix("spark://")?.split_once('/')?;
    let (host, port) = authority.rsplit_once(':')?;
    let path = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .ok()?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    (!host.is_empty() && !path.is_empty()).then_some(())?;
    Some((host.to_owned(), port.parse().ok()?, format!("/{path}")))
}

/// A file while it arrives. No more than a few hundred KiB wait for the reader; then the server waits.
#[derive(Debug)]
pub struct FileStream {
    len: u64,
    state: Mutex<OpenStream>,
}

#[derive(Debug)]
struct OpenStream {
    stream: Stream,
    current: Bytes,
    /// The connection, and where it goes when the file is complete. A file that is given up closes it.
    done: Option<(Arc<Mutex<Vec<Idle>>>, Idle)>,
}

impl OpenStream {
    fn release_if_complete(&mut self) {
        if !self.stream.is_complete() {
            return;
        }
        if let Some((idle, connection)) = self.done.take() {
            let mut idle = idle.lock();
            if idle.len() < IDLE_CONNECTIONS {
                idle.push(connection);
            }
        }
    }
}

impl FileStream {
    /// Size of the whole file in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads like [`io::Read`], waiting for at least one byte; 0 means the end. For threads outside the runtime only.
    ///
    /// # Errors
    /// `UnexpectedEof` if the connection broke before the end of the file.
    pub fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        if state.current.is_empty() {
            state.current = state.stream.blocking_next()?.unwrap_or_default();
            state.release_if_complete();
        }
        let count = buf.len().min(state.current.len());
        state
            .current
            .copy_to_slice(buf.get_mut(..count).unwrap_or_default());
        Ok(count)
    }

    /// The next bytes, or `None` at the end; for tasks of the runtime.
    ///
    /// # Errors
    /// As [`FileStream::read`].
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let state = self.state.get_mut();
        if !state.current.is_empty() {
            return Ok(Some(std::mem::take(&mut state.current)));
        }
        let piece = state.stream.next().await?;
        state.release_if_complete();
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_taken_apart_and_decoded() {
        let parsed = |host: &str, port, path: &str| Some((host.to_owned(), port, path.to_owned()));
        assert_eq!(
            parse("spark://driver:7078/jars/a.jar"),
            parsed("driver", 7078, "/jars/a.jar")
        );
        assert_eq!(
            parse("spark://[::1]:7078/files/a%20b%2B.txt"),
            parsed("[::1]", 7078, "/files/a b+.txt")
        );
        for wrong in [
            "http://driver:1/x",
            "spark://driver/x",
            "spark://driver:99999/x",
            "spark://driver:1/",
            "spark://:1/x",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
