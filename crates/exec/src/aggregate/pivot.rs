//! `PivotFirst`. Buffer: a value for each element of the array that is the result.

use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::interleave;
use datafusion_common::{Result, ScalarValue};

use super::accumulator::{Accumulator, column};
use super::first::{heap, kept_value, null_of, scalars};
use crate::expr::scalar;
use catalyst::{DataType, Literal};
use rows::error::bail_out;
use rows::types::list_field;

pub(super) struct PivotFirst {
    /// Places of values in the result.
    places: HashMap<ScalarValue, usize>,
    null: ScalarValue,
    /// Of each group as many as there are places.
    values: Vec<Option<ScalarValue>>,
    /// Bytes of values besides themselves.
    heap: usize,
}

impl PivotFirst {
    pub(super) fn new(by: &DataType, pivots: &[Literal], of: &DataType) -> Result<Self> {
        let pivots = pivots.iter().map(|value| scalar(value, by));
        let pivots = pivots.collect::<std::result::Result<Vec<_>, _>>();
        let pivots = pivots.map_err(|reason| bail_out(reason.to_string()))?;
        Ok(Self {
            places: pivots.into_iter().zip(0..).collect(),
            null: null_of(of)?,
            values: Vec::new(),
            heap: 0,
        })
    }

    /// Columns of values, one for each place.
    fn columns(&mut self) -> Result<Vec<ArrayRef>> {
        let places = self.places.len();
        let mut columns = vec![Vec::new(); places];
        self.heap = 0;
        for (at, value) in take(&mut self.values).into_iter().enumerate() {
            // Only where there are places are there values.
            if let Some(column) = columns.get_mut(at % places.max(1)) {
                column.push(value);
            }
        }
        let columns = columns.into_iter();
        columns.map(|column| scalars(column, &self.null)).collect()
    }

    fn put(&mut self, group: usize, place: usize, value: ScalarValue) -> Result<()> {
        let kept = self.values.get_mut(group * self.places.len() + place);
        let kept = kept.ok_or_else(|| bail_out("a group that is not there"))?;
        self.heap += heap(&value);
        if let Some(before) = kept.replace(value) {
            self.heap -= heap(&before);
        }
        Ok(())
    }
}

impl Accumulator for PivotFirst {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.values.resize(total * self.places.len(), None);
        let (by, values) = (column(args, 0)?, column(args, 1)?);
        let nulls = values.logical_nulls();
        for (row, group) in groups.iter().enumerate() {
            let counts = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
                && filter.is_none_or(|filter| filter.value(row));
            if !counts {
                continue;
            }
            let by = ScalarValue::try_from_array(by, row)?;
            if let Some(place) = self.places.get(&by).copied() {
                self.put(*group, place, kept_value(values, row)?)?;
            }
        }
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.values.resize(total * self.places.len(), None);
        for place in 0..self.places.len() {
            let values = column(buffers, place)?;
            let nulls = values.logical_nulls();
            for (row, group) in groups.iter().enumerate() {
                if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                    self.put(*group, place, kept_value(values, row)?)?;
                }
            }
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        self.columns()
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let (places, values) = (self.places.len(), self.values.len());
        if places == 0 {
            return Err(bail_out("a pivot without values"));
        }
        let columns = self.columns()?;
        let all: Vec<_> = (0..values).map(|at| (at % places, at / places)).collect();
        let columns: Vec<_> = columns.iter().map(|column| column.as_ref()).collect();
        let elements = match all.is_empty() {
            true => arrow::array::new_empty_array(&self.null.data_type()),
            false => interleave(&columns, &all)?,
        };
        let lengths = std::iter::repeat_n(places, values / places);
        let offsets = OffsetBuffer::from_lengths(lengths);
        let field = list_field(self.null.data_type());
        Ok(Arc::new(ListArray::try_new(
            field, offsets, elements, None,
        )?))
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<Option<ScalarValue>>() + self.heap
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray as _, Int64Array, StringViewArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn values_go_to_the_places_of_their_pivots() {
        let text = |text: &str| Literal::String(text.as_bytes().to_vec());
        let pivots = [text("b"), text("a"), Literal::Null];
        let of = || PivotFirst::new(&DataType::String, &pivots, &DataType::Long).unwrap();
        let by = StringViewArray::from(vec![
            Some("a"),
            Some("b"),
            None,
            Some("c"),
            Some("a"),
            Some("a"),
        ]);
        let values = Int64Array::from(vec![Some(1), Some(2), Some(3), Some(4), Some(5), None]);
        let args: [ArrayRef; 2] = [Arc::new(by), Arc::new(values)];
        let mut one = of();
        one.update(&args, &[0, 1, 0, 0, 0, 0], None, 3).unwrap();
        let buffers = one.buffers().unwrap();
        assert_eq!(buffers.len(), 3);
        let mut merged = of();
        merged.merge(&buffers, &[1, 1, 0], 2).unwrap();
        let lists = merged.evaluate().unwrap();
        let list = |row| -> Vec<Option<i64>> {
            let list = lists.as_list::<i32>().value(row);
            list.as_primitive::<Int64Type>().iter().collect()
        };
        assert_eq!(list(0), [None, None, None]);
        assert_eq!(list(1), [Some(2), Some(5), Some(3)]);
    }
}
