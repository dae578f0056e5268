//! What a simple function of Python computes of its arguments.
//!
//! `firesteel_worker.expressions` finds it out from the function's bytecode. An expression has no effects but its value. Where the function would raise an error, and
//! wherever a value is of a kind or size that is not known here, the interpreter is left to call the function itself.

use crate::text::{Pieces, is_space, python_method};
use crate::value::Value;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::borrow::Cow;
use std::cmp::Ordering;

/// What the interpreter must do itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Odd;

/// Integers up to this size are exact as floating-point numbers.
const EXACT: u64 = 1 << 53;
/// Parts of an expression.
const MAX_PARTS: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    /// An argument of the function.
    Argument(usize),
    Constant(Value<'static>),
    Tuple(Vec<Expression>),
    List(Vec<Expression>),
    /// An element of a list or tuple, which has so many if a number is given.
    Element {
        of: Box<Expression>,
        at: i64,
        len: Option<usize>,
    },
    /// A part of a text, list or tuple.
    Slice {
        of: Box<Expression>,
        start: Option<i64>,
        stop: Option<i64>,
    },
    Call(Function, Vec<Expression>),
    /// Of the last two only one is computed.
    If(Box<[Expression; 3]>),
}

/// Operators, methods of texts and built-in functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Add,
    /// `+=`, which changes lists.
    AddInPlace,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Negative,
    Absolute,
    Not,
    IsNone,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    Max,
    Min,
    Len,
    Int,
    Float,
    Str,
    Split,
    Strip,
    StripStart,
    StripEnd,
    Lower,
    Upper,
    StartsWith,
    EndsWith,
    Replace,
}

impl Function {
    /// The function of a name that the Python side uses, and how few and how many arguments it has.
    fn named(name: &str) -> Option<(Self, usize, usize)> {
        Some(match name {
            "+" => (Self::Add, 2, 2),
            "+=" => (Self::AddInPlace, 2, 2),
            "-" => (Self::Subtract, 2, 2),
            "*" => (Self::Multiply, 2, 2),
            "/" => (Self::Divide, 2, 2),
            "//" => (Self::FloorDivide, 2, 2),
            "%" => (Self::Modulo, 2, 2),
            "negative" => (Self::Negative, 1, 1),
            "abs" => (Self::Absolute, 1, 1),
            "not" => (Self::Not, 1, 1),
            "is None" => (Self::IsNone, 1, 1),
            "==" => (Self::Equal, 2, 2),
            "!=" => (Self::NotEqual, 2, 2),
            "<" => (Self::Less, 2, 2),
            "<=" => (Self::LessOrEqual, 2, 2),
            ">" => (Self::Greater, 2, 2),
            ">=" => (Self::GreaterOrEqual, 2, 2),
            "in" => (Self::In, 2, 2),
            "not in" => (Self::NotIn, 2, 2),
            "max" => (Self::Max, 2, 2),
            "min" => (Self::Min, 2, 2),
            "len" => (Self::Len, 1, 1),
            "int" => (Self::Int, 1, 1),
            "float" => (Self::Float, 1, 1),
            "str" => (Self::Str, 1, 1),
            ".split" => (Self::Split, 1, 2),
            ".strip" => (Self::Strip, 1, 2),
            ".lstrip" => (Self::StripStart, 1, 2),
            ".rstrip" => (Self::StripEnd, 1, 2),
            ".lower" => (Self::Lower, 1, 1),
            ".upper" => (Self::Upper, 1, 1),
            ".startswith" => (Self::StartsWith, 2, 2),
            ".endswith" => (Self::EndsWith, 2, 2),
            ".replace" => (Self::Replace, 3, 3),
            _ => return None,
        })
    }
}

impl Expression {
    /// Reads an expression of tuples: `("argument", index)`, `("constant", value)`, `("tuple", [expressions])`, `("list", [expressions])`,
    /// `("element", expression, index, len or None)`, `("slice", expression, start or None, stop or None)`, `("call", name, [expressions])`,
    /// `("if", condition, expression, expression)`.
    pub(crate) fn read(found: &Bound<'_, PyAny>, arguments: usize) -> PyResult<Self> {
        Self::read_part(found, arguments, &mut MAX_PARTS.clone())
    }

