//! Functions of dates and timestamps that count units of the calendar, and names of days and months.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, Date32Array, Float64Array, Int64Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Date32Type, Int64Type};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::date_format::{DAYS, MONTHS, short};
use super::datetime::{Micros, later};
use super::kernel::{Kernel, nth, pair, single};
use super::strings::texts;
use super::zone::zone_of;
use super::{known, refused};
use catalyst::Unsupported;
use catalyst::{EvalMode, Function};
use javatime::calendar::{Civil, DAY, SECOND, days_in_month, split, weekday};
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
    let id = zone.map_or("-", TimeZone::id);
    let zone = |of: &ArrowType| match of {
        A::Timestamp(_, None) => Ok(Zone::UTC),
        _ => zone_of(zone),
    };
    Ok(match (op, types) {
        (F::NextDay, [A::Date32, A::Utf8View]) => next_day(mode == Some(EvalMode::Ansi), args),
        (F::DayName, [A::Date32]) => name_of(op, &DAYS, weekday, args),
        (F::MonthName, [A::Date32]) => {
            name_of(op, &MONTHS, |days| Civil::of_days(days).month - 1, args)
        }
        (F::MonthsBetween, [of @ A::Timestamp(..), other, A::Boolean]) if of == other => {
            months_between(format!("MonthsBetween[{id}]"), zone(of)?, args)
        }
        (F::TimestampAdd, [A::Utf8View, A::Int32 | A::Int64, of @ A::Timestamp(..)]) => {
            add(id, zone(of)?, to, args)?
        }
        (F::TimestampDiff, [A::Utf8View, of @ A::Timestamp(..), other]) if of == other => {
            difference(id, zone(of)?, args)?
        }
        _ => return Err(refused(op, types)),
    })
}

fn name_of<const N: usize>(
    op: Function,
    names: &'static [&'static str; N],
    place: fn(i32) -> i32,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(op.name(), args, ArrowType::Utf8View, move |args, rows| {
        let arg = single(args)?;
        let dates = arg.primitive::<Date32Type>()?;
        texts(&[arg], rows, |row, out| {
            let place = usize::try_from(place(dates.value(arg.at(row))));
            let name = place.ok().and_then(|place| names.get(place));
            out.push_str(short(name.unwrap_or(&"")));
            Ok(())
        })
    })
}

/// The day of the week that a text names, 0 is Monday. Texts whose upper case depends on more than ASCII are an error.
fn day_of_week(name: &str) -> Result<Option<i32>, ()> {
    if !name.is_ascii() {
        return Err(());
    }
    Ok(match name.to_ascii_uppercase().as_str() {
        "MO" | "MON" | "MONDAY" => Some(0),
        "TU" | "TUE" | "TUESDAY" => Some(1),
        "WE" | "WED" | "WEDNESDAY" => Some(2),
        "TH" | "THU" | "THURSDAY" => Some(3),
        "FR" | "FRI" | "FRIDAY" => Some(4),
        "SA" | "SAT" | "SATURDAY" => Some(5),
        "SU" | "SUN" | "SUNDAY" => Some(6),
        _ => None,
    })
}

fn next_day(ansi: bool, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = format!("NextDay[{ansi}]");
    Kernel::strict(name, args, ArrowType::Date32, move |args, rows| {
        let (date, name) = pair(args)?;
        let (dates, names) = (date.primitive::<Date32Type>()?, name.string()?);
        let found = (0..rows).map(|row| {
            let (date, name) = (date.at(row), name.at(row));
            if dates.is_null(date) || names.is_null(name) {
                return Ok(None);
            }
            let day = day_of_week(names.value(name));
            let day = day.map_err(|()| bail_out("letters whose case depends on Java's Unicode"))?;
            let Some(day) = day else {
                return if ansi {
                    Err(bail_out("a day that is none"))
                } else {
                    Ok(None)
                };
            };
            let date = dates.value(date);
            let ahead = (day - weekday(date) - 1).rem_euclid(7) + 1;
            Ok(Some(date.wrapping_add(ahead)))
        });
        Ok(Arc::new(found.collect::<RunResult<Date32Array>>()?))
    })
}

