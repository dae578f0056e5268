//! The jvm lane against real JVMs and real Spark distributions, with a scripted executor in the place of ours.
//!
//! A JVM exists once per process and ends it, so every case runs in a child process: this program again, with the
//! case's name in its environment. The scripted side answers from frames that real drivers sent.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test without libtest's attributes"
)]

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use firesteel::lanes::jvm::JvmLane;
use firesteel::task::jvm::{
    AfterExit, Bootstrap, Jvm as _, JvmBlock, JvmConfig, JvmError, JvmHost,
};
use testkit::{Distribution, NEWEST, OLDEST, VERSIONS, from_hex, recorded_frames};
use wire::envelope::RequestEnvelope;

const PATIENCE: Duration = Duration::from_secs(60);
const VERSION: &str = "FIRESTEEL_TEST_VERSION";
const CASE: &str = "FIRESTEEL_TEST_CASE";
const DIR: &str = "FIRESTEEL_TEST_DIR";
/// Written by the exit hook, with the code it was told.
const HOOK: &str = "exit-hook";
/// Exit code of cases that end without the JVM's help.
const NO_HOOK: i32 = 3;

/// Name, body, exit code that the process has to end with.
type Case = (&'static str, fn(&mut Scripted), i32);

/// Run with every version.
const CASES: [Case; 1] = [("work_and_stop", work_and_stop, 0)];
/// Run with the oldest and the newest version.
const EDGE_CASES: [Case; 10] = [
    ("yarn_backend", yarn_backend, 0),
    ("kubernetes_backend", kubernetes_backend, 0),
    ("system_exit_reaches_the_hook", system_exit, 7),
    // Spark's backend stops its executor and returns from main; code 1 only comes when there is no executor yet.
    ("lost_driver_ends_as_in_spark", lost_driver, 0),
    ("sigterm_runs_the_hooks", sigterm, 143),
    ("out_of_memory_has_sparks_code", out_of_memory, 52),
    ("unknown_backend_is_reported", unknown_backend, NO_HOOK),
    ("bad_option_is_reported", bad_option, NO_HOOK),
    ("missing_bridge_is_reported", missing_bridge, NO_HOOK),
    ("impossible_heap_ends_with_last_words", impossible_heap, 1),
];

fn main() -> ExitCode {
    if let Ok(case) = std::env::var(CASE) {
        let (_, body, _) = CASES
            .iter()
            .chain(&EDGE_CASES)
            .find(|c| c.0 == case)
            .expect("known case");
        body(&mut Scripted::new());
        // Cases end inside the JVM; whoever comes here waits for that.
        std::thread::sleep(PATIENCE);
        return ExitCode::from(99);
    }
    let filter: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let mut failed = Vec::new();
    let mut count = 0;
    for version in VERSIONS {
        let edge = [OLDEST, NEWEST].contains(&version);
        for case in CASES.iter().chain(EDGE_CASES.iter().filter(|_| edge)) {
            let name = format!("{}_{version}", case.0);
            if !filter.is_empty() && !filter.iter().any(|f| name.contains(f)) {
                continue;
            }
            count += 1;
            match child(case, version) {
                Ok(()) => println!("test {name} ... ok"),
                Err(output) => {
                    println!("test {name} ... FAILED\n{output}");
                    failed.push(name);
                }
            }
        }
    }
    println!("\n{} of {count} failed {failed:?}", failed.len());
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn child(case: &Case, version: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let output = Command::new(std::env::current_exe().map_err(|e| e.to_string())?)
        .env(CASE, case.0)
        .env(VERSION, version)
        .env(DIR, dir.path())
        .env("SPARK_LOCAL_DIRS", dir.path().join("roots"))
        .current_dir(dir.path())
        .output()
        .map_err(|e| e.to_string())?;
    let code = output.status.code();
    let hook = std::fs::read_to_string(dir.path().join(HOOK)).ok();
    let expected = (case.2 != NO_HOOK).then(|| case.2.to_string());
    if code == Some(case.2) && hook == expected {
        return Ok(());
    }
    Err(format!(
        "ended with {:?} instead of {}; exit hook: {hook:?}\n{}{}",
        output.status,
        case.2,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// What the lane told its host.
#[derive(Debug)]
enum Seen {
    Started,
    Failed(String),
    Tell(String),
    Reply(i64, Result<Vec<u8>, String>),
    Block(i64, JvmBlock),
    Uploaded(i64, Result<Vec<u8>, String>),
}

struct Host {
    seen: Mutex<Sender<Seen>>,
    lane: OnceLock<JvmLane>,
    bootstrap: Bootstrap,
    /// Message class -> the object stream a real driver answered.
    answers: HashMap<String, Bytes>,
    streams: Mutex<HashMap<i64, (Vec<u8>, usize)>>,
    opened: Mutex<Vec<String>>,
    closed: Mutex<HashSet<i64>>,
    dir: PathBuf,
}

impl Host {
    fn see(&self, seen: Seen) {
        self.seen.lock().unwrap().send(seen).unwrap();
    }
}

/// The class of the message in an envelope.
fn class_of(envelope: &[u8]) -> String {
    let envelope = RequestEnvelope::read(&Bytes::copy_from_slice(envelope)).unwrap();
    root_class(&envelope.content).to_owned()
}

/// Class of a stream's root object: header, TC_OBJECT, TC_CLASSDESC, length, name.
fn root_class(stream: &[u8]) -> &str {
    assert_eq!(stream[..6], [0xac, 0xed, 0, 5, 0x73, 0x72]);
    let len = usize::from(u16::from_be_bytes([stream[6], stream[7]]));
    std::str::from_utf8(&stream[8..8 + len]).unwrap()
}

impl JvmHost for Host {
    fn next_rows(&self, _: i64) -> Option<Vec<u8>> {
        None
    }
    fn rows_done(&self, _: i64, _: Result<Vec<u8>, String>) {}
    fn evaluator_ended(&self, _: i64, _: Option<String>) {}
    fn tell(&self, envelope: Vec<u8>) {
        self.see(Seen::Tell(class_of(&envelope)));
    }
    fn ask(&self, id: i64, envelope: Vec<u8>) {
        let class = class_of(&envelope);
        let lane = self.lane.wait();
        match self.answers.get(&class) {
            Some(answer) => lane.ask_reply(id, answer.clone()),
            None => lane.ask_failure(id, "not in the script"),
        }
    }
    fn reply(&self, request_id: i64, content: Result<Vec<u8>, String>) {
        self.see(Seen::Reply(request_id, content));
    }
    fn block(&self, request_id: i64, body: JvmBlock) {
        self.see(Seen::Block(request_id, body));
    }
    fn uploaded(&self, request_id: i64, result: Result<Vec<u8>, String>) {
        self.see(Seen::Uploaded(request_id, result));
    }
    fn open_stream(&self, uri: &str) -> Result<i64, String> {
        let mut opened = self.opened.lock().unwrap();
        opened.push(uri.to_owned());
        if !uri.contains("/jars/") {
            return Err(format!("Stream '{uri}' was not found."));
        }
        let handle = opened.len() as i64;
        let content = jar_content();
        self.streams.lock().unwrap().insert(handle, (content, 0));
        Ok(handle)
    }
    fn read_stream(&self, handle: i64, buf: &mut [u8]) -> Result<usize, String> {
        let mut streams = self.streams.lock().unwrap();
        let (content, position) = streams.get_mut(&handle).ok_or("no such stream")?;
        let n = buf.len().min(content.len() - *position).min(10_000);
        buf[..n].copy_from_slice(&content[*position..*position + n]);
        *position += n;
        Ok(n)
    }
    fn close_stream(&self, handle: i64) {
        self.closed.lock().unwrap().insert(handle);
    }
    fn bootstrap(&self) -> Bootstrap {
        self.bootstrap.clone()
    }
    fn started(&self) {
        self.see(Seen::Started);
    }
    fn failed(&self, message: String) {
        self.see(Seen::Failed(message));
    }
    fn aborting(&self) {
        // The code that such a JVM ends with.
        self.exiting(1);
    }
    fn exiting(&self, code: i32) -> AfterExit {
        std::fs::write(self.dir.join(HOOK), code.to_string()).unwrap();
        AfterExit::EndProcess
    }
}

/// More than one read of Spark's copy loop, and not a multiple of it.
fn jar_content() -> Vec<u8> {
    (0..100_001_u32).map(|i| (i % 251) as u8).collect()
}

struct Scripted {
    version: String,
    dir: PathBuf,
    host: Arc<Host>,
    config: JvmConfig,
    seen: Receiver<Seen>,
    /// Kept while waiting for something else.
    later: Vec<Seen>,
    requests: HashMap<String, Bytes>,
}

impl Scripted {
    fn new() -> Self {
        let version = std::env::var(VERSION).unwrap();
        let dir = PathBuf::from(std::env::var_os(DIR).unwrap());
        let local = dir.join("native/blockmgr-1");
        std::fs::create_dir_all(&local).unwrap();
        let (answers, requests) = vectors(&version);
        let retrieve = &requests["RetrieveSparkAppConfig"];
        let driver = RequestEnvelope::read(retrieve).unwrap().receiver.unwrap();
        let (sender, seen) = channel();
        let host = Arc::new(Host {
            seen: Mutex::new(sender),
            lane: OnceLock::new(),
            bootstrap: Bootstrap {
                backend_class: "org.apache.spark.executor.CoarseGrainedExecutorBackend".into(),
                driver_url: format!(
                    "spark://CoarseGrainedScheduler@{}:{}",
                    driver.host, driver.port
                ),
                executor_id: "0".into(),
                bind_address: "127.0.0.1".into(),
                hostname: "127.0.0.1".into(),
                cores: 2,
                app_id: "app-20261121051333-0000".into(),
                resources_file: None,
                resource_profile_id: 0,
                pod_name: None,
                spark_app_config: answers
                    .get("org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RetrieveSparkAppConfig")
                    .unwrap()
                    .clone(),
                local_dirs: vec![local],
            },
            answers,
            streams: Mutex::default(),
            opened: Mutex::default(),
            closed: Mutex::default(),
            dir: dir.clone(),
        });
        Self {
            config: jvm_config(&version, &dir),
            version,
            dir,
            host,
            seen,
            later: Vec::new(),
            requests,
        }
    }

    fn start(&self) -> JvmLane {
        let host: Arc<dyn JvmHost> = self.host.clone();
        let lane = JvmLane::start(self.config.clone(), host).unwrap();
        self.host.lane.set(lane.clone()).unwrap();
        lane
    }

    /// The first thing seen, now or later, that the function accepts.
    fn wait<T>(&mut self, what: &str, accept: impl Fn(&Seen) -> Option<T>) -> T {
        if let Some(i) = self.later.iter().position(|s| accept(s).is_some()) {
            let seen = self.later.remove(i);
            return accept(&seen).unwrap();
        }
        loop {
            let seen = self
                .seen
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("{what} did not come; seen: {:?}", self.later));
            if let Some(value) = accept(&seen) {
                return value;
            }
            if let Seen::Failed(text) = &seen {
                panic!("waiting for {what}: {text}");
            }
            self.later.push(seen);
        }
    }

    fn ready(&mut self) -> JvmLane {
        let lane = self.start();
        self.wait("started", |s| matches!(s, Seen::Started).then_some(()));
        self.wait("LaunchedExecutor", |s| {
            matches!(s, Seen::Tell(c) if c.ends_with("$LaunchedExecutor")).then_some(())
        });
        lane
    }

    fn reply(&mut self, id: i64) -> Result<Vec<u8>, String> {
        self.wait("a reply", |s| match s {
            Seen::Reply(i, r) if *i == id => Some(r.clone()),
            _ => None,
        })
    }

    fn uploaded(&mut self, id: i64) -> Result<Vec<u8>, String> {
        self.wait("an upload's answer", |s| match s {
            Seen::Uploaded(i, r) if *i == id => Some(r.clone()),
            _ => None,
        })
    }

    /// The block's bytes and, for a file, where it is.
    fn block(&mut self, id: i64) -> Result<(Vec<u8>, bool), String> {
        self.wait("a block", |s| match s {
            Seen::Block(i, JvmBlock::Bytes(b)) if *i == id => Some(Ok((b.clone(), false))),
            Seen::Block(i, JvmBlock::NotFound(t)) if *i == id => Some(Err(t.clone())),
            Seen::Block(i, JvmBlock::File { file, offset, len }) if *i == id => {
                let mut bytes = vec![0; *len as usize];
                file.read_exact_at(&mut bytes, *offset).unwrap();
                Some(Ok((bytes, true)))
            }
            _ => None,
        })
    }
}

fn work_and_stop(t: &mut Scripted) {
    let lane = t.ready();

    // Spark fetched the application's jar through the bridge, whole.
    let opened = t.host.opened.lock().unwrap().clone();
    assert_eq!(opened.len(), 1, "{opened:?}");
    assert!(opened[0].starts_with("spark://") && opened[0].contains("/jars/app-v"));
    let name = opened[0].rsplit('/').next().unwrap();
    let mut copy = Vec::new();
    std::fs::File::open(t.dir.join(name))
        .unwrap()
        .read_to_end(&mut copy)
        .unwrap();
    assert_eq!(copy, jar_content());
    assert_eq!(t.host.closed.lock().unwrap().len(), 1);

    // The JVM works in the executor's directories and left none of its own.
    let roots = std::fs::read_dir(t.dir.join("roots")).unwrap();
    let own: Vec<_> = roots
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.starts_with("blockmgr-"))
        .collect();
    assert_eq!(own, Vec::<String>::new());

    // A question of the driver.
    let remove = t.requests["RemoveBroadcast"].clone();
    lane.rpc_request(11, remove.clone());
    let reply = t.reply(11).unwrap();
    assert_eq!(root_class(&reply), "java.lang.Integer");
    let mut nobody = RequestEnvelope::read(&remove).unwrap();
    nobody.endpoint = "BlockManagerEndpoint9".into();
    lane.rpc_request(12, nobody.write().unwrap());
    let error = t.reply(12).unwrap_err();
    assert!(
        error.contains("Could not find BlockManagerEndpoint9"),
        "{error}"
    );
    let mut garbage = RequestEnvelope::read(&remove).unwrap();
    garbage.content = Bytes::from_static(&[0xac, 0xed, 0, 5, 0x73]);
    lane.rpc_request(13, garbage.write().unwrap());
    let error = t.reply(13).unwrap_err();
    assert!(error.contains("EOFException"), "{error}");

    // Blocks: into memory, onto disk, from a stream, and back.
    let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i * 7) as u8).collect();
    lane.upload(
        21,
        upload(&t.version, "rdd_1_0", Level::Memory, &bytes).into(),
    );
    assert_eq!(t.uploaded(21).unwrap(), Vec::<u8>::new());
    lane.get_block(22, &"rdd_1_0".parse().unwrap());
    assert_eq!(t.block(22).unwrap(), (bytes.clone(), false));
    // Twice: the first read gave its lock back.
    lane.get_block(23, &"rdd_1_0".parse().unwrap());
    assert_eq!(t.block(23).unwrap(), (bytes.clone(), false));

    lane.upload(
        24,
        upload(&t.version, "rdd_1_1", Level::Disk, &bytes).into(),
    );
    t.uploaded(24).unwrap();
    lane.get_block(25, &"rdd_1_1".parse().unwrap());
    assert_eq!(t.block(25).unwrap(), (bytes.clone(), true));
    assert!(find(&t.host.bootstrap.local_dirs[0], "rdd_1_1"));

    let file = t.dir.join("stream");
    std::fs::write(&file, &bytes).unwrap();
    let header = upload_stream(&t.version, "rdd_1_2", Level::Memory);
    lane.upload_stream(26, &header, &file);
    t.uploaded(26).unwrap();
    lane.get_block(27, &"rdd_1_2".parse().unwrap());
    assert_eq!(t.block(27).unwrap(), (bytes, false));

    lane.get_block(28, &"rdd_1_3".parse().unwrap());
    let error = t.block(28).unwrap_err();
    assert!(error.contains("rdd_1_3"), "{error}");
    lane.upload(29, vec![3_u8, 0].into());
    let error = t.uploaded(29).unwrap_err();
    assert!(error.contains("gave no answer"), "{error}");

    let host: Arc<dyn JvmHost> = t.host.clone();
    assert!(matches!(
        JvmLane::start(t.config.clone(), host),
        Err(JvmError::AlreadyStarted)
    ));

    lane.one_way(t.requests["StopExecutor$"].clone());
}

fn yarn_backend(t: &mut Scripted) {
    other_backend(
        t,
        "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend",
    );
}

fn kubernetes_backend(t: &mut Scripted) {
    Arc::get_mut(&mut t.host).unwrap().bootstrap.pod_name = Some("pod-1".into());
    other_backend(
        t,
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
    );
}

fn other_backend(t: &mut Scripted, class: &str) {
    Arc::get_mut(&mut t.host).unwrap().bootstrap.backend_class = class.into();
    let lane = t.ready();
    lane.one_way(t.requests["StopExecutor$"].clone());
}

fn system_exit(t: &mut Scripted) {
    t.ready().exit(7);
}

fn lost_driver(t: &mut Scripted) {
    t.ready().disconnected();
}

/// The heap of the test JVM is smaller than this message.
fn out_of_memory(t: &mut Scripted) {
    t.ready().one_way(vec![0_u8; 600 << 20].into());
}

fn sigterm(t: &mut Scripted) {
    t.ready();
    let status = Command::new("kill")
        .arg(std::process::id().to_string())
        .status()
        .unwrap();
    assert!(status.success());
}

fn unknown_backend(t: &mut Scripted) {
    let host = Arc::get_mut(&mut t.host).unwrap();
    host.bootstrap.backend_class = "org.example.NoSuchBackend".into();
    t.start();
    let text = failure(t);
    assert!(
        text.contains("java.lang.ClassNotFoundException: org.example.NoSuchBackend"),
        "{text}"
    );
    assert!(
        text.contains("at org.firesteel.bridge.Bridge.start"),
        "{text}"
    );
    std::process::exit(NO_HOOK);
}

fn bad_option(t: &mut Scripted) {
    t.config
        .options
        .retain(|o| o != "-XX:+IgnoreUnrecognizedVMOptions");
    t.config.options.push("-Xnonsense".into());
    t.start();
    let text = failure(t);
    assert!(text.contains("JNI_CreateJavaVM"), "{text}");
    std::process::exit(NO_HOOK);
}

fn missing_bridge(t: &mut Scripted) {
    let class_path = &mut t.config.options[0];
    let (_, jars) = class_path.split_once(':').unwrap();
    *class_path = format!("-Djava.class.path={jars}");
    t.start();
    let text = failure(t);
    assert!(text.contains("org/firesteel/bridge/Native"), "{text}");
    std::process::exit(NO_HOOK);
}

fn impossible_heap(t: &mut Scripted) {
    t.config.options.push("-Xmx1000000g".into());
    t.start();
}

fn failure(t: &mut Scripted) -> String {
    t.wait("failed", |s| match s {
        Seen::Failed(text) => Some(text.clone()),
        _ => None,
    })
}

fn find(dir: &Path, name: &str) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        path.ends_with(name) || (path.is_dir() && find(&path, name))
    })
}

