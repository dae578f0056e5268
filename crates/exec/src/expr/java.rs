//! Texts of numbers as Java writes and reads them.

use super::decimal::{fits, pow10};

/// The digits that `Double.toString` gives.
///
/// Before Java 19 some doubles had more digits than they need. Which Java an application has is not known here, so that
/// those that may be written differently are not written at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JavaDouble {
    negative: bool,
    /// From the first that is not zero; "0" for zero.
    digits: String,
    /// The number is `0.digits` times 10 to this.
    exponent: i32,
}

impl JavaDouble {
    /// Of a finite double; `None` if Javas differ.
    pub(super) fn of(value: f64) -> Option<Self> {
        let magnitude = value.abs();
        let bits = magnitude.to_bits();
        let power_of_two = bits & ((1 << 52) - 1) == 0;
        let sure = |digits: usize| {
            if magnitude.fract() == 0.0 && magnitude < 9_007_199_254_740_992.0 {
                return true;
            }
            // Large longs had a way of their own, and up to about 1e26 more digits than needed were found.
            let large_long = magnitude.fract() == 0.0 && magnitude < 1e30;
            // An interval half as large was searched below powers of two; small ones are exact anyway.
            let even = power_of_two && !(1.0 / 65536.0..=1.0).contains(&magnitude);
            // Two digits were made at least where there is an exponent.
            let short = digits < 2 && !(1e-3..1e7).contains(&magnitude);
            magnitude.is_normal() && !large_long && !even && !short
        };
        let shortest = format!("{magnitude:e}");
        let exact = format!("{magnitude:.*e}", count(&shortest) - 1);
        Self::parse(value.is_sign_negative(), &exact, sure)
    }

    /// Of a finite float, as `Float.toString`.
    pub(super) fn of_float(value: f32) -> Option<Self> {
        let magnitude = value.abs();
        let power_of_two = magnitude.to_bits() & ((1 << 23) - 1) == 0;
        let sure = |digits: usize| {
            if magnitude.fract() == 0.0 && magnitude < 16_777_216.0 {
                return true;
            }
            let large_long = magnitude.fract() == 0.0 && magnitude < 1e30;
            let even = power_of_two && !(1.0 / 64.0..=1.0).contains(&magnitude);
            let short = digits < 2 && !(1e-3..1e7).contains(&magnitude);
            magnitude.is_normal() && !large_long && !even && !short
        };
        let shortest = format!("{magnitude:e}");
        let exact = format!("{magnitude:.*e}", count(&shortest) - 1);
        Self::parse(value.is_sign_negative(), &exact, sure)
    }

    /// From `d.ddde-d`.
    fn parse(negative: bool, text: &str, sure: impl Fn(usize) -> bool) -> Option<Self> {
        let (mantissa, exponent) = text.split_once('e')?;
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let exponent: i32 = exponent.parse().ok()?;
        sure(digits.len()).then_some(Self {
            negative,
            digits,
            exponent: exponent + 1,
        })
    }

    /// As `toString` writes it.
    pub(super) fn text(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let (digits, point) = (self.digits.as_str(), self.exponent);
        if digits == "0" {
            return format!("{sign}0.0");
        }
        let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
        if (-2..=7).contains(&point) {
            if point <= 0 {
                return format!("{sign}0.{}{digits}", zeros(-point));
            }
            if point >= length {
                return format!("{sign}{digits}{}.0", zeros(point - length));
            }
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
            return format!("{sign}{whole}.{fraction}");
        }
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        format!("{sign}{first}.{rest}E{}", point - 1)
    }

    /// As a decimal, half up; `None` if it does not fit.
    pub(super) fn decimal(&self, scale: i8, precision: u8) -> Option<i128> {
        let digits = decimal_of(self.digits.as_bytes(), self.exponent, scale)?;
        fits(digits, precision).then_some(if self.negative { -digits } else { digits })
    }

