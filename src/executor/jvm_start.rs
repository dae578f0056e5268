//! Creating the JVM when the first task needs it.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use javaser::Catalog;
use tracing::{info, warn};
use wire::messages::SparkAppConfig;

use super::discovery::Resources;
use super::events::Input;
use super::jvm_host::Host;
use super::registered::RegisteredExecutor;
use super::resources;
use crate::blocks::LocalDirs;
use crate::config::declared;
use crate::launch::{ExecutorArguments, JavaCommand, Jdk, jdk};
use crate::task::jvm::{Bootstrap, Jvm, JvmConfig, JvmHost, Jvms};

/// What a JVM is created from, kept from the launch command.
#[derive(Debug, Clone)]
pub(super) struct JvmLaunch {
    /// Where it comes from.
    pub(super) jvms: &'static dyn Jvms,
    /// The launch command: options and class path of the JVM.
    pub(super) command: JavaCommand,
    /// The executor's own arguments.
    pub(super) arguments: ExecutorArguments,
    /// The driver's answer to `RetrieveSparkAppConfig`, as it came.
    pub(super) app_config: Bytes,
    /// Version of the distribution.
    pub(super) spark_version: String,
    /// Custom resources that the executor is registered with.
    pub(super) resources: Resources,
}

impl JvmLaunch {
    pub(super) fn bootstrap(&self, catalog: &Catalog, local_dirs: &LocalDirs) -> Bootstrap {
        let a = &self.arguments;
        Bootstrap {
            backend_class: a.backend.class_name().to_owned(),
            driver_url: a.driver_url.clone(),
            executor_id: a.executor_id.clone(),
            bind_address: "127.0.0.1".to_owned(),
            hostname: a.hostname.clone(),
            cores: a.cores,
            app_id: a.app_id.clone(),
            resources_file: self
                .resources_file(local_dirs)
                .map(|file| file.to_string_lossy().into_owned()),
            resource_profile_id: a.resource_profile_id,
            pod_name: a.pod_name.clone(),
            spark_app_config: settings_of_backend(&self.app_config, catalog),
            local_dirs: local_dirs.dirs().to_vec(),
        }
    }

    /// The file that names the executor's resources to the JVM's backend, so that it does not look for them once more:
    /// a discovery script may give others then, or none.
    fn resources_file(&self, local_dirs: &LocalDirs) -> Option<PathBuf> {
        let given = self.arguments.resources_file.clone();
        let Some(dir) = local_dirs
            .dirs()
            .first()
            .filter(|_| !self.resources.is_empty())
        else {
            return given;
        };
        let file = dir.join("resources.json");
        match std::fs::write(&file, resources::as_resources_file(&self.resources)) {
            Ok(()) => Some(file),
            Err(error) => {
                warn!(target: "Firesteel", "Cannot write {}: {error}", file.display());
                given
            }
        }
    }

    /// Creates the JVM; what becomes of it arrives through `host`.
    ///
    /// # Errors
    /// No JDK, or no bridge for this version.
    pub(super) fn create(&self, host: Arc<dyn JvmHost>) -> Result<Arc<dyn Jvm>, String> {
        let jdk = Jdk::find_on_this_machine().map_err(|error| error.to_string())?;
        if !jdk.is_supported() {
            warn!(target: "Firesteel", "JDK {} at {} is not one of the supported versions 17 and 21", jdk.version(), jdk.home().display());
        }
        let bridge = bridge_jar(&self.spark_version)?;
        info!(target: "Firesteel", "Creating a JVM from {} with {}", jdk.home().display(), bridge.display());
        let config = JvmConfig {
            libjvm: jdk.libjvm().to_owned(),
            options: self.command.jvm_options(&[bridge]),
            stack_size: self.command.main_thread_stack(),
        };
        self.jvms
            .start(config, host)
            .map_err(|error| error.to_string())
    }
}

/// The application's settings for the JVM's backend, with other ones for leaving on request. The decommission signal
/// stays ours, because the backend would leave without regard to native tasks and blocks: it gets one that nobody
/// sends. Files of shuffles are moved by us, since the JVM does not see those in directories that it did not make; only
/// the fallback storage is the JVM's. The backend is told to leave when all else is done: it looks at once whether it
/// may.
fn settings_of_backend(app_config: &Bytes, catalog: &Catalog) -> Bytes {
    const UNUSED: &str = "STKFLT";
    let changed = SparkAppConfig::decode(app_config).and_then(|mut config| {
        let properties = &mut config.spark_properties;
        let fallback = properties
            .iter()
            .any(|(key, _)| key == declared::FALLBACK_STORAGE_PATH.key);
        let mut set = |name: &str, value: &str| {
            properties.retain(|(key, _)| key != name);
            properties.push((name.to_owned(), value.to_owned()));
        };
        set(declared::DECOMMISSION_SIGNAL.key, UNUSED);
        set(declared::DECOMMISSION_FIRST_LOOK.key, "0");
        // Other executors make rows of their columns when it asks them.
        set(declared::READ_HOST_LOCAL_DISK.key, "false");
        if !fallback {
            set(declared::MIGRATE_SHUFFLE_BLOCKS.key, "false");
        }
        config.encode(catalog)
    });
    match changed {
        Ok(changed) => changed.into(),
        Err(error) => {
            warn!(target: "Firesteel", "The embedded JVM will take the decommission signal: {error}");
            app_config.clone()
        }
    }
}

/// Starts the JVM on a thread of its own; what becomes of it arrives through [`Host`].
pub(super) fn start(executor: Arc<RegisteredExecutor>) {
    let for_error = Arc::clone(&executor);
    let spawned = std::thread::Builder::new()
        .name("jvm-start".to_owned())
        .spawn(move || {
            if let Err(why) = create(&executor) {
                executor.input(Input::JvmFailed(why));
            }
        });
    if let Err(error) = spawned {
        // Not from here: the state machine is being carried out.
        let runtime = for_error.runtime.clone();
        runtime.spawn(async move {
            for_error.input(Input::JvmFailed(format!(
                "no thread could be created: {error}"
            )))
        });
    }
}

fn create(executor: &Arc<RegisteredExecutor>) -> Result<(), String> {
    if let Some(early) = executor.jvm.take_early() {
        early.hand_over(executor);
        return Ok(());
    }
    let lane = executor
        .jvm
        .launch
        .create(Arc::new(Host(Arc::clone(executor))))?;
    executor.jvm.created(lane);
    Ok(())
}

/// The bridge jar for a Spark version, from this installation's `jars/`.
///
/// # Errors
/// A text that names what is missing and what to do.
pub fn bridge_jar(spark_version: &str) -> Result<PathBuf, String> {
    let mut parts = spark_version.split('.');
    let minor = match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => format!("{major}.{minor}"),
        _ => {
            return Err(format!(
                "the Spark version {spark_version:?} on the class path is not understood"
            ));
        }
    };
    let dist = jdk::own_dist().ok_or("this program is not in the bin/ of a Firesteel directory; install the whole directory that the build makes")?;
    let jar = dist
        .join("jars")
        .join(format!("firesteel-bridge-spark-{minor}.jar"));
    if jar.is_file() {
        Ok(jar)
    } else {
        Err(format!(
            "{} does not exist: this Firesteel has no bridge to the JVM for Spark {minor}. Use a Firesteel directory as the build makes it, and one of the \
             supported Spark versions 3.5, 4.0, 4.1, 4.2 and 4.3",
            jar.display()
        ))
    }
}
