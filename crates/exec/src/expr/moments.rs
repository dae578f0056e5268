//! More functions of dates and timestamps: differences, numbers since the epoch, clocks of other zones.

use std::sync::Arc;

use arrow::array::{ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, DurationMicrosecondType, Int8Type,
    Int16Type, Int32Type, Int64Type, IntervalYearMonthType,
};
use datafusion_physical_expr::PhysicalExpr;

use super::arithmetic::otherwise;
use super::datetime::{Micros, OVERFLOW, beyond, later, named, nothing, overflow};
use super::kernel::{Kernel, Otherwise, Outcome, attempt, binary, nth, one, unary, union_nulls};
use super::known;
use super::zone::zone_of;
use catalyst::Unsupported;
use catalyst::{EvalMode, Function};
use javatime::calendar::{Civil, DAY, SECOND, split};
use javatime::{TimeZone, Zone};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Lowers a function of this module.
pub(super) fn lower(
    op: Function,
    mode: Option<EvalMode>,
    types: &[ArrowType],
    to: &ArrowType,
    zone: Option<&TimeZone>,
    args: Args,
) -> Lowered {
    use ArrowType as A;
    use Function as F;
    let name = format!("{}[{}]", op.name(), zone.map_or("-", TimeZone::id));
    let of_type = |of: &ArrowType| match of {
        A::Timestamp(_, None) => Ok(Zone::UTC),
        _ => zone_of(zone),
    };
    match (op, types) {
        (F::TimestampAddYMInterval, [of @ A::Timestamp(..), A::Interval(_)]) => {
            let zone = of_type(of)?;
            Ok(tried::<IntervalYearMonthType, Micros>(
                op,
                mode,
                name,
                to,
                args,
                move |start, months| match add_months(&zone, start, months) {
                    Some(later) => Outcome::Value(later),
                    // No month is shorter.
                    None => beyond(i128::from(start) + i128::from(months) * 28 * i128::from(DAY)),
                },
            ))
        }
        (F::SubtractTimestamps, [of @ A::Timestamp(..), other]) if of == other => {
            let zone = of_type(of)?;
            Ok(tried::<Micros, DurationMicrosecondType>(
                op,
                mode,
                name,
                to,
                args,
                move |end, start| match (zone.local(end), zone.local(start)) {
                    (Some(end), Some(start)) => match end.checked_sub(start) {
                        Some(between) => Outcome::Value(between),
                        None => Outcome::Fails,
                    },
                    _ => Outcome::Unknown,
                },
            ))
        }
        (F::SubtractDates, [A::Date32, A::Date32]) => {
            let (name, of, otherwise) = (named(op, mode, "-"), to.clone(), overflow(mode));
            Ok(Kernel::strict(name, args, to.clone(), move |args, _| {
                binary::<Date32Type, Date32Type, DurationMicrosecondType>(
                    args,
                    otherwise,
                    &of,
                    |end, start| i64::from(end.checked_sub(start)?).checked_mul(DAY),
                )
            }))
        }
        (F::SecondWithFraction, [of @ A::Timestamp(..)]) => {
            let zone = of_type(of)?;
            Ok(one::<Micros, Decimal128Type>(
                name,
                to,
                args,
                OVERFLOW,
                move |micros| Some(zone.local(micros)?.rem_euclid(60 * SECOND).into()),
            ))
        }
        (F::FromUTCTimestamp | F::ToUTCTimestamp, [A::Timestamp(..), A::Utf8View]) => {
            let id = args.get(1).and_then(known);
            if id.is_some_and(datafusion_common::ScalarValue::is_null) {
                return Ok(nothing(to, args));
            }
            if zone.is_none() {
                return Err(Unsupported::of_use("a variable time zone"));
            }
            let (zone, of, from) = (zone_of(zone)?, to.clone(), op == F::FromUTCTimestamp);
            Ok(Kernel::strict(name, args, to.clone(), move |args, _| {
                unary::<Micros, Micros>(nth(args, 0)?, OVERFLOW, &of, |micros| {
                    if from {
                        zone.local(micros)
                    } else {
                        zone.instant(micros)
                    }
                })
            }))
        }
        (F::UnixDate, [A::Date32]) => {
            Ok(one::<Date32Type, Int32Type>(name, to, args, OVERFLOW, Some))
        }
        (F::DateFromUnixDate, [A::Int32]) => {
            Ok(one::<Int32Type, Date32Type>(name, to, args, OVERFLOW, Some))
        }
        (F::UnixSeconds | F::UnixMillis | F::UnixMicros, [A::Timestamp(..)]) => {
            let unit = micros_of(op);
            Ok(one::<Micros, Int64Type>(
                name,
                to,
                args,
                OVERFLOW,
                move |micros| Some(micros.div_euclid(unit)),
            ))
        }
        (F::SecondsToTimestamp | F::MillisToTimestamp | F::MicrosToTimestamp, [of]) => match of {
            A::Int8 => Ok(timestamp::<Int8Type>(name, op, to, args)),
            A::Int16 => Ok(timestamp::<Int16Type>(name, op, to, args)),
            A::Int32 => Ok(timestamp::<Int32Type>(name, op, to, args)),
            A::Int64 => Ok(timestamp::<Int64Type>(name, op, to, args)),
            other => Err(Unsupported::of_use(format!("{}({other})", op.name()))),
        },
        (F::MakeDate, [A::Int32, A::Int32, A::Int32]) => Ok(make_date(mode, args)),
        (
            F::MakeTimestamp,
            [
                A::Int32,
                A::Int32,
                A::Int32,
                A::Int32,
                A::Int32,
                A::Decimal128(_, 6),
                rest @ ..,
            ],
        ) if matches!(rest, [] | [A::Utf8View]) => {
            let id = args.get(6).and_then(known);
            if id.is_some_and(datafusion_common::ScalarValue::is_null) {
                return Ok(nothing(to, args));
            }
            if !rest.is_empty() && zone.is_none() {
                return Err(Unsupported::of_use("a variable time zone"));
            }
            Ok(make_timestamp(name, mode, of_type(to)?, to, args))
        }
        (F::PreciseTimestampConversion, [A::Timestamp(..)]) if *to == A::Int64 => {
            Ok(one::<Micros, Int64Type>(name, to, args, OVERFLOW, Some))
        }
        (F::PreciseTimestampConversion, [A::Int64]) if matches!(to, A::Timestamp(..)) => {
            Ok(one::<Int64Type, Micros>(
                format!("{name} {to}"),
                to,
                args,
                OVERFLOW,
                Some,
            ))
        }
        _ => {
            let types: Vec<_> = types.iter().map(ToString::to_string).collect();
            Err(Unsupported::of_use(format!(
                "{}({})",
                op.name(),
                types.join(", ")
            )))
        }
    }
}

