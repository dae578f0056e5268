//! Results for the driver.

use std::sync::Arc;

use arrow::array::RecordBatch;
use catalyst::{ArrowBatches, CollectResult, CsvInference, JsonInference, Unsupported};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use exec::{ArrowResult, CsvTypes, JsonTypes, RangeSample};
use rows::RowEncoder;
use rows::result::CollectRows;

use super::failure::of_run;
use super::result_format::ResultFormat;
use super::sink::{Finished, Sink};
use crate::blocks::codec::{Codec, CompressedWriter};
use crate::task::{TaskContext, TaskError};

/// `SparkPlan.getByteArrayRdd`
pub(super) struct Collected<'a> {
    rows: CollectRows<CompressedWriter<Vec<u8>>>,
    encoder: RowEncoder,
    result: CollectResult,
    format: ResultFormat,
    context: &'a TaskContext,
}

impl<'a> Collected<'a> {
    pub(super) fn new(
        (codec, format): (&Codec, ResultFormat),
        limit: i32,
        take_from_end: bool,
        result: CollectResult,
        encoder: RowEncoder,
        context: &'a TaskContext,
    ) -> Result<Self, TaskError> {
        Ok(Self {
            rows: CollectRows::new(codec.writer(Vec::new())?, limit, take_from_end),
            encoder,
            result,
            format,
            context,
        })
    }
}

impl Sink for Collected<'_> {
    fn wants_more(&self) -> bool {
        !self.rows.is_full()
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let rows = self.encoder.encode(batch).map_err(of_run)?;
        self.rows.push(&rows).map_err(of_run)
    }

    fn finish(self: Box<Self>) -> Result<Finished, TaskError> {
        let (count, packed) = self.rows.finish().map_err(of_run)?;
        let packed = packed.finish()?;
        let catalog = &self.context.blocks.catalog;
        self.format
            .collect(catalog, self.result, count, &packed)
            .map(Finished::result)
            .map_err(of_run)
    }
}

/// `RDD.takeOrdered`
pub(super) struct Ordered<'a> {
    encoder: RowEncoder,
    num_fields: usize,
    rows: Vec<Box<[u8]>>,
    memory: MemoryReservation,
    format: ResultFormat,
    context: &'a TaskContext,
}

impl<'a> Ordered<'a> {
    pub(super) fn new(
        encoder: RowEncoder,
        num_fields: usize,
        memory: &Arc<dyn MemoryPool>,
        format: ResultFormat,
        context: &'a TaskContext,
    ) -> Self {
        Self {
            encoder,
            num_fields,
            rows: Vec::new(),
            memory: MemoryConsumer::new("first rows").register(memory),
            format,
            context,
        }
    }
}

impl Sink for Ordered<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let rows = self.encoder.encode(batch).map_err(of_run)?;
        self.memory.try_grow(rows.data_size()).map_err(of_run)?;
        self.rows.extend(rows.rows().map(Box::from));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Finished, TaskError> {
        let rows = self.rows.iter().map(|row| &**row);
        let catalog = &self.context.blocks.catalog;
        self.format
            .take_ordered(catalog, self.context.partition_id, self.num_fields, rows)
            .map(Finished::result)
            .map_err(of_run)
    }
}

/// `RangePartitioner.sketch`
pub(super) struct Sampled<'a> {
    sample: RangeSample<'a>,
    format: ResultFormat,
    context: &'a TaskContext,
}

impl<'a> Sampled<'a> {
    pub(super) fn new(
        sample: RangeSample<'a>,
        format: ResultFormat,
        context: &'a TaskContext,
    ) -> Self {
        Self {
            sample,
            format,
            context,
        }
    }
}

impl Sink for Sampled<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        self.sample.push(batch).map_err(of_run)
    }

    fn finish(self: Box<Self>) -> Result<Finished, TaskError> {
        let sample = self.sample.finish();
        self.format
            .sketch(&self.context.blocks.catalog, &sample)
            .map(Finished::result)
            .map_err(of_run)
    }
}

