//! What a range partitioner takes its bounds from: a sample of each partition's keys.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use crate::expr::lower;
use catalyst::Unsupported;
use catalyst::{Attribute, SortOrder};
use javaser::XorShiftRandom;
use rows::RowEncoder;
use rows::error::bail_out;
use rows::types::schema_of_types;

/// [`Output::RangeSample`](catalyst::Output::RangeSample) of a stage.
#[derive(Debug)]
pub struct RangeSampler {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    order: Vec<SortOrder>,
    sample_size: usize,
    rdd_id: i32,
}

/// The sample of one task in the making: `SamplingUtils.reservoirSampleAndCount`.
#[derive(Debug)]
pub struct RangeSample<'s> {
    sampler: &'s RangeSampler,
    encoder: RowEncoder,
    partition_id: i32,
    random: XorShiftRandom,
    sample: Vec<Box<[u8]>>,
    count: i64,
}

impl RangeSampler {
    /// Judges it, for rows with the columns `input`. The other parameters are those of
    /// [`Output::RangeSample`](catalyst::Output::RangeSample).
    ///
    /// # Errors
    /// Keys are not computed natively.
    pub fn new(
        order: &[SortOrder],
        sample_size: i32,
        rdd_id: i32,
        input: &[Attribute],
    ) -> std::result::Result<Self, Unsupported> {
        let types = || order.iter().map(|by| &by.child.data_type);
        RowEncoder::new(types())?;
        Ok(Self {
            keys: order
                .iter()
                .map(|by| lower(&by.child, input))
                .collect::<std::result::Result<_, _>>()?,
            schema: schema_of_types(types())?,
            order: order.to_vec(),
            sample_size: usize::try_from(sample_size)
                .map_err(|_| Unsupported::of_use("a sample of negative size"))?,
            rdd_id,
        })
    }

    /// For one task: `partition_id` is the index of the partition.
    ///
    /// # Errors
    /// None after [`RangeSampler::new`].
    pub fn task(&self, partition_id: i32) -> std::result::Result<RangeSample<'_>, Unsupported> {
        Ok(RangeSample {
            sampler: self,
            encoder: RowEncoder::new(self.order.iter().map(|by| &by.child.data_type))?,
            partition_id,
            // Each partition has a seed of its own.
            random: XorShiftRandom::new(byteswap(partition_id ^ self.rdd_id << 16).into()),
            sample: Vec::new(),
            count: 0,
        })
    }
}

impl RangeSample<'_> {
    /// More rows of the partition, in their order.
    ///
    /// # Errors
    /// Those of the keys; bail-outs.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = u32::try_from(batch.num_rows()).map_err(|_| bail_out("too many rows"))?;
        let size = self.sampler.sample_size;
        // Rows that are kept, and in whose places. Of those with the same place the last one stays.
        let mut kept = Vec::new();
        let mut places = Vec::new();
        for row in 0..rows {
            self.count += 1;
            let place = match usize::try_from(self.count) {
                Ok(count) if count <= size => count - 1,
                _ => (self.random.next_double() * self.count as f64) as usize,
            };
            if place < size {
                kept.push(row);
                places.push(place);
            }
        }
        if kept.is_empty() {
            return Ok(());
        }
        let keys = self
            .sampler
            .keys
            .iter()
            .map(|key| key.evaluate(batch)?.into_array(batch.num_rows()))
            .collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::clone(&self.sampler.schema);
        let keys = RecordBatch::try_new_with_options(schema, keys, &options)?;
        let rows = self.encoder.encode_rows(&keys, &kept)?;
        for (place, row) in places.into_iter().zip(rows.rows()) {
            match self.sample.get_mut(place) {
                Some(old) => *old = row.into(),
                None => self.sample.push(row.into()),
            }
        }
        Ok(())
    }

    /// What was kept.
    #[must_use]
    pub fn finish(self) -> KeySample {
        KeySample {
            partition_id: self.partition_id,
            count: self.count,
            columns: self.sampler.keys.len(),
            rows: self.sample,
        }
    }
}

/// The result of `RangePartitioner.sketch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySample {
    /// The partition.
    pub partition_id: i32,
    /// How many rows it has.
    pub count: i64,
    /// Columns of the keys.
    pub columns: usize,
    /// Keys of some of the rows, as `UnsafeRow`s.
    pub rows: Vec<Box<[u8]>>,
}

/// `scala.util.hashing.byteswap32`
fn byteswap(value: i32) -> i32 {
    let hash = (value as u32).wrapping_mul(0x9e37_75cd).swap_bytes();
    hash.wrapping_mul(0x9e37_75cd) as i32
}
