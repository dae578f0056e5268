//! Values of expressions, as CPython computes them.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::expression::{Expression, Operation};
use crate::text::{Pieces, is_space};
use crate::value::Value;

/// The interpreter must call the function itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("left to Python")]
pub struct LeftToPython;

/// What depends on the interpreter and its version of Unicode.
pub trait Interpreter {
    /// `int(text)`
    ///
    /// # Errors
    /// It raises an error, or the number has more than 64 bits.
    fn int(&self, text: &str) -> Result<i64, LeftToPython>;

    /// `float(text)`
    ///
    /// # Errors
    /// It raises an error.
    fn float(&self, text: &str) -> Result<f64, LeftToPython>;

    /// `text.lower()`
    ///
    /// # Errors
    /// It raises an error.
    fn lower(&self, text: &str) -> Result<String, LeftToPython>;

    /// `text.upper()`
    ///
    /// # Errors
    /// It raises an error.
    fn upper(&self, text: &str) -> Result<String, LeftToPython>;
}

/// No interpreter at hand: everything that needs one is left to Python.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoInterpreter;

impl Interpreter for NoInterpreter {
    fn int(&self, _: &str) -> Result<i64, LeftToPython> {
        Err(LeftToPython)
    }

    fn float(&self, _: &str) -> Result<f64, LeftToPython> {
        Err(LeftToPython)
    }

    fn lower(&self, _: &str) -> Result<String, LeftToPython> {
        Err(LeftToPython)
    }

    fn upper(&self, _: &str) -> Result<String, LeftToPython> {
        Err(LeftToPython)
    }
}

/// Integers up to this size are exact as floating-point numbers.
const EXACT_AS_FLOAT: u64 = 1 << 53;
/// Bytes that `replace` may put into a text.
const MAX_REPLACED: usize = 16 << 20;

impl Expression {
    /// The value for these arguments; `python` does what depends on the interpreter.
    ///
    /// # Errors
    /// The interpreter must do it all: the function raises an error, or a value is not of a known kind and size.
    pub fn value<'v>(
        &'v self,
        python: &dyn Interpreter,
        arguments: &[Value<'v>],
    ) -> Result<Value<'v>, LeftToPython> {
        let all = |inner: &'v [Self]| -> Result<Vec<Value<'v>>, LeftToPython> {
            inner
                .iter()
                .map(|one| one.value(python, arguments))
                .collect()
        };
        match self {
            Self::Argument(index) => arguments.get(*index).cloned().ok_or(LeftToPython),
            Self::Constant(value) => Ok(value.borrowed()),
            Self::Tuple(inner) => all(inner).map(Value::Tuple),
            Self::List(inner) => all(inner).map(Value::List),
            Self::Element { of, at, len } => {
                // Usually one of few pieces is wanted.
                if let (Self::Call(Operation::Split, inner), Ok(at), None) =
                    (&**of, usize::try_from(*at), len)
                    && let Some(text) = inner.first()
                    && let Value::Str(Cow::Borrowed(text)) = text.value(python, arguments)?
                {
                    let rest = inner.get(1..).unwrap_or_default();
                    return Pieces::new(text, &all(rest)?)?
                        .nth(at)
                        .map(|piece| Value::Str(Cow::Borrowed(piece)))
                        .ok_or(LeftToPython);
                }
                element(of.value(python, arguments)?, *at, *len)
            }
            Self::Slice { of, start, stop } => slice(of.value(python, arguments)?, *start, *stop),
            Self::If(parts) => {
                let [condition, yes, no] = &**parts;
                let way = match condition.value(python, arguments)?.is_true() {
                    true => yes,
                    false => no,
                };
                way.value(python, arguments)
            }
            Self::Call(operation, inner) => match inner.as_slice() {
                [one] => unary(python, *operation, one.value(python, arguments)?),
                [one, two] => {
                    let (one, two) = (one.value(python, arguments)?, two.value(python, arguments)?);
                    binary(*operation, one, two)
                }
                inner => match (operation, all(inner)?.as_slice()) {
                    (Operation::Replace, [Value::Str(text), Value::Str(from), Value::Str(to)]) => {
                        replace(text, from, to)
                    }
                    _ => Err(LeftToPython),
                },
            },
        }
    }
}

