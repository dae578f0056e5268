//! The windows of a task: rows are gathered until their partition is whole.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType as ArrowType, SchemaRef};
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_physical_plan::metrics::{Gauge, MetricBuilder};

use super::Plan;
use super::column::{Column, Memory};
use crate::exec::{Pipe, Start, batch_of};
use crate::groups::{runs, same_keys};
use crate::metrics::PEAK_MEMORY;

/// Rows of whole partitions, of which some have come out.
struct Closed {
    columns: Vec<Column>,
    rows: usize,
    at: usize,
    /// Bytes of values that rows have in common.
    bytes: usize,
}

impl Closed {
    /// The next rows, as many at most; `None` behind the last.
    fn next(&mut self, schema: &SchemaRef, most: usize) -> Result<Option<RecordBatch>> {
        if self.at == self.rows {
            return Ok(None);
        }
        let parts = self
            .columns
            .iter()
            .map(|column| column.rows_at_once(self.at));
        let most = parts.fold(most, usize::min);
        let rows = most.min(self.rows - self.at);
        let columns = self.columns.iter().map(|column| column.part(self.at, rows));
        let batch = batch_of(schema, columns.collect::<Result<_>>()?, rows)?;
        self.at += rows;
        Ok(Some(batch))
    }
}

pub(super) struct Windows {
    plan: Arc<Plan>,
    schema: SchemaRef,
    batch_size: usize,
    /// Rows of a partition that may go on.
    open: Vec<RecordBatch>,
    /// Keys of the last of them.
    last: Vec<ArrayRef>,
    /// Whole partitions with their columns.
    closed: VecDeque<Closed>,
    memory: MemoryReservation,
    peak: Gauge,
}

impl Windows {
    pub(super) fn new(plan: Arc<Plan>, start: &Start<'_>) -> Self {
        Self {
            plan,
            schema: Arc::clone(start.schema),
            batch_size: start.batch_size(),
            open: Vec::new(),
            last: Vec::new(),
            closed: VecDeque::new(),
            memory: MemoryConsumer::new("WindowExec").register(start.context.memory_pool()),
            peak: MetricBuilder::new(start.metrics).gauge(PEAK_MEMORY, 0),
        }
    }

    /// The same, but batches that come out are as long as their partitions together.
    pub(super) fn of_any_length(plan: Arc<Plan>, start: &Start<'_>) -> Self {
        Self {
            batch_size: usize::MAX,
            ..Self::new(plan, start)
        }
    }

    /// Computes what is open: it is whole.
    fn close(&mut self) -> Result<()> {
        let Some(first) = self.open.first() else {
            return Ok(());
        };
        let batch = concat_batches(&first.schema(), &self.open)?;
        let mut memory = Memory::new(&self.memory);
        let own = batch.columns().iter().cloned().map(Column::Own);
        let mut columns: Vec<_> = own.collect();
        columns.extend(self.plan.evaluate(&batch, &mut memory)?);
        self.closed.push_back(Closed {
            columns,
            rows: batch.num_rows(),
            at: 0,
            bytes: memory.kept(),
        });
        self.open.clear();
        self.peak.set_max(self.memory.size());
        Ok(())
    }

    /// The rows are there three times while they are computed: as they came, in one piece, and with their columns.
    fn reserve(&mut self) -> Result<()> {
        let shared: usize = self.closed.iter().map(|closed| closed.bytes).sum();
        let size = 3 * self.open.iter().map(bytes_of_rows).sum::<usize>() + shared;
        self.peak.set_max(size);
        self.memory.try_resize(size)
    }
}

impl Pipe for Windows {
    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let keys = self.plan.keys.partition_of(&batch)?;
        let starts_anew = !self.open.is_empty() && !same_keys(&self.last, &keys)?;
        if starts_anew {
            self.close()?;
        }
        // All but the last of the batch's partitions are whole.
        let last = runs(&keys, rows)?.pop().map_or(0, |last| last.start);
        if last > 0 {
            self.open.push(batch.slice(0, last));
            self.reserve()?;
            self.close()?;
        }
        self.open.push(batch.slice(last, rows - last));
        self.last = keys.iter().map(|key| key.slice(rows - 1, 1)).collect();
        self.reserve()
    }

    fn finish(&mut self) -> Result<()> {
        self.close()?;
        self.last.clear();
        self.memory.free();
        Ok(())
    }

    fn pop(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(closed) = self.closed.front_mut() {
            if let Some(batch) = closed.next(&self.schema, self.batch_size)? {
                return Ok(Some(batch));
            }
            self.closed.pop_front();
        }
        Ok(None)
    }
}

/// Bytes of a batch's rows, without those of rows that share its buffers.
fn bytes_of_rows(batch: &RecordBatch) -> usize {
    let views = |rows: usize, bytes: usize| rows * size_of::<u128>() + bytes;
    let columns = batch
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            ArrowType::Utf8View => {
                let array = column.as_string_view();
                views(array.len(), array.total_buffer_bytes_used())
            }
            ArrowType::BinaryView => {
                let array = column.as_binary_view();
                views(array.len(), array.total_buffer_bytes_used())
            }
            _ => {
                let size = column.to_data().get_slice_memory_size();
                size.unwrap_or_else(|_| column.get_array_memory_size())
            }
        });
    columns.sum()
}
