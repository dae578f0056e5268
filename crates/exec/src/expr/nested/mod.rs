//! Functions of arrays, maps and structs.

mod entries;
pub(super) mod lambda;
mod lookup;
mod make;
mod order;
mod sequence;
mod sets;
mod sort;
mod text;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType as ArrowType;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::{DataFusionError, Result as RunResult};
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::Arg;
use catalyst::{EvalMode, Function, Unsupported};
use rows::error::bail_out;
use rows::types::list_field;
use rows::{has_floats, is_ordered, order_key};

/// Whether a function takes an array or a map, and nothing else in its place.
pub(super) fn takes_collections(function: Function) -> bool {
    use Function as F;
    matches!(
        function,
        F::GetArrayItem
            | F::GetMapValue
            | F::ElementAt
            | F::Size
            | F::ArrayContains
            | F::MapKeys
            | F::MapValues
            | F::MapEntries
            | F::SortArray
            | F::ArrayDistinct
            | F::ArrayJoin
            | F::ArrayMin
            | F::ArrayMax
            | F::ArrayPosition
            | F::Slice
            | F::ArrayUnion
            | F::ArrayIntersect
            | F::ArrayExcept
            | F::ArraysOverlap
            | F::ArrayRemove
            | F::ArrayAppend
            | F::ArrayInsert
            | F::MapFromArrays
            | F::MapFromEntries
            | F::MapConcat
            | F::ArraysZip
            | F::StringToMap
    )
}

/// A function of arrays or maps.
pub(super) fn lower(
    function: Function,
    mode: Option<EvalMode>,
    types: &[ArrowType],
    to: &ArrowType,
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use ArrowType as T;
    use Function as F;
    let fails = mode != Some(EvalMode::Legacy);
    let refused = || {
        let types: Vec<_> = types.iter().map(ToString::to_string).collect();
        Unsupported::of_use(format!("{}({})", function.name(), types.join(", ")))
    };
    Ok(match (function, types) {
        (F::CreateArray, _) => {
            let T::List(element) = to else {
                return Err(refused());
            };
            if types.iter().any(|of| of != element.data_type()) {
                return Err(refused());
            }
            make::array(to, args)
        }
        (F::CreateMap, [key, value, ..]) if types.len().is_multiple_of(2) => {
            let alike = types
                .chunks(2)
                .all(|pair| pair == [key.clone(), value.clone()]);
            // Of floats it depends on the version which of them are the same.
            if !alike || !is_ordered(key) || has_floats(key) {
                return Err(refused());
            }
            make::map(to, args)
        }
        (F::Concat, [T::List(_), ..]) if types.iter().all(|of| of == to) => make::concat(to, args),
        (F::Flatten, [T::List(inner)]) if inner.data_type() == to && list_of(to).is_some() => {
            make::flatten(to, args)
        }
        (F::Slice, [T::List(_), T::Int32, T::Int32]) => make::slice(to, args),
        (F::MapKeys | F::MapValues | F::MapEntries, [T::Map(..)]) => {
            make::parts_of_map(function, to, args)
        }
        (F::GetArrayStructFields { ordinal }, [T::List(_)]) => {
            make::fields_of_elements(ordinal, to, args)
        }
        (F::Size, [T::List(_) | T::Map(..)]) => lookup::size(!fails, args),
        (F::GetArrayItem, [T::List(_), T::Int8 | T::Int16 | T::Int32]) => {
            lookup::item(fails, true, to, args)
        }
        (F::ElementAt, [T::List(_), T::Int32]) => lookup::item(fails, false, to, args),
        (F::GetMapValue | F::ElementAt, [T::Map(entry, _), key]) => match entry.data_type() {
            T::Struct(entry)
                if entry.first().is_some_and(|own| own.data_type() == key) && is_ordered(key) =>
            {
                lookup::value(function, to, args)
            }
            _ => return Err(refused()),
        },
        (F::ArrayContains, [T::List(element), of])
            if element.data_type() == of && is_ordered(of) =>
        {
            lookup::contains(args)
        }
        // Of two zeros the order depends on how Spark sorts.
        (F::SortArray, [T::List(element), T::Boolean])
            if is_ordered(element.data_type()) && !element.data_type().is_floating() =>
        {
            order::sorted(to, args)
        }
        // Which zeros there are depends on the version, also within elements.
        (F::ArrayDistinct, [T::List(element)])
            if is_ordered(element.data_type()) && !has_floats(element.data_type()) =>
        {
            order::distinct(to, args)
        }
        (F::ArrayMin | F::ArrayMax, [T::List(element)]) if is_ordered(element.data_type()) => {
            order::extreme(function == F::ArrayMin, to, args)
        }
        (F::ArrayRepeat, [of, T::Int32]) if list_of(to) == Some(of) => make::repeated(to, args),
        // As `ArrayDistinct`.
        (F::ArrayUnion | F::ArrayIntersect | F::ArrayExcept, [T::List(element), other])
            if types.first() == Some(other) && other == to && is_a_key(element.data_type()) =>
        {
            sets::combined(function, to, args)
        }
        (F::ArraysOverlap, [T::List(element), other])
            if types.first() == Some(other) && is_a_key(element.data_type()) =>
        {
            sets::overlap(args)
        }
        (F::ArrayRemove, [T::List(element), of]) if element.data_type() == of && is_ordered(of) => {
            sets::removed(to, args)
        }
        (F::ArrayAppend, [T::List(element), of]) if element.data_type() == of => {
            sets::appended(to, args)
        }
        (F::ArrayInsert, [T::List(element), T::Int32, of]) if element.data_type() == of => {
            sets::inserted(to, args)
        }
        (F::MapFromArrays, [T::List(key), T::List(_)]) if is_a_key(key.data_type()) => {
            entries::of_arrays(to, args)
        }
        (F::MapFromEntries, [T::List(entry)]) => match entry.data_type() {
            T::Struct(fields) if fields.first().is_some_and(|f| is_a_key(f.data_type())) => {
                entries::of_entries(to, args)
            }
            _ => return Err(refused()),
        },
        (F::MapConcat, [T::Map(entry, _), ..]) if types.iter().all(|of| of == to) => {
            match entry.data_type() {
                T::Struct(fields) if fields.first().is_some_and(|f| is_a_key(f.data_type())) => {
                    entries::of_maps(to, args)
                }
                _ => return Err(refused()),
            }
        }
        (F::ArraysZip, [T::List(_), ..]) => {
            let lists = types.iter().map(list_of);
            let zipped = match list_of(to) {
                Some(T::Struct(fields)) => {
                    lists.eq(fields.iter().map(|field| Some(field.data_type())))
                }
                _ => false,
            };
            if !zipped {
                return Err(refused());
            }
            make::zipped(to, args)
        }
        (F::StringToMap, [T::Utf8View, T::Utf8View, T::Utf8View]) => {
            entries::of_text(to, args).ok_or_else(refused)?
        }
        (F::StringSplitSQL, [T::Utf8View, T::Utf8View]) => text::split_at_text(to, args),
        (F::SplitPart, [T::Utf8View, T::Utf8View, T::Int32]) => text::part(args),
        (F::Reverse, [T::List(_)]) => order::reversed(to, args),
        (F::ArrayPosition, [T::List(element), of])
            if element.data_type() == of && is_ordered(of) =>
        {
            lookup::position(args)
        }
        (F::Sequence, [first, ..]) if types.iter().all(|of| of == first) => {
            sequence::lower(first, to, args).ok_or_else(refused)?
        }
        (F::StringSplit, [T::Utf8View, T::Utf8View, T::Int32]) => {
            text::split(to, args).ok_or_else(refused)?
        }
        (F::ArrayJoin, [T::List(element), T::Utf8View]) if element.data_type() == &T::Utf8View => {
            text::joined(args)
        }
        _ => return Err(refused()),
    })
}

