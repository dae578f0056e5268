//! Texts as times by a pattern, and seconds as texts: `to_timestamp`, `to_date`, `unix_timestamp`, `from_unixtime`.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, PrimitiveArray, StringViewBuilder};
use arrow::datatypes::{DataType as ArrowType, Date32Type, Int64Type};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::date_format::{Piece, pieces, write_pieces};
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
            match format.read(text).and_then(|local| zone.instant(local)) {
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

impl Format {
    /// `None` for patterns that are not read.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let pieces = pieces(pattern)?;
        let mut letters = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let last = at.checked_sub(1).and_then(|at| pieces.get(at));
            let behind_number = last.is_some_and(|last| !matches!(last, Piece::Literal(_)));
            let open = matches!(last, Some(Piece::Number(_, 1) | Piece::Fraction(_)));
            match piece {
                Piece::Literal(_) => continue,
                // Java looks ahead in numbers that have no end.
                _ if open => return None,
                Piece::Fraction(_) if behind_number => return None,
                Piece::Number(_, 1) if behind_number => return None,
                Piece::Number(b'y', 1) => return None,
                Piece::Fraction(_) => letters.push(b'S'),
                Piece::Number(letter, _) => letters.push(*letter),
            }
        }
        let mut once = letters.clone();
        once.sort_unstable();
        once.dedup();
        // What a text says twice must not differ. A time without its larger parts has rules of its own.
        let has = |letter: u8| letters.contains(&letter);
        let whole = has(b'y')
            && (!has(b'd') || has(b'M'))
            && (!has(b'H') || has(b'd'))
            && (!has(b'm') || has(b'H'))
            && (!has(b's') || has(b'm'))
            && (!has(b'S') || has(b's'));
        (whole && once.len() == letters.len()).then_some(Self(pieces))
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
            Piece::Fraction(_) => false,
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
        let mut rest = text;
        let (mut date, mut seconds, mut micros) = ((1970, 1, 1), 0, 0);
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => rest = rest.strip_prefix(*literal)?,
                Piece::Fraction(most) => {
                    let (number, digits) = number(&mut rest, *most, *most)?;
                    micros = number * 10i64.pow(u32::try_from(6usize.checked_sub(digits)?).ok()?);
                }
                Piece::Number(letter, width) => {
                    let (number, _) = number(&mut rest, *width, (*width).max(2))?;
                    let number = i32::try_from(number).ok()?;
                    let (unit, limit) = match letter {
                        b'y' => (0, 9999),
                        b'M' => (0, 12),
                        b'd' => (0, 31),
                        b'H' => (3600, 23),
                        b'm' => (60, 59),
                        _ => (1, 59),
                    };
                    if number > limit {
                        return None;
                    }
                    match letter {
                        b'y' => date.0 = number,
                        b'M' => date.1 = number,
                        b'd' => date.2 = number,
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
        Some(i64::from(days) * DAY + seconds * SECOND + micros)
    }
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
            let written = local.and_then(|local| write_pieces(&pieces, local, &mut text));
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
