//! Intervals of months and of microseconds: made, multiplied, divided, taken apart. What overflows is bailed out of.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, DurationMicrosecondType as Micros, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType as Months,
};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::datetime::OVERFLOW;
use super::decimal::pow10;
use super::kernel::{Arg, Kernel, binary, nth, single, unary, union_nulls};
use super::refused;
use catalyst::{Function, Unsupported};
use javatime::calendar::{DAY, SECOND};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Lowers a function of this module.
pub(super) fn lower(op: Function, types: &[ArrowType], to: &ArrowType, args: Args) -> Lowered {
    use ArrowType as A;
    use Function as F;
    Ok(match (op, types) {
        (F::MakeYMInterval, [A::Int32, A::Int32]) => {
            pair::<Int32Type, Int32Type, Months>(op, to, args, |years, months| {
                i32::try_from(i64::from(years) * 12 + i64::from(months)).ok()
            })
        }
        (F::MakeDTInterval, [A::Int32, A::Int32, A::Int32, A::Decimal128(_, 6)]) => {
            day_time(to, args)
        }
        (F::MultiplyYMInterval | F::DivideYMInterval, [A::Interval(_), of]) => {
            scaled::<Months>(op, of, to, args).ok_or_else(|| refused(op, types))?
        }
        (F::MultiplyDTInterval | F::DivideDTInterval, [A::Duration(_), of]) => {
            scaled::<Micros>(op, of, to, args).ok_or_else(|| refused(op, types))?
        }
        (F::ExtractANSIIntervalYears, [A::Interval(_)]) => {
            one::<Months, Int32Type>(op, to, args, |months| Some(months / 12))
        }
        (F::ExtractANSIIntervalMonths, [A::Interval(_)]) => {
            one::<Months, Int8Type>(op, to, args, |months| i8::try_from(months % 12).ok())
        }
        (F::ExtractANSIIntervalDays, [A::Duration(_)]) => {
            one::<Micros, Int32Type>(op, to, args, |micros| i32::try_from(micros / DAY).ok())
        }
        (F::ExtractANSIIntervalHours, [A::Duration(_)]) => {
            one::<Micros, Int8Type>(op, to, args, |micros| {
                i8::try_from(micros % DAY / HOUR).ok()
            })
        }
        (F::ExtractANSIIntervalMinutes, [A::Duration(_)]) => {
            one::<Micros, Int8Type>(op, to, args, |micros| {
                i8::try_from(micros % HOUR / MINUTE).ok()
            })
        }
        (F::ExtractANSIIntervalSeconds, [A::Duration(_)]) => {
            one::<Micros, Decimal128Type>(op, to, args, |micros| Some((micros % MINUTE).into()))
        }
        _ => return Err(refused(op, types)),
    })
}

fn one<I: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    op: Function,
    to: &ArrowType,
    args: Args,
    f: impl Fn(I::Native) -> Option<O::Native> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    let of = to.clone();
    Kernel::strict(op.name(), args, to.clone(), move |args, _| {
        unary::<I, O>(single(args)?, OVERFLOW, &of, &f)
    })
}

fn pair<A: ArrowPrimitiveType, B: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    op: Function,
    to: &ArrowType,
    args: Args,
    f: impl Fn(A::Native, B::Native) -> Option<O::Native> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    let of = to.clone();
    Kernel::strict(op.name(), args, to.clone(), move |args, _| {
        binary::<A, B, O>(args, OVERFLOW, &of, &f)
    })
}

/// Days, hours, minutes, and seconds with six digits behind the point.
fn day_time(to: &ArrowType, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = Function::MakeDTInterval.name();
    Kernel::strict(name, args, to.clone(), |args, rows| {
        let all: Vec<&Arg> = args.iter().collect();
        let nulls = union_nulls(&all);
        let (days, hours, minutes, seconds) =
            (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?, nth(args, 3)?);
        let part = |arg: &Arg, row: usize, unit: i64| -> RunResult<i128> {
            let value = arg.primitive::<Int32Type>()?.value(arg.at(row));
            Ok(i128::from(value) * i128::from(unit))
        };
        let fractions = seconds.primitive::<Decimal128Type>()?;
        let made = (0..rows).map(|row| -> RunResult<Option<i64>> {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Ok(None);
            }
            let mut micros = fractions.value(seconds.at(row));
            for (arg, unit) in [(days, DAY), (hours, HOUR), (minutes, MINUTE)] {
                let part = part(arg, row, unit)?;
                micros += part;
                // Java looks at each product and at each sum.
                if i64::try_from(part).is_err() || i64::try_from(micros).is_err() {
                    return Err(bail_out("an interval that overflows"));
                }
            }
            Ok(i64::try_from(micros).ok())
        });
        let made: PrimitiveArray<Micros> = made.collect::<RunResult<_>>()?;
        Ok(Arc::new(made) as ArrayRef)
    })
}