impl Value<'_> {
    /// Whether Python's `if` takes it for true.
    pub fn is_true(&self) -> bool {
        match self {
            Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Str(text) => !text.is_empty(),
            Value::List(values) | Value::Tuple(values) => !values.is_empty(),
        }
    }

    fn as_float(&self) -> Option<f64> {
        match self {
            // Rounded as Python rounds.
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    fn is_exact_as_float(&self) -> bool {
        match self {
            Value::Int(value) => value.unsigned_abs() <= EXACT_AS_FLOAT,
            Value::Float(_) => true,
            _ => false,
        }
    }
}

fn replace(text: &str, from: &str, to: &str) -> Result<Value<'static>, LeftToPython> {
    let most = text.len().checked_div(from.len()).ok_or(LeftToPython)?;
    // Replacements in replacements could make any text that there is memory for.
    if most.saturating_mul(to.len()) > MAX_REPLACED {
        return Err(LeftToPython);
    }
    Ok(Value::Str(Cow::Owned(text.replace(from, to))))
}

fn element(of: Value<'_>, at: i64, len: Option<usize>) -> Result<Value<'_>, LeftToPython> {
    let mut values = match of {
        Value::List(values) | Value::Tuple(values) => values,
        // A character.
        Value::Str(text) if len.is_none() => {
            let stop = if at == -1 {
                None
            } else {
                Some(at.checked_add(1).ok_or(LeftToPython)?)
            };
            let found = part(text, |text| slice_of(text, Some(at), stop));
            return (!found.is_empty())
                .then_some(Value::Str(found))
                .ok_or(LeftToPython);
        }
        _ => return Err(LeftToPython),
    };
    if len.is_some_and(|len| len != values.len()) {
        return Err(LeftToPython);
    }
    let at = if at < 0 { at + values.len() as i64 } else { at };
    match usize::try_from(at) {
        Ok(at) if at < values.len() => Ok(values.swap_remove(at)),
        _ => Err(LeftToPython),
    }
}

/// The edges of a slice of so many elements, as Python finds them.
fn edges(len: usize, start: Option<i64>, stop: Option<i64>) -> (usize, usize) {
    let len = len as i64;
    let edge = |at: i64| (if at < 0 { at.saturating_add(len) } else { at }).clamp(0, len);
    let start = start.map_or(0, edge);
    let stop = stop.map_or(len, edge).max(start);
    (start as usize, stop as usize)
}

fn slice(of: Value<'_>, start: Option<i64>, stop: Option<i64>) -> Result<Value<'_>, LeftToPython> {
    let elements = |mut values: Vec<_>| {
        let (start, stop) = edges(values.len(), start, stop);
        values.truncate(stop);
        values.split_off(start)
    };
    match of {
        Value::Str(text) => Ok(Value::Str(part(text, |text| slice_of(text, start, stop)))),
        Value::List(values) => Ok(Value::List(elements(values))),
        Value::Tuple(values) => Ok(Value::Tuple(elements(values))),
        _ => Err(LeftToPython),
    }
}

/// A part of a text by numbers of characters.
fn slice_of(text: &str, start: Option<i64>, stop: Option<i64>) -> &str {
    if text.is_ascii() {
        let (start, stop) = edges(text.len(), start, stop);
        return text.get(start..stop).unwrap_or_default();
    }
    let (start, stop) = edges(text.chars().count(), start, stop);
    let place = |at| {
        text.char_indices()
            .nth(at)
            .map_or(text.len(), |(place, _)| place)
    };
    text.get(place(start)..place(stop)).unwrap_or_default()
}

fn unary<'v>(
    python: &dyn Interpreter,
    operation: Operation,
    value: Value<'v>,
) -> Result<Value<'v>, LeftToPython> {
    Ok(match (operation, value) {
        (Operation::Not, value) => Value::Bool(!value.is_true()),
        (Operation::IsNone, value) => Value::Bool(value == Value::None),
        (Operation::Negative, Value::Int(value)) => {
            Value::Int(value.checked_neg().ok_or(LeftToPython)?)
        }
        (Operation::Negative, Value::Float(value)) => Value::Float(-value),
        (Operation::Absolute, Value::Int(value)) => {
            Value::Int(value.checked_abs().ok_or(LeftToPython)?)
        }
        (Operation::Absolute, Value::Float(value)) => Value::Float(value.abs()),
        (Operation::Len, Value::Str(text)) => Value::Int(text.chars().count() as i64),
        (Operation::Len, Value::List(values) | Value::Tuple(values)) => {
            Value::Int(values.len() as i64)
        }
        (Operation::Int, Value::Int(value)) => Value::Int(value),
        (Operation::Int, Value::Float(value)) if value.abs() <= EXACT_AS_FLOAT as f64 => {
            Value::Int(value as i64)
        }
        (Operation::Int, Value::Str(text)) => match text.parse() {
            Ok(value) => Value::Int(value),
            // Python reads more than that.
            Err(_) => Value::Int(python.int(&text)?),
        },
        (Operation::Float, value @ (Value::Int(_) | Value::Float(_))) => {
            Value::Float(value.as_float().ok_or(LeftToPython)?)
        }
        (Operation::Float, Value::Str(text)) => match text.parse() {
            Ok(value) => Value::Float(value),
            Err(_) => Value::Float(python.float(&text)?),
        },
        (Operation::Str, Value::Str(text)) => Value::Str(text),
        (Operation::Str, Value::Int(value)) => Value::Str(Cow::Owned(value.to_string())),
        (Operation::Split, Value::Str(text)) => split(text, &[])?,
        (Operation::Strip, Value::Str(text)) => {
            Value::Str(part(text, |text| text.trim_matches(is_space)))
        }
        (Operation::StripStart, Value::Str(text)) => {
            Value::Str(part(text, |text| text.trim_start_matches(is_space)))
        }
        (Operation::StripEnd, Value::Str(text)) => {
            Value::Str(part(text, |text| text.trim_end_matches(is_space)))
        }
        (Operation::Lower, Value::Str(text)) if text.is_ascii() => {
            Value::Str(Cow::Owned(text.to_ascii_lowercase()))
        }
        (Operation::Upper, Value::Str(text)) if text.is_ascii() => {
            Value::Str(Cow::Owned(text.to_ascii_uppercase()))
        }
        // By the interpreter's own version of Unicode.
        (Operation::Lower, Value::Str(text)) => Value::Str(Cow::Owned(python.lower(&text)?)),
        (Operation::Upper, Value::Str(text)) => Value::Str(Cow::Owned(python.upper(&text)?)),
        _ => return Err(LeftToPython),
    })
}

