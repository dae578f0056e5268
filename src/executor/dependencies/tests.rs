mod archives;
mod web;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use wire::task_description::JobArtifactState;

use super::*;
use crate::files::Environment;
use crate::task::TaskException;
use crate::transport::{Body, Opening, Peer, RequestHandler, Server, TransportConf};

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A driver's file server: everything under `/files/` is the name repeated, or an archive.
#[derive(Default)]
struct Driver {
    asked: AtomicUsize,
    contents: HashMap<String, Vec<u8>>,
    stall: bool,
}

impl RequestHandler for Driver {
    fn open_stream(&self, _: Peer, stream_id: String) -> Opening {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let body = self.contents.get(&stream_id).cloned();
        let stall = self.stall;
        Opening::Begun(Box::pin(async move {
            if stall {
                std::future::pending::<()>().await;
            }
            let missing = format!("Stream '{stream_id}' was not found.");
            body.map(|body| Body::Bytes(body.into())).ok_or(missing)
        }))
    }
}

struct Place {
    dir: tempfile::TempDir,
    driver: Arc<Driver>,
    server: Server,
    dependencies: Dependencies,
}

impl Place {
    fn new(conf: &[(&str, &str)], contents: &[(&str, &[u8])]) -> Self {
        Self::with(
            conf,
            Driver {
                contents: contents
                    .iter()
                    .map(|(name, body)| (format!("/files/{name}"), body.to_vec()))
                    .collect(),
                ..Driver::default()
            },
        )
    }