/// `Dataset.toArrowBatchRdd`, and what Spark Connect makes.
pub(super) struct ForDriver<'a> {
    batches: ArrowResult,
    /// Whether the driver is told how many rows each batch has.
    counted: bool,
    format: ResultFormat,
    memory: MemoryReservation,
    context: &'a TaskContext,
}

impl<'a> ForDriver<'a> {
    pub(super) fn new(
        batches: &ArrowBatches,
        format: ResultFormat,
        memory: &Arc<dyn MemoryPool>,
        context: &'a TaskContext,
    ) -> Result<Self, Unsupported> {
        Ok(Self {
            batches: ArrowResult::new(batches)?,
            counted: batches.streams.is_some(),
            format,
            memory: MemoryConsumer::new("Arrow batches").register(memory),
            context,
        })
    }
}

impl Sink for ForDriver<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        self.batches.push(batch).map_err(of_run)?;
        let bytes = self.batches.bytes();
        self.memory.try_resize(bytes).map_err(of_run)
    }

    fn finish(self: Box<Self>) -> Result<Finished, TaskError> {
        let batches = self.batches.finish().map_err(of_run)?;
        let catalog = &self.context.blocks.catalog;
        let result = self.format.batches(catalog, &batches, self.counted);
        result.map(Finished::result).map_err(of_run)
    }
}

/// How many rows there were.
pub(super) struct Counted<'a> {
    rows: i64,
    format: ResultFormat,
    context: &'a TaskContext,
}

impl<'a> Counted<'a> {
    /// None yet.
    pub(super) fn new(format: ResultFormat, context: &'a TaskContext) -> Self {
        Self {
            rows: 0,
            format,
            context,
        }
    }
}

impl Sink for Counted<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        // Fewer than an i64 counts.
        self.rows += batch.num_rows() as i64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Finished, TaskError> {
        let result = self.format.long(&self.context.blocks.catalog, self.rows);
        result.map(Finished::result).map_err(of_run)
    }
}

/// No rows: a cached table was made.
pub(super) struct Unit<'a>(pub(super) ResultFormat, pub(super) &'a TaskContext);

impl Sink for Unit<'_> {
    fn take(&mut self, _: &RecordBatch) -> Result<(), TaskError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Finished, TaskError> {
        self.0
            .unit(&self.1.blocks.catalog)
            .map(Finished::result)
            .map_err(of_run)
    }
}

/// Finds out which columns texts have, and says it.
struct Inferred<T, W> {
    types: T,
    push: fn(&mut T, &RecordBatch) -> datafusion_common::Result<()>,
    /// The result of the task.
    write: W,
}

impl<T, W> Sink for Inferred<T, W>
where
    W: FnOnce(T) -> Result<Vec<u8>, TaskError>,
{
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        (self.push)(&mut self.types, batch).map_err(of_run)
    }

    fn finish(self: Box<Self>) -> Result<Finished, TaskError> {
        (self.write)(self.types).map(Finished::result)
    }
}

/// `JsonInferSchema.infer`
pub(super) fn json_types<'a>(inference: &'a JsonInference, context: &'a TaskContext) -> impl Sink {
    Inferred {
        types: JsonTypes::new(inference),
        push: JsonTypes::push,
        write: |types: JsonTypes<'a>| {
            let columns = types.finish().map_err(of_run)?;
            exec::schema::inferred(&context.blocks.catalog, &columns).map_err(unwritten)
        },
    }
}

/// `CSVInferSchema.infer`
pub(super) fn csv_types<'a>(
    inference: &'a CsvInference,
    context: &'a TaskContext,
) -> Result<impl Sink, Unsupported> {
    Ok(Inferred {
        types: CsvTypes::new(inference)?,
        push: CsvTypes::push,
        write: |types: CsvTypes<'a>| {
            let found = types.finish();
            exec::schema::types(&context.blocks.catalog, &found).map_err(unwritten)
        },
    })
}

fn unwritten(why: javaser::Error) -> TaskError {
    TaskError::BailOut(format!("columns: {why}"))
}