fn binary<'v>(
    operation: Operation,
    one: Value<'v>,
    two: Value<'v>,
) -> Result<Value<'v>, LeftToPython> {
    use Operation::{
        Add, AddInPlace, Divide, EndsWith, Equal, FloorDivide, Greater, GreaterOrEqual, In, Less,
        LessOrEqual, Max, Min, Modulo, Multiply, NotEqual, NotIn, Split, StartsWith, Strip,
        StripEnd, StripStart, Subtract,
    };
    Ok(match operation {
        AddInPlace if matches!(one, Value::List(_)) => return Err(LeftToPython),
        AddInPlace => return arithmetic(Add, one, two),
        Add | Subtract | Multiply | Divide | FloorDivide | Modulo => {
            return arithmetic(operation, one, two);
        }
        Equal => Value::Bool(compare(&one, &two)? == Some(Ordering::Equal)),
        NotEqual => Value::Bool(compare(&one, &two)? != Some(Ordering::Equal)),
        Less => Value::Bool(compare(&one, &two)?.is_some_and(Ordering::is_lt)),
        LessOrEqual => Value::Bool(compare(&one, &two)?.is_some_and(Ordering::is_le)),
        Greater => Value::Bool(compare(&one, &two)?.is_some_and(Ordering::is_gt)),
        GreaterOrEqual => Value::Bool(compare(&one, &two)?.is_some_and(Ordering::is_ge)),
        In => Value::Bool(is_in(&one, &two)?),
        NotIn => Value::Bool(!is_in(&one, &two)?),
        Max if compare(&two, &one)?.is_some_and(Ordering::is_gt) => two,
        Min if compare(&two, &one)?.is_some_and(Ordering::is_lt) => two,
        Max | Min => one,
        _ => {
            let (Value::Str(text), Value::Str(other)) = (one, two) else {
                return Err(LeftToPython);
            };
            let one_of = |found: char| other.contains(found);
            match operation {
                StartsWith => Value::Bool(text.starts_with(&*other)),
                EndsWith => Value::Bool(text.ends_with(&*other)),
                Split => return split(text, &[Value::Str(other)]),
                Strip => Value::Str(part(text, |text| text.trim_matches(one_of))),
                StripStart => Value::Str(part(text, |text| text.trim_start_matches(one_of))),
                StripEnd => Value::Str(part(text, |text| text.trim_end_matches(one_of))),
                _ => return Err(LeftToPython),
            }
        }
    })
}

