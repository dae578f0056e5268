//! `LocalLimitExec` and `GlobalLimitExec`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_common::Result as DataFusionResult;

use super::exec::{Pipe, Start, pipe};
use super::lower::{Lowered, Result};

/// Lowers a limit: the first rows, all if negative, but for those that are left out. The offset counts within the
/// limit, as in `GlobalLimitExec`'s `slice(offset, limit)`.
pub(super) fn limit(limit: i32, offset: i32, child: Lowered) -> Result<Lowered> {
    // Rows that nobody looks into can be counted too.
    let columns = child.columns.clone();
    // A negative offset is none.
    let skip = usize::try_from(offset).unwrap_or(0);
    let start = move |start: &Start<'_>| {
        let limit = Limit {
            left: usize::try_from(limit).map_or(usize::MAX, |limit| limit.saturating_sub(skip)),
            skip,
            batch: None,
        };
        Ok(pipe(limit, start.input(0)?, start.baseline()))
    };
    Lowered::unary_of("LimitExec", columns, child, Arc::new(start))
}

struct Limit {
    skip: usize,
    left: usize,
    batch: Option<RecordBatch>,
}

impl Pipe for Limit {
    fn push(&mut self, batch: RecordBatch) -> DataFusionResult<()> {
        let skip = self.skip.min(batch.num_rows());
        let take = self.left.min(batch.num_rows() - skip);
        self.skip -= skip;
        self.left -= take;
        self.batch = (take > 0).then(|| batch.slice(skip, take));
        Ok(())
    }

    fn finish(&mut self) -> DataFusionResult<()> {
        Ok(())
    }

    fn pop(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        Ok(self.batch.take())
    }

    fn done(&self) -> bool {
        self.left == 0
    }
}
