//! `first` and `last`. Buffer: the value, and whether there is one.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion_common::{Result, ScalarValue};

use super::accumulator::{Accumulator, boolean, column};
use catalyst::DataType;
use rows::error::bail_out;
use rows::types::ToArrow as _;

pub(super) struct FirstLast {
    last: bool,
    ignore_nulls: bool,
    null: ScalarValue,
    /// `None` where there is none yet.
    values: Vec<Option<ScalarValue>>,
}

impl FirstLast {
    pub(super) fn new(of: &DataType, last: bool, ignore_nulls: bool) -> Result<Self> {
        Ok(Self {
            last,
            ignore_nulls,
            null: null_of(of)?,
            values: Vec::new(),
        })
    }

    fn put(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        counts: impl Fn(usize) -> bool,
        total: usize,
    ) -> Result<()> {
        self.values.resize(total, None);
        for (row, group) in groups.iter().enumerate() {
            let Some(kept) = self.values.get_mut(*group) else {
                return Err(bail_out("a group that is not there"));
            };
            if (kept.is_none() || self.last) && counts(row) {
                *kept = Some(kept_value(values, row)?);
            }
        }
        Ok(())
    }
}

/// A null of a type.
pub(super) fn null_of(of: &DataType) -> Result<ScalarValue> {
    let data_type = of.to_arrow();
    let data_type = data_type.map_err(|reason| bail_out(reason.to_string()))?;
    ScalarValue::try_from(&data_type)
}

/// A value that outlives its batch.
pub(super) fn kept_value(values: &ArrayRef, row: usize) -> Result<ScalarValue> {
    let mut value = ScalarValue::try_from_array(values, row)?;
    // A string would keep the whole batch in memory.
    value.compact();
    Ok(value)
}

/// Values as a column, with this null where there is none.
pub(super) fn scalars(values: Vec<Option<ScalarValue>>, null: &ScalarValue) -> Result<ArrayRef> {
    if values.is_empty() {
        return Ok(arrow::array::new_empty_array(&null.data_type()));
    }
    let values = values.into_iter();
    ScalarValue::iter_to_array(values.map(|value| value.unwrap_or_else(|| null.clone())))
}

impl Accumulator for FirstLast {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = column(args, 0)?;
        let nulls = match self.ignore_nulls {
            true => values.logical_nulls(),
            false => None,
        };
        let counts = |row| {
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
                && filter.is_none_or(|filter| filter.value(row))
        };
        self.put(values, groups, counts, total)
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let set = boolean(buffers, 1)?;
        let counts = |row| set.is_valid(row) && set.value(row);
        self.put(column(buffers, 0)?, groups, counts, total)
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let values = take(&mut self.values);
        let set: BooleanArray = values.iter().map(|value| Some(value.is_some())).collect();
        Ok(vec![scalars(values, &self.null)?, Arc::new(set)])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let values = take(&mut self.values);
        scalars(values, &self.null)
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<Option<ScalarValue>>()
            + self.values.iter().flatten().map(heap).sum::<usize>()
    }
}

/// Bytes of a value besides itself.
pub(super) fn heap(value: &ScalarValue) -> usize {
    value.size() - size_of::<ScalarValue>()
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;

    use super::*;

    fn of(last: bool, ignore_nulls: bool) -> Option<i32> {
        let mut accumulator = FirstLast::new(&DataType::Integer, last, ignore_nulls).unwrap();
        let values: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(1), Some(2), None]));
        accumulator
            .update(&[values], &[0, 0, 0, 0], None, 2)
            .unwrap();
        let buffers = accumulator.buffers().unwrap();
        assert!(boolean(&buffers, 1).unwrap().value(0));
        assert!(!boolean(&buffers, 1).unwrap().value(1));
        accumulator.merge(&buffers, &[0, 0], 1).unwrap();
        let result = accumulator.evaluate().unwrap();
        result.as_primitive::<Int32Type>().iter().next().unwrap()
    }

    #[test]
    fn nulls_count_unless_they_are_ignored() {
        assert_eq!(of(false, false), None);
        assert_eq!(of(false, true), Some(1));
        assert_eq!(of(true, false), None);
        assert_eq!(of(true, true), Some(2));
    }
}
