//! Texts as Python sees them.

use std::str::Split;

use crate::evaluate::LeftToPython;
use crate::value::Value;

/// What `str.isspace` says of a character.
pub(crate) fn is_space(found: char) -> bool {
    matches!(found,
        '\t'..='\r' | '\x1c'..=' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// The pieces that `str.split` gives.
#[derive(Debug)]
pub struct Pieces<'t, 's>(Separated<'t, 's>);

#[derive(Debug)]
enum Separated<'t, 's> {
    Spaces(Split<'t, fn(char) -> bool>),
    Char(Split<'t, char>),
    Text(Split<'t, &'s str>),
}

impl<'t, 's> Pieces<'t, 's> {
    /// With the arguments of `str.split`: none, `None` or a text.
    ///
    /// # Errors
    /// Other arguments; an empty text, which is an error in Python.
    pub fn new(text: &'t str, separator: &'s [Value<'_>]) -> Result<Self, LeftToPython> {
        match separator {
            [] | [Value::None] => Ok(Self(Separated::Spaces(text.split(is_space)))),
            [Value::Str(separator)] => {
                let mut chars = separator.chars();
                match (chars.next(), chars.next()) {
                    (None, _) => Err(LeftToPython),
                    (Some(one), None) => Ok(Self(Separated::Char(text.split(one)))),
                    _ => Ok(Self(Separated::Text(text.split(&**separator)))),
                }
            }
            _ => Err(LeftToPython),
        }
    }
}

impl<'t> Iterator for Pieces<'t, '_> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        match &mut self.0 {
            Separated::Spaces(pieces) => pieces.find(|piece| !piece.is_empty()),
            Separated::Char(pieces) => pieces.next(),
            Separated::Text(pieces) => pieces.next(),
        }
    }
}
