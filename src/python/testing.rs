//! An executor without a driver, for the tests and fuzz targets of this lane.

// For tests, but compiled for fuzz targets, too.
#![allow(clippy::unwrap_used)]

use std::net::TcpListener;
use std::sync::{Arc, OnceLock};

use javaser::{Catalog, Limits};
use tokio::runtime::Runtime;
use wire::envelope::RpcAddress;
use wire::ids::BlockManagerId;
use wire::version::WireVersion;

use crate::blocks::{BlockEnv, LocalDirs};
use crate::cancel::Cancellation;
use crate::config::SparkProperties;
use crate::rpc::{DriverEndpoint, RpcConf};
use crate::task::{NoEvaluator, TaskContext, TaskMetrics};

/// No classes: fuzz targets need no distribution.
#[cfg(fuzzing)]
fn catalog() -> &'static Arc<Catalog> {
    static CATALOG: OnceLock<Arc<Catalog>> = OnceLock::new();
    CATALOG.get_or_init(|| Arc::new(Catalog::from_class_path(&[]).unwrap()))
}

/// The classes of the newest distribution.
#[cfg(not(fuzzing))]
pub(crate) fn catalog() -> &'static Arc<Catalog> {
    static CATALOG: OnceLock<Arc<Catalog>> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let class_path = testkit::Distribution::find(testkit::NEWEST).class_path();
        Arc::new(Catalog::from_class_path(&[class_path.into()]).unwrap())
    })
}

/// An executor whose driver accepts a connection and says nothing.
fn blocks() -> Arc<BlockEnv> {
    static BLOCKS: OnceLock<(Arc<BlockEnv>, TcpListener, Runtime)> = OnceLock::new();
    let (blocks, ..) = BLOCKS.get_or_init(|| {
        let runtime = Runtime::new().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = RpcAddress {
            host: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port().into(),
        };
        let conf = RpcConf::new(|_| None).unwrap();
        let (driver, _events) = runtime
            .block_on(DriverEndpoint::connect(address, &conf))
            .unwrap();
        let catalog = Arc::clone(catalog());
        let dirs = LocalDirs::create(&[std::env::temp_dir()], 1, false).unwrap();
        let blocks = BlockEnv {
            app_id: "app".into(),
            block_manager_id: BlockManagerId {
                executor_id: "1".into(),
                host: "127.0.0.1".into(),
                port: 1,
                topology_info: None,
            },
            version: match cfg!(fuzzing) {
                true => WireVersion::newest(),
                false => WireVersion::detect(&catalog).unwrap(),
            },
            catalog,
            limits: Limits::default(),
            properties: Arc::new(properties(&[])),
            driver: driver.into(),
            ask_timeout: std::time::Duration::from_secs(5),
            local_dirs: Arc::new(dirs),
            runtime: runtime.handle().clone(),
            protection: Default::default(),
            io_encryption_key: None,
        };
        (Arc::new(blocks), listener, runtime)
    });
    Arc::clone(blocks)
}

/// Spark's settings.
pub(crate) fn properties(settings: &[(&str, &str)]) -> SparkProperties {
    let mut properties = SparkProperties::default();
    for (key, value) in settings {
        properties.set(*key, *value);
    }
    properties
}

/// A task.
pub(crate) fn context() -> Arc<TaskContext> {
    Arc::new(TaskContext {
        stage_id: 0,
        stage_attempt: 0,
        num_partitions: 1,
        partition_id: 0,
        attempt_number: 0,
        task_attempt_id: 0,
        is_barrier: false,
        epoch: 0,
        cpus: "1".into(),
        resources: Vec::new(),
        local_properties: Vec::new(),
        job_artifact_uuid: None,
        files_dir: std::env::temp_dir(),
        cancellation: Cancellation::default(),
        metrics: Arc::new(TaskMetrics::default()),
        python_updates: parking_lot::Mutex::default(),
        accumulator_updates: parking_lot::Mutex::default(),
        evaluator: Arc::new(NoEvaluator),
        blocks: blocks(),
    })
}
