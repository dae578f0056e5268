//! What looks into arrays and maps.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, UInt32Array};
use arrow::array::{new_null_array, types::Int8Type, types::Int16Type, types::Int32Type};
use arrow::compute::{SortOptions, take};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::super::kernel::{Arg, Kernel, pair, single};
use super::{comparable, list, map, other, range};
use catalyst::Function;
use rows::error::bail_out;
use rows::normalized;

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
        values_at(array.values(), found)
    })
}

fn values_at(values: &ArrayRef, places: Vec<Option<u32>>) -> RunResult<ArrayRef> {
    if values.data_type().is_null() {
        return Ok(new_null_array(values.data_type(), places.len()));
    }
    Ok(take(values, &UInt32Array::from(places), None)?)
}

/// The value of a key.
pub(super) fn value(function: Function, to: &ArrowType, args: Vec<Physical>) -> Physical {
    Kernel::strict(function.name(), args, to.clone(), move |args, rows| {
        let (maps, wanted) = pair(args)?;
        let maps = map(maps, rows)?;
        let (converter, keys) = comparable(maps.keys(), SortOptions::default())?;
        let of_rows = converter.convert_columns(&[normalized(&wanted.array)])?;
        let found = (0..rows).map(|row| {
            let at = wanted.at(row);
            if maps.is_null(row) || wanted.array.is_null(at) {
                return None;
            }
            let key = of_rows.row(at);
            let mut entries = range(maps.value_offsets(), row);
            let entry = entries.find(|entry| keys.row(*entry) == key)?;
            Some(entry as u32)
        });
        values_at(maps.values(), found.collect())
    })
}

/// The first place of a value, from 1.
pub(super) fn position(args: Vec<Physical>) -> Physical {
    Kernel::strict("ArrayPosition", args, ArrowType::Int64, |args, rows| {
        let (arrays, wanted) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let (converter, elements) = comparable(arrays.values(), SortOptions::default())?;
        let of_rows = converter.convert_columns(&[normalized(&wanted.array)])?;
        let found = (0..rows).map(|row| {
            let at = wanted.at(row);
            if arrays.is_null(row) || wanted.array.is_null(at) {
                return None;
            }
            let value = of_rows.row(at);
            let mut all = range(arrays.value_offsets(), row);
            let place = all.position(|element| elements.row(element) == value);
            Some(place.map_or(0, |place| place as i64 + 1))
        });
        Ok(Arc::new(found.collect::<Int64Array>()))
    })
}

/// Whether an array has a value; null if it has not, but has nulls.
pub(super) fn contains(args: Vec<Physical>) -> Physical {
    Kernel::strict("ArrayContains", args, ArrowType::Boolean, |args, rows| {
        let (arrays, wanted) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let values = arrays.values();
        let (converter, elements) = comparable(values, SortOptions::default())?;
        let of_rows = converter.convert_columns(&[normalized(&wanted.array)])?;
        let found = (0..rows).map(|row| {
            let at = wanted.at(row);
            if arrays.is_null(row) || wanted.array.is_null(at) {
                return None;
            }
            let value = of_rows.row(at);
            let mut all = range(arrays.value_offsets(), row);
            if all.clone().any(|element| elements.row(element) == value) {
                return Some(true);
            }
            all.all(|element| values.is_valid(element)).then_some(false)
        });
        Ok(Arc::new(found.collect::<BooleanArray>()))
    })
}
