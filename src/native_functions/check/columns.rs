//! Columns of odd values, to try functions with.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray,
    TimestampMicrosecondArray, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Fields};
use fastrand::Rng;

/// What columns are like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) rows: usize,
    /// Whether a third of the values is null.
    pub(super) nulls: bool,
    /// Whether values are the least, the largest and other odd ones; else they are small.
    pub(super) odd: bool,
}

/// Microseconds of the years 1 to 9999.
const MICROS: std::ops::Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;

/// A column of a type that signatures can name.
///
/// # Errors
/// It is another type.
pub(super) fn column(of: &DataType, like: Column, rng: &mut Rng) -> Result<ArrayRef, String> {
    let rows = like.rows;
    let nulls = (0..rows).map(|_| !like.nulls || rng.u8(..3) > 0);
    let nulls: Vec<bool> = nulls.collect();
    let mut whole = |least: i64, most: i64| -> Vec<Option<i64>> {
        let value = |valid: &bool| {
            let odd = [least, most, 0, -1, 1];
            let value = match like.odd && rng.bool() {
                true => *rng.choice(&odd).unwrap_or(&0),
                false => rng.i64(0..10),
            };
            valid.then_some(value.clamp(least, most))
        };
        nulls.iter().map(value).collect()
    };
    macro_rules! integers {
        ($array:ident, $native:ty) => {{
            let values = whole(i64::from(<$native>::MIN), i64::from(<$native>::MAX)).into_iter();
            // In range.
            let values =
                values.map(|value| value.and_then(|value| <$native>::try_from(value).ok()));
            Arc::new(values.collect::<$array>())
        }};
    }
    Ok(match of {
        DataType::Null => new_null_array(of, rows),
        DataType::Boolean => {
            let values = whole(0, 1)
                .into_iter()
                .map(|value| value.map(|value| value == 1));
            Arc::new(values.collect::<BooleanArray>())
        }
        DataType::Int8 => integers!(Int8Array, i8),
        DataType::Int16 => integers!(Int16Array, i16),
        DataType::Int32 => integers!(Int32Array, i32),
        DataType::Int64 => Arc::new(
            whole(i64::MIN, i64::MAX)
                .into_iter()
                .collect::<Int64Array>(),
        ),
        DataType::Float32 => {
            let values = doubles(&nulls, like, rng).into_iter();
            #[allow(clippy::cast_possible_truncation)]
            let values = values.map(|value| value.map(|value| value as f32));
            Arc::new(values.collect::<Float32Array>())
        }
        DataType::Float64 => Arc::new(Float64Array::from(doubles(&nulls, like, rng))),
        DataType::Decimal128(precision, scale) => {
            let most = 10_i128.pow(u32::from((*precision).min(38))) - 1;
            let value = |valid: &bool| {
                let value = match like.odd && rng.bool() {
                    true => *rng.choice(&[most, -most, 0, 1]).unwrap_or(&0),
                    false => rng.i128(0..10),
                };
                valid.then_some(value.clamp(-most, most))
            };
            let values: Decimal128Array = nulls.iter().map(value).collect();
            let values = values.with_precision_and_scale(*precision, *scale);
            Arc::new(values.map_err(|why| why.to_string())?)
        }
        DataType::Utf8 => Arc::new(
            texts(&nulls, like, rng)
                .into_iter()
                .collect::<StringArray>(),
        ),
        DataType::Binary => {
            let bytes = |text: Option<String>| {
                let mut bytes = text?.into_bytes();
                bytes.extend([0, 255].iter().filter(|_| like.odd));
                Some(bytes)
            };
            let values = texts(&nulls, like, rng).into_iter().map(bytes);
            Arc::new(values.collect::<BinaryArray>())
        }
        // Years 1 to 9999.
        DataType::Date32 => {
            let values = whole(-719_162, 2_932_896).into_iter();
            let values = values.map(|value| value.and_then(|value| i32::try_from(value).ok()));
            Arc::new(values.collect::<Date32Array>())
        }
        DataType::Timestamp(_, zone) => {
            let values = whole(MICROS.start, MICROS.end - 1).into_iter();
            let values: TimestampMicrosecondArray = values.collect();
            Arc::new(values.with_timezone_opt(zone.clone()))
        }
        DataType::Struct(fields) => {
            let columns = columns(fields, like, rng)?;
            let nulls = Some(NullBuffer::from(nulls));
            let made = StructArray::try_new_with_length(fields.clone(), columns, nulls, rows);
            Arc::new(made.map_err(|why| why.to_string())?)
        }
        DataType::List(field) => {
            let (offsets, values) = lengths(&nulls, rng);
            let values = column(
                field.data_type(),
                Column {
                    rows: values,
                    ..like
                },
                rng,
            )?;
            let (field, nulls) = (Arc::clone(field), Some(NullBuffer::from(nulls)));
            let made = ListArray::try_new(field, offsets, values, nulls);
            Arc::new(made.map_err(|why| why.to_string())?)
        }
        DataType::Map(field, _) => maps(field, &nulls, like, rng)?,
        other => return Err(format!("no values of {other}")),
    })
}

