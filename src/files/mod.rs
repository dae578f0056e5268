//! File systems as Hadoop names them, without Hadoop: what a path and a configuration mean, and readers for what they
//! mean.
//!
//! ```text
//!  path ──┐
//!         ├─ translated ─► settings of a client ─ one client for each ─► status · list · input
//!  conf ──┘       └─ what cannot be translated: the reason to leave the task to the JVM
//! ```
//!
//! Settings that change what is read, or who reads, are translated or refused; those that change only how fast it goes
//! are not looked at.

mod azure;
mod checkpoint;
mod conf;
mod error;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod gcs;
mod hdfs;
mod jobs;
mod local;
mod object;
mod output;
mod path;
mod ranges;
mod reader;
mod s3;
mod writable;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tracing::warn;

use crate::cancel::Cancellation;
use crate::config::{SparkProperties, declared};

pub use checkpoint::{CheckpointFile, checkpoint_part};
pub use conf::HadoopConf;
pub use error::FileError;
pub use jobs::{CommitAlgorithm, job_path, packed_by};
pub use local::{ChecksumError, LocalFile, OnRead};
pub use object::http_client;
pub use output::{Output, Outputs, is_written_scheme, written_schemes};
pub use path::FilePath;
pub use ranges::RangeFile;
pub use reader::FileInput;
pub use writable::read_vlong;

use azure::AzureSettings;
use gcs::GcsSettings;
use hdfs::{Hdfs, HdfsSettings};
use object::Objects;
use reader::{Opened, Remote};
use s3::S3Settings;

/// Clients that are kept. An application uses few buckets and name nodes.
const KEPT_CLIENTS: usize = 64;

/// How far a reader of a part of a file probably goes behind it, to the end of a line.
const BEHIND: u64 = 256 << 10;

/// What is spoken with a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Local,
    Hdfs,
    S3,
    Gcs,
    Azure,
}

/// The schemes of paths that are read.
const SCHEMES: [(&str, Protocol); 10] = [
    ("file", Protocol::Local),
    ("hdfs", Protocol::Hdfs),
    ("s3a", Protocol::S3),
    ("s3", Protocol::S3),
    ("s3n", Protocol::S3),
    ("gs", Protocol::Gcs),
    ("abfs", Protocol::Azure),
    ("abfss", Protocol::Azure),
    ("wasb", Protocol::Azure),
    ("wasbs", Protocol::Azure),
];

impl Protocol {
    fn of(scheme: &str) -> Option<Self> {
        let mut schemes = SCHEMES.iter();
        let found = schemes.find(|(known, _)| *known == scheme);
        found.map(|(_, protocol)| *protocol)
    }
}

/// Sizes of blocks that Hadoop makes up.
const LOCAL_BLOCK_SIZE: &str = "fs.local.block.size";
const S3_BLOCK_SIZE: &str = "fs.s3a.block.size";
const DEFAULT_BLOCK_SIZE: u64 = 32 << 20;

/// A number of bytes as `Configuration.getLongBytes` reads it: `32M`.
fn binary_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let shift = match &*text.get(digits.len()..)?.to_ascii_lowercase() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift).filter(|size| *size > 0)
}

/// Whether files of a scheme are read, if their settings allow it.
pub fn is_known_scheme(scheme: &str) -> bool {
    Protocol::of(scheme).is_some()
}

/// The schemes of paths that are read, each with the file system's name.
pub fn schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMES.iter().map(|(scheme, protocol)| {
        let name = match protocol {
            Protocol::Local => "files of the host",
            Protocol::Hdfs => "HDFS",
            Protocol::S3 => "Amazon S3 and what speaks its protocol",
            Protocol::Gcs => "Google Cloud Storage",
            Protocol::Azure => "Azure Blob Storage",
        };
        (*scheme, name)
    })
}

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatus {
    /// Where it is.
    pub path: FilePath,
    /// In bytes; 0 for a directory.
    pub length: u64,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// When it was changed last, in milliseconds since 1970; 0 for a directory of an object store.
    pub modified: i64,
}

