//! Raw Spark properties to one typed, validated settings struct: the one place for names and defaults of the settings that the executor
//! itself obeys. (Socket settings of the transport modules, `spark.<module>.io.*`, are read by the transport.)

pub mod memory;
pub mod properties;
pub mod units;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

pub use memory::MemorySettings;
pub use properties::{SparkProperties, is_startup_key};
use units::{SizeUnit, TimeUnit};

use crate::lanes::Lane;

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
    /// How long the look-up of an endpoint may take: `spark.rpc.lookupTimeout`, else `spark.network.timeout`.
    pub lookup_timeout: Duration,
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
    /// True if shuffle files have the layout of Spark's sort shuffle on local disks, so that they can be served without the JVM
    /// (`spark.shuffle.manager`, `spark.shuffle.sort.io.plugin.class`).
    pub sort_shuffle_files: bool,
    /// Class of the shuffle manager: `spark.shuffle.manager`.
    pub shuffle_manager: String,
    /// Uploads and fetches above this many bytes go through a file: `spark.network.maxRemoteBlockSizeFetchToMem`.
    pub max_remote_block_in_memory: u64,
    /// `spark.io.encryption.enabled`; the key comes from the driver.
    pub io_encryption: bool,
}

/// Leaving on request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecommissionSettings {
    /// `spark.decommission.enabled`
    pub enabled: bool,
    /// `spark.storage.decommission.enabled`: blocks move to other executors first.
    pub storage: bool,
    /// Whether blocks move at all: that, and `spark.storage.decommission.rddBlocks.enabled` or `.shuffleBlocks.enabled`.
    pub migration: bool,
    /// Whether files of shuffles may have to go to `spark.storage.decommission.fallbackStorage.path`, a file system of Hadoop's.
    pub fallback_storage: bool,
    /// Signal that starts it, without `SIG`: `spark.executor.decommission.signal`.
    pub signal: String,
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
    /// Log lines are JSON: `spark.log.structuredLogging.enabled`.
    pub structured_logging: bool,
    /// Native lanes that may take tasks: `spark.firesteel.lanes`, by default all. The jvm lane takes what the others do not.
    pub native_lanes: Vec<Lane>,
    /// Why a JVM is needed from the start, as a setting and its value; `None` if it can wait for the first task that needs it.
    pub jvm_from_start: Option<String>,
}

impl Settings {
    /// Reads and checks the settings. `max_jvm_memory` is what `Runtime.maxMemory()` answers in the executor's JVM.
    ///
    /// # Errors
    /// The first setting that is wrong or asks for something that is not there yet; see [`SettingError`].
    pub fn new(conf: &SparkProperties, max_jvm_memory: u64) -> Result<Self, SettingError> {
        refuse_unsupported(conf)?;
        let rpc = RpcSettings::new(conf)?;
        let heartbeat = HeartbeatSettings::new(conf, rpc.network_timeout)?;
        let plugins = conf.text("spark.plugins", "");
        let storage = conf.switch("spark.storage.decommission.enabled", false)?;
        let rdds = conf.switch("spark.storage.decommission.rddBlocks.enabled", true)?;
        let shuffles = conf.switch("spark.storage.decommission.shuffleBlocks.enabled", true)?;
        Ok(Self {
            rpc,
            heartbeat,
            block_manager_ports: PortRange::new(conf, "spark.blockManager.port")?,
            shuffle_service: ShuffleServiceSettings::new(conf)?,
            storage: StorageSettings::new(conf)?,
            memory: MemorySettings::new(conf, max_jvm_memory)?,
            decommission: DecommissionSettings {
                enabled: conf.switch("spark.decommission.enabled", false)?,
                storage,
                migration: storage && (rdds || shuffles),
                fallback_storage: storage
                    && shuffles
                    && conf.contains("spark.storage.decommission.fallbackStorage.path"),
                signal: conf.text("spark.executor.decommission.signal", "PWR"),
            },
            structured_logging: conf.switch("spark.log.structuredLogging.enabled", false)?,
            native_lanes: native_lanes(conf)?,
            jvm_from_start: (!plugins.trim().is_empty())
                .then(|| format!("spark.plugins={plugins}")),
        })
    }
}

/// Sets what an application did not and what has another default in its version than in Spark 3.5, so that native lanes read and write blocks as that
/// version's JVM does.
pub fn apply_version_defaults(properties: &mut SparkProperties, spark_version: &str) {
    let mut parts = spark_version
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    for (since, key, value) in [
        ((4, 0), "spark.shuffle.service.removeShuffle", "true"),
        ((4, 1), "spark.checkpoint.compress", "true"),
        ((4, 3), "spark.rdd.compress", "true"),
    ] {
        if version >= since && !properties.contains(key) {
            properties.set(key, value);
        }
    }
}

fn native_lanes(conf: &SparkProperties) -> Result<Vec<Lane>, SettingError> {
    const KEY: &str = "spark.firesteel.lanes";
    let natives = || Lane::ALL.into_iter().filter(|lane| *lane != Lane::Jvm);
    if !conf.contains(KEY) {
        return Ok(natives().collect());
    }
    let named = conf.list(KEY);
    if let Some(unknown) = named
        .iter()
        .find(|name| !Lane::ALL.iter().any(|lane| lane.name() == name.as_str()))
    {
        let names: Vec<_> = Lane::ALL.iter().map(|lane| lane.name()).collect();
        return Err(SettingError::Invalid {
            key: KEY.to_owned(),
            value: unknown.clone(),
            expected: format!("a list of {}", names.join(", ")),
        });
    }
    Ok(natives()
        .filter(|lane| named.iter().any(|name| name == lane.name()))
        .collect())
}

