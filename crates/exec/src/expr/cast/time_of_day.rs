//! Casts from and to `TimeType`, and texts as times of a day, in all forms of Spark's `stringToTime`:
//!
//! `[T]h[h][:m[m][:s[s][.fraction]]][AM|PM]`, of which one without `T` has minutes.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::datatypes::{
    Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64NanosecondType as Nanos,
    TimestampMicrosecondType as Micros,
};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::parse::Parsed;
use super::{Casting, OVERFLOW};
use crate::expr::arithmetic::otherwise;
use crate::expr::decimal::rescale;
use crate::expr::java::trim_all;
use crate::expr::kernel::Otherwise;
use catalyst::{DataType, MAX_TIME_PRECISION, Unsupported};
use javatime::Zone;
use javatime::calendar::DAY;
use rows::error::bail_out;

pub(in super::super) const NANOS_PER_SECOND: i64 = 1_000_000_000;
pub(in super::super) const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;

/// What `LocalTime.ofNanoOfDay` fails for, and what only some versions of Spark have.
pub(in super::super) const NO_TIME: &str = "a time that is none";

/// Digits of a second that a time has at most.
const DIGITS: u32 = MAX_TIME_PRECISION as u32;

/// A time without the digits that its type does not have (`truncateTimeToPrecision`).
pub(crate) fn cut(nanos: i64, precision: u8) -> i64 {
    let last = 10_i64.pow(DIGITS.saturating_sub(precision.into()));
    nanos / last * last
}

/// A time of a day as it is, `None` of what is none.
pub(crate) fn valid(nanos: i64) -> Option<i64> {
    (0..NANOS_PER_DAY).contains(&nanos).then_some(nanos)
}

/// A cast to a time from another one or from a timestamp.
pub(super) fn lower(casting: &Casting<'_>, precision: u8) -> Lowered {
    use DataType as T;
    let fail = Otherwise::Fail(NO_TIME);
    let of_day = move |local: i64| Some(cut(local.rem_euclid(DAY) * 1000, precision));
    match casting.from {
        T::Time(_) => casting.each::<Nanos, Nanos>(fail, move |nanos| Some(cut(nanos, precision))),
        T::TimestampNtz => casting.each::<Micros, Nanos>(fail, of_day),
        T::Timestamp => {
            let zone: Zone = casting.zone()?;
            casting.each::<Micros, Nanos>(fail, move |micros| of_day(zone.local(micros)?))
        }
        _ => Err(casting.refuse()),
    }
}

type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// A cast from a time to a number: seconds of the day.
pub(super) fn lower_to_number(casting: &Casting<'_>) -> Lowered {
    use DataType as T;
    let otherwise = otherwise(Some(casting.mode), OVERFLOW);
    let seconds = |nanos: i64| nanos.div_euclid(NANOS_PER_SECOND);
    match casting.to {
        T::Byte => {
            casting.each::<Nanos, Int8Type>(otherwise, move |v| i8::try_from(seconds(v)).ok())
        }
        T::Short => {
            casting.each::<Nanos, Int16Type>(otherwise, move |v| i16::try_from(seconds(v)).ok())
        }
        // Seconds of a day fit.
        T::Integer => casting.each::<Nanos, Int32Type>(Otherwise::Fail(NO_TIME), move |v| {
            i32::try_from(seconds(v)).ok()
        }),
        T::Long => {
            casting.each::<Nanos, Int64Type>(Otherwise::Fail(NO_TIME), move |v| Some(seconds(v)))
        }
        T::Decimal(to) => {
            let (scale, precision) = (to.scale, to.precision);
            casting.each::<Nanos, Decimal128Type>(otherwise, move |v| {
                rescale(v.into(), MAX_TIME_PRECISION.cast_signed(), scale, precision)
            })
        }
        _ => Err(casting.refuse()),
    }
}

/// As `FractionTimeFormatter`: without zeros behind.
pub(super) fn write(nanos: i64, text: &mut String) -> RunResult<()> {
    let nanos = valid(nanos).ok_or_else(|| bail_out(NO_TIME))?;
    let (seconds, fraction) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    // Writing to a string does not fail.
    let _ = write!(text, "{hour:02}:{minute:02}:{second:02}");
    if fraction != 0 {
        let fraction = format!("{fraction:09}");
        let _ = write!(text, ".{}", fraction.trim_end_matches('0'));
    }
    Ok(())
}

/// Which half of the day a text ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Morning,
    Afternoon,
}

/// The time of a text, with so many digits of its fraction.
pub(in super::super) fn parse(text: &str, digits: u8) -> Parsed<i64> {
    Ok(of_text(text, digits))
}

