//! What stages read, from the executor's blocks and files.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use catalyst::{
    ArrowSession, Broadcast, CachedTable, CheckpointRows, DataType, LeafId, ObjectsAnswer,
    ObjectsCall, ObjectsInput, ShufflePartitionSpec, ShuffleRead,
};
use datafusion_common::Result;
use exec::{
    BlockStream, CachedBatches, FileBytes, HadoopSettings, JvmCall, Make, MakeBatches, MakeRows,
    NativeCall, NativeCallee, NativeFunction, PythonArguments, PythonCall, PythonFrames,
    PythonTimes, Shared, SimpleCall, SimpleFunction, Sources,
};
use javaser::arena::{Graph, NodeId, Value};
use parking_lot::Mutex;
use rows::error::{RunError, bail_out};
use wire::messages::Accumulator;

use super::cached::{self, MadeTables};
use super::checkpoint;
use super::failure::of_source;
use super::functions_session::arrow_session;
use super::lane::{JudgedStage, Shared as Lane};
use super::partition::SqlPartition;
use super::row_blocks::{RowBlocks, SharedMetrics};
use super::simple::Asking;
use super::source_files::{
    LocalBytes, LocalFileBytes, RemoteFile, RemoteStream, local_path, open_local, remote_path,
};
use crate::blocks::broadcast::TorrentBroadcastRef;
use crate::blocks::metrics::{Counter, ShuffleReadMetrics};
use crate::blocks::shuffle::{MapStatuses, ReadRange};
use crate::config::declared::SESSION_TIME_ZONE;
use crate::files::{FilePath, HadoopConf, LocalFile, checkpoint_part};
use crate::python::worker::PythonWorkers;
use crate::task::{PickledPartition, StageBinary, TaskContext};

/// What one attempt reads.
#[derive(Debug)]
pub(super) struct TaskSources {
    lane: Arc<Lane>,
    binary: Arc<StageBinary>,
    stage: Arc<JudgedStage>,
    pickled: HashMap<(LeafId, NodeId), Arc<dyn PickledPartition>>,
    /// Of the partition in its RDD.
    number: Option<i32>,
    context: Arc<TaskContext>,
    /// Whether blocks of one map may be read as one.
    batches: bool,
    /// What was read of each shuffle.
    read: Mutex<HashMap<i32, Arc<ShuffleReadMetrics>>>,
    /// Bytes of what was made of broadcasts, for each join that asked.
    of_broadcasts: AtomicU64,
    /// What was made of cached tables.
    made: MadeTables,
}

impl TaskSources {
    /// For an attempt.
    pub(super) fn new(
        partition: &SqlPartition,
        number: Option<i32>,
        context: Arc<TaskContext>,
    ) -> Self {
        let lane = Arc::clone(&partition.shared);
        let conf = lane.parts.shuffle.conf();
        let batches = !conf.old_fetch_protocol && context.blocks.io_encryption_key.is_none();
        Self {
            lane,
            binary: Arc::clone(&partition.binary),
            stage: Arc::clone(&partition.stage),
            pickled: partition.pickled.clone(),
            number,
            context,
            batches,
            read: Mutex::default(),
            of_broadcasts: AtomicU64::default(),
            made: MadeTables::default(),
        }
    }

    /// Bytes of the tables of broadcasts that were asked for so far. Each join counts its own, as Spark's joins add
    /// the size of their relation to a task's peak execution memory.
    pub(super) fn broadcast_bytes(&self) -> u64 {
        self.of_broadcasts.load(Ordering::Relaxed)
    }

    /// What was read of each shuffle so far, by `shuffleId`.
    pub(super) fn shuffles_read(&self) -> Vec<(i32, Arc<ShuffleReadMetrics>)> {
        let read = self.read.lock();
        read.iter().map(|(id, of)| (*id, Arc::clone(of))).collect()
    }

    /// What the driver is told of cached tables that the attempt has made.
    ///
    /// # Errors
    /// Bail-out: their accumulators are not as expected.
    pub(super) fn made_tables(&self) -> Result<Vec<Accumulator>> {
        let catalog = &self.context.blocks.catalog;
        let partition = self.context.partition_id;
        self.made.updates(&self.binary.graph, catalog, partition)
    }

