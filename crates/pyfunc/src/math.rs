//! Functions of Python's module `math`, of finite numbers whose results are finite: errors and the cases that CPython
//! tells apart are left to it.
//!
//! Those of the C library are computed by the same library, as Rust calls it for `f64`. What CPython computes by ways
//! of its own, which differ between its versions (`hypot`, `fsum`, `gamma`), is not here.

use crate::evaluate::LeftToPython;
use crate::number::{power, truncated};
use crate::operation::operations;
use crate::value::Value;

operations! {
    /// A function of the module `math`.
    Math;
    /// `math.floor(a)`
    Floor "math.floor" 1..=1,
    /// `math.ceil(a)`
    Ceil "math.ceil" 1..=1,
    /// `math.trunc(a)`
    Trunc "math.trunc" 1..=1,
    /// `math.fabs(a)`
    Fabs "math.fabs" 1..=1,
    /// `math.sqrt(a)`
    Sqrt "math.sqrt" 1..=1,
    /// `math.isnan(a)`
    IsNan "math.isnan" 1..=1,
    /// `math.isinf(a)`
    IsInf "math.isinf" 1..=1,
    /// `math.isfinite(a)`
    IsFinite "math.isfinite" 1..=1,
    /// `math.radians(a)`
    Radians "math.radians" 1..=1,
    /// `math.degrees(a)`
    Degrees "math.degrees" 1..=1,
    /// `math.sin(a)`
    Sin "math.sin" 1..=1,
    /// `math.cos(a)`
    Cos "math.cos" 1..=1,
    /// `math.tan(a)`
    Tan "math.tan" 1..=1,
    /// `math.asin(a)`
    Asin "math.asin" 1..=1,
    /// `math.acos(a)`
    Acos "math.acos" 1..=1,
    /// `math.atan(a)`
    Atan "math.atan" 1..=1,
    /// `math.sinh(a)`
    Sinh "math.sinh" 1..=1,
    /// `math.cosh(a)`
    Cosh "math.cosh" 1..=1,
    /// `math.tanh(a)`
    Tanh "math.tanh" 1..=1,
    /// `math.exp(a)`
    Exp "math.exp" 1..=1,
    /// `math.expm1(a)`
    ExpM1 "math.expm1" 1..=1,
    /// `math.log(a)`, `math.log(a, base)`
    Log "math.log" 1..=2,
    /// `math.log2(a)`
    Log2 "math.log2" 1..=1,
    /// `math.log10(a)`
    Log10 "math.log10" 1..=1,
    /// `math.log1p(a)`
    Log1P "math.log1p" 1..=1,
    /// `math.pow(a, b)`
    Pow "math.pow" 2..=2,
    /// `math.atan2(a, b)`
    Atan2 "math.atan2" 2..=2,
    /// `math.fmod(a, b)`
    Fmod "math.fmod" 2..=2,
    /// `math.copysign(a, b)`
    CopySign "math.copysign" 2..=2,
    /// `math.gcd(a, b)`
    Gcd "math.gcd" 2..=2,
}

/// A function's value.
pub(crate) fn math(
    function: Math,
    arguments: &[&Value<'_>],
) -> Result<Value<'static>, LeftToPython> {
    let found = match arguments {
        [one] => of_one(function, one),
        [one, two] => of_two(function, one, two),
        _ => None,
    };
    found.ok_or(LeftToPython)
}

fn of_one(function: Math, value: &Value<'_>) -> Option<Value<'static>> {
    // Integers are not made floats.
    if let (Math::Floor | Math::Ceil | Math::Trunc, Some(value)) = (function, value.as_int()) {
        return Some(Value::Int(value));
    }
    let value = value.as_float()?;
    Some(match function {
        Math::Floor => Value::Int(truncated(value.floor())?),
        Math::Ceil => Value::Int(truncated(value.ceil())?),
        Math::Trunc => Value::Int(truncated(value)?),
        Math::Fabs => Value::Float(value.abs()),
        Math::IsNan => Value::Bool(value.is_nan()),
        Math::IsInf => Value::Bool(value.is_infinite()),
        Math::IsFinite => Value::Bool(value.is_finite()),
        _ => Value::Float(float_of_one(function, value)?),
    })
}

fn float_of_one(function: Math, value: f64) -> Option<f64> {
    let positive = value > 0.0;
    let found = match function {
        Math::Radians => value * (std::f64::consts::PI / 180.0),
        Math::Degrees => value * (180.0 / std::f64::consts::PI),
        // By the processor, rounded correctly.
        Math::Sqrt => value.sqrt(),
        Math::Sin => value.sin(),
        Math::Cos => value.cos(),
        Math::Tan => value.tan(),
        Math::Asin => value.asin(),
        Math::Acos => value.acos(),
        Math::Atan => value.atan(),
        Math::Sinh => value.sinh(),
        Math::Cosh => value.cosh(),
        Math::Tanh => value.tanh(),
        Math::Exp => value.exp(),
        Math::ExpM1 => value.exp_m1(),
        Math::Log if positive => value.ln(),
        Math::Log2 if positive => value.log2(),
        Math::Log10 if positive => value.log10(),
        Math::Log1P if value == 0.0 => value,
        Math::Log1P => value.ln_1p(),
        _ => return None,
    };
    (value.is_finite() && found.is_finite()).then_some(found)
}

fn of_two(function: Math, one: &Value<'_>, two: &Value<'_>) -> Option<Value<'static>> {
    if function == Math::Gcd {
        return gcd(one.as_int()?, two.as_int()?).map(Value::Int);
    }
    let (one, two) = (one.as_float()?, two.as_float()?);
    if function == Math::CopySign && !one.is_nan() && !two.is_nan() {
        return Some(Value::Float(one.copysign(two)));
    }
    if !one.is_finite() || !two.is_finite() {
        return None;
    }
    let found = match function {
        Math::Log => float_of_one(Math::Log, one)? / float_of_one(Math::Log, two)?,
        Math::Pow => power(one, two)?,
        Math::Atan2 if one != 0.0 && two != 0.0 => one.atan2(two),
        Math::Fmod if two != 0.0 => one % two,
        _ => return None,
    };
    found.is_finite().then_some(Value::Float(found))
}

fn gcd(one: i64, two: i64) -> Option<i64> {
    let (mut one, mut two) = (one.unsigned_abs(), two.unsigned_abs());
    while two != 0 {
        (one, two) = (two, one % two);
    }
    i64::try_from(one).ok()
}
