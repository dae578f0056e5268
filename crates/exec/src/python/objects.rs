//! `RDDScanExec` over an RDD of PySpark: rows that Python pickled, as columns.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use catalyst::{Attribute, DataType, LeafInput, PickledScan, Unsupported};
use datafusion_common::Result as DataFusionResult;
use futures::stream::StreamExt as _;
use rows::error::bail_out;
use rows::types::schema_of;

use super::results::{check, rows};
use crate::exec::{OperatorExec, Start, batch_of, from_fn};
use crate::lower::{Demand, Lowered, Result, leaf_input};
use crate::sources::PythonFrames;

/// Lowers a scan of rows that Python pickled.
pub(crate) fn pickled_scan(
    scan: &PickledScan,
    output: &[Attribute],
    demand: Demand<'_>,
) -> Result<Lowered> {
    // Spark converts all values of a row: those that may fail are looked at, whoever needs them.
    let wanted = |(place, column): (usize, &Attribute)| {
        let demanded = demand
            .columns
            .is_none_or(|columns| columns.contains(&column.id));
        let free = column.nullable && never_fails(&column.data_type);
        (demanded || !free).then_some(place)
    };
    let wanted: Vec<usize> = output.iter().enumerate().filter_map(wanted).collect();
    let columns = RowsOfPython::new(output, &wanted)?;
    let schema = schema_of(&columns.wanted)?;
    let known = columns.wanted.clone();
    let columns = Arc::new(columns);
    let leaf = scan.leaf;
    Lowered::new(
        known,
        Box::new(move |task, inputs| {
            let LeafInput::Partition(partition) = *leaf_input(leaf, inputs)? else {
                return Err(Unsupported::of_use("a scan without partition"));
            };
            let (columns, sources) = (Arc::clone(&columns), Arc::clone(&task.sources));
            let start = move |start: &Start<'_>| {
                let (schema, baseline) = (Arc::clone(start.schema), start.baseline());
                let (columns, sources) = (Arc::clone(&columns), Arc::clone(&sources));
                let size = start.batch_size();
                // Opened by the first row that is asked for.
                let mut frames: Option<PythonFrames> = None;
                let mut made: VecDeque<RecordBatch> = VecDeque::new();
                Ok(from_fn(move || {
                    loop {
                        sources.alive()?;
                        if let Some(batch) = made.pop_front() {
                            baseline.record_output(batch.num_rows());
                            return Ok(Some(batch));
                        }
                        let open = match &mut frames {
                            Some(open) => open,
                            none => none.insert(sources.pickled(leaf, partition)?),
                        };
                        let Some(frame) = open.next() else {
                            return Ok(None);
                        };
                        let (arrays, count) = columns.decoded(&frame?, sources.java_major())?;
                        let all = batch_of(&schema, arrays, count)?;
                        let starts = (0..count).step_by(size.max(1));
                        made.extend(starts.map(|from| all.slice(from, size.min(count - from))));
                    }
                })
                .boxed())
            };
            let schema = Arc::clone(&schema);
            Ok(Arc::new(OperatorExec::new(
                "RDDScanExec",
                Vec::new(),
                schema,
                Arc::new(start),
            )))
        }),
    )
}

/// Which columns are made of rows.
#[derive(Debug)]
pub(super) struct RowsOfPython {
    /// How many values a row has.
    count: usize,
    places: Vec<usize>,
    wanted: Vec<Attribute>,
}

impl RowsOfPython {
    /// The columns at these places of `all`.
    ///
    /// # Errors
    /// Values of one of the types are not taken natively.
    pub(super) fn new(all: &[Attribute], places: &[usize]) -> Result<Self> {
        let wanted = places.iter().filter_map(|place| all.get(*place).cloned());
        let wanted: Vec<_> = wanted.collect();
        wanted
            .iter()
            .try_for_each(|column| check(&column.data_type))?;
        Ok(Self {
            count: all.len(),
            places: places.to_vec(),
            wanted,
        })
    }

    /// The columns of a pickled list of rows, and how many rows there are.
    ///
    /// # Errors
    /// Bail-out: something that Spark takes otherwise, or refuses with words of its own.
    pub(super) fn decoded(
        &self,
        frame: &[u8],
        java_major: u32,
    ) -> DataFusionResult<(Vec<ArrayRef>, usize)> {
        let types = self.wanted.iter().map(|column| &column.data_type);
        let columns = self.places.iter().copied().zip(types);
        let (arrays, count) = rows(frame, self.count, columns, java_major)?;
        for (array, column) in arrays.iter().zip(&self.wanted) {
            if !column.nullable && array.logical_null_count() > 0 {
                return Err(missing());
            }
            check_nulls(array, &column.data_type)?;
        }
        Ok((arrays, count))
    }
}

