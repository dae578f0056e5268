//! Functions of times of a day, as `DateTimeUtils` has them.

use std::sync::Arc;

use arrow::array::{Array, PrimitiveArray};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64NanosecondType as Nanos,
    TimeUnit,
};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::cast::time_of_day::{NANOS_PER_SECOND, NO_TIME, cut, parse, valid};
use super::datetime::{Micros, nothing};
use super::kernel::{Kernel, Otherwise, binary, nth, one, union_nulls};
use super::parse_time::Format;
use super::{known, refused};
use catalyst::{DataType, EvalMode, Expr, Function, Unsupported};
use javatime::calendar::DAY;
use rows::error::bail_out;
use rows::types::ToArrow as _;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Whatever has no proper result is an error.
const FAIL: Otherwise = Otherwise::Fail(NO_TIME);

/// Whether it is a function of this module.
pub(super) fn knows(function: Function) -> bool {
    use Function as F;
    matches!(
        function,
        F::HoursOfTime
            | F::MinutesOfTime
            | F::SecondsOfTime
            | F::SecondsOfTimeWithFraction
            | F::MakeTime
            | F::TimeAddInterval
            | F::SubtractTimes
            | F::TimeDiff
            | F::TimeTrunc
            | F::TimeFromSeconds
            | F::TimeFromMillis
            | F::TimeFromMicros
            | F::TimeToSeconds
            | F::TimeToMillis
            | F::TimeToMicros
            | F::ToTime
            | F::MakeTimestampNTZ
    )
}

/// Lowers a function of this module. `made` is the call.
pub(super) fn lower(
    op: Function,
    mode: Option<EvalMode>,
    types: &[ArrowType],
    made: &Expr,
    args: Args,
) -> Lowered {
    use ArrowType as A;
    use Function as F;
    use TimeUnit::Nanosecond;
    let to = made.data_type.to_arrow()?;
    let seconds = |nanos: i64| Some(valid(nanos)? / NANOS_PER_SECOND);
    match (op, types) {
        (F::HoursOfTime, [A::Time64(Nanosecond)]) => Ok(one::<Nanos, Int32Type>(
            op.name(),
            &to,
            args,
            FAIL,
            move |nanos| i32::try_from(seconds(nanos)? / 3600).ok(),
        )),
        (F::MinutesOfTime, [A::Time64(Nanosecond)]) => Ok(one::<Nanos, Int32Type>(
            op.name(),
            &to,
            args,
            FAIL,
            move |nanos| i32::try_from(seconds(nanos)? / 60 % 60).ok(),
        )),
        (F::SecondsOfTime, [A::Time64(Nanosecond)]) => Ok(one::<Nanos, Int32Type>(
            op.name(),
            &to,
            args,
            FAIL,
            move |nanos| i32::try_from(seconds(nanos)? % 60).ok(),
        )),
        (F::SecondsOfTimeWithFraction, [A::Time64(Nanosecond), A::Int32]) => {
            seconds_with_fraction(op, types, &to, args)
        }
        (F::MakeTime, [A::Int32, A::Int32, A::Decimal128(_, 6)]) => Ok(make_time(to, args)),
        (F::TimeAddInterval, [A::Time64(Nanosecond), A::Duration(TimeUnit::Microsecond)]) => {
            let DataType::Time(precision) = made.data_type else {
                return Err(refused(op, types));
            };
            let of = to.clone();
            let name = format!("{}[{precision}]", op.name());
            Ok(Kernel::strict(name, args, to, move |args, _| {
                binary::<Nanos, DurationMicrosecondType, Nanos>(args, FAIL, &of, |time, micros| {
                    let later = time.checked_add(micros.checked_mul(1000)?)?;
                    Some(cut(valid(later)?, precision))
                })
            }))
        }
        (F::SubtractTimes, [A::Time64(Nanosecond), A::Time64(Nanosecond)]) => {
            let of = to.clone();
            Ok(Kernel::strict(op.name(), args, to, move |args, _| {
                binary::<Nanos, Nanos, DurationMicrosecondType>(args, FAIL, &of, |end, start| {
                    Some(valid(end)?.checked_sub(valid(start)?)? / 1000)
                })
            }))
        }
        (F::TimeDiff, [A::Utf8View, A::Time64(Nanosecond), A::Time64(Nanosecond)]) => {
            time_diff(op, types, &to, args)
        }
        (F::TimeTrunc, [A::Utf8View, A::Time64(Nanosecond)]) => time_trunc(op, types, &to, args),
        (F::TimeFromSeconds | F::TimeFromMillis | F::TimeFromMicros, [of]) => {
            time_from(op, types, of, &to, args)
        }
        (F::TimeToSeconds, [A::Time64(Nanosecond)]) if matches!(to, A::Decimal128(_, 6)) => {
            // Half up, to microseconds.
            Ok(one::<Nanos, Decimal128Type>(
                op.name(),
                &to,
                args,
                FAIL,
                |nanos| Some(i128::from((valid(nanos)? + 500) / 1000)),
            ))
        }
        (F::TimeToMillis, [A::Time64(Nanosecond)]) => Ok(one::<Nanos, Int64Type>(
            op.name(),
            &to,
            args,
            FAIL,
            |nanos| Some(valid(nanos)? / 1_000_000),
        )),
        (F::TimeToMicros, [A::Time64(Nanosecond)]) => Ok(one::<Nanos, Int64Type>(
            op.name(),
            &to,
            args,
            FAIL,
            |nanos| Some(valid(nanos)? / 1000),
        )),
        (F::MakeTimestampNTZ, [A::Date32, A::Time64(Nanosecond)])
            if matches!(to, A::Timestamp(_, None)) =>
        {
            let of = to.clone();
            Ok(Kernel::strict(op.name(), args, to, move |args, _| {
                binary::<Date32Type, Nanos, Micros>(args, FAIL, &of, |days, nanos| {
                    i64::from(days)
                        .checked_mul(DAY)?
                        .checked_add(valid(nanos)? / 1000)
                })
            }))
        }
        (F::ToTime, [A::Utf8View, A::Int32 | A::Utf8View]) => to_time(op, mode, types, &to, args),
        _ => Err(refused(op, types)),
    }
}

