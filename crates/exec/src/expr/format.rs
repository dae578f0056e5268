//! `format_string`: texts by a format of Java's `Formatter`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, Float32Type, Float64Type, Int64Type,
};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::datetime::nothing;
use super::java::JavaDouble;
use super::kernel::{Arg, Kernel, nth};
use super::{known, refused};
use catalyst::{Function, Unsupported};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Most characters that a format may ask for.
const MAX_WIDTH: usize = 1000;

/// A part of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(Spec),
}

/// What stands between `%` and its letter, and the letter.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spec {
    /// Which of the values.
    value: usize,
    /// To the left of its field.
    left: bool,
    /// Zeros in front, up to the width.
    zeros: bool,
    /// Commas between thousands.
    grouped: bool,
    /// A sign for all numbers.
    plus: bool,
    width: usize,
    precision: Option<usize>,
    conversion: Conversion,
    /// Bits of the value, where it is an integer.
    bits: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    /// `%s`
    Text,
    /// `%d`
    Integer,
    /// `%x`
    Hex,
    /// `%c`
    Character,
    /// `%b`
    Boolean,
    /// `%f`
    Fixed,
}

/// Lowers `format_string(format, values)`.
pub(super) fn lower(op: Function, types: &[ArrowType], args: Args) -> Lowered {
    let format = match args.first().and_then(known) {
        Some(ScalarValue::Utf8View(Some(format))) => format.clone(),
        Some(ScalarValue::Utf8View(None)) => return Ok(nothing(&ArrowType::Utf8View, args)),
        _ => return Err(Unsupported::of_use("a variable format")),
    };
    let unknown = || Unsupported::of_use(format!("the format {format}"));
    let mut pieces = pieces(&format).ok_or_else(unknown)?;
    for piece in &mut pieces {
        if let Piece::Value(spec) = piece {
            let of = types.get(spec.value + 1).ok_or_else(unknown)?;
            if !spec.takes(of) {
                return Err(refused(op, types));
            }
            spec.bits = of.primitive_width().map_or(64, |bytes| bytes * 8);
        }
    }
    let name = format!("{}[{format}]", op.name());
    let to = ArrowType::Utf8View;
    Ok(Kernel::lenient(name, args, to, move |args, rows| {
        formatted(&pieces, args, rows)
    }))
}

/// The parts of a format; `None` of what Java refuses, and of what is not known here.
fn pieces(format: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = format;
    let mut ordinary = 0;
    while let Some((text, behind)) = rest.split_once('%') {
        pieces.push(Piece::Text(text.to_owned()));
        if let Some(behind) = behind.strip_prefix('%') {
            pieces.push(Piece::Text("%".to_owned()));
            rest = behind;
        } else if let Some(behind) = behind.strip_prefix('n') {
            pieces.push(Piece::Text("\n".to_owned()));
            rest = behind;
        } else {
            let (spec, behind) = spec(behind, &mut ordinary)?;
            pieces.push(Piece::Value(spec));
            rest = behind;
        }
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Some(pieces)
}

/// The digits at the start of a text as a number, if there are any, and what is behind them.
fn digits(text: &str) -> Option<(Option<usize>, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, behind) = text.split_at(end);
    if digits.is_empty() {
        return Some((None, behind));
    }
    let number = digits.parse().ok().filter(|of| *of <= MAX_WIDTH)?;
    Some((Some(number), behind))
}

fn spec<'a>(text: &'a str, ordinary: &mut usize) -> Option<(Spec, &'a str)> {
    // Zero is a flag and no first digit of a place.
    let place = digits(text)?;
    let (value, mut rest) = match place {
        (Some(place), behind) if behind.starts_with('$') && !text.starts_with('0') => {
            (place - 1, behind.strip_prefix('$')?)
        }
        _ => {
            *ordinary += 1;
            (*ordinary - 1, text)
        }
    };
    let (mut left, mut zeros, mut grouped, mut plus) = (false, false, false, false);
    loop {
        let flag = match rest.bytes().next()? {
            b'-' => &mut left,
            b'0' => &mut zeros,
            b',' => &mut grouped,
            b'+' => &mut plus,
            _ => break,
        };
        // Java refuses a flag that is there twice.
        if std::mem::replace(flag, true) {
            return None;
        }
        rest = rest.get(1..)?;
    }
    let (width, mut rest) = digits(rest)?;
    let mut precision = None;
    if let Some(behind) = rest.strip_prefix('.') {
        let (number, behind) = digits(behind)?;
        precision = Some(number?);
        rest = behind;
    }
    let conversion = match rest.bytes().next()? {
        b's' => Conversion::Text,
        b'd' => Conversion::Integer,
        b'x' => Conversion::Hex,
        b'c' => Conversion::Character,
        b'b' => Conversion::Boolean,
        b'f' => Conversion::Fixed,
        _ => return None,
    };
    let numeric = matches!(conversion, Conversion::Integer | Conversion::Fixed);
    let hex = conversion == Conversion::Hex;
    let precise = !matches!(
        conversion,
        Conversion::Integer | Conversion::Hex | Conversion::Character
    );
    let spec = Spec {
        value,
        left,
        zeros,
        grouped,
        plus,
        width: width.unwrap_or(0),
        precision,
        conversion,
        bits: 64,
    };
    // What Java refuses.
    let both = left && zeros;
    let nowhere = (left || zeros) && width.is_none();
    let no_number = zeros && !numeric && !hex || (grouped || plus) && !numeric;
    let proper = !both && !nowhere && !no_number && (precision.is_none() || precise);
    Some((proper.then_some(spec)?, rest.get(1..)?))
}

