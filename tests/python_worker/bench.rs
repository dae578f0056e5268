//! Workers of a real distribution, and tasks for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use firesteel::blocks::{BlockEnv, LocalDirs};
use firesteel::cancel::Cancellation;
use firesteel::config::SparkProperties;
use firesteel::python::worker::PythonWorkers;
use firesteel::python::{Element, Elements, PythonFunction};
use firesteel::rpc::{DriverEndpoint, RpcConf};
use firesteel::task::{NoEvaluator, TaskContext, TaskError};
use javaser::{Catalog, Limits};
use testkit::{Distribution, VERSIONS};
use wire::envelope::RpcAddress;
use wire::ids::BlockManagerId;
use wire::version::WireVersion;

/// One version's classes, libraries and commands; made once per process.
struct Version {
    catalog: Arc<Catalog>,
    wire: WireVersion,
    python_path: String,
    commands: PathBuf,
}

fn version(name: &str) -> &'static Version {
    static KNOWN: [OnceLock<Version>; VERSIONS.len()] = [const { OnceLock::new() }; VERSIONS.len()];
    let index = VERSIONS.iter().position(|known| *known == name).unwrap();
    KNOWN[index].get_or_init(|| {
        let distribution = Distribution::find(name);
        let catalog = Catalog::from_class_path(&[distribution.class_path().into()]).unwrap();
        let lib = std::fs::read_dir(distribution.home.join("python/lib"))
            .unwrap()
            .flatten();
        let zips = lib.map(|entry| entry.path().to_string_lossy().into_owned());
        let mut zips: Vec<String> = zips.filter(|name| name.ends_with(".zip")).collect();
        zips.sort();
        let python_path = zips.join(":");
        let commands = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python_worker-{name}"));
        std::fs::create_dir_all(&commands).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python_worker/commands.py");
        let status = Command::new("python3")
            .args([script.as_path(), &commands])
            .env("PYTHONPATH", &python_path)
            .status()
            .unwrap();
        assert!(status.success());
        Version {
            wire: WireVersion::detect(&catalog).unwrap(),
            catalog: Arc::new(catalog),
            python_path,
            commands,
        }
    })
}

/// An executor's surroundings with Python workers, in one version.
pub(crate) struct Bench {
    pub(crate) version: &'static str,
    pub(crate) workers: PythonWorkers,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) driver: std::net::TcpListener,
    env: Arc<BlockEnv>,
    _runtime: tokio::runtime::Runtime,
}

impl Bench {
    pub(crate) fn new(version: &'static str, properties: &[(&str, &str)]) -> Self {
        Self::with_key(version, properties, None)
    }

    pub(crate) fn with_key(
        name: &'static str,
        properties: &[(&str, &str)],
        key: Option<Vec<u8>>,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let driver = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = RpcAddress {
            host: "localhost".into(),
            port: driver.local_addr().unwrap().port().into(),
        };
        let conf = RpcConf::new(|_| None).unwrap();
        let (endpoint, _) = runtime
            .block_on(DriverEndpoint::connect(address, &conf))
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let version = version(name);
        let mut spark = SparkProperties::default();
        for (key, value) in properties {
            spark.set(*key, *value);
        }
        let workers = PythonWorkers::new(&spark, &version.catalog).unwrap();
        let env = BlockEnv {
            app_id: "app-1".into(),
            block_manager_id: BlockManagerId {
                executor_id: "1".into(),
                host: "localhost".into(),
                port: 1,
                topology_info: None,
            },
            catalog: Arc::clone(&version.catalog),
            version: version.wire.clone(),
            limits: Limits::default(),
            properties: Arc::new(spark),
            driver: endpoint.into(),
            ask_timeout: Duration::from_secs(20),
            local_dirs: Arc::new(
                LocalDirs::create(&[dir.path().join("local")], 64, false).unwrap(),
            ),
            runtime: runtime.handle().clone(),
            protection: Default::default(),
            io_encryption_key: key,
        };
        Self {
            version: name,
            workers,
            dir,
            driver,
            env: Arc::new(env),
            _runtime: runtime,
        }
    }

    pub(crate) fn context(&self) -> Arc<TaskContext> {
        Arc::new(TaskContext {
            stage_id: 3,
            stage_attempt: 0,
            num_partitions: 2,
            partition_id: 1,
            attempt_number: 2,
            task_attempt_id: 1 << 33,
            is_barrier: false,
            epoch: 0,
            cpus: "2".into(),
            resources: vec![("gpu".into(), vec!["0".into(), "1".into()])],
            local_properties: vec![("spark.jobGroup.id".into(), "group é".into())],
            job_artifact_uuid: None,
            files_dir: self.dir.path().to_owned(),
            cancellation: Cancellation::default(),
            metrics: Arc::default(),
            accumulator_updates: Default::default(),
            python_updates: Default::default(),
            evaluator: Arc::new(NoEvaluator),
            blocks: Arc::clone(&self.env),
        })
    }

    pub(crate) fn function(&self, name: &str) -> PythonFunction {
        let version = version(self.version);
        let path = version.python_path.clone();
        PythonFunction {
            command: std::fs::read(version.commands.join(name)).unwrap().into(),
            env_vars: BTreeMap::from([("PYTHONPATH".to_owned(), path)]),
            python_includes: vec!["include.zip".into(), "include.zip".into()],
            python_exec: "python3".into(),
            python_ver: python_version(),
            broadcast_vars: Vec::new(),
            accumulator: Some(1),
            job_artifact_uuid: None,
        }
    }

    /// Runs a function to the end.
    pub(crate) fn run(&self, name: &str, texts: &[&str]) -> Result<Vec<Bytes>, TaskError> {
        let context = self.context();
        self.run_function(&self.function(name), texts, &context)
    }

    pub(crate) fn run_function(
        &self,
        function: &PythonFunction,
        texts: &[&str],
        context: &Arc<TaskContext>,
    ) -> Result<Vec<Bytes>, TaskError> {
        self.workers
            .run(function, 1, elements(texts), context)?
            .collect()
    }
}

pub(crate) fn elements(texts: &[&str]) -> Elements<'static> {
    let texts: Vec<_> = texts.iter().map(|text| Ok(text_element(text))).collect();
    Box::new(texts.into_iter())
}

pub(crate) fn text_element(text: &str) -> Element {
    Element::Text(Bytes::copy_from_slice(text.as_bytes()))
}

fn python_version() -> String {
    static VERSION: OnceLock<String> = OnceLock::new();
    let version = VERSION.get_or_init(|| {
        let print = "import sys; print('%d.%d' % sys.version_info[:2], end='')";
        let output = Command::new("python3")
            .args(["-c", print])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    version.clone()
}

/// Waits until a process has ended.
pub(crate) fn ends(pid: u32, timeout: Duration) -> bool {
    let end = std::time::Instant::now() + timeout;
    while Path::new(&format!("/proc/{pid}")).exists() {
        if std::time::Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Runs a test with every version at once, each on a thread of its own.
pub(crate) fn with_all(properties: &[(&str, &str)], test: impl Fn(&Bench) + Sync) {
    std::thread::scope(|scope| {
        for version in VERSIONS {
            let test = &test;
            scope.spawn(move || test(&Bench::new(version, properties)));
        }
    });
}

/// Runs a test with one version after the other, where the time that a process takes to start is limited.
pub(crate) fn with_each(properties: &[(&str, &str)], test: impl Fn(&Bench)) {
    for version in VERSIONS {
        test(&Bench::new(version, properties));
    }
}
