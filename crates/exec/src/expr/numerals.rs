//! Functions of numbers and of their digits.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray, Int8Array, StringViewArray,
};
use arrow::compute::{cast, interleave};
use arrow::datatypes::{DataType as ArrowType, Decimal128Type, Float64Type, Int32Type, Int64Type};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::decimal::pow10;
use super::kernel::{Arg, Kernel, Otherwise, nth, pair, single, unary};
use super::refused;
use catalyst::EvalMode;
use catalyst::Function;
use catalyst::Unsupported;
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Lowers a function of this module.
pub(super) fn lower(
    op: Function,
    mode: Option<EvalMode>,
    types: &[ArrowType],
    args: Args,
) -> Lowered {
    use ArrowType as A;
    use Function as F;
    let ansi = mode == Some(EvalMode::Ansi);
    Ok(match (op, types) {
        (F::BitwiseCount, [of]) if of.is_signed_integer() || *of == A::Boolean => bit_count(args),
        (F::BitwiseGet, [of, A::Int32]) if of.is_signed_integer() => bit_get(args),
        (F::Rint, [A::Float64]) => of_double(op, args, f64::round_ties_even),
        (F::Signum, [A::Float64]) => of_double(op, args, |value| {
            if value == 0.0 || value.is_nan() {
                value
            } else {
                value.signum()
            }
        }),
        (F::Factorial, [A::Int32]) => Kernel::strict(op.name(), args, A::Int64, |args, _| {
            unary::<Int32Type, Int64Type>(single(args)?, Otherwise::Null, &A::Int64, |of| {
                // Those of larger numbers are no longs.
                (0..=20)
                    .contains(&of)
                    .then(|| (1..=i64::from(of)).product())
            })
        }),
        (F::WidthBucket, [A::Float64, A::Float64, A::Float64, A::Int64]) => width_bucket(args),
        (F::Elt, [A::Int32, rest @ ..]) => elt(ansi, rest, args)?,
        (F::Unhex, [A::Utf8View]) => unhex(ansi, args),
        (F::Conv, [A::Utf8View, A::Int32, A::Int32]) => conv(ansi, args),
        (F::FormatNumber, [A::Decimal128(_, scale), A::Int32]) if *scale >= 0 => {
            format_number::<Decimal128Type>(*scale, args)
        }
        (F::FormatNumber, [of, A::Int32]) if of.is_signed_integer() => {
            format_number::<Int64Type>(0, args)
        }
        _ => return Err(refused(op, types)),
    })
}

/// An integer as a long.
fn longs(arg: &Arg) -> RunResult<ArrayRef> {
    Ok(cast(&arg.array, &ArrowType::Int64)?)
}

/// The bits that are set in a number as a long.
fn bit_count(args: Args) -> Arc<dyn PhysicalExpr> {
    let to = ArrowType::Int32;
    Kernel::strict("BitwiseCount", args, to.clone(), move |args, _| {
        let arg = single(args)?;
        let array = longs(arg)?;
        let constant = arg.constant;
        unary::<Int64Type, Int32Type>(&Arg { array, constant }, Otherwise::Null, &to, |value| {
            i32::try_from(value.count_ones()).ok()
        })
    })
}

fn bit_get(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("BitwiseGet", args, ArrowType::Int8, |args, rows| {
        let (number, place) = pair(args)?;
        let bits = number.array.data_type().primitive_width().unwrap_or(0) * 8;
        let array = longs(number)?;
        let constant = number.constant;
        let number = Arg { array, constant };
        let (numbers, places) = (
            number.primitive::<Int64Type>()?,
            place.primitive::<Int32Type>()?,
        );
        let found = (0..rows).map(|row| {
            let (at, place) = (number.at(row), place.at(row));
            if numbers.is_null(at) || places.is_null(place) {
                return Ok(None);
            }
            let place = usize::try_from(places.value(place)).ok();
            let place = place.filter(|place| *place < bits);
            let place = place.ok_or_else(|| bail_out("a bit that is not there"))?;
            Ok(Some(i8::from(numbers.value(at) >> place & 1 == 1)))
        });
        Ok(Arc::new(found.collect::<RunResult<Int8Array>>()?))
    })
}