impl Spec {
    /// Whether Java takes such a value there, as Spark keeps it: dates and times are numbers.
    fn takes(&self, of: &ArrowType) -> bool {
        use ArrowType as A;
        let integer = of.is_signed_integer();
        let known = integer
            || matches!(
                of,
                A::Null | A::Boolean | A::Utf8View | A::Float32 | A::Float64
            )
            || matches!(of, A::Decimal128(_, scale) if *scale >= 0)
            || matches!(of, A::Date32 | A::Timestamp(..));
        known
            && match self.conversion {
                Conversion::Text | Conversion::Boolean => true,
                Conversion::Integer => {
                    integer || matches!(of, A::Null | A::Date32 | A::Timestamp(..))
                }
                Conversion::Hex => integer || *of == A::Null,
                Conversion::Character => matches!(of, A::Null | A::Int8 | A::Int16 | A::Int32),
                Conversion::Fixed => matches!(of, A::Null | A::Float32 | A::Float64),
            }
    }

    fn write(&self, array: &ArrayRef, at: usize, out: &mut String) -> RunResult<()> {
        if array.is_null(at) || *array.data_type() == ArrowType::Null {
            let null = match self.conversion {
                Conversion::Boolean => "false",
                _ => "null",
            };
            return self.justify(null, out);
        }
        match self.conversion {
            Conversion::Text => self.justify(&text(array, at)?, out),
            Conversion::Boolean => {
                let value = array.as_boolean_opt().is_none_or(|array| array.value(at));
                self.justify(if value { "true" } else { "false" }, out)
            }
            Conversion::Integer => {
                let value = integer(array, at)?;
                let digits = value.unsigned_abs().to_string();
                self.number(value < 0, &digits, "", out);
                Ok(())
            }
            Conversion::Hex => {
                let value = integer(array, at)?;
                let mask = u64::MAX >> (64 - self.bits.clamp(1, 64));
                let digits = format!("{:x}", value.cast_unsigned() & mask);
                self.padded("", &digits, out);
                Ok(())
            }
            Conversion::Character => {
                let value = u32::try_from(integer(array, at)?).ok();
                let value = value.and_then(char::from_u32);
                let value = value.ok_or_else(|| bail_out("a number of no character"))?;
                self.justify(value.encode_utf8(&mut [0; 4]), out)
            }
            Conversion::Fixed => self.fixed(double(array, at)?, out),
        }
    }

    fn fixed(&self, value: f64, out: &mut String) -> RunResult<()> {
        if !value.is_finite() {
            let sign = match (value.is_nan(), value < 0.0) {
                (true, _) => "",
                (_, true) => "-",
                _ if self.plus => "+",
                _ => "",
            };
            let name = if value.is_nan() { "NaN" } else { "Infinity" };
            self.spaced(&format!("{sign}{name}"), out);
            return Ok(());
        }
        let java = JavaDouble::of(value);
        let java = java.ok_or_else(|| bail_out("a float that Javas write differently"))?;
        let (negative, digits) = java.fixed(self.precision.unwrap_or(6));
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        self.number(negative, whole, fraction, out);
        Ok(())
    }

    /// A number of these digits before and behind the point.
    fn number(&self, negative: bool, whole: &str, fraction: &str, out: &mut String) {
        let sign = match negative {
            true => "-",
            false if self.plus => "+",
            false => "",
        };
        let mut digits = String::with_capacity(whole.len() + fraction.len() + 8);
        for (place, digit) in whole.chars().enumerate() {
            if self.grouped && place > 0 && (whole.len() - place).is_multiple_of(3) {
                digits.push(',');
            }
            digits.push(digit);
        }
        if !fraction.is_empty() {
            digits.push('.');
            digits.push_str(fraction);
        }
        self.padded(sign, &digits, out);
    }

