//! From the command line to a registered executor: the straight line before the state machine.
//!
//! Source of the order: `org.apache.spark.executor.CoarseGrainedExecutorBackend.run` and `onStart`; control plane reference, section 6.2.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use javaser::Limits;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tracing::info;
use wire::WireError;
use wire::envelope::RpcAddress;
use wire::ids::BlockManagerId;
use wire::messages::{
    ExecutorLossReason, GenerateExecId, LaunchedExecutor, RegisterBlockManager, RegisterExecutor,
    RemoveExecutor, RetrieveSparkAppConfig, RpcEndpointRef, SparkAppConfig, reply,
};
use wire::version::WireVersion;

use super::core::{Core, CoreConfig};
use super::distribution;
use super::error::ExecutorError;
use super::events::Input;
use super::exit_code;
use super::inbound::{BLOCK_MANAGER, EXECUTOR};
use super::jvm_start::JvmLaunch;
use super::native::NativeTasks;
use super::resources;
use super::shared::{Shared, failure_text};
use super::source::StoredBlocks;
use crate::blocks::{BlockEnv, BlockServer, LocalDirs};
use crate::config::{self, Settings, SparkProperties};
use crate::launch::{
    DriverUrl, ExecutorArguments, ExecutorDetails, HeapSize, JavaCommand, Machine, environment,
    hadoop,
};
use crate::logging::LevelHandle;
use crate::report::Report;
use crate::rpc::{DriverEndpoint, Event, FileServer, RpcConf};
use crate::transport::AskError;

/// How often a first connection is tried; Kubernetes sets `EXECUTOR_DRIVER_PROPS_FETCHER_MAX_ATTEMPTS`.
const CONNECTION_ATTEMPTS: u32 = 3;
/// Pause between attempts.
const ATTEMPT_PAUSE: Duration = Duration::from_secs(1);

/// What an executor is started from.
#[derive(Debug, Clone)]
pub struct Options {
    /// The launch command: class path and JVM options.
    pub command: JavaCommand,
    /// The executor's own arguments.
    pub arguments: ExecutorArguments,
    /// Value of `FIRESTEEL_REPORT`.
    pub report: Option<String>,
    /// When the process (or, embedded, the executor) started.
    pub process_start: Instant,
}

/// A registered executor that nobody listens to yet.
pub(super) struct Registered {
    pub(super) shared: Arc<Shared>,
    pub(super) events: mpsc::UnboundedReceiver<Event>,
    pub(super) exit: watch::Receiver<Option<i32>>,
    pub(super) settings: Settings,
    /// Serves blocks until dropped.
    pub(super) block_server: BlockServer,
}

