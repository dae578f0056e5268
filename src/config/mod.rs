//! Raw Spark properties to one typed, validated settings struct. [`declared`] is the one place for names and defaults
//! of all properties that are read; the settings of some parts (shuffles, Python workers, sockets) are structs of
//! theirs.

pub mod declared;
mod hadoop_site;
mod lane_name;
pub mod memory;
pub mod properties;
mod replaced_parts;
mod security;
mod tls;
pub mod units;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use declared::{Property, Switch, Version, Whole};
pub use hadoop_site::HadoopSite;
pub use lane_name::LaneName;
pub use memory::MemorySettings;
pub use properties::{SparkProperties, is_startup_key};
pub use replaced_parts::{unknown_part, unknown_value};
pub use security::ConnectionSecurity;

pub use self::tls::{TlsSettings, with_general};

/// A setting that stops the executor from starting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The value cannot be understood or is out of range.
    #[error("{key} should be {expected}, but was '{value}'")]
    Invalid {
        /// Name of the setting.
        key: String,
        /// Its value.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// Two settings contradict each other, or one does not fit this executor.
    #[error("{message}")]
    Conflict {
        /// What is wrong, with the names of the settings, and what to do.
        message: String,
    },
    /// A feature of Spark that Firesteel does not have yet.
    #[error("{key}={value} is not supported by Firesteel yet; {cure}")]
    Unsupported {
        /// Name of the setting.
        key: String,
        /// Its value.
        value: String,
        /// What to do.
        cure: String,
    },
}

/// Timeouts and limits of the RPC connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcSettings {
    /// `spark.network.timeout`
    pub network_timeout: Duration,
    /// How long an ask waits for its answer: `spark.rpc.askTimeout`, else `spark.network.timeout`.
    pub ask_timeout: Duration,
    /// Largest control message in bytes: `spark.rpc.message.maxSize`.
    pub max_message: u64,
}

/// Heartbeats to the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatSettings {
    /// `spark.executor.heartbeatInterval`; also how long one waits for its answer.
    pub interval: Duration,
    /// Failures in a row after which the executor gives up: `spark.executor.heartbeat.maxFailures`.
    pub max_failures: u32,
}

/// Ports that may be tried for a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    /// The setting's value; 0 lets the system choose.
    pub first: u16,
    /// How many further ports are tried: `spark.port.maxRetries`.
    pub retries: u16,
}

/// The external shuffle service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShuffleServiceSettings {
    /// `spark.shuffle.service.port`
    pub port: u16,
    /// `spark.shuffle.registration.timeout`
    pub registration_timeout: Duration,
    /// `spark.shuffle.registration.maxAttempts`
    pub registration_attempts: u32,
}

/// Files and blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageSettings {
    /// Subdirectories of each local directory: `spark.diskStore.subDirectories`.
    pub sub_directories: u32,
    /// Class of the shuffle manager: `spark.shuffle.manager`.
    pub shuffle_manager: String,
}

/// Leaving on request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecommissionSettings {
    /// `spark.decommission.enabled`
    pub enabled: bool,
    /// `spark.storage.decommission.enabled`: blocks move to other executors first.
    pub storage: bool,
    /// Whether blocks move at all: that, and `spark.storage.decommission.rddBlocks.enabled` or
    /// `.shuffleBlocks.enabled`.
    pub migration: bool,
    /// When it is first looked whether the executor may leave: `spark.test.executor.decommission.initial.sleep.millis`.
    pub first_look: Duration,
    /// Whether files of shuffles may have to go to `spark.storage.decommission.fallbackStorage.path`, a file system of
    /// Hadoop's.
    pub fallback_storage: bool,
    /// Signal that starts it, without `SIG`: `spark.executor.decommission.signal`.
    pub signal: String,
}

/// Watching tasks that were killed and go on (`spark.task.reaper.enabled`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskReaperSettings {
    /// How often they are looked at: `spark.task.reaper.pollingInterval`.
    pub polling_interval: Duration,
    /// After this time the executor ends; `None` if it never does: `spark.task.reaper.killTimeout`.
    pub kill_timeout: Option<Duration>,
}

