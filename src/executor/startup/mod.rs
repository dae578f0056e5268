//! From the command line to a registered executor: the straight line before the state machine.
//!
//! The order is that of `org.apache.spark.executor.CoarseGrainedExecutorBackend.run` and `onStart`.

mod application;
mod contact;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use javaser::{Catalog, Limits};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tracing::info;
use wire::ids::BlockManagerId;
use wire::messages::{
    ExecutorLossReason, LaunchedExecutor, RegisterBlockManager, RegisterExecutor, RemoveExecutor,
    RpcEndpointRef, reply,
};
use wire::version::WireVersion;

use super::core::{Core, CoreConfig, Reaper};
use super::discovery::{self, EarlyJvm, Resources};
use super::distribution;
use super::driver_link::{BLOCK_MANAGER_MASTER, DriverLink, SCHEDULER};
use super::ending::Ending;
use super::error::ExecutorError;
use super::events::Input;
use super::exit_code;
use super::inbound::{BLOCK_MANAGER, EXECUTOR};
use super::jvm_link::JvmLink;
use super::jvm_start::JvmLaunch;
use super::native::NativeTasks;
use super::registered::RegisteredExecutor;
use super::replies::Replies;
use super::resources;
use super::source::StoredBlocks;
use crate::blocks::shuffle::ColumnCounts;
use crate::blocks::{BlockEnv, BlockServer, LocalDirs};
use crate::config::{self, ConnectionSecurity, Settings, SparkProperties, declared};
use crate::launch::{
    DriverUrl, ExecutorArguments, ExecutorDetails, JavaCommand, environment, hadoop, secret, tls,
};
use crate::logging::LevelHandle;
use crate::report::{Report, ShuffleColumns};
use crate::rpc::{Event, FileServer, RpcConf};
use crate::task::Assembly;
use crate::transport::{Authentication, Protection};
use application::Application;
use contact::Contact;

const LOG: &str = "CoarseGrainedExecutorBackend";
const BLOCK_LOG: &str = "BlockManagerMaster";

/// What an executor is started from.
#[derive(Debug, Clone)]
pub struct Options {
    /// The launch command: class path and JVM options.
    pub command: JavaCommand,
    /// The executor's own arguments.
    pub arguments: ExecutorArguments,
    /// Value of `FIRESTEEL_REPORT`.
    pub report: Option<String>,
    /// The lanes that there are.
    pub assembly: Assembly,
    /// When the process (or, embedded, the executor) started.
    pub process_start: Instant,
}

/// A registered executor that nobody listens to yet.
pub(super) struct Started {
    pub(super) executor: Arc<RegisteredExecutor>,
    pub(super) events: mpsc::UnboundedReceiver<Event>,
    pub(super) exit: watch::Receiver<Option<i32>>,
    pub(super) settings: Settings,
    /// Serves blocks until dropped.
    pub(super) block_server: BlockServer,
    /// How connections that carry control messages are protected.
    pub(super) protection: Protection,
}

/// The jars of Spark on the class path.
struct Distribution {
    class_path: Vec<PathBuf>,
    catalog: Arc<Catalog>,
    version: WireVersion,
}

impl Distribution {
    fn open(command: &JavaCommand) -> Result<Self, ExecutorError> {
        let class_path = command.class_path_entries();
        let catalog = Arc::new(distribution::open(&class_path)?);
        let version = WireVersion::detect(&catalog).map_err(|why| ExecutorError::Unsupported {
            version: catalog
                .spark_version()
                .unwrap_or_else(|_| "of unknown version".to_owned()),
            why: why.to_string(),
        })?;
        Ok(Self {
            class_path,
            catalog,
            version,
        })
    }
}