/// The environment variables of this process, or those of a test.
#[derive(Clone, Default)]
pub struct Environment(HashMap<String, String>);

impl Environment {
    /// Those of this process.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Self {
        Self(variables.map(|(k, v)| (k.to_owned(), v.to_owned())).into())
    }
}

/// What a client is made from: one client for each.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Settings {
    Hdfs(HdfsSettings),
    S3(S3Settings),
    Gcs(GcsSettings),
    Azure(AzureSettings),
}

/// The file systems of this executor. Clients are made when they are needed first, and kept.
pub struct FileSystems {
    runtime: Handle,
    environment: Environment,
    properties: Arc<SparkProperties>,
    class_path: Vec<PathBuf>,
    /// The executor's own settings, when they have been asked for.
    conf: OnceLock<Result<HadoopConf, String>>,
    /// Why no server is talked to.
    no_network: Option<String>,
    clients: Mutex<HashMap<Settings, FileSystem>>,
}

impl std::fmt::Debug for FileSystems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileSystems")
            .field("clients", &self.clients.lock().len())
            .finish_non_exhaustive()
    }
}

/// One file system. Clones are the same.
#[derive(Clone)]
pub struct FileSystem(Backend);

#[derive(Clone)]
enum Backend {
    Local,
    Hdfs(Arc<Hdfs>),
    Objects(Arc<Objects>),
}

impl std::fmt::Debug for FileSystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Backend::Local => "Local",
            Backend::Hdfs(_) => "Hdfs",
            Backend::Objects(_) => "Objects",
        })
    }
}

/// Options of a JVM that say how it reaches or trusts servers, as only it understands.
const JAVA_NETWORK: [&str; 4] = ["proxyHost", "ProxyHost", "trustStore", "useSystemProxies"];

/// The option of the executor's JVM, if there is one, that says how it reaches or trusts servers.
pub fn java_network(properties: &SparkProperties) -> Option<&'static str> {
    let options = [declared::DEFAULT_JAVA_OPTIONS, declared::EXTRA_JAVA_OPTIONS]
        .map(|setting| properties.get(setting).unwrap_or_default());
    JAVA_NETWORK
        .into_iter()
        .find(|option| options.iter().any(|options| options.contains(option)))
}

impl FileSystems {
    /// No client is made yet. They work on `runtime`. Site files are looked for on `class_path`.
    pub fn new(
        runtime: Handle,
        properties: Arc<SparkProperties>,
        class_path: Vec<PathBuf>,
        environment: Environment,
    ) -> Self {
        Self {
            runtime,
            no_network: java_network(&properties)
                .map(|option| format!("files of other machines with Java's {option}")),
            environment,
            properties,
            class_path,
            conf: OnceLock::new(),
            clients: Mutex::default(),
        }
    }

    /// The settings that this executor has of its own, which hold for what does not come with a task.
    ///
    /// # Errors
    /// [`FileError::Unsupported`] if they cannot be read.
    pub fn executor_conf(&self) -> Result<&HadoopConf, FileError> {
        let read =
            || HadoopConf::of_executor(&self.class_path, &self.properties, &self.environment);
        self.conf
            .get_or_init(read)
            .as_ref()
            .map_err(FileError::unsupported)
    }

    /// The bytes of a block of a file system whose files have no blocks of their own, as Hadoop makes them up.
    ///
    /// # Errors
    /// [`FileError::Unsupported`] where they have, or nobody has looked.
    pub fn made_up_block_size(&self, path: &FilePath, conf: &HadoopConf) -> Result<u64, FileError> {
        let (key, size) = match Protocol::of(&path.scheme) {
            Some(Protocol::Local) => (LOCAL_BLOCK_SIZE, conf.text(LOCAL_BLOCK_SIZE)),
            Some(Protocol::S3) => (S3_BLOCK_SIZE, s3::block_size(path, conf)),
            _ => {
                let reason = format!("places of blocks of {}:", path.scheme);
                return Err(FileError::unsupported(reason));
            }
        };
        match size {
            None => Ok(DEFAULT_BLOCK_SIZE),
            Some(size) => {
                binary_size(&size).ok_or_else(|| FileError::unsupported(format!("{key} is {size}")))
            }
        }
    }

