//! Comparisons as CPython does them.

use std::cmp::Ordering;

use crate::evaluate::LeftToPython;
use crate::value::Value;

/// The order of two values that have one in Python; `None` if one of them is not a number.
#[inline]
pub(crate) fn order(one: &Value<'_>, two: &Value<'_>) -> Result<Option<Ordering>, LeftToPython> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => Ok(Some(one.cmp(two))),
        (Value::Float(one), Value::Float(two)) => Ok(one.partial_cmp(two)),
        // By code points, as Python does.
        (Value::Str(one), Value::Str(two)) => Ok(Some(one.cmp(two))),
        (Value::List(ones), Value::List(others)) | (Value::Tuple(ones), Value::Tuple(others)) => {
            for (one, other) in ones.iter().zip(others) {
                if !equal_within(one, other)? {
                    return order(one, other);
                }
            }
            Ok(Some(ones.len().cmp(&others.len())))
        }
        _ => order_of_numbers(one, two).ok_or(LeftToPython),
    }
}

/// `one == two`
#[inline]
pub(crate) fn equal(one: &Value<'_>, two: &Value<'_>) -> Result<bool, LeftToPython> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => Ok(one == two),
        (Value::Str(one), Value::Str(two)) => Ok(one == two),
        (Value::None, Value::None) => Ok(true),
        (Value::List(ones), Value::List(others)) | (Value::Tuple(ones), Value::Tuple(others)) => {
            if ones.len() != others.len() {
                return Ok(false);
            }
            for (one, other) in ones.iter().zip(others) {
                if !equal_within(one, other)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        // Values of different types are not equal unless they are numbers.
        _ => Ok(order_of_numbers(one, two) == Some(Some(Ordering::Equal))),
    }
}

/// `one is two or one == two`, as sequences compare their elements: what is not a number may be the same object.
pub(crate) fn equal_within(one: &Value<'_>, two: &Value<'_>) -> Result<bool, LeftToPython> {
    match (one, two) {
        (Value::Float(one), Value::Float(two)) if one.is_nan() && two.is_nan() => Err(LeftToPython),
        _ => equal(one, two),
    }
}

/// The order of two numbers by their exact values; `None` if they are none.
fn order_of_numbers(one: &Value<'_>, two: &Value<'_>) -> Option<Option<Ordering>> {
    Some(match (one, two) {
        (Value::Float(one), Value::Float(two)) => one.partial_cmp(two),
        (Value::Float(one), two) => order_with_float(two.as_int()?, *one).map(Ordering::reverse),
        (one, Value::Float(two)) => order_with_float(one.as_int()?, *two),
        (one, two) => Some(one.as_int()?.cmp(&two.as_int()?)),
    })
}

fn order_with_float(one: i64, two: f64) -> Option<Ordering> {
    // The nearest float of an integer is not on the other side of another float.
    let rough = (one as f64).partial_cmp(&two)?;
    if rough != Ordering::Equal {
        return Some(rough);
    }
    // An integer of at most 2**63.
    Some(i128::from(one).cmp(&(two as i128)))
}

/// `one in two`
pub(crate) fn is_in(one: &Value<'_>, two: &Value<'_>) -> Result<bool, LeftToPython> {
    match (one, two) {
        (Value::Str(part), Value::Str(text)) => Ok(text.contains(&**part)),
        (one, Value::List(values) | Value::Tuple(values)) => {
            for value in values {
                if equal_within(one, value)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(LeftToPython),
    }
}

/// The first of the largest values, or of the smallest ones if the wanted order is `Less`.
pub(crate) fn extreme<'a, 'v>(
    values: &'a [Value<'v>],
    wanted: Ordering,
) -> Result<&'a Value<'v>, LeftToPython> {
    let (mut found, rest) = values.split_first().ok_or(LeftToPython)?;
    for value in rest {
        if order(value, found)? == Some(wanted) {
            found = value;
        }
    }
    Ok(found)
}

/// The values in their order, if they are all integers or all texts.
pub(crate) fn sorted<'v>(values: &[Value<'v>]) -> Result<Vec<Value<'v>>, LeftToPython> {
    let all_ints = values.iter().all(|value| matches!(value, Value::Int(_)));
    if !all_ints && !values.iter().all(|value| matches!(value, Value::Str(_))) {
        return Err(LeftToPython);
    }
    let mut values = values.to_vec();
    // The order of all pairs is known.
    values.sort_by(|one, two| order(one, two).ok().flatten().unwrap_or(Ordering::Equal));
    Ok(values)
}
