//! Maps of what Python has as `dict`s, as Spark makes them: in the order of Java's `HashMap`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType as ArrowType;
use catalyst::DataType;
use datafusion_common::{DataFusionError, Result};
use rows::error::bail_out;
use rows::types::ToArrow as _;

use super::java_map::{self, JavaRules};
use super::results::column;
use super::unpickle::{Item, Objects, other};

/// The column of these items, where `of` is the type of the map.
///
/// # Errors
/// Bail-out: entries whose order, or keys whose place is Java's.
pub(super) fn maps(
    objects: &Objects<'_>,
    (of, key, value): (&DataType, &DataType, &DataType),
    items: &[Item<'_>],
) -> Result<ArrayRef> {
    let rules = JavaRules::of(objects.java_major());
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    let mut lengths = Vec::with_capacity(items.len());
    for item in items {
        let before = keys.len();
        if let Item::Dict(place) = item {
            let entries = objects.elements(*place);
            objects.copies(entries.len().saturating_mul(Objects::ELEMENT))?;
            for entry in ordered(entries, rules)? {
                // There is a value for each key.
                if let Some([key, value]) = entries.get(2 * entry..2 * entry + 2) {
                    keys.push(*key);
                    values.push(*value);
                }
            }
        }
        lengths.push(keys.len() - before);
    }
    let (keys, values) = (
        column(objects, key, &keys)?,
        column(objects, value, &values)?,
    );
    if keys.logical_null_count() > 0 {
        return Err(bail_out("a key of Python's that is no key of Spark's"));
    }
    let arrow = of.to_arrow().map_err(|why| bail_out(why.to_string()))?;
    let ArrowType::Map(field, _) = arrow else {
        return Err(other());
    };
    let ArrowType::Struct(fields) = field.data_type() else {
        return Err(other());
    };
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    let valid: NullBuffer = items
        .iter()
        .map(|item| matches!(item, Item::Dict(_)))
        .collect();
    let offsets = OffsetBuffer::from_lengths(lengths);
    let maps = MapArray::try_new(field, offsets, entries, Some(valid), false)?;
    Ok(Arc::new(maps))
}

/// The order of a dictionary's entries, of keys and values in turn.
fn ordered(entries: &[Item<'_>], rules: JavaRules) -> Result<Vec<usize>> {
    let keys = entries.iter().step_by(2);
    if keys.len() < 2 {
        return Ok((0..keys.len()).collect());
    }
    let hashes: Option<Vec<_>> = keys.map(hash).collect();
    let order = hashes.and_then(|hashes| java_map::order_of_items(&hashes, rules));
    order.ok_or_else(unknown_order)
}

fn unknown_order() -> DataFusionError {
    bail_out("a dictionary of Python in an order of Java's")
}

/// `hashCode` of what Java has for a key. `None` if it is not known, or Java may take two keys for one.
fn hash(key: &Item<'_>) -> Option<i32> {
    Some(match key {
        Item::Bool(true) => 1231,
        Item::Bool(false) => 1237,
        Item::Int(value) => i32::try_from(*value).unwrap_or_else(|_| java_map::of_long(*value)),
        Item::Float(value) if !value.is_nan() => java_map::of_long(value.to_bits().cast_signed()),
        Item::Text(text) => java_map::of_text(text),
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;

    use super::super::results::rows;
    use super::*;

    fn of_texts() -> DataType {
        DataType::Map {
            key: Box::new(DataType::String),
            value: Box::new(DataType::Long),
            value_contains_null: true,
        }
    }

    #[test]
    fn entries_are_in_the_order_of_java() {
        // [({'k838': 1, 'b': 2, 'a': None},), ({},), (None,), ({'x': 7},)]
        let frame = b"\x80\x04](}(\x8c\x04k838K\x01\x8c\x01bK\x02\x8c\x01aNu\x85}\x85N\x85}\x8c\x01xK\x07s\x85e.";
        let of = of_texts();
        let (columns, count) = rows(frame, 1, [(0, &of)].into_iter(), 17).unwrap();
        let maps = columns[0].as_map();
        assert_eq!((count, maps.value_offsets()), (4, &[0, 3, 3, 3, 4][..]));
        assert!(maps.is_null(2) && maps.is_valid(1));
        let keys = maps.keys().as_string_view();
        let keys: Vec<_> = keys.iter().flatten().collect();
        assert_eq!(
            keys[..2].iter().position(|key| *key == "a"),
            Some(0),
            "{keys:?}"
        );
        let values = maps.values().as_primitive::<Int64Type>();
        assert!(values.is_null(0) && values.value(3) == 7);
    }

    #[test]
    fn keys_that_only_java_can_place_are_left_to_it() {
        let of = of_texts();
        // {'a': 1} put in two parts, {b'x': 1, b'y': 2}, {1: 2}
        let two: &[u8] = b"\x80\x04](}\x8c\x01aK\x01s\x8c\x01bK\x02s\x85e.";
        let bytes: &[u8] = b"\x80\x04](}(C\x01xK\x01C\x01yK\x02u\x85e.";
        let none: &[u8] = b"\x80\x04](}NK\x02s\x85e.";
        for frame in [two, bytes, none] {
            assert!(rows(frame, 1, [(0, &of)].into_iter(), 17).is_err());
        }
    }
}
