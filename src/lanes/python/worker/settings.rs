//! Settings of Python workers.

use std::path::PathBuf;
use std::time::Duration;

use super::protocol::WorkerProtocol;
use crate::config::units::{SizeUnit, TimeUnit};
use crate::config::{SettingError, SparkProperties};
use crate::launch::jdk::own_dist;

/// Unless it is set. Spark's two seconds are for a worker that has not been told anything; ours has its socket closed at once. One that looks at it
/// ends right then, with all that its code does when it ends, and one that does not would be killed after two seconds as well.
const KILL_TIMEOUT: Duration = Duration::from_millis(200);

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
        let seconds = |key: &str| -> Result<u64, SettingError> {
            Ok(properties
                .time(key, Duration::ZERO, TimeUnit::Seconds)?
                .as_secs())
        };
        let idle = match protocol.idle_timeout {
            true => seconds("spark.python.worker.idleTimeoutSeconds")?,
            false => 0,
        };
        let unix = "spark.python.unix.domain.socket.enabled";
        let unix_default = std::env::var("PYSPARK_UDS_MODE").is_ok_and(|mode| mode == "true");
        let socket_dir = if known && properties.switch(unix, unix_default)? {
            let dir = properties.get("spark.python.unix.domain.socket.dir");
            Some(dir.map_or_else(std::env::temp_dir, PathBuf::from))
        } else {
            None
        };
        Ok(Self {
            reuse: properties.switch("spark.python.worker.reuse", true)?,
            use_daemon: properties.switch("spark.python.use.daemon", true)?,
            daemon_module: properties.text("spark.python.daemon.module", "pyspark.daemon"),
            worker_module: properties.text("spark.python.worker.module", "pyspark.worker"),
            auth_timeout: properties
                .time(
                    "spark.python.authenticate.socketTimeout",
                    Duration::from_secs(15),
                    TimeUnit::Seconds,
                )?
                .as_secs(),
            faulthandler: properties.switch("spark.python.worker.faulthandler.enabled", false)?,
            idle_timeout: (idle > 0).then(|| Duration::from_secs(idle)),
            kill_timeout: properties.time(
                "spark.python.task.killTimeout",
                KILL_TIMEOUT,
                TimeUnit::Millis,
            )?,
            kill_on_idle_timeout: known
                && properties.switch("spark.python.worker.killOnIdleTimeout", false)?,
            traceback_dump_interval: match known {
                true => seconds("spark.python.worker.tracebackDumpIntervalSeconds")?,
                false => 0,
            },
            max_idle_workers: match properties.get("spark.python.factory.idleWorkerMaxPoolSize") {
                Some(_) if known => Some(properties.number(
                    "spark.python.factory.idleWorkerMaxPoolSize",
                    1,
                    1,
                    i32::MAX as usize,
                )?),
                _ => None,
            },
            kill_on_flush_failure: known
                && properties.switch("spark.python.daemon.killWorkerOnFlushFailure", true)?,
            socket_dir,
            buffer_size: usize::try_from(
                properties
                    .size("spark.buffer.size", 65536, SizeUnit::Bytes)?
                    .clamp(1 << 10, 16 << 20),
            )
            .unwrap_or(65536),
            threads_chosen: properties.contains("spark.executorEnv.OMP_NUM_THREADS"),
            task_cpus: properties.text("spark.task.cpus", "1"),
            executor_cores: properties.number("spark.executor.cores", 1, 1, 1 << 20)?,
            launcher: match properties.switch("spark.firesteel.python.prepare", true)? {
                true => own_launcher(),
                false => None,
            },
        })
    }
}

/// The program beside this one that runs a Python module in a prepared interpreter.
fn own_launcher() -> Option<PathBuf> {
    let launcher = own_dist()?.join("python").join("run_worker.py");
    launcher.is_file().then_some(launcher)
}
