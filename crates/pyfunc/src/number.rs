//! Arithmetic of numbers: integers of 64 bits, and floats as CPython computes them.

use crate::operation::Operation;
use crate::value::Value;

/// Integers up to this size are exact as floating-point numbers.
const EXACT_AS_FLOAT: u64 = 1 << 53;
/// The first float above all integers of 64 bits.
const ABOVE_INTEGERS: f64 = 9_223_372_036_854_775_808.0;

/// The value of an operation on two numbers; `None` if they are none, or if that is left to Python.
pub(crate) fn arithmetic(
    operation: Operation,
    one: &Value<'_>,
    two: &Value<'_>,
) -> Option<Value<'static>> {
    match (one, two) {
        (Value::Bool(one), Value::Bool(two)) => match operation {
            Operation::And => Some(Value::Bool(one & two)),
            Operation::Or => Some(Value::Bool(one | two)),
            Operation::ExclusiveOr => Some(Value::Bool(one ^ two)),
            _ => integers(operation, i64::from(*one), i64::from(*two)),
        },
        (Value::Int(one), Value::Int(two)) => integers(operation, *one, *two),
        (Value::Float(one), Value::Float(two)) => floats(operation, *one, *two),
        _ => match (one.as_int(), two.as_int()) {
            (Some(one), Some(two)) => integers(operation, one, two),
            _ => floats(operation, one.as_float()?, two.as_float()?),
        },
    }
}

#[inline]
fn integers(operation: Operation, one: i64, two: i64) -> Option<Value<'static>> {
    let found = match operation {
        Operation::Add => one.checked_add(two),
        Operation::Subtract => one.checked_sub(two),
        Operation::Multiply => one.checked_mul(two),
        Operation::FloorDivide => floor_divide(one, two),
        Operation::Modulo => modulo(one, two),
        Operation::And => Some(one & two),
        Operation::Or => Some(one | two),
        Operation::ExclusiveOr => Some(one ^ two),
        Operation::ShiftLeft => shift_left(one, two),
        Operation::ShiftRight if two >= 0 => Some(one >> two.min(63)),
        Operation::Power if two >= 0 => one.checked_pow(u32::try_from(two).ok()?),
        Operation::Power => {
            return Some(Value::Float(power(one as f64, two as f64)?));
        }
        Operation::DivideWithRest => {
            let both = [floor_divide(one, two)?, modulo(one, two)?];
            return Some(Value::Tuple(both.map(Value::Int).into()));
        }
        Operation::Divide => return divide(one, two).map(Value::Float),
        _ => None,
    };
    found.map(Value::Int)
}

#[inline]
fn floats(operation: Operation, one: f64, two: f64) -> Option<Value<'static>> {
    let found = match operation {
        Operation::Add => one + two,
        Operation::Subtract => one - two,
        Operation::Multiply => one * two,
        Operation::Divide if two != 0.0 => one / two,
        Operation::FloorDivide if two != 0.0 => floor_divide_floats(one, two).0,
        Operation::Modulo if two != 0.0 => floor_divide_floats(one, two).1,
        Operation::DivideWithRest if two != 0.0 => {
            let (quotient, rest) = floor_divide_floats(one, two);
            let both = [quotient, rest].map(Value::Float);
            return Some(Value::Tuple(both.into()));
        }
        Operation::Power => power(one, two)?,
        _ => return None,
    };
    Some(Value::Float(found))
}

/// The float next to the quotient.
fn divide(one: i64, two: i64) -> Option<f64> {
    let sizes = [one.unsigned_abs(), two.unsigned_abs()];
    if two == 0 {
        return None;
    }
    if sizes.iter().all(|size| *size <= EXACT_AS_FLOAT) {
        return Some(one as f64 / two as f64);
    }
    let [one_size, two_size] = sizes.map(u128::from);
    let (quotient, rest) = ((one_size << 64) / two_size, (one_size << 64) % two_size);
    if quotient < 1 << 56 {
        return None;
    }
    // What is behind the digits of the quotient decides when a half is rounded.
    let found = (quotient | u128::from(rest != 0)) as f64 / (1u128 << 64) as f64;
    Some(if (one < 0) == (two < 0) {
        found
    } else {
        -found
    })
}

