//! Objects of a bucket or container, through `object_store`.

use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::buffered::BufWriter;
use object_store::client::{HttpClient, HttpConnector};
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, GetOptions, GetRange, GetResult, ListResult, ObjectMeta, ObjectStore,
    ObjectStoreExt, RetryConfig,
};
use tokio::sync::OnceCell;

use super::path::FilePath;
use super::reader::Chunks;
use super::s3::S3Settings;
use super::{FileError, FileStatus};

/// How long a connection may take, and how long nothing may arrive.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Tries after the first; what fails then is left to the JVM, which has tries of its own.
const RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a part of an object that is written in parts; smaller ones are sent at once. Stores take 10,000 parts.
const PART: usize = 8 << 20;

/// Parts of an object that are on their way at a time, besides the one that is filled.
const PARTS_AT_ONCE: usize = 2;

/// Objects that are copied at a time.
const COPIES_AT_ONCE: usize = 8;

/// A bucket or container.
pub(super) struct Objects {
    store: OnceCell<Arc<dyn ObjectStore>>,
    /// What the store is made from, if it has to be asked where it is.
    unplaced: Option<S3Settings>,
    /// For errors: `s3a` and the like.
    scheme: String,
}

/// An object as it was when it was opened.
pub(super) struct ObjectFile {
    store: Arc<dyn ObjectStore>,
    scheme: String,
    path: Path,
    length: u64,
    tag: Option<String>,
}

impl Objects {
    pub(super) fn new(store: Arc<dyn ObjectStore>, scheme: &str) -> Self {
        Self {
            store: OnceCell::new_with(Some(store)),
            unplaced: None,
            scheme: scheme.to_owned(),
        }
    }

    pub(super) fn of_s3(settings: S3Settings, scheme: &str) -> Self {
        Self {
            store: OnceCell::new(),
            unplaced: Some(settings),
            scheme: scheme.to_owned(),
        }
    }

    async fn store(&self) -> Result<&Arc<dyn ObjectStore>, FileError> {
        let make = || async {
            match &self.unplaced {
                Some(settings) => settings.store().await,
                None => Err(FileError::failed(&self.scheme, "no store")),
            }
        };
        self.store.get_or_try_init(make).await
    }

    pub(super) async fn status(&self, path: &FilePath) -> Result<FileStatus, FileError> {
        let key = self.key(path)?;
        match self.store().await?.head(&key).await {
            Ok(found) => Ok(FileStatus {
                path: path.clone(),
                length: found.size,
                is_dir: false,
                modified: found.last_modified.timestamp_millis(),
            }),
            // A directory is what other names begin with.
            Err(Error::NotFound { .. }) if self.is_dir(&key, path).await? => Ok(FileStatus {
                path: path.clone(),
                length: 0,
                is_dir: true,
                modified: 0,
            }),
            Err(error) => Err(failure(&self.scheme, path, error)),
        }
    }

    async fn is_dir(&self, key: &Path, path: &FilePath) -> Result<bool, FileError> {
        let found = self.below(key, path).await?;
        Ok(!found.common_prefixes.is_empty() || !found.objects.is_empty())
    }

    async fn below(&self, key: &Path, dir: &FilePath) -> Result<ListResult, FileError> {
        let found = self.store().await?.list_with_delimiter(Some(key)).await;
        found.map_err(|error| failure(&self.scheme, dir, error))
    }

    pub(super) async fn list(&self, dir: &FilePath) -> Result<Vec<FileStatus>, FileError> {
        let key = self.key(dir)?;
        let found = self.below(&key, dir).await?;
        let dirs = found.common_prefixes.iter().map(|prefix| FileStatus {
            path: dir.child(prefix.filename().unwrap_or_default()),
            length: 0,
            is_dir: true,
            modified: 0,
        });
        // Directories may be objects without content: `dir/`, which is listed as `dir`, or one of the directory's name.
        let marks = |object: &&ObjectMeta| {
            object.size == 0
                && (object.location == key || found.common_prefixes.contains(&object.location))
        };
        let objects = found.objects.iter().filter(|object| !marks(object));
        let files = objects.map(|object| FileStatus {
            path: dir.child(object.location.filename().unwrap_or_default()),
            length: object.size,
            is_dir: false,
            modified: object.last_modified.timestamp_millis(),
        });
        Ok(dirs.chain(files).collect())
    }

