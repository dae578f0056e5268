//! Rows to a shuffle's map output.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use catalyst::{Metric, ShuffleWrite};
use columns::ColumnTypes;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use exec::{Partitioner, round_robin_order, scatter};
use rows::{RowChecksums, RowEncoder, RowHasher};

use super::columns::ColumnWriter;
use super::failure::of_run;
use super::sink::{Finished, Sink};
use crate::blocks::metrics::ShuffleWriteMetrics;
use crate::blocks::shuffle::{Shuffle, ShuffleWriter};
use crate::task::{TaskContext, TaskError, TaskValue};

/// Writes the rows of one map task.
pub(super) struct ShuffleSink<'a> {
    partitioner: Partitioner,
    encoder: RowEncoder,
    checksums: Option<RowChecksums>,
    /// Hashes rows for their checksums, if they need not be written for that.
    hasher: Option<RowHasher>,
    writer: Writer<'a>,
    /// Rows that have to be sorted before they are sent.
    waiting: Option<Waiting>,
    data_size: i64,
    metrics: &'a [Metric],
    context: &'a TaskContext,
}

/// Who writes the rows.
enum Writer<'a> {
    Rows(Box<ShuffleWriter<'a>>),
    Columns(Box<ColumnWriter<'a>>),
}

impl Writer<'_> {
    fn num_partitions(&self) -> usize {
        match self {
            Self::Rows(writer) => writer.num_partitions(),
            Self::Columns(writer) => writer.num_partitions(),
        }
    }
}

struct Waiting {
    batches: Vec<RecordBatch>,
    memory: MemoryReservation,
}

impl<'a> ShuffleSink<'a> {
    pub(super) fn new(
        shuffle: &Shuffle,
        write: &'a ShuffleWrite,
        partitioner: &Partitioner,
        (encoder, types): (RowEncoder, Option<&ColumnTypes>),
        memory: &Arc<dyn MemoryPool>,
        context: &'a TaskContext,
    ) -> Result<Self, TaskError> {
        let partitioner = partitioner.task(context.partition_id);
        let partitions = usize::try_from(partitioner.num_partitions()).unwrap_or_default();
        let map_id = shuffle.map_id(context.task_attempt_id, context.partition_id);
        let (shuffle_id, task_id) = (write.shuffle.shuffle_id, context.task_attempt_id);
        let (written, spilled) = (&context.metrics.shuffle_write, &context.metrics.spill);
        let columns = match types {
            Some(_) => {
                shuffle.column_writer(shuffle_id, map_id, task_id, partitions, written, spilled)?
            }
            None => None,
        };
        let writer = match columns.zip(types) {
            Some((writer, types)) => {
                let writer = ColumnWriter::new(writer, types, partitions)?;
                Writer::Columns(Box::new(writer))
            }
            None => {
                let writer =
                    shuffle.writer(shuffle_id, map_id, task_id, partitions, written, spilled)?;
                Writer::Rows(Box::new(writer))
            }
        };
        let sorted = partitioner.needs_sorted_rows() && partitions > 1;
        let checksums = write.row_checksums.then(|| RowChecksums::new(partitions));
        Ok(Self {
            partitioner,
            hasher: checksums.as_ref().and_then(|_| encoder.hasher()),
            encoder,
            checksums,
            writer,
            waiting: sorted.then(|| Waiting {
                batches: Vec::new(),
                memory: MemoryConsumer::new("rows to be sorted").register(memory),
            }),
            data_size: 0,
            metrics: &write.metrics,
            context,
        })
    }

    /// Sends rows in the order of a batch.
    fn send(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let ids = self.partitioner.partition_ids(batch).map_err(of_run)?;
        self.send_to(batch, &ids)
    }