/// Fetches the application's properties and registers executor and block manager with the driver.
///
/// # Errors
/// Whatever stops an executor from starting; nothing is left behind.
pub(super) async fn start(
    options: Options,
    report: Arc<Report>,
    level: Arc<LevelHandle>,
    own_process: bool,
) -> Result<Started, ExecutorError> {
    let Options {
        command,
        mut arguments,
        process_start,
        assembly,
        ..
    } = options;
    let distribution = Distribution::open(&command)?;
    report.set_spark_version(&distribution.version.spark_version);
    let mut properties =
        SparkProperties::from_launch(command.system_properties(), environment::variables());
    let version = declared::version_of(&distribution.version.spark_version);
    config::forget_unknown(&mut properties, version);
    config::refuse_unsupported(&properties).map_err(setting)?;
    let url = DriverUrl::parse(&arguments.driver_url)?;
    let protection = protection(&properties)?;
    let startup = RpcConf::new(|key| properties.get(key))
        .map_err(|e| ExecutorError::Setting(e.to_string()))?
        .protected(&protection);
    let (contact, events) =
        Contact::connect(&url, &startup, &distribution.version.spark_version).await?;
    let application = Application::fetch(
        &contact,
        &distribution,
        &startup,
        &command,
        &mut arguments,
        properties,
        &level,
    )
    .await?;
    let plugins = plugins_to_ask(&arguments, &application)?;
    let resources = match plugins {
        Some(_) => Resources::new(),
        None => {
            let profile = &application.config.resource_profile;
            resources::allocated(&arguments, profile, &application.properties).await?
        }
    };
    let local_dirs = local_dirs(&command, &application)?;
    let launch = JvmLaunch {
        jvms: assembly.jvms,
        command,
        arguments,
        app_config: application.answer.clone(),
        spark_version: distribution.version.spark_version.clone(),
        resources,
    };
    let start = Start {
        distribution,
        contact,
        application,
        local_dirs: Arc::clone(&local_dirs),
        launch,
        report,
        level,
        own_process,
        process_start,
        assembly,
    };
    let (executor, exit, settings, block_server) = start
        .register(plugins)
        .await
        .inspect_err(|_| local_dirs.remove())?;
    // What reading jars and settings took is not needed again.
    crate::memory::trim();
    Ok(Started {
        executor,
        events,
        exit,
        settings,
        block_server,
        protection,
    })
}

/// How connections are protected: the launch command says everything that is needed before the driver is asked.
fn protection(properties: &SparkProperties) -> Result<Protection, ExecutorError> {
    let env = |name: &str| std::env::var(name).ok();
    let tls = tls::find(properties, env).map_err(|why| ExecutorError::Setting(why.to_string()))?;
    let authentication = match ConnectionSecurity::new(properties).map_err(setting)? {
        Some(security) => {
            let secret = secret::find(properties, env)
                .map_err(|why| ExecutorError::Setting(why.to_string()))?;
            Some(Authentication::new(security, secret))
        }
        None => None,
    };
    Ok(Protection {
        tls,
        authentication,
    })
}

/// The setting that names plugins which have to be asked for custom resources, if there is something to ask.
fn plugins_to_ask(
    arguments: &ExecutorArguments,
    application: &Application,
) -> Result<Option<String>, ExecutorError> {
    let profile = &application.config.resource_profile;
    let properties = &application.properties;
    match discovery::plugins(properties) {
        Some(plugins) if resources::are_to_be_discovered(arguments, profile, properties)? => {
            Ok(Some(plugins))
        }
        _ => Ok(None),
    }
}

fn local_dirs(
    command: &JavaCommand,
    application: &Application,
) -> Result<Arc<LocalDirs>, ExecutorError> {
    let env = |name: &str| std::env::var(name).ok();
    let settings = &application.settings;
    let tmpdir = command.system_property("java.io.tmpdir");
    let roots = config::local_dir_roots(&application.properties, env, tmpdir);
    let keep_files = settings.shuffle_service.is_some();
    LocalDirs::create(&roots, settings.storage.sub_directories, keep_files)
        .map(Arc::new)
        .map_err(|why| ExecutorError::NoLocalDir(why.to_string()))
}

/// An executor that has all it needs to register.
struct Start {
    distribution: Distribution,
    contact: Contact,
    application: Application,
    local_dirs: Arc<LocalDirs>,
    launch: JvmLaunch,
    report: Arc<Report>,
    level: Arc<LevelHandle>,
    own_process: bool,
    process_start: Instant,
    assembly: Assembly,
}

/// The executor, what tells of its end, its settings, and what serves its blocks.
type Parts = (
    Arc<RegisteredExecutor>,
    watch::Receiver<Option<i32>>,
    Settings,
    BlockServer,
);

