//! `collect_list` over frames: the list of a frame is a part of the list of all rows.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, ListArray, RecordBatch, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{filter, take};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::column::{Column, PART};
use super::value;
use crate::expr::lower;
use catalyst::{AggregateFunction, AggregateKind, Attribute, Unsupported};
use rows::error::bail_out;
use rows::types::{ToArrow as _, list_field};

/// What is collected.
#[derive(Debug)]
pub(super) struct Lists {
    value: Arc<dyn PhysicalExpr>,
}

/// The lists of rows.
pub(super) struct ListColumn {
    /// The values of all rows that are not null.
    values: ArrayRef,
    /// Of each row, which of them are in its list.
    lists: Vec<Range<u32>>,
}

impl Lists {
    /// `None` if it is another function.
    pub(super) fn new(
        function: &AggregateFunction,
        input: &[Attribute],
    ) -> std::result::Result<Option<Self>, Unsupported> {
        let (AggregateKind::CollectList, [arg]) = (function.kind, &function.args[..]) else {
            return Ok(None);
        };
        arg.data_type.to_arrow()?;
        Ok(Some(Self {
            value: lower(arg, input)?,
        }))
    }

    pub(super) fn column(&self, frames: &[Range<usize>], batch: &RecordBatch) -> Result<Column> {
        let too_many = || bail_out("too many rows");
        u32::try_from(batch.num_rows()).map_err(|_| too_many())?;
        let mut values = value(&self.value, batch)?;
        // How many values there are before each row, and behind the last.
        let mut before: Vec<u32> = (0..).take(values.len() + 1).collect();
        if let Some(nulls) = values.logical_nulls() {
            let mut count = 0;
            before = vec![0];
            before.extend(nulls.iter().map(|is_valid| {
                count += u32::from(is_valid);
                count
            }));
            values = filter(&values, &BooleanArray::new(nulls.into_inner(), None))?;
        }
        let place = |row: usize| before.get(row).copied().ok_or_else(too_many);
        let lists = frames
            .iter()
            .map(|frame| Ok(place(frame.start)?..place(frame.end)?));
        Ok(Column::Lists(ListColumn {
            values,
            lists: lists.collect::<Result<_>>()?,
        }))
    }
}

impl ListColumn {
    /// How many rows from one on have about as many bytes as a part.
    pub(super) fn rows_at_once(&self, from: usize) -> usize {
        let bytes = self.values.get_array_memory_size() / self.values.len().max(1);
        let most = PART / bytes.max(1);
        let lists = self.lists.get(from..).unwrap_or_default().iter();
        let mut all = 0;
        let fit = lists.take_while(|list| {
            all += list.len();
            all <= most
        });
        fit.count().max(1)
    }

    /// The lists of so many rows from one on.
    pub(super) fn part(&self, start: usize, rows: usize) -> Result<ArrayRef> {
        let lists = self.lists.get(start..start + rows);
        let lists = lists.ok_or_else(|| bail_out("rows that are missing"))?;
        let lengths = lists.iter().map(ExactSizeIterator::len);
        if i32::try_from(lengths.clone().sum::<usize>()).is_err() {
            return Err(bail_out("too many elements of arrays"));
        }
        let places: UInt32Array = lists.iter().cloned().flatten().collect();
        let values = take(&self.values, &places, None)?;
        let field = list_field(values.data_type().clone());
        let offsets = OffsetBuffer::from_lengths(lengths);
        Ok(Arc::new(ListArray::try_new(field, offsets, values, None)?))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray as _, Int64Array};
    use arrow::datatypes::Int64Type;
    use catalyst::DataType;

    use super::*;
    use crate::testing::{batch, column, reference};

    fn lists(numbers: &[Option<i64>], frames: &[Range<usize>]) -> Column {
        let columns = [column(1, DataType::Long)];
        let function = AggregateFunction {
            kind: AggregateKind::CollectList,
            args: vec![reference(&columns[0])],
            percentages: Vec::new(),
            constants: Vec::new(),
            data_type: DataType::Array {
                element: Box::new(DataType::Long),
                contains_null: false,
            },
            input_buffer: Vec::new(),
        };
        let lists = Lists::new(&function, &columns).unwrap().unwrap();
        let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
        lists
            .column(frames, &batch(&columns, vec![numbers]))
            .unwrap()
    }

    fn found(column: &Column, start: usize, rows: usize) -> Vec<Vec<i64>> {
        let part = column.part(start, rows).unwrap();
        let part = part.as_list::<i32>();
        let lists = part.iter().map(|list| {
            let list = list.unwrap();
            list.as_primitive::<Int64Type>().values().to_vec()
        });
        lists.collect()
    }

    #[test]
    fn lists_are_those_of_their_frames() {
        let some = [Some(6), None, Some(3), None, None, Some(8)];
        let frames = [0..1, 0..3, 1..2, 2..6, 4..4, 0..6];
        for numbers in [some, some.map(|number| number.or(Some(0))), [None; 6]] {
            let column = lists(&numbers, &frames);
            let expected = frames
                .clone()
                .map(|frame| -> Vec<i64> { numbers[frame].iter().flatten().copied().collect() });
            assert_eq!(found(&column, 0, 6), expected);
            assert_eq!(found(&column, 2, 3), expected[2..5]);
            assert!(found(&column, 6, 0).is_empty());
        }
        assert!(found(&lists(&[], &[]), 0, 0).is_empty());
    }

    #[test]
    fn parts_have_some_bytes() {
        // Of 8000 numbers each.
        let numbers = vec![Some(7); 8000];
        let column = lists(&numbers, &vec![0..8000; 8000]);
        let rows = column.rows_at_once(0);
        assert!((200..=270).contains(&rows), "{rows}");
        assert_eq!(column.rows_at_once(7990), 10);
        assert_eq!(column.part(7999, 1).unwrap().len(), 1);
    }
}