    fn send_to(&mut self, batch: &RecordBatch, ids: &[u32]) -> Result<(), TaskError> {
        let partitions = self.writer.num_partitions();
        let scattered = scatter(ids, partitions);
        let are_hashed = self.add_hashes(batch, ids)?;
        if let Writer::Columns(writer) = &mut self.writer {
            writer.write(batch, &scattered)?;
            if are_hashed {
                let size = match &self.hasher {
                    Some(hasher) => hasher.row_size() * batch.num_rows(),
                    None => self.encoder.data_size(batch).map_err(of_run)?,
                };
                self.data_size += i64::try_from(size).unwrap_or(i64::MAX);
                return Ok(());
            }
        }
        let rows = self
            .encoder
            .encode_rows(batch, &scattered.rows)
            .map_err(of_run)?;
        self.data_size += i64::try_from(rows.data_size()).unwrap_or(i64::MAX);
        for (partition, bounds) in scattered.starts.windows(2).enumerate() {
            let &[start, end] = bounds else { continue };
            if start == end {
                continue;
            }
            let (start, end) = (start as usize, end as usize);
            if let Some(checksums) = self.checksums.as_mut().filter(|_| !are_hashed) {
                for index in start..end {
                    checksums.update(partition, rows.row(index));
                }
            }
            if let Writer::Rows(writer) = &mut self.writer {
                let count = i64::try_from(end - start).unwrap_or(i64::MAX);
                writer.write_many(partition, rows.records(start, end), count)?;
            }
        }
        Ok(())
    }

    /// Adds rows to the checksums of their partitions, if there are any, and it can be done without writing them.
    fn add_hashes(&mut self, batch: &RecordBatch, ids: &[u32]) -> Result<bool, TaskError> {
        let Some(checksums) = &mut self.checksums else {
            return Ok(true);
        };
        let Some(hasher) = &mut self.hasher else {
            return Ok(false);
        };
        let hashes = hasher.hash(batch).map_err(of_run)?;
        for (partition, hash) in ids.iter().zip(hashes) {
            checksums.update_hashed(*partition as usize, hash);
        }
        Ok(true)
    }

    /// Sends all rows round robin, sorted so that every attempt sends them to the same partitions.
    fn send_sorted(&mut self, waiting: &Waiting) -> Result<(), TaskError> {
        let sorted = round_robin(&mut self.encoder, &mut self.partitioner, &waiting.batches)?;
        match sorted {
            Some((all, ids)) => self.send_to(&all, &ids),
            None => Ok(()),
        }
    }
}

/// The rows of all batches and where each goes if they are sent round robin in their sorted order; `None` if there are
/// none.
pub(super) fn round_robin(
    encoder: &mut RowEncoder,
    partitioner: &mut Partitioner,
    batches: &[RecordBatch],
) -> Result<Option<(RecordBatch, Vec<u32>)>, TaskError> {
    let Some(first) = batches.first() else {
        return Ok(None);
    };
    let bail_out = |why: arrow::error::ArrowError| TaskError::BailOut(why.to_string());
    let all = concat_batches(&first.schema(), batches).map_err(bail_out)?;
    let rows = encoder.encode(&all).map_err(of_run)?;
    let order = round_robin_order(&rows);
    let places = partitioner.partition_ids(&all).map_err(of_run)?;
    let mut ids = vec![0; all.num_rows()];
    for (row, partition) in order.into_iter().zip(places) {
        if let Some(id) = ids.get_mut(row as usize) {
            *id = partition;
        }
    }
    Ok(Some((all, ids)))
}

/// By accumulator, what the metrics of the exchange are.
fn measured(metrics: &[Metric], data_size: i64, written: &ShuffleWriteMetrics) -> Vec<(i64, i64)> {
    metrics
        .iter()
        .filter_map(|metric| {
            let value = match metric.name.as_str() {
                "dataSize" => data_size,
                "shuffleBytesWritten" => written.bytes_written.get(),
                "shuffleRecordsWritten" => written.records_written.get(),
                "shuffleWriteTime" => written.write_time.get(),
                _ => return None,
            };
            Some((metric.accumulator, value))
        })
        .collect()
}

impl Sink for ShuffleSink<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        match &mut self.waiting {
            None => self.send(batch),
            Some(waiting) => {
                // The rows themselves are made of them in the end.
                let bytes = batch.get_array_memory_size().saturating_mul(2);
                waiting.memory.try_grow(bytes).map_err(of_run)?;
                waiting.batches.push(batch.clone());
                Ok(())
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Finished, TaskError> {
        if let Some(waiting) = self.waiting.take() {
            self.send_sorted(&waiting)?;
        }
        let checksum = self.checksums.as_ref().map_or(0, RowChecksums::value);
        let Self {
            writer,
            data_size,
            metrics,
            context,
            ..
        } = *self;
        let status = match writer {
            Writer::Rows(writer) => writer.stop(checksum)?,
            Writer::Columns(writer) => writer.stop(checksum)?,
        };
        Ok(Finished {
            value: TaskValue::MapStatus(status),
            metrics: measured(metrics, data_size, &context.metrics.shuffle_write),
        })
    }
}
