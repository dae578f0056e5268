//! Columns of what functions of Python gave, as `EvaluatePython.makeFromJava` takes it: what has another type than the
//! function was declared with is null, and anything is a text.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray, NullArray,
    StringViewBuilder, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType as ArrowType;
use bytes::Bytes;
use catalyst::{DataType, Decimal, StructField, Unsupported};
use datafusion_common::{DataFusionError, Result};
use rows::error::bail_out;
use rows::types::{ToArrow as _, list_field};

use super::dicts::maps;
use super::is_simple;
use super::unpickle::{Item, Objects, other};

/// Longest text of a decimal that is looked at.
const MAX_DECIMAL: usize = 100;

/// Fails for types whose results are not taken natively.
pub(super) fn check(of: &DataType) -> std::result::Result<(), Unsupported> {
    match of {
        DataType::Binary => {}
        of if is_simple(of) => {}
        DataType::Array { element, .. } => check(element)?,
        DataType::Map { key, value, .. } => {
            check(key)?;
            check(value)?;
        }
        DataType::Struct(fields) => {
            let mut fields = fields.iter();
            fields.try_for_each(|field| check(&field.data_type))?;
        }
        _ => return Err(Unsupported::of_use(format!("a Python function to {of}"))),
    }
    of.to_arrow().map(drop)
}

/// The columns of a frame of results: of one function, or of several, whose results come in tuples.
///
/// # Errors
/// Bail-out: something that Spark may take, or refuses with words of its own.
pub(super) fn columns(
    frame: &[u8],
    types: &[DataType],
    java_major: u32,
) -> Result<(Vec<ArrayRef>, usize)> {
    let mut objects = Objects::new(java_major);
    let Item::List(root) = objects.read(frame)? else {
        return Err(other());
    };
    let results = objects.elements(root);
    let columns = match types {
        [only] => vec![column(&objects, only, results)?],
        _ => {
            let tuples = results.iter().map(|item| match item {
                Item::Tuple(place) => Ok(objects.elements(*place)),
                _ => Err(other()),
            });
            let tuples = tuples.collect::<Result<Vec<_>>>()?;
            fields(&objects, types, &tuples)?
        }
    };
    Ok((columns, results.len()))
}

/// The columns of rows that a class made: a frame is a list of tuples of them, one tuple for each of its calls. Gives
/// how many rows each call made, too.
///
/// # Errors
/// As [`columns`]
pub(super) fn tables(
    frames: &[Bytes],
    types: &[&DataType],
    java_major: u32,
) -> Result<(Vec<ArrayRef>, Vec<usize>)> {
    let mut objects = Objects::new(java_major);
    let mut calls = Vec::new();
    for frame in frames {
        let Item::List(root) = objects.read(frame)? else {
            return Err(other());
        };
        calls.extend_from_slice(objects.elements(root));
    }
    // What is no row has nulls for its values.
    let nothing = vec![Item::None; types.len()];
    let (mut rows, mut counts) = (Vec::new(), Vec::with_capacity(calls.len()));
    for call in calls {
        let Item::Tuple(place) = call else {
            return Err(other());
        };
        let made = objects.elements(place);
        objects.copies(made.len().saturating_mul(Objects::ELEMENT))?;
        counts.push(made.len());
        for row in made {
            rows.push(match row {
                Item::Tuple(place) => objects.elements(*place),
                Item::None => &nothing[..],
                _ => return Err(other()),
            });
        }
    }
    Ok((fields(&objects, types.iter().copied(), &rows)?, counts))
}