/// Fetches the application's properties and registers executor and block manager with the driver.
///
/// # Errors
/// Whatever stops an executor from starting; nothing is left behind.
pub(super) async fn register(
    options: Options,
    report: Arc<Report>,
    level: Arc<LevelHandle>,
    own_process: bool,
) -> Result<Registered, ExecutorError> {
    let Options {
        command,
        mut arguments,
        process_start,
        ..
    } = options;
    let env = |name: &str| std::env::var(name).ok();
    let class_path = command.class_path_entries();
    let catalog = Arc::new(distribution::open(&class_path)?);
    let version = WireVersion::detect(&catalog).map_err(|why| ExecutorError::Unsupported {
        version: catalog
            .spark_version()
            .unwrap_or_else(|_| "of unknown version".to_owned()),
        why: why.to_string(),
    })?;
    report.set_spark_version(&version.spark_version);

    let mut properties =
        SparkProperties::from_launch(command.system_properties(), environment::variables());
    config::refuse_unsupported(&properties).map_err(setting)?;
    let url = DriverUrl::parse(&arguments.driver_url)?;
    let driver = Driver {
        name: format!("{}:{}", url.host, url.port),
        spark_version: version.spark_version.clone(),
    };
    let startup_conf = RpcConf::new(|key| properties.get(key))
        .map_err(|e| ExecutorError::Setting(e.to_string()))?;
    let (endpoint, events) = connect(&url, &startup_conf, &driver).await?;

    let ask = |message: &'static str,
               to: &'static str,
               content: Result<Vec<u8>, WireError>,
               timeout: Duration| {
        let (endpoint, driver) = (&endpoint, &driver);
        async move {
            let content = content.map_err(|why| driver.unsupported(&why))?;
            endpoint
                .ask(to, content.into(), timeout)
                .await
                .map_err(|why| driver.no_answer(message, &why))
        }
    };
    let scheduler = "CoarseGrainedScheduler";
    let timeout = startup_conf.ask_timeout;
    let app_config = ask(
        "RetrieveSparkAppConfig",
        scheduler,
        RetrieveSparkAppConfig {
            resource_profile_id: arguments.resource_profile_id,
        }
        .encode(&catalog),
        timeout,
    )
    .await?;
    let config = SparkAppConfig::decode(&app_config)
        .map_err(|why| driver.refused("RetrieveSparkAppConfig", &app_config, &why))?;
    if arguments.pod_name.is_some()
        && (arguments.executor_id.is_empty() || arguments.executor_id == "EXECID")
    {
        let message = GenerateExecId {
            pod_name: arguments.pod_name.clone().unwrap_or_default(),
        };
        let body = ask(
            "GenerateExecID",
            scheduler,
            message.encode(&catalog),
            timeout,
        )
        .await?;
        arguments.executor_id = reply::read_string(&body)
            .map_err(|why| driver.refused("GenerateExecID", &body, &why))?;
    }

    properties.merge_driver(config.spark_properties.iter().cloned());
    properties.set("spark.app.id", arguments.app_id.as_str());
    properties.set("spark.executor.id", arguments.executor_id.as_str());
    if let Some(log_level) = config.log_level.as_deref() {
        level.set_log4j_level(log_level);
    }
    config::apply_version_defaults(&mut properties, &version.spark_version);
    let heap = HeapSize::of(&command.options, &Machine::detect(), env);
    let settings = Settings::new(&properties, heap.max_memory).map_err(setting)?;
    let rpc_conf = RpcConf::new(|key| properties.get(key))
        .map_err(|e| ExecutorError::Setting(e.to_string()))?;
    log_memory(&heap, &settings);
    let resources = resources::allocated(&arguments, &config.resource_profile, &properties).await?;

    let tmpdir = command.system_property("java.io.tmpdir");
    let roots = config::local_dir_roots(&properties, env, tmpdir);
    let keep_files = settings.shuffle_service.is_some();
    let local_dirs = LocalDirs::create(&roots, settings.storage.sub_directories, keep_files)
        .map_err(|why| ExecutorError::NoLocalDir(why.to_string()))?;
    let local_dirs = Arc::new(local_dirs);
    let source = Arc::new(StoredBlocks::default());
    let block_server = serve_blocks(&arguments, &settings, &properties, &local_dirs, &source)?;

    let ask_seconds = i64::try_from(rpc_conf.ask_timeout.as_secs()).unwrap_or(i64::MAX);
    let details = ExecutorDetails::collect(arguments.backend, environment::variables(), |key| {
        properties
            .get(&format!("spark.hadoop.{key}"))
            .or_else(|| hadoop::setting(&class_path, key))
    });
    let message = RegisterExecutor {
        executor_id: arguments.executor_id.clone(),
        executor_ref: RpcEndpointRef::client(EXECUTOR, ask_seconds),
        hostname: arguments.hostname.clone(),
        cores: i32::try_from(arguments.cores).unwrap_or(i32::MAX),
        log_urls: details.log_urls.into_iter().collect(),
        attributes: details.attributes.into_iter().collect(),
        resources,
        resource_profile_id: arguments.resource_profile_id,
    };
    info!(target: "CoarseGrainedExecutorBackend", "Connecting to driver: {}", arguments.driver_url);
    let body = ask(
        "RegisterExecutor",
        scheduler,
        message.encode(&catalog),
        rpc_conf.ask_timeout,
    )
    .await?;
    match reply::read_boolean(&body) {
        Ok(true) => {}
        Ok(false) => {
            return Err(driver.refused_with("RegisterExecutor", "it answered false".to_owned()));
        }
        Err(why) => return Err(driver.refused("RegisterExecutor", &body, &why)),
    }
    let elapsed = process_start.elapsed();
    report.set_registered(elapsed);
    info!(target: "CoarseGrainedExecutorBackend", "Successfully registered with driver after {} ms", elapsed.as_millis());

    let mut registration = RegisterBlockManager {
        block_manager_id: BlockManagerId {
            executor_id: arguments.executor_id.clone(),
            host: arguments.hostname.clone(),
            port: i32::from(block_server.port()),
            topology_info: None,
        },
        local_dirs: local_dirs
            .dirs()
            .iter()
            .map(|dir| dir.to_string_lossy().into_owned())
            .collect(),
        max_on_heap_mem_size: settings.memory.max_on_heap.cast_signed(),
        max_off_heap_mem_size: settings.memory.max_off_heap.cast_signed(),
        sender: RpcEndpointRef::client(BLOCK_MANAGER, ask_seconds),
        is_re_register: false,
    };
    info!(target: "BlockManagerMaster", "Registering BlockManager {}", registration.block_manager_id);
    let body = ask(
        "RegisterBlockManager",
        "BlockManagerMaster",
        registration.encode(&catalog),
        rpc_conf.ask_timeout,
    )
    .await?;
    registration.block_manager_id = BlockManagerId::decode(&body)
        .map_err(|why| driver.refused("RegisterBlockManager", &body, &why))?;
    info!(target: "BlockManagerMaster", "Registered BlockManager {}", registration.block_manager_id);

    let core = CoreConfig {
        heartbeat_interval: settings.heartbeat.interval,
        heartbeat_max_failures: settings.heartbeat.max_failures,
        heartbeat_jitter: jitter(),
        decommission_enabled: settings.decommission.enabled,
        migration: settings.decommission.migration,
        jvm_migrates: settings.decommission.fallback_storage,
        reregistration_exit_code: if version.scala_213 {
            exit_code::BLOCK_MANAGER_REREGISTRATION_FAILED
        } else {
            exit_code::WORKER_LOST
        },
    };
    let launched = LaunchedExecutor {
        executor_id: arguments.executor_id.clone(),
    }
    .encode(&catalog)
    .map_err(|why| driver.unsupported(&why))?;
    let files = FileServer::new(rpc_conf.files);
    let env = BlockEnv {
        app_id: arguments.app_id.clone(),
        block_manager_id: registration.block_manager_id.clone(),
        catalog: Arc::clone(&catalog),
        version: version.clone(),
        limits: Limits::default(),
        properties: Arc::new(properties),
        driver: endpoint.clone(),
        ask_timeout: rpc_conf.ask_timeout,
        local_dirs: Arc::clone(&local_dirs),
        runtime: tokio::runtime::Handle::current(),
        io_encryption_key: config.io_encryption_key,
    };
    let native =
        NativeTasks::new(Arc::new(env), &settings, files.clone(), class_path).map_err(setting)?;
    if let Some(service) = &settings.shuffle_service {
        let registered = native
            .plane
            .register_with_shuffle_service(service, &settings.storage);
        if let Err(why) = registered.await {
            let reason = format!("Unable to create executor due to {why}");
            let leaving = RemoveExecutor {
                executor_id: arguments.executor_id.clone(),
                reason: ExecutorLossReason { message: reason },
            };
            // The driver would otherwise only see that the connection ends.
            if let Ok(leaving) = leaving.encode(&catalog)
                && endpoint.tell(scheduler, leaving.into()).is_ok()
            {
                let _ = tokio::time::timeout(rpc_conf.ask_timeout, endpoint.flush()).await;
            }
            local_dirs.remove();
            return Err(ExecutorError::ShuffleService {
                address: format!("{}:{}", arguments.hostname, service.port),
                why,
            });
        }
    }
    let (exit_sender, exit) = watch::channel(None);
    let shared = Arc::new(Shared {
        core: Mutex::new(Core::new(
            process_start.elapsed(),
            core,
            Arc::clone(&report),
        )),
        process_start,
        driver: endpoint,
        ask_timeout: rpc_conf.ask_timeout,
        heartbeat_interval: settings.heartbeat.interval,
        catalog,
        version,
        executor_id: arguments.executor_id.clone(),
        registration,
        report,
        local_dirs,
        files,
        native,
        runtime: tokio::runtime::Handle::current(),
        level,
        jvm_launch: JvmLaunch {
            command,
            arguments,
            app_config,
        },
        lane: OnceLock::new(),
        replies: Mutex::new(HashMap::new()),
        waiting_tasks: Mutex::new(HashMap::new()),
        blocks: Mutex::new(HashMap::new()),
        uploads: Mutex::new(HashMap::new()),
        streams: Mutex::new(HashMap::new()),
        next_id: AtomicI64::new(1),
        next_request: AtomicU64::new(1),
        own_process,
        exit: exit_sender,
        finished: AtomicBool::new(false),
        rearm: Notify::new(),
        migration: Mutex::default(),
    });
    source.connect(&shared);
    let weak = Arc::downgrade(&shared);
    shared.native.plane.blocks.on_unknown_to_master(move || {
        if let Some(shared) = weak.upgrade() {
            let runtime = shared.runtime.clone();
            runtime.spawn(async move {
                shared.input(Input::HeartbeatAnswer {
                    from_jvm: false,
                    answer: Ok(true),
                });
            });
        }
    });
    // The driver gives tasks from here on.
    if shared.driver.tell(scheduler, launched.into()).is_err() {
        return Err(driver.refused_with("LaunchedExecutor", "its name is too long".to_owned()));
    }
    // What reading jars and settings took is not needed again.
    crate::memory::trim();
    Ok(Registered {
        shared,
        events,
        exit,
        settings,
        block_server,
    })
}

