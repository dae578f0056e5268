//! Casts from strings.

use std::sync::Arc;

use arrow::array::{ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringViewArray};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time64NanosecondType, TimestampMicrosecondType,
};
use datafusion_physical_expr::PhysicalExpr;

use super::{Casting, time_of_day, timestamp};
use crate::expr::arithmetic::otherwise;
use crate::expr::java::{parse_decimal, parse_double, parse_integer, trim_all};
use crate::expr::kernel::{Kernel, Otherwise, single};
use catalyst::DataType;
use catalyst::Unsupported;
use javatime::calendar::Civil;
use rows::error::bail_out;

const INVALID: &str = "a string that is no value of the type";
const UNKNOWN: &str = "a string that may be a value of the type";

/// The bytes of a string.
pub(super) fn to_binary(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let child = vec![Arc::clone(&casting.child)];
    let run = |args: &[_], _| {
        let array = single(args)?.string()?;
        Ok(Arc::new(array.clone().to_binary_view()) as _)
    };
    Ok(Kernel::strict(
        casting.name(),
        child,
        ArrowType::BinaryView,
        run,
    ))
}

/// What a text is: a value, none (`Ok(None)`), or something that only Spark knows.
pub(crate) type Parsed<T> = Result<Option<T>, ()>;

fn primitive<T: ArrowPrimitiveType>(
    casting: &Casting<'_>,
    parse: impl Fn(&str) -> Parsed<T::Native> + Send + Sync + 'static,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let of = casting.arrow()?;
    let otherwise = otherwise(Some(casting.mode), INVALID);
    let child = vec![Arc::clone(&casting.child)];
    Ok(Kernel::strict(
        casting.name(),
        child,
        of.clone(),
        move |args, _| {
            let values = parse_all(single(args)?.string()?, otherwise, &parse)?;
            let values: PrimitiveArray<T> = values.into_iter().collect();
            Ok(Arc::new(values.with_data_type(of.clone())))
        },
    ))
}

fn parse_all<T>(
    array: &StringViewArray,
    otherwise: Otherwise,
    parse: impl Fn(&str) -> Parsed<T>,
) -> datafusion_common::Result<Vec<Option<T>>> {
    array
        .iter()
        .map(|text| match text.map(&parse) {
            None => Ok(None),
            Some(Ok(Some(value))) => Ok(Some(value)),
            Some(Ok(None)) => match otherwise {
                Otherwise::Null => Ok(None),
                Otherwise::Fail(reason) => Err(bail_out(reason)),
            },
            Some(Err(())) => Err(bail_out(UNKNOWN)),
        })
        .collect()
}

/// A cast from a string.
pub(super) fn lower(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    let exact = casting.ansi();
    // Bounds were checked.
    #[allow(clippy::cast_possible_truncation)]
    match casting.to {
        T::Boolean => boolean(casting),
        T::Byte => primitive::<Int8Type>(casting, move |text| {
            let value = parse_integer(text.as_bytes(), exact, i8::MIN.into(), i8::MAX.into());
            Ok(value.map(|value| value as i8))
        }),
        T::Short => primitive::<Int16Type>(casting, move |text| {
            let value = parse_integer(text.as_bytes(), exact, i16::MIN.into(), i16::MAX.into());
            Ok(value.map(|value| value as i16))
        }),
        T::Integer => primitive::<Int32Type>(casting, move |text| {
            let value = parse_integer(text.as_bytes(), exact, i32::MIN.into(), i32::MAX.into());
            Ok(value.map(|value| value as i32))
        }),
        T::Long => primitive::<Int64Type>(casting, move |text| {
            Ok(parse_integer(text.as_bytes(), exact, i64::MIN, i64::MAX))
        }),
        T::Float => primitive::<Float32Type>(casting, parse_double),
        T::Double => primitive::<Float64Type>(casting, parse_double),
        T::Decimal(to) => {
            let to = *to;
            primitive::<Decimal128Type>(casting, move |text| {
                parse_decimal(text, to.scale, to.precision)
            })
        }
        T::Date => primitive::<Date32Type>(casting, |text| Ok(parse_date(text.as_bytes()))),
        T::Timestamp => {
            let zone = casting.zone()?;
            primitive::<TimestampMicrosecondType>(casting, move |text| {
                timestamp::parse(text, &zone)
            })
        }
        T::TimestampNtz => primitive::<TimestampMicrosecondType>(casting, timestamp::parse_local),
        T::Time(precision) => {
            let digits = *precision;
            primitive::<Time64NanosecondType>(casting, move |text| time_of_day::parse(text, digits))
        }
        _ => Err(casting.refuse()),
    }
}

fn boolean(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let otherwise = otherwise(Some(casting.mode), INVALID);
    let child = vec![Arc::clone(&casting.child)];
    let parse = |text: &str| {
        let text = trim_all(text.as_bytes()).to_ascii_lowercase();
        Ok(match text.as_slice() {
            b"t" | b"true" | b"y" | b"yes" | b"1" => Some(true),
            b"f" | b"false" | b"n" | b"no" | b"0" => Some(false),
            // The Kelvin sign is a k in lower case, but there is none in these words.
            _ => None,
        })
    };
    Ok(Kernel::strict(
        casting.name(),
        child,
        ArrowType::Boolean,
        move |args, _| {
            let values = parse_all(single(args)?.string()?, otherwise, parse)?;
            Ok(Arc::new(values.into_iter().collect::<BooleanArray>()))
        },
    ))
}

/// `[+-]yyyy[-m[m][-d[d][T or space, and anything]]]`, as `stringToDate`.
pub(in super::super) fn parse_date(text: &[u8]) -> Option<i32> {
    let text = trim_all(text);
    let (sign, text) = match text.split_first()? {
        (b'-', rest) => (-1, rest),
        (b'+', rest) => (1, rest),
        _ => (1, text),
    };
    let mut segments = [1, 1, 1];
    let mut segment = 0;
    let (mut value, mut digits) = (0i32, 0);
    let valid = |segment: usize, digits: usize| match segment {
        0 => (4..=7).contains(&digits),
        _ => (1..=2).contains(&digits),
    };
    let mut rest = text.iter();
    let mut ended = true;
    for byte in rest.by_ref() {
        match byte {
            b' ' | b'T' => {
                ended = false;
                break;
            }
            b'-' if segment < 2 => {
                if !valid(segment, digits) {
                    return None;
                }
                *segments.get_mut(segment)? = value;
                segment += 1;
                (value, digits) = (0, 0);
            }
            b'0'..=b'9' => {
                value = value.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
                digits += 1;
            }
            _ => return None,
        }
    }
    if !valid(segment, digits) || (segment < 2 && !ended) {
        return None;
    }
    *segments.get_mut(segment)? = value;
    let [year, month, day] = segments;
    Civil::new(sign * year, month, day)?.days()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_may_be_partial_or_have_a_tail() {
        let date = |text: &str| parse_date(text.as_bytes());
        assert_eq!(date("1970-01-02"), Some(1));
        assert_eq!(date(" 1970-1-2 "), Some(1));
        assert_eq!(date("1970"), Some(0));
        assert_eq!(date("1970-02"), Some(31));
        assert_eq!(date("1970-01-02T10:00"), Some(1));
        assert_eq!(date("1970-01-02 x"), Some(1));
        assert_eq!(date("1970-01T"), None);
        assert_eq!(date("1970-02-30"), None);
        assert_eq!(date("70-01-01"), None);
        assert_eq!(date("-0001-01-01"), date("-1-1-1").or(Some(-719_893)));
        assert_eq!(date(""), None);
        assert_eq!(date("1970-01-02-03"), None);
    }
}