/// Columns of a frame of rows, which are lists or tuples of so many values each, and the number of rows. Of each column
/// there is the place and the type. `java_major` is the version of Java that would read it, as in [`Objects::new`].
///
/// # Errors
/// As [`columns`]
pub(super) fn rows<'t>(
    frame: &[u8],
    width: usize,
    columns: impl Iterator<Item = (usize, &'t DataType)>,
    java_major: u32,
) -> Result<(Vec<ArrayRef>, usize)> {
    let mut objects = Objects::new(java_major);
    let (Item::List(root) | Item::Tuple(root)) = objects.read(frame)? else {
        return Err(other());
    };
    let rows = objects.elements(root).iter().map(|item| match item {
        Item::List(place) | Item::Tuple(place) => Ok(objects.elements(*place)),
        _ => Err(other()),
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    if rows.iter().any(|row| row.len() != width) {
        return Err(bail_out("a row of Python with another number of values"));
    }
    let columns = columns.map(|(place, of)| {
        // All have as many values.
        let values = rows.iter().filter_map(|row| row.get(place).copied());
        column(&objects, of, &values.collect::<Vec<_>>())
    });
    Ok((columns.collect::<Result<_>>()?, rows.len()))
}

/// The columns of rows.
fn fields<'t>(
    objects: &Objects<'_>,
    types: impl IntoIterator<Item = &'t DataType>,
    rows: &[&[Item<'_>]],
) -> Result<Vec<ArrayRef>> {
    let types: Vec<_> = types.into_iter().collect();
    if rows.iter().any(|row| row.len() != types.len()) {
        return Err(bail_out("a result of Python with another number of values"));
    }
    let columns = types.into_iter().enumerate().map(|(place, of)| {
        // All have as many values as there are types.
        let values = rows.iter().filter_map(|row| row.get(place).copied());
        column(objects, of, &values.collect::<Vec<_>>())
    });
    columns.collect()
}

fn integer(item: &Item<'_>) -> Option<i64> {
    match item {
        Item::Int(value) => Some(*value),
        _ => None,
    }
}

fn float(item: &Item<'_>) -> Option<f64> {
    match item {
        Item::Float(value) => Some(*value),
        _ => None,
    }
}

pub(super) fn column(objects: &Objects<'_>, of: &DataType, items: &[Item<'_>]) -> Result<ArrayRef> {
    let integers = items.iter().map(integer);
    let floats = items.iter().map(float);
    Ok(match of {
        DataType::Null => Arc::new(NullArray::new(items.len())),
        DataType::Boolean => {
            let truths = items.iter().map(|item| match item {
                Item::Bool(value) => Some(*value),
                _ => None,
            });
            Arc::new(truths.collect::<BooleanArray>())
        }
        // Java's casts cut off what does not fit.
        DataType::Byte => {
            let values = integers.map(|value| value.map(|value| value as i8));
            Arc::new(values.collect::<Int8Array>())
        }
        DataType::Short => {
            let values = integers.map(|value| value.map(|value| value as i16));
            Arc::new(values.collect::<Int16Array>())
        }
        DataType::Integer => {
            let values = integers.map(|value| value.map(|value| value as i32));
            Arc::new(values.collect::<Int32Array>())
        }
        DataType::Long => Arc::new(integers.collect::<Int64Array>()),
        DataType::Float => {
            let values = floats.map(|value| value.map(|value| value as f32));
            Arc::new(values.collect::<Float32Array>())
        }
        DataType::Double => Arc::new(floats.collect::<Float64Array>()),
        // What Java would have as a `Long` is none.
        DataType::Date => {
            let values = integers.map(|value| i32::try_from(value?).ok());
            Arc::new(values.collect::<Date32Array>())
        }
        DataType::Timestamp | DataType::TimestampNtz => {
            let values = integers.collect::<TimestampMicrosecondArray>();
            Arc::new(values.with_data_type(arrow_type(of)?))
        }
        DataType::String => texts(objects, items)?,
        DataType::Binary => {
            let values = items.iter().map(|item| {
                let bytes = match item {
                    Item::Bytes(bytes) => *bytes,
                    Item::Text(text) => text.as_bytes(),
                    _ => return Ok(None),
                };
                objects.copies(bytes.len())?;
                Ok(Some(bytes))
            });
            Arc::new(values.collect::<Result<BinaryViewArray>>()?)
        }
        DataType::Decimal(of) => decimals(*of, items)?,
        DataType::Array { element, .. } => lists(objects, element, items)?,
        DataType::Map { key, value, .. } => maps(objects, (of, key, value), items)?,
        DataType::Struct(fields) => structs(objects, of, fields, items)?,
        _ => return Err(other()),
    })
}

pub(super) fn arrow_type(of: &DataType) -> Result<ArrowType, DataFusionError> {
    of.to_arrow().map_err(|why| bail_out(why.to_string()))
}

/// What Java's `toString` makes of it.
fn texts(objects: &Objects<'_>, items: &[Item<'_>]) -> Result<ArrayRef> {
    let mut texts = StringViewBuilder::new();
    for item in items {
        match item {
            Item::None => texts.append_null(),
            Item::Text(text) => {
                objects.copies(text.len())?;
                texts.append_value(text);
            }
            Item::Bool(value) => texts.append_value(value.to_string()),
            Item::Int(value) => texts.append_value(value.to_string()),
            _ => return Err(bail_out("a result of Python that is no text")),
        }
    }
    Ok(Arc::new(texts.finish()))
}

fn lists(objects: &Objects<'_>, of: &DataType, items: &[Item<'_>]) -> Result<ArrayRef> {
    let elements = items.iter().map(|item| match item {
        Item::List(place) | Item::Tuple(place) => Ok(Some(objects.elements(*place))),
        // An array of Java's, too.
        Item::Bytes(_) => Err(other()),
        _ => Ok(None),
    });
    let elements = elements.collect::<Result<Vec<_>>>()?;
    let lengths = elements.iter().map(|list| list.map_or(0, <[_]>::len));
    for length in lengths.clone() {
        objects.copies(length.saturating_mul(Objects::ELEMENT))?;
    }
    let mut all = Vec::with_capacity(lengths.clone().sum());
    for list in elements.iter().flatten() {
        all.extend_from_slice(list);
    }
    let valid: NullBuffer = elements.iter().map(Option::is_some).collect();
    let values = column(objects, of, &all)?;
    let field = list_field(values.data_type().clone());
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        values,
        Some(valid),
    )?))
}