    /// Begins an object, of which nothing is there until it ends.
    pub(super) async fn create(&self, path: &FilePath) -> Result<BufWriter, FileError> {
        let (store, key) = (self.store().await?, self.key(path)?);
        let writer = BufWriter::with_capacity(Arc::clone(store), key, PART);
        Ok(writer.with_max_concurrency(PARTS_AT_ONCE))
    }

    /// Makes the objects below a name those below another, in the place of whatever is there: copies, as S3A's
    /// `rename` makes them.
    pub(super) async fn replace_dir(
        &self,
        from: &FilePath,
        to: &FilePath,
    ) -> Result<(), FileError> {
        self.remove_dir(to).await?;
        self.merge_dir(from, to).await
    }

    /// Moves the objects below a name to below another, over those that are there.
    pub(super) async fn merge_dir(&self, from: &FilePath, to: &FilePath) -> Result<(), FileError> {
        let (store, below) = (self.store().await?, self.key(from)?);
        let found: Vec<ObjectMeta> = {
            let found = store.list(Some(&below)).try_collect().await;
            found.map_err(|error| failure(&self.scheme, from, error))?
        };
        let failed = |error| failure(&self.scheme, to, error);
        let target = self.key(to)?;
        let copies = found.iter().map(|object| async {
            let name = object.location.as_ref().strip_prefix(below.as_ref());
            let key = Path::parse(format!("{target}{}", name.unwrap_or_default()))?;
            store.copy(&object.location, &key).await
        });
        let copies = stream::iter(copies).buffer_unordered(COPIES_AT_ONCE);
        copies.try_collect::<()>().await.map_err(failed)?;
        self.remove(found).await.map_err(failed)
    }

    /// Gives an object another name, unless there is one of that name: then that one stays, and this one goes.
    pub(super) async fn rename_file(
        &self,
        from: &FilePath,
        to: &FilePath,
    ) -> Result<(), FileError> {
        let store = self.store().await?;
        let (source, target) = (self.key(from)?, self.key(to)?);
        match store.head(&target).await {
            Ok(_) => {}
            Err(Error::NotFound { .. }) => {
                let copied = store.copy(&source, &target).await;
                copied.map_err(|error| failure(&self.scheme, from, error))?;
            }
            Err(error) => return Err(failure(&self.scheme, to, error)),
        }
        self.remove_file(from).await
    }

    /// Removes an object.
    pub(super) async fn remove_file(&self, path: &FilePath) -> Result<(), FileError> {
        let removed = self.store().await?.delete(&self.key(path)?).await;
        removed.map_err(|error| failure(&self.scheme, path, error))
    }

    /// Removes the objects below a name.
    pub(super) async fn remove_dir(&self, dir: &FilePath) -> Result<(), FileError> {
        let below = self.key(dir)?;
        let found = self.store().await?.list(Some(&below)).try_collect().await;
        let removed = match found {
            Ok(found) => self.remove(found).await,
            Err(error) => Err(error),
        };
        removed.map_err(|error| failure(&self.scheme, dir, error))
    }

    async fn remove(&self, objects: Vec<ObjectMeta>) -> object_store::Result<()> {
        let Some(store) = self.store.get() else {
            return Ok(());
        };
        let keys = objects.into_iter().map(|object| Ok(object.location));
        let removed = store.delete_stream(stream::iter(keys).boxed());
        removed.map_ok(drop).try_collect::<()>().await
    }