/// Nanoseconds of a unit by its name, in whatever case; Java knows other letters than ASCII's in upper case.
fn unit(name: &str) -> Option<i64> {
    let upper = name.is_ascii().then(|| name.to_ascii_uppercase())?;
    Some(match upper.as_str() {
        "HOUR" => 3600 * NANOS_PER_SECOND,
        "MINUTE" => 60 * NANOS_PER_SECOND,
        "SECOND" => NANOS_PER_SECOND,
        "MILLISECOND" => 1_000_000,
        "MICROSECOND" => 1000,
        _ => return None,
    })
}

/// The unit that is the first argument; `Ok(None)` if it is null.
fn unit_of(op: Function, types: &[ArrowType], args: &Args) -> Result<Option<i64>, Unsupported> {
    match args.first().and_then(known) {
        Some(ScalarValue::Utf8View(None)) => Ok(None),
        Some(ScalarValue::Utf8View(Some(name))) => match unit(name) {
            Some(unit) => Ok(Some(unit)),
            None => Err(Unsupported::of_use(format!("{} by {name}", op.name()))),
        },
        _ => Err(refused(op, types)),
    }
}

fn time_diff(op: Function, types: &[ArrowType], to: &ArrowType, mut args: Args) -> Lowered {
    let Some(unit) = unit_of(op, types, &args)? else {
        return Ok(nothing(to, args));
    };
    args.remove(0);
    let (of, name) = (to.clone(), format!("{}[{unit}]", op.name()));
    Ok(Kernel::strict(name, args, to.clone(), move |args, _| {
        binary::<Nanos, Nanos, Int64Type>(args, FAIL, &of, |start, end| {
            Some(valid(end)?.checked_sub(valid(start)?)? / unit)
        })
    }))
}

