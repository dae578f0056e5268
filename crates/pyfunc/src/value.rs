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
