//! Where partitions, peers and frames are among the rows of a batch.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, make_comparator};
use arrow::datatypes::{DataType as ArrowType, Decimal128Type};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalSortExpr;

use super::shift::shifted;
use super::{Keys, value};
use crate::expr::lower_sort;
use crate::groups::runs;
use catalyst::{Attribute, Bound, Frame, FrameUnit};
use catalyst::{MAX_PRECISION, SortOrder, Unsupported, integer};
use rows::error::bail_out;

/// Offsets of rows beyond this are left to Spark: it adds them to places as 32-bit numbers.
const MAX_OFFSET: i32 = 1 << 30;

/// The partitions of a batch, and the peers in them.
#[derive(Debug)]
pub(super) struct Layout {
    partitions: Vec<Range<usize>>,
    peers: Vec<Range<usize>>,
}

impl Layout {
    /// Of a batch that has whole partitions only.
    pub(super) fn new(keys: &Keys, batch: &RecordBatch) -> Result<Self> {
        let partition = keys.partition_of(batch)?;
        let mut all = partition.clone();
        all.extend(keys.order_of(batch)?);
        Ok(Self {
            partitions: runs(&partition, batch.num_rows())?,
            peers: runs(&all, batch.num_rows())?,
        })
    }

    /// Each row with its partition and its peers.
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, &Range<usize>, &Range<usize>)> {
        let mut partitions = self.partitions.iter().peekable();
        self.peers.iter().flat_map(move |peers| {
            while partitions.next_if(|of| of.end <= peers.start).is_some() {}
            let partition = partitions.peek().copied();
            // A partition that has them is there: rows of the same keys are in the same one.
            let partition = partition.unwrap_or(peers);
            peers.clone().map(move |row| (row, partition, peers))
        })
    }
}

/// A frame that was judged.
#[derive(Debug)]
pub(super) struct FrameSpec {
    pub(super) frame: Frame,
    lower: Edge,
    upper: Edge,
}

#[derive(Debug)]
enum Edge {
    /// That of the partition.
    Partition,
    /// That of the peers.
    Peers,
    /// This many rows behind the row.
    Rows(i64),
    /// Rows are compared with the row's key and an offset.
    Key(Box<Offset>),
}

#[derive(Debug)]
struct Offset {
    key: PhysicalSortExpr,
    /// The key of the row, and the offset.
    bound: PhysicalSortExpr,
}

impl FrameSpec {
    pub(super) fn new(
        frame: &Frame,
        order: &[SortOrder],
        input: &[Attribute],
    ) -> Result<Self, Unsupported> {
        let edge = |bound: &Bound| match (frame.unit, bound) {
            (_, Bound::UnboundedPreceding | Bound::UnboundedFollowing) => Ok(Edge::Partition),
            (FrameUnit::Rows, Bound::CurrentRow) => Ok(Edge::Rows(0)),
            (FrameUnit::Range, Bound::CurrentRow) => Ok(Edge::Peers),
            (FrameUnit::Rows, Bound::Offset(offset)) => match integer(offset) {
                Some(rows) if (-MAX_OFFSET..=MAX_OFFSET).contains(&rows) => {
                    Ok(Edge::Rows(rows.into()))
                }
                _ => Err(Unsupported::of_use("a frame of other rows")),
            },
            (FrameUnit::Range, Bound::Offset(offset)) => match order {
                [by] => Ok(Edge::Key(Box::new(Offset {
                    key: lower_sort(by, input)?,
                    bound: lower_sort(&shifted(by, offset, frame.time_zone.as_ref())?, input)?,
                }))),
                _ => Err(Unsupported::of_use("a range of several keys")),
            },
        };
        let turned =
            frame.lower == Bound::UnboundedFollowing || frame.upper == Bound::UnboundedPreceding;
        if turned {
            return Err(Unsupported::of_use("a frame that ends before it begins"));
        }
        Ok(Self {
            lower: edge(&frame.lower)?,
            upper: edge(&frame.upper)?,
            frame: frame.clone(),
        })
    }

    /// The frame of each row.
    pub(super) fn of_rows(
        &self,
        layout: &Layout,
        batch: &RecordBatch,
    ) -> Result<Vec<Range<usize>>> {
        let lower = self.lower.of_rows(layout, batch, true)?;
        let upper = self.upper.of_rows(layout, batch, false)?;
        let frames = lower.into_iter().zip(upper);
        Ok(frames
            .map(|(lower, upper)| lower.min(upper)..upper)
            .collect())
    }
}

impl Edge {
    /// For each row, the first row of the frame, or the one behind the last.
    fn of_rows(&self, layout: &Layout, batch: &RecordBatch, first: bool) -> Result<Vec<usize>> {
        let edge = |of: &Range<usize>| if first { of.start } else { of.end };
        let rows = layout.rows();
        match self {
            Self::Partition => Ok(rows.map(|(_, partition, _)| edge(partition)).collect()),
            Self::Peers => Ok(rows.map(|(_, _, peers)| edge(peers)).collect()),
            Self::Rows(offset) => {
                let places = rows.map(|(row, partition, _)| {
                    let place = i64::try_from(row).unwrap_or(i64::MAX);
                    let behind = if first { 0 } else { 1 };
                    let place = place.saturating_add(offset + behind);
                    let place = usize::try_from(place).unwrap_or(0);
                    place.clamp(partition.start, partition.end)
                });
                Ok(places.collect())
            }
            Self::Key(offset) => offset.of_rows(layout, batch, first),
        }
    }
}

impl Offset {
    fn of_rows(&self, layout: &Layout, batch: &RecordBatch, first: bool) -> Result<Vec<usize>> {
        let key = comparable(value(&self.key.expr, batch)?)?;
        let bound = comparable(value(&self.bound.expr, batch)?)?;
        overflown(&key, &bound)?;
        let compare = make_comparator(&key, &bound, self.key.options)?;
        let mut at = 0;
        let rows = layout.rows().map(|(row, partition, _)| {
            at = at.max(partition.start);
            // The frame begins with the first row that is not before the bound, and ends with the last that is not
            // behind it. Bounds are sorted as keys are.
            while at < partition.end {
                let order = compare(at, row);
                if order.is_gt() || (first && order.is_eq()) {
                    break;
                }
                at += 1;
            }
            at
        });
        Ok(rows.collect())
    }
}

/// Fails if a key has no bound: the sum had one digit too many, or the like.
fn overflown(key: &ArrayRef, bound: &ArrayRef) -> Result<()> {
    match key.logical_null_count() == bound.logical_null_count() {
        true => Ok(()),
        false => Err(bail_out("a range that overflows")),
    }
}

/// Decimals of any precision are compared as numbers of one.
fn comparable(array: ArrayRef) -> Result<ArrayRef> {
    let ArrowType::Decimal128(_, scale) = *array.data_type() else {
        return Ok(array);
    };
    let array = array.as_primitive::<Decimal128Type>().clone();
    Ok(Arc::new(
        array.with_precision_and_scale(MAX_PRECISION, scale)?,
    ))
}
