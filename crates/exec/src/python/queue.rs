//! Rows that are taken in other portions than they come in.

use std::collections::VecDeque;

use arrow::array::ArrayRef;

/// Rows of so many columns, in the order in which they came.
pub(super) struct RowQueue {
    columns: usize,
    portions: VecDeque<(Vec<ArrayRef>, usize)>,
    rows: usize,
}

impl RowQueue {
    /// No rows yet.
    pub(super) fn new(columns: usize) -> Self {
        Self {
            columns,
            portions: VecDeque::new(),
            rows: 0,
        }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds rows; `None` if there are more of them than can be counted.
    pub(super) fn push(&mut self, columns: Vec<ArrayRef>, rows: usize) -> Option<()> {
        self.rows = self.rows.checked_add(rows)?;
        self.portions.push_back((columns, rows));
        Some(())
    }

    /// The parts of each column of the first rows, as many as are asked for; `None` if there are fewer.
    pub(super) fn take(&mut self, count: usize) -> Option<Vec<Vec<ArrayRef>>> {
        self.rows = self.rows.checked_sub(count)?;
        let mut parts = vec![Vec::new(); self.columns];
        let mut missing = count;
        while missing > 0 {
            let (columns, rows) = self.portions.front_mut()?;
            let taken = missing.min(*rows);
            for (part, column) in parts.iter_mut().zip(columns.iter_mut()) {
                part.push(column.slice(0, taken));
                *column = column.slice(taken, *rows - taken);
            }
            *rows -= taken;
            missing -= taken;
            if *rows == 0 {
                self.portions.pop_front();
            }
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn rows_come_out_in_order_and_no_more_than_there_are() {
        let mut queue = RowQueue::new(1);
        for range in [0..3, 3..3, 3..10] {
            let rows = range.len();
            let column: ArrayRef = Arc::new(Int32Array::from_iter_values(range));
            queue.push(vec![column], rows).unwrap();
        }
        let mut expected = 0..;
        for count in [2, 0, 5, 3] {
            let parts = queue.take(count).unwrap();
            let values = parts[0].iter().flat_map(|part| {
                let part = part.as_primitive::<Int32Type>();
                part.values().to_vec()
            });
            let values: Vec<_> = values.collect();
            assert_eq!(values, expected.by_ref().take(count).collect::<Vec<i32>>());
        }
        assert_eq!(queue.rows(), 0);
        assert!(queue.take(1).is_none());
        assert!(queue.push(Vec::new(), usize::MAX).is_some());
        assert!(queue.push(Vec::new(), 1).is_none());
    }
}
