//! Methods of texts about kinds of characters: of ASCII here, of others by the interpreter's own version of Unicode.

use std::borrow::Cow;

use crate::evaluate::LeftToPython;
use crate::interpreter::Interpreter;
use crate::operation::Operation;
use crate::text::is_space;
use crate::value::Value;

/// The value of a method without arguments.
pub(crate) fn case<'v>(
    python: &dyn Interpreter,
    operation: Operation,
    text: &str,
) -> Result<Value<'v>, LeftToPython> {
    use Operation::{
        Capitalize, FoldCase, IsAlphabetic, IsAlphanumeric, IsAscii, IsDecimal, IsDigit, IsLower,
        IsNumeric, IsSpace, IsUpper, Lower, SwapCase, Title, Upper,
    };
    let made = |made| Ok(Value::Str(Cow::Owned(made)));
    let all = |holds: fn(&u8) -> bool| !text.is_empty() && text.as_bytes().iter().all(holds);
    let lower = || text.bytes().any(|one| one.is_ascii_lowercase());
    let upper = || text.bytes().any(|one| one.is_ascii_uppercase());
    if !text.is_ascii() && !matches!(operation, IsAscii | IsSpace) {
        return match operation {
            Lower => made(python.lower(text)?),
            Upper => made(python.upper(text)?),
            Title => made(python.text("title", text)?),
            Capitalize => made(python.text("capitalize", text)?),
            SwapCase => made(python.text("swapcase", text)?),
            FoldCase => made(python.text("casefold", text)?),
            IsAlphanumeric => python.holds("isalnum", text).map(Value::Bool),
            IsAlphabetic => python.holds("isalpha", text).map(Value::Bool),
            IsDecimal => python.holds("isdecimal", text).map(Value::Bool),
            IsDigit => python.holds("isdigit", text).map(Value::Bool),
            IsNumeric => python.holds("isnumeric", text).map(Value::Bool),
            IsLower => python.holds("islower", text).map(Value::Bool),
            IsUpper => python.holds("isupper", text).map(Value::Bool),
            _ => Err(LeftToPython),
        };
    }
    Ok(Value::Bool(match operation {
        Lower | FoldCase => return made(text.to_ascii_lowercase()),
        Upper => return made(text.to_ascii_uppercase()),
        SwapCase => return made(text.chars().map(swapped).collect()),
        Title => return made(title(text)),
        Capitalize => {
            let mut found = text.to_ascii_lowercase();
            if let Some(first) = found.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            return made(found);
        }
        IsAlphanumeric => all(u8::is_ascii_alphanumeric),
        IsAlphabetic => all(u8::is_ascii_alphabetic),
        IsDecimal | IsDigit | IsNumeric => all(u8::is_ascii_digit),
        IsLower => lower() && !upper(),
        IsUpper => upper() && !lower(),
        IsAscii => text.is_ascii(),
        IsSpace => !text.is_empty() && text.chars().all(is_space),
        _ => return Err(LeftToPython),
    }))
}

fn swapped(found: char) -> char {
    match found.is_ascii_lowercase() {
        true => found.to_ascii_uppercase(),
        false => found.to_ascii_lowercase(),
    }
}

fn title(text: &str) -> String {
    let mut within = false;
    let one = |found: char| {
        let made = match within {
            true => found.to_ascii_lowercase(),
            false => found.to_ascii_uppercase(),
        };
        within = found.is_ascii_alphabetic();
        made
    };
    text.chars().map(one).collect()
}
