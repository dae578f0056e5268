//! Spark's `Murmur3Hash`: Murmur3 with a tail of its own.

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType,
    Time64NanosecondType, TimestampMicrosecondType,
};
use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType as ArrowType, IntervalUnit, TimeUnit};
use datafusion_common::Result;

use javaser::murmur3::{hash_bytes, hash_int, hash_long};

use super::encode::big_integer;
use crate::error::bail_out;
use catalyst::MAX_LONG_DIGITS;

/// Seed of `Murmur3Hash` where nobody says another.
pub const SEED: i32 = 42;

/// `Murmur3Hash` of the columns of each row.
///
/// # Errors
/// Bail-out: a column has a type that is not hashed natively.
pub fn hash_columns(columns: &[ArrayRef], rows: usize, seed: i32) -> Result<Vec<i32>> {
    let mut hashes = vec![seed as u32; rows];
    for column in columns {
        if column.len() != rows {
            return Err(bail_out("columns of different lengths"));
        }
        fold(column.as_ref(), &mut hashes)?;
    }
    Ok(hashes.into_iter().map(|hash| hash as i32).collect())
}

/// Whether [`hash_columns`] knows the type.
#[must_use]
pub fn is_hashed(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Null
        | ArrowType::Boolean
        | ArrowType::Int8
        | ArrowType::Int16
        | ArrowType::Int32
        | ArrowType::Int64
        | ArrowType::Float32
        | ArrowType::Float64
        | ArrowType::Decimal128(..)
        | ArrowType::Utf8View
        | ArrowType::BinaryView
        | ArrowType::Date32
        | ArrowType::Timestamp(TimeUnit::Microsecond, _)
        | ArrowType::Duration(TimeUnit::Microsecond)
        | ArrowType::Time64(TimeUnit::Nanosecond)
        | ArrowType::Interval(IntervalUnit::YearMonth) => true,
        ArrowType::Struct(fields) => fields.iter().all(|field| is_hashed(field.data_type())),
        ArrowType::List(element) => is_hashed(element.data_type()),
        // Spark hashes maps only if it is told to.
        _ => false,
    }
}

/// The hash so far is the seed of the next column; nulls leave it as it is.
fn fold(column: &dyn Array, hashes: &mut [u32]) -> Result<()> {
    match column.data_type() {
        ArrowType::Null => {}
        ArrowType::Boolean => {
            let values = column.as_boolean();
            each(column, hashes, |row, seed| {
                hash_int(u32::from(values.value(row)), seed)
            });
        }
        ArrowType::Int8 => ints::<Int8Type>(column, hashes, |v| i32::from(v) as u32),
        ArrowType::Int16 => ints::<Int16Type>(column, hashes, |v| i32::from(v) as u32),
        ArrowType::Int32 => ints::<Int32Type>(column, hashes, |v| v as u32),
        ArrowType::Date32 => ints::<Date32Type>(column, hashes, |v| v as u32),
        ArrowType::Interval(IntervalUnit::YearMonth) => {
            ints::<IntervalYearMonthType>(column, hashes, |v| v as u32);
        }
        ArrowType::Int64 => longs::<Int64Type>(column, hashes, |v| v as u64),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            longs::<TimestampMicrosecondType>(column, hashes, |v| v as u64);
        }
        ArrowType::Duration(TimeUnit::Microsecond) => {
            longs::<DurationMicrosecondType>(column, hashes, |v| v as u64);
        }
        ArrowType::Time64(TimeUnit::Nanosecond) => {
            longs::<Time64NanosecondType>(column, hashes, |v| v as u64);
        }
        ArrowType::Float32 => ints::<Float32Type>(column, hashes, float_bits),
        ArrowType::Float64 => longs::<Float64Type>(column, hashes, double_bits),
        ArrowType::Decimal128(precision, _) if *precision <= MAX_LONG_DIGITS => {
            longs::<Decimal128Type>(column, hashes, |v| v as u64);
        }
        ArrowType::Decimal128(..) => {
            let values = column.as_primitive::<Decimal128Type>();
            each(column, hashes, |row, seed| {
                hash_bytes(big_integer(&values.value(row).to_be_bytes()), seed)
            });
        }
        ArrowType::Utf8View => {
            let values = column.as_string_view();
            each(column, hashes, |row, seed| {
                hash_bytes(values.value(row).as_bytes(), seed)
            });
        }
        ArrowType::BinaryView => {
            let values = column.as_binary_view();
            each(column, hashes, |row, seed| {
                hash_bytes(values.value(row), seed)
            });
        }
        ArrowType::Struct(_) => {
            let of = column.as_struct();
            let mut own = hashes.to_vec();
            for field in of.columns() {
                fold(field.as_ref(), &mut own)?;
            }
            each(column, hashes, |row, seed| {
                own.get(row).copied().unwrap_or(seed)
            });
        }
        ArrowType::List(_) => fold_lists(column.as_list(), hashes)?,
        other => return Err(bail_out(format!("a hash of {other}"))),
    }
    Ok(())
}

/// An element's hash is the seed of the next: first elements of all rows first.
fn fold_lists(lists: &ListArray, hashes: &mut [u32]) -> Result<()> {
    let offsets = lists.value_offsets();
    for place in 0.. {
        let (mut rows, mut elements, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (ends, seed)) in offsets.windows(2).zip(&*hashes).enumerate() {
            // Offsets are not negative.
            if let [start, end] = *ends
                && place < end - start
                && lists.is_valid(row)
            {
                rows.push(row);
                elements.push((start + place) as u32);
                own.push(*seed);
            }
        }
        if rows.is_empty() {
            break;
        }
        let elements = take(lists.values(), &UInt32Array::from(elements), None)?;
        fold(elements.as_ref(), &mut own)?;
        for (row, hash) in rows.into_iter().zip(own) {
            if let Some(kept) = hashes.get_mut(row) {
                *kept = hash;
            }
        }
    }
    Ok(())
}

#[inline]
fn each(column: &dyn Array, hashes: &mut [u32], hash: impl Fn(usize, u32) -> u32) {
    match column.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (row, seed) in hashes.iter_mut().enumerate() {
                *seed = hash(row, *seed);
            }
        }
        Some(nulls) => {
            for (row, seed) in hashes.iter_mut().enumerate() {
                if nulls.is_valid(row) {
                    *seed = hash(row, *seed);
                }
            }
        }
    }
}

fn ints<T: ArrowPrimitiveType>(
    column: &dyn Array,
    hashes: &mut [u32],
    bits: impl Fn(T::Native) -> u32,
) {
    let values = column.as_primitive::<T>();
    each(column, hashes, |row, seed| {
        hash_int(bits(values.value(row)), seed)
    });
}

fn longs<T: ArrowPrimitiveType>(
    column: &dyn Array,
    hashes: &mut [u32],
    bits: impl Fn(T::Native) -> u64,
) {
    let values = column.as_primitive::<T>();
    each(column, hashes, |row, seed| {
        hash_long(bits(values.value(row)), seed)
    });
}

/// As `Float.floatToIntBits`, with one zero.
pub fn float_bits(value: f32) -> u32 {
    match value {
        _ if value == 0.0 => 0,
        _ if value.is_nan() => 0x7fc0_0000,
        _ => value.to_bits(),
    }
}

/// As `Double.doubleToLongBits`, with one zero.
pub fn double_bits(value: f64) -> u64 {
    match value {
        _ if value == 0.0 => 0,
        _ if value.is_nan() => 0x7ff8_0000_0000_0000,
        _ => value.to_bits(),
    }
}