    fn with(conf: &[(&str, &str)], driver: Driver) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let driver = Arc::new(driver);
        let server =
            Server::bind((LOCALHOST, 0), &TransportConf::default(), driver.clone()).unwrap();
        let dependencies = dependencies(conf, dir.path());
        Self {
            dir,
            driver,
            server,
            dependencies,
        }
    }

    fn url(&self, name: &str) -> String {
        format!(
            "spark://127.0.0.1:{}/files/{name}",
            self.server.local_addr().port()
        )
    }

    async fn update(&self, artifacts: &JobArtifactSet) -> Result<(), TaskError> {
        self.dependencies
            .update(artifacts, &Cancellation::default())
            .await
    }

    fn asked(&self) -> usize {
        self.driver.asked.load(Ordering::SeqCst)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn dependencies(conf: &[(&str, &str)], root: &Path) -> Dependencies {
    let mut properties = SparkProperties::default();
    for (key, value) in conf {
        properties.set(*key, *value);
    }
    let files = FileServer::new(TransportConf::default());
    let systems = FileSystems::new(
        Handle::current(),
        Arc::new(properties.clone()),
        Vec::new(),
        Environment::default(),
    );
    let root = root.to_owned();
    Dependencies::new(
        &properties,
        files,
        Arc::new(systems),
        root,
        Handle::current(),
    )
    .unwrap()
}

fn files(list: &[(String, i64)]) -> JobArtifactSet {
    JobArtifactSet {
        files: list.to_vec(),
        ..JobArtifactSet::default()
    }
}

fn archives(list: &[(String, i64)]) -> JobArtifactSet {
    JobArtifactSet {
        archives: list.to_vec(),
        ..JobArtifactSet::default()
    }
}

fn exception(result: Result<(), TaskError>) -> TaskException {
    match result {
        Err(TaskError::Exception(exception)) => exception,
        other => panic!("{other:?}"),
    }
}

/// Name, mode and content of each entry; directories end with a slash and have no content.
type Entry<'a> = (&'a str, u32, &'a str);

fn tar_of(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, mode, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_mode(*mode);
        header.set_mtime(1_600_000_000);
        match content.strip_prefix("-> ") {
            Some(link) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                builder.append_link(&mut header, name, link).unwrap();
            }
            None if content.starts_with("=> ") => {
                header.set_entry_type(tar::EntryType::Link);
                header.set_size(0);
                builder
                    .append_link(&mut header, name, &content[3..])
                    .unwrap();
            }
            None if name.ends_with('/') => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_size(0);
                builder.append_data(&mut header, name, io::empty()).unwrap();
            }
            None => {
                header.set_size(content.len() as u64);
                // `set_path` refuses what is tested here.
                header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
                header.set_cksum();
                builder.append(&header, content.as_bytes()).unwrap();
            }
        }
    }
    builder.into_inner().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zip_of(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, mode, content) in entries {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(*mode);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_come_once_per_timestamp_whoever_asks() {
    let place = Place::new(&[], &[("a b.py", b"x = 1"), ("c.txt", b"c")]);
    let wanted = files(&[(place.url("a%20b.py"), 10), (place.url("c.txt"), 5)]);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (dependencies, wanted) = (place.dependencies.clone(), wanted.clone());
            tokio::spawn(
                async move { dependencies.update(&wanted, &Cancellation::default()).await },
            )
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(place.asked(), 2);
    assert_eq!(place.read("a b.py"), "x = 1");
    assert_eq!(place.names(), ["a b.py", "c.txt"]);
    let mode = fs::metadata(place.dir.path().join("a b.py"))
        .unwrap()
        .mode();
    assert_eq!(mode & 0o111, 0o111, "{mode:o}");
    assert_eq!(place.dependencies.held().files, wanted.files);

    // Older is here already, newer is fetched, and the same content is no conflict.
    place
        .update(&files(&[(place.url("c.txt"), 4)]))
        .await
        .unwrap();
    assert_eq!(place.asked(), 2);
    place
        .update(&files(&[(place.url("c.txt"), 6)]))
        .await
        .unwrap();
    assert_eq!(place.asked(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_content_under_the_same_name_is_sparks_error() {
    for overwrite in [false, true] {
        let conf: &[_] = if overwrite {
            &[("spark.files.overwrite", "true")]
        } else {
            &[]
        };
        let place = Place::new(conf, &[("c.txt", b"new")]);
        fs::write(place.dir.path().join("c.txt"), "old").unwrap();
        let wanted = files(&[(place.url("c.txt"), 1)]);
        let done = place.update(&wanted).await;
        if overwrite {
            done.unwrap();
            assert_eq!(place.read("c.txt"), "new");
            continue;
        }
        let error = exception(done);
        assert_eq!(error.class_name, "org.apache.spark.SparkException");
        let shown = place.dir.path().join("c.txt");
        let url = place.url("c.txt");
        assert_eq!(
            error.message,
            format!(
                "File {} exists and does not match contents of {url}",
                shown.display()
            )
        );
        assert_eq!(place.names(), ["c.txt"]);
        assert_eq!(place.dependencies.held(), HeldDependencies::default());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_does_not_have_fails_the_task() {
    let place = Place::new(&[], &[("here", b"1")]);
    let gone = place.url("gone");
    let error = exception(
        place
            .update(&files(&[(place.url("here"), 1), (gone.clone(), 1)]))
            .await,
    );
    assert_eq!(error.class_name, "java.io.IOException");
    assert_eq!(
        error.message,
        format!("{gone}: Stream '/files/gone' was not found.")
    );
    assert_eq!(
        place.names(),
        ["here"],
        "what came before the failure stays"
    );
    assert_eq!(place.dependencies.held().files.len(), 1);
    let mut again = String::new();
    let here = place.dependencies.open_fetched(&place.url("here"));
    here.unwrap().read_to_string(&mut again).unwrap();
    assert_eq!(again, "1");
    assert!(place.dependencies.open_fetched(&gone).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_schemes_are_for_the_jvm_before_anything_is_fetched() {
    let place = Place::new(
        &[("spark.executor.extraJavaOptions", "-Dhttps.proxyHost=p")],
        &[("a", b"1")],
    );
    for (url, reason) in [
        (
            "hdfs://nn/x.txt",
            "files of other machines with Java's proxyHost",
        ),
        ("ftp://h/x.txt", "files of ftp:"),
        (
            "https://h/x.txt",
            "files of scheme https with Java's network settings",
        ),
    ] {
        let wanted = files(&[(place.url("a"), 1), (url.to_owned(), 1)]);
        assert_eq!(
            place.update(&wanted).await,
            Err(TaskError::BailOut(reason.to_owned()))
        );
        assert_eq!(place.asked(), 0);
    }
    let jars = JobArtifactSet {
        jars: vec![("hdfs://nn/x.jar".to_owned(), 1)],
        ..JobArtifactSet::default()
    };
    place.update(&jars).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_files_are_copied() {
    let place = Place::new(&[], &[]);
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("a b"), "1").unwrap();
    fs::create_dir(source.path().join("tree")).unwrap();
    fs::write(source.path().join("tree/leaf"), "2").unwrap();
    let base = source.path().display();
    let wanted = files(&[
        (format!("file:{base}/a%20b"), 1),
        (format!("local:{base}/tree"), 1),
    ]);
    place.update(&wanted).await.unwrap();
    assert_eq!(
        (place.read("a b"), place.read("tree/leaf")),
        ("1".into(), "2".into())
    );
    let missing = format!("file://{base}/none");
    let error = exception(place.update(&files(&[(missing, 1)])).await);
    assert_eq!(error.class_name, "java.nio.file.NoSuchFileException");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tar_files_of_add_file_are_unpacked_where_they_are() {
    let tree = tar_of(&[
        ("d/", 0o755, ""),
        ("d/run", 0o750, "#!"),
        ("top", 0o600, "t"),
        ("hard", 0o750, "=> d/run"),
    ]);
    let evil = tar_of(&[("../evil", 0o644, "x")]);
    let place = Place::new(
        &[],
        &[
            ("x.tar", &tree),
            ("y.tgz", &gz(&tree)),
            ("z.tar", &gz(&tree)),
            ("evil.tar.gz", &gz(&evil)),
            ("e.zip", b"no zip"),
        ],
    );
    for name in ["x.tar", "y.tgz", "z.tar"] {
        place.update(&files(&[(place.url(name), 1)])).await.unwrap();
        assert_eq!(place.names(), ["d", "hard", "top", name]);
        assert_eq!(place.read("d/run"), "#!");
        let mode = fs::metadata(place.dir.path().join("d/run")).unwrap().mode();
        assert_eq!(mode & 0o700, 0o700);
        let (hard, run) = (
            place.dir.path().join("hard"),
            place.dir.path().join("d/run"),
        );
        assert_eq!(
            fs::metadata(hard).unwrap().ino(),
            fs::metadata(run).unwrap().ino()
        );
        // All else is unpacked over what is there.
        fs::remove_file(place.dir.path().join(name)).unwrap();
    }
    let error = exception(place.update(&files(&[(place.url("evil.tar.gz"), 1)])).await);
    assert!(
        error
            .message
            .starts_with("expanding ../evil would create entry outside of"),
        "{}",
        error.message
    );
    // Zip files of addFile and addPyFile stay as they are.
    place
        .update(&files(&[(place.url("e.zip"), 1)]))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archives_are_unpacked_under_their_alias() {
    let entries = [("bin/run", 0o755, "#!"), ("lib/m.py", 0o644, "m = 1")];
    let (tar, zip) = (tar_of(&entries), zip_of(&entries));
    let place = Place::new(
        &[],
        &[
            ("e.tar", &tar),
            ("e.tar.gz", &gz(&tar)),
            ("E.TGZ", &gz(&tar)),
            ("e.zip", &zip),
            ("e.jar", &zip),
            ("plain.txt", b"p"),
        ],
    );
    for (name, keeps_modes) in [
        ("e.tar", false),
        ("e.tar.gz", true),
        ("E.TGZ", true),
        ("e.zip", true),
        ("e.jar", false),
    ] {
        place
            .update(&archives(&[(place.url(name) + "#env", 1)]))
            .await
            .unwrap();
        assert_eq!(place.names(), ["env"], "{name}");
        assert_eq!(place.read("env/lib/m.py"), "m = 1", "{name}");
        let mode = fs::metadata(place.dir.path().join("env/bin/run"))
            .unwrap()
            .mode();
        assert_eq!(mode & 0o100 != 0, keeps_modes, "{name} {mode:o}");
        fs::remove_dir_all(place.dir.path().join("env")).unwrap();
    }
    place
        .update(&archives(&[
            (place.url("e.zip"), 1),
            (place.url("plain.txt"), 1),
        ]))
        .await
        .unwrap();
    assert_eq!(place.names(), ["e.zip", "plain.txt"]);
    assert_eq!(place.read("e.zip/lib/m.py"), "m = 1");

    // Again, with a newer timestamp: what is in use stays.
    let inode = || fs::metadata(place.dir.path().join("e.zip")).unwrap().ino();
    let before = inode();
    place
        .update(&archives(&[(place.url("e.zip"), 2)]))
        .await
        .unwrap();
    assert_eq!(inode(), before);
    assert_eq!(place.dependencies.held().archives.len(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archives_that_leave_their_directory_are_refused() {
    let zip = zip_of(&[("ok", 0o644, ""), ("a/../../evil", 0o644, "x")]);
    let up = tar_of(&[("a/../../evil", 0o644, "x")]);
    let link = tar_of(&[("l", 0o777, "-> /"), ("l/evil", 0o644, "x")]);
    let place = Place::new(
        &[],
        &[
            ("zip.zip", &zip),
            ("up.tar", &up),
            ("up.tgz", &gz(&up)),
            ("link.tar", &link),
            ("link.tgz", &gz(&link)),
            ("no.zip", b"??"),
            ("no.tgz", b"??"),
        ],
    );
    for (name, start) in [
        (
            "zip.zip",
            "expanding a/../../evil would create file outside of ",
        ),
        (
            "up.tar",
            "expanding a/../../evil would create entry outside of ",
        ),
        (
            "up.tgz",
            "expanding a/../../evil would create entry outside of ",
        ),
        ("link.tar", "expanding l would create entry outside of "),
        ("link.tgz", "Error untarring file: "),
        ("no.zip", "invalid Zip archive"),
        ("no.tgz", "Error untarring file: "),
    ] {
        let error = exception(place.update(&archives(&[(place.url(name), 1)])).await);
        assert!(
            error.message.starts_with(start),
            "{name}: {}",
            error.message
        );
        assert!(place.names().is_empty(), "{name}");
    }
    assert!(!Path::new("/evil").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_have_directories_of_their_own() {
    let place = Place::new(&[], &[("a", b"1")]);
    let session = |uuid: &str| JobArtifactSet {
        state: Some(JobArtifactState {
            uuid: uuid.to_owned(),
            repl_class_dir_uri: None,
        }),
        ..files(&[(place.url("a"), 1)])
    };
    place.update(&session("s1")).await.unwrap();
    place.update(&session("s2")).await.unwrap();
    place.update(&session("default")).await.unwrap();
    assert_eq!(place.names(), ["a", "s1", "s2"]);
    assert_eq!(place.read("s1/a"), "1");
    assert_eq!(
        place.dependencies.directory(&session("s1")).unwrap(),
        place.dir.path().join("s1")
    );
    // The JVM forgot the session and removed its directory.
    fs::remove_dir_all(place.dir.path().join("s1")).unwrap();
    // Another session's is the same file.
    assert!(place.dependencies.open_fetched(&place.url("a")).is_some());
    place.update(&session("s1")).await.unwrap();
    assert_eq!(place.read("s1/a"), "1");
    assert_eq!(
        exception(place.update(&session("../x")).await).class_name,
        "java.io.IOException"
    );
    for other in 0..MAX_SESSIONS.get() {
        place
            .update(&JobArtifactSet {
                files: vec![],
                ..session(&format!("n{other}"))
            })
            .await
            .unwrap();
    }
    assert_eq!(
        place.dependencies.shared.sessions.lock().by_id.len(),
        MAX_SESSIONS.get()
    );
    assert_eq!(place.dependencies.held().files.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_task_waits_no_longer_and_leaves_nothing() {
    let driver = Driver {
        stall: true,
        ..Driver::default()
    };
    let place = Place::with(&[], driver);
    let wanted = files(&[(place.url("a"), 1)]);
    let (fetching, waiting) = (Cancellation::default(), Cancellation::default());
    let start = |switch: &Cancellation| {
        let (dependencies, wanted, switch) =
            (place.dependencies.clone(), wanted.clone(), switch.clone());
        tokio::spawn(async move { dependencies.update(&wanted, &switch).await })
    };
    let first = start(&fetching);
    while place.asked() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = start(&waiting);
    waiting.cancel("not needed");
    assert_eq!(
        second.await.unwrap(),
        Err(TaskError::Killed("not needed".into()))
    );
    fetching.cancel("stage cancelled");
    assert_eq!(
        first.await.unwrap(),
        Err(TaskError::Killed("stage cancelled".into()))
    );
    assert!(place.names().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executors_on_one_host_download_once() {
    let place = Place::new(
        &[],
        &[("a", b"1"), ("e.zip", &zip_of(&[("f", 0o644, "2")]))],
    );
    let cache = tempfile::tempdir().unwrap();
    let wanted = JobArtifactSet {
        files: vec![(place.url("a"), 1)],
        archives: vec![(place.url("e.zip") + "#env", 1)],
        ..JobArtifactSet::default()
    };
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let runs: Vec<_> = dirs
        .iter()
        .map(|dir| {
            let shown = cache.path().display().to_string();
            let dependencies = dependencies(&[], dir.path()).with_shared_cache(|key| {
                (key == "SPARK_EXECUTOR_DIRS").then(|| format!("{shown}:/other"))
            });
            let wanted = wanted.clone();
            tokio::spawn(
                async move { dependencies.update(&wanted, &Cancellation::default()).await },
            )
        })
        .collect();
    for run in runs {
        run.await.unwrap().unwrap();
    }
    assert_eq!(place.asked(), 2);
    for dir in &dirs {
        assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "1");
        assert_eq!(fs::read_to_string(dir.path().join("env/f")).unwrap(), "2");
    }
    let own = dependencies(&[("spark.files.useFetchCache", "false")], place.dir.path())
        .with_shared_cache(|key| {
            (key == "SPARK_EXECUTOR_DIRS").then(|| cache.path().display().to_string())
        });
    own.update(&wanted, &Cancellation::default()).await.unwrap();
    assert_eq!(place.asked(), 4);
}
