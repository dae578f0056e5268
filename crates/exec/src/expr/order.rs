//! What compares values: comparisons, `IN`, the keys of sorts, `greatest` and `least`. Arrow's order of keys
//! ([`rows::order_key`]) is Spark's of the values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::kernels::{cmp, zip::zip};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, in_list};
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr};

use super::kernel::{Kernel, single};
use super::{Lowered, Lowering, known, literal_of, lower, same_type};
use catalyst::{Attribute, Expr, Function, SortOrder, Unsupported};
use rows::error::bail_out;
use rows::types::ToArrow as _;
use rows::{is_ordered, key_type};

/// A sort key over batches that have the columns `input`: Spark's order is that of the results.
///
/// # Errors
/// As [`lower`].
pub fn lower_sort(order: &SortOrder, input: &[Attribute]) -> Result<PhysicalSortExpr, Unsupported> {
    let options = arrow::compute::SortOptions {
        descending: !order.ascending,
        nulls_first: order.nulls_first,
    };
    let of = order.child.data_type.to_arrow()?;
    if !is_ordered(&of) {
        return Err(Unsupported::of_use(format!(
            "sorting by {}",
            order.child.data_type
        )));
    }
    let key = order_key(&of, lower(&order.child, input)?)?;
    Ok(PhysicalSortExpr::new(key, options))
}

/// The keys of values of a type that has an order.
pub(crate) fn order_key(of: &ArrowType, child: Arc<dyn PhysicalExpr>) -> Lowered {
    if !of.is_nested() && !of.is_floating() {
        return Ok(child);
    }
    if let Some(value) = known(&child) {
        let wrong = |_| Unsupported::of_use(format!("a literal {of} that is compared"));
        let key = value.to_array().and_then(|value| rows::order_key(&value));
        let key = key.and_then(|key| ScalarValue::try_from_array(&key, 0));
        return Ok(literal_of(key.map_err(wrong)?));
    }
    let to = key_type(of);
    Ok(Kernel::strict("OrderKey", vec![child], to, |args, _| {
        rows::order_key(&single(args)?.array)
    }))
}

impl Lowering<'_> {
    pub(super) fn compare(&self, op: Operator, left: &Expr, right: &Expr) -> Lowered {
        let of = same_type(&left.data_type, &right.data_type)?;
        if !is_ordered(&of) {
            return Err(Unsupported::of_use(format!(
                "comparison of {}",
                left.data_type
            )));
        }
        let side = |expr: &Expr| order_key(&of, self.expr(expr)?);
        Ok(Arc::new(BinaryExpr::new(side(left)?, op, side(right)?)))
    }

    pub(super) fn in_list(
        &self,
        value: &Expr,
        list: Vec<Arc<dyn PhysicalExpr>>,
        legacy_null_in_empty: bool,
    ) -> Lowered {
        let of = value.data_type.to_arrow()?;
        if !is_ordered(&of) || (list.is_empty() && legacy_null_in_empty) {
            return Err(Unsupported::of_use(format!("IN of {}", value.data_type)));
        }
        if list.is_empty() {
            return Ok(literal_of(ScalarValue::Boolean(Some(false))));
        }
        let value = order_key(&of, self.expr(value)?)?;
        let list = list.into_iter().map(|item| order_key(&of, item));
        let list = list.collect::<Result<_, _>>()?;
        in_list(value, list, &false, &self.schema).map_err(|_| Unsupported::of_use("such an IN"))
    }
}

/// The largest or the smallest argument that is not null; of equal ones the first.
pub(super) fn extreme(op: Function, of: &ArrowType, args: Vec<Arc<dyn PhysicalExpr>>) -> Lowered {
    if !is_ordered(of) {
        return Err(Unsupported::of_use(format!("{} of {of}", op.name())));
    }
    let greatest = op == Function::Greatest;
    let run = move |args: &[super::kernel::Arg], rows| {
        let mut best: Option<ArrayRef> = None;
        for arg in args {
            let next = arg.column(rows)?;
            best = Some(match best {
                None => next,
                Some(best) => {
                    let (a, b) = (rows::order_key(&next)?, rows::order_key(&best)?);
                    let better = match greatest {
                        true => cmp::gt(&a, &b)?,
                        false => cmp::lt(&a, &b)?,
                    };
                    let take: BooleanArray = (0..rows)
                        .map(|row| {
                            let better = better.is_valid(row) && better.value(row);
                            Some(next.is_valid(row) && (best.is_null(row) || better))
                        })
                        .collect();
                    zip(&take, &next, &best)?
                }
            });
        }
        best.ok_or_else(|| bail_out("no argument"))
    };
    Ok(Kernel::lenient(op.name(), args, of.clone(), run))
}
