//! Leaves but scans and shuffles: rows that came with the task, and ranges.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_plan::ExecutionPlan;
use futures::StreamExt;

use super::exec::{OperatorExec, Start, batch_of, from_fn};
use super::lower::{Demand, Lowered, Result, leaf_input, schema_of_columns};
use super::shuffle_read::RowsRead;
use catalyst::Attribute;
use catalyst::DataType;
use catalyst::LeafInput;
use catalyst::Unsupported;
use catalyst::{Columns, LeafId};
use rows::RowSpan;
use rows::error::bail_out;
use rows::types::schema_of;

/// Lowers rows that come with the task; `name` is the operator's.
pub(super) fn local(
    name: &'static str,
    leaf: LeafId,
    output: &Columns,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let (rows, columns) = RowsRead::new(output, demand)?;
    let schema = schema_of_columns(&columns)?;
    Lowered::of(
        columns,
        Box::new(move |_, inputs| {
            let LeafInput::Rows(all) = leaf_input(leaf, inputs)? else {
                return Err(Unsupported::of_use("a local scan without rows"));
            };
            let (rows, all) = (rows.clone(), all.clone());
            let start = move |start: &Start<'_>| {
                let schema = Arc::clone(start.schema);
                let (decoder, baseline) = (rows.decoder()?, start.baseline());
                let chunks = all.chunks(start.batch_size()).map(joined);
                let mut chunks = chunks.collect::<DataFusionResult<Vec<_>>>()?.into_iter();
                Ok(from_fn(move || {
                    let Some(chunk) = chunks.next() else {
                        return Ok(None);
                    };
                    let batch = decoder.decode(&[chunk])?;
                    baseline.record_output(batch.num_rows());
                    let rows = batch.num_rows();
                    batch_of(&schema, batch.columns().to_vec(), rows).map(Some)
                })
                .boxed())
            };
            Ok(leaf_exec(name, &schema, start))
        }),
    )
}

/// Rows in one block.
fn joined(rows: &[Vec<u8>]) -> DataFusionResult<(Bytes, Vec<RowSpan>)> {
    let mut block = Vec::new();
    let mut spans = Vec::new();
    for row in rows {
        let of = |length: usize| u32::try_from(length).map_err(|_| bail_out("a large row"));
        spans.push(RowSpan {
            offset: of(block.len())?,
            size: of(row.len())?,
        });
        block.extend_from_slice(row);
    }
    Ok((block.into(), spans))
}

/// A range of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) start: i64,
    pub(super) step: i64,
    pub(super) end: i64,
    pub(super) num_slices: i32,
}

impl Range {
    /// The numbers of a slice: the first, and what the last is before.
    fn slice(self, slice: i32) -> (i128, i128) {
        let (start, step) = (i128::from(self.start), i128::from(self.step));
        let range = i128::from(self.end) - start;
        let elements = match range % step == 0 || (range > 0) != (step > 0) {
            true => range / step,
            // The remainder has the sign of the range: there is one more.
            false => range / step + 1,
        };
        let slices = i128::from(self.num_slices);
        let bound = |slice: i128| slice * elements / slices * step + start;
        let within = |bound: i128| bound.clamp(i64::MIN.into(), i64::MAX.into());
        let slice = i128::from(slice);
        (within(bound(slice)), within(bound(slice + 1)))
    }

    fn values(self, slice: i32) -> impl Iterator<Item = i64> + Send {
        let (mut next, end) = self.slice(slice);
        let step = i128::from(self.step);
        std::iter::from_fn(move || {
            let more = match step > 0 {
                true => next < end,
                false => next > end,
            };
            let value = i64::try_from(next).ok().filter(|_| more);
            next += step;
            value
        })
    }
}

/// Lowers a range.
pub(super) fn range(leaf: LeafId, range: Range, output: &[Attribute]) -> Result<Lowered> {
    if range.step == 0 || range.num_slices <= 0 {
        return Err(Unsupported::of_use("a range without end"));
    }
    if !matches!(output, [column] if column.data_type == DataType::Long) {
        return Err(Unsupported::of_use("a range of another type"));
    }
    let schema = schema_of(output)?;
    Lowered::new(
        output.to_vec(),
        Box::new(move |task, inputs| {
            let LeafInput::Slice(slice) = *leaf_input(leaf, inputs)? else {
                return Err(Unsupported::of_use("a range without slice"));
            };
            let sources = Arc::clone(&task.sources);
            let start = move |start: &Start<'_>| {
                let (schema, baseline) = (Arc::clone(start.schema), start.baseline());
                let sources = Arc::clone(&sources);
                let size = start.batch_size();
                let mut values = range.values(slice);
                Ok(from_fn(move || {
                    sources.alive()?;
                    let values: Vec<i64> = values.by_ref().take(size).collect();
                    let rows = values.len();
                    if rows == 0 {
                        return Ok(None);
                    }
                    baseline.record_output(rows);
                    let column: ArrayRef = Arc::new(Int64Array::from(values));
                    batch_of(&schema, vec![column], rows).map(Some)
                })
                .boxed())
            };
            let plan = leaf_exec("RangeExec", &schema, start);
            // As if it read them.
            task.scans.push(Arc::clone(&plan));
            Ok(plan)
        }),
    )
}

pub(super) fn leaf_exec<F>(
    name: &'static str,
    schema: &SchemaRef,
    start: F,
) -> Arc<dyn ExecutionPlan>
where
    F: Fn(&Start<'_>) -> DataFusionResult<super::exec::Batches> + Send + Sync + 'static,
{
    let schema = Arc::clone(schema);
    Arc::new(OperatorExec::new(name, Vec::new(), schema, Arc::new(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(start: i64, end: i64, step: i64, num_slices: i32) -> Vec<Vec<i64>> {
        let range = Range {
            start,
            step,
            end,
            num_slices,
        };
        (0..num_slices)
            .map(|slice| range.values(slice).collect())
            .collect()
    }

    #[test]
    fn slices_are_sparks() {
        assert_eq!(all(0, 10, 3, 3), [vec![0], vec![3], vec![6, 9]]);
        assert_eq!(all(5, 0, -2, 2), [vec![5], vec![3, 1]]);
        assert_eq!(all(5, 0, 1, 2), [vec![], Vec::<i64>::new()]);
        let edge = all(i64::MAX - 2, i64::MAX, 1, 1);
        assert_eq!(edge, [vec![i64::MAX - 2, i64::MAX - 1]]);
        assert_eq!(all(i64::MIN, i64::MAX, i64::MAX, 1)[0].len(), 3);
    }
}
