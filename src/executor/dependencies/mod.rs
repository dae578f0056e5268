//! Files and archives that tasks need in the working directory: what Spark's `Executor.updateDependencies` does,
//! without a JVM.
//!
//! ```text
//!  JobArtifactSet ─ what is newer than what is here? ─ nothing ───────────────────────────────► the task runs
//!                                     │ something (one update at a time)
//!                 spark:// http(s): file: local:  ── whole file ──► renamed into place ─► a+x ─► .tar of addFile unpacked
//!                                     │                └► archives: unpacked aside, swapped in
//!                 hdfs: s3a: gs: abfs:   ─┘  ftp: … ─► bail out: the JVM fetches it into the same directory
//! ```
//!
//! An embedded JVM keeps its own account and fetches into the same directory. Equal files are left alone by both sides;
//! archives are unpacked again by the JVM, which first removes what is there. A file that the driver has no more is
//! given to the JVM from there. Jars are for JVM code only and are not looked at.

mod fetch;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod hadoop;
mod http;
mod place;
#[cfg(test)]
mod tests;
mod unpack;
mod uri;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tracing::info;
use wire::task_description::JobArtifactSet;

use crate::cancel::Cancellation;
use crate::config::{SettingError, SparkProperties};
use crate::files::FileSystems;
use crate::rpc::FileServer;
use crate::task::TaskError;

use fetch::Fetcher;
use place::Temp;
use uri::Uri;

/// `SparkSession` id of tasks that belong to no session with artifacts of its own.
const DEFAULT_SESSION: &str = "default";
/// Sessions whose files are remembered; of the least recently used one it is forgotten that its files are here (Spark:
/// `spark.executor.isolatedSessionCache.size`).
const MAX_SESSIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// The dependencies of one executor. Clones are the same.
#[derive(Debug, Clone)]
pub struct Dependencies {
    shared: Arc<FetchedFiles>,
    /// Held during an update, also by one whose task has given up waiting.
    busy: Arc<tokio::sync::Mutex<()>>,
    runtime: Handle,
}

#[derive(Debug)]
struct FetchedFiles {
    root: PathBuf,
    fetcher: Fetcher,
    sessions: Mutex<Sessions>,
}

#[derive(Debug)]
struct Sessions {
    /// That of applications without sessions of their own, which is never dropped.
    default: Session,
    by_id: LruCache<String, Session>,
}

#[derive(Debug, Default)]
struct Session {
    files: HashMap<String, Held>,
    archives: HashMap<String, Held>,
}

#[derive(Debug)]
struct Held {
    timestamp: i64,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArtifactKind {
    File,
    Archive,
}

impl Session {
    fn map(&mut self, kind: ArtifactKind) -> &mut HashMap<String, Held> {
        match kind {
            ArtifactKind::File => &mut self.files,
            ArtifactKind::Archive => &mut self.archives,
        }
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            default: Session::default(),
            by_id: LruCache::new(MAX_SESSIONS),
        }
    }
}

impl Sessions {
    fn session(&mut self, id: &str) -> &mut Session {
        match id {
            DEFAULT_SESSION => &mut self.default,
            id => self
                .by_id
                .get_or_insert_mut(id.to_owned(), Session::default),
        }
    }

    /// Where the file of a URL was put, for any session.
    fn files_of(&self, url: &str) -> Vec<PathBuf> {
        let others = self.by_id.iter().map(|(_, session)| session);
        let sessions = std::iter::once(&self.default).chain(others);
        sessions
            .filter_map(|session| Some(session.files.get(url)?.path.clone()))
            .collect()
    }
}

/// What is here: URLs with their timestamps.
#[cfg(test)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct HeldDependencies {
    files: Vec<(String, i64)>,
    archives: Vec<(String, i64)>,
}

fn session_id(artifacts: &JobArtifactSet) -> &str {
    artifacts
        .state
        .as_ref()
        .map_or(DEFAULT_SESSION, |state| &state.uuid)
}