fn of_double(op: Function, args: Args, f: fn(f64) -> f64) -> Arc<dyn PhysicalExpr> {
    let to = ArrowType::Float64;
    Kernel::strict(op.name(), args, to.clone(), move |args, _| {
        unary::<Float64Type, Float64Type>(single(args)?, Otherwise::Null, &to, |value| {
            Some(f(value))
        })
    })
}

/// Which of so many equal parts between two bounds a value is in: 0 before the first, one more behind the last. The
/// first bound may be the larger.
fn bucket(value: f64, min: f64, max: f64, buckets: i64) -> Option<i64> {
    let proper = buckets > 0 && buckets < i64::MAX && !value.is_nan();
    // NaN is equal to nothing, and not finite.
    #[allow(clippy::float_cmp)]
    if !proper || min == max || !min.is_finite() || !max.is_finite() {
        return None;
    }
    let (before, behind) = match min < max {
        true => (value < min, value >= max),
        false => (value > min, value <= max),
    };
    if before {
        return Some(0);
    }
    if behind {
        return Some(buckets + 1);
    }
    let (lower, upper) = (min.min(max), min.max(max));
    let passed = if min < max {
        value - lower
    } else {
        upper - value
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    let part = (buckets as f64 * passed / (upper - lower)) as i64;
    Some(part.wrapping_add(1))
}

fn width_bucket(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("WidthBucket", args, ArrowType::Int64, |args, rows| {
        let doubles = |at| nth(args, at)?.primitive::<Float64Type>();
        let (values, mins, maxs) = (doubles(0)?, doubles(1)?, doubles(2)?);
        let buckets = nth(args, 3)?.primitive::<Int64Type>()?;
        let at =
            |arg: usize, row| Ok::<_, datafusion_common::DataFusionError>(nth(args, arg)?.at(row));
        let found = (0..rows).map(|row| {
            let places = (at(0, row)?, at(1, row)?, at(2, row)?, at(3, row)?);
            let null = values.is_null(places.0)
                || mins.is_null(places.1)
                || maxs.is_null(places.2)
                || buckets.is_null(places.3);
            if null {
                return Ok(None);
            }
            let (value, min, max) = (
                values.value(places.0),
                mins.value(places.1),
                maxs.value(places.2),
            );
            Ok(bucket(value, min, max, buckets.value(places.3)))
        });
        let found = found.collect::<RunResult<arrow::array::Int64Array>>()?;
        Ok(Arc::new(found))
    })
}

/// The argument that the first one numbers, from 1.
fn elt(ansi: bool, types: &[ArrowType], args: Args) -> Lowered {
    let Some(to) = types.first().filter(|to| types.iter().all(|of| of == *to)) else {
        return Err(Unsupported::of_use("Elt of different types"));
    };
    let name = format!("Elt[{ansi}]");
    Ok(Kernel::lenient(
        name,
        args,
        to.clone(),
        move |args, rows| {
            let index = nth(args, 0)?;
            let indexes = index.primitive::<Int32Type>()?;
            let arrays: Vec<&dyn Array> =
                args.iter().skip(1).map(|arg| arg.array.as_ref()).collect();
            let nothing = arrow::array::new_null_array(
                arrays
                    .first()
                    .map_or(&ArrowType::Null, |first| first.data_type()),
                1,
            );
            let none = (arrays.len(), 0);
            let mut places = Vec::with_capacity(rows);
            for row in 0..rows {
                let at = index.at(row);
                let chosen = match indexes
                    .is_valid(at)
                    .then(|| usize::try_from(indexes.value(at)))
                {
                    None => None,
                    Some(Ok(chosen @ 1..)) if chosen < args.len() => Some(chosen),
                    Some(_) if ansi => return Err(bail_out("an element that is not there")),
                    Some(_) => None,
                };
                places.push(match chosen {
                    Some(chosen) => (chosen - 1, nth(args, chosen)?.at(row)),
                    None => none,
                });
            }
            let mut all = arrays;
            all.push(nothing.as_ref());
            Ok(interleave(&all, &places)?)
        },
    ))
}

/// The bytes that hexadecimal digits stand for; a first digit without another is a byte of its own.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = digits
        .bytes()
        .map(|byte| u8::try_from(char::from(byte).to_digit(16)?).ok())
        .collect();
    let digits = digits?;
    let (odd, pairs) = digits.split_at(digits.len() % 2);
    let mut bytes = odd.to_vec();
    bytes.extend(pairs.chunks_exact(2).map(|pair| match pair {
        [high, low] => high << 4 | low,
        _ => 0,
    }));
    Some(bytes)
}