    /// Hadoop's settings in a broadcast.
    pub(super) fn hadoop(&self, conf: &Broadcast) -> Result<Arc<HadoopConf>> {
        let conf = self.of_broadcast(conf, "settings of Hadoop", &mut |value, _| {
            let conf = HadoopConf::read(value, &self.lane.limits).map_err(bail_out)?;
            Ok(Arc::new(conf))
        })?;
        let conf = conf.downcast::<HadoopConf>();
        conf.map_err(|_| bail_out("settings of something else"))
    }

    /// Hadoop's settings for files.
    fn settings(&self, conf: HadoopSettings<'_>) -> Result<Arc<HadoopConf>> {
        let broadcast = match conf {
            HadoopSettings::Stage(conf) => return self.hadoop(conf),
            HadoopSettings::Task(broadcast) => broadcast,
        };
        let (limits, id) = (&self.lane.limits, broadcast.id);
        let find = || {
            let graph = Graph::parse(&broadcast.object, limits).map_err(|why| why.to_string())?;
            let root = graph.root().and_then(Value::node).ok_or("no broadcast")?;
            TorrentBroadcastRef::read(&graph, root).map_err(|why| why.to_string())
        };
        let conf = self.made_of((id, "settings of a FileIO"), find, &mut |value, _| {
            let conf = HadoopConf::of_file_io(value, limits).map_err(bail_out)?;
            Ok(Arc::new(conf))
        })?;
        let conf = conf.downcast::<HadoopConf>();
        conf.map_err(|_| bail_out("settings of something else"))
    }

    /// What is made of a broadcast with this id, under this name, once per executor. `find` says which it is.
    fn made_of(
        &self,
        (id, name): (i64, &str),
        find: impl FnOnce() -> std::result::Result<TorrentBroadcastRef, String>,
        make: &mut Make<'_>,
    ) -> Result<Shared> {
        let (relations, alive) = (&self.lane.relations, || self.alive());
        let made = relations.get_or_make(id, name, alive, |memory| {
            let broadcasts = &self.lane.parts.broadcasts;
            let value = broadcasts
                .blocking_value(&find().map_err(bail_out)?, &self.context.cancellation)
                .map_err(of_source)?;
            make(&value, memory)
        });
        // Whoever waited for another task may have been killed meanwhile.
        self.alive()?;
        let (made, bytes) = made?;
        self.of_broadcasts.fetch_add(bytes, Ordering::Relaxed);
        Ok(made)
    }

    fn metrics_of(&self, shuffle_id: i32) -> SharedMetrics {
        let mut read = self.read.lock();
        SharedMetrics(Arc::clone(read.entry(shuffle_id).or_default()))
    }

    fn statuses(&self, shuffle_id: i32) -> Option<MapStatuses> {
        let tracker = self.lane.parts.shuffle.tracker();
        let runtime = &self.context.blocks.runtime;
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = self.context.cancellation.cancelled() => None,
                statuses = tracker.statuses(shuffle_id) => statuses.ok(),
            }
        })
    }
}

impl Sources for TaskSources {
    fn shuffle(
        &self,
        read: &ShuffleRead,
        spec: ShufflePartitionSpec,
    ) -> Result<Box<dyn BlockStream>> {
        let metrics = self.metrics_of(read.shuffle_id);
        let range = range(read, spec, self.batches)?;
        let cancellation = &self.context.cancellation;
        let shuffle = &self.lane.parts.shuffle;
        let blocks = shuffle
            .read(&range, metrics.clone(), cancellation)
            .map_err(of_source)?;
        Ok(Box::new(RowBlocks::new(blocks, metrics)))
    }

    fn partition(&self) -> Option<i32> {
        self.number
    }

    fn shuffle_bytes(&self, read: &ShuffleRead, spec: ShufflePartitionSpec) -> Option<u64> {
        let range = range(read, spec, false).ok()?;
        let statuses = self.statuses(read.shuffle_id)?;
        let count = range.maps.end.saturating_sub(range.maps.start);
        let mut bytes = 0_u64;
        for status in statuses.iter().skip(range.maps.start).take(count) {
            let status = status.as_ref()?;
            for reducer in range.partitions.clone() {
                let size = status.size_for_block(u32::try_from(reducer).ok()?);
                bytes = bytes.saturating_add(u64::try_from(size).ok()?);
            }
        }
        Some(bytes)
    }