    fn read_part(found: &Bound<'_, PyAny>, arguments: usize, parts: &mut usize) -> PyResult<Self> {
        let unknown = |what: &str| PyValueError::new_err(format!("unknown {what}"));
        *parts = parts.checked_sub(1).ok_or_else(|| unknown("size"))?;
        let part = found.cast::<PyTuple>()?;
        let mut all = |at: usize| -> PyResult<Vec<Self>> {
            let list = part.get_item(at)?;
            let list = list.cast::<PyList>()?.iter();
            list.map(|inner| Self::read_part(&inner, arguments, parts))
                .collect()
        };
        Ok(match part.get_item(0)?.extract::<String>()?.as_str() {
            "argument" => {
                let index = part.get_item(1)?.extract()?;
                if index >= arguments {
                    return Err(unknown("argument"));
                }
                Self::Argument(index)
            }
            "constant" => {
                let value = Value::read(&part.get_item(1)?).ok_or_else(|| unknown("constant"))?;
                Self::Constant(value)
            }
            "tuple" => Self::Tuple(all(1)?),
            "list" => Self::List(all(1)?),
            "element" => Self::Element {
                at: part.get_item(2)?.extract()?,
                len: part.get_item(3)?.extract()?,
                of: Box::new(Self::read_part(&part.get_item(1)?, arguments, parts)?),
            },
            "slice" => Self::Slice {
                start: part.get_item(2)?.extract()?,
                stop: part.get_item(3)?.extract()?,
                of: Box::new(Self::read_part(&part.get_item(1)?, arguments, parts)?),
            },
            "if" => {
                let mut one = |at| Self::read_part(&part.get_item(at)?, arguments, parts);
                Self::If(Box::new([one(1)?, one(2)?, one(3)?]))
            }
            "call" => {
                let name: String = part.get_item(1)?.extract()?;
                let (function, fewest, most) =
                    Function::named(&name).ok_or_else(|| unknown(&name))?;
                let inner = all(2)?;
                if inner.len() < fewest || inner.len() > most {
                    return Err(unknown("number of arguments"));
                }
                Self::Call(function, inner)
            }
            other => return Err(unknown(other)),
        })
    }

    /// The expression's value.
    pub(crate) fn value<'v>(
        &'v self,
        py: Python<'_>,
        arguments: &[Value<'v>],
    ) -> Result<Value<'v>, Odd> {
        let all = |inner: &'v [Self]| -> Result<Vec<Value<'v>>, Odd> {
            inner.iter().map(|one| one.value(py, arguments)).collect()
        };
        match self {
            Self::Argument(index) => arguments.get(*index).cloned().ok_or(Odd),
            Self::Constant(value) => Ok(value.borrowed()),
            Self::Tuple(inner) => all(inner).map(Value::Tuple),
            Self::List(inner) => all(inner).map(Value::List),
            Self::Element { of, at, len } => {
                // Usually one of few pieces is wanted.
                if let (Self::Call(Function::Split, inner), Ok(at), None) =
                    (&**of, usize::try_from(*at), len)
                    && let Some(text) = inner.first()
                    && let Value::Str(Cow::Borrowed(text)) = text.value(py, arguments)?
                {
                    let rest = inner.get(1..).unwrap_or_default();
                    return Pieces::new(text, &all(rest)?)?
                        .nth(at)
                        .map(|piece| Value::Str(Cow::Borrowed(piece)))
                        .ok_or(Odd);
                }
                element(of.value(py, arguments)?, *at, *len)
            }
            Self::Slice { of, start, stop } => slice(of.value(py, arguments)?, *start, *stop),
            Self::If(parts) => {
                let [condition, yes, no] = &**parts;
                let way = match condition.value(py, arguments)?.is_true() {
                    true => yes,
                    false => no,
                };
                way.value(py, arguments)
            }
            Self::Call(function, inner) => match inner.as_slice() {
                [one] => unary(py, *function, one.value(py, arguments)?),
                [one, two] => {
                    let (one, two) = (one.value(py, arguments)?, two.value(py, arguments)?);
                    binary(*function, one, two)
                }
                inner => match (function, all(inner)?.as_slice()) {
                    (Function::Replace, [Value::Str(text), Value::Str(from), Value::Str(to)])
                        if !from.is_empty() =>
                    {
                        Ok(Value::Str(Cow::Owned(text.replace(&**from, to))))
                    }
                    _ => Err(Odd),
                },
            },
        }
    }
}

