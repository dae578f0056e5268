//! Texts of values: `str`, `repr`, and `format` with the usual specifications.

use std::borrow::Cow;

use crate::evaluate::LeftToPython;
use crate::value::Value;

/// Characters of a formatted number or text, and digits behind its point.
const MAX_WIDTH: usize = 1 << 12;
const MAX_PRECISION: usize = 100;

/// `str(value)`
pub(crate) fn str_of<'a>(value: &'a Value<'_>) -> Result<Cow<'a, str>, LeftToPython> {
    Ok(match value {
        Value::Str(text) => Cow::Borrowed(text),
        Value::Int(value) => Cow::Owned(value.to_string()),
        Value::Float(value) => Cow::Owned(repr_of_float(*value)),
        Value::Bool(true) => Cow::Borrowed("True"),
        Value::Bool(false) => Cow::Borrowed("False"),
        Value::None => Cow::Borrowed("None"),
        Value::List(_) | Value::Tuple(_) => return Err(LeftToPython),
    })
}

/// `repr(value)`
pub(crate) fn repr_of(value: &Value<'_>) -> Result<String, LeftToPython> {
    match value {
        // What has to be escaped depends on the version of Unicode, too.
        Value::Str(text) => {
            let simple = |one: u8| matches!(one, b' '..=b'~') && one != b'\'' && one != b'\\';
            text.bytes()
                .all(simple)
                .then(|| format!("'{text}'"))
                .ok_or(LeftToPython)
        }
        value => str_of(value).map(Cow::into_owned),
    }
}

/// The shortest digits that are this float's and no other's, written as CPython does.
fn repr_of_float(value: f64) -> String {
    // With fewer digits no two numbers are equally near to a float, of which CPython takes the even one and Rust the
    // larger one.
    const FEW: usize = 15;
    let size = value.abs();
    let plain = size == 0.0 || (1e-4..1e16).contains(&size);
    let written = match plain {
        true => format!("{value:?}"),
        false => format!("{value:e}"),
    };
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() || (plain && written.len() <= FEW) {
        return written;
    }
    let even = || {
        let shortest = format!("{value:e}");
        let (digits, exponent) = shortest.split_once('e')?;
        let digits = digits.bytes().filter(u8::is_ascii_digit).count();
        let behind = i32::try_from(digits).ok()? - 1 - exponent.parse::<i32>().ok()?;
        let even = match (plain, usize::try_from(behind)) {
            (true, Ok(behind @ 1..)) => format!("{value:.behind$}"),
            (true, _) => return None,
            _ => with_exponent(&format!("{value:.*e}", digits - 1))?,
        };
        // The number next to a power of two may be another float's.
        (even.parse() == Ok(value)).then_some(even)
    };
    match plain {
        true => even().unwrap_or(written),
        false => even()
            .or_else(|| with_exponent(&written))
            .unwrap_or(written),
    }
}

/// A number as Rust writes it with an exponent, with the exponent as C writes it.
fn with_exponent(written: &str) -> Option<String> {
    let (digits, exponent) = written.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let sign = if exponent < 0 { '-' } else { '+' };
    Some(format!("{digits}e{sign}{:02}", exponent.abs()))
}

