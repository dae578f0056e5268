//! Rows of the same keys that follow each other.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, RecordBatch, make_comparator};
use arrow::compute::{SortOptions, partition};
use catalyst::{Attribute, Expr, SortOrder, Unsupported};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::expr::{lower, lower_sort};
use super::project::evaluate;

/// Where rows of the same keys follow each other.
pub(super) fn runs(keys: &[ArrayRef], rows: usize) -> Result<Vec<Range<usize>>> {
    if keys.is_empty() || rows == 0 {
        return Ok(std::iter::once(0..rows)
            .filter(|all| !all.is_empty())
            .collect());
    }
    Ok(partition(keys)?.ranges())
}

/// Whether the last of some rows and the first of others have the same keys.
pub(super) fn same_keys(last: &[ArrayRef], first: &[ArrayRef]) -> Result<bool> {
    for (last, first) in last.iter().zip(first) {
        let Some(row) = last.len().checked_sub(1) else {
            return Ok(false);
        };
        let compare = make_comparator(last, first, SortOptions::default())?;
        if first.is_empty() || compare(row, 0).is_ne() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Columns by which rows are grouped, as keys of which equal ones are the same to Spark: so are zeros of both signs.
#[derive(Debug)]
pub(super) struct GroupKeys {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    values: Arc<[Arc<dyn PhysicalExpr>]>,
}

impl GroupKeys {
    /// Of expressions over an input that is sorted by them.
    ///
    /// # Errors
    /// One has no order.
    pub(super) fn new(
        exprs: impl IntoIterator<Item = Expr>,
        input: &[Attribute],
    ) -> std::result::Result<Self, Unsupported> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for child in exprs {
            values.push(lower(&child, input)?);
            let order = SortOrder {
                child,
                ascending: true,
                nulls_first: true,
            };
            keys.push(lower_sort(&order, input)?.expr);
        }
        let values = values.into();
        Ok(Self { keys, values })
    }

    /// What is grouped by, as it is.
    pub(super) fn values(&self) -> &Arc<[Arc<dyn PhysicalExpr>]> {
        &self.values
    }

    /// The keys of rows.
    pub(super) fn of(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        evaluate(&self.keys, batch)
    }
}