fn time_trunc(op: Function, types: &[ArrowType], to: &ArrowType, mut args: Args) -> Lowered {
    let Some(unit) = unit_of(op, types, &args)? else {
        return Ok(nothing(to, args));
    };
    args.remove(0);
    let name = format!("{}[{unit}]", op.name());
    Ok(one::<Nanos, Nanos>(name, to, args, FAIL, move |nanos| {
        Some(valid(nanos)? / unit * unit)
    }))
}

/// Seconds of a minute, with so many digits behind them as the second argument says; Spark's way through doubles is
/// exact to more of them than times have.
fn seconds_with_fraction(
    op: Function,
    types: &[ArrowType],
    to: &ArrowType,
    mut args: Args,
) -> Lowered {
    let digits = match args.get(1).and_then(known) {
        Some(ScalarValue::Int32(Some(digits))) => u8::try_from(*digits).ok(),
        _ => None,
    };
    let (Some(digits @ ..=9), ArrowType::Decimal128(_, scale)) = (digits, to) else {
        return Err(refused(op, types));
    };
    let more = u8::try_from(*scale)
        .ok()
        .and_then(|scale| scale.checked_sub(digits));
    let more = more.ok_or_else(|| refused(op, types))?;
    args.truncate(1);
    let less = 10_i64.pow(9 - u32::from(digits));
    let more = 10_i128.pow(more.min(38).into());
    let name = format!("{}[{digits}]", op.name());
    Ok(one::<Nanos, Decimal128Type>(
        name,
        to,
        args,
        FAIL,
        move |nanos| {
            let of_minute = valid(nanos)? % (60 * NANOS_PER_SECOND);
            i128::from(of_minute / less).checked_mul(more)
        },
    ))
}

/// A time of an hour, a minute, and seconds with their microseconds.
fn make_time(to: ArrowType, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = Function::MakeTime.name();
    Kernel::strict(name, args, to, move |args, rows| {
        let nulls = union_nulls(&args.iter().collect::<Vec<_>>());
        let (hours, minutes, seconds) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (hour, minute) = (
            hours.primitive::<Int32Type>()?,
            minutes.primitive::<Int32Type>()?,
        );
        let micros = seconds.primitive::<Decimal128Type>()?;
        let times = (0..rows).map(|row| {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Ok(None);
            }
            let time = time_of(
                hour.value(hours.at(row)),
                minute.value(minutes.at(row)),
                micros.value(seconds.at(row)),
            );
            time.map(Some).ok_or_else(|| bail_out(NO_TIME))
        });
        let times = times.collect::<RunResult<PrimitiveArray<Nanos>>>()?;
        Ok(Arc::new(times))
    })
}

fn time_of(hour: i32, minute: i32, micros: i128) -> Option<i64> {
    let in_range = (0..24).contains(&hour) && (0..60).contains(&minute);
    let micros = i64::try_from(micros).ok().filter(|_| in_range)?;
    let of_minute = (0..60_000_000).contains(&micros).then_some(micros * 1000)?;
    let minutes = i64::from(hour) * 60 + i64::from(minute);
    Some(minutes * 60 * NANOS_PER_SECOND + of_minute)
}

/// A time from a number of units since midnight.
fn time_from(
    op: Function,
    types: &[ArrowType],
    of: &ArrowType,
    to: &ArrowType,
    args: Args,
) -> Lowered {
    use ArrowType as A;
    let unit = match op {
        Function::TimeFromSeconds => NANOS_PER_SECOND,
        Function::TimeFromMillis => 1_000_000,
        _ => 1000,
    };
    let long = move |number: i64| valid(number.checked_mul(unit)?);
    let only_seconds = op == Function::TimeFromSeconds;
    Ok(match of {
        A::Int8 => one::<Int8Type, Nanos>(op.name(), to, args, FAIL, move |v| long(v.into())),
        A::Int16 => one::<Int16Type, Nanos>(op.name(), to, args, FAIL, move |v| long(v.into())),
        A::Int32 => one::<Int32Type, Nanos>(op.name(), to, args, FAIL, move |v| long(v.into())),
        A::Int64 => one::<Int64Type, Nanos>(op.name(), to, args, FAIL, long),
        A::Float32 if only_seconds => {
            one::<Float32Type, Nanos>(op.name(), to, args, FAIL, |v| of_double(v.into()))
        }
        A::Float64 if only_seconds => {
            one::<Float64Type, Nanos>(op.name(), to, args, FAIL, of_double)
        }
        A::Decimal128(_, scale) if only_seconds => {
            let scale = u32::from(scale.unsigned_abs()).min(38);
            let whole = 10_i128.pow(scale);
            one::<Decimal128Type, Nanos>(op.name(), to, args, FAIL, move |digits| {
                let nanos = digits.checked_mul(NANOS_PER_SECOND.into())?;
                // What is less than a nanosecond is an error.
                let exact = (nanos % whole == 0).then_some(nanos / whole)?;
                valid(i64::try_from(exact).ok()?)
            })
        }
        _ => return Err(refused(op, types)),
    })
}