fn floor_divide(one: i64, two: i64) -> Option<i64> {
    let quotient = one.checked_div(two)?;
    let rounded_up = one % two != 0 && (one < 0) != (two < 0);
    Some(quotient - i64::from(rounded_up))
}

/// Python's remainder has the sign of the divisor.
fn modulo(one: i64, two: i64) -> Option<i64> {
    let rest = one.checked_rem(two)?;
    Some(if rest != 0 && (rest < 0) != (two < 0) {
        rest + two
    } else {
        rest
    })
}

/// Quotient and rest as `_float_div_mod` of CPython's floatobject.c, whose operations in that order these are.
fn floor_divide_floats(one: f64, two: f64) -> (f64, f64) {
    let mut rest = one % two;
    let mut quotient = (one - rest) / two;
    if rest != 0.0 {
        if (two < 0.0) != (rest < 0.0) {
            rest += two;
            quotient -= 1.0;
        }
    } else {
        rest = 0f64.copysign(two);
    }
    if quotient == 0.0 {
        return (0f64.copysign(one / two), rest);
    }
    let floor = quotient.floor();
    (
        match quotient - floor > 0.5 {
            true => floor + 1.0,
            false => floor,
        },
        rest,
    )
}

/// What a shift moves out of 64 bits is not lost in Python.
fn shift_left(value: i64, by: i64) -> Option<i64> {
    if value == 0 && by >= 0 {
        return Some(0);
    }
    let by = u32::try_from(by).ok().filter(|by| *by < 64)?;
    let shifted = value << by;
    (shifted >> by == value).then_some(shifted)
}

/// `one ** two` of finite floats, by the C library for positive ones as CPython does. Left to it are errors, complex
/// numbers, and results whose error numbers differ between libraries.
pub(crate) fn power(one: f64, two: f64) -> Option<f64> {
    if !one.is_finite() || !two.is_finite() {
        return None;
    }
    if two == 0.0 {
        return Some(1.0);
    }
    let odd = (two % 2.0).abs() == 1.0;
    if one == 0.0 {
        let zero = if odd { one } else { 0.0 };
        return (two > 0.0).then_some(zero);
    }
    if one < 0.0 && two != two.floor() {
        return None;
    }
    let found = one.abs().powf(two);
    let found = if one < 0.0 && odd { -found } else { found };
    found.is_normal().then_some(found)
}

/// The integer of a float without what is behind its point, if it has 64 bits.
pub(crate) fn truncated(value: f64) -> Option<i64> {
    // Not a number is in no range.
    (-ABOVE_INTEGERS..ABOVE_INTEGERS)
        .contains(&value)
        .then_some(value as i64)
}

/// The value of an operation on a number.
pub(crate) fn of_one(operation: Operation, value: &Value<'_>) -> Option<Value<'static>> {
    if let Value::Float(value) = *value {
        return match operation {
            Operation::Positive | Operation::Float => Some(Value::Float(value)),
            Operation::Negative => Some(Value::Float(-value)),
            Operation::Absolute => Some(Value::Float(value.abs())),
            Operation::Int | Operation::IntToWrite => truncated(value).map(Value::Int),
            Operation::Round => truncated(value.round_ties_even()).map(Value::Int),
            _ => None,
        };
    }
    let int = value.as_int()?;
    let found = match operation {
        Operation::Positive | Operation::Int | Operation::IntToWrite | Operation::Round => {
            Some(int)
        }
        Operation::Negative => int.checked_neg(),
        Operation::Absolute => int.checked_abs(),
        // Newer versions warn of that of a truth.
        Operation::Invert if matches!(value, Value::Int(_)) => Some(!int),
        // Rounded as Python rounds.
        Operation::Float => return Some(Value::Float(int as f64)),
        _ => None,
    };
    found.map(Value::Int)
}

/// `round(value, digits)`
pub(crate) fn rounded(value: &Value<'_>, digits: &Value<'_>) -> Option<Value<'static>> {
    if *digits == Value::None {
        return of_one(Operation::Round, value);
    }
    let digits = digits.as_int()?;
    match value {
        Value::Float(value) => round_float(*value, digits).map(Value::Float),
        value => round_int(value.as_int()?, digits).map(Value::Int),
    }
}

