//! Dictionaries and sets from outside a function, which it only reads.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::evaluate::LeftToPython;
use crate::value::Value;

/// Entries of a table; `MAX_ENTRIES` of the writer.
pub(crate) const MAX_ENTRIES: usize = 10_000;

/// Values by keys that are equal as Python's are: `1`, `1.0` and `True` are one key.
#[derive(Debug, Clone, Default)]
pub struct Table {
    texts: HashMap<Box<str>, Value<'static>, RandomState>,
    integers: HashMap<i64, Value<'static>, RandomState>,
    others: HashMap<Key, Value<'static>, RandomState>,
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts && self.integers == other.integers && self.others == other.others
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    None,
    Int(i64),
    /// The bits of a float that is no integer of 64 bits.
    Float(u64),
    Str(Box<str>),
    Tuple(Box<[Key]>),
}

impl Key {
    /// `None` for what is not a number, which is equal to no key unless it is the same object.
    ///
    /// # Errors
    /// Lists are no keys.
    fn new(value: &Value<'_>) -> Result<Option<Self>, LeftToPython> {
        Ok(Some(match value {
            Value::None => Self::None,
            Value::Bool(value) => Self::Int(i64::from(*value)),
            Value::Int(value) => Self::Int(*value),
            Value::Float(value) if value.is_nan() => return Ok(None),
            Value::Float(value) => integer(*value).map_or(Self::Float(value.to_bits()), Self::Int),
            Value::Str(text) => Self::Str((**text).into()),
            Value::List(_) => return Err(LeftToPython),
            Value::Tuple(values) => {
                // A list behind what is not a number is none, either.
                let keys: Vec<_> = values.iter().map(Self::new).collect::<Result<_, _>>()?;
                let keys: Option<Vec<_>> = keys.into_iter().collect();
                return Ok(keys.map(|keys| Self::Tuple(keys.into())));
            }
        }))
    }
}

/// The integer that is equal to a float.
fn integer(value: f64) -> Option<i64> {
    crate::number::truncated(value).filter(|_| value.fract() == 0.0)
}

impl Table {
    /// Adds a value, and says whether its key can be one and was not there.
    pub(crate) fn insert(&mut self, key: &Value<'_>, value: Value<'static>) -> bool {
        let old = match Key::new(key) {
            Ok(Some(Key::Str(text))) => self.texts.insert(text, value),
            Ok(Some(Key::Int(key))) => self.integers.insert(key, value),
            Ok(Some(key)) => self.others.insert(key, value),
            _ => return false,
        };
        old.is_none()
    }

    /// The value of a key.
    ///
    /// # Errors
    /// The key is a list, or a tuple with one in it.
    pub(crate) fn get(&self, key: &Value<'_>) -> Result<Option<&Value<'static>>, LeftToPython> {
        Ok(match key {
            Value::Str(text) => self.texts.get(&**text),
            Value::Int(key) => self.integers.get(key),
            key => match Key::new(key)? {
                Some(Key::Int(key)) => self.integers.get(&key),
                Some(key) => self.others.get(&key),
                None => None,
            },
        })
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.texts.len() + self.integers.len() + self.others.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_equal_as_pythons_are() {
        let mut table = Table::default();
        for (number, key) in [
            Value::Int(1),
            Value::Str("1".into()),
            Value::Float(0.5),
            Value::None,
            Value::Tuple(vec![Value::Bool(false), Value::Float(1e300)]),
        ]
        .iter()
        .enumerate()
        {
            assert!(table.insert(key, Value::Int(number as i64)));
        }
        assert!(
            !table.insert(&Value::Float(1.0), Value::None),
            "it is there"
        );
        assert!(!table.insert(&Value::Float(f64::NAN), Value::None));
        assert!(!table.insert(&Value::List(vec![]), Value::None));
        let zero = Value::Tuple(vec![Value::Float(-0.0), Value::Float(1e300)]);
        assert_eq!(table.get(&zero), Ok(Some(&Value::Int(4))));
        assert_eq!(table.get(&Value::Bool(true)), Ok(Some(&Value::None)));
        assert_eq!(table.get(&Value::Float(f64::NAN)), Ok(None));
        assert_eq!(table.get(&Value::Float(0.5)), Ok(Some(&Value::Int(2))));
        assert_eq!(table.get(&Value::List(vec![])), Err(LeftToPython));
        assert_eq!(table.len(), 5);
    }
}
