//! `RDDScanExec` over an RDD of PySpark: rows that Python pickled, as columns.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use bytes::Bytes;
use catalyst::{Attribute, DataType, LeafInput, PickledScan, Unsupported};
use datafusion_common::Result as DataFusionResult;
use futures::stream::StreamExt as _;
use rows::error::bail_out;
use rows::types::schema_of;

use super::results::{check, rows};
use crate::exec::{OperatorExec, Start, batch_of, from_fn};
use crate::lower::{Lowered, Result, leaf_input};
use crate::sources::PythonFrames;

/// Lowers a scan of rows that Python pickled.
pub(crate) fn pickled_scan(scan: &PickledScan, output: &[Attribute]) -> Result<Lowered> {
    for column in output {
        check(&column.data_type)?;
    }
    let schema = schema_of(output)?;
    let columns: Arc<[Attribute]> = output.into();
    let leaf = scan.leaf;
    Lowered::new(
        output.to_vec(),
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
                        let (arrays, count) = decoded(&frame?, &columns)?;
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

/// The columns of a pickled list of rows, and how many rows there are.
///
/// # Errors
/// Bail-out: something that Spark takes otherwise, or refuses with words of its own.
pub(super) fn decoded(
    frame: &Bytes,
    columns: &[Attribute],
) -> DataFusionResult<(Vec<ArrayRef>, usize)> {
    let types = columns.iter().map(|column| &column.data_type);
    let (arrays, count) = rows(frame, types)?;
    for (array, column) in arrays.iter().zip(columns) {
        if !column.nullable && array.logical_null_count() > 0 {
            return Err(missing());
        }
        check_nulls(array, &column.data_type)?;
    }
    Ok((arrays, count))
}

fn missing() -> datafusion_common::DataFusionError {
    bail_out("None from Python where its schema has no nulls")
}

/// Fails if there are nulls within values whose type has none: Spark makes zeros of them, or fails.
fn check_nulls(array: &ArrayRef, of: &DataType) -> DataFusionResult<()> {
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