fn structs(
    objects: &Objects<'_>,
    of: &DataType,
    types: &[StructField],
    items: &[Item<'_>],
) -> Result<ArrayRef> {
    // What is null has nulls for its fields.
    let nulls = vec![Item::None; types.len()];
    let rows = items.iter().map(|item| match item {
        Item::Tuple(place) => Ok(objects.elements(*place)),
        // An array of Java's, as tuples are.
        Item::Bytes(_) => Err(other()),
        _ => Ok(&nulls[..]),
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let columns = fields(objects, types.iter().map(|field| &field.data_type), &rows)?;
    let ArrowType::Struct(of) = arrow_type(of)? else {
        return Err(other());
    };
    let valid = items.iter().map(|item| matches!(item, Item::Tuple(_)));
    let valid = valid.collect::<NullBuffer>();
    Ok(Arc::new(StructArray::try_new(of, columns, Some(valid))?))
}

fn decimals(of: Decimal, items: &[Item<'_>]) -> Result<ArrayRef> {
    let values = items.iter().map(|item| match item {
        Item::Decimal(text) => match unscaled(text, of) {
            Some(value) => Ok(Some(value)),
            None => Err(bail_out("a decimal of Python that does not fit")),
        },
        _ => Ok(None),
    });
    let values = values.collect::<Result<Decimal128Array>>()?;
    let values = values.with_precision_and_scale(of.precision, of.scale)?;
    Ok(Arc::new(values))
}

/// The digits of a decimal at a scale, half up; `None` if there are too many, or it is no number.
fn unscaled(text: &str, of: Decimal) -> Option<i128> {
    if text.len() > MAX_DECIMAL {
        return None;
    }
    let (digits, exponent) = match text.split_once(['E', 'e']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, digits),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // How many digits behind the point there are, and how many are too many or are missing.
    let places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let too_many = usize::try_from(places.checked_sub(of.scale.into())?.max(0)).ok()?;
    let missing = u32::try_from(i32::from(of.scale).checked_sub(places)?.max(0)).ok()?;
    let count = whole.len() + fraction.len();
    let (mut value, mut round_up) = (0_i128, false);
    for (place, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if !digit.is_ascii_digit() {
            return None;
        }
        let left = count - place;
        if left > too_many {
            value = value.checked_mul(10)?.checked_add((digit - b'0').into())?;
        } else if left == too_many {
            round_up = digit >= b'5';
        }
    }
    value = value.checked_add(round_up.into())?;
    if value != 0 {
        value = value.checked_mul(10_i128.checked_pow(missing)?)?;
    }
    let limit = 10_i128.checked_pow(of.precision.into())?;
    (value < limit).then_some(if negative { -value } else { value })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "results_tests.rs"]
mod tests;