/// Settings of an executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Timeouts and limits of the RPC connection.
    pub rpc: RpcSettings,
    /// Heartbeats to the driver.
    pub heartbeat: HeartbeatSettings,
    /// Ports of the block server: `spark.blockManager.port`.
    pub block_manager_ports: PortRange,
    /// The external shuffle service, if `spark.shuffle.service.enabled`.
    pub shuffle_service: Option<ShuffleServiceSettings>,
    /// Files and blocks.
    pub storage: StorageSettings,
    /// Memory that Spark's rules give to execution and storage.
    pub memory: MemorySettings,
    /// Leaving on request.
    pub decommission: DecommissionSettings,
    /// Watching tasks that were killed and go on, if that is wanted.
    pub task_reaper: Option<TaskReaperSettings>,
    /// Native lanes that may take tasks: `spark.firesteel.lanes`, by default all. The jvm lane takes what the others do
    /// not.
    pub native_lanes: Vec<LaneName>,
    /// Why a JVM is needed from the start, as a setting and its value; `None` if it can wait for the first task that
    /// needs it.
    pub jvm_from_start: Option<String>,
}

impl Settings {
    /// Reads and checks the settings. `max_jvm_memory` is what `Runtime.maxMemory()` answers in the executor's JVM.
    ///
    /// # Errors
    /// The first setting that is wrong or asks for something that is not there yet; see [`SettingError`].
    pub fn new(conf: &SparkProperties, max_jvm_memory: u64) -> Result<Self, SettingError> {
        refuse_unsupported(conf)?;
        check(conf)?;
        let rpc = RpcSettings::new(conf)?;
        let heartbeat = HeartbeatSettings::new(conf, rpc.network_timeout)?;
        let task_reaper = TaskReaperSettings::new(conf)?;
        let storage = conf.switch(&declared::STORAGE_DECOMMISSION_ENABLED)?;
        let rdds = conf.switch(&declared::MIGRATE_RDD_BLOCKS)?;
        let shuffles = conf.switch(&declared::MIGRATE_SHUFFLE_BLOCKS)?;
        Ok(Self {
            rpc,
            heartbeat,
            block_manager_ports: PortRange::new(conf, &declared::BLOCK_MANAGER_PORT)?,
            shuffle_service: ShuffleServiceSettings::new(conf)?,
            storage: StorageSettings::new(conf)?,
            memory: MemorySettings::new(conf, max_jvm_memory)?,
            decommission: DecommissionSettings {
                enabled: conf.switch(&declared::DECOMMISSION_ENABLED)?,
                storage,
                migration: storage && (rdds || shuffles),
                first_look: Duration::from_millis(conf.number(&declared::DECOMMISSION_FIRST_LOOK)?),
                fallback_storage: storage
                    && shuffles
                    && conf.contains(declared::FALLBACK_STORAGE_PATH),
                signal: conf.text(&declared::DECOMMISSION_SIGNAL),
            },
            native_lanes: native_lanes(conf)?,
            jvm_from_start: jvm_from_start(conf, task_reaper),
            task_reaper,
        })
    }
}

/// Sets what an application did not and what has another default in its version than in Spark 3.5, so that native lanes
/// read and write blocks as that version's JVM does.
pub fn apply_version_defaults(properties: &mut SparkProperties, spark_version: &str) {
    let version = declared::version_of(spark_version);
    for declaration in declared::all() {
        let default = declaration.about().default.changed(version);
        if let (Some(key), Some(value)) = (declaration.key(), default)
            && !properties.contains(key)
        {
            properties.set(key, value);
        }
    }
}

/// Takes away what Spark of that version does not know and Firesteel would obey: then, one end of a connection would
/// speak otherwise than the other.
pub fn forget_unknown(properties: &mut SparkProperties, version: Version) {
    let tls = &declared::SSL_RPC_ENABLED;
    if tls.about.since.is_some_and(|since| version < since) {
        properties.remove(tls.key);
    }
}

/// The setting that wants a JVM before the first task: plugins are initialised in it, and a task that the reaper is to
/// end an executor for has to run when the driver says that it does, not to wait for its JVM.
fn jvm_from_start(
    conf: &SparkProperties,
    task_reaper: Option<TaskReaperSettings>,
) -> Option<String> {
    let setting = |key: &str| format!("{key}={}", conf.get(key).unwrap_or_default());
    if !conf.text(&declared::PLUGINS).trim().is_empty() {
        return Some(setting(declared::PLUGINS.key));
    }
    task_reaper?
        .kill_timeout
        .map(|_| setting(declared::TASK_REAPER_KILL_TIMEOUT.key))
}