    /// With so many digits behind the point, half up, and whether it has a minus: as `Formatter` writes it.
    pub(super) fn fixed(&self, places: usize) -> (bool, String) {
        let exponent = usize::try_from(self.exponent).unwrap_or(0);
        let zeros = usize::try_from(-self.exponent).unwrap_or(0);
        // All digits, of which the first `exponent` are before the point.
        let mut digits = "0".repeat(zeros.min(places + 1)).into_bytes();
        digits.extend(self.digits.bytes());
        let kept = exponent + places;
        let up = digits.get(kept).is_some_and(|digit| *digit >= b'5');
        digits.resize(kept, b'0');
        if exponent == 0 {
            digits.insert(0, b'0');
        }
        if up {
            let nines = digits.iter().rev().take_while(|digit| **digit == b'9');
            let others = digits.len() - nines.count();
            let (rest, nines) = digits.split_at_mut(others);
            nines.fill(b'0');
            match rest.last_mut() {
                Some(digit) => *digit += 1,
                None => digits.insert(0, b'1'),
            }
        }
        if places > 0 {
            digits.insert(digits.len() - places, b'.');
        }
        (self.negative, digits.into_iter().map(char::from).collect())
    }

    /// Rounded to so many digits behind the point, half up or half even, and read again as a double.
    pub(super) fn round<T: std::str::FromStr + Special>(&self, places: i32, even: bool) -> T {
        let keep = i64::from(self.exponent) + i64::from(places);
        let length = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        let sign = if self.negative { "-" } else { "" };
        let parse = |digits: &str, exponent: i64| {
            format!("{sign}{digits}e{exponent}")
                .parse()
                .unwrap_or(T::NAN)
        };
        if self.digits == "0" {
            return T::ZERO;
        }
        if keep >= length {
            return parse(&self.digits, i64::from(self.exponent) - length);
        }
        // BigDecimal has no zero with a sign.
        if keep < 0 {
            return T::ZERO;
        }
        let (kept, dropped) = self.digits.split_at(usize::try_from(keep).unwrap_or(0));
        let kept: i128 = if kept.is_empty() {
            0
        } else {
            kept.parse().unwrap_or(0)
        };
        let (next, rest) = dropped.split_at(1);
        let half = next == "5" && rest.bytes().all(|digit| digit == b'0');
        let up = next >= "5" && !(even && half && kept % 2 == 0);
        let kept = kept + i128::from(up);
        if kept == 0 {
            return T::ZERO;
        }
        parse(&kept.to_string(), -i64::from(places))
    }
}

/// Number of digits of `d.ddde-d`. Of two that are as near, the shortest form has either, but Java the even one: so has
/// the form with so many digits.
fn count(text: &str) -> usize {
    let mantissa = text.split('e').next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    digits.max(1)
}

/// The decimal `0.digits` times 10 to `exponent`, half up. `None` if it has more than 38 digits.
pub(super) fn decimal_of(digits: &[u8], exponent: i32, scale: i8) -> Option<i128> {
    let keep = i64::from(exponent) + i64::from(scale);
    let length = i64::try_from(digits.len()).ok()?;
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0i128, |number, digit| {
            number
                .checked_mul(10)?
                .checked_add(i128::from(digit.wrapping_sub(b'0')))
        })
    };
    if keep < 0 {
        return Some(0);
    }
    if keep >= length {
        let zeros = u32::try_from(keep - length).ok()?;
        let number = number(digits)?;
        if number == 0 {
            return Some(0);
        }
        return (zeros <= 38).then(|| number.checked_mul(pow10(zeros)))?;
    }
    let (kept, dropped) = digits.split_at_checked(usize::try_from(keep).ok()?)?;
    let up = dropped.first().is_some_and(|digit| *digit >= b'5');
    number(kept)?.checked_add(i128::from(up))
}

