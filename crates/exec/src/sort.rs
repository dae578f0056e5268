//! `SortExec` and the part of `TakeOrderedAndProjectExec` that runs in tasks.

use std::sync::Arc;

use arrow::array::Int64Array;
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::sorts::sort::SortExec;
use futures::StreamExt as _;

use super::exec::{Batches, OperatorExec, Start, batch_of};
use super::expr::lower_sort;
use super::lower::{Demand, Lowered, Lowering, Result, needed};
use super::metrics::Measured;
use catalyst::{DataType, Inputs, Operator, OperatorKind, SortOrder, Unsupported};
use rows::types::{column_name, schema_of, schema_of_types};

/// Lowers a sort; of the first rows only, if there is a limit.
pub(super) fn sort(
    lowering: &Lowering,
    order: &[SortOrder],
    limit: Option<i32>,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let below = needed(demand, order.iter().map(|by| &by.child));
    let child = lowering.operator(child, inputs, Demand::unordered(below.as_ref()))?;
    let output = child.output()?.to_vec();
    let keys = order
        .iter()
        .map(|by| lower_sort(by, &output))
        .collect::<Result<Vec<_>>>()?;
    let ordering = LexOrdering::new(keys);
    let ordering = ordering.ok_or_else(|| Unsupported::of_use("a sort by nothing"))?;
    let fetch = match limit {
        None => None,
        Some(limit) => match usize::try_from(limit) {
            Ok(limit) if limit > 0 => Some(limit),
            _ => return Err(Unsupported::of_use("no rows of a sort")),
        },
    };
    // What is sorted by and not needed above is left to the operator above to drop: that is free.
    Lowered::new(
        output,
        Box::new(move |task, inputs| {
            let input = child.build(task, inputs)?;
            let sort = SortExec::new(ordering.clone(), input).with_fetch(fetch);
            Ok(Arc::new(sort) as Arc<dyn ExecutionPlan>)
        }),
    )
}

/// Lowers a sort of a partition that leaves rows of equal keys in the order of its input, as Spark's does.
pub(super) fn stable_sort(
    lowering: &Lowering,
    operator: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let OperatorKind::Sort { order, child, .. } = &operator.kind else {
        return Err(Unsupported::of_use("no sort"));
    };
    let below = needed(demand, order.iter().map(|by| &by.child));
    let below = Demand {
        columns: below.as_ref(),
        ordered: true,
    };
    let child = lowering.operator(child, inputs, below)?;
    let output = child.output()?.to_vec();
    let mut keys = order
        .iter()
        .map(|by| lower_sort(by, &output))
        .collect::<Result<Vec<_>>>()?;
    let place = output.len();
    let number = Arc::new(Column::new(&column_name(place), place));
    keys.push(PhysicalSortExpr::new_default(number));
    let ordering = LexOrdering::new(keys);
    let ordering = ordering.ok_or_else(|| Unsupported::of_use("a sort by nothing"))?;
    let schema = schema_of(&output)?;
    let types = output.iter().map(|column| &column.data_type);
    let numbered = schema_of_types(types.chain([&DataType::Long]))?;
    let metrics: Arc<[_]> = operator.metrics.clone().into();
    Lowered::new(
        output,
        Box::new(move |task, inputs| {
            let input = child.build(task, inputs)?;
            let numbered = Arc::clone(&numbered);
            let input = OperatorExec::new("RowNumbers", vec![input], numbered, Arc::new(numbers));
            let sort: Arc<dyn ExecutionPlan> =
                Arc::new(SortExec::new(ordering.clone(), Arc::new(input)));
            task.measured.push(Measured {
                plan: Arc::clone(&sort),
                metrics: Arc::clone(&metrics),
                sorts: Arc::new([]),
            });
            let schema = Arc::clone(&schema);
            let without_numbers = Arc::new(without_numbers);
            let sorted =
                OperatorExec::new("WithoutRowNumbers", vec![sort], schema, without_numbers);
            Ok(Arc::new(sorted) as Arc<dyn ExecutionPlan>)
        }),
    )
}

/// Rows with their numbers behind them.
fn numbers(start: &Start<'_>) -> DataFusionResult<Batches> {
    let (schema, mut next) = (Arc::clone(start.schema), 0);
    let batches = start.input(0)?.map(move |batch| {
        let batch = batch?;
        let rows = batch.num_rows();
        let first = next;
        // More rows than an i64 counts do not fit anywhere.
        next += rows as i64;
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(Int64Array::from_iter_values(first..next)));
        batch_of(&schema, columns, rows)
    });
    Ok(batches.boxed())
}

/// Rows without their last columns.
fn without_numbers(start: &Start<'_>) -> DataFusionResult<Batches> {
    let schema = Arc::clone(start.schema);
    let batches = start.input(0)?.map(move |batch| {
        let batch = batch?;
        let columns = batch.columns().iter().take(schema.fields().len());
        batch_of(&schema, columns.cloned().collect(), batch.num_rows())
    });
    Ok(batches.boxed())
}

#[cfg(test)]
#[path = "sort_tests.rs"]
mod tests;