/// Answers by the class they answer, and requests of the driver by the last part of their class name.
fn vectors(version: &str) -> (HashMap<String, Bytes>, HashMap<String, Bytes>) {
    let mut answers = HashMap::new();
    let mut requests = HashMap::new();
    for line in recorded_frames(version).lines() {
        let frame: serde_json::Value = serde_json::from_str(line).unwrap();
        let bytes = from_hex(frame["hex"].as_str().unwrap());
        let text = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
        let (header, key) = match text("type").as_str() {
            // Length, type, id, body size.
            "RpcResponse" => (21, None),
            "RpcRequest" => (21, Some(text("message"))),
            "OneWayMessage" => (13, Some(text("message"))),
            _ => continue,
        };
        let body = Bytes::from(bytes).slice(header..);
        match key {
            None => {
                answers.entry(text("reply_to")).or_insert(body);
            }
            Some(message) => {
                let short = message.rsplit(['.', ':']).next().unwrap();
                let short = short.split_once('$').map_or(short, |(_, inner)| inner);
                requests.insert(short.to_owned(), body);
            }
        }
    }
    (answers, requests)
}

#[derive(Clone, Copy)]
enum Level {
    Memory = 4,
    Disk = 8,
}

/// Storage level and class tag as Spark's serializer writes them, with the level's flags set.
fn metadata(version: &str, level: Level) -> Vec<u8> {
    let path = testkit::fixtures().join("upload-metadata.json");
    let all: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut bytes = from_hex(all[version].as_str().unwrap());
    // The level is two bytes of block data: flags, replication.
    let at = bytes
        .windows(4)
        .position(|w| w == [0x77, 2, Level::Memory as u8, 1])
        .unwrap();
    bytes[at + 2] = level as u8;
    bytes
}