    fn serializer(&self) -> rows::Serializer {
        self.lane.format.0
    }

    fn of_broadcast(
        &self,
        broadcast: &Broadcast,
        name: &str,
        make: &mut Make<'_>,
    ) -> Result<Shared> {
        let find = || {
            let found = TorrentBroadcastRef::read(&self.binary.graph, broadcast.node);
            found.map_err(|why| why.to_string())
        };
        self.made_of((broadcast.id, name), find, make)
    }

    fn file(
        &self,
        path: &str,
        size: u64,
        _modification_time: i64,
        conf: HadoopSettings<'_>,
    ) -> Result<Arc<dyn FileBytes>> {
        if let Some(local) = local_path(path) {
            return Ok(Arc::new(LocalBytes {
                file: LocalFileBytes(open_local(&local, size).map_err(bail_out)?),
                context: Arc::clone(&self.context),
            }));
        }
        let path = remote_path(path).map_err(bail_out)?;
        let conf = self.settings(conf)?;
        let systems = &self.lane.parts.files;
        let file = systems.ranges(&path, size, &conf, &self.context.cancellation);
        Ok(Arc::new(RemoteFile {
            file: file.map_err(of_source)?,
            context: Arc::clone(&self.context),
        }))
    }

    fn stream(
        &self,
        path: &str,
        part: Range<u64>,
        conf: HadoopSettings<'_>,
    ) -> Result<Box<dyn Read + Send>> {
        let conf = self.settings(conf)?;
        if let Some(local) = local_path(path) {
            let buffer = conf.text(textfile::BUFFER_SIZE);
            let buffer = textfile::buffer_size(buffer.as_deref());
            let metrics = Arc::clone(&self.context.metrics);
            let on_read = Arc::new(move |count| metrics.input.bytes_read.add_len(count)) as _;
            let file = LocalFile::open(&local, path, buffer, &on_read);
            let mut file = file.map_err(|_| bail_out("a file that cannot be opened"))?;
            if part.start > 0 {
                let sought = file.seek(part.start);
                sought.map_err(|_| bail_out("a file that cannot be read"))?;
            }
            return Ok(Box::new(file));
        }
        let path = remote_path(path).map_err(bail_out)?;
        let systems = &self.lane.parts.files;
        let file = systems.input(&path, part, &conf, &self.context.cancellation);
        Ok(Box::new(RemoteStream {
            file: file.map_err(of_source)?,
            context: Arc::clone(&self.context),
        }))
    }

    fn hadoop_setting(&self, conf: HadoopSettings<'_>, key: &str) -> Result<Option<String>> {
        Ok(self.settings(conf)?.text(key))
    }

    fn cached(
        &self,
        table: &CachedTable,
        types: &[DataType],
        statistics: bool,
        partition: i32,
        make: MakeBatches,
    ) -> Result<CachedBatches> {
        // The JVM's attempt is to make its own batches, and to tell of them, if there are two.
        let made = match self.lane.verifier {
            Some(_) => None,
            None => Some(&self.made),
        };
        let store = &self.lane.parts.store;
        let of = (table, types, partition);
        let serializer = self.serializer();
        cached::batches(store, of, statistics, serializer, made, make, &self.context)
    }

    fn checkpoint(
        &self,
        rows: &CheckpointRows,
        num_fields: usize,
        partition: i32,
        make: Option<MakeRows>,
    ) -> Result<Box<dyn BlockStream>> {
        match rows {
            CheckpointRows::Kept(kept) => {
                let of = (*kept, num_fields, partition);
                // The JVM's attempt is to keep its own rows, if there are two.
                let keeps = self.lane.verifier.is_none();
                let store = &self.lane.parts.store;
                checkpoint::kept(store, of, make, keeps, &self.context)
            }
            CheckpointRows::Files(files) => {
                let conf = self.hadoop(&files.conf)?;
                let path = checkpoint_part(&FilePath::parse(&files.directory), partition);
                let systems = &self.lane.parts.files;
                let all = 0..u64::MAX;
                let file = systems.input(&path, all, &conf, &self.context.cancellation);
                let codec = self.lane.checkpoint_codec();
                checkpoint::written(file, num_fields, codec, &self.context)
            }
        }
    }

