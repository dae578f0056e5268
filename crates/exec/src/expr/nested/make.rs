//! What makes arrays and maps.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StructArray, UInt32Array};
use arrow::array::{new_empty_array, new_null_array, types::Int32Type};
use arrow::buffer::NullBuffer;
use arrow::compute::{SortOptions, interleave, take};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::super::field;
use super::super::kernel::{Arg, Kernel, nth, pair, single, union_nulls};
use super::lookup::values_at;
use super::{comparable, list, lists, map as map_of, maps, other, range};
use catalyst::Function;
use rows::error::bail_out;

/// Most elements of a batch that are made by repeating values.
pub(super) const MAX_REPEATED: usize = 50_000_000;

type Physical = Arc<dyn PhysicalExpr>;

/// An array of the arguments.
pub(super) fn array(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::lenient("CreateArray", args, to.clone(), move |args, rows| {
        let ArrowType::List(element) = &of else {
            return Err(other());
        };
        let values = in_turn(args, rows, element.data_type())?;
        lists(&of, std::iter::repeat_n(args.len(), rows), values, None)
    })
}

/// The first values of all arguments, then the second, and so on.
fn in_turn(args: &[Arg], rows: usize, of: &ArrowType) -> RunResult<ArrayRef> {
    if args.is_empty() {
        return Ok(new_empty_array(of));
    }
    if of.is_null() {
        return Ok(new_null_array(of, args.len() * rows));
    }
    let sources: Vec<&dyn Array> = args.iter().map(|arg| arg.array.as_ref()).collect();
    let indices = (0..rows).flat_map(|row| {
        let all = args.iter().enumerate();
        all.map(move |(place, arg)| (place, arg.at(row)))
    });
    let indices: Vec<_> = indices.collect();
    Ok(interleave(&sources, &indices)?)
}

/// A map of keys and values. Keys that are null fail, and of keys that are there twice a setting decides.
pub(super) fn map(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::lenient("CreateMap", args, to.clone(), move |args, rows| {
        let ArrowType::Map(entries, _) = &of else {
            return Err(other());
        };
        let ArrowType::Struct(entry) = entries.data_type() else {
            return Err(other());
        };
        let every_other =
            |first: usize| -> Vec<Arg> { args.iter().skip(first).step_by(2).cloned().collect() };
        let pairs = args.len() / 2;
        let mut columns = Vec::new();
        for (first, field) in entry.iter().enumerate() {
            columns.push(in_turn(&every_other(first), rows, field.data_type())?);
        }
        let [keys, values] = columns.as_slice() else {
            return Err(other());
        };
        if keys.logical_null_count() > 0 {
            return Err(bail_out("a map with a null key"));
        }
        let comparable = comparable(keys, SortOptions::default())?;
        for row in 0..rows {
            let mut seen = HashSet::with_capacity(pairs);
            let keys = row * pairs..(row + 1) * pairs;
            if !keys.into_iter().all(|key| seen.insert(comparable.row(key))) {
                return Err(bail_out("a map with a key that is there twice"));
            }
        }
        let lengths = std::iter::repeat_n(pairs, rows);
        maps(&of, lengths, Arc::clone(keys), Arc::clone(values), None)
    })
}

/// An array of a value, again and again.
pub(super) fn repeated(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::lenient("ArrayRepeat", args, to.clone(), move |args, rows| {
        let (value, count) = pair(args)?;
        let counts = count.primitive::<Int32Type>()?;
        let mut total = 0_usize;
        picked(&of, rows, &value.array, |row, elements| {
            let at = count.at(row);
            if counts.is_null(at) {
                return Ok(false);
            }
            let often = usize::try_from(counts.value(at)).unwrap_or(0);
            total = total.saturating_add(often);
            if total > MAX_REPEATED {
                return Err(bail_out("a value that is repeated very often"));
            }
            elements.extend(std::iter::repeat_n(value.at(row), often));
            Ok(true)
        })
    })
}

/// An array of structs of the elements of arrays, side by side.
pub(super) fn zipped(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("ArraysZip", args, to.clone(), move |args, rows| {
        let ArrowType::List(element) = &of else {
            return Err(other());
        };
        let ArrowType::Struct(fields) = element.data_type() else {
            return Err(other());
        };
        let all = args.iter().map(|arg| list(arg, rows));
        let all = all.collect::<RunResult<Vec<_>>>()?;
        let nulls = all.iter().fold(None, |nulls, list| {
            NullBuffer::union(nulls.as_ref(), list.nulls())
        });
        let lengths: Vec<usize> = (0..rows)
            .map(
                |row| match nulls.as_ref().is_some_and(|of| of.is_null(row)) {
                    true => 0,
                    false => {
                        let own = all
                            .iter()
                            .map(|list| range(list.value_offsets(), row).len());
                        own.max().unwrap_or(0)
                    }
                },
            )
            .collect();
        if lengths.iter().sum::<usize>() > MAX_REPEATED {
            return Err(bail_out("too many elements of arrays"));
        }
        let columns = all.iter().map(|list| {
            let places = lengths.iter().enumerate().flat_map(|(row, length)| {
                // Places among the values of lists have 32 bits.
                let own = range(list.value_offsets(), row).map(|place| Some(place as u32));
                own.chain(std::iter::repeat(None)).take(*length)
            });
            values_at(list.values(), &places.collect())
        });
        let columns = columns.collect::<RunResult<Vec<_>>>()?;
        let structs = StructArray::try_new(fields.clone(), columns, None)?;
        lists(&of, lengths, Arc::new(structs), nulls)
    })
}

