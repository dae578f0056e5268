//! The network of a real executor: its block fetcher and its broadcasts.

use super::locations::ShuffleBlock;
use super::tracker::BroadcastValues;
use super::transfer::{BlockTransfer, DirsByExecutor, Told};
use crate::blocks::broadcast::{Broadcasts, TorrentBroadcastRef};
use crate::blocks::fetch::{BlockFetcher, Destination};
use crate::transport::Answer;
use bytes::Bytes;
use javaser::arena::{Graph, NodeId};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use wire::block_transfer::Cause;
use wire::ids::{BlockId, BlockManagerId};

/// Fetches through the executor's [`BlockFetcher`].
#[derive(Debug)]
pub struct NetworkTransfer(pub Arc<BlockFetcher>);

impl BlockTransfer for NetworkTransfer {
    fn fetch(
        &self,
        address: Arc<BlockManagerId>,
        blocks: Arc<[ShuffleBlock]>,
        to_disk: bool,
        columns: bool,
        told: Told,
    ) -> Answer<()> {
        let fetcher = Arc::clone(&self.0);
        Box::pin(async move {
            let ids: Vec<BlockId> = blocks.iter().map(ShuffleBlock::id).collect();
            let destination = match to_disk {
                true => Destination::Disk,
                false => Destination::Memory,
            };
            let tell = |index, result: Result<_, crate::blocks::fetch::BlockFetchError>| {
                told.tell(index, result.map_err(|error| error.to_string()));
            };
            fetcher
                .fetch_blocks(&address, &ids, columns, destination, tell)
                .await;
        })
    }

    fn local_dirs(
        &self,
        host: String,
        port: i32,
        executor_ids: Vec<String>,
    ) -> Answer<Result<DirsByExecutor, String>> {
        let fetcher = Arc::clone(&self.0);
        Box::pin(async move {
            let port = u16::try_from(port).map_err(|_| format!("{host}:{port} is no address"))?;
            let dirs = fetcher.get_host_local_dirs(&host, port, executor_ids);
            dirs.await.map_err(|error| error.to_string())
        })
    }

    fn diagnose(
        &self,
        address: Arc<BlockManagerId>,
        block: ShuffleBlock,
        checksum: i64,
        algorithm: &'static str,
    ) -> Answer<Result<Cause, String>> {
        let fetcher = Arc::clone(&self.0);
        Box::pin(async move {
            let id = (block.shuffle_id, block.map_id, block.reducers.start);
            let cause = fetcher.diagnose_corruption(&address, id, checksum, algorithm);
            cause.await.map_err(|error| error.to_string())
        })
    }
}

/// Reads values through the executor's [`Broadcasts`].
#[derive(Debug)]
pub struct DriverBroadcasts(pub Arc<Broadcasts>);

impl BroadcastValues for DriverBroadcasts {
    fn value<'a>(
        &'a self,
        graph: &'a Graph,
        broadcast: NodeId,
    ) -> Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'a>> {
        Box::pin(async move {
            let broadcast = TorrentBroadcastRef::read(graph, broadcast);
            let broadcast = broadcast.map_err(|error| error.to_string())?;
            let value = self.0.value(&broadcast).await;
            let value = value.map_err(|error| error.to_string())?;
            Ok(Bytes::clone(&value))
        })
    }
}
