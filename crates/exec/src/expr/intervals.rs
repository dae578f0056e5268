//! Intervals of months and of microseconds: made, added, multiplied, divided, taken apart. What overflows is bailed out
//! of, or null where errors are caught.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, DurationMicrosecondType as Micros, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType as Months,
};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::datetime::{OVERFLOW, named, overflow};
use super::decimal::pow10;
use super::kernel::{Arg, Kernel, Otherwise, Outcome, attempt, binary, nth, one, union_nulls};
use super::refused;
use catalyst::{EvalMode, Function, Unsupported};
use javatime::calendar::{DAY, SECOND};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Lowers a function of this module.
pub(super) fn lower(
    op: Function,
    mode: Option<EvalMode>,
    types: &[ArrowType],
    to: &ArrowType,
    args: Args,
) -> Lowered {
    use ArrowType as A;
    use Function as F;
    // They fail in other modes, too.
    let mode = mode.filter(|mode| *mode == EvalMode::Try);
    Ok(match (op, types) {
        (F::MakeYMInterval, [A::Int32, A::Int32]) => {
            pair::<Int32Type, Int32Type, Months>(op, to, args, |years, months| {
                i32::try_from(i64::from(years) * 12 + i64::from(months)).ok()
            })
        }
        (F::MakeDTInterval, [A::Int32, A::Int32, A::Int32, A::Decimal128(_, 6)]) => {
            day_time(to, args)
        }
        (F::Add | F::Subtract, [A::Interval(_), A::Interval(_)]) => {
            sum::<Months>(op, mode, to, args)
        }
        (F::Add | F::Subtract, [A::Duration(_), A::Duration(_)]) => {
            sum::<Micros>(op, mode, to, args)
        }
        (F::UnaryMinus, [A::Interval(_)]) => {
            one::<Months, Months>(op.name(), to, args, OVERFLOW, i32::checked_neg)
        }
        (F::UnaryMinus, [A::Duration(_)]) => {
            one::<Micros, Micros>(op.name(), to, args, OVERFLOW, i64::checked_neg)
        }
        (F::Abs, [A::Interval(_)]) => {
            one::<Months, Months>(op.name(), to, args, OVERFLOW, i32::checked_abs)
        }
        (F::Abs, [A::Duration(_)]) => {
            one::<Micros, Micros>(op.name(), to, args, OVERFLOW, i64::checked_abs)
        }
        (F::MultiplyYMInterval | F::DivideYMInterval, [A::Interval(_), of]) => {
            scaled::<Months>(op, mode, of, to, args).ok_or_else(|| refused(op, types))?
        }
        (F::MultiplyDTInterval | F::DivideDTInterval, [A::Duration(_), of]) => {
            scaled::<Micros>(op, mode, of, to, args).ok_or_else(|| refused(op, types))?
        }
        (F::ExtractANSIIntervalYears, [A::Interval(_)]) => {
            one::<Months, Int32Type>(op.name(), to, args, OVERFLOW, |months| Some(months / 12))
        }
        (F::ExtractANSIIntervalMonths, [A::Interval(_)]) => {
            one::<Months, Int8Type>(op.name(), to, args, OVERFLOW, |months| {
                i8::try_from(months % 12).ok()
            })
        }
        (F::ExtractANSIIntervalDays, [A::Duration(_)]) => {
            one::<Micros, Int32Type>(op.name(), to, args, OVERFLOW, |micros| {
                i32::try_from(micros / DAY).ok()
            })
        }
        (F::ExtractANSIIntervalHours, [A::Duration(_)]) => {
            one::<Micros, Int8Type>(op.name(), to, args, OVERFLOW, |micros| {
                i8::try_from(micros % DAY / HOUR).ok()
            })
        }
        (F::ExtractANSIIntervalMinutes, [A::Duration(_)]) => {
            one::<Micros, Int8Type>(op.name(), to, args, OVERFLOW, |micros| {
                i8::try_from(micros % HOUR / MINUTE).ok()
            })
        }
        (F::ExtractANSIIntervalSeconds, [A::Duration(_)]) => {
            one::<Micros, Decimal128Type>(op.name(), to, args, OVERFLOW, |micros| {
                Some((micros % MINUTE).into())
            })
        }
        _ => return Err(refused(op, types)),
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

/// The sum or the difference of two intervals.
fn sum<I: Interval>(
    op: Function,
    mode: Option<EvalMode>,
    to: &ArrowType,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let (name, of, otherwise) = (named(op, mode, "-"), to.clone(), overflow(mode));
    let subtracts = op == Function::Subtract;
    Kernel::strict(name, args, to.clone(), move |args, _| {
        binary::<I, I, I>(args, otherwise, &of, |left, right| {
            let (left, right) = (I::wide(left), I::wide(right));
            I::narrow(if subtracts {
                left - right
            } else {
                left + right
            })
        })
    })
}

/// An interval times a number or by it.
fn scaled<I: Interval>(
    op: Function,
    mode: Option<EvalMode>,
    of: &ArrowType,
    to: &ArrowType,
    args: Args,
) -> Option<Arc<dyn PhysicalExpr>> {
    use ArrowType as A;
    let by = By {
        divides: matches!(op, Function::DivideYMInterval | Function::DivideDTInterval),
        otherwise: overflow(mode),
        to: to.clone(),
    };
    let name = named(op, mode, &of.to_string());
    let of = of.clone();
    if !matches!(
        of,
        A::Int8 | A::Int16 | A::Int32 | A::Int64 | A::Float32 | A::Float64 | A::Decimal128(_, 0..)
    ) {
        return None;
    }
    Some(Kernel::strict(
        name,
        args,
        to.clone(),
        move |args, rows| match of {
            A::Int8 => by.whole::<I, Int8Type>(args),
            A::Int16 => by.whole::<I, Int16Type>(args),
            A::Int32 => by.whole::<I, Int32Type>(args),
            A::Int64 => by.whole::<I, Int64Type>(args),
            A::Float32 => by.float::<I, Float32Type>(args),
            A::Float64 => by.float::<I, Float64Type>(args),
            A::Decimal128(_, scale) => by.decimal::<I>(scale, args, rows),
            _ => Err(bail_out("an argument of another type")),
        },
    ))
}

/// A quotient, half away from zero. The divisor is not 0.
pub(crate) fn half_up(number: i128, by: i128) -> i128 {
    let (quotient, rest) = (number / by, number % by);
    match rest.unsigned_abs() >= by.unsigned_abs() - rest.unsigned_abs() {
        true => quotient + number.signum() * by.signum(),
        false => quotient,
    }
}

/// How intervals are multiplied or divided.
struct By {
    divides: bool,
    otherwise: Otherwise,
    to: ArrowType,
}

impl By {
    fn whole<I: Interval, N: ArrowPrimitiveType<Native: Into<i64>>>(
        &self,
        args: &[Arg],
    ) -> RunResult<ArrayRef> {
        binary::<I, N, I>(args, self.otherwise, &self.to, |interval, number| {
            let (interval, number) = (I::wide(interval), i128::from(number.into()));
            match (self.divides, number) {
                (true, 0) => None,
                (true, _) => I::narrow(half_up(interval, number)),
                (false, _) => I::narrow(interval.checked_mul(number)?),
            }
        })
    }

    fn float<I: Interval, N: ArrowPrimitiveType<Native: Into<f64>>>(
        &self,
        args: &[Arg],
    ) -> RunResult<ArrayRef> {
        binary::<I, N, I>(args, self.otherwise, &self.to, |interval, number| {
            let (interval, number) = (I::wide(interval) as f64, number.into());
            let exact = match self.divides {
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

    /// By a decimal, of which a quotient has 38 places before it is rounded again. A half that the first of the two
    /// roundings makes is farther from the exact quotient than any decimal can bring it.
    fn decimal<I: Interval>(&self, scale: i8, args: &[Arg], rows: usize) -> RunResult<ArrayRef> {
        let one = pow10(scale.unsigned_abs().into());
        let fits = |value: i128| value.unsigned_abs() < pow10(38).unsigned_abs();
        let (otherwise, to) = (self.otherwise, &self.to);
        attempt::<I, Decimal128Type, I>(args, rows, otherwise, to, |interval, number| {
            let interval = I::wide(interval);
            let exact = match (self.divides, number) {
                (true, 0) => return Outcome::Fails,
                (true, _) => interval
                    .checked_mul(one)
                    .map(|interval| half_up(interval, number)),
                // Spark keeps 38 digits.
                (false, _) => interval
                    .checked_mul(number)
                    .filter(|product| fits(*product))
                    .map(|product| half_up(product, one)),
            };
            // It might round what is near to the ends otherwise.
            match exact.filter(|exact| fits(*exact)) {
                None => Outcome::Unknown,
                Some(exact) => I::narrow(exact).map_or(Outcome::Fails, Outcome::Value),
            }
        })
    }
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
