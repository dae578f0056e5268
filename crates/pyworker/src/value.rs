//! Values of Python as far as expressions work on them, and keys made of them.

use crate::expression::Odd;
use indexmap::Equivalent;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// A value of exactly that type, not of one derived from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    None,
    Bool(bool),
    /// Larger ones are left to the interpreter.
    Int(i64),
    Float(f64),
    Str(Cow<'a, str>),
    List(Vec<Value<'a>>),
    Tuple(Vec<Value<'a>>),
}

impl Value<'_> {
    /// The value itself, without copying texts.
    pub(crate) fn borrowed(&self) -> Value<'_> {
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
    pub(crate) fn into_owned(self) -> Value<'static> {
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

impl Value<'static> {
    /// A value of the interpreter, if it is of a type known here and not too large.
    pub(crate) fn read(found: &Bound<'_, PyAny>) -> Option<Self> {
        if found.is_none() {
            Some(Self::None)
        } else if let Ok(value) = found.cast_exact::<PyBool>() {
            Some(Self::Bool(value.is_true()))
        } else if found.is_exact_instance_of::<PyInt>() {
            found.extract().ok().map(Self::Int)
        } else if let Ok(value) = found.cast_exact::<PyFloat>() {
            Some(Self::Float(value.value()))
        } else if let Ok(text) = found.cast_exact::<PyString>() {
            text.extract().ok().map(|text| Self::Str(Cow::Owned(text)))
        } else if let Ok(values) = found.cast_exact::<PyTuple>() {
            let values = values.iter().map(|value| Self::read(&value));
            values.collect::<Option<_>>().map(Self::Tuple)
        } else {
            None
        }
    }

    /// What a built-in function of the interpreter makes of a text.
    pub(crate) fn call(py: Python<'_>, function: &str, text: &str) -> Result<Self, Odd> {
        let call = || -> PyResult<_> {
            let function = py.import("builtins")?.getattr(function)?;
            function.call1((PyString::new(py, text),))
        };
        call().ok().and_then(|made| Self::read(&made)).ok_or(Odd)
    }
}

impl Value<'_> {
    /// The value for the interpreter.
    pub(crate) fn write<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = |values: &[Value<'_>]| -> PyResult<Vec<_>> {
            values.iter().map(|value| value.write(py)).collect()
        };
        Ok(match self {
            Value::None => PyNone::get(py).to_owned().into_any(),
            Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
            Value::Int(value) => value.into_pyobject(py)?.into_any(),
            Value::Float(value) => PyFloat::new(py, *value).into_any(),
            Value::Str(text) => PyString::new(py, text).into_any(),
            Value::List(values) => PyList::new(py, all(values)?)?.into_any(),
            Value::Tuple(values) => PyTuple::new(py, all(values)?)?.into_any(),
        })
    }
}

/// A key of a dictionary, of the types whose values equal only values of the same type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Key {
    None,
    Int(i64),
    Str(Box<str>),
    Tuple(Box<[Key]>),
}

/// A value that is looked up as a key.
pub(crate) struct Probe<'p, 'v>(&'p Value<'v>);

impl<'p, 'v> Probe<'p, 'v> {
    pub(crate) fn new(value: &'p Value<'v>) -> Result<Self, Odd> {
        fn is_key(value: &Value<'_>) -> bool {
            match value {
                Value::None | Value::Int(_) | Value::Str(_) => true,
                Value::Tuple(values) => values.iter().all(is_key),
                Value::Bool(_) | Value::Float(_) | Value::List(_) => false,
            }
        }
        is_key(value).then_some(Self(value)).ok_or(Odd)
    }
}

impl Hash for Probe<'_, '_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Value::Int(value) => value.hash(state),
            Value::Str(text) => text.hash(state),
            Value::Tuple(values) => values.iter().for_each(|value| Probe(value).hash(state)),
            _ => {}
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::None => {}
            Self::Int(value) => value.hash(state),
            Self::Str(text) => text.hash(state),
            Self::Tuple(values) => values.iter().for_each(|value| value.hash(state)),
        }
    }
}

impl Equivalent<Key> for Probe<'_, '_> {
    fn equivalent(&self, key: &Key) -> bool {
        match (self.0, key) {
            (Value::None, Key::None) => true,
            (Value::Int(one), Key::Int(two)) => one == two,
            (Value::Str(one), Key::Str(two)) => **one == **two,
            (Value::Tuple(one), Key::Tuple(two)) => {
                one.len() == two.len() && {
                    let mut pairs = one.iter().zip(two.iter());
                    pairs.all(|(one, two)| Probe(one).equivalent(two))
                }
            }
            _ => false,
        }
    }
}

impl Key {
    /// The key that [`Probe`] looks for.
    pub(crate) fn new(value: Value<'_>) -> Result<Self, Odd> {
        Ok(match value {
            Value::None => Self::None,
            Value::Int(value) => Self::Int(value),
            Value::Str(text) => Self::Str(text.into()),
            Value::Tuple(values) => Self::Tuple(
                values
                    .into_iter()
                    .map(Self::new)
                    .collect::<Result<_, _>>()?,
            ),
            Value::Bool(_) | Value::Float(_) | Value::List(_) => return Err(Odd),
        })
    }

    /// The key for the interpreter.
    pub(crate) fn write<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::None => PyNone::get(py).to_owned().into_any(),
            Self::Int(value) => value.into_pyobject(py)?.into_any(),
            Self::Str(text) => PyString::new(py, text).into_any(),
            Self::Tuple(keys) => {
                let keys: PyResult<Vec<_>> = keys.iter().map(|key| key.write(py)).collect();
                PyTuple::new(py, keys?)?.into_any()
            }
        })
    }

    /// About what the interpreter needs for it (bytes), with its place in a dictionary.
    pub(crate) fn size_in_python(&self) -> usize {
        100 + match self {
            Self::None => 0,
            Self::Int(_) => 32,
            Self::Str(text) => 56 + text.len(),
            Self::Tuple(keys) => 56 + keys.iter().map(Self::size_in_python).sum::<usize>(),
        }
    }
}

impl Value<'_> {
    /// About what the interpreter needs for it (bytes).
    pub(crate) fn size_in_python(&self) -> usize {
        match self {
            Value::None | Value::Bool(_) => 0,
            Value::Int(_) | Value::Float(_) => 32,
            Value::Str(text) => 56 + text.len(),
            Value::List(values) | Value::Tuple(values) => {
                let inner = values.iter().map(|value| 8 + value.size_in_python());
                56 + inner.sum::<usize>()
            }
        }
    }
}