/// A number as `new BigDecimal(text)` reads it, brought to a scale. `Ok(None)` if it is none or does not fit; `Err` if
/// that is not known here.
pub(super) fn parse_decimal(text: &str, scale: i8, precision: u8) -> Result<Option<i128>, ()> {
    let text = text.trim_matches(|c: char| c <= ' ');
    // Digits of other scripts count.
    if !text.is_ascii() {
        return Err(());
    }
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let exponent: i64 = match exponent {
        None => 0,
        Some(exponent) => {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
                return Ok(None);
            }
            // What is larger than an int fails in ways of its own.
            match exponent.parse() {
                Ok(value) if (-1_000_000_000..=1_000_000_000).contains(&value) => value,
                _ => return Err(()),
            }
        }
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(None);
    }
    let length = |text: &str| i64::try_from(text.len()).map_err(|_| ());
    // `0.digits` times 10 to this.
    let point = length(whole)? + exponent;
    let significant = digits.trim_start_matches('0');
    let point = point - (length(&digits)? - length(significant)?);
    let integral = if significant.is_empty() {
        // Zero has one digit, the last.
        1 + point
    } else {
        point
    };
    if integral > 38 {
        // Such a zero is null or zero, by the version.
        return if significant.is_empty() {
            Err(())
        } else {
            Ok(None)
        };
    }
    let Ok(point) = i32::try_from(point) else {
        return Err(());
    };
    let digits = decimal_of(significant.as_bytes(), point, scale);
    Ok(digits
        .filter(|digits| fits(*digits, precision))
        .map(|digits| if negative { -digits } else { digits }))
}

/// A number as Spark's casts of strings to doubles read it. `Ok(None)` if it is none; `Err` if that is not known here.
pub(super) fn parse_double<T: std::str::FromStr + Special>(text: &str) -> Result<Option<T>, ()> {
    let text = text.trim_matches(|c: char| c <= ' ');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned.is_empty() {
        return Ok(None);
    }
    // Java reads numbers in hexadecimal.
    if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        return Err(());
    }
    if unsigned == "NaN" {
        return Ok(Some(T::NAN));
    }
    match text.to_ascii_lowercase().as_str() {
        "inf" | "+inf" | "infinity" | "+infinity" => return Ok(Some(T::INFINITY)),
        "-inf" | "-infinity" => return Ok(Some(T::NEGATIVE_INFINITY)),
        "nan" => return Ok(Some(T::NAN)),
        _ => {}
    }
    let number = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.map(|text| text.strip_prefix(['-', '+']).unwrap_or(text));
    let well_formed = digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|text| !text.is_empty() && digits(text));
    if !well_formed {
        return Ok(None);
    }
    number.parse().map(Some).map_err(|_| ())
}

/// Values of floats that have names.
pub(crate) trait Special {
    const NAN: Self;
    const ZERO: Self;
    const INFINITY: Self;
    const NEGATIVE_INFINITY: Self;
}

impl Special for f32 {
    const NAN: Self = Self::NAN;
    const ZERO: Self = 0.0;
    const INFINITY: Self = Self::INFINITY;
    const NEGATIVE_INFINITY: Self = Self::NEG_INFINITY;
}

impl Special for f64 {
    const NAN: Self = Self::NAN;
    const ZERO: Self = 0.0;
    const INFINITY: Self = Self::INFINITY;
    const NEGATIVE_INFINITY: Self = Self::NEG_INFINITY;
}

/// An integer as `UTF8String.toLong` reads it, or with `exact` as `toLongExact`.
pub(super) fn parse_integer(text: &[u8], exact: bool, min: i64, max: i64) -> Option<i64> {
    let text = trim_all(text);
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        Some(_) => (false, text),
        None => return None,
    };
    let mut digits = digits.iter();
    if digits.as_slice().is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    for byte in digits.by_ref() {
        match byte {
            b'0'..=b'9' => {
                // Below zero there is one more.
                value = value.checked_mul(10)?.checked_sub(i64::from(byte - b'0'))?;
            }
            b'.' if !exact => break,
            _ => return None,
        }
    }
    if !digits.all(u8::is_ascii_digit) {
        return None;
    }
    let value = if negative {
        value
    } else {
        value.checked_neg()?
    };
    (min..=max).contains(&value).then_some(value)
}

