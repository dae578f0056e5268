//! What every part of the block plane knows of the executor it belongs to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use javaser::{Catalog, Limits};
use wire::ids::BlockManagerId;
use wire::version::WireVersion;

use super::LocalDirs;
use crate::config::SparkProperties;
use crate::rpc::DriverEndpoint;
use crate::transport::{AskError, Protection};

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
    /// What the driver is asked.
    pub driver: DriverAsks,
    /// `spark.rpc.askTimeout`
    pub ask_timeout: Duration,
    /// Where files of blocks are.
    pub local_dirs: Arc<LocalDirs>,
    /// Runs what is asynchronous. Task threads may block on it.
    pub runtime: tokio::runtime::Handle,
    /// How connections that carry blocks are protected.
    pub protection: Protection,
    /// The key of `spark.io.encryption.enabled`, from the driver.
    pub io_encryption_key: Option<Vec<u8>>,
}

/// The driver, as far as blocks and tasks may ask it. The connection itself is the executor's.
#[derive(Debug, Clone)]
pub struct DriverAsks(DriverEndpoint);

impl From<DriverEndpoint> for DriverAsks {
    fn from(driver: DriverEndpoint) -> Self {
        Self(driver)
    }
}

impl DriverAsks {
    /// Asks an endpoint that knows of blocks.
    pub(in crate::blocks) async fn ask(
        &self,
        endpoint: &str,
        message: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, AskError> {
        self.0.ask(endpoint, message, timeout).await
    }

    /// Sends a `RequestToSync` of a barrier task to the driver's `BarrierCoordinator`, and waits until all tasks of the
    /// stage have sent theirs.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn sync_barrier(&self, request: Bytes, timeout: Duration) -> Result<Bytes, AskError> {
        self.0.ask("barrierSync", request, timeout).await
    }

    /// Sends an `AskPermissionToCommitOutput` to the driver's `OutputCommitCoordinator`, which lets one attempt of a
    /// partition commit.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn may_commit(&self, request: Bytes, timeout: Duration) -> Result<Bytes, AskError> {
        self.0
            .ask("OutputCommitCoordinator", request, timeout)
            .await
    }
}
