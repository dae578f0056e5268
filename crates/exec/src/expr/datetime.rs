//! Functions of dates and timestamps.

use std::sync::Arc;

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, DurationMicrosecondType, Int8Type, Int16Type, Int32Type,
    IntervalYearMonthType, TimestampMicrosecondType,
};
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Literal;

use super::kernel::{Kernel, Otherwise, Outcome, attempt, binary, nth, single, unary};
use super::zone::zone_of;
use catalyst::Unsupported;
use catalyst::{EvalMode, Function};
use javatime::calendar::{Civil, DAY, SECOND, days_in_month, split, week_of_year, weekday};
use javatime::{TimeZone, Zone};

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;
pub(super) type Micros = TimestampMicrosecondType;

pub(super) const OVERFLOW: Otherwise = Otherwise::Fail("a date that overflows");

/// What becomes of what overflows: an error, but where one is caught.
pub(super) fn overflow(mode: Option<EvalMode>) -> Otherwise {
    match mode {
        Some(EvalMode::Try) => Otherwise::Null,
        _ => OVERFLOW,
    }
}

/// A name that tells functions whose errors are caught from others.
pub(super) fn named(op: Function, mode: Option<EvalMode>, id: &str) -> String {
    match mode {
        Some(EvalMode::Try) => format!("{}[{id} try]", op.name()),
        _ => format!("{}[{id}]", op.name()),
    }
}

/// A field of a date.
fn field(op: Function) -> Option<fn(i32) -> i32> {
    Some(match op {
        Function::Year => |days| Civil::of_days(days).year,
        Function::Quarter => |days| (Civil::of_days(days).month - 1) / 3 + 1,
        Function::Month => |days| Civil::of_days(days).month,
        Function::DayOfMonth => |days| Civil::of_days(days).day,
        Function::DayOfYear => |days| Civil::of_days(days).day_of_year(),
        Function::DayOfWeek => |days| (weekday(days) + 1) % 7 + 1,
        Function::WeekDay => weekday,
        Function::WeekOfYear => week_of_year,
        Function::YearOfWeek => |days| {
            // The week belongs to the year of its Thursday.
            let monday = days.saturating_sub(weekday(days));
            Civil::of_days(monday.saturating_add(3)).year
        },
        _ => return None,
    })
}

/// Which functions dates and timestamps have here.
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
    let refuse = || {
        let types: Vec<_> = types.iter().map(ToString::to_string).collect();
        Unsupported::of_use(format!("{}({})", op.name(), types.join(", ")))
    };
    if let (Some(f), [A::Date32]) = (field(op), types) {
        return Ok(Kernel::strict(op.name(), args, A::Int32, move |args, _| {
            unary::<Date32Type, Int32Type>(single(args)?, OVERFLOW, &A::Int32, |days| Some(f(days)))
        }));
    }
    // Timestamps without time zone have no use for the session's.
    let id = zone.map_or("-", TimeZone::id);
    let zone = |of: &ArrowType| match of {
        A::Timestamp(_, None) => Ok(Zone::UTC),
        _ => zone_of(zone),
    };
    match (op, types) {
        (F::Hour | F::Minute | F::Second, [of @ A::Timestamp(..)]) => {
            let zone = zone(of)?;
            let (unit, modulus) = match op {
                F::Hour => (3600, 24),
                F::Minute => (60, 60),
                _ => (1, 60),
            };
            Ok(Kernel::strict(
                format!("{}[{id}]", op.name()),
                args,
                A::Int32,
                move |args, _| {
                    unary::<Micros, Int32Type>(single(args)?, OVERFLOW, &A::Int32, |micros| {
                        let seconds = split(zone.local(micros)?).1 / SECOND;
                        i32::try_from(seconds / unit % modulus).ok()
                    })
                },
            ))
        }
        (F::DateAdd | F::DateSub, [A::Date32, A::Int32]) => Ok(add_days::<Int32Type>(op, args)),
        (F::DateAdd | F::DateSub, [A::Date32, A::Int16]) => Ok(add_days::<Int16Type>(op, args)),
        (F::DateAdd | F::DateSub, [A::Date32, A::Int8]) => Ok(add_days::<Int8Type>(op, args)),
        (F::DateDiff, [A::Date32, A::Date32]) => {
            Ok(Kernel::strict(op.name(), args, A::Int32, |args, _| {
                binary::<Date32Type, Date32Type, Int32Type>(args, OVERFLOW, &A::Int32, |a, b| {
                    Some(a.wrapping_sub(b))
                })
            }))
        }
        (F::AddMonths, [A::Date32, A::Int32]) => Ok(add_months::<Int32Type>(op, None, args)),
        (F::DateAddYMInterval, [A::Date32, A::Interval(_)]) => {
            Ok(add_months::<IntervalYearMonthType>(op, mode, args))
        }
        (F::LastDay, [A::Date32]) => Ok(Kernel::strict(op.name(), args, A::Date32, |args, _| {
            unary::<Date32Type, Date32Type>(single(args)?, OVERFLOW, &A::Date32, |days| {
                let date = Civil::of_days(days);
                let day = days_in_month(date.year, date.month);
                Civil { day, ..date }.days()
            })
        })),
        (F::TruncDate, [A::Date32, A::Utf8View]) => truncate_date(args),
        (F::TruncTimestamp, [A::Utf8View, of @ A::Timestamp(..)]) => {
            truncate_timestamp(zone(of)?, id, to, args)
        }
        (
            F::TimeAdd | F::TimestampAddInterval,
            [
                of @ A::Timestamp(..),
                A::Duration(arrow::datatypes::TimeUnit::Microsecond),
            ],
        ) => {
            let zone = zone(of)?;
            let (of, otherwise) = (to.clone(), overflow(mode));
            Ok(Kernel::strict(
                named(op, mode, id),
                args,
                to.clone(),
                move |args, rows| {
                    attempt::<Micros, DurationMicrosecondType, Micros>(
                        args,
                        rows,
                        otherwise,
                        &of,
                        |a, b| match add_duration(&zone, a, b) {
                            Some(later) => Outcome::Value(later),
                            None => beyond(i128::from(a) + i128::from(b)),
                        },
                    )
                },
            ))
        }
        _ => Err(refuse()),
    }
}

