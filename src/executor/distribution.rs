//! The Spark distribution on the class path: is there one, only one, and does it fit.

use std::path::PathBuf;

use javaser::Catalog;

use super::error::ExecutorError;

/// A class that every Spark has and nothing else does.
const WITNESS: &str = "org.apache.spark.executor.CoarseGrainedExecutorBackend";

/// Classes that an executor writes or reads between its start and its first task; all of them must fit.
pub const STARTUP_CLASSES: [&str; 14] = [
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RetrieveSparkAppConfig",
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$SparkAppConfig",
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RegisterExecutor",
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$LaunchedExecutor",
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StatusUpdate",
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$RemoveExecutor",
    "org.apache.spark.scheduler.ExecutorLossReason",
    "org.apache.spark.storage.BlockManagerMessages$RegisterBlockManager",
    "org.apache.spark.storage.BlockManagerId",
    "org.apache.spark.Heartbeat",
    "org.apache.spark.HeartbeatResponse",
    "org.apache.spark.rpc.netty.NettyRpcEndpointRef",
    "org.apache.spark.rpc.RpcEndpointAddress",
    "org.apache.spark.rpc.RpcTimeout",
];

/// Opens the class path's class catalog.
///
/// # Errors
/// There is no Spark in it, or more than one.
pub fn open(class_path: &[PathBuf]) -> Result<Catalog, ExecutorError> {
    let no_spark = || ExecutorError::NoSpark {
        missing: WITNESS.to_owned(),
        entries: class_path.len(),
    };
    let catalog =
        Catalog::from_class_path(class_path).map_err(|why| ExecutorError::Unsupported {
            version: "on the class path".to_owned(),
            why: why.to_string(),
        })?;
    if !catalog.contains(WITNESS) {
        return Err(no_spark());
    }
    // Several jars of a distribution carry its version.
    let mut found = catalog.spark_versions_found();
    found.sort();
    found.dedup_by(|a, b| a.0 == b.0);
    if found.len() > 1 {
        return Err(ExecutorError::MixedSpark { found });
    }
    Ok(catalog)
}