    fn padded(&self, sign: &str, digits: &str, out: &mut String) {
        if self.zeros {
            let missing = self.width.saturating_sub(sign.len() + digits.len());
            out.push_str(sign);
            out.extend(std::iter::repeat_n('0', missing));
            out.push_str(digits);
        } else {
            self.spaced(&format!("{sign}{digits}"), out);
        }
    }

    /// A text of no more characters than the precision says, in its field.
    fn justify(&self, text: &str, out: &mut String) -> RunResult<()> {
        let Some(precision) = self.precision else {
            self.spaced(text, out);
            return Ok(());
        };
        let mut units = 0;
        for (place, character) in text.char_indices() {
            if units == precision {
                // A border of characters.
                self.spaced(text.get(..place).unwrap_or(text), out);
                return Ok(());
            }
            units += character.len_utf16();
            if units > precision {
                return Err(bail_out("a text cut within a character"));
            }
        }
        self.spaced(text, out);
        Ok(())
    }

    fn spaced(&self, text: &str, out: &mut String) {
        let units: usize = text.chars().map(char::len_utf16).sum();
        let missing = std::iter::repeat_n(' ', self.width.saturating_sub(units));
        if self.left {
            out.push_str(text);
            out.extend(missing);
        } else {
            out.extend(missing);
            out.push_str(text);
        }
    }
}

fn other() -> datafusion_common::DataFusionError {
    bail_out("a value of another type")
}

/// Integers, dates and times as longs.
fn prepared(arg: &Arg) -> RunResult<Arg> {
    let of = arg.array.data_type();
    let array = match of {
        ArrowType::Date32 | ArrowType::Timestamp(..) => cast(&arg.array, &ArrowType::Int64)?,
        of if of.is_signed_integer() => cast(&arg.array, &ArrowType::Int64)?,
        _ => Arc::clone(&arg.array),
    };
    let constant = arg.constant;
    Ok(Arg { array, constant })
}

/// An integer that was [`prepared`].
fn integer(array: &ArrayRef, at: usize) -> RunResult<i64> {
    let long = array.as_primitive_opt::<Int64Type>().ok_or_else(other)?;
    Ok(long.value(at))
}

fn double(array: &ArrayRef, at: usize) -> RunResult<f64> {
    match array.as_primitive_opt::<Float32Type>() {
        Some(array) => Ok(array.value(at).into()),
        None => {
            let array = array.as_primitive_opt::<Float64Type>();
            Ok(array.ok_or_else(other)?.value(at))
        }
    }
}

/// What `toString` gives of a value as Spark keeps it.
fn text(array: &ArrayRef, at: usize) -> RunResult<String> {
    if let Some(texts) = array.as_string_view_opt() {
        return Ok(texts.value(at).to_owned());
    }
    if let Some(flags) = array.as_boolean_opt() {
        return Ok(flags.value(at).to_string());
    }
    if let ArrowType::Decimal128(_, scale) = array.data_type() {
        let digits = array.as_primitive_opt::<Decimal128Type>();
        return plain(digits.ok_or_else(other)?.value(at), *scale);
    }
    let unsure = || bail_out("a float that Javas write differently");
    let special = |value: f64| match value {
        value if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    };
    if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        let value = floats.value(at);
        return match special(value.into()) {
            Some(name) => Ok(name.to_owned()),
            None => Ok(JavaDouble::of_float(value).ok_or_else(unsure)?.text()),
        };
    }
    if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
        let value = doubles.value(at);
        return match special(value) {
            Some(name) => Ok(name.to_owned()),
            None => Ok(JavaDouble::of(value).ok_or_else(unsure)?.text()),
        };
    }
    Ok(integer(array, at)?.to_string())
}

/// A decimal as `BigDecimal.toString` writes it, without an exponent.
fn plain(digits: i128, scale: i8) -> RunResult<String> {
    let scale = usize::try_from(scale).map_err(|_| other())?;
    let sign = if digits < 0 { "-" } else { "" };
    let text = digits.unsigned_abs().to_string();
    if scale > text.len() + 5 {
        return Err(bail_out("a decimal with an exponent as text"));
    }
    if scale == 0 {
        return Ok(format!("{sign}{text}"));
    }
    let text = format!("{text:0>width$}", width = scale + 1);
    let (whole, fraction) = text.split_at(text.len() - scale);
    Ok(format!("{sign}{whole}.{fraction}"))
}