fn unhex(ansi: bool, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = format!("Unhex[{ansi}]");
    Kernel::strict(name, args, ArrowType::BinaryView, move |args, _| {
        let texts = single(args)?.string()?;
        let values = texts.iter().map(|text| match text {
            None => Ok(None),
            Some(text) => match bytes_of(text) {
                None if ansi => Err(bail_out("a digit that is none")),
                bytes => Ok(bytes),
            },
        });
        Ok(Arc::new(values.collect::<RunResult<BinaryViewArray>>()?))
    })
}

/// A number of 64 bits in other digits, as `NumberConverter.convert`. With a negative base it has a sign.
fn converted(text: &str, from: i32, to: i32, ansi: bool) -> RunResult<Option<String>> {
    let bases = 2..=36;
    let (Ok(radix), base) = (u32::try_from(from), to.unsigned_abs()) else {
        return Ok(None);
    };
    if !bases.contains(&radix) || !bases.contains(&base) || text.is_empty() {
        return Ok(None);
    }
    let (mut negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut value: u64 = 0;
    // What is no digit ends the number.
    for digit in digits.chars().map_while(|char| char.to_digit(radix)) {
        let next = value.checked_mul(radix.into());
        match next.and_then(|next| next.checked_add(digit.into())) {
            Some(next) => value = next,
            None if ansi => return Err(bail_out("a number that overflows")),
            None => {
                value = u64::MAX;
                break;
            }
        }
    }
    let mut signed = value.cast_signed();
    if negative && to > 0 {
        signed = if signed < 0 { -1 } else { -signed };
    }
    if to < 0 && signed < 0 {
        signed = signed.wrapping_neg();
        negative = true;
    }
    let mut rest = signed.cast_unsigned();
    let mut reversed = String::new();
    while rest > 0 || reversed.is_empty() {
        let digit = u32::try_from(rest % u64::from(base)).unwrap_or(0);
        reversed.extend(char::from_digit(digit, base).map(|char| char.to_ascii_uppercase()));
        rest /= u64::from(base);
    }
    if negative && to < 0 {
        if reversed.len() >= 64 {
            // Some versions fail.
            return Err(bail_out("a number of 64 digits"));
        }
        reversed.push('-');
    }
    Ok(Some(reversed.chars().rev().collect()))
}

fn conv(ansi: bool, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = format!("Conv[{ansi}]");
    Kernel::strict(name, args, ArrowType::Utf8View, move |args, rows| {
        let (text, from, to) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (texts, froms, tos) = (
            text.string()?,
            from.primitive::<Int32Type>()?,
            to.primitive::<Int32Type>()?,
        );
        let found = (0..rows).map(|row| {
            let (text, from, to) = (text.at(row), from.at(row), to.at(row));
            if texts.is_null(text) || froms.is_null(from) || tos.is_null(to) {
                return Ok(None);
            }
            // Blanks, not white space.
            let text = texts.value(text).trim_matches(' ');
            converted(text, froms.value(from), tos.value(to), ansi)
        });
        Ok(Arc::new(found.collect::<RunResult<StringViewArray>>()?))
    })
}

/// Most digits behind the point. More are left to Spark.
const MAX_PLACES: i32 = 100;

/// A number with commas between thousands, and so many digits behind the point, half to the even neighbour.
fn grouped(digits: i128, scale: i8, places: u32) -> Option<String> {
    let scale = u32::from(scale.unsigned_abs());
    let magnitude = digits.unsigned_abs();
    let (rounded, zeros) = match scale.checked_sub(places) {
        Some(dropped) if dropped > 0 => {
            let unit = pow10(u8::try_from(dropped).ok()?.into()).unsigned_abs();
            let (kept, rest) = (magnitude / unit, magnitude % unit);
            let half = unit / 2;
            let up = rest > half || (rest == half && kept % 2 == 1);
            (kept + u128::from(up), 0)
        }
        _ => (magnitude, places.saturating_sub(scale)),
    };
    let places = places as usize;
    let shown = places - zeros as usize;
    let text = format!("{rounded:0>width$}", width = shown + 1);
    let (whole, fraction) = text.split_at(text.len() - shown);
    let mut out = String::new();
    if digits < 0 {
        out.push('-');
    }
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if places > 0 {
        let zeros = zeros as usize;
        write!(out, ".{fraction}{:0>zeros$}", "").ok()?;
    }
    Some(out)
}

fn format_number<T: ArrowPrimitiveType<Native: Into<i128>>>(
    scale: i8,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(
        "FormatNumber",
        args,
        ArrowType::Utf8View,
        move |args, rows| {
            let (number, places) = pair(args)?;
            let array = match number.array.data_type() {
                of if of.is_signed_integer() => longs(number)?,
                _ => Arc::clone(&number.array),
            };
            let constant = number.constant;
            let number = Arg { array, constant };
            let (numbers, all) = (number.primitive::<T>()?, places.primitive::<Int32Type>()?);
            let texts = (0..rows).map(|row| {
                let (at, places) = (number.at(row), places.at(row));
                if numbers.is_null(at) || all.is_null(places) {
                    return Ok(None);
                }
                let places = all.value(places);
                if places > MAX_PLACES {
                    return Err(bail_out("a number with many digits behind the point"));
                }
                let Ok(places) = u32::try_from(places) else {
                    return Ok(None);
                };
                let text = grouped(numbers.value(at).into(), scale, places);
                text.map(Some)
                    .ok_or_else(|| bail_out("a number with many digits behind the point"))
            });
            Ok(Arc::new(texts.collect::<RunResult<StringViewArray>>()?))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_converted_as_in_spark() {
        let of = |text, from, to| converted(text, from, to, false).unwrap();
        assert_eq!(of("100", 2, 10).as_deref(), Some("4"));
        assert_eq!(of("-10", 16, -10).as_deref(), Some("-16"));
        assert_eq!(of("-1", 10, 16).as_deref(), Some("FFFFFFFFFFFFFFFF"));
        assert_eq!(of("11abc", 10, 16).as_deref(), Some("B"));
        assert_eq!(of("", 10, 16), None);
        assert_eq!(of("1", 37, 16), None);
        assert_eq!(
            of("18446744073709551616", 10, 16).as_deref(),
            Some("FFFFFFFFFFFFFFFF")
        );
        assert!(converted("18446744073709551616", 10, 16, true).is_err());
        assert!(converted("9223372036854775808", 10, -2, false).is_err());
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(1_234_567, 0, 2).as_deref(), Some("1,234,567.00"));
        assert_eq!(grouped(1_234_565, 3, 2).as_deref(), Some("1,234.56"));
        assert_eq!(grouped(1_234_575, 3, 2).as_deref(), Some("1,234.58"));
        assert_eq!(grouped(-4, 3, 2).as_deref(), Some("-0.00"));
        assert_eq!(grouped(0, 3, 0).as_deref(), Some("0"));
        assert_eq!(grouped(999_999, 3, 0).as_deref(), Some("1,000"));
    }

    #[test]
    fn buckets_are_counted_from_either_side() {
        assert_eq!(bucket(5.3, 0.2, 10.6, 5), Some(3));
        assert_eq!(bucket(-2.1, 1.3, 3.4, 3), Some(0));
        assert_eq!(bucket(8.1, 0.0, 5.7, 4), Some(5));
        assert_eq!(bucket(-0.9, 5.2, 0.5, 2), Some(3));
        assert_eq!(bucket(1.0, 1.0, 1.0, 2), None);
        assert_eq!(bucket(1.0, 0.0, f64::INFINITY, 2), None);
    }

    #[test]
    fn digits_are_bytes() {
        assert_eq!(bytes_of("537"), Some(vec![5, 0x37]));
        assert_eq!(bytes_of("aBcD"), Some(vec![0xab, 0xcd]));
        assert_eq!(bytes_of(""), Some(vec![]));
        assert_eq!(bytes_of("0x"), None);
        assert_eq!(bytes_of("ä1"), None);
    }
}
