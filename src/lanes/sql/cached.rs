//! Cached tables: their batches in blocks, and what the driver is told of those that were made.

use std::sync::Arc;

use catalyst::{CachedTable, CachedTableCounters, DataType};
use datafusion_common::{DataFusionError, Result};
use exec::{CachedBatches, MakeBatches};
use javaser::arena::{Graph, NodeId, Value};
use javaser::types::Raw;
use javaser::{Catalog, Error};
use parking_lot::Mutex;
use rows::Serializer;
use rows::cached::{CachedBatch, CachedBatchFormat, CachedBatchReader};
use rows::error::{RunError, bail_out};
use rows::result::keyed_pair;
use wire::ids::{BlockId, StorageLevel};
use wire::messages::Accumulator;

use crate::blocks::store::{BlockManager, BlockReader, CacheRequest, Cached, StoreError};
use crate::task::TaskContext;

/// Class of what an RDD of batches has.
const CLASS_TAG: &str = "org.apache.spark.sql.columnar.CachedBatch";

/// What the batches of a partition come to that a task has made.
#[derive(Debug, Clone, Copy)]
struct Made {
    counters: CachedTableCounters,
    partition: i32,
    batches: i64,
    bytes: i64,
    rows: i64,
    /// Whether there are no more.
    all: bool,
}

/// The batches that an attempt makes of cached tables.
#[derive(Debug, Default)]
pub(super) struct MadeTables(Mutex<Vec<Arc<Mutex<Made>>>>);

/// Why the store does not give a block.
#[derive(Debug)]
pub(super) struct BlockError(pub(super) DataFusionError);

impl From<StoreError> for BlockError {
    fn from(error: StoreError) -> Self {
        Self(match error {
            StoreError::Cancelled(_) => RunError::Killed.into(),
            error => bail_out(format!("a cached block: {error}")),
        })
    }
}

/// A batch with its bytes as an object.
type Record = (CachedBatch, Vec<u8>);

/// Gives the batches of a partition, and keeps them if they are made here and `kept` says so.
pub(super) fn batches(
    store: &BlockManager,
    (table, types, partition): (&CachedTable, &[DataType], i32),
    statistics: bool,
    serializer: Serializer,
    made: Option<&MadeTables>,
    make: MakeBatches,
    context: &Arc<TaskContext>,
) -> Result<CachedBatches> {
    let id = BlockId::Rdd {
        rdd_id: table.rdd_id,
        split_index: partition,
    };
    let types: Arc<[DataType]> = types.into();
    let catalog = Arc::clone(&context.blocks.catalog);
    let format = CachedBatchFormat::new(serializer, &catalog);
    let read = |block: BlockReader| {
        let mut reader = CachedBatchReader::new(format, block, &types, statistics);
        std::iter::from_fn(move || reader.next_batch().transpose())
    };
    let found = |block: BlockReader| {
        let size = i64::try_from(block.size()).unwrap_or(i64::MAX);
        context.metrics.input.bytes_read.add(size);
        let metrics = Arc::clone(&context.metrics);
        let batches = read(block).inspect(move |_| metrics.input.records_read.add(1));
        Ok(Box::new(batches) as CachedBatches)
    };
    let Some(made) = made else {
        let kept = store.get(&id, Some(&context.cancellation));
        return match kept.map_err(|error| BlockError::from(error).0)? {
            Some(block) => found(block),
            None => make(),
        };
    };
    let (flags, replication) = table.storage_level;
    let request = CacheRequest {
        id,
        level: StorageLevel { flags, replication },
        class_tag: CLASS_TAG,
        header: format.header(),
        task_id: context.task_attempt_id,
        cancellation: &context.cancellation,
    };
    let written = {
        let types = Arc::clone(&types);
        let counted = made.new_of(table, partition);
        move || -> std::result::Result<_, BlockError> {
            let mut batches = make().map_err(BlockError)?;
            Ok(std::iter::from_fn(move || {
                let Some(batch) = batches.next() else {
                    counted.lock().all = true;
                    return None;
                };
                let record = batch.and_then(|batch| {
                    counted.lock().count(&batch);
                    let mut bytes = Vec::new();
                    format.write(&catalog, &batch, &types, &mut bytes)?;
                    Ok((batch, bytes))
                });
                Some(record.map_err(BlockError))
            }))
        }
    };
    let encode = |record: &Record, out: &mut Vec<u8>| out.extend_from_slice(&record.1);
    let cached = store.get_or_else_update(&request, written, encode);
    match cached.map_err(|error| error.0)? {
        Cached::Found(block) => found(block),
        Cached::Stored(block) => Ok(Box::new(read(block))),
        Cached::NotStored { begun, rest } => {
            let rest = rest.map(|record| record.map(|(batch, _)| batch).map_err(|why| why.0));
            Ok(Box::new(read(begun).chain(rest)))
        }
    }
}