fn of_text(text: &str, digits: u8) -> Option<i64> {
    let (text, half) = without_half(text.trim_end_matches(' '));
    let trimmed = trim_all(text.as_bytes());
    // Only the first of all characters says that it is a time.
    let (marked, trimmed) = match trimmed.split_first() {
        Some((b'T', rest)) if text.starts_with('T') => (true, rest),
        _ => (false, trimmed),
    };
    let mut parts = trimmed.split(|byte| *byte == b':');
    let hour = number(parts.next()?)?;
    let minute = parts.next();
    // Without `T` it is a year.
    if minute.is_none() && !marked {
        return None;
    }
    let minute = minute.map_or(Some(0), number)?;
    let (second, fraction) = match parts.next() {
        None => (0, 0),
        Some(part) => seconds(part, digits)?,
    };
    if parts.next().is_some() {
        return None;
    }
    let hour = match half {
        None => (0..24).contains(&hour).then_some(hour)?,
        Some(half) => {
            let hour = (1..=12).contains(&hour).then_some(hour % 12)?;
            hour + if half == Half::Afternoon { 12 } else { 0 }
        }
    };
    if minute > 59 || second > 59 {
        return None;
    }
    Some(((hour * 60 + minute) * 60 + second) * NANOS_PER_SECOND + fraction)
}

/// What stands before `AM` or `PM`, with which half of the day that is.
fn without_half(text: &str) -> (&str, Option<Half>) {
    let mut last = text.chars().rev();
    let (Some('M' | 'm'), Some(half), Some(_)) = (last.next(), last.next(), last.next()) else {
        return (text, None);
    };
    let half = match half {
        'A' | 'a' => Half::Morning,
        'P' | 'p' => Half::Afternoon,
        _ => return (text, None),
    };
    // Two letters of a byte each.
    let before = text.get(..text.len() - 2).unwrap_or_default();
    (before, Some(half))
}

/// One or two digits.
fn number(text: &[u8]) -> Option<i64> {
    let valid = (1..=2).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    valid.then(|| {
        text.iter()
            .fold(0, |all, digit| all * 10 + i64::from(digit - b'0'))
    })
}

/// Seconds and nanoseconds: what is behind the ninth digit says nothing.
fn seconds(text: &[u8], digits: u8) -> Option<(i64, i64)> {
    let point = text.iter().position(|byte| *byte == b'.');
    let Some(point) = point else {
        return Some((number(text)?, 0));
    };
    let (second, fraction) = text.split_at(point);
    let fraction = fraction.get(1..).unwrap_or_default();
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let known = fraction.iter().take(digits.min(MAX_TIME_PRECISION).into());
    let (nanos, _) = known.fold((0, NANOS_PER_SECOND / 10), |(all, unit), digit| {
        (all + i64::from(digit - b'0') * unit, unit / 10)
    });
    Some((number(second)?, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_texts_are_read() {
        let second = |seconds: i64| Some(seconds * NANOS_PER_SECOND);
        let of = |text| of_text(text, 9);
        assert_eq!(of("00:00"), second(0));
        assert_eq!(of("1:2"), second(3720));
        assert_eq!(of("T1"), second(3600));
        assert_eq!(of("T12:30:45"), second(45_045));
        assert_eq!(of(" 23:59:59. \n"), second(86_399));
        assert_eq!(of("00:00:00.1234567899"), Some(123_456_789));
        assert_eq!(of_text("00:00:00.1234567899", 6), Some(123_456_000));
        assert_eq!(of_text("00:00:01.9", 0), second(1));
        assert_eq!(of("12:00 AM"), second(0));
        assert_eq!(of("12:00pm"), second(43_200));
        assert_eq!(of("T1pM  "), second(13 * 3600));
        assert_eq!(of("11:59:59.5 pm"), Some(86_399_500_000_000));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            " ",
            "12",
            "24:00",
            "12:60",
            "12:00:60",
            "1:",
            ":1",
            "1:2:",
            "1:2:3:4",
            "001:02",
            "-1:02",
            "+1:02",
            "T",
            " T1",
            "T1T",
            "12:00:00Z",
            "12:00:00+01:00",
            "12:00:00.5x",
            "1970-01-01 12:00:00",
            "13:00 AM",
            "0:00 PM",
            "M",
            "PM",
            "12:00 XM",
            "12:00M",
            "TT1",
            "12:00:00.5.5",
            "１２:00",
            "12:00 A M",
        ] {
            assert_eq!(of_text(text, 9), None, "{text:?}");
        }
    }

    #[test]
    fn texts_have_no_zeros_behind() {
        let text = |nanos| {
            let mut text = String::new();
            write(nanos, &mut text).map(|()| text).ok()
        };
        assert_eq!(text(0).as_deref(), Some("00:00:00"));
        assert_eq!(
            text(NANOS_PER_DAY - 1).as_deref(),
            Some("23:59:59.999999999")
        );
        assert_eq!(text(3_661_500_000_000).as_deref(), Some("01:01:01.5"));
        assert_eq!((text(-1), text(NANOS_PER_DAY)), (None, None));
    }

    #[test]
    fn digits_are_cut() {
        assert_eq!(cut(1_999_999_999, 0), NANOS_PER_SECOND);
        assert_eq!(cut(1_999_999_999, 9), 1_999_999_999);
        assert_eq!(cut(1_999_999_999, 3), 1_999_000_000);
    }
}