/// What a time comes to that could not be computed and is about there, which is to say within two days.
pub(super) fn beyond<T>(micros: i128) -> Outcome<T> {
    let offsets = 2 * i128::from(DAY);
    let all = i128::from(i64::MIN) - offsets..=i128::from(i64::MAX) + offsets;
    match all.contains(&micros) {
        true => Outcome::Unknown,
        false => Outcome::Fails,
    }
}

/// Days are days of the calendar, what is less is time that passes.
pub(super) fn add_duration(zone: &Zone, instant: i64, duration: i64) -> Option<i64> {
    let (days, rest) = (duration / DAY, duration % DAY);
    later(zone, instant, |local| local.checked_add(days * DAY))?.checked_add(rest)
}

/// An instant that was moved along the calendar: where the new local time is there twice, it is in the same half.
pub(super) fn later(zone: &Zone, instant: i64, f: impl Fn(i64) -> Option<i64>) -> Option<i64> {
    let offset = zone.offset_at(instant);
    let local = instant.checked_add(offset)?;
    zone.instant_with(f(local)?, offset)
}

fn add_days<T: ArrowPrimitiveType<Native: Into<i32>>>(
    op: Function,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let subtract = op == Function::DateSub;
    Kernel::strict(op.name(), args, ArrowType::Date32, move |args, _| {
        binary::<Date32Type, T, Date32Type>(args, OVERFLOW, &ArrowType::Date32, |days, by| {
            // Ints of Java.
            Some(if subtract {
                days.wrapping_sub(by.into())
            } else {
                days.wrapping_add(by.into())
            })
        })
    })
}

fn add_months<T: ArrowPrimitiveType<Native = i32>>(
    op: Function,
    mode: Option<EvalMode>,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let (name, otherwise) = (named(op, mode, "-"), overflow(mode));
    Kernel::strict(name, args, ArrowType::Date32, move |args, _| {
        binary::<Date32Type, T, Date32Type>(args, otherwise, &ArrowType::Date32, |days, months| {
            Civil::of_days(days).plus_months(months)?.days()
        })
    })
}

/// Units that dates and timestamps are cut to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    /// Of so many microseconds, not longer than a day.
    Micros(i64),
}

