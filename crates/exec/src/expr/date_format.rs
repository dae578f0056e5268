//! Patterns of dates and times, and `date_format`, which writes by them: those of `DateTimeFormatter` for `Locale.US`,
//! as Spark uses it.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{PrimitiveArray, StringViewBuilder};
use arrow::datatypes::{DataType as ArrowType, Time64NanosecondType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;

use super::cast::time_of_day::{NO_TIME, valid};
use super::datetime::{Micros, nothing};
use super::kernel::{Kernel, nth};
use super::known;
use super::zone::zone_of;
use catalyst::Unsupported;
use javatime::calendar::{Civil, SECOND, split, weekday};
use javatime::{TimeZone, Zone};
use rows::error::bail_out;

/// Longest pattern.
const MAX_PIECES: usize = 100;

/// From January, as they are written in full; the first three letters are the short form.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The same of days of the week.
pub(super) const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// The halves of a day.
pub(super) const HALVES: [&str; 2] = ["AM", "PM"];

const QUARTERS: [&str; 4] = ["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"];

/// The short form of a month or day.
pub(super) fn short(name: &str) -> &str {
    name.get(..3).unwrap_or(name)
}

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A letter, and to how many digits zeros are put before its number. Two digits of a year are its last.
    Number(u8, usize),
    /// So many digits of the fraction of a second; what is behind is cut off.
    Fraction(usize),
    /// A letter whose value has a name, and whether it is the whole name.
    Name(u8, bool),
    /// The offset from UTC: a letter, and how often it is there.
    Offset(u8, usize),
    Literal(char),
}

/// The pieces of a pattern of which only numbers are known. `None` if there are others in it.
pub(super) fn numbers(pattern: &str) -> Option<Vec<Piece>> {
    let is_known = |piece: &Piece| match piece {
        Piece::Number(b'y', width) => matches!(width, 1 | 4),
        Piece::Number(letter, _) => b"MdHms".contains(letter),
        Piece::Fraction(digits) => *digits <= 6,
        Piece::Literal(_) => true,
        Piece::Name(..) | Piece::Offset(..) => false,
    };
    pieces(pattern).filter(|pieces| pieces.iter().all(is_known))
}

/// The pieces of a pattern of `DateTimeFormatter`, as Spark uses it. `None` if it is none, or there are pieces in it
/// that are not known here: names of zones, optional parts, eras, weeks, two quotes for one.
pub(super) fn pieces(pattern: &str) -> Option<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if first == '\'' {
            // Two quotes are one.
            let (text, behind) = rest.get(1..)?.split_once('\'')?;
            if text.is_empty() || behind.starts_with('\'') {
                return None;
            }
            pieces.extend(text.chars().map(Piece::Literal));
            rest = behind;
            continue;
        }
        let run = rest.len() - rest.trim_start_matches(first).len();
        let count = run / first.len_utf8();
        rest = rest.get(run..)?;
        if first.is_ascii_alphabetic() {
            pieces.push(piece(u8::try_from(first).ok()?, count)?);
        } else if matches!(first, '[' | ']' | '{' | '}' | '#') {
            return None;
        } else {
            pieces.extend(std::iter::repeat_n(Piece::Literal(first), count));
        }
    }
    (pieces.len() <= MAX_PIECES).then_some(pieces)
}

/// What a letter stands for that is there so often in a row.
fn piece(letter: u8, count: usize) -> Option<Piece> {
    Some(match (letter, count) {
        (b'y', 1..=6)
        | (b'M' | b'L' | b'd' | b'H' | b'h' | b'K' | b'k' | b'm' | b's' | b'Q' | b'q', 1 | 2)
        | (b'D', 1..=3) => Piece::Number(letter, count),
        (b'S', 1..=9) => Piece::Fraction(count),
        (b'M' | b'L' | b'Q' | b'q', 3 | 4) => Piece::Name(letter, count == 4),
        (b'E', 1..=4) => Piece::Name(letter, count == 4),
        (b'a', 1) => Piece::Name(letter, false),
        (b'X' | b'x' | b'Z', 1..=5) | (b'O', 1 | 4) => Piece::Offset(letter, count),
        _ => return None,
    })
}

