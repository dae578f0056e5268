//! Strings as timestamps, in all forms of Spark's `parseTimestampString`:
//!
//! `[+-]yyyy[-m[m][-d[d][( |T)h[h][:m[m][:s[s][.fraction][zone]]]]]]`

use javatime::calendar::{Civil, DAY, SECOND};
use javatime::{TimeZone, Zone, Zones};

use super::parse::Parsed;
use crate::expr::java::trim_all;

/// What a text says.
#[derive(Debug, PartialEq, Eq)]
struct Stamp<'a> {
    /// Year, month, day, hour, minute, second, microsecond.
    parts: [i32; 7],
    zone: Option<&'a [u8]>,
}

/// Digits that are kept of a fraction.
const FRACTION: usize = 6;
const DAYS: usize = 2;
const SECONDS: usize = 5;
const MICROS: usize = 6;

/// Whether a part may have so many digits.
fn valid(part: usize, digits: usize) -> bool {
    match part {
        0 => (4..=6).contains(&digits),
        MICROS => true,
        _ => (1..=2).contains(&digits),
    }
}

/// Reads the parts. `Ok(None)` if it is no timestamp, an error if it is a time of today.
fn parts(text: &[u8]) -> Parsed<Stamp<'_>> {
    let (sign, rest) = match text.split_first() {
        None => return Ok(None),
        Some((b'-', rest)) => (-1, rest),
        Some((b'+', rest)) => (1, rest),
        Some((b'T', _)) => return Err(()),
        Some(_) => (1, text),
    };
    let signed = rest.len() != text.len();
    let mut parts = [1, 1, 1, 0, 0, 0, 0];
    let (mut part, mut value, mut digits) = (0, 0i32, 0);
    let mut zone = None;
    for (at, byte) in rest.iter().enumerate() {
        if byte.is_ascii_digit() {
            if part != MICROS || digits < FRACTION {
                value = value.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
            }
            digits += 1;
            continue;
        }
        let next = match (part, byte) {
            (0 | 1, b'-') | (DAYS, b' ' | b'T') | (3 | 4, b':') | (SECONDS, b'.') => true,
            (0, b':') if !signed => return Err(()),
            // Whatever stands behind the seconds is a zone.
            (SECONDS | MICROS, _) => false,
            _ => return Ok(None),
        };
        if !next {
            zone = rest.get(at..);
            break;
        }
        if !valid(part, digits) {
            return Ok(None);
        }
        if let Some(of) = parts.get_mut(part) {
            *of = value;
        }
        part += 1;
        (value, digits) = (0, 0);
    }
    if !valid(part, digits) {
        return Ok(None);
    }
    if part == MICROS {
        for _ in digits..FRACTION {
            value *= 10;
        }
    }
    if let Some(of) = parts.get_mut(part) {
        *of = value;
    }
    parts[0] *= sign;
    Ok(Some(Stamp { parts, zone }))
}

/// The zone that a text ends with. Regions are left to Spark, and so is what is no zone.
fn zone_of(text: &[u8]) -> Result<Zone, ()> {
    let text = std::str::from_utf8(text).map_err(|_| ())?;
    // As `String.trim`.
    let id = text.trim_matches(|c: char| c <= ' ');
    TimeZone::new(id, &Zones::default())
        .zone()
        .cloned()
        .map_err(|_| ())
}

/// The local time. One that is just beyond 64 bits may be an instant that is not, which is left to Spark.
fn local(parts: [i32; 7]) -> Parsed<i64> {
    let [year, month, day, hour, minute, second, micros] = parts;
    let Some(days) = Civil::new(year, month, day).and_then(Civil::days) else {
        return Ok(None);
    };
    if hour > 23 || minute > 59 || second > 59 {
        return Ok(None);
    }
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    let of_day = seconds * SECOND + i64::from(micros);
    let local = i128::from(days) * i128::from(DAY) + i128::from(of_day);
    match i64::try_from(local) {
        Ok(local) => Ok(Some(local)),
        Err(_)
            if local.unsigned_abs()
                < u128::from(i64::MAX.unsigned_abs()) + u128::from(DAY.unsigned_abs()) =>
        {
            Err(())
        }
        Err(_) => Ok(None),
    }
}

/// The instant of a text. Times of today, and zones with rules in the text, are left to Spark.
pub(in super::super) fn parse(text: &str, zone: &Zone) -> Parsed<i64> {
    let Some(stamp) = parts(trim_all(text.as_bytes()))? else {
        return Ok(None);
    };
    let own = stamp.zone.map(zone_of).transpose()?;
    let local = local(stamp.parts)?;
    Ok(local.and_then(|local| own.as_ref().unwrap_or(zone).instant(local)))
}

/// The local time of a text, whose zone says nothing. One without a date is none.
pub(in super::super) fn parse_local(text: &str) -> Parsed<i64> {
    let Some(stamp) = parts(trim_all(text.as_bytes()))? else {
        return Ok(None);
    };
    stamp.zone.map(zone_of).transpose()?;
    local(stamp.parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_read() {
        let of = |text| parse(text, &Zone::UTC);
        let second = |seconds: i64| Ok(Some(seconds * SECOND));
        assert_eq!(of("1970-01-01 00:00:01.5"), Ok(Some(1_500_000)));
        assert_eq!(of("1970-01-01T00:00:01.1234569"), Ok(Some(1_123_456)));
        assert_eq!(of("1970-01-01 00:00:01."), second(1));
        assert_eq!(of(" 1970-1-2\n"), second(86_400));
        assert_eq!(of("1970"), second(0));
        assert_eq!(of("1970-02"), second(31 * 86_400));
        assert_eq!(of("1970-1-1 1"), second(3600));
        assert_eq!(of("1970-1-1 1:2"), second(3720));
        assert_eq!(of("+1970-01-01 00:00:00Z"), second(0));
        assert_eq!(of("1970-01-01 00:00:00.5+01:00"), Ok(Some(-3_599_500_000)));
        assert_eq!(of("1970-01-01 00:00:00 GMT-8"), second(28_800));
        assert_eq!(of("-0001-01-01"), parse_local("-0001-01-01 00:00:00-01:00"));
        assert_eq!(parse_local("1970-01-01 00:00:00-01:00"), second(0));
    }

    #[test]
    fn what_is_none_is_null_or_left_to_spark() {
        let of = |text| parse(text, &Zone::UTC);
        for text in [
            "",
            "x",
            "197",
            "1970-",
            "1970-01-01T",
            "1970-01-01 24:00:00",
            "1970-13-01",
            "1970-01-01x",
            "1234567",
            "1970-01-01 00:00:60",
            "1970-01-01 000:00",
            "1970-02-30",
            "-1970:00",
            "1970-1-1 1-2",
            "300000-01-01",
        ] {
            assert_eq!(of(text), Ok(None), "{text}");
        }
        for text in [
            "T1:2",
            "12:30",
            "1970-01-01 00:00:00 Europe/Paris",
            "1970-01-01 00:00:00+19:00",
            "294247-01-10 04:00:54.775808",
            "1970-01-01 00:00:00.5.5",
            "1970-01-01 00:00:00 x",
        ] {
            assert_eq!(of(text), Err(()), "{text}");
        }
    }
}
