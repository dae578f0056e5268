//! `WindowGroupLimitExec`: the first rows of each partition, by their rank.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use datafusion_common::Result;

use super::Keys;
use crate::exec::Pipe;
use crate::groups::{runs, same_keys};
use catalyst::RankLike;

pub(super) struct GroupLimit {
    keys: Arc<Keys>,
    rank: RankLike,
    limit: u64,
    /// Keys of the last row: of its partition, and of its peers.
    last: Option<(Vec<ArrayRef>, Vec<ArrayRef>)>,
    /// Rows of the last row's partition.
    rows: u64,
    /// Of the last row.
    current: u64,
    ready: Option<RecordBatch>,
}

impl GroupLimit {
    pub(super) fn new(keys: Arc<Keys>, rank: RankLike, limit: u64) -> Self {
        Self {
            keys,
            rank,
            limit,
            last: None,
            rows: 0,
            current: 0,
            ready: None,
        }
    }

    /// Whether the next row is kept. It is the first of its partition, or of its peers, or neither.
    fn keeps(&mut self, new_partition: bool, new_peers: bool) -> bool {
        if new_partition {
            (self.rows, self.current) = (0, 0);
        }
        self.rows += 1;
        match self.rank {
            RankLike::RowNumber => self.current = self.rows,
            RankLike::Rank if new_partition || new_peers => self.current = self.rows,
            RankLike::DenseRank if new_partition || new_peers => self.current += 1,
            RankLike::Rank | RankLike::DenseRank => {}
        }
        self.current <= self.limit
    }
}

impl Pipe for GroupLimit {
    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let partition = self.keys.partition_of(&batch)?;
        let order = self.keys.order_of(&batch)?;
        let (goes_on, same_peers) = match &self.last {
            Some((last, peers)) => (same_keys(last, &partition)?, same_keys(peers, &order)?),
            None => (false, false),
        };
        let mut partitions = starts(&partition, rows, !goes_on)?;
        let mut peers = starts(&order, rows, !same_peers)?;
        let mask: BooleanArray = (0..rows)
            .map(|row| {
                let is = |starts: &mut std::iter::Peekable<_>| starts.next_if_eq(&row).is_some();
                let (new_partition, new_peers) = (is(&mut partitions), is(&mut peers));
                Some(self.keeps(new_partition, new_peers))
            })
            .collect();
        let last = |keys: Vec<ArrayRef>| keys.iter().map(|key| key.slice(rows - 1, 1)).collect();
        self.last = Some((last(partition), last(order)));
        self.ready = Some(filter_record_batch(&batch, &mask)?);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn pop(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.ready.take())
    }
}

/// Rows whose keys are not those of the row before.
fn starts(
    keys: &[ArrayRef],
    rows: usize,
    first: bool,
) -> Result<std::iter::Peekable<impl Iterator<Item = usize> + use<>>> {
    let starts = runs(keys, rows)?.into_iter().map(|run| run.start);
    Ok(starts.filter(move |row| *row > 0 || first).peekable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_counted_anew_in_each_partition() {
        let keys = || {
            Arc::new(Keys {
                partition: Vec::new(),
                order: Vec::new(),
            })
        };
        // Partitions of 4 and 2 rows; the second and third row of the first are peers.
        let rows = [
            (true, true),
            (false, true),
            (false, false),
            (false, true),
            (true, false),
            (false, true),
        ];
        let kept = |rank, limit| -> Vec<bool> {
            let mut of = GroupLimit::new(keys(), rank, limit);
            rows.iter().map(|row| of.keeps(row.0, row.1)).collect()
        };
        let (t, f) = (true, false);
        assert_eq!(kept(RankLike::RowNumber, 2), [t, t, f, f, t, t]);
        assert_eq!(kept(RankLike::Rank, 2), [t, t, t, f, t, t]);
        assert_eq!(kept(RankLike::Rank, 4), [t, t, t, t, t, t]);
        assert_eq!(kept(RankLike::DenseRank, 1), [t, f, f, f, t, f]);
        assert_eq!(kept(RankLike::DenseRank, 2), [t, t, t, f, t, t]);
        assert_eq!(kept(RankLike::RowNumber, 0), [f; 6]);
    }
}
