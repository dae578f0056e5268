//! `date_format`: patterns of numbers.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::StringViewBuilder;
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;

use super::datetime::{Micros, nothing};
use super::kernel::{Kernel, nth};
use super::known;
use super::zone::zone_of;
use catalyst::Unsupported;
use javatime::calendar::{Civil, SECOND, split};
use javatime::{TimeZone, Zone};
use rows::error::bail_out;

/// Longest pattern.
const MAX_PIECES: usize = 100;

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A letter, and to how many digits zeros are put before its number.
    Number(u8, usize),
    /// So many digits of the fraction of a second; what is behind is cut off.
    Fraction(usize),
    Literal(char),
}

/// The pieces of a pattern of `DateTimeFormatter`, as Spark uses it. `None` if there are others than numbers in it.
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
        let letter = u8::try_from(first).ok()?;
        match (letter, count) {
            (b'y', 1 | 4) | (b'M' | b'd' | b'H' | b'm' | b's', 1 | 2) => {
                pieces.push(Piece::Number(letter, count));
            }
            (b'S', 1..=6) => pieces.push(Piece::Fraction(count)),
            (b' ' | b'-' | b'/' | b':' | b'.' | b',' | b'_', _) => {
                pieces.extend(std::iter::repeat_n(Piece::Literal(first), count));
            }
            _ => return None,
        }
    }
    (pieces.len() <= MAX_PIECES).then_some(pieces)
}

/// Lowers `DateFormatClass`.
pub(super) fn lower(
    types: &[ArrowType],
    zone: Option<&TimeZone>,
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let [ArrowType::Timestamp(_, local), ArrowType::Utf8View] = types else {
        return Err(Unsupported::of_use("date_format of another type"));
    };
    let pattern = match args.get(1).and_then(known) {
        Some(ScalarValue::Utf8View(Some(pattern))) => pattern.clone(),
        Some(ScalarValue::Utf8View(None)) => return Ok(nothing(&ArrowType::Utf8View, args)),
        _ => return Err(Unsupported::of_use("a variable format of dates")),
    };
    let pieces = pieces(&pattern)
        .ok_or_else(|| Unsupported::of_use(format!("the date format {pattern}")))?;
    let id = zone.map_or("-", TimeZone::id);
    let name = format!("DateFormatClass[{id}]");
    let zone = if local.is_none() {
        Zone::UTC
    } else {
        zone_of(zone)?
    };
    Ok(Kernel::strict(
        name,
        args,
        ArrowType::Utf8View,
        move |args, _| {
            let array = nth(args, 0)?.primitive::<Micros>()?;
            let mut builder = StringViewBuilder::with_capacity(array.len());
            let mut text = String::new();
            for micros in array {
                let Some(micros) = micros else {
                    builder.append_null();
                    continue;
                };
                text.clear();
                let local = zone.local(micros);
                let written = local.and_then(|local| write_pieces(&pieces, local, &mut text));
                written.ok_or_else(|| bail_out("a date whose year has not four digits as text"))?;
                builder.append_value(&text);
            }
            Ok(Arc::new(builder.finish()))
        },
    ))
}

/// `None` if the year has not four digits.
pub(super) fn write_pieces(pieces: &[Piece], local: i64, text: &mut String) -> Option<()> {
    let (days, of_day) = split(local);
    let Civil { year, month, day } = Civil::of_days(days);
    if !(0..=9999).contains(&year) {
        return None;
    }
    let seconds = of_day / SECOND;
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push(*literal),
            Piece::Fraction(digits) => {
                let fraction = format!("{:06}", of_day % SECOND);
                text.push_str(fraction.get(..*digits)?);
            }
            Piece::Number(letter, width) => {
                let number = match letter {
                    b'y' => year.into(),
                    b'M' => month.into(),
                    b'd' => day.into(),
                    b'H' => seconds / 3600,
                    b'm' => seconds / 60 % 60,
                    _ => seconds % 60,
                };
                write!(text, "{number:0width$}").ok()?;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_numbers_are_known() {
        let write = |pattern, local| {
            let mut text = String::new();
            write_pieces(&pieces(pattern)?, local, &mut text).map(|()| text)
        };
        let local = 3_723_045_678;
        assert_eq!(write("yyyy-MM-dd", local).as_deref(), Some("1970-01-01"));
        assert_eq!(write("H:mm:ss.SSS", local).as_deref(), Some("1:02:03.045"));
        assert_eq!(write("y/M/d", local).as_deref(), Some("1970/1/1"));
        assert_eq!(write("yyyy'T'H'h m'", local).as_deref(), Some("1970T1h m"));
        assert_eq!(write("", local).as_deref(), Some(""));
        for pattern in [
            "yy", "MMM", "EEE", "yyyy'T", "yyyy''", "[yyyy]", "YYYY", "SSSSSSS", "ü",
        ] {
            assert_eq!(pieces(pattern), None, "{pattern}");
        }
        assert_eq!(write("yyyy", i64::MAX), None);
    }
}