    fn arrow_session(&self) -> Result<ArrowSession> {
        let workers = self.lane.parts.workers.as_ref();
        let safely = workers.is_some_and(PythonWorkers::converts_safely);
        arrow_session(&self.context.local_properties, safely)
    }

    fn python(
        &self,
        call: &PythonCall,
        arguments: PythonArguments,
        times: PythonTimes,
    ) -> Result<PythonFrames> {
        let workers = self.lane.parts.workers.as_ref();
        let workers = workers.ok_or_else(|| bail_out("no Python workers"))?;
        self.stage
            .python
            .call(workers, call, arguments, times, &self.context)
    }

    fn jvm_rows(&self, call: &JvmCall, rows: &[u8]) -> Result<Bytes> {
        let evaluator = &self.context.evaluator;
        let results = evaluator.evaluate(call.number, &call.expression, rows);
        results.map_err(of_source)
    }

    fn jvm_objects(&self, call: &ObjectsCall, input: ObjectsInput<'_>) -> Result<ObjectsAnswer> {
        let evaluator = &self.context.evaluator;
        let answer = evaluator.objects(call, input);
        answer.map_err(of_source)
    }

    fn native_function(&self, call: NativeCall<'_>) -> Result<Option<NativeFunction>> {
        let natives = &self.lane.natives;
        let node = match call.function {
            NativeCallee::Python(node) => node,
            NativeCallee::Library(function) => {
                return natives.named(function, call, &self.context).map(Some);
            }
        };
        let Some(marker) = self.stage.python.native(node) else {
            return Ok(None);
        };
        // Spark's default since 4.0.
        let ansi = self.lane.parts.spark >= (4, 0);
        natives.bound(marker, call, &self.context, ansi)
    }

