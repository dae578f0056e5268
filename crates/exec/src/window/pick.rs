//! Functions that give the value of one row: of another row of the partition, or of one row of the frame.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array, make_comparator};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{SortOptions, take};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::frame::Layout;
use super::value;
use crate::aggregate::takes;
use crate::expr::{lower, lower_sort};
use catalyst::{AggregateFunction, AggregateKind, Attribute, SortOrder, Unsupported};

/// A function that gives the value of a row.
#[derive(Debug)]
pub(super) struct Pick {
    value: Arc<dyn PhysicalExpr>,
    which: Which,
    /// Whether only rows in which the value is not null count.
    ignore_nulls: bool,
}

/// Of which row.
#[derive(Debug)]
enum Which {
    /// This many rows behind the row.
    Offset {
        offset: i64,
        default: Option<Arc<dyn PhysicalExpr>>,
    },
    /// A row of the frame, from 0.
    Nth { frame: usize, row: usize },
    /// The last row of the frame.
    Last { frame: usize },
    /// The row with the least value, or the greatest: the first of several.
    Extreme {
        frame: usize,
        /// The value, with one NaN and one zero.
        key: Arc<dyn PhysicalExpr>,
        wanted: Ordering,
    },
}

impl Pick {
    pub(super) fn offset(
        value: Arc<dyn PhysicalExpr>,
        offset: i32,
        default: Option<Arc<dyn PhysicalExpr>>,
        ignore_nulls: bool,
    ) -> Self {
        let offset = offset.into();
        Self {
            value,
            which: Which::Offset { offset, default },
            ignore_nulls,
        }
    }

    /// `offset` counts from 1.
    pub(super) fn nth(
        value: Arc<dyn PhysicalExpr>,
        frame: usize,
        offset: i32,
        ignore_nulls: bool,
    ) -> Result<Self, Unsupported> {
        let row = usize::try_from(i64::from(offset) - 1);
        let row = row.map_err(|_| Unsupported::of_use("a row before the first"))?;
        Ok(Self {
            value,
            which: Which::Nth { frame, row },
            ignore_nulls,
        })
    }

    /// An aggregate function that gives a value of one row; `None` if it is another.
    pub(super) fn aggregate(
        function: &AggregateFunction,
        frame: usize,
        input: &[Attribute],
    ) -> Result<Option<Self>, Unsupported> {
        let [arg] = &function.args[..] else {
            return Ok(None);
        };
        let (which, ignore_nulls) = match function.kind {
            AggregateKind::First { ignore_nulls } => (Which::Nth { frame, row: 0 }, ignore_nulls),
            AggregateKind::Last { ignore_nulls } => (Which::Last { frame }, ignore_nulls),
            kind @ (AggregateKind::Min | AggregateKind::Max) => {
                let order = SortOrder {
                    child: arg.clone(),
                    ascending: true,
                    nulls_first: true,
                };
                let which = Which::Extreme {
                    frame,
                    key: lower_sort(&order, input)?.expr,
                    wanted: match kind {
                        AggregateKind::Min => Ordering::Less,
                        _ => Ordering::Greater,
                    },
                };
                (which, true)
            }
            _ => return Ok(None),
        };
        if !takes(function.kind, &arg.data_type) {
            let text = format!("{:?} of {}", function.kind, arg.data_type);
            return Err(Unsupported::of_use(text));
        }
        Ok(Some(Self {
            value: lower(arg, input)?,
            which,
            ignore_nulls,
        }))
    }

    pub(super) fn column<'f>(
        &self,
        layout: &Layout,
        frames: impl Fn(usize) -> Result<&'f [Range<usize>]>,
        batch: &RecordBatch,
    ) -> Result<ArrayRef> {
        let values = value(&self.value, batch)?;
        let valid = self.ignore_nulls.then(|| Valid::new(&values));
        let valid = valid.as_ref();
        let rows: Vec<Option<usize>> = match &self.which {
            Which::Offset { offset, .. } => layout
                .rows()
                .map(|(row, partition, _)| match valid {
                    Some(valid) => valid.beside(row, *offset, partition),
                    None => beside(row, *offset, partition),
                })
                .collect(),
            Which::Nth { frame, row } => frames(*frame)?
                .iter()
                .map(|frame| match valid {
                    Some(valid) => valid.nth(frame, *row),
                    None => frame
                        .start
                        .checked_add(*row)
                        .filter(|at| frame.contains(at)),
                })
                .collect(),
            Which::Last { frame } => frames(*frame)?
                .iter()
                .map(|frame| match valid {
                    Some(valid) => valid.last(frame),
                    None => frame.end.checked_sub(1).filter(|at| frame.contains(at)),
                })
                .collect(),
            Which::Extreme { frame, key, wanted } => {
                extremes(&value(key, batch)?, frames(*frame)?, *wanted)?
            }
        };
        let picked = picked(&values, &rows)?;
        match &self.which {
            Which::Offset {
                default: Some(default),
                ..
            } => {
                let found = rows.iter().map(|row| Some(row.is_some()));
                let default = value(default, batch)?;
                Ok(zip(&found.collect::<BooleanArray>(), &picked, &default)?)
            }
            _ => Ok(picked),
        }
    }
}