/// A column for each field.
///
/// # Errors
/// As [`column`]
pub(super) fn columns(
    fields: &Fields,
    like: Column,
    rng: &mut Rng,
) -> Result<Vec<ArrayRef>, String> {
    let columns = fields.iter();
    columns
        .map(|field| column(field.data_type(), like, rng))
        .collect()
}

/// Maps with keys that are not null, and differ.
fn maps(
    field: &Arc<arrow::datatypes::Field>,
    nulls: &[bool],
    like: Column,
    rng: &mut Rng,
) -> Result<ArrayRef, String> {
    let DataType::Struct(entry) = field.data_type() else {
        return Err("no maps without entries".to_owned());
    };
    let [key, value] = &entry[..] else {
        return Err("no maps of other entries".to_owned());
    };
    // One entry at most, so that keys differ.
    let lengths: Vec<usize> = nulls
        .iter()
        .map(|valid| usize::from(*valid && rng.bool()))
        .collect();
    let rows = lengths.iter().sum();
    let keys = Column {
        rows,
        nulls: false,
        ..like
    };
    let entries = vec![
        column(key.data_type(), keys, rng)?,
        column(value.data_type(), Column { rows, ..like }, rng)?,
    ];
    let entries = StructArray::try_new_with_length(entry.clone(), entries, None, rows);
    let entries = entries.map_err(|why| why.to_string())?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    let nulls = Some(NullBuffer::from(nulls.to_vec()));
    let made = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, false);
    made.map(|made| Arc::new(made) as ArrayRef)
        .map_err(|why| why.to_string())
}

/// Offsets of short lists, and how many values they have together.
fn lengths(nulls: &[bool], rng: &mut Rng) -> (OffsetBuffer<i32>, usize) {
    let lengths = nulls
        .iter()
        .map(|valid| if *valid { rng.usize(..4) } else { 0 });
    let lengths: Vec<usize> = lengths.collect();
    let sum = lengths.iter().sum();
    (OffsetBuffer::from_lengths(lengths), sum)
}

fn doubles(nulls: &[bool], like: Column, rng: &mut Rng) -> Vec<Option<f64>> {
    const ODD: [f64; 9] = [
        f64::NAN,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        -1e300,
    ];
    let value = |valid: &bool| {
        let value = match like.odd && rng.bool() {
            true => *rng.choice(&ODD).unwrap_or(&0.0),
            false => rng.f64() * 10.0,
        };
        valid.then_some(value)
    };
    nulls.iter().map(value).collect()
}

fn texts(nulls: &[bool], like: Column, rng: &mut Rng) -> Vec<Option<String>> {
    const ODD: [&str; 6] = ["", " ", "\u{0}", "ünïcödé \u{1f525}", "e\u{301}", "a\nb\tc"];
    let value = |valid: &bool| {
        let value = match like.odd && rng.bool() {
            true => (*rng.choice(&ODD).unwrap_or(&"")).to_owned(),
            false => (0..rng.usize(1..12)).map(|_| rng.lowercase()).collect(),
        };
        valid.then_some(value)
    };
    nulls.iter().map(value).collect()
}