/// Whether values are told apart as Spark does in all versions: of floats it depends on the version which zeros are the
/// same.
fn is_a_key(of: &ArrowType) -> bool {
    is_ordered(of) && !has_floats(of)
}

fn list_of(of: &ArrowType) -> Option<&ArrowType> {
    match of {
        ArrowType::List(element) => Some(element.data_type()),
        _ => None,
    }
}

fn other() -> DataFusionError {
    bail_out("an argument of another type")
}

fn list(arg: &Arg, rows: usize) -> RunResult<ListArray> {
    let column = arg.column(rows)?;
    column.as_list_opt::<i32>().cloned().ok_or_else(other)
}

fn map(arg: &Arg, rows: usize) -> RunResult<MapArray> {
    let column = arg.column(rows)?;
    column.as_map_opt().cloned().ok_or_else(other)
}

/// Where the elements of a row are.
fn range(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    // Offsets are not negative and grow.
    match (offsets.get(row), offsets.get(row + 1)) {
        (Some(start), Some(end)) => *start as usize..*end as usize,
        _ => 0..0,
    }
}

/// An array of lists of so many of the values each.
pub(super) fn lists(
    of: &ArrowType,
    lengths: impl IntoIterator<Item = usize>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> RunResult<ArrayRef> {
    let ArrowType::List(element) = of else {
        return Err(other());
    };
    if i32::try_from(values.len()).is_err() {
        return Err(bail_out("too many elements of arrays"));
    }
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
    let field = list_field(element.data_type().clone());
    Ok(Arc::new(ListArray::try_new(field, offsets, values, nulls)?))
}

/// An array of maps of so many of the keys and values each.
fn maps(
    to: &ArrowType,
    lengths: impl IntoIterator<Item = usize>,
    keys: ArrayRef,
    values: ArrayRef,
    nulls: Option<&NullBuffer>,
) -> RunResult<ArrayRef> {
    let ArrowType::Map(entries, sorted) = to else {
        return Err(other());
    };
    let ArrowType::Struct(fields) = entries.data_type() else {
        return Err(other());
    };
    let structs = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
    let entries = Arc::clone(entries);
    let array = MapArray::try_new(entries, offsets, structs, nulls.cloned(), *sorted)?;
    Ok(Arc::new(array))
}

/// Values as bytes of which the order is Spark's, also of others of the type.
fn comparable(values: &ArrayRef, options: arrow::compute::SortOptions) -> RunResult<Rows> {
    let keys = order_key(values)?;
    let field = SortField::new_with_options(keys.data_type().clone(), options);
    Ok(RowConverter::new(vec![field])?.convert_columns(&[keys])?)
}
