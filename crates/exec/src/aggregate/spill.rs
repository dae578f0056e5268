//! Buffers that do not fit into memory: on disk, in parts by the hash of their keys.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::SpillFile;
use datafusion_physical_plan::metrics::SpillMetrics;
use datafusion_physical_plan::spill::SpillManager;

use super::Plan;
use crate::exec::{Start, batch_of};
use crate::parts::{Parts, rows_of};
use rows::error::bail_out;

/// Number of parts. Each is to fit into memory.
const PARTS: usize = 32;
/// Other hashes than those of the groups' table: in it, groups of one part are not to collide.
const SEED: u64 = 0x5eed;

pub(super) struct Spill {
    manager: SpillManager,
    keys: usize,
    /// Files of each part: one for each time that something was written.
    parts: Vec<Vec<Arc<dyn SpillFile>>>,
}

impl Spill {
    pub(super) fn new(plan: &Plan, start: &Start<'_>) -> Self {
        let env = start.context.runtime_env();
        let metrics = SpillMetrics::new(start.metrics, 0);
        let manager = SpillManager::new(env, metrics, Arc::clone(&plan.buffer_schema));
        let compression = start.context.session_config().spill_compression();
        Self {
            manager: manager.with_compression_type(compression),
            keys: plan.keys.len(),
            parts: Vec::new(),
        }
    }

    pub(super) fn is_used(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Writes keys and buffers.
    pub(super) fn write(
        &mut self,
        columns: super::Columns,
        rows: usize,
        batch_size: usize,
    ) -> Result<()> {
        self.parts.resize(PARTS, Vec::new());
        let batch = batch_of(self.manager.schema(), columns, rows)?;
        let keys = batch.columns().get(..self.keys).unwrap_or_default();
        let mut by_part = vec![Vec::new(); PARTS];
        let parts = Parts::new(PARTS, SEED).of_rows(keys, rows)?;
        for (row, part) in (0..).zip(parts) {
            if let Some(rows) = by_part.get_mut(part) {
                rows.push(row);
            }
        }
        for (rows, files) in by_part.into_iter().zip(&mut self.parts) {
            let rows = rows.chunks(batch_size);
            let batches = rows.map(|rows| rows_of(&batch, rows.to_vec()));
            let batches = batches.collect::<Result<Vec<_>>>()?;
            files.extend(
                self.manager
                    .spill_record_batch_and_finish(&batches, "aggregation")?,
            );
        }
        Ok(())
    }

    /// The files of each part.
    pub(super) fn finish(&mut self) -> Vec<Vec<Arc<dyn SpillFile>>> {
        std::mem::take(&mut self.parts)
    }

    pub(super) fn read(&self, part: Arc<dyn SpillFile>) -> Result<SendableRecordBatchStream> {
        self.manager.read_spill_as_stream_unbuffered(part, None)
    }
}

/// A batch of rows that were read is for the schema that was written.
pub(super) fn check(batch: &RecordBatch, plan: &Plan) -> Result<()> {
    match batch.num_columns() == plan.buffer_schema.fields().len() {
        true => Ok(()),
        false => Err(bail_out("a spilled batch of another width")),
    }
}
