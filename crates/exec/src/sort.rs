//! `SortExec` and the part of `TakeOrderedAndProjectExec` that runs in tasks.

use std::sync::Arc;

use datafusion_physical_expr::LexOrdering;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::sorts::sort::SortExec;

use super::expr::lower_sort;
use super::lower::{Demand, Lowered, Lowering, Result, needed};
use catalyst::Inputs;
use catalyst::Operator;
use catalyst::SortOrder;
use catalyst::Unsupported;

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

#[cfg(test)]
#[path = "sort_tests.rs"]
mod tests;