impl Start {
    async fn register(mut self, plugins: Option<String>) -> Result<Parts, ExecutorError> {
        let early_jvm = match plugins {
            Some(setting) => Some(self.ask_plugins(setting).await?),
            None => None,
        };
        let source = Arc::new(StoredBlocks::default());
        let block_server = self.serve_blocks(&source)?;
        self.register_executor().await?;
        let elapsed = self.process_start.elapsed();
        self.report.set_registered(elapsed);
        info!(target: LOG, "Successfully registered with driver after {} ms", elapsed.as_millis());
        let registration = self.register_block_manager(block_server.port()).await?;
        let launched = self.launched()?;
        let files = FileServer::new(self.application.rpc.files.clone());
        let native = self.native_tasks(&registration, &files)?;
        self.register_with_shuffle_service(&native).await?;

        let (executor, exit, settings) = self.into_executor(registration, early_jvm, native, files);
        source.connect(&executor);
        register_again_when_unknown(&executor);
        // The driver gives tasks from here on, unless they wait for a JVM that says so itself.
        if settings.jvm_from_start.is_none() {
            executor.driver.endpoint.tell_raw(launched);
        }
        Ok((executor, exit, settings, block_server))
    }

    fn executor_id(&self) -> String {
        self.launch.arguments.executor_id.clone()
    }

    /// How long references to our endpoints say that an ask of them may take, in seconds.
    fn ask_seconds(&self) -> i64 {
        i64::try_from(self.application.rpc.ask_timeout.as_secs()).unwrap_or(i64::MAX)
    }

    /// `LaunchedExecutor` in its envelope: from then on the driver gives tasks.
    fn launched(&self) -> Result<Bytes, ExecutorError> {
        let message = LaunchedExecutor {
            executor_id: self.executor_id(),
        };
        let content = message
            .encode(&self.distribution.catalog)
            .map_err(|why| self.contact.unsupported(&why))?;
        let envelope = self.contact.endpoint.envelope(SCHEDULER, content.into());
        envelope.map_err(|_| {
            let why = "its name is too long".to_owned();
            self.contact.refused_with("LaunchedExecutor", why)
        })
    }

    /// Lets plugins find the executor's custom resources, in a JVM that becomes the executor's.
    async fn ask_plugins(&mut self, setting: String) -> Result<EarlyJvm, ExecutorError> {
        info!(target: LOG, "Starting the embedded JVM for {setting}");
        let bootstrap = self
            .launch
            .bootstrap(&self.distribution.catalog, &self.local_dirs);
        let (jvm, found) = EarlyJvm::discover(
            bootstrap,
            Arc::clone(&self.distribution.catalog),
            Arc::clone(&self.local_dirs),
            self.own_process,
            |host| self.launch.create(host),
        )
        .await
        .map_err(|why| ExecutorError::Discovery {
            setting: setting.clone(),
            why,
        })?;
        self.launch.resources = found;
        self.application.settings.jvm_from_start = Some(setting);
        Ok(jvm)
    }

    /// How connections that carry blocks are protected.
    fn block_protection(&self) -> Protection {
        let protection = &self.application.rpc.transport.protection;
        protection.of_application(&self.launch.arguments.app_id)
    }

    fn serve_blocks(&self, source: &Arc<StoredBlocks>) -> Result<BlockServer, ExecutorError> {
        let arguments = &self.launch.arguments;
        let ports = &self.application.settings.block_manager_ports;
        let mut why = "no port to try".to_owned();
        for port in ports.candidates() {
            match BlockServer::bind(
                (&arguments.bind_address, port),
                &arguments.app_id,
                &arguments.executor_id,
                Arc::clone(&self.local_dirs),
                Arc::clone(source) as _,
                self.block_protection(),
                |key| self.application.properties.get(key),
            ) {
                Ok(server) => return Ok(server),
                Err(error) => why = error.to_string(),
            }
        }
        let first = ports.first;
        Err(ExecutorError::Port {
            address: format!(
                "{}:{first} (and {} more)",
                arguments.bind_address, ports.retries
            ),
            why,
        })
    }

