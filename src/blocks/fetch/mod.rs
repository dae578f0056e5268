//! Blocks of others: what Spark's `NettyBlockTransferService` and `ExternalBlockStoreClient` ask other executors, the
//! driver and the external shuffle service.

mod blocks;
mod download;
mod pool;

pub use download::{DownloadFile, FetchedBlock};

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use wire::WireError;
use wire::block_transfer::{
    BlockTransferMessage as Message, Cause, ExecutorShuffleInfo, TAKES_COLUMNS,
};
use wire::ids::{BlockId, BlockManagerId};

use super::crypto::IoEncryption;
use super::master::BlockManagerMaster;
use super::{BlockEnv, LocalDirs};
use crate::config::{SettingError, SparkProperties, declared};
use crate::transport::{AskError, AuthenticationError, Body, TransportConf};
use pool::Pool;

/// What an upload that is no stream may have besides its block.
const UPLOAD_OVERHEAD: u64 = 1 << 20;

/// Why a block could not be fetched or stored elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockFetchError {
    /// There is no connection, it broke, or no answer came in time. Worth another attempt.
    #[error("{0}")]
    Connection(Arc<str>),
    /// The driver does not know the executor any more.
    #[error(
        "The relative remote executor(Id: {executor_id}), which maintains the block data to fetch is dead."
    )]
    ExecutorDead {
        /// The executor.
        executor_id: String,
    },
    /// The other end answered that it failed, with its stack trace if it is a JVM.
    #[error("{0}")]
    Remote(Arc<str>),
    /// The other end does not answer what it was asked.
    #[error("{0}")]
    Protocol(Arc<str>),
    /// The block cannot be written to a local disk.
    #[error("{0}")]
    Disk(Arc<str>),
}

impl From<AskError> for BlockFetchError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::RpcFailure(error) => Self::Remote(error.into()),
            error => Self::Connection(error.to_string().into()),
        }
    }
}

impl From<WireError> for BlockFetchError {
    fn from(error: WireError) -> Self {
        Self::Protocol(error.to_string().into())
    }
}

impl BlockFetchError {
    fn connection(error: io::Error) -> Self {
        let text = error.to_string().into();
        let inside = error.get_ref();
        // The secret is no other one later.
        match inside.is_some_and(|error| error.is::<AuthenticationError>()) {
            true => Self::Protocol(text),
            false => Self::Connection(text),
        }
    }
}

/// Where fetched blocks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Memory.
    Memory,
    /// Files, whatever their size.
    Disk,
}

#[derive(Debug)]
struct Settings {
    /// `spark.shuffle.io.maxRetries`
    max_retries: u32,
    /// `spark.shuffle.io.retryWait`
    retry_wait: Duration,
    /// `spark.shuffle.useOldFetchProtocol`
    old_protocol: bool,
    /// `spark.shuffle.service.enabled`
    shuffle_service: bool,
    /// `spark.network.maxRemoteBlockSizeFetchToMem`
    max_in_memory: u64,
    /// How long an answer may take.
    timeout: Duration,
}

/// Fetches blocks and stores them elsewhere. Connections are kept and shared.
#[derive(Debug)]
pub struct BlockFetcher {
    env: Arc<BlockEnv>,
    master: BlockManagerMaster,
    settings: Settings,
    pool: Pool,
    encryption: Option<IoEncryption>,
}

impl BlockFetcher {
    /// Fetches in the name of the executor of `env`, with its settings `spark.shuffle.io.*`.
    ///
    /// # Errors
    /// A setting is wrong.
    pub fn new(env: Arc<BlockEnv>) -> Result<Self, SettingError> {
        let properties: &SparkProperties = &env.properties;
        let mut conf =
            TransportConf::for_module("shuffle", |key| properties.get(key)).map_err(|error| {
                SettingError::Invalid {
                    key: error.key,
                    value: error.value,
                    expected: error.expected.to_owned(),
                }
            })?;
        conf.protection.clone_from(&env.protection);
        let settings = Settings {
            max_retries: properties.number(&declared::SHUFFLE_IO_MAX_RETRIES)?,
            retry_wait: properties.time(&declared::SHUFFLE_IO_RETRY_WAIT)?,
            old_protocol: properties.switch(&declared::USE_OLD_FETCH_PROTOCOL)?,
            shuffle_service: properties.switch(&declared::SHUFFLE_SERVICE_ENABLED)?,
            max_in_memory: properties.size(&declared::MAX_REMOTE_BLOCK_IN_MEMORY)?,
            timeout: conf.connection_timeout,
        };
        let connections = &declared::SHUFFLE_IO_CONNECTIONS_PER_PEER;
        let encryption = env
            .io_encryption_key
            .as_deref()
            .map(|key| IoEncryption::new(key, properties))
            .transpose()?;
        Ok(Self {
            pool: Pool::new(conf, properties.number(connections)?),
            master: BlockManagerMaster::new(env.clone()),
            settings,
            encryption,
            env,
        })
    }

    /// Blocks larger than this many bytes should be fetched to disk: `spark.network.maxRemoteBlockSizeFetchToMem`.
    pub fn max_in_memory(&self) -> u64 {
        self.settings.max_in_memory
    }

    /// Fetches one block, with retries. `size` is what is known of it: a large one goes to disk.
    ///
    /// # Errors
    /// [`BlockFetchError`]
    pub async fn fetch_block(
        &self,
        peer: &BlockManagerId,
        block_id: &BlockId,
        size: u64,
    ) -> Result<FetchedBlock, BlockFetchError> {
        let destination = match size > self.settings.max_in_memory {
            true => Destination::Disk,
            false => Destination::Memory,
        };
        let mut fetched = None;
        let blocks = std::slice::from_ref(block_id);
        self.fetch_blocks(peer, blocks, false, destination, |_, result| {
            fetched = Some(result);
        })
        .await;
        fetched.unwrap_or_else(|| Err(BlockFetchError::Protocol("no answer".into())))
    }