/// Whether Spark makes something of whatever Python has in the place of such a value.
fn never_fails(of: &DataType) -> bool {
    match of {
        DataType::Decimal(_) | DataType::Struct(_) => false,
        DataType::Array {
            element,
            contains_null,
        } => *contains_null && never_fails(element),
        DataType::Map {
            key,
            value,
            value_contains_null,
        } => *value_contains_null && never_fails(key) && never_fails(value),
        _ => true,
    }
}

fn missing() -> datafusion_common::DataFusionError {
    bail_out("None from Python where its schema has no nulls")
}

/// Fails if there are nulls within values whose type has none: Spark makes zeros of them, or fails.
pub(super) fn check_nulls(array: &ArrayRef, of: &DataType) -> DataFusionResult<()> {
    match of {
        DataType::Array {
            element,
            contains_null,
        } => {
            let elements = array.as_list::<i32>().values();
            if !contains_null && elements.logical_null_count() > 0 {
                return Err(missing());
            }
            check_nulls(elements, element)
        }
        DataType::Map {
            key,
            value,
            value_contains_null,
        } => {
            let (keys, values) = (array.as_map().keys(), array.as_map().values());
            if !value_contains_null && values.logical_null_count() > 0 {
                return Err(missing());
            }
            check_nulls(keys, key)?;
            check_nulls(values, value)
        }
        DataType::Struct(fields) => {
            let all = array.as_struct();
            for (field, column) in fields.iter().zip(all.columns()) {
                // Nulls of the struct itself are nulls of its fields, too.
                let own = (0..all.len()).any(|row| all.is_valid(row) && column.is_null(row));
                if !field.nullable && own {
                    return Err(missing());
                }
                check_nulls(column, &field.data_type)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use arrow::datatypes::Int32Type;
    use catalyst::ExprId;

    use super::*;

    fn column(id: i64, data_type: DataType, nullable: bool) -> Attribute {
        Attribute {
            name: "c".to_owned(),
            data_type,
            nullable,
            id: ExprId { id, jvm_id: 0 },
        }
    }

    fn decoded(columns: &[Attribute], frame: &[u8]) -> DataFusionResult<(Vec<ArrayRef>, usize)> {
        let places: Vec<_> = (0..columns.len()).collect();
        RowsOfPython::new(columns, &places)
            .unwrap()
            .decoded(frame, 17)
    }

    #[test]
    fn rows_are_lists_or_tuples() {
        let of = [
            column(0, DataType::Integer, true),
            column(1, DataType::String, true),
        ];
        // [(1, 'x'), [None, 'y']]
        let frame = b"\x80\x04](K\x01\x8c\x01x\x86](N\x8c\x01yee.";
        let (columns, count) = decoded(&of, frame).unwrap();
        assert_eq!(count, 2);
        let numbers = columns[0].as_primitive::<Int32Type>();
        assert!(numbers.value(0) == 1 && numbers.is_null(1));
        assert_eq!(columns[1].as_string_view().value(1), "y");
        // Of other lengths.
        assert!(decoded(&of[..1], frame).is_err());
        assert!(decoded(&of, b"\x80\x04](K\x01\x85e.").is_err());
        // No rows.
        assert!(decoded(&of, b"\x80\x04](K\x01K\x02e.").is_err());
    }

    #[test]
    fn columns_that_nobody_wants_are_not_made() {
        let map = DataType::Map {
            key: Box::new(DataType::YearMonthInterval),
            value: Box::new(DataType::Long),
            value_contains_null: true,
        };
        let of = [column(0, map, true), column(1, DataType::Integer, true)];
        // [({'a': 1}, 7)]
        let frame = b"\x80\x04](}\x8c\x01aK\x01sK\x07\x86e.";
        let rows = RowsOfPython::new(&of, &[1]).unwrap();
        let (columns, _) = rows.decoded(frame, 17).unwrap();
        assert_eq!(columns[0].as_primitive::<Int32Type>().value(0), 7);
        assert!(RowsOfPython::new(&of, &[0]).is_err());
    }

    #[test]
    fn nulls_are_where_the_schema_has_them() {
        let list = |contains_null| DataType::Array {
            element: Box::new(DataType::Integer),
            contains_null,
        };
        let frame = b"\x80\x04]]Na\x85a.";
        assert!(decoded(&[column(0, list(true), false)], frame).is_ok());
        assert!(decoded(&[column(0, list(false), true)], frame).is_err());
        let null = b"\x80\x04]N\x85a.";
        assert!(decoded(&[column(0, DataType::Integer, true)], null).is_ok());
        assert!(decoded(&[column(0, DataType::Integer, false)], null).is_err());
    }
}
