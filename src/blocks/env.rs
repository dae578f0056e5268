//! What every part of the block plane knows of the executor it belongs to.

use std::sync::Arc;
use std::time::Duration;

use javaser::{Catalog, Limits};
use wire::ids::BlockManagerId;
use wire::version::WireVersion;

use super::LocalDirs;
use crate::config::SparkProperties;
use crate::rpc::DriverEndpoint;

/// An executor's identity, settings and connections, as far as blocks need them.
#[derive(Debug)]
pub struct BlockEnv {
    /// The application's id.
    pub app_id: String,
    /// Who we are to other executors: executor id, host and port of our block server.
    pub block_manager_id: BlockManagerId,
    /// The distribution's classes.
    pub catalog: Arc<Catalog>,
    /// Differences between Spark's versions.
    pub version: WireVersion,
    /// Limits for decoding what others send.
    pub limits: Limits,
    /// Spark's settings.
    pub properties: Arc<SparkProperties>,
    /// The driver.
    pub driver: DriverEndpoint,
    /// `spark.rpc.askTimeout`
    pub ask_timeout: Duration,
    /// Where files of blocks are.
    pub local_dirs: Arc<LocalDirs>,
    /// Runs what is asynchronous. Task threads may block on it.
    pub runtime: tokio::runtime::Handle,
    /// The key of `spark.io.encryption.enabled`, from the driver.
    pub io_encryption_key: Option<Vec<u8>>,
}
