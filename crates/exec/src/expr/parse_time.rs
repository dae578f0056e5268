//! Texts as times by a pattern, and seconds as texts: `to_timestamp`, `to_date`, `unix_timestamp`, `from_unixtime`.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, PrimitiveArray, StringViewBuilder};
use arrow::datatypes::{DataType as ArrowType, Date32Type, Int64Type};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::date_format::{HALVES, MONTHS, Piece, numbers, pieces, short, write_pieces};
use super::datetime::{Micros, nothing};
use super::kernel::{Kernel, nth};
use super::zone::zone_of;
use super::{known, refused};
use catalyst::Unsupported;
use catalyst::{EvalMode, Function};
use javatime::calendar::{Civil, DAY, SECOND};
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
    let seconds = matches!(op, F::UnixTimestamp | F::ToUnixTimestamp);
    let text = matches!(types, [A::Utf8View, A::Utf8View]);
    if op == F::FromUnixTime && *types == [A::Int64, A::Utf8View] {
        return from_seconds(id, zone_of(zone)?, args);
    }
    if seconds && matches!(types, [A::Date32 | A::Timestamp(..), A::Utf8View]) {
        return to_seconds(op, id, zone_of(zone)?, args);
    }
    let is_time = matches!(to, A::Timestamp(..)) && op == F::GetTimestamp;
    if !text || !(seconds || is_time) {
        return Err(refused(op, types));
    }
    let local = matches!(to, A::Timestamp(_, None));
    let zone = if local { Zone::UTC } else { zone_of(zone)? };
    let Some(pattern) = pattern(&args)? else {
        return Ok(nothing(to, args));
    };
    let unknown = || Unsupported::of_use(format!("the date format {pattern} for reading"));
    let format = Format::new(&pattern).ok_or_else(unknown)?;
    if local && format.has_offset() {
        return Err(unknown());
    }
    let ansi = mode == Some(EvalMode::Ansi);
    let of = to.clone();
    let name = format!("{}[{pattern} {ansi} {id}]", op.name());
    Ok(Kernel::strict(name, args, to.clone(), move |args, rows| {
        let text = nth(args, 0)?;
        let texts = text.string()?;
        let instants = (0..rows).map(|row| {
            let at = text.at(row);
            if texts.is_null(at) {
                return Ok(None);
            }
            let text = texts.value(at);
            let instant = format
                .read_moment(text)
                .and_then(|moment| match moment.ahead {
                    Some(ahead) => moment.local.checked_sub(ahead),
                    None => zone.instant(moment.local),
                });
            match instant {
                // The fraction is cut off, also before the epoch.
                Some(instant) if seconds => Ok(Some(instant / SECOND)),
                Some(instant) => Ok(Some(instant)),
                None if !ansi && format.begins_with_number() && is_nothing(text) => Ok(None),
                None => Err(bail_out("a text that may be a time")),
            }
        });
        if seconds {
            return Ok(Arc::new(instants.collect::<RunResult<Int64Array>>()?));
        }
        let found = instants.collect::<RunResult<PrimitiveArray<Micros>>>()?;
        Ok(Arc::new(found.with_data_type(of.clone())))
    }))
}

/// The constant pattern; `None` if it is null.
fn pattern(args: &Args) -> Result<Option<String>, Unsupported> {
    match args.get(1).and_then(known) {
        Some(ScalarValue::Utf8View(pattern)) => Ok(pattern.clone()),
        _ => Err(Unsupported::of_use("a variable format of dates")),
    }
}

/// Whether no formatter, not even the lenient one of Spark 2, finds a number at the start of a text: it is empty, or
/// begins with a letter (but for `N`, of `NaN`).
pub(super) fn is_nothing(text: &str) -> bool {
    let first = text.bytes().next();
    first.is_none_or(|first| first.is_ascii_alphabetic() && !first.eq_ignore_ascii_case(&b'n'))
}

/// A pattern to read by. Texts are read if each number has as many digits as the pattern has letters, and what a single
/// letter stands for, one or two; whatever else Java takes is not.
#[derive(Debug)]
pub(super) struct Format(Vec<Piece>);

/// What a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    /// Microseconds since the local epoch.
    local: i64,
    /// By how many of them that is ahead of UTC, if the text says it.
    ahead: Option<i64>,
}