impl Dependencies {
    /// Nothing has been fetched yet. `root` is the working directory of the executor (`SparkFiles.getRootDirectory`);
    /// downloads block threads of `runtime`'s blocking pool.
    ///
    /// # Errors
    /// `spark.files.overwrite`, `spark.files.useFetchCache` or `spark.files.fetchTimeout` has no value of its kind.
    pub fn new(
        properties: &SparkProperties,
        files: FileServer,
        systems: Arc<FileSystems>,
        root: PathBuf,
        runtime: Handle,
    ) -> Result<Self, SettingError> {
        let fetcher = Fetcher::new(properties, files, systems, runtime.clone())?;
        Ok(Self {
            shared: Arc::new(FetchedFiles {
                root,
                fetcher,
                sessions: Mutex::default(),
            }),
            busy: Arc::default(),
            runtime,
        })
    }

    /// Lets executors of the application that share this host download everything once, if `spark.files.useFetchCache`
    /// is on and the `environment` names a directory that they share: the first of `LOCAL_DIRS` in a YARN container,
    /// the first of a standalone worker's `SPARK_EXECUTOR_DIRS`. To be called before clones are made; later it has no
    /// effect.
    #[must_use]
    pub fn with_shared_cache(mut self, environment: impl Fn(&str) -> Option<String>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.fetcher.shared_cache = fetch::shared_directory(environment);
        }
        self
    }

    /// The directory in which a task with these artifacts finds its files: the working directory, or that of its
    /// session below it.
    ///
    /// # Errors
    /// The session's id is no name of a directory.
    pub fn directory(&self, artifacts: &JobArtifactSet) -> Result<PathBuf, TaskError> {
        match session_id(artifacts) {
            DEFAULT_SESSION => Ok(self.shared.root.clone()),
            id if uri::is_plain_name(id) => Ok(self.shared.root.join(id)),
            id => Err(TaskError::io(format!("session id {id} names no directory"))),
        }
    }

    /// Fetches what of the files and archives is not here or newer than what is here. Updates run one after the other;
    /// those that find everything here wait for nobody.
    ///
    /// # Errors
    /// [`TaskError::BailOut`] before anything is fetched, if one of them can be fetched by the JVM only;
    /// [`TaskError::Killed`]; Spark's own exceptions. What had been fetched until then stays and counts.
    pub async fn update(
        &self,
        artifacts: &JobArtifactSet,
        cancellation: &Cancellation,
    ) -> Result<(), TaskError> {
        let dir = self.directory(artifacts)?;
        if self.shared.missing(artifacts).is_empty() {
            return Ok(());
        }
        let turn = tokio::select! {
            biased;
            reason = cancellation.cancelled() => return Err(TaskError::Killed(reason)),
            turn = Arc::clone(&self.busy).lock_owned() => turn,
        };
        let missing = self.shared.missing(artifacts);
        if missing.is_empty() {
            return Ok(());
        }
        let (shared, id) = (Arc::clone(&self.shared), session_id(artifacts).to_owned());
        let cancellation = cancellation.clone();
        let work = self.runtime.spawn_blocking(move || {
            let done = shared.fetch_all(&id, &dir, missing, &cancellation);
            drop(turn);
            done
        });
        match work.await {
            Ok(done) => done,
            Err(error) => Err(TaskError::spark(format!(
                "Fetching dependencies failed: {error}"
            ))),
        }
    }

    /// A file that native tasks have fetched from this URL, for the embedded JVM: it begins later, when the driver's
    /// copy may be gone, which Spark's own executor has fetched by then.
    pub fn open_fetched(&self, url: &str) -> Option<fs::File> {
        let mut paths = self.shared.sessions.lock().files_of(url).into_iter();
        paths.find_map(|path| {
            fs::File::open(path)
                .ok()
                .filter(|file| file.metadata().is_ok_and(|found| found.is_file()))
        })
    }

    /// What has been fetched for the tasks that belong to no session.
    #[cfg(test)]
    fn held(&self) -> HeldDependencies {
        let mut sessions = self.shared.sessions.lock();
        let session = sessions.session(DEFAULT_SESSION);
        let list = |held: &HashMap<String, Held>| {
            let mut list: Vec<_> = held
                .iter()
                .map(|(url, held)| (url.clone(), held.timestamp))
                .collect();
            list.sort();
            list
        };
        HeldDependencies {
            files: list(&session.files),
            archives: list(&session.archives),
        }
    }
}

