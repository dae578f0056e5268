//! Texts as Python sees them.

use std::borrow::Cow;
use std::str::Split;

use crate::evaluate::{Held, LeftToPython};
use crate::value::Value;

/// Bytes of a text that is made larger: an expression may have hundreds of them.
pub(crate) const MAX_TEXT: usize = 1 << 20;

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
            [] => Self::between(text, &Value::None),
            [separator] => Self::between(text, separator),
            _ => Err(LeftToPython),
        }
    }

    fn between(text: &'t str, separator: &'s Value<'_>) -> Result<Self, LeftToPython> {
        match separator {
            Value::None => Ok(Self(Separated::Spaces(text.split(is_space)))),
            Value::Str(separator) => {
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

impl<'v> Held<'_, 'v> {
    /// A part of a text, of which nothing is copied if it is borrowed.
    pub(crate) fn part(&self, part: impl Fn(&str) -> &str) -> Result<Value<'v>, LeftToPython> {
        match &**self {
            Value::Str(Cow::Borrowed(text)) => Ok(Value::Str(Cow::Borrowed(part(text)))),
            Value::Str(Cow::Owned(text)) => Ok(Value::Str(Cow::Owned(part(text).to_owned()))),
            _ => Err(LeftToPython),
        }
    }

    /// Parts of a text, which `find` gives to its second argument.
    pub(crate) fn parts(
        &self,
        find: impl for<'t> Fn(&'t str, &mut dyn FnMut(&'t str)) -> Result<(), LeftToPython>,
    ) -> Result<Vec<Value<'v>>, LeftToPython> {
        let mut found = Vec::new();
        match &**self {
            Value::Str(Cow::Borrowed(text)) => {
                find(text, &mut |part| {
                    found.push(Value::Str(Cow::Borrowed(part)))
                })?;
            }
            Value::Str(Cow::Owned(text)) => find(text, &mut |part| {
                found.push(Value::Str(Cow::Owned(part.to_owned())));
            })?,
            _ => return Err(LeftToPython),
        }
        Ok(found)
    }
}

/// `text.split(separator)`
pub(crate) fn split<'v>(
    text: &Held<'_, 'v>,
    separator: &Value<'_>,
) -> Result<Vec<Value<'v>>, LeftToPython> {
    text.parts(|text, found| {
        Pieces::between(text, separator)?.for_each(found);
        Ok(())
    })
}

/// `text.split(separator, most)`
pub(crate) fn split_most<'v>(
    text: &Held<'_, 'v>,
    separator: &Value<'_>,
    most: i64,
) -> Result<Vec<Value<'v>>, LeftToPython> {
    let Ok(most) = usize::try_from(most) else {
        return split(text, separator);
    };
    text.parts(|text, found| match separator {
        Value::Str(separator) if !separator.is_empty() => {
            text.splitn(most.saturating_add(1), &**separator)
                .for_each(found);
            Ok(())
        }
        Value::None => {
            let mut rest = text.trim_start_matches(is_space);
            for _ in 0..most {
                let Some((piece, behind)) = rest.split_once(is_space) else {
                    break;
                };
                found(piece);
                rest = behind.trim_start_matches(is_space);
            }
            if !rest.is_empty() {
                found(rest);
            }
            Ok(())
        }
        _ => Err(LeftToPython),
    })
}

/// `text.rsplit(separator, most)`
pub(crate) fn split_most_from_end<'v>(
    text: &Held<'_, 'v>,
    separator: &Value<'_>,
    most: i64,
) -> Result<Vec<Value<'v>>, LeftToPython> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut found = text.parts(|text, found| match separator {
        Value::Str(separator) if !separator.is_empty() => {
            text.rsplitn(most.saturating_add(1), &**separator)
                .for_each(found);
            Ok(())
        }
        Value::None => {
            let mut rest = text.trim_end_matches(is_space);
            for _ in 0..most {
                let Some((before, piece)) = rest.rsplit_once(is_space) else {
                    break;
                };
                found(piece);
                rest = before.trim_end_matches(is_space);
            }
            if !rest.is_empty() {
                found(rest);
            }
            Ok(())
        }
        _ => Err(LeftToPython),
    })?;
    found.reverse();
    Ok(found)
}

/// `text.splitlines()`
pub(crate) fn split_lines<'v>(text: &Held<'_, 'v>) -> Result<Vec<Value<'v>>, LeftToPython> {
    text.parts(|text, found| {
        let mut rest = text;
        while !rest.is_empty() {
            let Some((line, behind)) = rest.split_once(is_end_of_line) else {
                found(rest);
                break;
            };
            // The two characters are one end.
            let both = rest
                .get(line.len()..)
                .is_some_and(|end| end.starts_with("\r\n"));
            rest = if both {
                behind.get(1..).unwrap_or_default()
            } else {
                behind
            };
            found(line);
        }
        Ok(())
    })
}

fn is_end_of_line(found: char) -> bool {
    matches!(found, '\n'..='\r' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