/// One array behind the other.
pub(super) fn concat(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("Concat", args, to.clone(), move |args, rows| {
        let all = args.iter().map(|arg| list(arg, rows));
        let all = all.collect::<RunResult<Vec<_>>>()?;
        let nulls = union_nulls(&args.iter().collect::<Vec<_>>());
        let mut lengths = vec![0; rows];
        let mut indices = Vec::new();
        for (row, length) in lengths.iter_mut().enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            for (place, list) in all.iter().enumerate() {
                let elements = range(list.value_offsets(), row);
                *length += elements.len();
                indices.extend(elements.map(|element| (place, element)));
            }
        }
        let sources: Vec<&dyn Array> = all.iter().map(|list| list.values().as_ref()).collect();
        let element = sources.first().ok_or_else(other)?.data_type();
        let values = match element.is_null() {
            true => new_null_array(element, indices.len()),
            false => interleave(&sources, &indices)?,
        };
        lists(&of, lengths, values, nulls)
    })
}

/// The elements of arrays in an array; null if one of them is.
pub(super) fn flatten(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("Flatten", args, to.clone(), move |args, rows| {
        let outer = list(single(args)?, rows)?;
        let inner = outer.values().as_list_opt::<i32>().ok_or_else(other)?;
        picked(&of, rows, inner.values(), |row, elements| {
            if outer.is_null(row) {
                return Ok(false);
            }
            let all = range(outer.value_offsets(), row);
            if all.clone().any(|array| inner.is_null(array)) {
                return Ok(false);
            }
            elements.extend(all.flat_map(|array| range(inner.value_offsets(), array)));
            Ok(true)
        })
    })
}

/// Some of the elements: from a place that counts from 1, or from the end if it is negative.
pub(super) fn slice(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("Slice", args, to.clone(), move |args, rows| {
        let arrays = list(nth(args, 0)?, rows)?;
        let (start, length) = (nth(args, 1)?, nth(args, 2)?);
        let (starts, lengths) = (
            start.primitive::<Int32Type>()?,
            length.primitive::<Int32Type>()?,
        );
        picked(&of, rows, arrays.values(), |row, elements| {
            let (start, length) = (start.at(row), length.at(row));
            if arrays.is_null(row) || starts.is_null(start) || lengths.is_null(length) {
                return Ok(false);
            }
            let all = range(arrays.value_offsets(), row);
            let (start, length) = (starts.value(start), lengths.value(length));
            if start == 0 || length < 0 {
                return Err(bail_out("a slice that Spark refuses"));
            }
            let skipped = match usize::try_from(start) {
                Ok(start) => Some(start - 1),
                Err(_) => all.len().checked_sub(start.unsigned_abs() as usize),
            };
            if let Some(skipped) = skipped {
                elements.extend(all.skip(skipped).take(length.unsigned_abs() as usize));
            }
            Ok(true)
        })
    })
}

/// Arrays of some of the values: a function adds the places of those of a row, and says whether there is an array.
pub(super) fn picked(
    to: &ArrowType,
    rows: usize,
    values: &ArrayRef,
    mut pick: impl FnMut(usize, &mut Vec<usize>) -> RunResult<bool>,
) -> RunResult<ArrayRef> {
    let (mut lengths, mut valid) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (mut of_row, mut all) = (Vec::new(), Vec::new());
    for row in 0..rows {
        of_row.clear();
        valid.push(pick(row, &mut of_row)?);
        lengths.push(of_row.len());
        // Places among the values of lists have 32 bits.
        all.extend(of_row.iter().map(|place| *place as u32));
    }
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    let values = match values.data_type().is_null() {
        true => new_null_array(values.data_type(), all.len()),
        false => take(values, &UInt32Array::from(all), None)?,
    };
    lists(to, lengths, values, nulls)
}

/// Keys, values or entries of maps.
pub(super) fn parts_of_map(function: Function, to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict(function.name(), args, to.clone(), move |args, rows| {
        let map = map_of(single(args)?, rows)?;
        let ArrowType::List(element) = &of else {
            return Err(other());
        };
        let values: ArrayRef = match (function, element.data_type()) {
            (Function::MapKeys, _) => Arc::clone(map.keys()),
            (Function::MapValues, _) => Arc::clone(map.values()),
            (_, ArrowType::Struct(fields)) => {
                let columns = map.entries().columns().to_vec();
                Arc::new(StructArray::try_new(fields.clone(), columns, None)?)
            }
            _ => return Err(other()),
        };
        let (field, offsets) = (Arc::clone(element), map.offsets().clone());
        let array = ListArray::try_new(field, offsets, values, map.nulls().cloned())?;
        Ok(Arc::new(array))
    })
}

/// A field of all structs of arrays.
pub(super) fn fields_of_elements(ordinal: usize, to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    let name = format!("GetArrayStructFields[{ordinal}]");
    Kernel::strict(name, args, to.clone(), move |args, rows| {
        let array = list(single(args)?, rows)?;
        let ArrowType::List(element) = &of else {
            return Err(other());
        };
        let values = field(array.values(), ordinal)?;
        let (own, offsets) = (Arc::clone(element), array.offsets().clone());
        let array = ListArray::try_new(own, offsets, values, array.nulls().cloned())?;
        Ok(Arc::new(array))
    })
}