/// A function of a timestamp and another value whose errors may be caught.
fn tried<B: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    op: Function,
    mode: Option<EvalMode>,
    name: String,
    to: &ArrowType,
    args: Args,
    f: impl Fn(i64, B::Native) -> Outcome<O::Native> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    let (name, of, otherwise) = (named(op, mode, &name), to.clone(), overflow(mode));
    Kernel::strict(name, args, to.clone(), move |args, rows| {
        attempt::<Micros, B, O>(args, rows, otherwise, &of, &f)
    })
}

/// A time so many months later on the calendar.
pub(super) fn add_months(zone: &Zone, start: i64, months: i32) -> Option<i64> {
    later(zone, start, |local| {
        let (days, of_day) = split(local);
        let date = Civil::of_days(days).plus_months(months)?;
        i64::from(date.days()?)
            .checked_mul(DAY)?
            .checked_add(of_day)
    })
}

/// Microseconds of the unit that a function counts in.
fn micros_of(op: Function) -> i64 {
    match op {
        Function::UnixSeconds | Function::SecondsToTimestamp => SECOND,
        Function::UnixMillis | Function::MillisToTimestamp => 1000,
        _ => 1,
    }
}

fn timestamp<I: ArrowPrimitiveType<Native: Into<i64>>>(
    name: String,
    op: Function,
    to: &ArrowType,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let unit = micros_of(op);
    one::<I, Micros>(name, to, args, OVERFLOW, move |value| {
        value.into().checked_mul(unit)
    })
}