/// Where a dependency ends up.
fn target(dir: &Path, kind: ArtifactKind, uri: &Uri<'_>) -> Result<PathBuf, TaskError> {
    let alias = match kind {
        ArtifactKind::File => None,
        ArtifactKind::Archive => uri.alias()?,
    };
    match alias {
        Some(alias) => Ok(dir.join(alias)),
        None => Ok(dir.join(uri.file_name()?)),
    }
}

impl FetchedFiles {
    fn missing(&self, artifacts: &JobArtifactSet) -> Vec<(ArtifactKind, String, i64)> {
        let id = session_id(artifacts);
        let mut sessions = self.sessions.lock();
        let session = sessions.session(id);
        let lists = [
            (ArtifactKind::File, &artifacts.files),
            (ArtifactKind::Archive, &artifacts.archives),
        ];
        let mut missing = Vec::new();
        for (kind, list) in lists {
            let held = session.map(kind);
            for (url, timestamp) in list {
                let here = held.get(url).is_some_and(|held| {
                    // The JVM removes the directories of sessions that it has not seen for a while.
                    held.timestamp >= *timestamp && (id == DEFAULT_SESSION || held.path.exists())
                });
                if !here {
                    missing.push((kind, url.clone(), *timestamp));
                }
            }
        }
        missing
    }

    fn fetch_all(
        &self,
        id: &str,
        dir: &Path,
        missing: Vec<(ArtifactKind, String, i64)>,
        cancellation: &Cancellation,
    ) -> Result<(), TaskError> {
        for (kind, url, _) in &missing {
            let uri = Uri::parse(url);
            self.fetcher.accepts(&uri)?;
            target(dir, *kind, &uri)?;
        }
        match fs::create_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        for (kind, url, timestamp) in missing {
            place::check(cancellation)?;
            info!(target: "Executor", "Fetching {url} with timestamp {timestamp}");
            let uri = Uri::parse(&url);
            let path = match kind {
                ArtifactKind::File => {
                    let path = self.fetcher.fetch(&uri, dir, timestamp, cancellation)?;
                    unpack::untar_here(dir, &uri.file_name()?, cancellation)?;
                    path
                }
                ArtifactKind::Archive => self.fetch_archive(&uri, dir, timestamp, cancellation)?,
            };
            self.note(id, kind, &url, timestamp, path);
        }
        Ok(())
    }

    fn fetch_archive(
        &self,
        uri: &Uri<'_>,
        dir: &Path,
        timestamp: i64,
        cancellation: &Cancellation,
    ) -> Result<PathBuf, TaskError> {
        // In the directory of the result, so that the tree can be renamed.
        let scratch = Temp::in_dir(dir);
        fs::create_dir(scratch.path())?;
        let source = self
            .fetcher
            .fetch(uri, scratch.path(), timestamp, cancellation)?;
        let dest = target(dir, ArtifactKind::Archive, uri)?;
        info!(
            target: "Executor",
            "Unpacking an archive {} from {} to {}", uri.target, source.display(), dest.display()
        );
        unpack::unpack(&uri.file_name()?, &source, &dest, dir, cancellation)?;
        Ok(dest)
    }

    fn note(&self, id: &str, kind: ArtifactKind, url: &str, timestamp: i64, path: PathBuf) {
        let mut sessions = self.sessions.lock();
        let held = sessions.session(id).map(kind);
        held.insert(url.to_owned(), Held { timestamp, path });
    }
}
