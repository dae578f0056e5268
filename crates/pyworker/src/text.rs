//! Texts as Python sees them.

use crate::expression::Odd;
use crate::value::Value;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::borrow::Cow;
use std::str::Split;

/// What `str.isspace` says of a character.
pub(crate) fn is_space(found: char) -> bool {
    matches!(found,
        '\t'..='\r' | '\x1c'..=' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// The pieces that `str.split` gives.
pub(crate) enum Pieces<'t, 's> {
    Spaces(Split<'t, fn(char) -> bool>),
    Char(Split<'t, char>),
    Text(Split<'t, &'s str>),
}

impl<'t, 's> Pieces<'t, 's> {
    /// With the arguments of `str.split`: none, `None` or a text.
    pub(crate) fn new(text: &'t str, separator: &'s [Value<'_>]) -> Result<Self, Odd> {
        match separator {
            [] | [Value::None] => Ok(Self::Spaces(text.split(is_space))),
            [Value::Str(separator)] => {
                let mut chars = separator.chars();
                match (chars.next(), chars.next()) {
                    (None, _) => Err(Odd),
                    (Some(one), None) => Ok(Self::Char(text.split(one))),
                    _ => Ok(Self::Text(text.split(&**separator))),
                }
            }
            _ => Err(Odd),
        }
    }
}

impl<'t> Iterator for Pieces<'t, '_> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        match self {
            Self::Spaces(pieces) => pieces.find(|piece| !piece.is_empty()),
            Self::Char(pieces) => pieces.next(),
            Self::Text(pieces) => pieces.next(),
        }
    }
}

/// What a method without arguments makes of a text.
pub(crate) fn python_method(py: Python<'_>, name: &str, text: &str) -> Result<Value<'static>, Odd> {
    let made = PyString::new(py, text)
        .call_method0(name)
        .map_err(|_| Odd)?;
    let made = made.extract().map_err(|_| Odd)?;
    Ok(Value::Str(Cow::Owned(made)))
}
