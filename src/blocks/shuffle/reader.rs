//! Reading a range of a shuffle: blocks of this executor and of others on this host from their files, the rest over the
//! network.

use super::columns::ColumnOutputs;
use super::conf::ShuffleConf;
use super::error::ShuffleError;
use super::flight::{Bounds, Flight, Request, requests};
use super::locations::{ReadRange, ShuffleBlock, blocks_by_address};
use super::segment::SegmentFormat;
use super::stream::{Raw, ShuffleStream, Source};
use super::tracker::MapOutputTracker;
use super::transfer::{Arrival, BlockTransfer, Told};
use crate::blocks::disk_wait::DiskWait;
use crate::blocks::metrics::ShuffleReadMetrics;
use crate::blocks::{BlockEnv, Form, LocalDirs, ShuffleFiles};
use crate::cancel::Cancellation;
use crate::transport::Body;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::io;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use wire::ids::BlockManagerId;

/// Executors on this host whose directories are remembered: `spark.storage.localDiskByExecutors.cacheSize`.
const KNOWN_EXECUTORS: usize = 1000;

/// What all readers of an executor have in common.
pub(super) struct Shared {
    pub(super) env: Arc<BlockEnv>,
    pub(super) conf: ShuffleConf,
    pub(super) format: SegmentFormat,
    pub(super) transfer: Arc<dyn BlockTransfer>,
    pub(super) tracker: Arc<MapOutputTracker>,
    pub(super) files: ShuffleFiles,
    /// Those of this executor that are columns.
    pub(super) columns: Arc<ColumnOutputs>,
    /// Files of other executors on this host.
    pub(super) neighbours: Mutex<HashMap<String, ShuffleFiles>>,
}

/// A block of which the files are on this host.
#[derive(Debug)]
struct Near {
    address: Arc<BlockManagerId>,
    files: ShuffleFiles,
    block: ShuffleBlock,
}

/// The blocks of a range, in the order in which they become readable. Ends after an error.
pub struct ShuffleBlocks<M> {
    shared: Arc<Shared>,
    metrics: M,
    cancellation: Cancellation,
    /// Whether the reader takes columns.
    columns: bool,
    near: VecDeque<Near>,
    flight: Flight,
    /// Blocks that are still to come from the network.
    far: usize,
    /// Blocks that arrived damaged once.
    damaged: HashSet<ShuffleBlock>,
    arrivals: UnboundedReceiver<Arrival>,
    sender: UnboundedSender<Arrival>,
    fetches: JoinSet<Duration>,
}

impl<M> std::fmt::Debug for ShuffleBlocks<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShuffleBlocks")
            .field("near", &self.near.len())
            .field("far", &self.far)
            .finish_non_exhaustive()
    }
}

/// Waits for `future`, or for the task to be killed.
fn wait<T>(
    shared: &Shared,
    cancellation: &Cancellation,
    future: impl Future<Output = T>,
) -> Result<T, ShuffleError> {
    shared.env.runtime.block_on(async {
        tokio::select! {
            biased;
            reason = cancellation.cancelled() => Err(ShuffleError::Killed(reason)),
            value = future => Ok(value),
        }
    })
}

impl<M: Deref<Target = ShuffleReadMetrics>> ShuffleBlocks<M> {
    pub(super) fn new(
        shared: Arc<Shared>,
        range: &ReadRange,
        metrics: M,
        cancellation: &Cancellation,
    ) -> Result<Self, ShuffleError> {
        let statuses = wait(
            &shared,
            cancellation,
            shared.tracker.statuses(range.shuffle_id),
        )??;
        let blocks = blocks_by_address(&statuses, range).inspect_err(|_| shared.tracker.clear())?;
        let bounds = Bounds {
            bytes: shared.conf.max_size_in_flight,
            requests: shared.conf.max_reqs_in_flight,
            blocks_per_address: shared.conf.max_blocks_per_address,
        };
        let me = &shared.env.block_manager_id;
        let is_neighbour = |address: &BlockManagerId| {
            shared.conf.read_host_local
                && address.host == me.host
                && address.executor_id != me.executor_id
        };
        let neighbours: Vec<_> = blocks.keys().filter(|key| is_neighbour(key)).collect();
        if !neighbours.is_empty() {
            wait(&shared, cancellation, shared.meet(&neighbours))?;
        }
        let (mut near, mut far) = (VecDeque::new(), Vec::new());
        for (address, blocks) in blocks {
            let files = match address.executor_id == me.executor_id {
                true => Some(shared.files.clone()),
                false if is_neighbour(&address) => {
                    shared.neighbours.lock().get(&address.executor_id).cloned()
                }
                false => None,
            };
            let address = Arc::new(address);
            match files {
                Some(files) => near.extend(blocks.into_iter().map(|block| Near {
                    address: Arc::clone(&address),
                    files: files.clone(),
                    block,
                })),
                None => far.extend(requests(&address, blocks, bounds)),
            }
        }
        // So that not all readers begin with the same executor.
        fastrand::shuffle(&mut far);
        let count = far.iter().map(|request| request.blocks.len()).sum();
        tracing::info!(
            "Getting {} non-empty blocks of shuffle {} including {} on this host and {count} remote blocks",
            near.len() + count,
            range.shuffle_id,
            near.len()
        );
        let (sender, arrivals) = mpsc::unbounded_channel();
        let mut blocks = Self {
            shared,
            metrics,
            cancellation: cancellation.clone(),
            columns: range.columns,
            near,
            flight: Flight::new(bounds, far),
            far: count,
            damaged: HashSet::new(),
            arrivals,
            sender,
            fetches: JoinSet::new(),
        };
        blocks.send();
        Ok(blocks)
    }

