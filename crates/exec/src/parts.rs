//! Rows divided by hashes of their keys, to be dealt with part by part.

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take;
use datafusion_common::Result;
use datafusion_common::hash_utils::{RandomState, create_hashes};

use crate::exec::batch_of;

/// How rows are divided: those of equal keys are in the same part.
#[derive(Debug)]
pub(crate) struct Parts {
    count: usize,
    hashes: RandomState,
}

impl Parts {
    /// `seed` is of other hashes than those of tables of the same rows: in a table, keys of one part are not to
    /// collide.
    pub(crate) fn new(count: usize, seed: u64) -> Self {
        Self {
            count,
            hashes: RandomState::with_seed(seed),
        }
    }

    /// The part of each of `rows` rows with these keys.
    ///
    /// # Errors
    /// Bail-out: keys of a type that has no hash.
    pub(crate) fn of_rows(
        &self,
        keys: &[ArrayRef],
        rows: usize,
    ) -> Result<impl Iterator<Item = usize> + use<>> {
        let mut hashes = vec![0; rows];
        create_hashes(keys, &self.hashes, &mut hashes)?;
        let count = self.count;
        // The high bits: as good as any, and those that tables look at least.
        Ok(hashes
            .into_iter()
            .map(move |hash| (hash >> 32) as usize % count))
    }
}

/// Some rows of a batch, which may have no columns.
///
/// # Errors
/// Of types that cannot be taken from.
pub(crate) fn rows_of(batch: &RecordBatch, rows: Vec<u32>) -> Result<RecordBatch> {
    let count = rows.len();
    let rows = UInt32Array::from(rows);
    let columns = batch
        .columns()
        .iter()
        .map(|column| take(column, &rows, None));
    let columns = columns.collect::<std::result::Result<_, _>>()?;
    batch_of(batch.schema_ref(), columns, count)
}