/// A local time of numbers, the seconds as microseconds; `None` if there is none.
fn local_time(parts: [i32; 5], micros: i64) -> Option<i64> {
    let [year, month, day, hour, minute] = parts;
    let (second, fraction) = (micros.div_euclid(SECOND), micros.rem_euclid(SECOND));
    let in_range = (0..24).contains(&hour) && (0..60).contains(&minute);
    // The 60th second begins the next minute.
    let in_minute = (0..60).contains(&second) || (second == 60 && fraction == 0);
    if !in_range || !in_minute {
        return None;
    }
    let of_day = (i64::from(hour) * 60 + i64::from(minute)) * 60 * SECOND + micros;
    let days = i64::from(Civil::new(year, month, day)?.days()?);
    days.checked_mul(DAY)?.checked_add(of_day)
}

/// Whether a date exists that days of 32 bits or microseconds of 64 do not reach: Java fails then, whatever the mode.
fn is_far(year: i32) -> bool {
    !(-290_000..=290_000).contains(&year)
}

fn make_timestamp(
    name: String,
    mode: Option<EvalMode>,
    zone: Zone,
    to: &ArrowType,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let otherwise = otherwise(mode, "a timestamp that does not exist");
    let (name, of) = (format!("{name} {mode:?} {to}"), to.clone());
    Kernel::strict(name, args, to.clone(), move |args, rows| {
        let nulls = union_nulls(&args.iter().collect::<Vec<_>>());
        let mut numbers = Vec::new();
        for place in 0..5 {
            numbers.push((
                nth(args, place)?,
                nth(args, place)?.primitive::<Int32Type>()?,
            ));
        }
        let seconds = nth(args, 5)?;
        let fractions = seconds.primitive::<Decimal128Type>()?;
        let mut made = Vec::with_capacity(rows);
        for row in 0..rows {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                made.push(None);
                continue;
            }
            let mut parts = [0; 5];
            for (part, (arg, values)) in parts.iter_mut().zip(&numbers) {
                *part = values.value(arg.at(row));
            }
            if is_far(parts[0]) {
                return Err(bail_out("a timestamp that overflows"));
            }
            // Spark cuts more off where it does not generate code.
            let micros = i32::try_from(fractions.value(seconds.at(row)));
            let micros = micros.map_err(|_| bail_out("seconds that overflow"))?;
            let micros = local_time(parts, micros.into());
            let micros = micros.map(|local| {
                zone.instant(local)
                    .ok_or_else(|| bail_out("a timestamp that overflows"))
            });
            made.push(match (micros.transpose()?, otherwise) {
                (Some(micros), _) => Some(micros),
                (None, Otherwise::Fail(reason)) => return Err(bail_out(reason)),
                (None, _) => None,
            });
        }
        let made: PrimitiveArray<Micros> = made.into_iter().collect();
        Ok(Arc::new(made.with_data_type(of.clone())))
    })
}

fn make_date(mode: Option<EvalMode>, args: Args) -> Arc<dyn PhysicalExpr> {
    let otherwise = otherwise(mode, "a date that does not exist");
    let name = format!("MakeDate[{mode:?}]");
    Kernel::strict(name, args, ArrowType::Date32, move |args, rows| {
        let nulls = union_nulls(&args.iter().collect::<Vec<_>>());
        let part = |index: usize| {
            let arg = nth(args, index)?;
            let values = arg.primitive::<Int32Type>()?.values();
            Ok::<_, datafusion_common::DataFusionError>(move |row| values.get(arg.at(row)).copied())
        };
        let (year, month, day) = (part(0)?, part(1)?, part(2)?);
        let mut dates = Vec::with_capacity(rows);
        for row in 0..rows {
            let null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let (Some(year), Some(month), Some(day)) = (year(row), month(row), day(row)) else {
                return Err(bail_out("an argument of another length"));
            };
            let date = Civil::new(year, month, day).filter(|_| !null);
            dates.push(match (date, otherwise) {
                // Java ends in an error that is not asked for.
                (Some(date), _) => Some(
                    date.days()
                        .ok_or_else(|| bail_out("a date that overflows"))?,
                ),
                (None, Otherwise::Fail(reason)) if !null => return Err(bail_out(reason)),
                (None, _) => None,
            });
        }
        Ok(Arc::new(
            dates.into_iter().collect::<PrimitiveArray<Date32Type>>(),
        ))
    })
}
