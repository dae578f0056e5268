//! Batches that wait for what Python gives for their rows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

/// Batches in the order in which they came, and their memory.
#[derive(Clone)]
pub(super) struct Waiting(Arc<Mutex<(VecDeque<RecordBatch>, MemoryReservation)>>);

impl Waiting {
    pub(super) fn new(operator: &'static str, pool: &Arc<dyn MemoryPool>) -> Self {
        let memory = MemoryConsumer::new(operator).register(pool);
        Self(Arc::new(Mutex::new((VecDeque::new(), memory))))
    }

    /// An empty one, with memory of the same pool.
    pub(super) fn another(&self) -> Self {
        let memory = self.with(|_, memory| memory.new_empty());
        Self(Arc::new(Mutex::new((VecDeque::new(), memory))))
    }

    fn with<T>(
        &self,
        act: impl FnOnce(&mut VecDeque<RecordBatch>, &mut MemoryReservation) -> T,
    ) -> T {
        // Nobody panics while it is locked.
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (batches, memory) = &mut *waiting;
        act(batches, memory)
    }

    /// Bail-out if there is no room for it: how many rows wait is up to the worker.
    pub(super) fn push(&self, batch: RecordBatch) -> Result<()> {
        self.with(|batches, memory| {
            memory.try_grow(batch.get_array_memory_size())?;
            batches.push_back(batch);
            Ok(())
        })
    }

    pub(super) fn pop(&self) -> Option<RecordBatch> {
        self.with(|batches, memory| {
            let batch = batches.pop_front()?;
            memory.shrink(batch.get_array_memory_size());
            Some(batch)
        })
    }

    /// Rows of the first.
    pub(super) fn rows(&self) -> Option<usize> {
        self.with(|batches, _| batches.front().map(RecordBatch::num_rows))
    }
}