    /// Sends what may be sent.
    fn send(&mut self) {
        while let Some(Ok(took)) = self.fetches.try_join_next() {
            let millis = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
            self.metrics.remote_reqs_duration.add(millis);
        }
        while let Some(Request { address, blocks }) = self.flight.send() {
            let told = Told::new(Arc::clone(&address), &blocks, self.sender.clone());
            let size: i64 = blocks.iter().map(|block| block.size).sum();
            let to_disk = u64::try_from(size).unwrap_or(0) > self.shared.conf.max_request_in_memory;
            let transfer = &self.shared.transfer;
            let fetch = transfer.fetch(address, blocks.into(), to_disk, self.columns, told);
            let timed = async move {
                let start = Instant::now();
                fetch.await;
                start.elapsed()
            };
            self.fetches.spawn_on(timed, &self.shared.env.runtime);
        }
    }

    fn advance(&mut self) -> Result<Option<ShuffleStream>, ShuffleError> {
        loop {
            if let Some(reason) = self.cancellation.reason() {
                return Err(ShuffleError::Killed(reason));
            }
            // Taking what has arrived makes room for more.
            if let Ok(arrival) = self.arrivals.try_recv() {
                match self.take(arrival)? {
                    Some(stream) => return Ok(Some(stream)),
                    None => continue,
                }
            }
            if let Some(near) = self.near.pop_front() {
                return self.open_near(near).map(Some);
            }
            if self.far == 0 {
                return Ok(None);
            }
            let start = Instant::now();
            let arrival = wait(&self.shared, &self.cancellation, self.arrivals.recv())?;
            self.metrics.fetch_wait_time.add_nanos(start.elapsed());
            // This reader has a sender itself.
            let Some(arrival) = arrival else {
                return Ok(None);
            };
            if let Some(stream) = self.take(arrival)? {
                return Ok(Some(stream));
            }
        }
    }

    fn open_near(&mut self, near: Near) -> Result<ShuffleStream, ShuffleError> {
        let Near {
            address,
            files,
            block,
        } = near;
        let failed = |why: String| ShuffleError::from(block.failure(&address, &why));
        let segment = self.segment(&files, &block);
        let (raw, form) = segment.map_err(|error| {
            tracing::error!("Error occurred while fetching local blocks: {error}");
            failed(error.to_string())
        })?;
        if raw.is_empty() {
            return Err(failed(zero_size(&block, &address, false)));
        }
        self.metrics.local_blocks_fetched.add(1);
        self.metrics.local_bytes_read.add(length(raw.len()));
        let source = Source {
            shared: Arc::clone(&self.shared),
            block,
            address,
            raw: Raw::Near(raw),
            form,
            files: Some(files),
        };
        ShuffleStream::open(source, self.ahead()).map_err(|(source, error)| {
            let why = error.to_string();
            ShuffleError::from(source.block.failure(&source.address, &why))
        })
    }

    /// A block of files on this host, in a form that the reader takes.
    fn segment(&self, files: &ShuffleFiles, block: &ShuffleBlock) -> io::Result<(Body, Form)> {
        let (shuffle_id, map_id) = (block.shuffle_id, block.map_id);
        let wait = DiskWait::Allowed;
        let output = match self.columns {
            true => files.open_any(shuffle_id, map_id, wait)?,
            false => {
                // Of another executor there is nothing here then.
                self.shared.columns.rows_of(shuffle_id, map_id)?;
                files.open(shuffle_id, map_id, Form::Rows, wait)?
            }
        };
        let reducers = &block.reducers;
        let body = output.segment(reducers.start, reducers.end, wait)?;
        Ok((body, output.form()))
    }