fn native_lanes(conf: &SparkProperties) -> Result<Vec<LaneName>, SettingError> {
    let named = conf.list(&declared::LANES);
    if let Some(unknown) = named.iter().find(|name| {
        !LaneName::ALL
            .iter()
            .any(|lane| lane.name() == name.as_str())
    }) {
        let names: Vec<_> = LaneName::ALL.iter().map(|lane| lane.name()).collect();
        return Err(SettingError::Invalid {
            key: declared::LANES.key.to_owned(),
            value: unknown.clone(),
            expected: format!("a list of {}", names.join(", ")),
        });
    }
    Ok(LaneName::ALL
        .into_iter()
        .filter(|lane| *lane != LaneName::Jvm && named.iter().any(|name| name == lane.name()))
        .collect())
}

/// Checks what must be known before the driver can be reached: with these features, the first bytes on the wire would
/// be wrong.
///
/// # Errors
/// [`SettingError::Unsupported`], or a setting that cannot be understood.
pub fn refuse_unsupported(conf: &SparkProperties) -> Result<(), SettingError> {
    const SASL_CURE: &str =
        "remove it and set spark.network.crypto.enabled=true, which encrypts with AES";
    let unsupported = |property: &Property<Switch>, cure: &str| SettingError::Unsupported {
        key: property.key.to_owned(),
        value: "true".to_owned(),
        cure: cure.to_owned(),
    };
    if conf.switch(&declared::SASL_ENCRYPTION_ENABLED)? {
        return Err(unsupported(&declared::SASL_ENCRYPTION_ENABLED, SASL_CURE));
    }
    TlsSettings::new(conf)?;
    if ConnectionSecurity::new(conf)?.is_some() && conf.switch(&declared::SASL_ALWAYS_ENCRYPT)? {
        return Err(unsupported(&declared::SASL_ALWAYS_ENCRYPT, SASL_CURE));
    }
    Ok(())
}

/// Settings that decide nothing here must make sense all the same, as with Spark's own executor, and so must those
/// that are read only when something is first needed.
fn check(conf: &SparkProperties) -> Result<(), SettingError> {
    conf.time_or(&declared::LOOKUP_TIMEOUT, Duration::ZERO)?;
    conf.switch(&declared::STRUCTURED_LOGGING)?;
    conf.size(&declared::MAX_REMOTE_BLOCK_IN_MEMORY)?;
    conf.switch(&declared::IO_ENCRYPTION_ENABLED)?;
    Ok(())
}

impl RpcSettings {
    /// Reads them; also possible from the launch command alone, before the driver is asked.
    ///
    /// # Errors
    /// See [`SettingError`].
    pub fn new(conf: &SparkProperties) -> Result<Self, SettingError> {
        let network_timeout = conf.time(&declared::NETWORK_TIMEOUT)?;
        Ok(Self {
            network_timeout,
            ask_timeout: conf.time_or(&declared::ASK_TIMEOUT, network_timeout)?,
            max_message: conf.number::<u64>(&declared::MESSAGE_MAX_SIZE)? << 20,
        })
    }
}

impl HeartbeatSettings {
    fn new(conf: &SparkProperties, network_timeout: Duration) -> Result<Self, SettingError> {
        const INTERVAL: &str = declared::HEARTBEAT_INTERVAL.key;
        let interval = conf.time(&declared::HEARTBEAT_INTERVAL)?;
        if interval.is_zero() {
            return Err(SettingError::Invalid {
                key: INTERVAL.to_owned(),
                value: conf.get(INTERVAL).unwrap_or_default(),
                expected: "longer than nothing".to_owned(),
            });
        }
        if network_timeout <= interval {
            return Err(SettingError::Conflict {
                message: format!(
                    "The value of {}={}ms must be greater than the value of {INTERVAL}={}ms.",
                    declared::NETWORK_TIMEOUT.key,
                    network_timeout.as_millis(),
                    interval.as_millis()
                ),
            });
        }
        Ok(Self {
            interval,
            max_failures: conf.number(&declared::HEARTBEAT_MAX_FAILURES)?,
        })
    }
}

