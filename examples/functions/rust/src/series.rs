//! `series(from, to, step)`: the numbers from one to another, both included, as rows.
//!
//! A step away from `to` gives no rows, and so does a null; a step of 0 is an error.

use std::sync::Arc;

use functions::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use functions::arrow::datatypes::{Fields, Int64Type};
use functions::arrow::ffi_stream::ArrowArrayStreamReader;
use functions::guest::{
    Batches, Binding, Declaration, Failure, StreamInstance, Table, Task, by_call,
};

/// Rows of a batch.
const ROWS: usize = 8192;
/// SQLSTATE of an argument that makes no sense.
const INVALID_ARGUMENT: &str = "22023";

pub(crate) struct Series;

impl Table for Series {
    fn declaration(&self) -> Declaration {
        Declaration::new("series")
            .description("The numbers from one to another, both included")
            .signature("bigint, bigint, bigint", "value:bigint")
    }

    fn bind(&self, binding: &Binding) -> Result<Box<dyn StreamInstance>, Failure> {
        Ok(Box::new(Instance {
            columns: binding.columns(),
        }))
    }
}

struct Instance {
    columns: Fields,
}

impl StreamInstance for Instance {
    fn open(&mut self, task: &Task, input: ArrowArrayStreamReader) -> Result<Batches, Failure> {
        let task = task.clone();
        Ok(by_call(input, &self.columns, move |arguments, row| {
            let mut numbers = [0; 3];
            let mut has_null = false;
            for (number, column) in numbers.iter_mut().zip(arguments.columns()) {
                *number = column.as_primitive::<Int64Type>().value(row);
                has_null |= column.is_null(row);
            }
            let [from, to, step] = numbers;
            if step == 0 && !has_null {
                let failure = Failure::invalid("a series with a step of 0 has no end");
                return Err(failure.with_sqlstate(INVALID_ARGUMENT).at_row(row));
            }
            Ok(NumberBatches {
                task: task.clone(),
                next: (!has_null).then_some(from),
                to,
                step,
            })
        }))
    }
}

/// Batches of one series.
struct NumberBatches {
    task: Task,
    next: Option<i64>,
    to: i64,
    step: i64,
}

impl Iterator for NumberBatches {
    type Item = Result<Vec<ArrayRef>, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(failure) = self.task.check_cancelled() {
            return Some(Err(failure));
        }
        let mut numbers = Vec::new();
        while let Some(number) = self.next {
            let is_behind = match self.step > 0 {
                true => number > self.to,
                false => number < self.to,
            };
            if is_behind {
                self.next = None;
            } else if numbers.len() == ROWS {
                break;
            } else {
                numbers.push(number);
                // Beyond the largest number there is none.
                self.next = number.checked_add(self.step);
            }
        }
        let numbers: ArrayRef = match numbers.is_empty() {
            true => return None,
            false => Arc::new(Int64Array::from(numbers)),
        };
        Some(Ok(vec![numbers]))
    }
}

#[cfg(test)]
mod tests {
    use functions::arrow::array::RecordBatch;
    use functions::testing::Host;

    use super::*;

    type Call = [Option<i64>; 3];

    fn call(from: i64, to: i64, step: i64) -> Call {
        [Some(from), Some(to), Some(step)]
    }

    fn input(calls: &[Call]) -> RecordBatch {
        let column = |number: usize| -> ArrayRef {
            let values = calls.iter().filter_map(|call| call.get(number).copied());
            Arc::new(values.collect::<Int64Array>())
        };
        RecordBatch::try_from_iter([("_0", column(0)), ("_1", column(1)), ("_2", column(2))])
            .unwrap()
    }

    fn rows(calls: &[Call]) -> Result<Vec<(i64, i64)>, String> {
        let host = Host::new(crate::module);
        let series = host.bind("series", "bigint, bigint, bigint").unwrap();
        let mut rows = Vec::new();
        for batch in series.open(vec![input(calls)]).unwrap() {
            let batch = batch.map_err(|error| error.to_string())?;
            assert!(batch.num_rows() <= ROWS);
            let calls = batch.column(0).as_primitive::<Int64Type>();
            let values = batch
                .column(1)
                .as_struct()
                .column(0)
                .as_primitive::<Int64Type>();
            rows.extend(
                calls
                    .values()
                    .iter()
                    .copied()
                    .zip(values.values().iter().copied()),
            );
        }
        Ok(rows)
    }

    #[test]
    fn series_up_and_down() {
        let calls = [
            call(1, 5, 2),
            call(3, 1, -1),
            call(1, 0, 1),
            [Some(1), None, Some(0)],
            call(7, 7, 100),
            call(i64::MAX - 1, i64::MAX, 1),
            call(i64::MIN + 1, i64::MIN, -5),
        ];
        let expected = [
            (0, 1),
            (0, 3),
            (0, 5),
            (1, 3),
            (1, 2),
            (1, 1),
            (4, 7),
            (5, i64::MAX - 1),
            (5, i64::MAX),
            (6, i64::MIN + 1),
        ];
        assert_eq!(rows(&calls).unwrap(), expected);
        assert_eq!(rows(&[]).unwrap(), []);
    }

    #[test]
    fn long_series_come_in_batches() {
        let rows = rows(&[call(1, 20_000, 1), call(0, 8191, 1)]).unwrap();
        assert_eq!(rows.len(), 20_000 + 8192);
        assert_eq!(rows.last(), Some(&(1, 8191)));
        let host = Host::new(crate::module);
        let series = host.bind("series", "bigint, bigint, bigint").unwrap();
        let batches = series.open(vec![input(&[call(0, 8191, 1), call(0, 8192, 1)])]);
        let batches = batches.unwrap().map(|batch| batch.unwrap().num_rows());
        assert_eq!(batches.collect::<Vec<_>>(), [8192, 8192, 1]);
        // As long as nobody reads it, nothing is made of it.
        let mut endless = series.open(vec![input(&[call(0, i64::MAX, 1)])]).unwrap();
        assert_eq!(endless.next().unwrap().unwrap().num_rows(), ROWS);
        host.cancel();
        let error = endless.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("cancelled"), "{error}");
    }

    #[test]
    fn a_step_of_0_is_an_error() {
        let error = rows(&[call(1, 2, 1), call(1, 2, 0)]).unwrap_err();
        assert!(
            error.contains("a step of 0 has no end (row 1) SQLSTATE: 22023"),
            "{error}"
        );
    }
}
