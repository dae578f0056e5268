//! Casts to strings.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrowPrimitiveType, StringViewBuilder};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time64NanosecondType, TimestampMicrosecondType,
};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::{Casting, time_of_day};
use crate::expr::java::JavaDouble;
use crate::expr::kernel::{Kernel, single};
use catalyst::DataType;
use catalyst::Unsupported;
use javatime::Zone;
use javatime::calendar::{Civil, SECOND, split};
use rows::error::bail_out;

/// Writes a value; what is not known to be written as Spark does is bailed out of.
type Write<T> = fn(T, &mut String) -> RunResult<()>;

fn primitive<T: ArrowPrimitiveType>(
    casting: &Casting<'_>,
    write: impl Fn(T::Native, &mut String) -> RunResult<()> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    let child = vec![Arc::clone(&casting.child)];
    Kernel::strict(
        casting.name(),
        child,
        ArrowType::Utf8View,
        move |args, _| {
            let array = single(args)?.primitive::<T>()?;
            let mut builder = StringViewBuilder::with_capacity(array.len());
            let mut text = String::new();
            for value in array {
                match value {
                    None => builder.append_null(),
                    Some(value) => {
                        text.clear();
                        write(value, &mut text)?;
                        builder.append_value(&text);
                    }
                }
            }
            Ok(Arc::new(builder.finish()))
        },
    )
}

fn display<T: std::fmt::Display>(value: T, text: &mut String) -> RunResult<()> {
    // Writing to a string does not fail.
    let _ = write!(text, "{value}");
    Ok(())
}

/// A cast to a string.
pub(super) fn lower(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    Ok(match casting.from {
        T::Boolean => {
            let child = vec![Arc::clone(&casting.child)];
            Kernel::strict(casting.name(), child, ArrowType::Utf8View, |args, _| {
                let array = single(args)?.boolean()?;
                let mut builder = StringViewBuilder::with_capacity(array.len());
                for value in array {
                    builder.append_option(value.map(|v| if v { "true" } else { "false" }));
                }
                Ok(Arc::new(builder.finish()))
            })
        }
        T::Binary => {
            let child = vec![Arc::clone(&casting.child)];
            Kernel::strict(casting.name(), child, ArrowType::Utf8View, |args, _| {
                let bytes = single(args)?.binary()?.clone();
                let texts = bytes.to_string_view();
                Ok(Arc::new(
                    texts.map_err(|_| bail_out("bytes that are no text"))?,
                ))
            })
        }
        T::Byte => primitive::<Int8Type>(casting, display as Write<i8>),
        T::Short => primitive::<Int16Type>(casting, display as Write<i16>),
        T::Integer => primitive::<Int32Type>(casting, display as Write<i32>),
        T::Long => primitive::<Int64Type>(casting, display as Write<i64>),
        T::Float => primitive::<Float32Type>(casting, |value, text| {
            float(f64::from(value), text, || JavaDouble::of_float(value))
        }),
        T::Double => primitive::<Float64Type>(casting, |value, text| {
            float(value, text, || JavaDouble::of(value))
        }),
        T::Decimal(from) => {
            let (scale, plain) = (from.scale, casting.ansi());
            primitive::<Decimal128Type>(casting, move |digits, text| {
                decimal(digits, scale, plain, text);
                Ok(())
            })
        }
        T::Date => primitive::<Date32Type>(casting, date as Write<i32>),
        T::Timestamp => {
            let zone = casting.zone()?;
            primitive::<TimestampMicrosecondType>(casting, move |micros, text| {
                timestamp(micros, &zone, text)
            })
        }
        T::Time(_) => primitive::<Time64NanosecondType>(casting, time_of_day::write),
        T::TimestampNtz => primitive::<TimestampMicrosecondType>(casting, |micros, text| {
            timestamp(micros, &Zone::UTC, text)
        }),
        _ => return Err(casting.refuse()),
    })
}

/// A float, as Java's `toString`.
pub(in super::super) fn float(
    value: f64,
    text: &mut String,
    digits: impl Fn() -> Option<JavaDouble>,
) -> RunResult<()> {
    if value.is_nan() {
        text.push_str("NaN");
    } else if value.is_infinite() {
        text.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    } else {
        let digits = digits();
        let digits = digits.ok_or_else(|| bail_out("a float that Javas write differently"))?;
        text.push_str(&digits.text());
    }
    Ok(())
}

/// As `BigDecimal.toPlainString`, or as `toString`, which has exponents for small numbers.
pub(in super::super) fn decimal(digits: i128, scale: i8, plain: bool, text: &mut String) {
    let scale = usize::from(scale.unsigned_abs());
    if digits < 0 {
        text.push('-');
    }
    let digits = digits.unsigned_abs().to_string();
    // The exponent of the first digit is below -6.
    if !plain && scale > digits.len() + 5 {
        let (first, rest) = digits.split_at(1);
        text.push_str(first);
        if !rest.is_empty() {
            text.push('.');
            text.push_str(rest);
        }
        let _ = write!(text, "E-{}", scale + 1 - digits.len());
        return;
    }
    if scale == 0 {
        text.push_str(&digits);
    } else if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let _ = write!(text, "{whole}.{fraction}");
    } else {
        let _ = write!(text, "0.{digits:0>scale$}");
    }
}

fn date(days: i32, text: &mut String) -> RunResult<()> {
    let Civil { year, month, day } = Civil::of_days(days);
    if !(0..=9999).contains(&year) {
        return Err(bail_out("a date whose year has not four digits as text"));
    }
    let _ = write!(text, "{year:04}-{month:02}-{day:02}");
    Ok(())
}

fn timestamp(micros: i64, zone: &Zone, text: &mut String) -> RunResult<()> {
    let local = zone.local(micros);
    let local = local.ok_or_else(|| bail_out("a timestamp that overflows"))?;
    let (days, of_day) = split(local);
    date(days, text)?;
    let (seconds, fraction) = (of_day / SECOND, of_day % SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ = write!(text, " {hour:02}:{minute:02}:{second:02}");
    if fraction != 0 {
        let fraction = format!("{fraction:06}");
        let _ = write!(text, ".{}", fraction.trim_end_matches('0'));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_as_in_java() {
        let write = |digits, scale, plain| {
            let mut text = String::new();
            decimal(digits, scale, plain, &mut text);
            text
        };
        assert_eq!(write(12345, 2, false), "123.45");
        assert_eq!(write(-5, 2, false), "-0.05");
        assert_eq!(write(0, 2, false), "0.00");
        assert_eq!(write(7, 0, false), "7");
        assert_eq!(write(1, 6, false), "0.000001");
        assert_eq!(write(1, 7, false), "1E-7");
        assert_eq!(write(0, 7, false), "0E-7");
        assert_eq!(write(-123, 10, false), "-1.23E-8");
        assert_eq!(write(1, 7, true), "0.0000001");
    }

    #[test]
    fn times_have_no_zeros_behind() {
        let write = |micros| {
            let mut text = String::new();
            timestamp(micros, &Zone::UTC, &mut text).map(|()| text).ok()
        };
        assert_eq!(write(1_500_000).as_deref(), Some("1970-01-01 00:00:01.5"));
        assert_eq!(write(-1).as_deref(), Some("1969-12-31 23:59:59.999999"));
        assert_eq!(write(i64::MAX), None);
    }
}
