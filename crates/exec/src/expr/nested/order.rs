//! What compares the elements of arrays with each other.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, UInt32Array};
use arrow::compute::{SortOptions, take};
use arrow::datatypes::DataType as ArrowType;
use datafusion_physical_expr::PhysicalExpr;

use super::super::kernel::{Kernel, pair, single};
use super::make::picked;
use super::{comparable, list, other, range};

type Physical = Arc<dyn PhysicalExpr>;

/// Elements in ascending order, nulls first, or in descending order, nulls last.
pub(super) fn sorted(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("SortArray", args, to.clone(), move |args, rows| {
        let (arrays, ascending) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let flags = ascending.boolean()?;
        let order = |descending| {
            let options = SortOptions {
                descending,
                nulls_first: !descending,
            };
            comparable(arrays.values(), options)
        };
        let up = order(false)?;
        // Often it is not asked for.
        let down = match flags.has_false() {
            true => Some(order(true)?),
            false => None,
        };
        picked(&of, rows, arrays.values(), |row, elements| {
            let flag = ascending.at(row);
            if arrays.is_null(row) || flags.is_null(flag) {
                return Ok(false);
            }
            elements.extend(range(arrays.value_offsets(), row));
            let keys = match (flags.value(flag), &down) {
                (true, _) => &up,
                (false, Some(down)) => down,
                (false, None) => return Err(other()),
            };
            elements.sort_by(|a, b| keys.row(*a).cmp(&keys.row(*b)));
            Ok(true)
        })
    })
}

/// Each element where it is first.
pub(super) fn distinct(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("ArrayDistinct", args, to.clone(), move |args, rows| {
        let arrays = list(single(args)?, rows)?;
        let keys = comparable(arrays.values(), SortOptions::default())?;
        picked(&of, rows, arrays.values(), |row, elements| {
            if arrays.is_null(row) {
                return Ok(false);
            }
            let mut seen = HashSet::new();
            let all = range(arrays.value_offsets(), row);
            elements.extend(all.filter(|element| seen.insert(keys.row(*element))));
            Ok(true)
        })
    })
}

/// The least or greatest element that is not null: of equal ones the first.
pub(super) fn extreme(least: bool, to: &ArrowType, args: Vec<Physical>) -> Physical {
    let name = if least { "ArrayMin" } else { "ArrayMax" };
    Kernel::strict(name, args, to.clone(), move |args, rows| {
        let arrays = list(single(args)?, rows)?;
        let values = arrays.values();
        let keys = comparable(values, SortOptions::default())?;
        let found = (0..rows).map(|row| {
            let all = match arrays.is_null(row) {
                true => 0..0,
                false => range(arrays.value_offsets(), row),
            };
            let mut best: Option<usize> = None;
            for element in all.filter(|element| values.is_valid(*element)) {
                let better = best.is_none_or(|best| match least {
                    true => keys.row(element) < keys.row(best),
                    false => keys.row(element) > keys.row(best),
                });
                if better {
                    best = Some(element);
                }
            }
            // Places among the values of lists have 32 bits.
            best.map(|element| element as u32)
        });
        let found: UInt32Array = found.collect();
        Ok(take(values, &found, None)?)
    })
}

/// Elements from the last to the first.
pub(super) fn reversed(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("Reverse", args, to.clone(), move |args, rows| {
        let arrays = list(single(args)?, rows)?;
        picked(&of, rows, arrays.values(), |row, elements| {
            if arrays.is_null(row) {
                return Ok(false);
            }
            elements.extend(range(arrays.value_offsets(), row).rev());
            Ok(true)
        })
    })
}