/// Says what the memory that the user gave is for.
fn log_memory(heap: &HeapSize, settings: &Settings) {
    const MIB: u64 = 1 << 20;
    let memory = &settings.memory;
    info!(
        target: "Firesteel",
        "Memory: Java heap {} MiB, taken when a JVM is created, of it {} MiB for execution and storage; off-heap {} MiB",
        heap.max_heap / MIB, memory.max_on_heap / MIB, memory.max_off_heap / MIB
    );
}

fn setting(error: config::SettingError) -> ExecutorError {
    ExecutorError::Setting(error.to_string())
}

/// A share of the heartbeat interval, 0..1, that differs between executors started together.
fn jitter() -> f64 {
    f64::from(u16::from_le_bytes([
        uuid::Uuid::new_v4().as_bytes()[0],
        uuid::Uuid::new_v4().as_bytes()[0],
    ])) / f64::from(u16::MAX)
}

async fn connect(
    url: &DriverUrl,
    conf: &RpcConf,
    driver: &Driver,
) -> Result<(DriverEndpoint, mpsc::UnboundedReceiver<Event>), ExecutorError> {
    let attempts = std::env::var("EXECUTOR_DRIVER_PROPS_FETCHER_MAX_ATTEMPTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(CONNECTION_ATTEMPTS)
        .max(1);
    let mut attempt = 1;
    loop {
        let address = RpcAddress {
            host: url.socket_host().to_owned(),
            port: i32::from(url.port),
        };
        match DriverEndpoint::connect(address, conf).await {
            Ok(connection) => return Ok(connection),
            Err(why) if attempt >= attempts => {
                return Err(ExecutorError::DriverUnreachable {
                    driver: driver.name.clone(),
                    host: url.host.clone(),
                    why: why.to_string(),
                });
            }
            Err(why) => {
                tracing::warn!(target: "CoarseGrainedExecutorBackend", "Cannot connect to the driver at {} (attempt {attempt} of {attempts}): {why}", driver.name);
                attempt += 1;
                tokio::time::sleep(ATTEMPT_PAUSE).await;
            }
        }
    }
}

fn serve_blocks(
    arguments: &ExecutorArguments,
    settings: &Settings,
    properties: &SparkProperties,
    local_dirs: &Arc<LocalDirs>,
    source: &Arc<StoredBlocks>,
) -> Result<BlockServer, ExecutorError> {
    let mut why = "no port to try".to_owned();
    for port in settings.block_manager_ports.candidates() {
        match BlockServer::bind(
            &arguments.bind_address,
            port,
            &arguments.app_id,
            &arguments.executor_id,
            Arc::clone(local_dirs),
            Arc::clone(source) as _,
            |key| properties.get(key),
        ) {
            Ok(server) => return Ok(server),
            Err(error) => why = error.to_string(),
        }
    }
    let first = settings.block_manager_ports.first;
    Err(ExecutorError::Port {
        address: format!(
            "{}:{first} (and {} more)",
            arguments.bind_address, settings.block_manager_ports.retries
        ),
        why,
    })
}

/// The driver, for error messages.
struct Driver {
    name: String,
    spark_version: String,
}

impl Driver {
    fn unsupported(&self, why: &WireError) -> ExecutorError {
        ExecutorError::Unsupported {
            version: self.spark_version.clone(),
            why: why.to_string(),
        }
    }

    fn no_answer(&self, what: &'static str, why: &AskError) -> ExecutorError {
        let text = why.to_string();
        let line = text.lines().next().unwrap_or_default().to_owned();
        // What a JVM answers when it cannot deserialize a message.
        let foreign = [
            "InvalidClassException",
            "ClassNotFoundException",
            "StreamCorruptedException",
            "ClassCastException",
        ];
        if matches!(why, AskError::RpcFailure(_))
            && foreign.iter().any(|class| text.contains(class))
        {
            return ExecutorError::DriverOfAnotherVersion {
                driver: self.name.clone(),
                version: self.spark_version.clone(),
                why: line,
            };
        }
        ExecutorError::NoAnswer {
            driver: self.name.clone(),
            what,
            why: line,
        }
    }

    fn refused(&self, what: &'static str, body: &Bytes, why: &WireError) -> ExecutorError {
        self.refused_with(what, failure_text(body, why))
    }

    fn refused_with(&self, what: &'static str, why: String) -> ExecutorError {
        ExecutorError::Refused {
            driver: self.name.clone(),
            what,
            why,
        }
    }
}
