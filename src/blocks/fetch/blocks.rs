//! Fetching several blocks of one executor: Spark's `OneForOneBlockFetcher` and `RetryingBlockTransferor`.

use super::{BlockFetchError, BlockFetcher, Destination, DownloadFile, FetchedBlock};
use crate::transport::{AskError, Client};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use indexmap::IndexMap;
use std::collections::BTreeSet;
use wire::block_transfer::{BlockTransferMessage as Message, FetchShuffleBlocks, TAKES_COLUMNS};
use wire::ids::{BlockId, BlockManagerId};

impl BlockFetcher {
    /// Fetches blocks of one executor and gives each result to `each` as soon as it is there, with the block's position
    /// in `blocks`; every block gets one result. What fails with the connection is tried again,
    /// `spark.shuffle.io.maxRetries` times after `spark.shuffle.io.retryWait`, unless the driver says that the executor
    /// is gone.
    ///
    /// Memory is the caller's concern: all blocks are asked for at once. Dropping the future gives the rest up. Whoever
    /// takes `columns` may get blocks of shuffles as rows or as columns.
    pub async fn fetch_blocks(
        &self,
        peer: &BlockManagerId,
        blocks: &[BlockId],
        columns: bool,
        destination: Destination,
        mut each: impl FnMut(usize, Result<FetchedBlock, BlockFetchError>),
    ) {
        let mut wanted: BTreeSet<usize> = (0..blocks.len()).collect();
        let mut retries = 0;
        while !wanted.is_empty() {
            let mut request = Request::new(self, peer, blocks, &wanted);
            request.columns = columns;
            let mut failed = self
                .attempt(peer, request, destination, |index, result| {
                    wanted.remove(&index);
                    each(index, result);
                })
                .await;
            if matches!(failed, Err(BlockFetchError::Connection(_))) {
                failed = match self.is_gone(peer).await {
                    true => Err(BlockFetchError::ExecutorDead {
                        executor_id: peer.executor_id.clone(),
                    }),
                    false => failed,
                };
            }
            let settings = &self.settings;
            match failed {
                Ok(()) => break,
                Err(BlockFetchError::Connection(error)) if retries < settings.max_retries => {
                    retries += 1;
                    tracing::info!(
                        target: "RetryingBlockTransferor",
                        "Retrying fetch ({retries}/{}) for {} outstanding blocks of {peer} after {} ms: {error}",
                        settings.max_retries,
                        wanted.len(),
                        settings.retry_wait.as_millis()
                    );
                    tokio::time::sleep(settings.retry_wait).await;
                }
                Err(error) => {
                    for index in std::mem::take(&mut wanted) {
                        each(index, Err(error.clone()));
                    }
                }
            }
        }
        for index in wanted {
            let missing = BlockFetchError::Protocol("the block was not sent".into());
            each(index, Err(missing));
        }
    }

    /// An executor whose connection broke may be dead for good. The external shuffle service outlives it.
    async fn is_gone(&self, peer: &BlockManagerId) -> bool {
        if self.settings.shuffle_service {
            return false;
        }
        let alive = self.master.is_executor_alive(&peer.executor_id).await;
        matches!(alive, Ok(false))
    }

    async fn attempt(
        &self,
        peer: &BlockManagerId,
        request: Request,
        destination: Destination,
        mut each: impl FnMut(usize, Result<FetchedBlock, BlockFetchError>),
    ) -> Result<(), BlockFetchError> {
        let client = self.client(peer).await?;
        let mut body = request.message.write()?;
        if request.columns {
            body.extend_from_slice(TAKES_COLUMNS);
        }
        let answer = client.ask(body.into(), self.settings.timeout).await?;
        let Message::StreamHandle {
            stream_id,
            num_chunks,
        } = Message::read(&answer)?
        else {
            let why = "a fetch was not answered with a StreamHandle";
            return Err(BlockFetchError::Protocol(why.into()));
        };
        if usize::try_from(num_chunks) != Ok(request.order.len()) {
            let why = format!("{num_chunks} chunks for {} blocks", request.order.len());
            return Err(BlockFetchError::Protocol(why.into()));
        }
        let chunks = (0..num_chunks).zip(request.order);
        match destination {
            Destination::Memory => {
                let mut answers: FuturesUnordered<_> = chunks
                    .map(|(chunk, index)| {
                        let answer = client.start_fetch_chunk(stream_id, chunk);
                        async move { (index, answer.await) }
                    })
                    .collect();
                let mut broken = Ok(());
                while let Some((index, answer)) = answers.next().await {
                    match answer {
                        Ok(bytes) => each(index, Ok(FetchedBlock::Memory(bytes))),
                        Err(AskError::RpcFailure(why)) => {
                            each(index, Err(BlockFetchError::Remote(why.into())));
                        }
                        Err(error) => broken = Err(error.into()),
                    }
                }
                broken
            }
            Destination::Disk => {
                for (chunk, index) in chunks {
                    match self.download(&client, stream_id, chunk).await {
                        Err(error @ BlockFetchError::Connection(_)) => return Err(error),
                        result => each(index, result.map(FetchedBlock::File)),
                    }
                }
                Ok(())
            }
        }
    }

    async fn download(
        &self,
        client: &Client,
        stream_id: i64,
        chunk: i32,
    ) -> Result<DownloadFile, BlockFetchError> {
        let stream = client.open_stream(&format!("{stream_id}_{chunk}")).await?;
        let dirs = &self.env.local_dirs;
        DownloadFile::download(stream, dirs, self.encryption.as_ref()).await
    }
}

