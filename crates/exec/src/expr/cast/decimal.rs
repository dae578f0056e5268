//! Casts from and to decimals.

use std::sync::Arc;

use arrow::array::{ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use datafusion_physical_expr::PhysicalExpr;

use super::numeric::Number;
use super::{Casting, OVERFLOW, to_boolean};
use crate::expr::arithmetic::otherwise;
use crate::expr::decimal::{fits, lower_rescale, pow10, rescale};
use crate::expr::java::JavaDouble;
use crate::expr::kernel::{Kernel, Otherwise, single, unary};
use catalyst::Unsupported;
use catalyst::{DataType, Decimal};
use rows::error::bail_out;

/// A cast with a decimal on at least one side, and a number on the other.
pub(super) fn lower(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    match (casting.from, casting.to) {
        (T::Decimal(from), T::Decimal(to)) => Ok(lower_rescale(
            "Cast",
            casting.mode,
            *from,
            *to,
            vec![Arc::clone(&casting.child)],
        )),
        (T::Boolean, T::Decimal(to)) => from_boolean(casting, *to),
        (T::Byte, T::Decimal(to)) => from_integer::<Int8Type>(casting, *to),
        (T::Short, T::Decimal(to)) => from_integer::<Int16Type>(casting, *to),
        (T::Integer, T::Decimal(to)) => from_integer::<Int32Type>(casting, *to),
        (T::Long, T::Decimal(to)) => from_integer::<Int64Type>(casting, *to),
        (T::Float, T::Decimal(to)) => from_float::<Float32Type>(casting, *to),
        (T::Double, T::Decimal(to)) => from_float::<Float64Type>(casting, *to),
        (T::Decimal(from), T::Timestamp) => to_timestamp(casting, *from),
        (T::Decimal(from), _) => to_number(casting, *from),
        _ => Err(casting.refuse()),
    }
}

fn from_boolean(casting: &Casting<'_>, to: Decimal) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let arrow = casting.arrow()?;
    let of = arrow.clone();
    let otherwise = otherwise(Some(casting.mode), OVERFLOW);
    let one = rescale(1, 0, to.scale, to.precision);
    Ok(Kernel::strict(
        casting.name(),
        vec![Arc::clone(&casting.child)],
        arrow,
        move |args, _| {
            let array = single(args)?.boolean()?;
            let fails = one.is_none() && otherwise != Otherwise::Null;
            if fails && array.iter().flatten().any(|value| value) {
                return Err(bail_out(OVERFLOW));
            }
            let values = array.iter().map(|v| match v {
                Some(true) => one,
                Some(false) => Some(0),
                None => None,
            });
            let values: PrimitiveArray<Decimal128Type> = values.collect();
            Ok(Arc::new(values.with_data_type(of.clone())))
        },
    ))
}

fn from_integer<I: ArrowPrimitiveType<Native: Number>>(
    casting: &Casting<'_>,
    to: Decimal,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let of = casting.arrow()?;
    let otherwise = otherwise(Some(casting.mode), OVERFLOW);
    // Not above 38: it is a scale.
    let unit = pow10(u32::from(to.scale.unsigned_abs()));
    Ok(Kernel::strict(
        casting.name(),
        vec![Arc::clone(&casting.child)],
        of.clone(),
        move |args, _| {
            unary::<I, Decimal128Type>(single(args)?, otherwise, &of, |v| {
                let digits = i128::from(v.to_long()).checked_mul(unit)?;
                fits(digits, to.precision).then_some(digits)
            })
        },
    ))
}

/// Seconds. What is no long is cut off in ways that are not copied.
fn to_timestamp(
    casting: &Casting<'_>,
    from: Decimal,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let of = casting.arrow()?;
    let unit = pow10(u32::from(from.scale.unsigned_abs()));
    let overflow = Otherwise::Fail("a timestamp that overflows");
    let child = vec![Arc::clone(&casting.child)];
    Ok(Kernel::strict(
        casting.name(),
        child,
        of.clone(),
        move |args, _| {
            unary::<Decimal128Type, TimestampMicrosecondType>(
                single(args)?,
                overflow,
                &of,
                |digits| i64::try_from(digits.checked_mul(1_000_000)? / unit).ok(),
            )
        },
    ))
}

/// Through the text that Java has for the double.
fn from_float<I: ArrowPrimitiveType<Native: Number>>(
    casting: &Casting<'_>,
    to: Decimal,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let of = casting.arrow()?;
    let otherwise = otherwise(Some(casting.mode), OVERFLOW);
    Ok(Kernel::strict(
        casting.name(),
        vec![Arc::clone(&casting.child)],
        of.clone(),
        move |args, _| {
            let array = single(args)?.primitive::<I>()?;
            let mut failed = false;
            let mut unsure = false;
            let values: PrimitiveArray<Decimal128Type> = array
                .iter()
                .map(|value| {
                    let value = value?.to_double();
                    if !value.is_finite() {
                        failed = true;
                        return None;
                    }
                    let text = JavaDouble::of(value);
                    unsure |= text.is_none();
                    let digits = text.and_then(|text| text.decimal(to.scale, to.precision));
                    failed |= digits.is_none();
                    digits
                })
                .collect();
            if unsure {
                return Err(bail_out(
                    "a double with different digits in different Javas",
                ));
            }
            match otherwise {
                Otherwise::Fail(reason) if failed => Err(bail_out(reason)),
                _ => Ok(Arc::new(values.with_data_type(of.clone()))),
            }
        },
    ))
}

/// What a decimal is without its fraction; `None` where Spark's own answer depends on how it keeps the number.
fn integral(digits: i128, unit: i128, wide: bool, min: i64, max: i64) -> Option<Option<i64>> {
    let whole = digits / unit;
    // Wide decimals are compared with the bounds of ints as doubles.
    let near = |bound: i64| whole.abs_diff(i128::from(bound)) <= 1;
    if wide && (max != i64::MAX) && (near(min) || near(max)) {
        return None;
    }
    let fits = (i128::from(min)..=i128::from(max)).contains(&whole);
    Some(fits.then(|| i64::try_from(whole).ok()).flatten())
}

// High bits are dropped in Java as well, or were checked.
#[allow(clippy::cast_possible_truncation)]
fn to_number(casting: &Casting<'_>, from: Decimal) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    let ansi = casting.ansi();
    let mode = casting.mode;
    let unit = pow10(u32::from(from.scale.unsigned_abs()));
    let wide = from.precision > 18;
    macro_rules! number {
        ($type:ty, $f:expr) => {{
            let of = casting.arrow()?;
            let otherwise = otherwise(Some(mode), OVERFLOW);
            Kernel::strict(
                casting.name(),
                vec![Arc::clone(&casting.child)],
                of.clone(),
                move |args, _| unary::<Decimal128Type, $type>(single(args)?, otherwise, &of, $f),
            )
        }};
    }
    macro_rules! integer {
        ($type:ty, $native:ty) => {{
            let of = casting.arrow()?;
            let otherwise = otherwise(Some(mode), OVERFLOW);
            let (min, max) = (<$native>::MIN.into(), <$native>::MAX.into());
            Kernel::strict(
                casting.name(),
                vec![Arc::clone(&casting.child)],
                of.clone(),
                move |args, _| {
                    let unsure = std::cell::Cell::new(false);
                    let result =
                        unary::<Decimal128Type, $type>(single(args)?, otherwise, &of, |digits| {
                            if !ansi {
                                return Some((digits / unit) as i64 as $native);
                            }
                            match integral(digits, unit, wide, min, max) {
                                Some(value) => value.map(|value| value as $native),
                                None => {
                                    unsure.set(true);
                                    None
                                }
                            }
                        })?;
                    if unsure.get() {
                        return Err(bail_out("a decimal at the bounds of an integer"));
                    }
                    Ok(result)
                },
            )
        }};
    }
    Ok(match casting.to {
        T::Byte => integer!(Int8Type, i8),
        T::Short => integer!(Int16Type, i16),
        T::Integer => integer!(Int32Type, i32),
        T::Long => integer!(Int64Type, i64),
        T::Double => number!(Float64Type, |digits| Some(to_double(digits, from.scale))),
        T::Float => number!(Float32Type, |digits| Some(to_float(digits, from.scale))),
        T::Boolean => to_boolean::<Decimal128Type>(casting),
        _ => return Err(casting.refuse()),
    })
}

/// The double nearest to a decimal.
// Digits below 2^53 are exact.
#[allow(clippy::cast_precision_loss)]
pub(in super::super) fn to_double(digits: i128, scale: i8) -> f64 {
    const UNITS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    if scale == 0 {
        return digits as f64;
    }
    match UNITS.get(usize::from(scale.unsigned_abs())) {
        // Both are exact, and one division rounds once.
        Some(unit) if digits.unsigned_abs() < 1 << 53 => digits as f64 / unit,
        _ => format!("{digits}e-{scale}").parse().unwrap_or(f64::NAN),
    }
}

#[allow(clippy::cast_precision_loss)]
fn to_float(digits: i128, scale: i8) -> f32 {
    if scale == 0 {
        return digits as f32;
    }
    format!("{digits}e-{scale}").parse().unwrap_or(f32::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_the_nearest_double() {
        assert_eq!(to_double(1, 1), 0.1);
        assert_eq!(to_double(-12345, 2), -123.45);
        assert_eq!(to_double(9_007_199_254_740_993, 1), 900_719_925_474_099.3);
        assert_eq!(to_double(1, 38), 1e-38);
        assert_eq!(to_float(1, 1), 0.1);
    }

    #[test]
    fn bounds_of_wide_decimals_are_left_to_spark() {
        let (min, max) = (i32::MIN.into(), i32::MAX.into());
        assert_eq!(integral(123, 10, true, min, max), Some(Some(12)));
        assert_eq!(
            integral(i128::from(max) + 1, 1, false, min, max),
            Some(None)
        );
        assert_eq!(integral(i128::from(max), 1, true, min, max), None);
    }
}
