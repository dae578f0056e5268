//! Map outputs that are counted and not written.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use exec::Partitioner;
use rows::RowEncoder;

use super::rows::Digest;
use super::{Attempts, Expected, Output, Rules};
use crate::lanes::sql::failure::of_run;
use crate::lanes::sql::sink::{Finished, Sink};
use crate::lanes::sql::write::round_robin;
use crate::task::{TaskContext, TaskError};

/// Counts the rows of a map output in place of writing them.
pub(in crate::lanes::sql) struct DigestSink<'a> {
    partitioner: Partitioner,
    encoder: RowEncoder,
    rules: Arc<Rules>,
    digests: Vec<Digest>,
    /// Rows that have to be sorted before it is known where they go.
    waiting: Vec<RecordBatch>,
    memory: MemoryReservation,
    shuffle_id: i32,
    map_id: i64,
    task_id: i64,
    verifier: &'a Attempts,
}

impl<'a> DigestSink<'a> {
    pub(in crate::lanes::sql) fn new(
        partitioner: &Partitioner,
        encoder: RowEncoder,
        (shuffle_id, map_id): (i32, i64),
        (rules, verifier): (&Arc<Rules>, &'a Attempts),
        memory: &Arc<dyn MemoryPool>,
        context: &TaskContext,
    ) -> Self {
        let partitioner = partitioner.task(context.partition_id);
        let count = match rules.partitions {
            true => usize::try_from(partitioner.num_partitions()).unwrap_or_default(),
            false => 1,
        };
        Self {
            digests: vec![Digest::default(); count],
            partitioner,
            encoder,
            rules: Arc::clone(rules),
            waiting: Vec::new(),
            memory: MemoryConsumer::new("rows to be sorted").register(memory),
            shuffle_id,
            map_id,
            task_id: context.task_attempt_id,
            verifier,
        }
    }

    fn count(&mut self, batch: &RecordBatch, ids: &[u32]) -> Result<(), TaskError> {
        let rows = self.encoder.encode(batch).map_err(of_run)?;
        let one = self.digests.len() == 1;
        for (row, id) in rows.rows().zip(ids) {
            let place = if one { 0 } else { *id as usize };
            if let Some(digest) = self.digests.get_mut(place) {
                let added = digest.add(&self.rules.view, row);
                added.map_err(|_| TaskError::BailOut("a row of other columns".to_owned()))?;
            }
        }
        Ok(())
    }
}

impl Sink for DigestSink<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        if self.partitioner.needs_sorted_rows() && self.partitioner.num_partitions() > 1 {
            let bytes = batch.get_array_memory_size().saturating_mul(2);
            self.memory.try_grow(bytes).map_err(of_run)?;
            self.waiting.push(batch.clone());
            return Ok(());
        }
        let ids = self.partitioner.partition_ids(batch).map_err(of_run)?;
        self.count(batch, &ids)
    }

    fn finish(mut self: Box<Self>) -> Result<Finished, TaskError> {
        let waiting = std::mem::take(&mut self.waiting);
        let sorted = round_robin(&mut self.encoder, &mut self.partitioner, &waiting)?;
        if let Some((batch, ids)) = sorted {
            self.count(&batch, &ids)?;
        }
        let expected = Expected {
            rules: self.rules,
            output: Output::MapOutput {
                shuffle_id: self.shuffle_id,
                map_id: self.map_id,
                num_partitions: self.partitioner.num_partitions(),
                digests: self.digests,
            },
        };
        Err(self.verifier.expect(self.task_id, expected))
    }
}