    fn simple_functions(&self, asked: &[SimpleCall<'_>]) -> Result<Vec<Option<SimpleFunction>>> {
        let workers = self.lane.parts.workers.as_ref();
        let Some(workers) = workers.filter(|workers| workers.translates()) else {
            return Ok(asked.iter().map(|_| None).collect());
        };
        let asking = Asking {
            workers,
            spark: self.lane.parts.spark,
            context: &self.context,
        };
        let functions = asked.iter().map(|call| {
            let functions = self.stage.python.of(call.callee);
            self.lane.simple.of(call, functions.as_deref(), asking)
        });
        functions.collect()
    }

    fn session_time_zone(&self) -> Option<String> {
        let zone = self.context.local_property(SESSION_TIME_ZONE.key);
        zone.map(str::to_owned)
    }

    fn java_major(&self) -> u32 {
        self.lane.parts.java_major
    }

    fn pickled(&self, leaf: LeafId, partition: NodeId) -> Result<PythonFrames> {
        let of = self.pickled.get(&(leaf, partition));
        let of = of.ok_or_else(|| bail_out("a partition of another RDD"))?;
        let batches = of.batches(&self.context).map_err(of_source)?;
        Ok(Box::new(batches.map(|batch| batch.map_err(of_source))))
    }

    fn alive(&self) -> Result<()> {
        match self.context.cancellation.is_cancelled() {
            true => Err(RunError::Killed.into()),
            false => Ok(()),
        }
    }
}

/// The part of a shuffle that a partition of `ShuffledRowRDD` is.
fn range(read: &ShuffleRead, spec: ShufflePartitionSpec, batches: bool) -> Result<ReadRange> {
    let all = 0..usize::MAX;
    let (maps, partitions) = match spec {
        ShufflePartitionSpec::Coalesced {
            start_reducer,
            end_reducer,
        } => (all, start_reducer..end_reducer),
        ShufflePartitionSpec::PartialReducer {
            reducer,
            start_map,
            end_map,
        } => (
            map(start_map)?..map(end_map)?,
            reducer..reducer.saturating_add(1),
        ),
        ShufflePartitionSpec::PartialMapper {
            map: index,
            start_reducer,
            end_reducer,
        } => {
            let index = map(index)?;
            (index..index.saturating_add(1), start_reducer..end_reducer)
        }
        ShufflePartitionSpec::CoalescedMapper {
            start_map,
            end_map,
            num_reducers,
        } => (map(start_map)?..map(end_map)?, 0..num_reducers),
    };
    let batch = batches && partitions.end.saturating_sub(partitions.start) > 1;
    Ok(ReadRange {
        shuffle_id: read.shuffle_id,
        maps,
        partitions,
        batch,
        columns: true,
    })
}

fn map(index: i32) -> Result<usize> {
    usize::try_from(index).map_err(|_| bail_out("a map partition below zero"))
}

/// Adds up what was read of shuffles.
pub(super) fn add_up(of: &ShuffleReadMetrics, to: &ShuffleReadMetrics) {
    for (name, value) in values(of) {
        let total: &Counter = match name {
            "remoteBlocksFetched" => &to.remote_blocks_fetched,
            "localBlocksFetched" => &to.local_blocks_fetched,
            "remoteBytesRead" => &to.remote_bytes_read,
            "remoteBytesReadToDisk" => &to.remote_bytes_read_to_disk,
            "localBytesRead" => &to.local_bytes_read,
            "recordsRead" => &to.records_read,
            "remoteReqsDuration" => &to.remote_reqs_duration,
            _ => continue,
        };
        total.add(value);
    }
    to.fetch_wait_time.add(of.fetch_wait_time.get());
}

/// The numbers by their names in `SQLShuffleReadMetricsReporter`; times in milliseconds.
pub(super) fn values(of: &ShuffleReadMetrics) -> [(&'static str, i64); 8] {
    [
        ("remoteBlocksFetched", of.remote_blocks_fetched.get()),
        ("localBlocksFetched", of.local_blocks_fetched.get()),
        ("remoteBytesRead", of.remote_bytes_read.get()),
        ("remoteBytesReadToDisk", of.remote_bytes_read_to_disk.get()),
        ("localBytesRead", of.local_bytes_read.get()),
        ("fetchWaitTime", of.fetch_wait_time.get() / 1_000_000),
        ("recordsRead", of.records_read.get()),
        ("remoteReqsDuration", of.remote_reqs_duration.get()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_partition_is_a_range() {
        let read = ShuffleRead {
            shuffle_id: 3,
            num_maps: 5,
            num_partitions: 7,
            num_fields: 1,
        };
        let of = |spec| {
            let range = range(&read, spec, true).unwrap();
            (range.maps, range.partitions, range.batch)
        };
        let coalesced = ShufflePartitionSpec::Coalesced {
            start_reducer: 2,
            end_reducer: 4,
        };
        assert_eq!(of(coalesced), (0..usize::MAX, 2..4, true));
        let skewed = ShufflePartitionSpec::PartialReducer {
            reducer: 6,
            start_map: 1,
            end_map: 3,
        };
        assert_eq!(of(skewed), (1..3, 6..7, false));
        let local = ShufflePartitionSpec::PartialMapper {
            map: 4,
            start_reducer: 0,
            end_reducer: 7,
        };
        assert_eq!(of(local), (4..5, 0..7, true));
        let maps = ShufflePartitionSpec::CoalescedMapper {
            start_map: 0,
            end_map: 2,
            num_reducers: 7,
        };
        assert_eq!(of(maps), (0..2, 0..7, true));
    }

    #[test]
    fn what_was_read_adds_up() {
        let (of, to) = (ShuffleReadMetrics::default(), ShuffleReadMetrics::default());
        of.records_read.add(3);
        of.fetch_wait_time.add(2_500_000);
        add_up(&of, &to);
        add_up(&of, &to);
        assert_eq!(to.records_read.get(), 6);
        assert_eq!(to.fetch_wait_time.get(), 5_000_000);
        assert!(values(&to).contains(&("fetchWaitTime", 5)));
    }
}
