//! An executor without a driver, for the tests of this lane.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use javaser::{Catalog, Limits};
use tokio::runtime::Runtime;
use wire::envelope::RpcAddress;
use wire::ids::BlockManagerId;
use wire::version::WireVersion;

use crate::blocks::{BlockEnv, LocalDirs};
use crate::cancel::Cancellation;
use crate::config::SparkProperties;
use crate::executor::task::{TaskContext, TaskMetrics};
use crate::rpc::{DriverEndpoint, RpcConf};

/// The classes of the newest distribution.
pub(super) fn catalog() -> &'static Arc<Catalog> {
    static CATALOG: OnceLock<Arc<Catalog>> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let jars = distribution("4.3.0").join("jars/*");
        Arc::new(Catalog::from_class_path(&[jars]).unwrap())
    })
}

fn distribution(version: &str) -> PathBuf {
    let variable = format!("FIRESTEEL_SPARK_DIR_{}", version.replace('.', "_"));
    if let Some(dir) = std::env::var_os(variable) {
        return dir.into();
    }
    let home = std::env::var_os("HOME").unwrap();
    let lib = Path::new(&home).join(format!(".cache/firesteel/spark-{version}/lib"));
    std::fs::read_dir(lib)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("site-packages/pyspark"))
        .find(|dir| dir.join("jars").is_dir())
        .unwrap()
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
            version: WireVersion::detect(&catalog).unwrap(),
            catalog,
            limits: Limits::default(),
            properties: Arc::new(properties(&[])),
            driver,
            ask_timeout: std::time::Duration::from_secs(5),
            local_dirs: Arc::new(dirs),
            runtime: runtime.handle().clone(),
            io_encryption_key: None,
        };
        (Arc::new(blocks), listener, runtime)
    });
    Arc::clone(blocks)
}

/// Spark's settings.
pub(super) fn properties(settings: &[(&str, &str)]) -> SparkProperties {
    let mut properties = SparkProperties::default();
    for (key, value) in settings {
        properties.set(*key, *value);
    }
    properties
}

/// A task.
pub(super) fn context() -> TaskContext {
    TaskContext {
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
        blocks: blocks(),
    }
}