impl Format {
    /// Of numbers only. `None` for patterns that are not read.
    pub(super) fn of_numbers(pattern: &str) -> Option<Self> {
        Self::of(numbers(pattern)?)
    }

    /// `None` for patterns that are not read.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        Self::of(pieces(pattern)?)
    }

    /// Of times of a day, which have an hour. `None` for patterns that are not read.
    pub(super) fn of_time(pattern: &str) -> Option<Self> {
        let (format, letters) = Self::with_letters(pieces(pattern)?)?;
        let has = |letter: u8| letters.contains(&letter);
        let whole = has(b'H') != (has(b'h') && has(b'a'))
            && has(b'h') == has(b'a')
            && !letters.iter().any(|letter| b"yMdX".contains(letter))
            && (!has(b's') || has(b'm'))
            && (!has(b'S') || has(b's'));
        whole.then_some(format)
    }

    fn of(pieces: Vec<Piece>) -> Option<Self> {
        let (format, letters) = Self::with_letters(pieces)?;
        // What a text says twice must not differ. A time without its larger parts has rules of its own.
        let has = |letter: u8| letters.contains(&letter);
        let has_hour = has(b'H') || has(b'h');
        let whole = has(b'y')
            && (!has(b'd') || has(b'M'))
            && !(has(b'H') && has(b'h'))
            && has(b'h') == has(b'a')
            && (!has_hour || has(b'd'))
            && (!has(b'm') || has_hour)
            && (!has(b's') || has(b'm'))
            && (!has(b'S') || has(b's'))
            && (!has(b'X') || has(b'd'));
        whole.then_some(format)
    }

    /// With the letters of what it says, each of them once.
    fn with_letters(pieces: Vec<Piece>) -> Option<(Self, Vec<u8>)> {
        let mut letters = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let last = at.checked_sub(1).and_then(|at| pieces.get(at));
            let behind_number = matches!(last, Some(Piece::Number(..) | Piece::Fraction(_)));
            let open = matches!(last, Some(Piece::Number(_, 1) | Piece::Fraction(_)));
            match *piece {
                // Spark looks for the letter of fractions in what is quoted, too.
                Piece::Literal('S') => return None,
                Piece::Literal(_) => {}
                Piece::Name(b'M', _) => letters.push(b'M'),
                Piece::Name(b'a', _) => letters.push(b'a'),
                // One letter x reads its zero before anything else.
                Piece::Offset(b'X', 1..=3)
                | Piece::Offset(b'x', 2 | 3)
                | Piece::Offset(b'Z', 1..=3) => {
                    letters.push(b'X');
                }
                Piece::Name(..) | Piece::Offset(..) => return None,
                // Java looks ahead in numbers that have no end.
                _ if open => return None,
                Piece::Fraction(7..) => return None,
                Piece::Fraction(_) if behind_number => return None,
                Piece::Number(_, 1) if behind_number => return None,
                Piece::Number(b'y', 1 | 3 | 5 | 6) => return None,
                Piece::Fraction(_) => letters.push(b'S'),
                Piece::Number(letter @ (b'y' | b'M' | b'd' | b'H' | b'h' | b'm' | b's'), _) => {
                    letters.push(letter);
                }
                Piece::Number(..) => return None,
            }
        }
        let mut once = letters.clone();
        once.sort_unstable();
        once.dedup();
        (once.len() == letters.len()).then_some((Self(pieces), letters))
    }

    /// Whether texts say how far they are ahead of UTC.
    fn has_offset(&self) -> bool {
        self.0
            .iter()
            .any(|piece| matches!(piece, Piece::Offset(..)))
    }

    /// Whether texts begin with a number.
    pub(super) fn begins_with_number(&self) -> bool {
        matches!(self.0.first(), Some(Piece::Number(..) | Piece::Fraction(_)))
    }

    /// Whether Java does not read a text either that [`Self::read`] does not.
    pub(super) fn is_sure(&self, text: &str) -> bool {
        let exact = |piece: &Piece| match piece {
            // Letters may be in other case.
            Piece::Literal(literal) => !literal.is_alphabetic(),
            Piece::Number(_, width) => *width > 1,
            Piece::Fraction(_) | Piece::Name(..) | Piece::Offset(..) => false,
        };
        // Years may have a sign, and with it more digits; who knows year 0.
        let mut last = b' ';
        let signed = text.bytes().any(|byte| {
            let sign = byte == b'+' || (byte == b'-' && !last.is_ascii_digit());
            last = byte;
            sign
        });
        self.0.iter().all(exact) && !signed && !text.contains("0000")
    }

    /// The local time that a text says.
    pub(super) fn read(&self, text: &str) -> Option<i64> {
        self.read_moment(text).map(|moment| moment.local)
    }

    /// What a text says.
    fn read_moment(&self, text: &str) -> Option<Moment> {
        let mut rest = text;
        let (mut date, mut seconds, mut micros) = ((1970, 1, 1), 0, 0);
        let mut ahead = None;
        for piece in &self.0 {
            match *piece {
                Piece::Literal(literal) => rest = rest.strip_prefix(literal)?,
                Piece::Fraction(most) => {
                    let (number, digits) = number(&mut rest, most, most)?;
                    micros = number * 10i64.pow(u32::try_from(6usize.checked_sub(digits)?).ok()?);
                }
                Piece::Name(b'a', _) => {
                    let names = HALVES.into_iter();
                    seconds += i64::try_from(name(&mut rest, names)?).ok()? * 12 * 3600;
                }
                Piece::Name(_, whole) => {
                    let names = MONTHS.into_iter();
                    let names = names.map(|name| if whole { name } else { short(name) });
                    date.1 = i32::try_from(name(&mut rest, names)?).ok()? + 1;
                }
                Piece::Offset(letter, count) => {
                    ahead = Some(offset(&mut rest, letter, count)? * SECOND);
                }
                Piece::Number(letter, width) => {
                    let (number, _) = number(&mut rest, width, width.max(2))?;
                    let number = i32::try_from(number).ok()?;
                    let (unit, limits) = match letter {
                        b'y' => (0, 0..=9999),
                        b'M' => (0, 0..=12),
                        b'd' => (0, 0..=31),
                        b'H' => (3600, 0..=23),
                        b'h' => (3600, 1..=12),
                        b'm' => (60, 0..=59),
                        _ => (1, 0..=59),
                    };
                    if !limits.contains(&number) {
                        return None;
                    }
                    match letter {
                        // Two digits are a year of this century.
                        b'y' if width == 2 => date.0 = 2000 + number,
                        b'y' => date.0 = number,
                        b'M' => date.1 = number,
                        b'd' => date.2 = number,
                        b'h' => seconds += i64::from(number % 12) * unit,
                        _ => seconds += i64::from(number) * unit,
                    }
                }
            }
        }
        // There is no year 0 of an era.
        if !rest.is_empty() || date.0 == 0 {
            return None;
        }
        let days = Civil::new(date.0, date.1, date.2)?.days()?;
        let local = i64::from(days) * DAY + seconds * SECOND + micros;
        Some(Moment { local, ahead })
    }
}