/// `[[fill]align][sign][0][width][grouping][.precision][kind]`
#[derive(Debug, Clone, Copy, PartialEq)]
struct Specification {
    fill: char,
    align: Option<char>,
    sign: Option<char>,
    /// A zero in front of the width, which means nothing to some versions if it is of a text.
    zero: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

impl Specification {
    fn parse(text: &str) -> Option<Self> {
        let is_align = |one: char| matches!(one, '<' | '>' | '^' | '=');
        let mut rest = text.chars();
        let (first, second) = (rest.next(), rest.next());
        let (mut fill, mut align, mut rest) = match (first, second) {
            (Some(fill), Some(align)) if is_align(align) => {
                (Some(fill), Some(align), rest.as_str())
            }
            (Some(align), _) if is_align(align) => (None, Some(align), text.get(1..)?),
            _ => (None, None, text),
        };
        let mut take = |wanted: &[char]| {
            let found = rest.chars().next().filter(|one| wanted.contains(one))?;
            rest = rest.get(found.len_utf8()..)?;
            Some(found)
        };
        let sign = take(&['+', '-', ' ']);
        let zero = fill.is_none() && take(&['0']).is_some();
        if zero {
            fill = Some('0');
            align = align.or(Some('='));
        }
        let (width, mut rest) = number(rest)?;
        let grouping = rest.chars().next().filter(|one| matches!(one, ',' | '_'));
        if grouping.is_some() {
            rest = rest.get(1..)?;
        }
        let mut precision = None;
        if let Some(behind) = rest.strip_prefix('.') {
            let (found, behind) = number(behind)?;
            (precision, rest) = (Some(found?), behind);
        }
        let mut kinds = rest.chars();
        let found = Self {
            fill: fill.unwrap_or(' '),
            align,
            sign,
            zero,
            width: width.unwrap_or(0),
            grouping,
            precision,
            kind: kinds.next(),
        };
        let fits = found.width <= MAX_WIDTH && found.precision.unwrap_or(0) <= MAX_PRECISION;
        (kinds.next().is_none() && fits).then_some(found)
    }

    /// A sign and what is behind it, filled up to the width.
    fn filled(&self, sign: &str, body: &str, default: char) -> Option<String> {
        let len = sign.len() + body.chars().count();
        let missing = self.width.saturating_sub(len);
        let align = self.align.unwrap_or(default);
        if missing == 0 {
            return Some(format!("{sign}{body}"));
        }
        let before = match align {
            '<' => 0,
            '^' => missing / 2,
            // Zeros are grouped, too.
            '=' if self.fill == '0' && self.grouping.is_some() => return None,
            _ => missing,
        };
        let mut made = String::with_capacity(sign.len() + body.len() + missing);
        if align == '=' {
            made.push_str(sign);
        }
        made.extend(std::iter::repeat_n(self.fill, before));
        if align != '=' {
            made.push_str(sign);
        }
        made.push_str(body);
        made.extend(std::iter::repeat_n(self.fill, missing - before));
        Some(made)
    }

    fn sign_of(&self, negative: bool) -> &'static str {
        match (negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            (false, _) => "",
        }
    }

    fn text(&self, text: &str) -> Option<String> {
        let plain = self.sign.is_none() && self.grouping.is_none() && !self.zero;
        if !plain || self.align == Some('=') || !matches!(self.kind, None | Some('s')) {
            return None;
        }
        let end = self
            .precision
            .and_then(|most| text.char_indices().nth(most));
        let text = end.map_or(Some(text), |(end, _)| text.get(..end))?;
        self.filled("", text, '<')
    }

    fn integer(&self, value: i64) -> Option<String> {
        let size = value.unsigned_abs();
        let body = match self.kind {
            None | Some('d') => size.to_string(),
            Some('x') => format!("{size:x}"),
            Some('X') => format!("{size:X}"),
            Some('o') => format!("{size:o}"),
            Some('b') => format!("{size:b}"),
            _ => return self.float(value as f64),
        };
        let decimal = matches!(self.kind, None | Some('d'));
        if self.precision.is_some() || (self.grouping.is_some() && !decimal) {
            return None;
        }
        self.number(value < 0, &body)
    }

    fn float(&self, value: f64) -> Option<String> {
        let size = match self.kind {
            Some('%') => value.abs() * 100.0,
            _ => value.abs(),
        };
        if !size.is_finite() {
            return None;
        }
        let precision = self.precision.unwrap_or(6);
        let body = match self.kind {
            Some('f' | 'F') => format!("{size:.precision$}"),
            Some('%') => format!("{size:.precision$}%"),
            Some('e') => with_exponent(&format!("{size:.precision$e}"))?,
            Some('E') => with_exponent(&format!("{size:.precision$e}"))?.to_uppercase(),
            Some('g') => general(size, precision.max(1))?,
            None if self.precision.is_none() => repr_of_float(size),
            _ => return None,
        };
        self.number(value.is_sign_negative(), &body)
    }