// As Java's cast, which cuts off and saturates, too.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn of_double(seconds: f64) -> Option<i64> {
    let nanos = seconds
        .is_finite()
        .then_some(seconds * NANOS_PER_SECOND as f64)?;
    valid(nanos as i64)
}

/// A text as a time: in the forms of casts, with so many digits as the second argument says, or by a pattern.
fn to_time(
    op: Function,
    mode: Option<EvalMode>,
    types: &[ArrowType],
    to: &ArrowType,
    mut args: Args,
) -> Lowered {
    let way = match args.get(1).and_then(known) {
        Some(ScalarValue::Int32(Some(digits))) => {
            Way::Usual(u8::try_from(*digits).map_err(|_| refused(op, types))?)
        }
        Some(ScalarValue::Utf8View(Some(pattern))) => {
            let format = Format::of_time(pattern);
            Way::Pattern(format.ok_or_else(|| {
                Unsupported::of_use(format!("the time format {pattern} for reading"))
            })?)
        }
        _ => return Err(refused(op, types)),
    };
    args.truncate(1);
    let tries = mode == Some(EvalMode::Try);
    let name = format!("{}[{way:?} {tries}]", op.name());
    Ok(Kernel::strict(name, args, to.clone(), move |args, rows| {
        let text = nth(args, 0)?;
        let texts = text.string()?;
        let times = (0..rows).map(|row| {
            let at = text.at(row);
            if texts.is_null(at) {
                return Ok(None);
            }
            let text = texts.value(at);
            let (time, sure) = match &way {
                Way::Usual(digits) => (parse(text, *digits).unwrap_or_default(), true),
                Way::Pattern(format) => {
                    let micros = format.read(text);
                    (
                        micros.and_then(|micros| micros.checked_mul(1000)),
                        format.is_sure(text),
                    )
                }
            };
            match time {
                None if tries && sure => Ok(None),
                None => Err(bail_out("a text that may be a time")),
                time => Ok(time),
            }
        });
        let times = times.collect::<RunResult<PrimitiveArray<Nanos>>>()?;
        Ok(Arc::new(times))
    }))
}

/// How texts are read.
#[derive(Debug)]
enum Way {
    Usual(u8),
    Pattern(Format),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_numbers_are_in_a_day() {
        let second = |seconds: i64| Some(seconds * NANOS_PER_SECOND);
        assert_eq!(time_of(23, 59, 59_999_999), Some(86_399_999_999_000));
        assert_eq!(time_of(0, 0, 60_000_000), None);
        assert_eq!(
            time_of(24, 0, 0)
                .or(time_of(0, -1, 0))
                .or(time_of(0, 0, -1)),
            None
        );
        assert_eq!(of_double(1.5), Some(1_500_000_000));
        assert_eq!(of_double(-1e-10), second(0));
        assert_eq!(
            of_double(86_400.0)
                .or(of_double(f64::NAN))
                .or(of_double(-1.0)),
            None
        );
    }

    #[test]
    fn units_are_known_in_any_case() {
        assert_eq!(unit("MilliSecond"), Some(1_000_000));
        assert_eq!(
            unit("HOURS")
                .or(unit(""))
                .or(unit("DAY"))
                .or(unit("m\u{131}nute")),
            None
        );
    }
}
