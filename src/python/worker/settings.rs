//! Settings of Python workers.

use std::path::PathBuf;
use std::time::Duration;

use super::protocol::WorkerProtocol;
use crate::config::{SettingError, SparkProperties, declared};
use crate::launch::jdk::own_dist;

/// What `spark.python.*` and a few other properties say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSettings {
    /// `spark.python.worker.reuse`
    pub reuse: bool,
    /// `spark.python.use.daemon`
    pub use_daemon: bool,
    /// `spark.python.daemon.module`
    pub daemon_module: String,
    /// `spark.python.worker.module`
    pub worker_module: String,
    /// `spark.python.authenticate.socketTimeout`, in seconds
    pub auth_timeout: u64,
    /// `spark.python.worker.faulthandler.enabled`
    pub faulthandler: bool,
    /// `spark.python.worker.idleTimeoutSeconds`
    pub idle_timeout: Option<Duration>,
    /// `spark.python.task.killTimeout`: how long the worker of a killed task may take to end by itself.
    pub kill_timeout: Duration,
    /// `spark.python.worker.killOnIdleTimeout`
    pub kill_on_idle_timeout: bool,
    /// `spark.python.worker.tracebackDumpIntervalSeconds`
    pub traceback_dump_interval: u64,
    /// `spark.python.factory.idleWorkerMaxPoolSize`
    pub max_idle_workers: Option<usize>,
    /// `spark.python.daemon.killWorkerOnFlushFailure`
    pub kill_on_flush_failure: bool,
    /// Directory of Unix sockets, if `spark.python.unix.domain.socket.enabled`.
    pub socket_dir: Option<PathBuf>,
    /// `spark.buffer.size`, in bytes
    pub buffer_size: usize,
    /// Whether `spark.executorEnv.OMP_NUM_THREADS` is set.
    pub threads_chosen: bool,
    /// `spark.task.cpus`
    pub task_cpus: String,
    /// `spark.executor.cores`
    pub executor_cores: u32,
    /// The program of this distribution that prepares interpreters, unless `spark.firesteel.python.prepare` is false.
    pub launcher: Option<PathBuf>,
    /// `spark.firesteel.python.compile`: whether prepared interpreters compile pipelines of simple functions.
    pub compile: bool,
}

impl WorkerSettings {
    /// Reads the properties that the distribution's version knows.
    ///
    /// # Errors
    /// A property has a value that Spark refuses too.
    pub fn new(
        properties: &SparkProperties,
        protocol: &WorkerProtocol,
    ) -> Result<Self, SettingError> {
        let known = protocol.settings_of_4_1;
        let idle = match protocol.idle_timeout {
            true => properties.time(&declared::PYTHON_IDLE_TIMEOUT)?.as_secs(),
            false => 0,
        };
        let unix = &declared::PYTHON_UNIX_SOCKETS;
        let unix_default = std::env::var("PYSPARK_UDS_MODE").is_ok_and(|mode| mode == "true");
        let socket_dir = if known && properties.switch_or(unix, unix_default)? {
            let dir = properties.get(declared::PYTHON_UNIX_SOCKET_DIR);
            Some(dir.map_or_else(std::env::temp_dir, PathBuf::from))
        } else {
            None
        };
        Ok(Self {
            reuse: properties.switch(&declared::PYTHON_WORKER_REUSE)?,
            use_daemon: properties.switch(&declared::PYTHON_USE_DAEMON)?,
            daemon_module: properties.text(&declared::PYTHON_DAEMON_MODULE),
            worker_module: properties.text(&declared::PYTHON_WORKER_MODULE),
            auth_timeout: properties.time(&declared::PYTHON_AUTH_TIMEOUT)?.as_secs(),
            faulthandler: properties.switch(&declared::PYTHON_FAULTHANDLER)?,
            idle_timeout: (idle > 0).then(|| Duration::from_secs(idle)),
            kill_timeout: properties.time(&declared::PYTHON_KILL_TIMEOUT)?,
            kill_on_idle_timeout: known
                && properties.switch(&declared::PYTHON_KILL_ON_IDLE_TIMEOUT)?,
            traceback_dump_interval: match known {
                true => {
                    let interval = &declared::PYTHON_TRACEBACK_DUMP_INTERVAL;
                    properties.time(interval)?.as_secs()
                }
                false => 0,
            },
            max_idle_workers: match known {
                true => properties.optional_number(&declared::PYTHON_IDLE_WORKERS)?,
                false => None,
            },
            kill_on_flush_failure: known
                && properties.switch(&declared::PYTHON_KILL_ON_FLUSH_FAILURE)?,
            socket_dir,
            buffer_size: usize::try_from(
                properties
                    .size(&declared::BUFFER_SIZE)?
                    .clamp(1 << 10, 16 << 20),
            )
            .unwrap_or(65536),
            threads_chosen: properties.contains(declared::EXECUTOR_ENV.key("OMP_NUM_THREADS")),
            task_cpus: properties.text(&declared::TASK_CPUS),
            executor_cores: properties.number(&declared::EXECUTOR_CORES)?,
            launcher: match properties.switch(&declared::PYTHON_PREPARE)? {
                true => own_launcher(),
                false => None,
            },
            compile: properties.switch(&declared::PYTHON_COMPILE)?,
        })
    }
}

/// The program beside this one that runs a Python module in a prepared interpreter.
fn own_launcher() -> Option<PathBuf> {
    let launcher = own_dist()?.join("python").join("run_worker.py");
    launcher.is_file().then_some(launcher)
}