fn formatted(pieces: &[Piece], args: &[Arg], rows: usize) -> RunResult<ArrayRef> {
    let args = args.iter().map(prepared).collect::<RunResult<Vec<_>>>()?;
    let mut texts = StringViewBuilder::with_capacity(rows);
    let mut text = String::new();
    for row in 0..rows {
        text.clear();
        for piece in pieces {
            match piece {
                Piece::Text(own) => text.push_str(own),
                Piece::Value(spec) => {
                    let arg = nth(&args, spec.value + 1)?;
                    spec.write(&arg.array, arg.at(row), &mut text)?;
                }
            }
        }
        texts.try_append_value(&text)?;
    }
    Ok(Arc::new(texts.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    use arrow::array::{Float64Array, Int64Array, NullArray, StringViewArray};

    fn one(format: &str, value: ArrayRef) -> Option<String> {
        let pieces = pieces(format)?;
        let array = |array| Arg {
            array,
            constant: false,
        };
        let format: ArrayRef = Arc::new(StringViewArray::from_iter_values([format]));
        let all = formatted(&pieces, &[array(format), array(value)], 1).ok()?;
        Some(all.as_string_view().value(0).to_owned())
    }

    #[test]
    fn numbers_are_formatted_as_in_java() {
        let long = |format, value| one(format, Arc::new(Int64Array::from(vec![value])));
        for (format, value, expected) in [
            ("%d", -5, "-5"),
            ("%05d|%1$-6d|%1$+d", 42, "00042|42    |+42"),
            ("%,d %<", 1, ""),
            ("%,d", -1_234_567, "-1,234,567"),
            ("%,012d", 1_234_567, "0001,234,567"),
            ("%,d", 123, "123"),
            ("%06d", -42, "-00042"),
            ("%x", -1, "ffffffffffffffff"),
            ("%08x", 255, "000000ff"),
            ("%5s%%%n", 7, "    7%\n"),
            ("%d", i64::MIN, "-9223372036854775808"),
            ("%-05d", 1, ""),
            ("%0d", 1, ""),
            ("%.2d", 1, ""),
            ("%--5d", 1, ""),
            ("%0$d", 1, ""),
            ("%e", 1, ""),
            ("%", 1, ""),
            ("%5%", 1, ""),
        ] {
            assert_eq!(
                long(format, value).unwrap_or_default(),
                expected,
                "{format}"
            );
        }
    }

    #[test]
    fn doubles_are_rounded_half_up_by_their_digits() {
        let double = |format, value| one(format, Arc::new(Float64Array::from(vec![value])));
        for (format, value, expected) in [
            ("%.2f", 0.125, "0.13"),
            ("%.2f", 1.005, "1.01"),
            ("%.1f", 0.25, "0.3"),
            ("%.0f", 0.5, "1"),
            ("%.0f", 0.49, "0"),
            ("%.0f", 99.5, "100"),
            ("%f", 3.0, "3.000000"),
            ("%.2f", -0.001, "-0.00"),
            ("%.2f", -0.0, "-0.00"),
            ("%,.2f", 1234567.891, "1,234,567.89"),
            ("%010.3f", -3.24159, "-00003.242"),
            ("%8.1f|", 2.25, "     2.3|"),
            ("%.3f", 0.00041, "0.000"),
            ("%.3f", 0.00051, "0.001"),
            ("%.2f", 1e15, "1000000000000000.00"),
            ("%+.1f", f64::INFINITY, "+Infinity"),
            ("%06.1f", f64::NAN, "   NaN"),
            ("%s", 1.5e-5, "1.5E-5"),
        ] {
            assert_eq!(
                double(format, value).unwrap_or_default(),
                expected,
                "{format} {value}"
            );
        }
    }

    #[test]
    fn texts_are_cut_and_justified() {
        let text =
            |format, value: &str| one(format, Arc::new(StringViewArray::from_iter_values([value])));
        assert_eq!(text("[%-5s]", "ab").as_deref(), Some("[ab   ]"));
        assert_eq!(text("[%5.1s]", "ab").as_deref(), Some("[    a]"));
        assert_eq!(text("[%4s]", "😀").as_deref(), Some("[  😀]"));
        assert_eq!(text("%.1s", "😀"), None);
        assert_eq!(text("%b", "").as_deref(), Some("true"));
        let null = |format| one(format, Arc::new(NullArray::new(1)));
        assert_eq!(null("%.2f").as_deref(), Some("nu"));
        assert_eq!(null("%7d|%1$b|%1$s").as_deref(), Some("   null|false|null"));
    }

    #[test]
    fn decimals_are_plain() {
        assert_eq!(plain(-5, 2).unwrap(), "-0.05");
        assert_eq!(plain(0, 6).unwrap(), "0.000000");
        assert_eq!(plain(1, 6).unwrap(), "0.000001");
        assert!(plain(1, 7).is_err());
        assert_eq!(plain(12_345, 2).unwrap(), "123.45");
    }
}