/// Lowers `DateFormatClass`.
pub(super) fn lower(
    types: &[ArrowType],
    zone: Option<&TimeZone>,
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let (has_zone, is_time) = match types {
        [ArrowType::Timestamp(_, local), ArrowType::Utf8View] => (local.is_some(), false),
        [ArrowType::Time64(TimeUnit::Nanosecond), ArrowType::Utf8View] => (false, true),
        _ => return Err(Unsupported::of_use("date_format of another type")),
    };
    let pattern = match args.get(1).and_then(known) {
        Some(ScalarValue::Utf8View(Some(pattern))) => pattern.clone(),
        Some(ScalarValue::Utf8View(None)) => return Ok(nothing(&ArrowType::Utf8View, args)),
        _ => return Err(Unsupported::of_use("a variable format of dates")),
    };
    let pieces = pieces(&pattern)
        .filter(|pieces| !is_time || pieces.iter().all(is_of_time))
        .ok_or_else(|| Unsupported::of_use(format!("the date format {pattern}")))?;
    let id = zone.map_or("-", TimeZone::id);
    let name = format!("DateFormatClass[{id}]");
    let zone = match has_zone {
        true => zone_of(zone)?,
        false => Zone::UTC,
    };
    Ok(Kernel::strict(
        name,
        args,
        ArrowType::Utf8View,
        move |args, _| {
            let array = match is_time {
                true => &micros_of(nth(args, 0)?.primitive::<Time64NanosecondType>()?)?,
                false => nth(args, 0)?.primitive::<Micros>()?,
            };
            let mut builder = StringViewBuilder::with_capacity(array.len());
            let mut text = String::new();
            for micros in array {
                let Some(micros) = micros else {
                    builder.append_null();
                    continue;
                };
                text.clear();
                let local = zone.local(micros);
                let written =
                    local.and_then(|local| write_pieces(&pieces, local, local - micros, &mut text));
                written.ok_or_else(|| bail_out("a date whose year has not four digits as text"))?;
                builder.append_value(&text);
            }
            Ok(Arc::new(builder.finish()))
        },
    ))
}

/// Whether times of a day have it, in microseconds.
fn is_of_time(piece: &Piece) -> bool {
    match piece {
        Piece::Number(letter, _) => b"HkKhms".contains(letter),
        Piece::Fraction(digits) => *digits <= 6,
        Piece::Name(letter, _) => *letter == b'a',
        Piece::Literal(_) => true,
        Piece::Offset(..) => false,
    }
}

/// Times of a day on the first day of all.
fn micros_of(
    times: &PrimitiveArray<Time64NanosecondType>,
) -> datafusion_common::Result<PrimitiveArray<Micros>> {
    times.try_unary(|nanos| {
        let nanos = valid(nanos).ok_or_else(|| bail_out(NO_TIME))?;
        Ok::<_, datafusion_common::DataFusionError>(nanos / 1000)
    })
}

/// Writes a local time, which is so many microseconds ahead of UTC. `None` if the year has not four digits.
pub(super) fn write_pieces(
    pieces: &[Piece],
    local: i64,
    ahead: i64,
    text: &mut String,
) -> Option<()> {
    let (days, of_day) = split(local);
    let date = Civil::of_days(days);
    if !(0..=9999).contains(&date.year) {
        return None;
    }
    for piece in pieces {
        match *piece {
            Piece::Literal(literal) => text.push(literal),
            Piece::Fraction(digits) => {
                let fraction = format!("{:06}000", of_day % SECOND);
                text.push_str(fraction.get(..digits)?);
            }
            Piece::Number(letter, width) => {
                let number = number(letter, width, date, of_day / SECOND);
                write!(text, "{number:0width$}").ok()?;
            }
            Piece::Name(b'a', _) => {
                text.push_str(HALVES.get(usize::from(of_day >= 12 * 3600 * SECOND))?)
            }
            Piece::Name(letter @ (b'Q' | b'q'), false) => {
                write!(text, "Q{}", number(letter, 1, date, 0)).ok()?;
            }
            Piece::Name(letter, whole) => {
                let (names, place): (&[&str], _) = match letter {
                    b'E' => (&DAYS, weekday(days)),
                    b'M' | b'L' => (&MONTHS, date.month - 1),
                    _ => (&QUARTERS, (date.month - 1) / 3),
                };
                let name = names.get(usize::try_from(place).ok()?)?;
                text.push_str(if whole { name } else { short(name) });
            }
            Piece::Offset(letter, count) => write_offset(letter, count, ahead / SECOND, text)?,
        }
    }
    Some(())
}

/// The number that a letter stands for.
fn number(letter: u8, width: usize, date: Civil, seconds: i64) -> i64 {
    let hour = seconds / 3600;
    match letter {
        b'y' if width == 2 => (date.year % 100).into(),
        b'y' => date.year.into(),
        b'M' | b'L' => date.month.into(),
        b'Q' | b'q' => ((date.month - 1) / 3 + 1).into(),
        b'D' => date.day_of_year().into(),
        b'd' => date.day.into(),
        b'H' => hour,
        b'k' if hour == 0 => 24,
        b'k' => hour,
        b'K' => hour % 12,
        b'h' if hour % 12 == 0 => 12,
        b'h' => hour % 12,
        b'm' => seconds / 60 % 60,
        _ => seconds % 60,
    }
}