    async fn register_executor(&self) -> Result<(), ExecutorError> {
        let arguments = &self.launch.arguments;
        let properties = &self.application.properties;
        let class_path = &self.distribution.class_path;
        let details =
            ExecutorDetails::collect(arguments.backend, environment::variables(), |key| {
                hadoop::setting_of_application(properties, class_path, key)
            });
        let message = RegisterExecutor {
            executor_id: self.executor_id(),
            executor_ref: RpcEndpointRef::client(EXECUTOR, self.ask_seconds()),
            hostname: arguments.hostname.clone(),
            cores: i32::try_from(arguments.cores).unwrap_or(i32::MAX),
            log_urls: details.log_urls.into_iter().collect(),
            attributes: details.attributes.into_iter().collect(),
            resources: self.launch.resources.clone(),
            resource_profile_id: arguments.resource_profile_id,
        };
        info!(target: LOG, "Connecting to driver: {}", arguments.driver_url);
        let content = message.encode(&self.distribution.catalog);
        let timeout = self.application.rpc.ask_timeout;
        let body = self
            .contact
            .ask("RegisterExecutor", SCHEDULER, content, timeout)
            .await?;
        match reply::read_boolean(&body) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self
                .contact
                .refused_with("RegisterExecutor", "it answered false".to_owned())),
            Err(why) => Err(self.contact.refused("RegisterExecutor", &body, &why)),
        }
    }

    async fn register_block_manager(
        &self,
        port: u16,
    ) -> Result<RegisterBlockManager, ExecutorError> {
        let memory = &self.application.settings.memory;
        let dirs = self.local_dirs.dirs().iter();
        let mut registration = RegisterBlockManager {
            block_manager_id: BlockManagerId {
                executor_id: self.executor_id(),
                host: self.launch.arguments.hostname.clone(),
                port: i32::from(port),
                topology_info: None,
            },
            local_dirs: dirs.map(|dir| dir.to_string_lossy().into_owned()).collect(),
            max_on_heap_mem_size: memory.max_on_heap.cast_signed(),
            max_off_heap_mem_size: memory.max_off_heap.cast_signed(),
            sender: RpcEndpointRef::client(BLOCK_MANAGER, self.ask_seconds()),
            is_re_register: false,
        };
        info!(target: BLOCK_LOG, "Registering BlockManager {}", registration.block_manager_id);
        let content = registration.encode(&self.distribution.catalog);
        let timeout = self.application.rpc.ask_timeout;
        let body = self
            .contact
            .ask(
                "RegisterBlockManager",
                BLOCK_MANAGER_MASTER,
                content,
                timeout,
            )
            .await?;
        registration.block_manager_id = BlockManagerId::decode(&body)
            .map_err(|why| self.contact.refused("RegisterBlockManager", &body, &why))?;
        info!(target: BLOCK_LOG, "Registered BlockManager {}", registration.block_manager_id);
        Ok(registration)
    }

    fn native_tasks(
        &self,
        registration: &RegisterBlockManager,
        files: &FileServer,
    ) -> Result<NativeTasks, ExecutorError> {
        let env = BlockEnv {
            app_id: self.launch.arguments.app_id.clone(),
            block_manager_id: registration.block_manager_id.clone(),
            catalog: Arc::clone(&self.distribution.catalog),
            version: self.distribution.version.clone(),
            limits: Limits::default(),
            properties: Arc::clone(&self.application.properties),
            driver: self.contact.endpoint.clone().into(),
            ask_timeout: self.application.rpc.ask_timeout,
            local_dirs: Arc::clone(&self.local_dirs),
            runtime: tokio::runtime::Handle::current(),
            protection: self.block_protection(),
            io_encryption_key: self.application.config.io_encryption_key.clone(),
        };
        NativeTasks::new(
            Arc::new(env),
            &self.application.settings,
            files.clone(),
            self.distribution.class_path.clone(),
            self.assembly,
        )
        .map_err(setting)
    }

    async fn register_with_shuffle_service(
        &self,
        native: &NativeTasks,
    ) -> Result<(), ExecutorError> {
        let settings = &self.application.settings;
        let Some(service) = &settings.shuffle_service else {
            return Ok(());
        };
        let registered = native
            .plane
            .register_with_shuffle_service(service, &settings.storage);
        let Err(why) = registered.await else {
            return Ok(());
        };
        let leaving = RemoveExecutor {
            executor_id: self.executor_id(),
            reason: ExecutorLossReason {
                message: format!("Unable to create executor due to {why}"),
            },
        };
        // The driver would otherwise only see that the connection ends.
        let endpoint = &self.contact.endpoint;
        if let Ok(leaving) = leaving.encode(&self.distribution.catalog)
            && endpoint.tell(SCHEDULER, leaving.into()).is_ok()
        {
            let _ = tokio::time::timeout(self.application.rpc.ask_timeout, endpoint.flush()).await;
        }
        Err(ExecutorError::ShuffleService {
            address: format!("{}:{}", self.launch.arguments.hostname, service.port),
            why,
        })
    }

    fn into_executor(
        self,
        registration: RegisterBlockManager,
        early_jvm: Option<EarlyJvm>,
        native: NativeTasks,
        files: FileServer,
    ) -> (
        Arc<RegisteredExecutor>,
        watch::Receiver<Option<i32>>,
        Settings,
    ) {
        let settings = self.application.settings;
        let core = core_config(&settings, &self.distribution.version);
        let (ending, exit) = Ending::new(
            self.own_process,
            Arc::clone(&self.report),
            Arc::clone(&self.local_dirs),
        );
        let shuffle = Arc::clone(&native.plane.shuffle);
        self.report.count_shuffle_columns_with(move || {
            let ColumnCounts { written, made_rows } = shuffle.column_counts();
            ShuffleColumns { written, made_rows }
        });
        let executor = Arc::new(RegisteredExecutor {
            core: Mutex::new(Core::new(
                self.process_start.elapsed(),
                core,
                Arc::clone(&self.report),
            )),
            rearm: Notify::new(),
            process_start: self.process_start,
            driver: DriverLink {
                endpoint: self.contact.endpoint,
                ask_timeout: self.application.rpc.ask_timeout,
                heartbeat_interval: settings.heartbeat.interval,
                catalog: self.distribution.catalog,
                version: self.distribution.version,
                executor_id: self.launch.arguments.executor_id.clone(),
                registration,
            },
            replies: Replies::default(),
            jvm: JvmLink::new(self.launch, early_jvm),
            native,
            migration: Mutex::default(),
            local_dirs: self.local_dirs,
            files,
            report: self.report,
            level: self.level,
            ending,
            runtime: tokio::runtime::Handle::current(),
        });
        (executor, exit, settings)
    }
}