fn sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_be_bytes());
    out.extend(bytes);
}

/// `UploadBlock`: application, executor, block, metadata, data.
fn upload(version: &str, block: &str, level: Level, data: &[u8]) -> Vec<u8> {
    let mut out = vec![1];
    for part in ["app".as_bytes(), b"0", block.as_bytes()] {
        sized(&mut out, part);
    }
    sized(&mut out, &metadata(version, level));
    sized(&mut out, data);
    out
}

/// `UploadBlockStream`: block, metadata.
fn upload_stream(version: &str, block: &str, level: Level) -> Vec<u8> {
    let mut out = vec![6];
    sized(&mut out, block.as_bytes());
    sized(&mut out, &metadata(version, level));
    out
}

/// As Spark's launchers do it: the distribution's jars and the module openings of `JavaModuleOptions`.
fn jvm_config(version: &str, dir: &Path) -> JvmConfig {
    let series = version.rsplit_once('.').unwrap().0;
    let bridge = testkit::repository().join(format!(
        "jvm-bridge/target/jars/firesteel-bridge-spark-{series}.jar"
    ));
    assert!(
        bridge.is_file(),
        "{} is missing: run mvn -f jvm-bridge package",
        bridge.display()
    );
    let mut class_path = vec![bridge];
    let jars = std::fs::read_dir(Distribution::find(version).jars()).unwrap();
    class_path.extend(jars.map(|j| j.unwrap().path()));
    let class_path: Vec<String> = class_path.iter().map(|p| p.display().to_string()).collect();
    let mut options = vec![
        format!("-Djava.class.path={}", class_path.join(":")),
        format!("-Djava.io.tmpdir={}", dir.display()),
        "-Xmx512m".into(),
        "-XX:+IgnoreUnrecognizedVMOptions".into(),
        "-Djdk.reflect.useDirectMethodHandle=false".into(),
        "-Dio.netty.tryReflectionSetAccessible=true".into(),
    ];
    for package in [
        "java.lang",
        "java.lang.invoke",
        "java.lang.reflect",
        "java.io",
        "java.net",
        "java.nio",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "jdk.internal.ref",
        "sun.nio.ch",
        "sun.nio.cs",
        "sun.security.action",
        "sun.util.calendar",
    ] {
        options.push(format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
    }
    JvmConfig {
        libjvm: testkit::jdk().join("lib/server/libjvm.so"),
        options,
        stack_size: 0,
    }
}