/// Writes an offset of so many seconds as `appendOffset` and `appendLocalizedOffset` do.
pub(super) fn write_offset(
    letter: u8,
    count: usize,
    seconds: i64,
    text: &mut String,
) -> Option<()> {
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = {
        let size = seconds.abs();
        (size / 3600, size / 60 % 60, size % 60)
    };
    let localized = letter == b'O' || (letter, count) == (b'Z', 4);
    let is_none = (hours, minutes, seconds) == (0, 0, 0);
    if localized {
        text.push_str("GMT");
        match count {
            _ if is_none => return Some(()),
            4 => write!(text, "{sign}{hours:02}:{minutes:02}").ok()?,
            _ if minutes != 0 || seconds != 0 => write!(text, "{sign}{hours}:{minutes:02}").ok()?,
            _ => write!(text, "{sign}{hours}").ok()?,
        }
        return if seconds != 0 {
            write!(text, ":{seconds:02}").ok()
        } else {
            Some(())
        };
    }
    // Up to three letters Z mean the same.
    let count = if letter == b'Z' && count <= 3 {
        2
    } else {
        count
    };
    // Smaller parts than are written do not count.
    let with_seconds = count >= 4 && seconds != 0;
    if hours == 0 && minutes == 0 && !with_seconds {
        text.push_str(match (letter, count) {
            (b'X', _) | (b'Z', 5) => "Z",
            (_, 1) => "+00",
            (_, 2 | 4) => "+0000",
            _ => "+00:00",
        });
        return Some(());
    }
    let colon = if matches!(count, 3 | 5) { ":" } else { "" };
    write!(text, "{sign}{hours:02}").ok()?;
    if count > 1 || minutes != 0 {
        write!(text, "{colon}{minutes:02}").ok()?;
    }
    if with_seconds {
        write!(text, "{colon}{seconds:02}").ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(pattern: &str, local: i64, ahead: i64) -> Option<String> {
        let mut text = String::new();
        write_pieces(&pieces(pattern)?, local, ahead * SECOND, &mut text).map(|()| text)
    }

    #[test]
    fn numbers_are_written_with_as_many_digits_as_letters() {
        let write = |pattern| write(pattern, 3_723_045_678, 0).unwrap();
        assert_eq!(write("yyyy-MM-dd"), "1970-01-01");
        assert_eq!(write("H:mm:ss.SSS"), "1:02:03.045");
        assert_eq!(write("ss.SSSSSSSSS"), "03.045678000");
        assert_eq!(
            write("y/M/d yy yyyyy D DD DDD"),
            "1970/1/1 70 01970 1 01 001"
        );
        assert_eq!(write("yyyy'T'H'h m'"), "1970T1h m");
        assert_eq!(
            write("hh h K k Q QQ q L (yyyy年)"),
            "01 1 1 1 1 01 1 1 (1970年)"
        );
        assert_eq!(write(""), "");
    }

    #[test]
    fn names_are_those_of_the_united_states() {
        let hour = 3600 * SECOND;
        // A Tuesday in September.
        let local = (18_520 * 24 + 12) * hour;
        let pattern = "E EEEE d MMM MMMM LLL LLLL QQQ QQQQ h a";
        assert_eq!(
            write(pattern, local, 0).as_deref(),
            Some("Tue Tuesday 15 Sep September Sep September Q3 3rd quarter 12 PM")
        );
        assert_eq!(write("hh K kk a", 0, 0).as_deref(), Some("12 0 24 AM"));
    }

    #[test]
    fn offsets_are_written_in_every_form() {
        let all = "X XX XXX XXXX XXXXX x xx xxx xxxx Z ZZZZ ZZZZZ O OOOO";
        let of = |ahead| write(all, 0, ahead).unwrap();
        assert_eq!(
            of(0),
            "Z Z Z Z Z +00 +0000 +00:00 +0000 +0000 GMT Z GMT GMT"
        );
        assert_eq!(
            of(3600),
            "+01 +0100 +01:00 +0100 +01:00 +01 +0100 +01:00 +0100 +0100 GMT+01:00 +01:00 GMT+1 GMT+01:00"
        );
        assert_eq!(
            of(-12_645),
            "-0330 -0330 -03:30 -033045 -03:30:45 -0330 -0330 -03:30 -033045 -0330 GMT-03:30:45 -03:30:45 GMT-3:30:45 \
             GMT-03:30:45"
        );
        assert_eq!(of(20).split(' ').nth(2), Some("Z"));
    }

    #[test]
    fn other_patterns_are_not_known() {
        for pattern in [
            "yyyyyyy", "MMMMM", "EEEEE", "u", "w", "e", "G", "VV", "z", "B", "n", "A", "F", "p",
            "aa", "ddd", "XXXXXX", "OO", "QQQQQ", "yyyy'T", "yyyy''", "[yyyy]", "YYYY", "{", "#",
        ] {
            assert_eq!(pieces(pattern), None, "{pattern}");
        }
        assert!(numbers("yyyy-MM-dd'T'HH:mm:ss.SSS").is_some());
        for pattern in ["yy", "MMM", "h", "X", "SSSSSSS", "D"] {
            assert!(pieces(pattern).is_some(), "{pattern}");
            assert_eq!(numbers(pattern), None, "{pattern}");
        }
        assert_eq!(write("yyyy", i64::MAX, 0), None);
    }
}