fn picked(values: &ArrayRef, rows: &[Option<usize>]) -> Result<ArrayRef> {
    // A row's place always fits.
    let places = rows.iter().map(|row| row.map(|row| row as u64));
    Ok(take(values, &places.collect::<UInt64Array>(), None)?)
}

fn beside(row: usize, offset: i64, partition: &Range<usize>) -> Option<usize> {
    let place = i64::try_from(row).ok()?.checked_add(offset)?;
    let place = usize::try_from(place).ok()?;
    partition.contains(&place).then_some(place)
}

/// Rows in which a value is not null.
struct Valid(Vec<usize>);

impl Valid {
    fn new(values: &ArrayRef) -> Self {
        let nulls = values.logical_nulls();
        let is_valid = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        Self((0..values.len()).filter(is_valid).collect())
    }

    fn nth(&self, frame: &Range<usize>, row: usize) -> Option<usize> {
        let first = self.0.partition_point(|at| *at < frame.start);
        let at = *self.0.get(first.checked_add(row)?)?;
        frame.contains(&at).then_some(at)
    }

    fn last(&self, frame: &Range<usize>) -> Option<usize> {
        let behind = self.0.partition_point(|at| *at < frame.end);
        let at = *self.0.get(behind.checked_sub(1)?)?;
        frame.contains(&at).then_some(at)
    }

    /// The row that is this many of these rows behind `row`, or before it.
    fn beside(&self, row: usize, offset: i64, partition: &Range<usize>) -> Option<usize> {
        let rows = usize::try_from(offset.unsigned_abs()).ok()?;
        let place = if offset > 0 {
            let behind = self.0.partition_point(|at| *at <= row);
            behind.checked_add(rows)?.checked_sub(1)?
        } else {
            self.0.partition_point(|at| *at < row).checked_sub(rows)?
        };
        let at = *self.0.get(place)?;
        partition.contains(&at).then_some(at)
    }
}

/// The row with the least or the greatest value of each frame. Of equal ones, such as both zeros, Spark keeps the first.
fn extremes(
    keys: &ArrayRef,
    frames: &[Range<usize>],
    wanted: Ordering,
) -> Result<Vec<Option<usize>>> {
    let nulls = keys.logical_nulls();
    let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let compare = make_comparator(keys, keys, SortOptions::default())?;
    // Rows that may become the best of a later frame: each is better than those behind it. Frames only move on.
    let mut best = std::collections::VecDeque::new();
    let mut seen = 0..0;
    let mut rows = Vec::with_capacity(frames.len());
    for frame in frames {
        if frame.start < seen.start || frame.end < seen.end || frame.start >= seen.end {
            best.clear();
            seen = frame.start..frame.start;
        }
        for row in seen.end..frame.end {
            if is_valid(row) {
                while best
                    .back()
                    .is_some_and(|last| compare(row, *last) == wanted)
                {
                    best.pop_back();
                }
                best.push_back(row);
            }
        }
        seen = frame.start..frame.end;
        while best.front().is_some_and(|first| *first < frame.start) {
            best.pop_front();
        }
        rows.push(best.front().copied());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;

    use super::*;

    fn array(values: &[Option<i32>]) -> ArrayRef {
        Arc::new(Int32Array::from(values.to_vec()))
    }

    #[test]
    fn the_first_of_the_best_of_frames_that_move_on_or_back() {
        let keys = array(&[Some(3), None, Some(1), Some(1), Some(2), None]);
        let frames = [0..2, 0..4, 1..2, 3..5, 4..6, 5..6, 6..6, 0..6, 2..2, 2..4];
        let least = extremes(&keys, &frames, Ordering::Less).unwrap();
        assert_eq!(
            least,
            [
                Some(0),
                Some(2),
                None,
                Some(3),
                Some(4),
                None,
                None,
                Some(2),
                None,
                Some(2)
            ]
        );
        let most = extremes(&keys, &frames, Ordering::Greater).unwrap();
        assert_eq!(
            most,
            [
                Some(0),
                Some(0),
                None,
                Some(4),
                Some(4),
                None,
                None,
                Some(0),
                None,
                Some(2)
            ]
        );
    }

    #[test]
    fn rows_without_a_value_are_passed_over() {
        let valid = Valid::new(&array(&[None, Some(1), None, None, Some(2), None, Some(3)]));
        let of = |offset| -> Vec<_> {
            (0..7)
                .map(|row| valid.beside(row, offset, &(0..7)))
                .collect()
        };
        let (x, y, z) = (Some(1), Some(4), Some(6));
        assert_eq!(of(1), [x, y, y, y, z, z, None]);
        assert_eq!(of(2), [y, z, z, z, None, None, None]);
        assert_eq!(of(-1), [None, None, x, x, x, y, y]);
        assert_eq!(valid.nth(&(2..7), 1), z);
        assert_eq!(valid.nth(&(2..6), 1), None);
        assert_eq!(valid.last(&(0..4)), x);
        assert_eq!(valid.last(&(2..4)), None);
    }
}
