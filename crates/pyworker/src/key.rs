//! Keys of what is merged.

use std::hash::{Hash, Hasher};

use indexmap::Equivalent;
use pyfunc::{LeftToPython, Value};

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
    pub(crate) fn new(value: &'p Value<'v>) -> Result<Self, LeftToPython> {
        fn is_key(value: &Value<'_>) -> bool {
            match value {
                Value::None | Value::Int(_) | Value::Str(_) => true,
                Value::Tuple(values) => values.iter().all(is_key),
                Value::Bool(_) | Value::Float(_) | Value::List(_) => false,
            }
        }
        is_key(value).then_some(Self(value)).ok_or(LeftToPython)
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
    pub(crate) fn new(value: Value<'_>) -> Result<Self, LeftToPython> {
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
            Value::Bool(_) | Value::Float(_) | Value::List(_) => return Err(LeftToPython),
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

/// About what the interpreter needs for a value (bytes).
pub(crate) fn size_in_python(value: &Value<'_>) -> usize {
    match value {
        Value::None | Value::Bool(_) => 0,
        Value::Int(_) | Value::Float(_) => 32,
        Value::Str(text) => 56 + text.len(),
        Value::List(values) | Value::Tuple(values) => {
            let inner = values.iter().map(|value| 8 + size_in_python(value));
            56 + inner.sum::<usize>()
        }
    }
}
