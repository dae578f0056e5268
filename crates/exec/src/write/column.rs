//! Columns as they are kept in Parquet files.

use std::sync::Arc;

use arrow::array::types::{
    Date32Type, DurationMicrosecondType, Float32Type, Float64Type, IntervalYearMonthType,
    Time64NanosecondType, TimestampMicrosecondType,
};
use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeBinaryBuilder, Int32Array, Int64Array, ListArray, MapArray,
    PrimitiveArray, StructArray, Time64MicrosecondArray, TimestampMillisecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowPrimitiveType, DataType as ArrowType, FieldRef, TimeUnit};
use datafusion_common::Result;
use rows::error::bail_out;

use super::schema::INT96_BYTES;

/// 1582-10-15, the first day of the Gregorian calendar, in days since 1970.
const FIRST_GREGORIAN_DAY: i32 = -141_427;

/// 1901-01-01 in microseconds since 1970: some time before that, the last time zone has the same times in both
/// calendars (`RebaseDateTime.lastSwitchGregorianTs`).
const FIRST_COMMON_MICROS: i64 = -2_177_452_800_000_000;

/// 1970-01-01 as a Julian day.
const JULIAN_EPOCH: i64 = 2_440_588;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// What is done with dates and timestamps of times when there were two calendars.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar {
    /// Whether dates and timestamps of 64 bits are refused: `spark.sql.parquet.datetimeRebaseModeInWrite`.
    pub(super) refuses: bool,
    /// The same of timestamps of 96 bits: `spark.sql.parquet.int96RebaseModeInWrite`.
    pub(super) refuses_int96: bool,
}

/// A column as it is kept in files.
///
/// # Errors
/// Bail-outs: a value that Spark refuses, or a null where none was promised.
pub(super) fn of_file(array: &ArrayRef, field: &FieldRef, calendar: Calendar) -> Result<ArrayRef> {
    let kept: ArrayRef = match (array.data_type(), field.data_type()) {
        (ArrowType::List(_), ArrowType::List(element)) => {
            let list = array.as_list::<i32>();
            let (offsets, values) = used(list.offsets(), list.values());
            let values = of_file(&values, element, calendar)?;
            let nulls = list.nulls().cloned();
            Arc::new(ListArray::try_new(
                Arc::clone(element),
                offsets,
                values,
                nulls,
            )?)
        }
        (ArrowType::Map(..), ArrowType::Map(entries, _)) => {
            let map = array.as_map();
            let all: ArrayRef = Arc::new(map.entries().clone());
            let (offsets, all) = used(map.offsets(), &all);
            let all = of_file(&all, entries, calendar)?;
            let nulls = map.nulls().cloned();
            Arc::new(MapArray::try_new(
                Arc::clone(entries),
                offsets,
                all.as_struct().clone(),
                nulls,
                false,
            )?)
        }
        (ArrowType::Struct(_), ArrowType::Struct(fields)) => {
            let whole = array.as_struct();
            let columns = whole.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| of_file(column, field, calendar));
            Arc::new(StructArray::try_new(
                fields.clone(),
                columns.collect::<Result<_>>()?,
                whole.nulls().cloned(),
            )?)
        }
        _ => leaf(array, field.data_type(), calendar)?,
    };
    match kept.data_type() == field.data_type() {
        true => Ok(kept),
        false => Err(bail_out("a written column of another type")),
    }
}

/// Offsets from 0 on, and the values that they are of.
fn used(offsets: &OffsetBuffer<i32>, values: &ArrayRef) -> (OffsetBuffer<i32>, ArrayRef) {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return (offsets.clone(), Arc::clone(values));
    };
    let (Ok(start), Ok(length)) = (
        usize::try_from(*first),
        usize::try_from(last.saturating_sub(*first)),
    ) else {
        return (offsets.clone(), Arc::clone(values));
    };
    if start == 0 && length == values.len() {
        return (offsets.clone(), Arc::clone(values));
    }
    let moved: Vec<_> = offsets.iter().map(|offset| offset - first).collect();
    let moved = OffsetBuffer::new(moved.into());
    (moved, values.slice(start, length))
}

