//! What looks into arrays and maps.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, UInt32Array};
use arrow::array::{new_null_array, types::Int8Type, types::Int16Type, types::Int32Type};
use arrow::buffer::NullBuffer;
use arrow::compute::{SortOptions, take};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::super::kernel::{Arg, Kernel, pair, single};
use super::{comparable, list, map, other, range};
use catalyst::Function;
use rows::error::bail_out;

type Physical = Arc<dyn PhysicalExpr>;

/// How many elements there are. `legacy`: -1 of null.
pub(super) fn size(legacy: bool, args: Vec<Physical>) -> Physical {
    let name = format!("Size[{legacy}]");
    Kernel::lenient(name, args, ArrowType::Int32, move |args, rows| {
        let array = single(args)?.column(rows)?;
        let offsets = match array.as_list_opt::<i32>() {
            Some(list) => list.value_offsets(),
            None => array.as_map_opt().ok_or_else(other)?.value_offsets(),
        };
        let sizes = offsets
            .windows(2)
            .enumerate()
            .map(|(row, ends)| match ends {
                [start, end] if array.is_valid(row) => Some(end - start),
                _ => legacy.then_some(-1),
            });
        Ok(Arc::new(sizes.collect::<Int32Array>()))
    })
}

/// The numbers of an argument that is an integer of some width.
fn integers(arg: &Arg) -> RunResult<Int32Array> {
    Ok(match arg.array.data_type() {
        ArrowType::Int8 => arg.primitive::<Int8Type>()?.unary(i32::from),
        ArrowType::Int16 => arg.primitive::<Int16Type>()?.unary(i32::from),
        _ => arg.primitive::<Int32Type>()?.clone(),
    })
}

/// An element by its place: from 0, or else from 1 and from the end.
pub(super) fn item(fails: bool, from_zero: bool, to: &ArrowType, args: Vec<Physical>) -> Physical {
    let name = format!("GetArrayItem[{fails} {from_zero}]");
    Kernel::strict(name, args, to.clone(), move |args, rows| {
        let (array, place) = pair(args)?;
        let (array, places) = (list(array, rows)?, integers(place)?);
        let mut found = Vec::with_capacity(rows);
        for row in 0..rows {
            let at = place.at(row);
            if array.is_null(row) || places.is_null(at) {
                found.push(None);
                continue;
            }
            let elements = range(array.value_offsets(), row);
            let at = places.value(at);
            if at == 0 && !from_zero {
                return Err(bail_out("an element at 0"));
            }
            let distance = at.unsigned_abs() as usize;
            let element = match (from_zero, at < 0) {
                (true, false) => Some(elements.start + distance),
                (true, true) => None,
                (false, false) => Some(elements.start + distance - 1),
                (false, true) => elements.end.checked_sub(distance),
            };
            let element = element.filter(|element| elements.contains(element));
            if element.is_none() && fails {
                return Err(bail_out("an element that is not there"));
            }
            // Places among the values of lists have 32 bits.
            found.push(element.map(|element| element as u32));
        }
        values_at(array.values(), &found.into())
    })
}

/// Values at these places; null where there is none.
pub(super) fn values_at(values: &ArrayRef, places: &UInt32Array) -> RunResult<ArrayRef> {
    if values.data_type().is_null() {
        return Ok(new_null_array(values.data_type(), places.len()));
    }
    Ok(take(values, places, None)?)
}

/// What `find` makes of each row's range of `elements`, told which of them equal the row's wanted value. Null where the
/// collection or the wanted value is.
fn search<T>(
    (offsets, nulls): (&[i32], Option<&NullBuffer>),
    elements: &ArrayRef,
    wanted: &Arg,
    rows: usize,
    find: impl Fn(Range<usize>, &dyn Fn(usize) -> bool) -> Option<T>,
) -> RunResult<Vec<Option<T>>> {
    let elements = comparable(elements, SortOptions::default())?;
    let of_rows = comparable(&wanted.array, SortOptions::default())?;
    let found = (0..rows).map(|row| {
        let at = wanted.at(row);
        if nulls.is_some_and(|nulls| nulls.is_null(row)) || wanted.array.is_null(at) {
            return None;
        }
        let value = of_rows.row(at);
        find(range(offsets, row), &|element| {
            elements.row(element) == value
        })
    });
    Ok(found.collect())
}

/// The value of a key.
pub(super) fn value(function: Function, to: &ArrowType, args: Vec<Physical>) -> Physical {
    Kernel::strict(function.name(), args, to.clone(), move |args, rows| {
        let (maps, wanted) = pair(args)?;
        let maps = map(maps, rows)?;
        let place = (maps.value_offsets(), maps.nulls());
        let found = search(place, maps.keys(), wanted, rows, |mut entries, is_it| {
            let entry = entries.find(|entry| is_it(*entry))?;
            Some(entry as u32)
        })?;
        values_at(maps.values(), &found.into())
    })
}

/// The first place of a value, from 1.
pub(super) fn position(args: Vec<Physical>) -> Physical {
    Kernel::strict("ArrayPosition", args, ArrowType::Int64, |args, rows| {
        let (arrays, wanted) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let place = (arrays.value_offsets(), arrays.nulls());
        let found = search(place, arrays.values(), wanted, rows, |mut all, is_it| {
            let place = all.position(is_it);
            Some(place.map_or(0, |place| place as i64 + 1))
        })?;
        Ok(Arc::new(Int64Array::from(found)))
    })
}

/// Whether an array has a value; null if it has not, but has nulls.
pub(super) fn contains(args: Vec<Physical>) -> Physical {
    Kernel::strict("ArrayContains", args, ArrowType::Boolean, |args, rows| {
        let (arrays, wanted) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let values = arrays.values();
        let place = (arrays.value_offsets(), arrays.nulls());
        let found = search(place, values, wanted, rows, |mut all, is_it| {
            if all.clone().any(is_it) {
                return Some(true);
            }
            all.all(|element| values.is_valid(element)).then_some(false)
        })?;
        Ok(Arc::new(BooleanArray::from(found)))
    })
}