fn core_config(settings: &Settings, version: &WireVersion) -> CoreConfig {
    CoreConfig {
        heartbeat_interval: settings.heartbeat.interval,
        heartbeat_max_failures: settings.heartbeat.max_failures,
        heartbeat_jitter: jitter(),
        decommission_enabled: settings.decommission.enabled,
        migration: settings.decommission.migration,
        decommission_first_look: settings.decommission.first_look,
        jvm_migrates: settings.decommission.fallback_storage,
        tasks_wait_for_jvm: settings.jvm_from_start.is_some(),
        reaper: settings
            .task_reaper
            .map(|reaper| Reaper::new(reaper, version.scala_213)),
        reregistration_exit_code: if version.scala_213 {
            exit_code::BLOCK_MANAGER_REREGISTRATION_FAILED
        } else {
            exit_code::WORKER_LOST
        },
    }
}

/// A driver that does not know a block of ours does not know the block manager.
fn register_again_when_unknown(executor: &Arc<RegisteredExecutor>) {
    let weak = Arc::downgrade(executor);
    executor.native.plane.blocks.on_unknown_to_master(move || {
        if let Some(executor) = weak.upgrade() {
            let runtime = executor.runtime.clone();
            runtime.spawn(async move {
                executor.input(Input::HeartbeatAnswer {
                    from_jvm: false,
                    answer: Ok(true),
                });
            });
        }
    });
}

fn setting(error: config::SettingError) -> ExecutorError {
    ExecutorError::Setting(error.to_string())
}

/// A share of the heartbeat interval, 0..1, that differs between executors started together.
fn jitter() -> f64 {
    let [low, high, ..] = *uuid::Uuid::new_v4().as_bytes();
    f64::from(u16::from_le_bytes([low, high])) / f64::from(u16::MAX)
}