    /// The file system of a path.
    ///
    /// # Errors
    /// [`FileError::Unsupported`], or what keeps a client from being made.
    pub fn of(&self, path: &FilePath, conf: &HadoopConf) -> Result<FileSystem, FileError> {
        let unknown = || FileError::unsupported(format!("files of {}:", path.scheme));
        let settings = match Protocol::of(&path.scheme).ok_or_else(unknown)? {
            Protocol::Local => {
                check_local(conf)?;
                return Ok(FileSystem(Backend::Local));
            }
            Protocol::Hdfs => {
                HdfsSettings::translate(path, conf, &self.environment).map(Settings::Hdfs)
            }
            Protocol::S3 => S3Settings::translate(path, conf, &self.environment).map(Settings::S3),
            Protocol::Gcs => {
                GcsSettings::translate(path, conf, &self.environment).map(Settings::Gcs)
            }
            Protocol::Azure => AzureSettings::translate(path, conf).map(Settings::Azure),
        }?;
        if let Some(reason) = &self.no_network {
            return Err(FileError::unsupported(reason));
        }
        let mut clients = self.clients.lock();
        if let Some(known) = clients.get(&settings) {
            return Ok(known.clone());
        }
        let scheme = path.scheme.as_str();
        let objects = |objects| Backend::Objects(Arc::new(objects));
        let kind = match &settings {
            Settings::Hdfs(settings) => {
                Backend::Hdfs(Arc::new(Hdfs::new(settings, &self.runtime)?))
            }
            Settings::S3(settings) => objects(Objects::of_s3(settings.clone(), scheme)),
            Settings::Gcs(settings) => objects(Objects::new(settings.store()?, scheme)),
            Settings::Azure(settings) => objects(Objects::new(settings.store()?, scheme)),
        };
        let made = FileSystem(kind);
        if clients.len() >= KEPT_CLIENTS {
            clients.clear();
        }
        clients.insert(settings, made.clone());
        Ok(made)
    }

    /// Reads a file from the start of `part` on; the end says how far it will probably be read. Blocks.
    ///
    /// # Errors
    /// As [`FileSystems::of`]; [`FileError::NotFound`]; what the servers or the operating system say.
    pub fn input(
        &self,
        path: &FilePath,
        part: Range<u64>,
        conf: &HadoopConf,
        cancellation: &Cancellation,
    ) -> Result<FileInput, FileError> {
        let file_system = self.of(path, conf)?;
        if let Backend::Local = file_system.0 {
            return FileInput::local(&path.local(), part.start)
                .map_err(|error| local_failure(path, &error));
        }
        self.wait(cancellation, async {
            let wanted = part.start..match part.is_empty() {
                true => part.start,
                false => part.end.saturating_add(BEHIND),
            };
            let (file, begun) = match &file_system.0 {
                Backend::Hdfs(client) => (Opened::Hdfs(client.open(path).await?), None),
                Backend::Objects(objects) => {
                    let (file, begun) = objects.open(path, &wanted).await?;
                    (Opened::Object(file), begun)
                }
                Backend::Local => return Err(FileError::unsupported("files of file:")),
            };
            let remote = Remote::new(file, wanted, begun, &self.runtime, cancellation);
            Ok(FileInput::remote(remote))
        })
    }

    /// Waits for what a file system says, unless the task is told to stop. Blocks.
    ///
    /// # Errors
    /// That of `work`, or [`FileError::Cancelled`].
    pub fn wait<T>(
        &self,
        cancellation: &Cancellation,
        work: impl Future<Output = Result<T, FileError>>,
    ) -> Result<T, FileError> {
        wait(&self.runtime, cancellation, work)
    }