    fn number(&self, negative: bool, body: &str) -> Option<String> {
        let sign = self.sign_of(negative);
        match self.grouping {
            Some(between) => self.filled(sign, &grouped(body, between), '>'),
            None => self.filled(sign, body, '>'),
        }
    }
}

/// Digits in front of a text, if there are any: their number, and what is behind them.
fn number(text: &str) -> Option<(Option<usize>, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(end)?;
    match digits {
        "" => Some((None, rest)),
        digits => Some((Some(digits.parse().ok()?), rest)),
    }
}

/// As C's `%g` without trailing zeros.
fn general(size: f64, precision: usize) -> Option<String> {
    let written = format!("{size:.*e}", precision - 1);
    let (digits, exponent) = written.split_once('e')?;
    let exponent: i64 = exponent.parse().ok()?;
    let trimmed = |digits: &str| match digits.contains('.') {
        true => digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => digits.to_owned(),
    };
    if (-4..precision as i64).contains(&exponent) {
        let behind = usize::try_from(precision as i64 - 1 - exponent).ok()?;
        return Some(trimmed(&format!("{size:.behind$}")));
    }
    with_exponent(&format!("{}e{exponent}", trimmed(digits)))
}

/// A number with something between each three digits before its point.
fn grouped(body: &str, between: char) -> String {
    let end = body.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = body.split_at_checked(end).unwrap_or((body, ""));
    let mut made = String::with_capacity(body.len() + end / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (end - index).is_multiple_of(3) {
            made.push(between);
        }
        made.push(digit);
    }
    made + rest
}

/// `format(value, specification)`
pub(crate) fn formatted(value: &Value<'_>, specification: &str) -> Result<String, LeftToPython> {
    if specification.is_empty() {
        return str_of(value).map(Cow::into_owned);
    }
    let specification = Specification::parse(specification).ok_or(LeftToPython)?;
    match value {
        Value::Str(text) => specification.text(text),
        Value::Float(value) => specification.float(*value),
        value => value
            .as_int()
            .and_then(|value| specification.integer(value)),
    }
    .ok_or(LeftToPython)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_cpython_writes_them() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (9999999999999998.0, "9999999999999998.0"),
            (-5_611_303_122_606_714.0 / 8.0, "-701412890325839.2"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.5e300, "-1.5e+300"),
            (5e-324, "5e-324"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(repr_of_float(value), expected);
        }
    }

    #[test]
    fn formats_are_pythons() {
        let int = Value::Int(-1234567);
        let float = Value::Float(1234.5);
        let text = Value::Str("äbc".into());
        for (value, specification, expected) in [
            (&int, ",", Some("-1,234,567")),
            (&int, "012d", Some("-00001234567")),
            (&int, "*^12_", Some("*-1_234_567*")),
            (&int, "x", Some("-12d687")),
            (&int, ".2f", Some("-1234567.00")),
            (&int, ".2", None),
            (&int, "015,", None),
            (&int, "s", None),
            (&float, ",.2f", Some("1,234.50")),
            (&float, "+.1e", Some("+1.2e+03")),
            (&float, "g", Some("1234.5")),
            (&float, ".2g", Some("1.2e+03")),
            (&float, ".1%", Some("123450.0%")),
            (&float, "10", Some("    1234.5")),
            (&float, "d", None),
            (&text, "5", Some("äbc  ")),
            (&text, ">5.2", Some("   äb")),
            (&text, "05", None),
            (&text, "+", None),
            (&text, "99999999999999999999", None),
            (&text, "5000", None),
            (&text, "ä<", Some("äbc")),
        ] {
            let found = formatted(value, specification).ok();
            assert_eq!(found.as_deref(), expected, "{value:?} {specification}");
        }
    }
}