/// Which of some names a text begins with; Java does not mind the case.
fn name<'n>(rest: &mut &str, mut names: impl Iterator<Item = &'n str>) -> Option<usize> {
    names.position(|name| {
        let Some((start, behind)) = rest.split_at_checked(name.len()) else {
            return false;
        };
        let found = start.eq_ignore_ascii_case(name);
        if found {
            *rest = behind;
        }
        found
    })
}

/// Seconds ahead of UTC at the start of a text, as [`Piece::Offset`] has them.
fn offset(rest: &mut &str, letter: u8, count: usize) -> Option<i64> {
    if letter == b'X'
        && let Some(behind) = rest.strip_prefix('Z')
    {
        *rest = behind;
        return Some(0);
    }
    let sign = match rest.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    *rest = rest.get(1..)?;
    let (hours, _) = number(rest, 2, 2)?;
    let with_colon = count == 3 && letter != b'Z';
    if with_colon {
        *rest = rest.strip_prefix(':')?;
    }
    let minutes = match number(rest, 2, 2) {
        Some((minutes, _)) => minutes,
        None if (letter, count) == (b'X', 1) => 0,
        None => return None,
    };
    // Those of 18 hours and more have limits of their own.
    (hours < 18 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// A number at the start of a text, of so many digits.
fn number(rest: &mut &str, least: usize, most: usize) -> Option<(i64, usize)> {
    let digits = rest
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    if digits < least {
        return None;
    }
    let (number, behind) = rest.split_at(digits);
    *rest = behind;
    Some((number.parse().ok()?, digits))
}

/// Seconds as text.
fn from_seconds(id: &str, zone: Zone, args: Args) -> Lowered {
    let Some(pattern) = pattern(&args)? else {
        return Ok(nothing(&ArrowType::Utf8View, args));
    };
    let pieces = pieces(&pattern)
        .ok_or_else(|| Unsupported::of_use(format!("the date format {pattern}")))?;
    let name = format!("FromUnixTime[{pattern} {id}]");
    let to = ArrowType::Utf8View;
    Ok(Kernel::strict(name, args, to, move |args, rows| {
        let arg = nth(args, 0)?;
        let all = arg.primitive::<Int64Type>()?;
        let mut builder = StringViewBuilder::with_capacity(rows);
        let mut text = String::new();
        for row in 0..rows {
            let at = arg.at(row);
            if all.is_null(at) {
                builder.append_null();
                continue;
            }
            text.clear();
            let instant = all.value(at).checked_mul(SECOND);
            let local = instant.and_then(|instant| zone.local(instant));
            let written = local
                .zip(instant)
                .and_then(|(local, at)| write_pieces(&pieces, local, local - at, &mut text));
            written.ok_or_else(|| bail_out("a date whose year has not four digits as text"))?;
            builder.append_value(&text);
        }
        Ok(Arc::new(builder.finish()))
    }))
}

/// Seconds since the epoch of dates and timestamps; the pattern is not looked at.
fn to_seconds(op: Function, id: &str, zone: Zone, args: Args) -> Lowered {
    let name = format!("{}[{id}]", op.name());
    let args = args.into_iter().take(1).collect();
    Ok(Kernel::strict(
        name,
        args,
        ArrowType::Int64,
        move |args, rows| {
            let arg = nth(args, 0)?;
            let overflow = || bail_out("a date that overflows");
            let is_date = *arg.array.data_type() == ArrowType::Date32;
            let found = (0..rows).map(|row| {
                let at = arg.at(row);
                if arg.array.is_null(at) {
                    return Ok(None);
                }
                let instant = if is_date {
                    let days = arg.primitive::<Date32Type>()?.value(at);
                    zone.start_of_day(days).ok_or_else(overflow)?
                } else {
                    arg.primitive::<Micros>()?.value(at)
                };
                Ok(Some(instant / SECOND))
            });
            Ok(Arc::new(found.collect::<RunResult<Int64Array>>()?))
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_day_have_an_hour() {
        let of = |pattern, text| Format::of_time(pattern)?.read(text);
        assert_eq!(
            of("HH:mm:ss.SSSSSS", "01:02:03.000004"),
            Some(3_723_000_004)
        );
        assert_eq!(of("h.m a", "12.5 PM"), Some(43_500_000_000));
        assert_eq!(of("H", "7"), Some(25_200_000_000));
        for pattern in [
            "mm:ss", "hh:mm", "HH a", "HH:ss", "yyyy HH", "HH:mm X", "HH H", "",
        ] {
            assert!(Format::of_time(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn only_texts_of_the_patterns_width_are_read() {
        let of = |pattern, text| Format::new(pattern).unwrap().read(text);
        let day = 20_000 * DAY;
        assert_eq!(of("yyyy-MM-dd", "2024-10-04"), Some(day));
        assert_eq!(of("yyyyMMdd", "20241004"), Some(day));
        assert_eq!(of("d/M/yyyy", "4/10/2024"), Some(day));
        assert_eq!(of("yyyy-MM", "2024-10"), Some(day - 3 * DAY));
        let time = of("yyyy-MM-dd HH:mm:ss.SSS", "2024-10-04 01:02:03.5");
        assert_eq!(time, None);
        let time = of("yyyy-MM-dd'T'HH:mm", "2024-10-04T01:02");
        assert_eq!(time, Some(day + 3_720_000_000));
        // Java does not mind the case.
        assert_eq!(of("yyyy-MM-dd'T'HH:mm", "2024-10-04t01:02"), None);
        let time = of("yyyy-MM-dd HH:mm:ss.SSS", "2024-10-04 01:02:03.500");
        assert_eq!(time, Some(day + 3_723_500_000));
        for text in [
            "2024-1-04",
            "2024-10-04 ",
            "+2024-10-04",
            "2024-13-01",
            "2023-02-29",
            "0000-01-01",
            "",
        ] {
            assert_eq!(of("yyyy-MM-dd", text), None, "{text}");
        }
    }

    #[test]
    fn names_offsets_and_halves_of_days_are_read() {
        let of = |pattern, text| Format::new(pattern).unwrap().read_moment(text);
        let local = 20_000 * DAY + 45_296 * SECOND;
        let moment = |ahead: i64| {
            let ahead = Some(ahead * SECOND);
            Some(Moment { local, ahead })
        };
        let apache = "dd/MMM/yyyy:HH:mm:ss Z";
        assert_eq!(of(apache, "04/Oct/2024:12:34:56 +0000"), moment(0));
        assert_eq!(of(apache, "04/oCT/2024:12:34:56 -0330"), moment(-12_600));
        for text in [
            "04/Okt/2024:12:34:56 +0000",
            "04/Oct/2024:12:34:56 Z",
            "04/Oct/2024:12:34:56 +00:00",
        ] {
            assert_eq!(of(apache, text), None, "{text}");
        }
        let iso = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX";
        assert_eq!(of(iso, "2024-10-04T12:34:56.000Z"), moment(0));
        assert_eq!(of(iso, "2024-10-04T12:34:56.000+05:45"), moment(20_700));
        for text in [
            "2024-10-04T12:34:56.000z",
            "2024-10-04T12:34:56.000+18:00",
            "2024-10-04T12:34:56.000+0545",
        ] {
            assert_eq!(of(iso, text), None, "{text}");
        }
        let short = "yyyy-MM-dd HH:mm:ssX";
        assert_eq!(of(short, "2024-10-04 12:34:56+05"), moment(18_000));
        assert_eq!(of(short, "2024-10-04 12:34:56-0545"), moment(-20_700));
        assert_eq!(of(short, "2024-10-04 12:34:56-054"), None);
        let halves = "MMMM d, yyyy h:mm:ss a";
        let half = of(halves, "October 4, 2024 12:34:56 PM").unwrap();
        assert_eq!(half, Moment { local, ahead: None });
        let night = of(halves, "october 4, 2024 12:34:56 am").unwrap();
        assert_eq!(night.local, local - DAY / 2);
        assert_eq!(of(halves, "Oct 4, 2024 12:34:56 PM"), None);
        assert_eq!(of(halves, "October 4, 2024 13:34:56 PM"), None);
        assert_eq!(
            of("MM/dd/yy", "10/04/24").map(|moment| moment.local),
            Some(20_000 * DAY)
        );
        assert!(Format::of_numbers(iso).is_none() && Format::of_numbers("MM/dd/yy").is_none());
    }

    #[test]
    fn patterns_that_java_reads_with_rules_are_not_known() {
        for pattern in [
            "yyyyMMddHHmmssSSS",
            "yMd",
            "y-MM-dd",
            "HH:mm",
            "yyyy-dd",
            "yyyy-MM-dd yyyy",
            "dMyyyy",
            "MM-dd",
            "yyyy HH",
            "yyyy'",
            "yyyy''MM",
            "yyyy'T''M'",
            "yyyy-MM-dd hh:mm",
            "yyyy-MM-dd HH:mm a",
            "yyyy-MM-dd HH hh a",
            "yyyy XXX",
            "yyyy-MM-dd x",
            "yyyy-MM-dd ZZZZ",
            "yyyy-DDD",
            "yyyy LLL",
            "E yyyy-MM-dd",
            "yyyy-MM-dd'S'",
            "yyyy-MM-dd KK a",
        ] {
            assert!(Format::new(pattern).is_none(), "{pattern}");
        }
        let sure = |pattern, text| Format::new(pattern).unwrap().is_sure(text);
        for text in ["2020-01-02 03:04", "1,5", "2020-02-30", "20200102", "x", ""] {
            assert!(sure("yyyy-MM-dd", text), "{text}");
        }
        for text in ["-2020-01-02", "+12020-01-02", "2020-01--2", "0000-01-02"] {
            assert!(!sure("yyyy-MM-dd", text), "{text}");
        }
        assert!(!sure("d/M/yyyy", "002/01/2020") && !sure("yyyy-MM-dd'T'HH:mm", "1"));
        assert!(is_nothing("") && is_nothing("x1"));
        assert!(!is_nothing("NaN") && !is_nothing(" 1") && !is_nothing("1") && !is_nothing("ä"));
    }
}