    /// Opens an object and asks for a part of it, as far as it has one. If the part is empty, only for its length.
    pub(super) async fn open(
        &self,
        path: &FilePath,
        wanted: &Range<u64>,
    ) -> Result<(ObjectFile, Option<Chunks>), FileError> {
        let key = self.key(path)?;
        let range = match wanted {
            wanted if wanted.is_empty() => None,
            // Nobody knew the length, and servers' numbers are signed.
            Range { start, end } if *end > i64::MAX as u64 => Some(GetRange::Offset(*start)),
            wanted => Some(GetRange::Bounded(wanted.clone())),
        };
        let options = GetOptions {
            head: range.is_none(),
            range,
            ..GetOptions::default()
        };
        let head = options.head;
        let store = self.store().await?;
        let found = store.get_opts(&key, options).await;
        let found = found.map_err(|error| failure(&self.scheme, path, error))?;
        let file = ObjectFile {
            store: Arc::clone(store),
            scheme: self.scheme.clone(),
            path: key,
            length: found.meta.size,
            tag: found.meta.e_tag.clone(),
        };
        let chunks = (!head).then(|| chunks(found, self.scheme.clone()));
        Ok((file, chunks))
    }

    fn key(&self, path: &FilePath) -> Result<Path, FileError> {
        Path::parse(path.path.trim_start_matches('/')).map_err(|_| {
            FileError::unsupported(format!("files of {}: with such names", self.scheme))
        })
    }
}

impl ObjectFile {
    pub(super) fn scheme(&self) -> &str {
        &self.scheme
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The bytes of a range within the object.
    pub(super) fn chunks(&self, range: &Range<u64>) -> Chunks {
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        let (scheme, options) = (self.scheme.clone(), self.options(range));
        let found = async move {
            match store.get_opts(&path, options).await {
                Ok(found) => chunks(found, scheme),
                Err(error) => {
                    let error = FileError::failed(&scheme, without_queries(&error));
                    futures_util::stream::iter([Err(error)]).boxed()
                }
            }
        };
        futures_util::stream::once(found).flatten().boxed()
    }

    /// A file does not change while it is read.
    fn options(&self, range: &Range<u64>) -> GetOptions {
        GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.tag.clone(),
            ..GetOptions::default()
        }
    }
}

fn chunks(found: GetResult, scheme: String) -> Chunks {
    let chunks = found.into_stream();
    let chunks = chunks.map(move |chunk| {
        chunk.map_err(|error| FileError::failed(&scheme, without_queries(&error)))
    });
    chunks.boxed()
}

fn failure(scheme: &str, path: &FilePath, error: Error) -> FileError {
    match error {
        Error::NotFound { .. } => FileError::NotFound(path.to_string().into()),
        error => FileError::failed(scheme, without_queries(&error)),
    }
}

/// The text of an error without the queries of URLs in it: they may hold signatures.
pub(super) fn without_queries(error: &dyn Display) -> String {
    let text = error.to_string();
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, query)) = rest.split_once('?') {
        clean.push_str(before);
        let end = query.find([' ', ')', '"', '\n']).unwrap_or(query.len());
        rest = query.get(end..).unwrap_or_default();
    }
    clean.push_str(rest);
    clean
}

/// How stores are asked.
pub(super) fn retry() -> RetryConfig {
    RetryConfig {
        max_retries: RETRIES,
        retry_timeout: RETRY_TIMEOUT,
        ..RetryConfig::default()
    }
}

/// Makes clients as Hadoop's would be: the environment's proxies do not count, and a long file may take long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        client()
            .map(HttpClient::new)
            .map_err(|error| Error::Generic {
                store: "HTTP",
                source: Box::new(error),
            })
    }
}

/// What clients of web servers are made from: no proxy, and the machine's certificates.
pub fn http_client() -> reqwest::ClientBuilder {
    // Only the first call has an effect.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().http1_only()
}