/// Months from the second to the first, with what is left as a part of 31 days, in digits of 8 places if asked for.
fn months(zone: &Zone, first: i64, second: i64, rounded: bool) -> Option<f64> {
    let day_of = |instant| Some(split(zone.local(instant)?).0);
    let (days, other_days) = (day_of(first)?, day_of(second)?);
    let (date, other) = (Civil::of_days(days), Civil::of_days(other_days));
    let count = |of: &Civil| of.year * 12 + of.month;
    let difference = f64::from(count(&date) - count(&other));
    let is_last = |of: &Civil| of.day == days_in_month(of.year, of.month);
    if date.day == other.day || (is_last(&date) && is_last(&other)) {
        return Some(difference);
    }
    let seconds = |instant: i64, days| Some((instant - zone.start_of_day(days)?) / SECOND);
    let of_days = i64::from(date.day - other.day) * (DAY / SECOND);
    let rest = of_days + seconds(first, days)? - seconds(second, other_days)?;
    // Less than a month's seconds.
    #[allow(clippy::cast_precision_loss)]
    let months = difference + rest as f64 / (31 * DAY / SECOND) as f64;
    if !rounded {
        return Some(months);
    }
    // As `Math.round`: half up.
    let digits = months * 1e8;
    let floor = digits.floor();
    let nearest = if digits - floor >= 0.5 {
        floor + 1.0
    } else {
        floor
    };
    // A long has one zero.
    Some((nearest + 0.0) / 1e8)
}

fn months_between(name: String, zone: Zone, args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(name, args, ArrowType::Float64, move |args, rows| {
        let (first, second, rounded) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (firsts, seconds) = (first.primitive::<Micros>()?, second.primitive::<Micros>()?);
        let flags = rounded.boolean()?;
        let found = (0..rows).map(|row| {
            let (first, second, rounded) = (first.at(row), second.at(row), rounded.at(row));
            if firsts.is_null(first) || seconds.is_null(second) || flags.is_null(rounded) {
                return Ok(None);
            }
            let (first, second) = (firsts.value(first), seconds.value(second));
            let months = months(&zone, first, second, flags.value(rounded));
            months
                .map(Some)
                .ok_or_else(|| bail_out("a date that overflows"))
        });
        Ok(Arc::new(found.collect::<RunResult<Float64Array>>()?))
    })
}

/// A unit of `timestampadd` and `timestampdiff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Time that passes.
    Micros(i64),
    Days(i64),
    Months(i32),
}

impl Unit {
    /// The unit that the first argument names.
    fn of(args: &Args) -> Result<Self, Unsupported> {
        let name = match args.first().and_then(known) {
            Some(ScalarValue::Utf8View(Some(name))) => name.to_ascii_uppercase(),
            _ => return Err(Unsupported::of_use("a variable unit of time")),
        };
        Ok(match name.as_str() {
            "MICROSECOND" => Self::Micros(1),
            "MILLISECOND" => Self::Micros(1000),
            "SECOND" => Self::Micros(SECOND),
            "MINUTE" => Self::Micros(60 * SECOND),
            "HOUR" => Self::Micros(3600 * SECOND),
            "DAY" | "DAYOFYEAR" => Self::Days(1),
            "WEEK" => Self::Days(7),
            "MONTH" => Self::Months(1),
            "QUARTER" => Self::Months(3),
            "YEAR" => Self::Months(12),
            _ => return Err(Unsupported::of_use("another unit of time")),
        })
    }

    /// So many units later.
    fn later(self, zone: &Zone, instant: i64, count: i64) -> Option<i64> {
        match self {
            Self::Micros(unit) => instant.checked_add(count.checked_mul(unit)?),
            Self::Days(unit) => {
                // An int of Java.
                let days = i32::try_from(count.checked_mul(unit)?).ok()?;
                later(zone, instant, |local| {
                    local.checked_add(i64::from(days) * DAY)
                })
            }
            Self::Months(unit) => {
                let months = i32::try_from(count).ok()?.checked_mul(unit)?;
                later(zone, instant, |local| {
                    let (days, of_day) = split(local);
                    let date = Civil::of_days(days).plus_months(months)?;
                    i64::from(date.days()?)
                        .checked_mul(DAY)?
                        .checked_add(of_day)
                })
            }
        }
    }

    /// Whole units from one local time to another.
    fn between(self, from: i64, to: i64) -> Option<i64> {
        match self {
            Self::Micros(unit) => Some(to.checked_sub(from)? / unit),
            Self::Days(unit) => Some(to.checked_sub(from)? / DAY / unit),
            Self::Months(unit) => {
                let ((start, early), (end, late)) = (split(from), split(to));
                // As `LocalDateTime.until`: a day that is not over does not count.
                let end = match (end.cmp(&start), late.cmp(&early)) {
                    (Ordering::Greater, Ordering::Less) => end - 1,
                    (Ordering::Less, Ordering::Greater) => end + 1,
                    _ => end,
                };
                let packed = |days| {
                    let date = Civil::of_days(days);
                    (i64::from(date.year) * 12 + i64::from(date.month)) * 32 + i64::from(date.day)
                };
                Some((packed(end) - packed(start)) / 32 / i64::from(unit))
            }
        }
    }
}

