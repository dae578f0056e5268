//! Functions of the place of a row in its partition.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int32Array};
use datafusion_common::Result;

use super::frame::Layout;
use rows::error::bail_out;

/// Which function of the place of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Placement {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    NTile(usize),
}

/// A row in its partition.
struct Place<'a> {
    row: usize,
    partition: &'a Range<usize>,
    peers: &'a Range<usize>,
    /// Number of different keys before it.
    keys: usize,
}

impl Placement {
    pub(super) fn column(self, layout: &Layout) -> Result<ArrayRef> {
        Ok(match self {
            Self::PercentRank => shares(layout, |at| {
                let (before, others) =
                    (at.peers.start - at.partition.start, at.partition.len() - 1);
                if others == 0 {
                    0.0
                } else {
                    double(before) / double(others)
                }
            }),
            Self::CumeDist => shares(layout, |at| {
                double(at.peers.end - at.partition.start) / double(at.partition.len())
            }),
            Self::RowNumber => numbers(layout, |at| at.row - at.partition.start)?,
            Self::Rank => numbers(layout, |at| at.peers.start - at.partition.start)?,
            Self::DenseRank => numbers(layout, |at| at.keys)?,
            Self::NTile(buckets) => numbers(layout, |at| {
                bucket(at.row - at.partition.start, at.partition.len(), buckets)
            })?,
        })
    }
}

/// Which of `buckets` parts a row is in, from 0. The first ones have one row more if they cannot be of the same size.
fn bucket(row: usize, rows: usize, buckets: usize) -> usize {
    let (size, larger) = (rows / buckets, rows % buckets);
    let of_larger = larger * (size + 1);
    if row < of_larger {
        row / (size + 1)
    } else {
        // There are smaller ones: their size is not 0, or all rows were in larger ones.
        (row - of_larger) / size.max(1) + larger
    }
}

/// As Spark does: the number as a double.
#[allow(clippy::cast_precision_loss)]
fn double(number: usize) -> f64 {
    number as f64
}

fn places(layout: &Layout) -> impl Iterator<Item = Place<'_>> {
    let mut keys = 0;
    let mut start = 0;
    layout.rows().map(move |(row, partition, peers)| {
        if partition.start == row {
            keys = 0;
        } else if peers.start == row && peers.start != start {
            keys += 1;
        }
        start = peers.start;
        Place {
            row,
            partition,
            peers,
            keys,
        }
    })
}

fn shares(layout: &Layout, of: impl Fn(&Place<'_>) -> f64) -> ArrayRef {
    let values: Vec<f64> = places(layout).map(|at| of(&at)).collect();
    Arc::new(Float64Array::from(values))
}

/// Numbers from 1, of `of` from 0.
fn numbers(layout: &Layout, of: impl Fn(&Place<'_>) -> usize) -> Result<ArrayRef> {
    let values = places(layout).map(|at| i32::try_from(of(&at) + 1));
    let values = values.collect::<Result<Vec<i32>, _>>();
    let values = values.map_err(|_| bail_out("a partition of more than two billion rows"))?;
    Ok(Arc::new(Int32Array::from(values)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_differ_by_one_row_at_most() {
        let of =
            |rows, buckets| -> Vec<_> { (0..rows).map(|row| bucket(row, rows, buckets)).collect() };
        assert_eq!(of(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(of(4, 2), [0, 0, 1, 1]);
        assert_eq!(of(2, 5), [0, 1]);
        assert_eq!(of(3, 1), [0, 0, 0]);
    }
}