/// A type of intervals, which are whole numbers: of months or microseconds.
pub(crate) trait Interval: ArrowPrimitiveType {
    fn wide(value: Self::Native) -> i128;
    /// `None` if it does not fit.
    fn narrow(value: i128) -> Option<Self::Native>;
}

impl Interval for Months {
    fn wide(value: i32) -> i128 {
        value.into()
    }

    fn narrow(value: i128) -> Option<i32> {
        i32::try_from(value).ok()
    }
}

impl Interval for Micros {
    fn wide(value: i64) -> i128 {
        value.into()
    }

    fn narrow(value: i128) -> Option<i64> {
        i64::try_from(value).ok()
    }
}

/// An interval times a number or by it.
fn scaled<I: Interval>(
    op: Function,
    of: &ArrowType,
    to: &ArrowType,
    args: Args,
) -> Option<Arc<dyn PhysicalExpr>> {
    use ArrowType as A;
    let divides = matches!(op, Function::DivideYMInterval | Function::DivideDTInterval);
    let name = format!("{}[{of}]", op.name());
    let (result, of) = (to.clone(), of.clone());
    if !matches!(
        of,
        A::Int8 | A::Int16 | A::Int32 | A::Int64 | A::Float32 | A::Float64
    ) && (divides || !matches!(of, A::Decimal128(_, 0..)))
    {
        return None;
    }
    Some(Kernel::strict(name, args, to.clone(), move |args, _| {
        let to = &result;
        match of {
            A::Int8 => by_whole::<I, Int8Type>(divides, to, args),
            A::Int16 => by_whole::<I, Int16Type>(divides, to, args),
            A::Int32 => by_whole::<I, Int32Type>(divides, to, args),
            A::Int64 => by_whole::<I, Int64Type>(divides, to, args),
            A::Float32 => by_float::<I, Float32Type>(divides, to, args),
            A::Float64 => by_float::<I, Float64Type>(divides, to, args),
            A::Decimal128(_, scale) => {
                binary::<I, Decimal128Type, I>(args, OVERFLOW, to, |interval, number| {
                    let product = I::wide(interval).checked_mul(number)?;
                    // Spark keeps 38 digits.
                    if product.unsigned_abs() >= pow10(38).unsigned_abs() {
                        return None;
                    }
                    I::narrow(half_up(product, pow10(scale.unsigned_abs().into())))
                })
            }
            _ => Err(bail_out("an argument of another type")),
        }
    }))
}

/// A quotient, half away from zero. The divisor is not 0.
pub(crate) fn half_up(number: i128, by: i128) -> i128 {
    let (quotient, rest) = (number / by, number % by);
    match rest.unsigned_abs() >= by.unsigned_abs() - rest.unsigned_abs() {
        true => quotient + number.signum() * by.signum(),
        false => quotient,
    }
}

fn by_whole<I: Interval, N: ArrowPrimitiveType<Native: Into<i64>>>(
    divides: bool,
    to: &ArrowType,
    args: &[Arg],
) -> RunResult<ArrayRef> {
    binary::<I, N, I>(args, OVERFLOW, to, |interval, number| {
        let (interval, number) = (I::wide(interval), i128::from(number.into()));
        match (divides, number) {
            (true, 0) => None,
            (true, _) => I::narrow(half_up(interval, number)),
            (false, _) => I::narrow(interval.checked_mul(number)?),
        }
    })
}

fn by_float<I: Interval, N: ArrowPrimitiveType<Native: Into<f64>>>(
    divides: bool,
    to: &ArrowType,
    args: &[Arg],
) -> RunResult<ArrayRef> {
    binary::<I, N, I>(args, OVERFLOW, to, |interval, number| {
        let (interval, number) = (I::wide(interval) as f64, number.into());
        let exact = match divides {
            // Spark looks for zeros itself.
            true if number == 0.0 => return None,
            true => interval / number,
            false => interval * number,
        };
        // Beyond that the double is an integer that no interval is near.
        if !exact.is_finite() || exact.abs() >= 9.3e18 {
            return None;
        }
        // Half away from zero, as Guava's `DoubleMath` has it.
        I::narrow(exact.round() as i128)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        for (number, by, quotient) in [
            (5, 2, 3),
            (-5, 2, -3),
            (5, -2, -3),
            (-5, -2, 3),
            (4, 3, 1),
            (-5, 3, -2),
            (1, 3, 0),
        ] {
            assert_eq!(half_up(number, by), quotient, "{number} by {by}");
        }
    }
}