/// A client of object stores.
pub(super) fn client() -> reqwest::Result<reqwest::Client> {
    http_client()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .build()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use object_store::memory::InMemory;
    use tokio::runtime::Runtime;

    use super::*;
    use crate::cancel::Cancellation;
    use crate::files::reader::{FileInput, Opened, Remote};

    fn bucket(runtime: &Runtime, objects: &[(&str, &[u8])]) -> Objects {
        let store = Arc::new(InMemory::new());
        for (name, content) in objects {
            let name = Path::parse(name).unwrap();
            let put = store.put(&name, content.to_vec().into());
            runtime.block_on(put).unwrap();
        }
        Objects::new(store, "s3a")
    }

    fn path(name: &str) -> FilePath {
        FilePath::parse(&format!("s3a://b/{name}"))
    }

    fn input(runtime: &Runtime, objects: &Objects, name: &str, wanted: Range<u64>) -> FileInput {
        let path = path(name);
        let opened = objects.open(&path, &wanted);
        let (file, begun) = runtime.block_on(opened).unwrap();
        FileInput::remote(Remote::new(
            Opened::Object(file),
            wanted,
            begun,
            runtime.handle(),
            &Cancellation::default(),
        ))
    }

    #[test]
    fn reading_goes_on_behind_the_part_that_was_wanted() {
        let runtime = Runtime::new().unwrap();
        let content: Vec<u8> = (0..10_000_000_u32).map(|n| (n % 251) as u8).collect();
        let objects = bucket(&runtime, &[("dir/a b", &content), ("empty", b"")]);
        for wanted in [0..0, 0..10, 5..10_000_000, 77..9_999_999, 3..u64::MAX] {
            let mut input = input(&runtime, &objects, "dir/a b", wanted.clone());
            assert_eq!(input.length().unwrap(), 10_000_000);
            let mut read = Vec::new();
            input.read_to_end(&mut read).unwrap();
            assert!(read == content[wanted.start as usize..], "{wanted:?}");
        }
        let mut empty = input(&runtime, &objects, "empty", 0..0);
        assert_eq!(empty.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn objects_are_listed_as_files_and_directories() {
        let runtime = Runtime::new().unwrap();
        let content: [(_, &[u8]); 4] = [("d/x", b"1"), ("d/e", b""), ("d/e/y", b"22"), ("z", b"")];
        let objects = bucket(&runtime, &content);
        let status = |name| runtime.block_on(objects.status(&path(name)));
        assert_eq!(status("d/x").map(|s| (s.length, s.is_dir)), Ok((1, false)));
        assert_eq!(status("d").map(|s| s.is_dir), Ok(true));
        let gone = FileError::NotFound("s3a://b/nothing".into());
        assert_eq!(status("nothing"), Err(gone.clone()));
        let listed = runtime.block_on(objects.list(&path("d"))).unwrap();
        let listed: Vec<_> = listed
            .iter()
            .map(|s| (s.path.to_string(), s.is_dir))
            .collect();
        let expected = [("s3a://b/d/e", true), ("s3a://b/d/x", false)];
        assert_eq!(listed, expected.map(|(path, dir)| (path.to_owned(), dir)));
        let opened = runtime.block_on(objects.open(&path("nothing"), &(0..1)));
        assert_eq!(opened.err(), Some(gone));
        let odd = runtime.block_on(objects.status(&path("a/../b"))).err();
        assert!(matches!(odd, Some(FileError::Unsupported(_))));
    }

    #[test]
    fn a_killed_task_reads_no_further() {
        let runtime = Runtime::new().unwrap();
        let objects = bucket(&runtime, &[("x", b"12")]);
        let (file, _) = runtime.block_on(objects.open(&path("x"), &(0..2))).unwrap();
        let never = futures_util::stream::pending().boxed();
        let cancellation = Cancellation::default();
        let handle = runtime.handle();
        let remote = Remote::new(
            Opened::Object(file),
            0..2,
            Some(never),
            handle,
            &cancellation,
        );
        let mut input = FileInput::remote(remote);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            cancellation.cancel("enough");
        });
        let error = input.read(&mut [0; 2]).unwrap_err();
        let expected = FileError::Cancelled("enough".into());
        assert_eq!(FileError::of_io(&error), Some(&expected));
        killer.join().unwrap();
    }

    #[test]
    fn errors_show_no_signatures() {
        let text = "GET https://a/b?sig=secret failed (see https://c?x=y) twice";
        assert_eq!(
            without_queries(&text),
            "GET https://a/b failed (see https://c) twice"
        );
    }
}