    /// `None` if the block has to be fetched again.
    fn take(&mut self, arrival: Arrival) -> Result<Option<ShuffleStream>, ShuffleError> {
        let Arrival {
            address,
            block,
            result,
            last,
        } = arrival;
        self.flight.block_done(&address, &block);
        if last {
            self.flight.request_done();
        }
        let raw = result.map_err(|why| {
            tracing::error!("Failed to get block {block} from {address}: {why}");
            ShuffleError::from(block.failure(&address, &why))
        })?;
        let raw = Raw::from(raw);
        if raw.len() == 0 {
            let why = zero_size(&block, &address, last);
            return Err(ShuffleError::from(block.failure(&address, &why)));
        }
        self.metrics.remote_blocks_fetched.add(1);
        self.metrics.remote_bytes_read.add(length(raw.len()));
        let form = match self.columns {
            true => raw
                .form()
                .map_err(|error| ShuffleError::from(block.failure(&address, &error.to_string())))?,
            false => Form::Rows,
        };
        let on_disk = matches!(raw, Raw::Spooled(_));
        if on_disk {
            self.metrics
                .remote_bytes_read_to_disk
                .add(length(raw.len()));
        }
        let source = Source {
            shared: Arc::clone(&self.shared),
            block,
            address,
            raw,
            form,
            files: None,
        };
        let opened = ShuffleStream::open(source, self.ahead());
        let stream = match opened {
            Ok(stream) => {
                self.far -= 1;
                Some(stream)
            }
            Err((source, error)) if on_disk => {
                let why = error.to_string();
                let failure = source.block.failure(&source.address, &why);
                return Err(ShuffleError::from(failure));
            }
            Err((source, error)) if self.damaged.contains(&source.block) => {
                return Err(ShuffleError::from(source.damaged(&error)));
            }
            Err((source, error)) => {
                let Source { block, address, .. } = source;
                tracing::warn!(
                    "got an corrupted block {block} from {address}, fetch again: {error}"
                );
                self.damaged.insert(block.clone());
                self.flight.again(Request {
                    address,
                    blocks: vec![block],
                });
                None
            }
        };
        self.send();
        Ok(stream)
    }

    fn ahead(&self) -> Option<u64> {
        let conf = &self.shared.conf;
        conf.detect_corrupt_ahead
            .then_some(conf.max_size_in_flight / 3)
    }
}

impl<M: Deref<Target = ShuffleReadMetrics>> Iterator for ShuffleBlocks<M> {
    type Item = Result<ShuffleStream, ShuffleError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            self.near.clear();
            self.far = 0;
            self.fetches.abort_all();
            self.arrivals.close();
            while self.arrivals.try_recv().is_ok() {}
        }
        next.transpose()
    }
}

fn length(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn zero_size(block: &ShuffleBlock, address: &BlockManagerId, request_done: bool) -> String {
    format!(
        "Received a zero-size buffer for block {block} from {address} (expectedApproxSize = {}, isNetworkReqDone={request_done})",
        block.size
    )
}

impl Shared {
    /// Asks for the directories of executors on this host. Those that do not answer are read over the network.
    async fn meet(&self, addresses: &[&BlockManagerId]) {
        let known: HashSet<String> = self.neighbours.lock().keys().cloned().collect();
        let new = addresses
            .iter()
            .filter(|address| !known.contains(&address.executor_id));
        let asks: Vec<_> = match self.conf.external_service_port {
            Some(port) => {
                let ids: Vec<_> = new.map(|address| address.executor_id.clone()).collect();
                let host = self.env.block_manager_id.host.clone();
                let ask = self.transfer.local_dirs(host, port.into(), ids.clone());
                (!ids.is_empty()).then_some(ask).into_iter().collect()
            }
            None => new
                .map(|address| {
                    let ids = vec![address.executor_id.clone()];
                    self.transfer
                        .local_dirs(address.host.clone(), address.port, ids)
                })
                .collect(),
        };
        for answer in futures_util::future::join_all(asks).await {
            match answer {
                Ok(dirs) => {
                    let mut neighbours = self.neighbours.lock();
                    if neighbours.len() >= KNOWN_EXECUTORS {
                        neighbours.clear();
                    }
                    for (executor, dirs) in dirs {
                        let dirs = dirs.into_iter().map(PathBuf::from).collect();
                        let dirs = LocalDirs::of_another(dirs, self.conf.sub_directories);
                        neighbours.insert(executor, ShuffleFiles::new(Arc::new(dirs)));
                    }
                }
                Err(error) => tracing::warn!(
                    "Cannot get the local directories of an executor on this host, its blocks are read over the network: {error}"
                ),
            }
        }
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
