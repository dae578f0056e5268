//! `min` and `max` of booleans. Buffer: the value.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion_common::Result;

use super::accumulator::{Accumulator, boolean};
use super::number::valid;

/// The least or the greatest boolean; false is less than true.
pub(super) struct MinMaxBoolean {
    min: bool,
    values: Vec<bool>,
    seen: Vec<bool>,
}

impl MinMaxBoolean {
    pub(super) fn new(min: bool) -> Self {
        Self {
            min,
            values: Vec::new(),
            seen: Vec::new(),
        }
    }
}

// Groups are smaller than `total`, to which the vectors are resized.
#[allow(clippy::indexing_slicing)]
impl Accumulator for MinMaxBoolean {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let array = boolean(args, 0)?;
        // The value that nothing changes any more is the other one.
        self.values.resize(total, self.min);
        self.seen.resize(total, false);
        for (row, (group, value)) in groups.iter().zip(array.values()).enumerate() {
            if array.is_valid(row) && filter.is_none_or(|filter| filter.value(row)) {
                self.seen[*group] = true;
                self.values[*group] = match self.min {
                    true => self.values[*group] && value,
                    false => self.values[*group] || value,
                };
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let (values, seen) = (take(&mut self.values), take(&mut self.seen));
        Ok(Arc::new(BooleanArray::new(
            values.into(),
            Some(valid(seen)),
        )))
    }

    fn size(&self) -> usize {
        self.values.capacity() + self.seen.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_is_less_than_true() {
        let values = [Some(true), Some(false), None, Some(true), Some(false), None];
        let values: ArrayRef = Arc::new(values.into_iter().collect::<BooleanArray>());
        let of = |min| {
            let mut accumulator = MinMaxBoolean::new(min);
            let rows = std::slice::from_ref(&values);
            accumulator
                .update(rows, &[0, 0, 0, 1, 2, 3], None, 4)
                .unwrap();
            let result = accumulator.evaluate().unwrap();
            let result = std::slice::from_ref(&result);
            boolean(result, 0).unwrap().iter().collect::<Vec<_>>()
        };
        assert_eq!(of(true), [Some(false), Some(true), Some(false), None]);
        assert_eq!(of(false), [Some(true), Some(true), Some(false), None]);
    }
}