    /// A file of another machine, of which ranges are read; it is expected to have `length` bytes. Nothing is read yet.
    ///
    /// # Errors
    /// As [`FileSystems::of`]
    pub fn ranges(
        &self,
        path: &FilePath,
        length: u64,
        conf: &HadoopConf,
        cancellation: &Cancellation,
    ) -> Result<RangeFile, FileError> {
        let file_system = self.of(path, conf)?;
        let path = path.clone();
        Ok(RangeFile::new(
            file_system,
            path,
            length,
            &self.runtime,
            cancellation,
        ))
    }
}

#[cfg(test)]
impl FileSystems {
    /// With no settings.
    pub(crate) fn of_test(runtime: &tokio::runtime::Runtime) -> Self {
        let (runtime, none) = (runtime.handle().clone(), Environment::default());
        Self::new(runtime, Arc::default(), Vec::new(), none)
    }
}

/// Waits for what a file system says, unless the task is told to stop. Blocks.
fn wait<T>(
    runtime: &Handle,
    cancellation: &Cancellation,
    work: impl Future<Output = Result<T, FileError>>,
) -> Result<T, FileError> {
    let done = runtime.block_on(async {
        tokio::select! {
            biased;
            reason = cancellation.cancelled() => Err(FileError::Cancelled(reason)),
            done = work => done,
        }
    });
    if let Err(error @ FileError::Failed { .. }) = &done {
        warn!(target: "FileSystems", "{error}");
    }
    done
}

impl FileSystem {
    /// What is at a path.
    ///
    /// # Errors
    /// [`FileError::NotFound`]; what the servers or the operating system say.
    pub async fn status(&self, path: &FilePath) -> Result<FileStatus, FileError> {
        match &self.0 {
            Backend::Local => {
                let found =
                    fs::metadata(path.local()).map_err(|error| local_failure(path, &error))?;
                Ok(local_status(path.clone(), &found))
            }
            Backend::Hdfs(client) => client.status(path).await,
            Backend::Objects(objects) => objects.status(path).await,
        }
    }

    /// What is in a directory, not what is below that.
    ///
    /// # Errors
    /// As [`FileSystem::status`]
    pub async fn list(&self, dir: &FilePath) -> Result<Vec<FileStatus>, FileError> {
        match &self.0 {
            Backend::Local => {
                let failed = |error: io::Error| local_failure(dir, &error);
                let entries = fs::read_dir(dir.local()).map_err(failed)?;
                let statuses = entries.map(|entry| {
                    let entry = entry.map_err(failed)?;
                    let path = dir.child(&entry.file_name().to_string_lossy());
                    match fs::metadata(entry.path()) {
                        Ok(found) => Ok(Some(local_status(path, &found))),
                        // A link to nothing, or gone meanwhile.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                        Err(error) => Err(failed(error)),
                    }
                });
                statuses.filter_map(Result::transpose).collect()
            }
            Backend::Hdfs(client) => client.list(dir).await,
            Backend::Objects(objects) => objects.list(dir).await,
        }
    }
}

fn local_status(path: FilePath, found: &fs::Metadata) -> FileStatus {
    FileStatus {
        path,
        length: match found.is_dir() {
            true => 0,
            false => found.len(),
        },
        is_dir: found.is_dir(),
        modified: found.mtime() * 1000 + found.mtime_nsec() / 1_000_000,
    }
}

fn local_failure(path: &FilePath, error: &io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound => FileError::NotFound(path.to_string().into()),
        _ => FileError::failed("file", format_args!("{path}: {error}")),
    }
}

