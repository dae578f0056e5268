//! The rows of one side of a join in a task's memory, with a table of their keys.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::{Result, resources_datafusion_err};
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::Gauge;
use datafusion_physical_plan::spill::get_record_batch_memory_size;
use futures::StreamExt;

use super::TABLE_ROW;
use super::probe::Build;
use rows::{RelationKind, RelationTable};

/// Gathers rows for a table by keys, if there are any.
#[derive(Debug)]
pub(super) struct Gather {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) memory: MemoryReservation,
    pool: Arc<dyn MemoryPool>,
    pub(super) peak: Gauge,
    leaves_room: bool,
}

/// What became of rows.
pub(super) enum Gathered {
    /// For which memory is held.
    Table(Arc<Build>),
    /// They are more than fit into memory, which is held for them but for the last ones.
    TooMuch(Vec<RecordBatch>),
}

impl Gather {
    /// `leaves_room` says whether a part of the memory is left to other operators: what does not fit can go to disk.
    pub(super) fn new(
        name: &str,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        pool: &Arc<dyn MemoryPool>,
        peak: Gauge,
        leaves_room: bool,
    ) -> Self {
        Self {
            keys,
            memory: MemoryConsumer::new(name).register(pool),
            pool: Arc::clone(pool),
            peak,
            leaves_room,
        }
    }

    /// A table of all rows of an input, if they fit.
    ///
    /// # Errors
    /// Those of the input, and bail-outs: there are too many rows, or keys have a type that cannot be compared.
    pub(super) async fn all(&self, input: &mut SendableRecordBatchStream) -> Result<Gathered> {
        let mut batches: Vec<RecordBatch> = Vec::new();
        while let Some(batch) = input.next().await.transpose()? {
            let size = self.memory.size().saturating_add(size_in_table(&batch));
            batches.push(batch);
            if self.resize(size).is_err() {
                return Ok(Gathered::TooMuch(batches));
            }
        }
        self.table(&input.schema(), batches)
    }

    /// A table of rows, if they fit; else they are one batch.
    ///
    /// # Errors
    /// Bail-outs: there are too many rows, or keys have a type that cannot be compared.
    pub(super) fn table(&self, schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<Gathered> {
        let batch = concat_batches(schema, &batches)?;
        drop(batches);
        let (table, size) = self.make(batch.clone())?;
        self.peak.set_max(size.max(self.memory.size()));
        match self.resize(size) {
            Ok(()) => Ok(Gathered::Table(Arc::new(table))),
            Err(_) => Ok(Gathered::TooMuch(vec![batch])),
        }
    }

    /// A table of no rows, which always fits.
    ///
    /// # Errors
    /// Bail-out: keys have a type that cannot be compared.
    pub(super) fn empty_table(&self, schema: &SchemaRef) -> Result<Arc<Build>> {
        let (table, size) = self.make(RecordBatch::new_empty(Arc::clone(schema)))?;
        self.memory.resize(size);
        Ok(Arc::new(table))
    }

    /// A table and its bytes.
    fn make(&self, batch: RecordBatch) -> Result<(Build, usize)> {
        let keys = crate::project::evaluate(&self.keys, &batch)?;
        let table = match keys.is_empty() {
            true => None,
            false => Some(RelationTable::new(&keys, batch.num_rows())?),
        };
        let table_size = table.as_ref().map_or(0, RelationTable::memory_size);
        let size = get_record_batch_memory_size(&batch) + table_size;
        let build = Build {
            kind: RelationKind::Unsafe,
            batch,
            table,
            memory: None,
        };
        Ok((build, size))
    }

    /// Asks for memory.
    ///
    /// # Errors
    /// There is not as much.
    pub(super) fn resize(&self, size: usize) -> Result<()> {
        let held = self.memory.size();
        if self.leaves_room
            && size > held
            && let MemoryLimit::Finite(limit) = self.pool.memory_limit()
        {
            let others = self.pool.reserved().saturating_sub(held);
            if size > limit.saturating_sub(others) / 3 * 2 {
                return Err(resources_datafusion_err!("a table of {size} bytes"));
            }
        }
        self.memory.try_resize(size)
    }
}

/// Bytes of rows while there is a table made of them: as they came, with what it takes to have them all in one batch
/// or, without those that came then, in a table.
pub(super) fn size_in_table(batch: &RecordBatch) -> usize {
    let rows = batch.num_rows();
    let copied = batch
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            // The bytes of texts are not copied.
            DataType::Utf8View | DataType::BinaryView => rows * size_of::<u128>(),
            of => match of.primitive_width() {
                Some(width) => rows * width,
                None => column.get_array_memory_size(),
            },
        });
    get_record_batch_memory_size(batch) + copied.sum::<usize>().max(rows * TABLE_ROW)
}
