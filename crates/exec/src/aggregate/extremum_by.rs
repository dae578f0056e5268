//! `max_by` and `min_by`. Buffer: the value, and the greatest or least of what it is chosen by.

use std::cmp::Ordering;
use std::mem::take;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::row::{RowConverter, SortField};
use datafusion_common::{Result, ScalarValue};

use super::accumulator::{Accumulator, column};
use super::first::{heap, kept_value, null_of, scalars};
use catalyst::DataType;
use rows::error::bail_out;
use rows::{key_type, order_key};

pub(super) struct ExtremumBy {
    wanted: Ordering,
    /// Nulls of the values, and of what they are chosen by.
    nulls: [ScalarValue; 2],
    /// Of what values are chosen by, to bytes that are in its order.
    converter: RowConverter,
    kept: Vec<Option<Kept>>,
}

/// What is kept of a group.
#[derive(Clone)]
struct Kept {
    value: ScalarValue,
    by: ScalarValue,
    key: Box<[u8]>,
}

impl ExtremumBy {
    pub(super) fn new(of: &DataType, by: &DataType, min: bool) -> Result<Self> {
        let (null, null_by) = (null_of(of)?, null_of(by)?);
        let key = key_type(&null_by.data_type());
        Ok(Self {
            wanted: match min {
                true => Ordering::Less,
                false => Ordering::Greater,
            },
            converter: RowConverter::new(vec![SortField::new(key)])?,
            nulls: [null, null_by],
            kept: Vec::new(),
        })
    }

    /// The buffers of all groups.
    fn columns(&mut self) -> Result<[ArrayRef; 2]> {
        let kept = take(&mut self.kept).into_iter();
        let (values, by): (Vec<_>, Vec<_>) = kept
            .map(|kept| match kept {
                Some(kept) => (Some(kept.value), Some(kept.by)),
                None => (None, None),
            })
            .unzip();
        let [null, null_by] = &self.nulls;
        Ok([scalars(values, null)?, scalars(by, null_by)?])
    }
}

impl Accumulator for ExtremumBy {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let (values, by) = (column(args, 0)?, column(args, 1)?);
        let keys = self.converter.convert_columns(&[order_key(by)?])?;
        let nulls = by.logical_nulls();
        self.kept.resize(total, None);
        for (row, group) in groups.iter().enumerate() {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if is_null || filter.is_some_and(|filter| !filter.value(row)) {
                continue;
            }
            let Some(kept) = self.kept.get_mut(*group) else {
                return Err(bail_out("a group that is not there"));
            };
            let key = keys.row(row);
            let order = match kept {
                Some(kept) => key.as_ref().cmp(&kept.key),
                None => self.wanted,
            };
            // Of equal ones Spark keeps the first, but takes the value of the last.
            if order == self.wanted {
                *kept = Some(Kept {
                    value: kept_value(values, row)?,
                    by: kept_value(by, row)?,
                    key: key.as_ref().into(),
                });
            } else if let (Ordering::Equal, Some(kept)) = (order, kept) {
                kept.value = kept_value(values, row)?;
            }
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        Ok(self.columns()?.to_vec())
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        let kept = self.kept.clone();
        let results = self.evaluate();
        self.kept = kept;
        Some(results)
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let [values, _] = self.columns()?;
        Ok(values)
    }

    fn size(&self) -> usize {
        let of = |kept: &Kept| heap(&kept.value) + heap(&kept.by) + kept.key.len();
        self.kept.capacity() * size_of::<Option<Kept>>()
            + self.kept.iter().flatten().map(of).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, AsArray, Float64Array, Int32Array};
    use arrow::datatypes::{Float64Type, Int32Type};

    use super::*;

    /// What is kept of two groups, the second of which has nothing to be chosen by.
    fn of(min: bool, rows: &[(Option<i32>, Option<f64>)]) -> (Option<i32>, f64) {
        let mut accumulator = ExtremumBy::new(&DataType::Integer, &DataType::Double, min).unwrap();
        let values: Int32Array = rows.iter().map(|row| row.0).collect();
        let by: Float64Array = rows.iter().map(|row| row.1).collect();
        let groups: Vec<_> = rows
            .iter()
            .map(|row| usize::from(row.1.is_none()))
            .collect();
        let args: [ArrayRef; 2] = [Arc::new(values), Arc::new(by)];
        accumulator.update(&args, &groups, None, 2).unwrap();
        assert!(accumulator.size() > 0);
        let buffers = accumulator.buffers().unwrap();
        assert!(buffers.iter().all(|buffer| buffer.is_null(1)));
        let by = buffers[1].as_primitive::<Float64Type>().value(0);
        accumulator.merge(&buffers, &[0, 1], 2).unwrap();
        let result = accumulator.evaluate().unwrap();
        let result = result.as_primitive::<Int32Type>();
        assert!(result.is_null(1));
        (result.iter().next().unwrap(), by)
    }

    #[test]
    fn the_last_of_equal_ones_gives_the_value_and_the_first_the_bits() {
        let rows = [
            (Some(1), Some(0.0)),
            (Some(9), None),
            (Some(2), Some(-0.0)),
            (None, Some(-0.0)),
            (Some(3), Some(5.0)),
        ];
        let (value, by) = of(true, &rows);
        assert_eq!(value, None);
        assert!(by.is_sign_positive());
        assert_eq!(of(false, &rows), (Some(3), 5.0));
        let rows = [(Some(1), Some(f64::NAN)), (Some(2), Some(f64::INFINITY))];
        assert_eq!(of(false, &rows).0, Some(1));
        assert_eq!(of(true, &rows), (Some(2), f64::INFINITY));
    }
}