/// A request, and which block each chunk of its answer is.
struct Request {
    message: Message,
    order: Vec<usize>,
    /// Whether blocks may be columns.
    columns: bool,
}

impl Request {
    /// Asks for those of `blocks` that are `wanted`.
    fn new(
        fetcher: &BlockFetcher,
        peer: &BlockManagerId,
        blocks: &[BlockId],
        wanted: &BTreeSet<usize>,
    ) -> Self {
        let app_id = fetcher.env.app_id.clone();
        let exec_id = peer.executor_id.clone();
        let named = || {
            wanted
                .iter()
                .filter_map(|index| Some((*index, blocks.get(*index)?)))
        };
        let shuffle = match fetcher.settings.old_protocol {
            true => None,
            false => ShuffleRequest::new(named()),
        };
        match shuffle {
            Some(shuffle) => shuffle.into_request(app_id, exec_id),
            None => Self {
                columns: false,
                order: named().map(|(index, _)| index).collect(),
                message: Message::OpenBlocks {
                    app_id,
                    exec_id,
                    block_ids: named().map(|(_, block)| block.to_string()).collect(),
                },
            },
        }
    }
}

/// Blocks of one shuffle, by map.
struct ShuffleRequest {
    shuffle_id: i32,
    batch: bool,
    maps: IndexMap<i64, Map>,
}

#[derive(Default)]
struct Map {
    reduce_ids: Vec<i32>,
    order: Vec<usize>,
}

impl ShuffleRequest {
    /// `None` unless all are blocks, or all are batches, of one shuffle. A message has room for one batch of each map.
    fn new<'a>(blocks: impl Iterator<Item = (usize, &'a BlockId)>) -> Option<Self> {
        let mut request: Option<Self> = None;
        for (index, block) in blocks {
            let (shuffle, map_id, start, end) = match *block {
                BlockId::Shuffle {
                    shuffle_id,
                    map_id,
                    reduce_id,
                } => (shuffle_id, map_id, reduce_id, None),
                BlockId::ShuffleBatch {
                    shuffle_id,
                    map_id,
                    start_reduce_id,
                    end_reduce_id,
                } => (shuffle_id, map_id, start_reduce_id, Some(end_reduce_id)),
                _ => return None,
            };
            let request = request.get_or_insert_with(|| Self {
                shuffle_id: shuffle,
                batch: end.is_some(),
                maps: IndexMap::new(),
            });
            let map = request.maps.entry(map_id).or_default();
            if request.shuffle_id != shuffle
                || request.batch != end.is_some()
                || (request.batch && !map.order.is_empty())
            {
                return None;
            }
            map.reduce_ids.push(start);
            map.reduce_ids.extend(end);
            map.order.push(index);
        }
        request
    }

    fn into_request(self, app_id: String, exec_id: String) -> Request {
        let mut order = Vec::new();
        let mut map_ids = Vec::with_capacity(self.maps.len());
        let mut reduce_ids = Vec::with_capacity(self.maps.len());
        for (map_id, map) in self.maps {
            map_ids.push(map_id);
            reduce_ids.push(map.reduce_ids);
            order.extend(map.order);
        }
        Request {
            columns: false,
            order,
            message: Message::FetchShuffleBlocks(FetchShuffleBlocks {
                app_id,
                exec_id,
                shuffle_id: self.shuffle_id,
                map_ids,
                reduce_ids,
                batch_fetch_enabled: self.batch,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(names: &[&str]) -> Option<(Message, Vec<usize>)> {
        let blocks: Vec<_> = names
            .iter()
            .map(|name| BlockId::parse(name).unwrap())
            .collect();
        let request = ShuffleRequest::new(blocks.iter().enumerate())?;
        let request = request.into_request("app".into(), "7".into());
        Some((request.message, request.order))
    }

    fn fetch(map_ids: &[i64], reduce_ids: &[&[i32]], batch_fetch_enabled: bool) -> Message {
        Message::FetchShuffleBlocks(FetchShuffleBlocks {
            app_id: "app".into(),
            exec_id: "7".into(),
            shuffle_id: 3,
            map_ids: map_ids.to_vec(),
            reduce_ids: reduce_ids.iter().map(|ids| ids.to_vec()).collect(),
            batch_fetch_enabled,
        })
    }

    #[test]
    fn chunks_come_map_by_map() {
        let blocks = ["shuffle_3_10_1", "shuffle_3_11_5", "shuffle_3_10_2"];
        let message = fetch(&[10, 11], &[&[1, 2], &[5]], false);
        assert_eq!(order(&blocks), Some((message, vec![0, 2, 1])));
        let batches = ["shuffle_3_11_0_4", "shuffle_3_10_2_3"];
        let message = fetch(&[11, 10], &[&[0, 4], &[2, 3]], true);
        assert_eq!(order(&batches), Some((message, vec![0, 1])));
    }

    #[test]
    fn what_is_no_shuffle_is_asked_for_by_name() {
        for blocks in [
            &["broadcast_1_piece0"][..],
            &["shuffle_3_10_1", "rdd_1_1"],
            &["shuffle_3_10_1", "shuffle_4_10_1"],
            &["shuffle_3_10_1", "shuffle_3_11_1_2"],
            &["shuffle_3_10_1_2", "shuffle_3_10_3_4"],
            &[],
        ] {
            assert_eq!(order(blocks), None, "{blocks:?}");
        }
    }
}