/// Whether files of this host are what Hadoop takes them for.
///
/// # Errors
/// [`FileError::Unsupported`]
pub fn check_local(conf: &HadoopConf) -> Result<(), FileError> {
    let local = &["org.apache.hadoop.fs.LocalFileSystem"][..];
    expect_settings(conf, &[("fs.file.impl", local)])
}

/// Settings by name, with the values that they may have; with no values, they must not be set.
type Expected<'a> = [(&'a str, &'a [&'a str])];

fn expect_settings(conf: &HadoopConf, expected: &Expected<'_>) -> Result<(), FileError> {
    expect(|key| conf.text(key), expected)
}

fn expect(
    setting: impl Fn(&str) -> Option<String>,
    expected: &Expected<'_>,
) -> Result<(), FileError> {
    for (key, values) in expected {
        let Some(value) = setting(key) else { continue };
        if values.is_empty() {
            // The value may be a secret.
            return Err(FileError::unsupported(format!("{key} is set")));
        }
        if !values
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&value))
        {
            return Err(FileError::unsupported(format!("{key} is {value}")));
        }
    }
    Ok(())
}

/// A value that no log shows.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use tokio::runtime::Runtime;

    use super::*;

    fn systems(runtime: &Runtime, settings: &[(&str, &str)]) -> FileSystems {
        let mut properties = SparkProperties::default();
        for (key, value) in settings {
            properties.set(*key, *value);
        }
        FileSystems::new(
            runtime.handle().clone(),
            Arc::new(properties),
            Vec::new(),
            Environment::default(),
        )
    }

    #[test]
    fn local_files_are_read_and_listed() {
        let runtime = Runtime::new().unwrap();
        let systems = systems(&runtime, &[]);
        let conf = HadoopConf::default();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a b"), "0123456789").unwrap();
        let root = FilePath::parse(&format!("file:{}", dir.path().display()));
        let path = root.child("a b");
        let mut input = systems
            .input(&path, 3..5, &conf, &Cancellation::default())
            .unwrap();
        let mut text = String::new();
        input.read_to_string(&mut text).unwrap();
        assert_eq!(text, "3456789");
        let local = systems.of(&path, &conf).unwrap();
        runtime.block_on(async {
            assert_eq!(local.status(&path).await.unwrap().length, 10);
            assert!(local.status(&root).await.unwrap().is_dir);
            let listed = local.list(&root).await.unwrap();
            assert_eq!(listed, [local.status(&path).await.unwrap()]);
        });
        let gone = systems.input(&root.child("x"), 0..1, &conf, &Cancellation::default());
        let gone = gone.err().unwrap();
        assert!(matches!(gone, FileError::NotFound(_)), "{gone}");
    }

    #[test]
    fn each_client_is_made_once_and_what_is_for_the_jvm_is_named() {
        let runtime = Runtime::new().unwrap();
        let with_proxy = [("spark.executor.extraJavaOptions", "-Dhttps.proxyHost=p")];
        let behind = systems(&runtime, &with_proxy);
        let systems = systems(&runtime, &[]);
        let of = |uri: &str, conf: &HadoopConf| systems.of(&FilePath::parse(uri), conf).map(drop);
        let conf = HadoopConf::default();
        for uri in ["hdfs://a/x", "hdfs://a:8020/y", "hdfs://b/x", "file:/x"] {
            of(uri, &conf).unwrap();
        }
        assert_eq!(systems.clients.lock().len(), 2);
        let reason = |found: Result<(), FileError>| found.unwrap_err().reason();
        assert_eq!(reason(of("ftp://a/x", &conf)), "files of ftp:");
        assert_eq!(reason(of("viewfs://a/x", &conf)), "files of viewfs:");
        let other = HadoopConf::from([("fs.file.impl", "a.B")]);
        assert_eq!(reason(of("file:/x", &other)), "fs.file.impl is a.B");
        let refused = behind.of(&FilePath::parse("hdfs://a/x"), &conf).map(drop);
        assert_eq!(
            reason(refused),
            "files of other machines with Java's proxyHost"
        );
    }
}