/// A multiple of ten to the power of that many digits before the point, half to even.
fn round_int(value: i64, digits: i64) -> Option<i64> {
    if digits >= 0 {
        return Some(value);
    }
    let unit = 10i128.checked_pow(u32::try_from(digits.checked_neg()?).ok()?)?;
    nearest_multiple(i128::from(value), unit, false)?
        .try_into()
        .ok()
}

/// The multiple of a unit that is next to a value, or to something above it and below the next integer, by size.
fn nearest_multiple(value: i128, unit: i128, has_more: bool) -> Option<i128> {
    let (size, sign) = (value.checked_abs()?, value.signum());
    let (quotient, rest) = (size / unit, size % unit);
    let twice = rest.checked_mul(2)?;
    let up = twice > unit || (twice == unit && (has_more || quotient % 2 == 1));
    quotient
        .checked_add(i128::from(up))?
        .checked_mul(unit)?
        .checked_mul(sign)
}

/// The float next to the decimal number that is next to a float, half to even.
fn round_float(value: f64, digits: i64) -> Option<f64> {
    // Powers of ten up to there are exact.
    const POWERS: [f64; 12] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11];
    // CPython's limit: no float has digits behind it.
    const MOST_DIGITS: i64 = 323;
    if !value.is_finite() || digits > MOST_DIGITS {
        return Some(value);
    }
    let Ok(digits) = usize::try_from(digits) else {
        let whole = value.abs().trunc();
        let unit = 10i128.checked_pow(u32::try_from(digits.checked_neg()?).ok()?)?;
        let found = nearest_multiple(truncated(whole)?.into(), unit, value.abs().fract() != 0.0)?;
        return Some((found as f64).copysign(value));
    };
    if let Some(power) = POWERS.get(digits) {
        // The product is not more than 2**-13 away from the exact one, so that its nearest integer is that one's unless
        // it is about as near to another; the quotient of exact numbers is the float next to the decimal number.
        let product = value * power;
        let distance = (product.abs().fract() - 0.5).abs();
        if product.abs() < (1u64 << 40) as f64 && distance > 1.0 / 4096.0 {
            return Some(product.round_ties_even() / power);
        }
    }
    format!("{value:.digits$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_by_their_exact_value() {
        for (value, digits, expected) in [
            (2.675, 2, 2.67),
            (0.125, 2, 0.12),
            (0.375, 2, 0.38),
            (2.5, 0, 2.0),
            (1e22, 3, 1e22),
            (-0.001, 2, -0.0),
            (1250.0, -2, 1200.0),
            (1250.5, -2, 1300.0),
            (-1350.0, -2, -1400.0),
            (-3.0, -2, -0.0),
            (5e-324, 323, 0.0),
            (5e-324, 324, 5e-324),
        ] {
            let found = round_float(value, digits).unwrap();
            assert_eq!(found.to_bits(), f64::to_bits(expected), "{value} {digits}");
        }
        assert_eq!(round_float(1e300, -2), None);
        assert_eq!(round_float(1.0, i64::MIN), None);
    }

    #[test]
    fn shifts_lose_no_bits() {
        assert_eq!(shift_left(1, 62), Some(1 << 62));
        assert_eq!(shift_left(1, 63), None);
        assert_eq!(shift_left(-1, 63), Some(i64::MIN));
        assert_eq!(shift_left(1, 1 << 40), None);
        assert_eq!(shift_left(0, 1 << 40), Some(0));
        assert_eq!(shift_left(0, -1), None);
    }
}
