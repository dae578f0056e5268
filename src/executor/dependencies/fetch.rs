//! One dependency: from its URI to a file in a directory (Spark's `Utils.fetchFile`).

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tracing::info;

use super::place::{Temp, check, copy, make_executable, place};
use super::uri::{Uri, java_hash};
use super::{hadoop, http};
use crate::cancel::Cancellation;
use crate::config::{SettingError, SparkProperties, declared};
use crate::files::{FileSystems, java_network};
use crate::rpc::{FetchError, FileServer};
use crate::task::TaskError;

/// How often is asked whether another executor on this host has finished its download.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Fetches files. Its methods block and belong to threads that may wait.
#[derive(Debug)]
pub(super) struct Fetcher {
    files: FileServer,
    systems: Arc<FileSystems>,
    runtime: Handle,
    overwrite: bool,
    timeout: Duration,
    use_cache: bool,
    /// Directory of downloads that executors of this application on this host share.
    pub(super) shared_cache: Option<PathBuf>,
    /// The JVM was told how to reach or trust servers in ways that only it understands.
    java_network: bool,
}

impl Fetcher {
    pub(super) fn new(
        properties: &SparkProperties,
        files: FileServer,
        systems: Arc<FileSystems>,
        runtime: Handle,
    ) -> Result<Self, SettingError> {
        Ok(Self {
            files,
            systems,
            runtime,
            overwrite: properties.switch(&declared::FILES_OVERWRITE)?,
            timeout: properties.time(&declared::FILES_FETCH_TIMEOUT)?,
            use_cache: properties.switch(&declared::FILES_USE_FETCH_CACHE)?,
            shared_cache: None,
            java_network: java_network(properties).is_some(),
        })
    }

    /// Fails if the URI is one for the JVM.
    pub(super) fn accepts(&self, uri: &Uri<'_>) -> Result<(), TaskError> {
        match uri.scheme {
            "spark" | "file" | "local" => Ok(()),
            "http" | "https" if !self.java_network => Ok(()),
            "http" | "https" => Err(TaskError::BailOut(format!(
                "files of scheme {} with Java's network settings",
                uri.scheme
            ))),
            _ => hadoop::accepts(&self.systems, uri),
        }
    }

    /// Makes the file of that URI appear in `dir`, and everybody may execute it.
    pub(super) fn fetch(
        &self,
        uri: &Uri<'_>,
        dir: &Path,
        timestamp: i64,
        cancellation: &Cancellation,
    ) -> Result<PathBuf, TaskError> {
        let dest = dir.join(uri.file_name()?);
        match self.shared_cache.as_deref().filter(|_| self.use_cache) {
            Some(cache) => {
                let cached = self.fetch_once_per_host(cache, uri, timestamp, cancellation)?;
                copy(uri.target, &cached, &dest, self.overwrite, cancellation)?;
            }
            None => self.fetch_to(uri, &dest, cancellation)?,
        }
        make_executable(&dest);
        Ok(dest)
    }

    /// The file in the shared directory. Whoever has the lock first downloads it; the others wait.
    fn fetch_once_per_host(
        &self,
        cache: &Path,
        uri: &Uri<'_>,
        timestamp: i64,
        cancellation: &Cancellation,
    ) -> Result<PathBuf, TaskError> {
        let name = format!("{}{timestamp}", java_hash(uri.target));
        let cached = cache.join(format!("{name}_cache"));
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(cache.join(format!("{name}_lock")))?;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    check(cancellation)?;
                    std::thread::sleep(LOCK_POLL);
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        // The lock ends with the file.
        if !cached.exists() {
            self.fetch_to(uri, &cached, cancellation)?;
        }
        Ok(cached)
    }

    fn fetch_to(
        &self,
        uri: &Uri<'_>,
        dest: &Path,
        cancellation: &Cancellation,
    ) -> Result<(), TaskError> {
        self.accepts(uri)?;
        let url = uri.target;
        if matches!(uri.scheme, "file" | "local") {
            return copy(url, &uri.local_path()?, dest, self.overwrite, cancellation);
        }
        let new = Temp::in_dir(dest.parent().unwrap_or(Path::new(".")));
        info!(target: "Utils", "Fetching {url} to {}", new.path().display());
        if !matches!(uri.scheme, "spark" | "http" | "https") {
            hadoop::fetch(&self.systems, uri, new.path(), cancellation)?;
            return place(url, new, dest, self.overwrite, cancellation);
        }
        let file = new.create()?;
        self.runtime.block_on(async {
            let download = async {
                match uri.scheme {
                    "spark" => self.download(url, file).await,
                    _ => http::download(url, self.timeout, file).await,
                }
            };
            tokio::select! {
                biased;
                reason = cancellation.cancelled() => Err(TaskError::Killed(reason)),
                done = download => done,
            }
        })?;
        place(url, new, dest, self.overwrite, cancellation)
    }

    async fn download(&self, url: &str, mut file: File) -> Result<(), TaskError> {
        let mut stream = self.files.open(url).await.map_err(|error| match error {
            FetchError::Connect(error) => TaskError::io(format!(
                "Failed to connect to the file server of {url}: {error}"
            )),
            error => TaskError::io(error),
        })?;
        // The runtime's thread that waits here is this one alone.
        while let Some(piece) = stream.next().await? {
            file.write_all(&piece)?;
        }
        Ok(())
    }
}

/// The directory that executors of one application share on a host, if the cluster manager gave them one of their own:
/// it made it and removes it. Spark's own cache lies in a directory of each process and so saves nothing.
pub(super) fn shared_directory(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let (dirs, separator) = match environment("CONTAINER_ID") {
        Some(_) => (environment("LOCAL_DIRS")?, ','),
        None => (environment("SPARK_EXECUTOR_DIRS")?, ':'),
    };
    let first = dirs
        .split(separator)
        .map(str::trim)
        .find(|dir| !dir.is_empty())?;
    let dir = PathBuf::from(first);
    fs::metadata(&dir)
        .is_ok_and(|meta| meta.is_dir())
        .then_some(dir)
}