/// Without white space and control characters of ASCII at the ends, as `UTF8String.trimAll`.
pub(super) fn trim_all(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte <= 0x20 || *byte == 0x7f;
    let start = text.iter().take_while(|byte| blank(byte)).count();
    let text = text.get(start..).unwrap_or_default();
    let end = text.iter().rev().take_while(|byte| blank(byte)).count();
    text.get(..text.len() - end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: f64) -> Option<String> {
        JavaDouble::of(value).map(|double| double.text())
    }

    #[test]
    fn doubles_are_written_as_in_java() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (0.00123, "0.00123"),
            (1.2e-4, "1.2E-4"),
            (1234567.0, "1234567.0"),
            (12345678.0, "1.2345678E7"),
            (1e7, "1.0E7"),
            (123456.789, "123456.789"),
            // As near to ...312 as to ...313.
            (796.200_012_207_031_2, "796.2000122070312"),
            (1.7976931348623157e308, "1.7976931348623157E308"),
        ] {
            assert_eq!(text(value).as_deref(), Some(expected));
        }
        // Java 17 has 1.9999999999999998E23 or more digits than needed.
        assert_eq!(text(2e23), None);
        assert_eq!(text(5.684341886080802e-14), None);
        assert_eq!(text(4.9e-324), None);
        assert_eq!(JavaDouble::of_float(0.1).unwrap().text(), "0.1");
    }

    #[test]
    fn doubles_are_rounded_by_their_digits() {
        let round =
            |value: f64, places| -> f64 { JavaDouble::of(value).unwrap().round(places, false) };
        assert_eq!(round(1.005, 2), 1.01);
        assert_eq!(round(-2.5, 0), -3.0);
        assert_eq!(round(1234.5, -2), 1200.0);
        assert_eq!(round(0.04, 0), 0.0);
        assert_eq!(JavaDouble::of(2.5).unwrap().round::<f64>(0, true), 2.0);
        assert_eq!(JavaDouble::of(0.145).unwrap().decimal(2, 5), Some(15));
    }

    #[test]
    fn decimals_are_read_as_in_java() {
        let parse = |text| parse_decimal(text, 2, 10);
        assert_eq!(parse(" 1.005 "), Ok(Some(101)));
        assert_eq!(parse("-1e3"), Ok(Some(-100_000)));
        assert_eq!(parse(".5"), Ok(Some(50)));
        assert_eq!(parse("1."), Ok(Some(100)));
        assert_eq!(parse("."), Ok(None));
        assert_eq!(parse("1e"), Ok(None));
        assert_eq!(parse("1e38"), Ok(None));
        assert_eq!(parse("0e40"), Err(()));
        assert_eq!(parse("0.000"), Ok(Some(0)));
        assert_eq!(parse("1e-1000"), Ok(Some(0)));
        assert_eq!(parse("123456789"), Ok(None));
        assert_eq!(parse("nan"), Ok(None));
    }

    #[test]
    fn doubles_and_integers_are_read_as_in_java() {
        assert_eq!(parse_double::<f64>(" 1.5d"), Ok(Some(1.5)));
        assert_eq!(parse_double::<f64>("1e400"), Ok(Some(f64::INFINITY)));
        assert_eq!(parse_double::<f64>("1.e"), Ok(None));
        assert_eq!(parse_double::<f64>("-INF"), Ok(Some(f64::NEG_INFINITY)));
        assert_eq!(parse_double::<f64>("0x1p3"), Err(()));
        let long = |text: &str, exact| parse_integer(text.as_bytes(), exact, i64::MIN, i64::MAX);
        assert_eq!(long(" -12.9\t", false), Some(-12));
        assert_eq!(long("12.9", true), None);
        assert_eq!(long(".", false), Some(0));
        assert_eq!(long("-", false), None);
        assert_eq!(long("9223372036854775808", false), None);
        assert_eq!(long("-9223372036854775808", false), Some(i64::MIN));
        assert_eq!(parse_integer(b"128", false, -128, 127), None);
    }
}
