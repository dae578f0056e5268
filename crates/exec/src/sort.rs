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
use catalyst::{DataType, Inputs, Operator, SortOrder, Unsupported};
use rows::types::{column_name, schema_of, schema_of_types};

/// Lowers a sort; of the first rows only, if there is a limit. Rows of equal keys stay in the order of the input, as
/// Spark's sorts leave them: they are numbered, and sorted by their numbers last. `below` says what is needed of the
/// input.
fn stable(
    lowering: &Lowering,
    order: &[SortOrder],
    fetch: Option<usize>,
    child: &Operator,
    inputs: &Inputs,
    below: Demand<'_>,
) -> Result<Lowered> {
    let child = lowering.operator(child, inputs, below)?;
    let output = child.output()?.to_vec();
    let mut keys = order
        .iter()
        .map(|by| lower_sort(by, &output))
        .collect::<Result<Vec<_>>>()?;
    if keys.is_empty() {
        return Err(Unsupported::of_use("a sort by nothing"));
    }
    let place = output.len();
    let number = Arc::new(Column::new(&column_name(place), place));
    keys.push(PhysicalSortExpr::new_default(number));
    let ordering = LexOrdering::new(keys);
    let ordering = ordering.ok_or_else(|| Unsupported::of_use("a sort by nothing"))?;
    let schema = schema_of(&output)?;
    let types = output.iter().map(|column| &column.data_type);
    let numbered = schema_of_types(types.chain([&DataType::Long]))?;
    // What is sorted by and not needed above is left to the operator above to drop: that is free.
    let lowered = Lowered::new(
        output,
        Box::new(move |task, inputs| {
            let input = child.build(task, inputs)?;
            let numbered = Arc::clone(&numbered);
            let input = OperatorExec::new("RowNumbers", vec![input], numbered, Arc::new(numbers));
            let sort = SortExec::new(ordering.clone(), Arc::new(input)).with_fetch(fetch);
            let (schema, drop) = (Arc::clone(&schema), Arc::new(without_numbers));
            let sort = vec![Arc::new(sort) as Arc<dyn ExecutionPlan>];
            let sorted = OperatorExec::new("WithoutRowNumbers", sort, schema, drop);
            Ok(Arc::new(sorted) as Arc<dyn ExecutionPlan>)
        }),
    )?;
    Ok(lowered.measured_by_input())
}

/// Lowers a sort of all rows of a partition.
pub(super) fn sort(
    lowering: &Lowering,
    (order, child): (&[SortOrder], &Operator),
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let columns = needed(demand, order.iter().map(|by| &by.child));
    let below = demand.of(columns.as_ref());
    stable(lowering, order, None, child, inputs, below)
}

/// Lowers a sort of which only the first rows are wanted. Joins below may give their rows in another order than
/// Spark's: tables that need no sorting are worth more than which of equal rows comes first.
pub(super) fn top(
    lowering: &Lowering,
    (limit, order, child): (i32, &[SortOrder], &Operator),
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let fetch = match usize::try_from(limit) {
        Ok(limit) if limit > 0 => limit,
        _ => return Err(Unsupported::of_use("no rows of a sort")),
    };
    let columns = needed(demand, order.iter().map(|by| &by.child));
    let below = Demand::unordered(columns.as_ref());
    stable(lowering, order, Some(fetch), child, inputs, below)
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