impl Unit {
    fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_str() {
            "YEAR" | "YYYY" | "YY" => Self::Year,
            "QUARTER" => Self::Quarter,
            "MONTH" | "MON" | "MM" => Self::Month,
            "WEEK" => Self::Week,
            "DAY" | "DD" => Self::Micros(DAY),
            "HOUR" => Self::Micros(3600 * SECOND),
            "MINUTE" => Self::Micros(60 * SECOND),
            "SECOND" => Self::Micros(SECOND),
            "MILLISECOND" => Self::Micros(1000),
            "MICROSECOND" => Self::Micros(1),
            _ => return None,
        })
    }

    /// The first day of the unit; `None` for units within a day.
    fn truncate(self, days: i32) -> Option<i32> {
        let date = Civil::of_days(days);
        let first = |month| {
            let date = Civil {
                month,
                day: 1,
                ..date
            };
            date.days()
        };
        match self {
            Self::Year => first(1),
            Self::Quarter => first((date.month - 1) / 3 * 3 + 1),
            Self::Month => first(date.month),
            Self::Week => days.checked_sub(weekday(days)),
            Self::Micros(_) => None,
        }
    }
}

/// The unit that a literal names; `Ok(None)` if it names none.
fn unit(arg: Option<&Arc<dyn PhysicalExpr>>) -> Result<Option<Unit>, Unsupported> {
    let literal =
        arg.and_then(|arg| (arg.as_ref() as &dyn std::any::Any).downcast_ref::<Literal>());
    match literal.map(Literal::value) {
        Some(ScalarValue::Utf8View(Some(name))) => Ok(Unit::parse(name)),
        Some(ScalarValue::Utf8View(None)) => Ok(None),
        _ => Err(Unsupported::of_use("a variable unit of time")),
    }
}

pub(super) fn nothing(to: &ArrowType, args: Args) -> Arc<dyn PhysicalExpr> {
    let of = to.clone();
    Kernel::lenient("Nothing", args, to.clone(), move |_, rows| {
        Ok(arrow::array::new_null_array(&of, rows))
    })
}

fn truncate_date(args: Args) -> Lowered {
    let unit = unit(args.get(1))?;
    let Some(unit) = unit.filter(|unit| !matches!(unit, Unit::Micros(_))) else {
        return Ok(nothing(&ArrowType::Date32, args));
    };
    Ok(Kernel::strict(
        format!("TruncDate[{unit:?}]"),
        args,
        ArrowType::Date32,
        move |args, _| {
            unary::<Date32Type, Date32Type>(nth(args, 0)?, OVERFLOW, &ArrowType::Date32, |days| {
                unit.truncate(days)
            })
        },
    ))
}

fn truncate_timestamp(zone: Zone, id: &str, to: &ArrowType, args: Args) -> Lowered {
    let Some(unit) = unit(args.first())? else {
        return Ok(nothing(to, args));
    };
    let of = to.clone();
    let name = format!("TruncTimestamp[{unit:?} {id}]");
    Ok(Kernel::strict(name, args, to.clone(), move |args, _| {
        unary::<Micros, Micros>(nth(args, 1)?, OVERFLOW, &of, |micros| {
            truncate_instant(&zone, unit, micros)
        })
    }))
}

/// The start of a unit. `None` where it overflows, and where versions of Spark differ: a day that begins twice.
fn truncate_instant(zone: &Zone, unit: Unit, instant: i64) -> Option<i64> {
    let offset = zone.offset_at(instant);
    let local = instant.checked_add(offset)?;
    match unit {
        // Offsets are whole seconds.
        Unit::Micros(unit) if unit <= SECOND => instant.checked_sub(instant.rem_euclid(unit)),
        Unit::Micros(unit) => zone.instant_with(local.checked_sub(local.rem_euclid(unit))?, offset),
        _ => {
            let days = unit.truncate(split(local).0)?;
            if zone.is_ambiguous(i64::from(days).checked_mul(DAY)?) {
                return None;
            }
            zone.start_of_day(days)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_cut_to_their_first_day() {
        let of = |year, month, day| Civil { year, month, day }.days().unwrap();
        let day = of(2024, 8, 15);
        assert_eq!(Unit::Year.truncate(day), Some(of(2024, 1, 1)));
        assert_eq!(Unit::Quarter.truncate(day), Some(of(2024, 7, 1)));
        assert_eq!(Unit::Month.truncate(day), Some(of(2024, 8, 1)));
        assert_eq!(Unit::Week.truncate(day), Some(of(2024, 8, 12)));
        assert_eq!(Unit::parse("mon"), Some(Unit::Month));
        assert_eq!(Unit::parse("decade"), None);
    }

    #[test]
    fn days_of_the_week_begin_on_sunday() {
        let f = field(Function::DayOfWeek).unwrap();
        // A Thursday.
        assert_eq!(f(0), 5);
        assert_eq!(f(3), 1);
        assert_eq!(f(2), 7);
    }
}