    /// Stores a block at another executor. `metadata` is the Java object that Spark sends with it. There are no
    /// retries: the caller tries another executor.
    ///
    /// # Errors
    /// [`BlockFetchError`]
    pub async fn upload_block(
        &self,
        peer: &BlockManagerId,
        block_id: &BlockId,
        metadata: Bytes,
        data: &Body,
    ) -> Result<(), BlockFetchError> {
        let client = self.client(peer).await?;
        let timeout = self.settings.timeout;
        let block_id = block_id.to_string();
        match data {
            Body::Bytes(bytes) if data.len() <= self.max_upload() => {
                let message = Message::UploadBlock {
                    app_id: self.env.app_id.clone(),
                    exec_id: peer.executor_id.clone(),
                    block_id,
                    metadata,
                    block_data: bytes.clone(),
                };
                client.ask(message.write()?.into(), timeout).await?;
            }
            data => {
                let header = Message::UploadBlockStream { block_id, metadata };
                client.upload(header.write()?.into(), data, timeout).await?;
            }
        }
        Ok(())
    }

    /// Where executors on the host of the asked one keep their files, as one of them or their external shuffle service
    /// says.
    ///
    /// # Errors
    /// [`BlockFetchError`]; the asked one does not know all of them.
    pub async fn get_host_local_dirs(
        &self,
        host: &str,
        port: u16,
        executor_ids: Vec<String>,
    ) -> Result<Vec<(String, Vec<String>)>, BlockFetchError> {
        let message = Message::GetLocalDirsForExecutors {
            app_id: self.env.app_id.clone(),
            exec_ids: executor_ids,
        };
        let mut body = message.write()?;
        // No rows need to be there for us.
        body.extend_from_slice(TAKES_COLUMNS);
        match self.ask_with(host, port, body.into()).await? {
            Message::LocalDirsForExecutors { local_dirs_by_exec } => Ok(local_dirs_by_exec),
            _ => Err(BlockFetchError::Protocol(
                "GetLocalDirsForExecutors was not answered".into(),
            )),
        }
    }

    /// Asks whoever has a shuffle block why it arrived damaged. `checksum` is that of the bytes that arrived.
    ///
    /// # Errors
    /// [`BlockFetchError`]; Spark takes that for [`Cause::UNKNOWN_ISSUE`].
    pub async fn diagnose_corruption(
        &self,
        peer: &BlockManagerId,
        (shuffle_id, map_id, reduce_id): (i32, i64, i32),
        checksum: i64,
        algorithm: &str,
    ) -> Result<Cause, BlockFetchError> {
        let message = Message::DiagnoseCorruption {
            app_id: self.env.app_id.clone(),
            exec_id: peer.executor_id.clone(),
            shuffle_id,
            map_id,
            reduce_id,
            checksum,
            algorithm: algorithm.to_owned(),
        };
        match self.ask(&peer.host, port_of(peer)?, &message).await? {
            Message::CorruptionCause { cause } => Ok(cause),
            _ => Err(BlockFetchError::Protocol(
                "DiagnoseCorruption was not answered".into(),
            )),
        }
    }

    /// Tells the external shuffle service at that address where this executor keeps its shuffle files. One attempt:
    /// `spark.shuffle.registration.maxAttempts` is the caller's.
    ///
    /// # Errors
    /// [`BlockFetchError`]
    pub async fn register_with_shuffle_server(
        &self,
        host: &str,
        port: u16,
        sub_directories: i32,
        shuffle_manager: &str,
        timeout: Duration,
    ) -> Result<(), BlockFetchError> {
        let dirs: &LocalDirs = &self.env.local_dirs;
        let message = Message::RegisterExecutor {
            app_id: self.env.app_id.clone(),
            exec_id: self.env.block_manager_id.executor_id.clone(),
            executor_info: ExecutorShuffleInfo {
                local_dirs: dirs
                    .dirs()
                    .iter()
                    .map(|dir| dir.to_string_lossy().into_owned())
                    .collect(),
                sub_dirs_per_local_dir: sub_directories,
                shuffle_manager: shuffle_manager.to_owned(),
            },
        };
        let client = self.pool.client(host, port).await?;
        client.ask(message.write()?.into(), timeout).await?;
        Ok(())
    }

    /// What the receiver takes as one frame.
    fn max_upload(&self) -> u64 {
        let frame = i32::MAX as u64 - UPLOAD_OVERHEAD;
        self.settings.max_in_memory.min(frame)
    }

    async fn client(
        &self,
        peer: &BlockManagerId,
    ) -> Result<crate::transport::Client, BlockFetchError> {
        self.pool.client(&peer.host, port_of(peer)?).await
    }

    async fn ask(
        &self,
        host: &str,
        port: u16,
        message: &Message,
    ) -> Result<Message, BlockFetchError> {
        self.ask_with(host, port, message.write()?.into()).await
    }

    async fn ask_with(
        &self,
        host: &str,
        port: u16,
        body: Bytes,
    ) -> Result<Message, BlockFetchError> {
        let client = self.pool.client(host, port).await?;
        let answer = client.ask(body, self.settings.timeout).await?;
        Ok(Message::read(&answer)?)
    }
}

fn port_of(peer: &BlockManagerId) -> Result<u16, BlockFetchError> {
    u16::try_from(peer.port)
        .map_err(|_| BlockFetchError::Protocol(format!("{peer} has no port").into()))
}
