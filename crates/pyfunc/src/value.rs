//! Values of Python as far as expressions work on them.

use std::borrow::Cow;

/// A value of exactly that type, not of one derived from it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `None`
    None,
    /// A `bool`, which is no [`Value::Int`] here.
    Bool(bool),
    /// An `int`; larger ones are left to the interpreter.
    Int(i64),
    /// A `float`
    Float(f64),
    /// A `str` without surrogates.
    Str(Cow<'a, str>),
    /// A `list`
    List(Vec<Value<'a>>),
    /// A `tuple`
    Tuple(Vec<Value<'a>>),
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

    /// The number that an `int` or `bool` is.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// A number as a float.
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            // Rounded as Python rounds.
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list or tuple.
    pub(crate) fn elements(&self) -> Option<&[Self]> {
        match self {
            Value::List(values) | Value::Tuple(values) => Some(values),
            _ => None,
        }
    }

    /// The name of its type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "str",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
        }
    }

    /// About the bytes that a copy of it takes.
    pub(crate) fn size(&self) -> usize {
        let inner = match self {
            Value::Str(text) => text.len(),
            Value::List(values) | Value::Tuple(values) => values.iter().map(Value::size).sum(),
            _ => 0,
        };
        size_of::<Self>() + inner
    }

    /// The value itself, without copying texts.
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Value::None => Value::None,
            Value::Bool(value) => Value::Bool(*value),
            Value::Int(value) => Value::Int(*value),
            Value::Float(value) => Value::Float(*value),
            Value::Str(text) => Value::Str(Cow::Borrowed(text)),
            Value::List(values) => Value::List(values.iter().map(Value::borrowed).collect()),
            Value::Tuple(values) => Value::Tuple(values.iter().map(Value::borrowed).collect()),
        }
    }

    /// The value with texts of its own.
    pub fn into_owned(self) -> Value<'static> {
        fn all(values: Vec<Value<'_>>) -> Vec<Value<'static>> {
            values.into_iter().map(Value::into_owned).collect()
        }
        match self {
            Value::None => Value::None,
            Value::Bool(value) => Value::Bool(value),
            Value::Int(value) => Value::Int(value),
            Value::Float(value) => Value::Float(value),
            Value::Str(text) => Value::Str(Cow::Owned(text.into_owned())),
            Value::List(values) => Value::List(all(values)),
            Value::Tuple(values) => Value::Tuple(all(values)),
        }
    }
}