/// A part of a text, of which nothing is copied if it is borrowed.
fn part<'v>(text: Cow<'v, str>, part: impl Fn(&str) -> &str) -> Cow<'v, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(part(text)),
        Cow::Owned(text) => Cow::Owned(part(&text).to_owned()),
    }
}

fn split<'v>(text: Cow<'v, str>, separator: &[Value<'v>]) -> Result<Value<'v>, LeftToPython> {
    let owned = |piece: &str| Value::Str(Cow::Owned(piece.to_owned()));
    Ok(Value::List(match text {
        Cow::Borrowed(text) => Pieces::new(text, separator)?
            .map(|piece| Value::Str(Cow::Borrowed(piece)))
            .collect(),
        Cow::Owned(text) => Pieces::new(&text, separator)?.map(owned).collect(),
    }))
}

fn arithmetic<'v>(
    operation: Operation,
    one: Value<'v>,
    two: Value<'v>,
) -> Result<Value<'v>, LeftToPython> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => match operation {
            Operation::Add => one.checked_add(two).map(Value::Int),
            Operation::Subtract => one.checked_sub(two).map(Value::Int),
            Operation::Multiply => one.checked_mul(two).map(Value::Int),
            Operation::FloorDivide => floor_divide(one, two).map(Value::Int),
            Operation::Modulo => modulo(one, two).map(Value::Int),
            Operation::Divide => {
                let exact =
                    one.unsigned_abs() <= EXACT_AS_FLOAT && two.unsigned_abs() <= EXACT_AS_FLOAT;
                (exact && two != 0).then(|| Value::Float(one as f64 / two as f64))
            }
            _ => None,
        }
        .ok_or(LeftToPython),
        (Value::Str(one), Value::Str(two)) if operation == Operation::Add => {
            Ok(Value::Str(one + two))
        }
        (Value::List(mut one), Value::List(two)) if operation == Operation::Add => {
            one.extend(two);
            Ok(Value::List(one))
        }
        (Value::Tuple(mut one), Value::Tuple(two)) if operation == Operation::Add => {
            one.extend(two);
            Ok(Value::Tuple(one))
        }
        (one, two) => {
            let (Some(one), Some(two)) = (one.as_float(), two.as_float()) else {
                return Err(LeftToPython);
            };
            match operation {
                Operation::Add => Ok(Value::Float(one + two)),
                Operation::Subtract => Ok(Value::Float(one - two)),
                Operation::Multiply => Ok(Value::Float(one * two)),
                Operation::Divide if two != 0.0 => Ok(Value::Float(one / two)),
                _ => Err(LeftToPython),
            }
        }
    }
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

/// The order of two values of which Python knows one; `None` if one of them is not a number.
fn compare(one: &Value<'_>, two: &Value<'_>) -> Result<Option<Ordering>, LeftToPython> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => Ok(Some(one.cmp(two))),
        // By code points, as Python does.
        (Value::Str(one), Value::Str(two)) => Ok(Some(one.cmp(two))),
        (one, two) if one.is_exact_as_float() && two.is_exact_as_float() => {
            let (one, two) = (
                one.as_float().ok_or(LeftToPython)?,
                two.as_float().ok_or(LeftToPython)?,
            );
            Ok(one.partial_cmp(&two))
        }
        _ => Err(LeftToPython),
    }
}

fn is_in(one: &Value<'_>, two: &Value<'_>) -> Result<bool, LeftToPython> {
    match (one, two) {
        (Value::Str(part), Value::Str(text)) => Ok(text.contains(&**part)),
        (Value::Str(_) | Value::Int(_), Value::List(values) | Value::Tuple(values)) => {
            for value in values {
                if compare(one, value)? == Some(Ordering::Equal) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(LeftToPython),
    }
}