/// Checks what must be known before the driver can be reached: with these features, the first bytes on the wire would be wrong.
///
/// # Errors
/// [`SettingError::Unsupported`], or a switch that cannot be understood.
pub fn refuse_unsupported(conf: &SparkProperties) -> Result<(), SettingError> {
    const PLAIN: &str = "set it to false for this application, or run its executors on Spark's own JVM (remove spark.executorEnv.JAVA_HOME)";
    for key in [
        "spark.authenticate",
        "spark.network.crypto.enabled",
        "spark.ssl.rpc.enabled",
    ] {
        if conf.switch(key, false)? {
            return Err(SettingError::Unsupported {
                key: key.to_owned(),
                value: "true".to_owned(),
                cure: PLAIN.to_owned(),
            });
        }
    }
    Ok(())
}

impl RpcSettings {
    /// Reads them; also possible from the launch command alone, before the driver is asked.
    ///
    /// # Errors
    /// See [`SettingError`].
    pub fn new(conf: &SparkProperties) -> Result<Self, SettingError> {
        let network_timeout = conf.time(
            "spark.network.timeout",
            Duration::from_secs(120),
            TimeUnit::Seconds,
        )?;
        Ok(Self {
            network_timeout,
            ask_timeout: conf.time("spark.rpc.askTimeout", network_timeout, TimeUnit::Seconds)?,
            lookup_timeout: conf.time(
                "spark.rpc.lookupTimeout",
                network_timeout,
                TimeUnit::Seconds,
            )?,
            max_message: conf.number("spark.rpc.message.maxSize", 128_u64, 0, 2047)? << 20,
        })
    }
}

impl HeartbeatSettings {
    fn new(conf: &SparkProperties, network_timeout: Duration) -> Result<Self, SettingError> {
        const INTERVAL: &str = "spark.executor.heartbeatInterval";
        let interval = conf.time(INTERVAL, Duration::from_secs(10), TimeUnit::Millis)?;
        if interval.is_zero() {
            let value = conf.text(INTERVAL, "");
            return Err(SettingError::Invalid {
                key: INTERVAL.to_owned(),
                value,
                expected: "longer than nothing".to_owned(),
            });
        }
        if network_timeout <= interval {
            return Err(SettingError::Conflict {
                message: format!(
                    "The value of spark.network.timeout={}ms must be greater than the value of {INTERVAL}={}ms.",
                    network_timeout.as_millis(),
                    interval.as_millis()
                ),
            });
        }
        Ok(Self {
            interval,
            max_failures: conf.number(
                "spark.executor.heartbeat.maxFailures",
                60,
                1,
                i32::MAX as u32,
            )?,
        })
    }
}

impl PortRange {
    /// First port that needs no privilege.
    const FIRST_USER_PORT: u16 = 1024;

    fn new(conf: &SparkProperties, key: &str) -> Result<Self, SettingError> {
        let first = conf.number(key, 0_u16, 0, u16::MAX)?;
        if (1..Self::FIRST_USER_PORT).contains(&first) {
            let expected =
                "between 1024 and 65535 (inclusive), or 0 for a random free port".to_owned();
            return Err(SettingError::Invalid {
                key: key.to_owned(),
                value: first.to_string(),
                expected,
            });
        }
        let default = if conf.contains("spark.testing") {
            100
        } else {
            16
        };
        Ok(Self {
            first,
            retries: conf.number("spark.port.maxRetries", default, 0, u16::MAX)?,
        })
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

impl ShuffleServiceSettings {
    fn new(conf: &SparkProperties) -> Result<Option<Self>, SettingError> {
        if !conf.switch("spark.shuffle.service.enabled", false)? {
            return Ok(None);
        }
        Ok(Some(Self {
            port: conf.number("spark.shuffle.service.port", 7337, 1, u16::MAX)?,
            registration_timeout: conf.time(
                "spark.shuffle.registration.timeout",
                Duration::from_secs(5),
                TimeUnit::Millis,
            )?,
            registration_attempts: conf.number(
                "spark.shuffle.registration.maxAttempts",
                3,
                1,
                i32::MAX as u32,
            )?,
        }))
    }
}

impl StorageSettings {
    fn new(conf: &SparkProperties) -> Result<Self, SettingError> {
        const SORT: &str = "org.apache.spark.shuffle.sort.SortShuffleManager";
        const LOCAL_DISK: &str = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";
        let manager = conf.text("spark.shuffle.manager", "sort");
        let sort =
            ["sort", "tungsten-sort"].contains(&manager.to_lowercase().as_str()) || manager == SORT;
        let plugin = conf.text("spark.shuffle.sort.io.plugin.class", LOCAL_DISK);
        // Blocks of more than 2 GiB do not fit a Java array and always go through a file.
        let most = i32::MAX as u64 - 512;
        Ok(Self {
            sub_directories: conf.number("spark.diskStore.subDirectories", 64, 1, 1 << 16)?,
            sort_shuffle_files: sort && plugin == LOCAL_DISK,
            shuffle_manager: if sort { SORT.to_owned() } else { manager },
            max_remote_block_in_memory: conf
                .size(
                    "spark.network.maxRemoteBlockSizeFetchToMem",
                    200 << 20,
                    SizeUnit::Bytes,
                )?
                .min(most),
            io_encryption: conf.switch("spark.io.encryption.enabled", false)?,
        })
    }
}

/// The directories below which an executor keeps its files, as Spark's `Utils.getConfiguredLocalDirs`: of a YARN container `LOCAL_DIRS`, else
/// `SPARK_EXECUTOR_DIRS`, `SPARK_LOCAL_DIRS`, `spark.local.dir`, and the JVM's temporary directory (`java.io.tmpdir`).
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
        (conf.text("spark.local.dir", tmpdir.unwrap_or("/tmp")), ',')
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