fn leaf(array: &ArrayRef, to: &ArrowType, calendar: Calendar) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        ArrowType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            if calendar.refuses && any(days, |day| day < FIRST_GREGORIAN_DAY) {
                return Err(ancient("dates"));
            }
            Arc::clone(array)
        }
        ArrowType::Interval(_) => {
            let months = array.as_primitive::<IntervalYearMonthType>();
            Arc::new(Int32Array::new(
                months.values().clone(),
                months.nulls().cloned(),
            ))
        }
        ArrowType::Duration(_) => {
            let micros = array.as_primitive::<DurationMicrosecondType>();
            Arc::new(Int64Array::new(
                micros.values().clone(),
                micros.nulls().cloned(),
            ))
        }
        // What is less than a microsecond is cut off.
        ArrowType::Time64(_) if matches!(to, ArrowType::Time64(TimeUnit::Microsecond)) => {
            let nanos = array.as_primitive::<Time64NanosecondType>();
            let micros: Time64MicrosecondArray = nanos.unary(|nanos| nanos.div_euclid(1000));
            Arc::new(micros)
        }
        ArrowType::Timestamp(_, Some(_)) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>();
            let int96 = matches!(to, ArrowType::FixedSizeBinary(_));
            let refuses = match int96 {
                true => calendar.refuses_int96,
                false => calendar.refuses,
            };
            if refuses && any(micros, |micros| micros < FIRST_COMMON_MICROS) {
                return Err(ancient("timestamps"));
            }
            match to {
                ArrowType::FixedSizeBinary(_) => int96_of(micros)?,
                ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
                    let millis: TimestampMillisecondArray =
                        micros.unary(|micros| micros.div_euclid(1000));
                    Arc::new(millis.with_timezone("UTC"))
                }
                _ => Arc::clone(array),
            }
        }
        _ => Arc::clone(array),
    })
}

fn ancient(what: &str) -> datafusion_common::DataFusionError {
    bail_out(format!(
        "a write of {what} of times when there were two calendars"
    ))
}

fn any<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, is: impl Fn(T::Native) -> bool) -> bool {
    match array.null_count() {
        0 => array.values().iter().any(|value| is(*value)),
        _ => array.iter().flatten().any(is),
    }
}

/// `DateTimeUtils.toJulianDay`: nanoseconds of the day, then the day, both with their lowest byte first.
fn int96_of(micros: &PrimitiveArray<TimestampMicrosecondType>) -> Result<ArrayRef> {
    let mut out = FixedSizeBinaryBuilder::with_capacity(micros.len(), INT96_BYTES);
    for micros in micros {
        let Some(micros) = micros else {
            out.append_null();
            continue;
        };
        let since = micros.checked_add(JULIAN_EPOCH * MICROS_PER_DAY);
        let since = since.filter(|since| *since >= 0);
        let since = since.ok_or_else(|| bail_out("a timestamp before the first Julian day"))?;
        let day = i32::try_from(since / MICROS_PER_DAY)
            .map_err(|_| bail_out("a timestamp after the last Julian day"))?;
        let nanos = since % MICROS_PER_DAY * 1000;
        let mut bytes = [0; INT96_BYTES as usize];
        let parts = nanos.to_le_bytes().into_iter().chain(day.to_le_bytes());
        bytes
            .iter_mut()
            .zip(parts)
            .for_each(|(to, byte)| *to = byte);
        out.append_value(bytes)?;
    }
    Ok(Arc::new(out.finish()))
}

/// Adds the leaves of a column, in the order of those of the file.
pub(super) fn leaves<'a>(array: &'a ArrayRef, out: &mut Vec<&'a ArrayRef>) {
    match array.data_type() {
        ArrowType::List(_) => leaves(array.as_list::<i32>().values(), out),
        ArrowType::Map(..) => {
            for column in array.as_map().entries().columns() {
                leaves(column, out);
            }
        }
        ArrowType::Struct(_) => {
            for column in array.as_struct().columns() {
                leaves(column, out);
            }
        }
        _ => out.push(array),
    }
}

/// Whether a leaf has a NaN.
pub(super) fn has_nan(leaf: &ArrayRef) -> bool {
    match leaf.data_type() {
        ArrowType::Float32 => any(leaf.as_primitive::<Float32Type>(), f32::is_nan),
        ArrowType::Float64 => any(leaf.as_primitive::<Float64Type>(), f64::is_nan),
        _ => false,
    }
}