impl Value<'_> {
    /// Whether Python's `if` takes it for true.
    pub(crate) fn is_true(&self) -> bool {
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
            Value::Int(value) => value.unsigned_abs() <= EXACT,
            Value::Float(_) => true,
            _ => false,
        }
    }
}

fn element(of: Value<'_>, at: i64, len: Option<usize>) -> Result<Value<'_>, Odd> {
    let mut values = match of {
        Value::List(values) | Value::Tuple(values) => values,
        // A character.
        Value::Str(text) if len.is_none() => {
            let stop = if at == -1 {
                None
            } else {
                Some(at.checked_add(1).ok_or(Odd)?)
            };
            let found = part(text, |text| slice_of(text, Some(at), stop));
            return (!found.is_empty()).then_some(Value::Str(found)).ok_or(Odd);
        }
        _ => return Err(Odd),
    };
    if len.is_some_and(|len| len != values.len()) {
        return Err(Odd);
    }
    let at = if at < 0 { at + values.len() as i64 } else { at };
    match usize::try_from(at) {
        Ok(at) if at < values.len() => Ok(values.swap_remove(at)),
        _ => Err(Odd),
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

fn slice(of: Value<'_>, start: Option<i64>, stop: Option<i64>) -> Result<Value<'_>, Odd> {
    let elements = |mut values: Vec<_>| {
        let (start, stop) = edges(values.len(), start, stop);
        values.truncate(stop);
        values.split_off(start)
    };
    match of {
        Value::Str(text) => Ok(Value::Str(part(text, |text| slice_of(text, start, stop)))),
        Value::List(values) => Ok(Value::List(elements(values))),
        Value::Tuple(values) => Ok(Value::Tuple(elements(values))),
        _ => Err(Odd),
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

fn unary<'v>(py: Python<'_>, function: Function, value: Value<'v>) -> Result<Value<'v>, Odd> {
    Ok(match (function, value) {
        (Function::Not, value) => Value::Bool(!value.is_true()),
        (Function::IsNone, value) => Value::Bool(value == Value::None),
        (Function::Negative, Value::Int(value)) => Value::Int(value.checked_neg().ok_or(Odd)?),
        (Function::Negative, Value::Float(value)) => Value::Float(-value),
        (Function::Absolute, Value::Int(value)) => Value::Int(value.checked_abs().ok_or(Odd)?),
        (Function::Absolute, Value::Float(value)) => Value::Float(value.abs()),
        (Function::Len, Value::Str(text)) => Value::Int(text.chars().count() as i64),
        (Function::Len, Value::List(values) | Value::Tuple(values)) => {
            Value::Int(values.len() as i64)
        }
        (Function::Int, Value::Int(value)) => Value::Int(value),
        (Function::Int, Value::Float(value)) if value.abs() <= EXACT as f64 => {
            Value::Int(value as i64)
        }
        (Function::Int, Value::Str(text)) => match text.parse() {
            Ok(value) => Value::Int(value),
            // Python reads more than that.
            Err(_) => Value::call(py, "int", &text)?,
        },
        (Function::Float, value @ (Value::Int(_) | Value::Float(_))) => {
            Value::Float(value.as_float().ok_or(Odd)?)
        }
        (Function::Float, Value::Str(text)) => match text.parse() {
            Ok(value) => Value::Float(value),
            Err(_) => Value::call(py, "float", &text)?,
        },
        (Function::Str, Value::Str(text)) => Value::Str(text),
        (Function::Str, Value::Int(value)) => Value::Str(Cow::Owned(value.to_string())),
        (Function::Split, Value::Str(text)) => split(text, &[])?,
        (Function::Strip, Value::Str(text)) => {
            Value::Str(part(text, |text| text.trim_matches(is_space)))
        }
        (Function::StripStart, Value::Str(text)) => {
            Value::Str(part(text, |text| text.trim_start_matches(is_space)))
        }
        (Function::StripEnd, Value::Str(text)) => {
            Value::Str(part(text, |text| text.trim_end_matches(is_space)))
        }
        (Function::Lower, Value::Str(text)) if text.is_ascii() => {
            Value::Str(Cow::Owned(text.to_ascii_lowercase()))
        }
        (Function::Upper, Value::Str(text)) if text.is_ascii() => {
            Value::Str(Cow::Owned(text.to_ascii_uppercase()))
        }
        // By the interpreter's own version of Unicode.
        (Function::Lower, Value::Str(text)) => python_method(py, "lower", &text)?,
        (Function::Upper, Value::Str(text)) => python_method(py, "upper", &text)?,
        _ => return Err(Odd),
    })
}

fn binary<'v>(function: Function, one: Value<'v>, two: Value<'v>) -> Result<Value<'v>, Odd> {
    use Function::{
        Add, AddInPlace, Divide, EndsWith, Equal, FloorDivide, Greater, GreaterOrEqual, In, Less,
        LessOrEqual, Max, Min, Modulo, Multiply, NotEqual, NotIn, Split, StartsWith, Strip,
        StripEnd, StripStart, Subtract,
    };
    Ok(match function {
        AddInPlace if matches!(one, Value::List(_)) => return Err(Odd),
        AddInPlace => return arithmetic(Add, one, two),
        Add | Subtract | Multiply | Divide | FloorDivide | Modulo => {
            return arithmetic(function, one, two);
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
                return Err(Odd);
            };
            let one_of = |found: char| other.contains(found);
            match function {
                StartsWith => Value::Bool(text.starts_with(&*other)),
                EndsWith => Value::Bool(text.ends_with(&*other)),
                Split => return split(text, &[Value::Str(other)]),
                Strip => Value::Str(part(text, |text| text.trim_matches(one_of))),
                StripStart => Value::Str(part(text, |text| text.trim_start_matches(one_of))),
                StripEnd => Value::Str(part(text, |text| text.trim_end_matches(one_of))),
                _ => return Err(Odd),
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

fn split<'v>(text: Cow<'v, str>, separator: &[Value<'v>]) -> Result<Value<'v>, Odd> {
    let owned = |piece: &str| Value::Str(Cow::Owned(piece.to_owned()));
    Ok(Value::List(match text {
        Cow::Borrowed(text) => Pieces::new(text, separator)?
            .map(|piece| Value::Str(Cow::Borrowed(piece)))
            .collect(),
        Cow::Owned(text) => Pieces::new(&text, separator)?.map(owned).collect(),
    }))
}

fn arithmetic<'v>(function: Function, one: Value<'v>, two: Value<'v>) -> Result<Value<'v>, Odd> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => match function {
            Function::Add => one.checked_add(two).map(Value::Int),
            Function::Subtract => one.checked_sub(two).map(Value::Int),
            Function::Multiply => one.checked_mul(two).map(Value::Int),
            Function::FloorDivide => floor_divide(one, two).map(Value::Int),
            Function::Modulo => modulo(one, two).map(Value::Int),
            Function::Divide => {
                let exact = one.unsigned_abs() <= EXACT && two.unsigned_abs() <= EXACT;
                (exact && two != 0).then(|| Value::Float(one as f64 / two as f64))
            }
            _ => None,
        }
        .ok_or(Odd),
        (Value::Str(one), Value::Str(two)) if function == Function::Add => {
            Ok(Value::Str(one + two))
        }
        (Value::List(mut one), Value::List(two)) if function == Function::Add => {
            one.extend(two);
            Ok(Value::List(one))
        }
        (Value::Tuple(mut one), Value::Tuple(two)) if function == Function::Add => {
            one.extend(two);
            Ok(Value::Tuple(one))
        }
        (one, two) => {
            let (Some(one), Some(two)) = (one.as_float(), two.as_float()) else {
                return Err(Odd);
            };
            match function {
                Function::Add => Ok(Value::Float(one + two)),
                Function::Subtract => Ok(Value::Float(one - two)),
                Function::Multiply => Ok(Value::Float(one * two)),
                Function::Divide if two != 0.0 => Ok(Value::Float(one / two)),
                _ => Err(Odd),
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
fn compare(one: &Value<'_>, two: &Value<'_>) -> Result<Option<Ordering>, Odd> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => Ok(Some(one.cmp(two))),
        // By code points, as Python does.
        (Value::Str(one), Value::Str(two)) => Ok(Some(one.cmp(two))),
        (one, two) if one.is_exact_as_float() && two.is_exact_as_float() => {
            let (one, two) = (one.as_float().ok_or(Odd)?, two.as_float().ok_or(Odd)?);
            Ok(one.partial_cmp(&two))
        }
        _ => Err(Odd),
    }
}

fn is_in(one: &Value<'_>, two: &Value<'_>) -> Result<bool, Odd> {
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
        _ => Err(Odd),
    }
}
