//! Arrays as sets, and arrays with elements put in or left out.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, ListArray, new_null_array, types::Int32Type};
use arrow::compute::{SortOptions, concat};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::super::kernel::{Kernel, nth, pair};
use super::make::{MAX_REPEATED, picked};
use super::{comparable, list, range};
use catalyst::Function;
use rows::error::bail_out;

type Physical = Arc<dyn PhysicalExpr>;

/// Two columns of arrays with the elements of both in one array.
struct Both {
    left: ListArray,
    right: ListArray,
    values: ArrayRef,
}

impl Both {
    fn new(left: ListArray, right: ListArray) -> RunResult<Self> {
        let values = joined(&[left.values(), right.values()])?;
        Ok(Self {
            left,
            right,
            values,
        })
    }

    /// Places of the elements of a row; `None` if one of its arrays is null.
    fn row(&self, row: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        if self.left.is_null(row) || self.right.is_null(row) {
            return None;
        }
        let behind = self.left.values().len();
        let right = range(self.right.value_offsets(), row).map(|at| at + behind);
        Some((
            range(self.left.value_offsets(), row).collect(),
            right.collect(),
        ))
    }
}

/// `array_union`, `array_intersect` and `array_except`: elements once each, in the order of the first array. One null
/// is as another.
pub(super) fn combined(function: Function, to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict(function.name(), args, to.clone(), move |args, rows| {
        let (left, right) = pair(args)?;
        let both = Both::new(list(left, rows)?, list(right, rows)?)?;
        let keys = comparable(&both.values, SortOptions::default())?;
        picked(&of, rows, &both.values, |row, elements| {
            let Some((left, right)) = both.row(row) else {
                return Ok(false);
            };
            let others: HashSet<_> = right.iter().map(|at| keys.row(*at)).collect();
            let mut seen = HashSet::new();
            let behind: &[usize] = match function {
                Function::ArrayUnion => &right,
                _ => &[],
            };
            for at in left.iter().chain(behind) {
                let key = keys.row(*at);
                let wanted = match function {
                    Function::ArrayUnion => true,
                    Function::ArrayIntersect => others.contains(&key),
                    _ => !others.contains(&key),
                };
                if wanted && seen.insert(key) {
                    elements.push(*at);
                }
            }
            Ok(true)
        })
    })
}

/// Whether two arrays have an element in common; null if only nulls could be.
pub(super) fn overlap(args: Vec<Physical>) -> Physical {
    Kernel::strict("ArraysOverlap", args, ArrowType::Boolean, |args, rows| {
        let (left, right) = pair(args)?;
        let both = Both::new(list(left, rows)?, list(right, rows)?)?;
        let keys = comparable(&both.values, SortOptions::default())?;
        let is_null = |at: &usize| both.values.is_null(*at) || both.values.data_type().is_null();
        let found = (0..rows).map(|row| {
            let (left, right) = both.row(row)?;
            let there = left.iter().filter(|at| !is_null(at));
            let there: HashSet<_> = there.map(|at| keys.row(*at)).collect();
            let mut rest = right.iter().filter(|at| !is_null(at));
            if rest.any(|at| there.contains(&keys.row(*at))) {
                return Some(true);
            }
            let nulls = left.iter().chain(&right).any(is_null);
            let known = left.is_empty() || right.is_empty() || !nulls;
            known.then_some(false)
        });
        Ok(Arc::new(found.collect::<BooleanArray>()))
    })
}

/// Elements that do not equal a value; null if that is null.
pub(super) fn removed(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("ArrayRemove", args, to.clone(), move |args, rows| {
        let (arrays, wanted) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let values = arrays.values();
        let keys = comparable(values, SortOptions::default())?;
        let unwanted = comparable(&wanted.array, SortOptions::default())?;
        picked(&of, rows, values, |row, elements| {
            let at = wanted.at(row);
            if arrays.is_null(row) || wanted.array.is_null(at) {
                return Ok(false);
            }
            let value = unwanted.row(at);
            let all = range(arrays.value_offsets(), row);
            elements.extend(all.filter(|at| values.is_null(*at) || keys.row(*at) != value));
            Ok(true)
        })
    })
}

/// An array with one more element behind it; null if the array is.
pub(super) fn appended(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::lenient("ArrayAppend", args, to.clone(), move |args, rows| {
        let (arrays, new) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let values = joined(&[arrays.values(), &new.array])?;
        picked(&of, rows, &values, |row, elements| {
            if arrays.is_null(row) {
                return Ok(false);
            }
            elements.extend(range(arrays.value_offsets(), row));
            elements.push(arrays.values().len() + new.at(row));
            Ok(true)
        })
    })
}

/// One column behind the other.
pub(super) fn joined(columns: &[&ArrayRef]) -> RunResult<ArrayRef> {
    let length = columns.iter().map(|column| column.len()).sum();
    if columns.iter().all(|column| column.data_type().is_null()) {
        return Ok(new_null_array(&ArrowType::Null, length));
    }
    let columns: Vec<&dyn Array> = columns.iter().map(|column| column.as_ref()).collect();
    Ok(concat(&columns)?)
}

/// Where a new element comes among `length` others, and how many elements there are then: places that are neither are
/// null. `None` for place 0.
fn insertion(place: i32, length: usize) -> Option<(usize, usize, usize)> {
    let distance = place.unsigned_abs() as usize;
    if place == 0 {
        return None;
    }
    if place > 0 {
        let at = distance - 1;
        return Some((at, 0, length.max(at) + 1));
    }
    if distance > length {
        return Some((0, distance - length, distance));
    }
    Some((length + 1 - distance, 0, length + 1))
}

/// `array_insert(array, place, element)`: places count from 1, or from the end.
pub(super) fn inserted(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::lenient("ArrayInsert", args, to.clone(), move |args, rows| {
        let (arrays, place, new) = (list(nth(args, 0)?, rows)?, nth(args, 1)?, nth(args, 2)?);
        let places = place.primitive::<Int32Type>()?;
        let element = arrays.values().data_type();
        let none = new_null_array(element, 1);
        let values = joined(&[arrays.values(), &new.array, &none])?;
        let (first_new, null) = (arrays.values().len(), values.len() - 1);
        let mut total = 0_usize;
        picked(&of, rows, &values, |row, elements| {
            let at = place.at(row);
            if arrays.is_null(row) || places.is_null(at) {
                return Ok(false);
            }
            let all = range(arrays.value_offsets(), row);
            let made = insertion(places.value(at), all.len());
            let (at, skipped, length) = made.ok_or_else(|| bail_out("an element at 0"))?;
            total = total.saturating_add(length);
            if total > MAX_REPEATED {
                return Err(bail_out("an array with many new elements"));
            }
            // Those before the new element and behind it, with nulls where there are none.
            let mut others = std::iter::repeat_n(null, skipped.saturating_sub(1)).chain(all);
            elements.extend(others.by_ref().take(at));
            elements.resize(at, null);
            elements.push(first_new + new.at(row));
            elements.extend(others);
            Ok(true)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_put_where_spark_puts_them() {
        assert_eq!(insertion(1, 3), Some((0, 0, 4)));
        assert_eq!(insertion(4, 3), Some((3, 0, 4)));
        assert_eq!(insertion(6, 3), Some((5, 0, 6)));
        assert_eq!(insertion(-1, 3), Some((3, 0, 4)));
        assert_eq!(insertion(-5, 3), Some((0, 2, 5)));
        assert_eq!(insertion(-4, 3), Some((0, 1, 4)));
        assert_eq!(insertion(0, 3), None);
    }
}