impl Made {
    fn count(&mut self, batch: &CachedBatch) {
        self.batches += 1;
        self.bytes = self.bytes.saturating_add(batch.size_in_bytes());
        // As many as an int counts.
        self.rows = self.rows.saturating_add(batch.num_rows as i64);
    }
}

impl MadeTables {
    /// What counts a partition that may be made now.
    fn new_of(&self, table: &CachedTable, partition: i32) -> Arc<Mutex<Made>> {
        let made = Arc::new(Mutex::new(Made {
            counters: table.counters,
            partition,
            batches: 0,
            bytes: 0,
            rows: 0,
            all: false,
        }));
        self.0.lock().push(Arc::clone(&made));
        made
    }

    /// What the driver is told of the partitions that were made, by a task of this partition of its stage.
    ///
    /// # Errors
    /// Bail-out: the accumulators are not as expected.
    pub(super) fn updates(
        &self,
        stage: &Graph,
        catalog: &Catalog,
        task_partition: i32,
    ) -> Result<Vec<Accumulator>> {
        let mut updates = Vec::new();
        for made in &*self.0.lock() {
            let made = *made.lock();
            if made.batches == 0 && !made.all {
                continue;
            }
            let written = made.updates(stage, catalog, task_partition);
            let written =
                written.map_err(|why| bail_out(format!("accumulators of a cached table: {why}")));
            updates.extend(
                written?
                    .into_iter()
                    .map(|bytes| Accumulator::Raw(Raw(bytes))),
            );
        }
        Ok(updates)
    }
}

impl Made {
    fn updates(
        &self,
        stage: &Graph,
        catalog: &Catalog,
        task_partition: i32,
    ) -> std::result::Result<Vec<Vec<u8>>, Error> {
        match self.counters {
            CachedTableCounters::Totals {
                size_in_bytes,
                row_count,
                partitions,
            } => [
                (size_in_bytes, self.bytes, self.batches),
                (row_count, self.rows, self.batches),
                (partitions, 1, 1),
            ]
            .into_iter()
            .map(|(node, sum, count)| {
                sent(stage, node, |graph, copy| {
                    graph.set_field(copy, "_sum", Value::Long(sum))?;
                    graph.set_field(copy, "_count", Value::Long(count))
                })
            })
            .collect(),
            // From 4.3 on only of partitions that were gone through to their end.
            CachedTableCounters::ByPartition { of_task: false, .. } if !self.all => Ok(Vec::new()),
            CachedTableCounters::ByPartition { node, of_task } => {
                let key = if of_task {
                    task_partition
                } else {
                    self.partition
                };
                let map = keyed_pair(catalog, key, (self.rows, self.bytes))?;
                let sent = sent(stage, node, |graph, copy| {
                    let other = Graph::parse(&map, &javaser::Limits::default())?;
                    let map = graph.import(&other, other.root().unwrap_or(Value::Null))?;
                    graph.set_field(copy, "byPartition", map)
                });
                Ok(vec![sent?])
            }
        }
    }
}

/// An accumulator as it goes back, with other values in some fields.
fn sent(
    stage: &Graph,
    accumulator: NodeId,
    set: impl FnOnce(&mut Graph, NodeId) -> std::result::Result<(), Error>,
) -> std::result::Result<Vec<u8>, Error> {
    let mut graph = Graph::default();
    let copy = graph.import(stage, Value::Ref(accumulator))?;
    if let Some(node) = copy.node() {
        set(&mut graph, node)?;
        graph.set_field(node, "atDriverSide", Value::Bool(false))?;
    }
    graph.push_root(copy)?;
    Ok(graph.to_bytes())
}