fn add(id: &str, zone: Zone, to: &ArrowType, args: Args) -> Lowered {
    let unit = Unit::of(&args)?;
    let of = to.clone();
    let name = format!("TimestampAdd[{unit:?} {id}]");
    Ok(Kernel::strict(name, args, to.clone(), move |args, rows| {
        let (count, start) = (nth(args, 1)?, nth(args, 2)?);
        let counts = cast(&count.array, &ArrowType::Int64)?;
        let counts = arrow::array::AsArray::as_primitive_opt::<Int64Type>(&counts);
        let counts = counts.ok_or_else(|| bail_out("an argument of another type"))?;
        let starts = start.primitive::<Micros>()?;
        let found = (0..rows).map(|row| {
            let (count, start) = (count.at(row), start.at(row));
            if counts.is_null(count) || starts.is_null(start) {
                return Ok(None);
            }
            let found = unit.later(&zone, starts.value(start), counts.value(count));
            found
                .map(Some)
                .ok_or_else(|| bail_out("a timestamp that overflows"))
        });
        let found = found.collect::<RunResult<PrimitiveArray<Micros>>>()?;
        Ok(Arc::new(found.with_data_type(of.clone())))
    }))
}

fn difference(id: &str, zone: Zone, args: Args) -> Lowered {
    let unit = Unit::of(&args)?;
    let name = format!("TimestampDiff[{unit:?} {id}]");
    Ok(Kernel::strict(
        name,
        args,
        ArrowType::Int64,
        move |args, rows| {
            let (start, end) = (nth(args, 1)?, nth(args, 2)?);
            let (starts, ends) = (start.primitive::<Micros>()?, end.primitive::<Micros>()?);
            let found = (0..rows).map(|row| {
                let (start, end) = (start.at(row), end.at(row));
                if starts.is_null(start) || ends.is_null(end) {
                    return Ok(None);
                }
                let locals = zone
                    .local(starts.value(start))
                    .zip(zone.local(ends.value(end)));
                let found = locals.and_then(|(start, end)| unit.between(start, end));
                found
                    .map(Some)
                    .ok_or_else(|| bail_out("a timestamp that overflows"))
            });
            Ok(Arc::new(found.collect::<RunResult<Int64Array>>()?))
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i32, month: i32, day: i32, seconds: i64) -> i64 {
        let days = Civil { year, month, day }.days().unwrap();
        i64::from(days) * DAY + seconds * SECOND
    }

    #[test]
    fn whole_months_are_counted() {
        let of = |from, to| Unit::Months(1).between(from, to).unwrap();
        assert_eq!(of(at(2024, 1, 31, 0), at(2024, 2, 29, 0)), 0);
        assert_eq!(of(at(2024, 1, 29, 1), at(2024, 2, 29, 0)), 0);
        assert_eq!(of(at(2024, 1, 29, 1), at(2024, 2, 29, 1)), 1);
        assert_eq!(of(at(2024, 2, 29, 0), at(2024, 1, 29, 1)), 0);
        assert_eq!(of(at(2024, 2, 29, 1), at(2024, 1, 29, 1)), -1);
        assert_eq!(of(at(2023, 1, 31, 9), at(2023, 3, 1, 8)), 0);
        assert_eq!(
            Unit::Months(12).between(at(2020, 2, 29, 0), at(2021, 2, 28, 0)),
            Some(0)
        );
    }

    #[test]
    fn units_are_added_on_the_calendar() {
        let add = |unit: Unit, count| unit.later(&Zone::UTC, at(2024, 1, 31, 5), count);
        assert_eq!(add(Unit::Months(1), 1), Some(at(2024, 2, 29, 5)));
        assert_eq!(add(Unit::Days(7), -1), Some(at(2024, 1, 24, 5)));
        assert_eq!(add(Unit::Micros(SECOND), 5), Some(at(2024, 1, 31, 10)));
        assert_eq!(add(Unit::Days(7), i64::from(i32::MAX)), None);
        assert_eq!(add(Unit::Micros(SECOND), i64::MAX), None);
    }

    #[test]
    fn days_have_names() {
        assert_eq!(day_of_week("tue"), Ok(Some(1)));
        assert_eq!(day_of_week("tues"), Ok(None));
        assert_eq!(day_of_week("ſu"), Err(()));
    }

    #[test]
    fn months_between_have_digits() {
        let of = |first, second, rounded| months(&Zone::UTC, first, second, rounded).unwrap();
        let (first, second) = (at(1997, 2, 28, 37800), at(1996, 10, 30, 0));
        assert_eq!(of(first, second, true), 3.94959677);
        assert_eq!(of(first, second, false), 3.9495967741935485);
        assert_eq!(of(at(2024, 2, 29, 9), at(2024, 1, 31, 0), true), 1.0);
    }
}
