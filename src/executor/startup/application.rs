//! What the driver says of the application: its properties, and the executor's id where the cluster manager left it
//! open.

use std::sync::Arc;

use bytes::Bytes;
use tracing::info;
use wire::messages::{GenerateExecId, RetrieveSparkAppConfig, SparkAppConfig, reply};

use super::super::driver_link::SCHEDULER;
use super::super::error::ExecutorError;
use super::contact::Contact;
use super::{Distribution, setting};
use crate::config::{self, Settings, SparkProperties, declared};
use crate::launch::{Backend, ExecutorArguments, HeapSize, JavaCommand, Machine, hadoop};
use crate::logging::LevelHandle;
use crate::rpc::RpcConf;

/// An application as its driver describes it.
pub(super) struct Application {
    /// The driver's answer, as it came.
    pub(super) answer: Bytes,
    /// The same, read.
    pub(super) config: SparkAppConfig,
    /// All properties: of the launch, of the driver, defaults of the version.
    pub(super) properties: Arc<SparkProperties>,
    /// What the executor itself obeys of them.
    pub(super) settings: Settings,
    /// How the driver is talked to.
    pub(super) rpc: RpcConf,
}

impl Application {
    /// Asks the driver. `properties` are those of the launch command.
    ///
    /// # Errors
    /// The driver does not answer, or a setting is wrong.
    pub(super) async fn fetch(
        contact: &Contact,
        distribution: &Distribution,
        startup: &RpcConf,
        command: &JavaCommand,
        arguments: &mut ExecutorArguments,
        mut properties: SparkProperties,
        level: &LevelHandle,
    ) -> Result<Self, ExecutorError> {
        let message = RetrieveSparkAppConfig {
            resource_profile_id: arguments.resource_profile_id,
        };
        let content = message.encode(&distribution.catalog);
        let answer = contact
            .ask(
                "RetrieveSparkAppConfig",
                SCHEDULER,
                content,
                startup.ask_timeout,
            )
            .await?;
        let config = SparkAppConfig::decode(&answer)
            .map_err(|why| contact.refused("RetrieveSparkAppConfig", &answer, &why))?;
        if arguments.pod_name.is_some()
            && (arguments.executor_id.is_empty() || arguments.executor_id == "EXECID")
        {
            arguments.executor_id =
                executor_id_of_pod(contact, distribution, startup, arguments).await?;
        }
        properties.merge_driver(config.spark_properties.iter().cloned());
        properties.set(declared::APP_ID.key, arguments.app_id.as_str());
        properties.set(declared::EXECUTOR_ID.key, arguments.executor_id.as_str());
        if let Some(log_level) = config.log_level.as_deref() {
            level.set_log4j_level(log_level);
        }
        if arguments.backend == Backend::Yarn {
            hadoop::apply_yarn_settings(&mut properties, &distribution.class_path);
        }
        config::apply_version_defaults(&mut properties, &distribution.version.spark_version);
        let version = declared::version_of(&distribution.version.spark_version);
        config::forget_unknown(&mut properties, version);
        let env = |name: &str| std::env::var(name).ok();
        let heap = HeapSize::of(&command.options, &Machine::detect(), env);
        let settings = Settings::new(&properties, heap.max_memory).map_err(setting)?;
        let rpc = RpcConf::new(|key| properties.get(key))
            .map_err(|e| ExecutorError::Setting(e.to_string()))?
            .protected(&startup.transport.protection);
        log_memory(&heap, &settings);
        Ok(Self {
            answer,
            config,
            properties: Arc::new(properties),
            settings,
            rpc,
        })
    }
}

async fn executor_id_of_pod(
    contact: &Contact,
    distribution: &Distribution,
    startup: &RpcConf,
    arguments: &ExecutorArguments,
) -> Result<String, ExecutorError> {
    let message = GenerateExecId {
        pod_name: arguments.pod_name.clone().unwrap_or_default(),
    };
    let content = message.encode(&distribution.catalog);
    let body = contact
        .ask("GenerateExecID", SCHEDULER, content, startup.ask_timeout)
        .await?;
    reply::read_string(&body).map_err(|why| contact.refused("GenerateExecID", &body, &why))
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