impl PortRange {
    /// First port that needs no privilege.
    const FIRST_USER_PORT: u16 = 1024;

    fn new(conf: &SparkProperties, port: &Property<Whole>) -> Result<Self, SettingError> {
        let first = conf.number(port)?;
        if (1..Self::FIRST_USER_PORT).contains(&first) {
            let expected =
                "between 1024 and 65535 (inclusive), or 0 for a random free port".to_owned();
            return Err(SettingError::Invalid {
                key: port.key.to_owned(),
                value: first.to_string(),
                expected,
            });
        }
        let retries = conf.optional_number(&declared::PORT_MAX_RETRIES)?;
        let retries = retries.unwrap_or(match conf.contains(declared::TESTING) {
            true => 100,
            false => 16,
        });
        Ok(Self { first, retries })
    }

    /// The ports to try, in order; 0 lets the system choose. Past 65535 they go on at 1024.
    pub fn candidates(self) -> impl Iterator<Item = u16> {
        const USER_PORTS: u32 = 65_536 - PortRange::FIRST_USER_PORT as u32;
        (0..=u32::from(self.retries)).map(move |offset| {
            if self.first == 0 {
                return 0;
            }
            let above = u32::from(self.first - Self::FIRST_USER_PORT) + offset;
            // The remainder is below 64512, so that the sum is a port.
            (above % USER_PORTS) as u16 + Self::FIRST_USER_PORT
        })
    }
}

impl TaskReaperSettings {
    fn new(conf: &SparkProperties) -> Result<Option<Self>, SettingError> {
        let settings = Self {
            polling_interval: conf.time(&declared::TASK_REAPER_POLLING_INTERVAL)?,
            kill_timeout: conf.limit(&declared::TASK_REAPER_KILL_TIMEOUT)?,
        };
        Ok(conf
            .switch(&declared::TASK_REAPER_ENABLED)?
            .then_some(settings))
    }
}

impl ShuffleServiceSettings {
    fn new(conf: &SparkProperties) -> Result<Option<Self>, SettingError> {
        if !conf.switch(&declared::SHUFFLE_SERVICE_ENABLED)? {
            return Ok(None);
        }
        Ok(Some(Self {
            port: conf.number(&declared::SHUFFLE_SERVICE_PORT)?,
            registration_timeout: conf.time(&declared::SHUFFLE_REGISTRATION_TIMEOUT)?,
            registration_attempts: conf.number(&declared::SHUFFLE_REGISTRATION_MAX_ATTEMPTS)?,
        }))
    }
}

impl StorageSettings {
    fn new(conf: &SparkProperties) -> Result<Self, SettingError> {
        const SORT: &str = declared::SORT_SHUFFLE_MANAGER;
        let manager = conf.text(&declared::SHUFFLE_MANAGER);
        let short = manager.to_lowercase();
        let sort = declared::SORT_SHUFFLE_NAMES.contains(&short.as_str()) || manager == SORT;
        Ok(Self {
            sub_directories: conf.number(&declared::SUB_DIRECTORIES)?,
            shuffle_manager: if sort { SORT.to_owned() } else { manager },
        })
    }
}

/// The directories below which an executor keeps its files, as Spark's `Utils.getConfiguredLocalDirs`: of a YARN
/// container `LOCAL_DIRS`, else `SPARK_EXECUTOR_DIRS`, `SPARK_LOCAL_DIRS`, `spark.local.dir`, and the JVM's temporary
/// directory (`java.io.tmpdir`).
pub fn local_dir_roots(
    conf: &SparkProperties,
    env: impl Fn(&str) -> Option<String>,
    tmpdir: Option<&str>,
) -> Vec<PathBuf> {
    let (text, separator) = if env("CONTAINER_ID").is_some() {
        (env("LOCAL_DIRS").unwrap_or_default(), ',')
    } else if let Some(dirs) = env("SPARK_EXECUTOR_DIRS") {
        (dirs, ':')
    } else if let Some(dirs) = env("SPARK_LOCAL_DIRS") {
        (dirs, ',')
    } else {
        (
            conf.text_or(&declared::LOCAL_DIR, tmpdir.unwrap_or("/tmp")),
            ',',
        )
    };
    text.split(separator)
        .map(str::trim)
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .collect()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
