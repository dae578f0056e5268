//! `RLIKE`: those of Java's regular expressions that mean the same everywhere.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;
use regex::Regex;

use super::kernel::{Kernel, nth};
use super::known;
use catalyst::Unsupported;

/// What a dot of Java matches.
const DOT: &str = "[^\\n\\r\\x{85}\\x{2028}\\x{2029}]";

/// A pattern in the language of `regex`. `None` if it has anything that might mean something else in Java: escapes
/// other than of punctuation, flags, look-around, references, possessive and lazy quantifiers, counts, `$`, classes
/// with more than ranges of ASCII.
///
/// Only whether a text matches is asked, so that it does not matter which match is found first.
fn translate(pattern: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    let mut depth = 0u32;
    // Whether there is something to repeat.
    let mut item = false;
    while let Some(char) = chars.next() {
        match char {
            '.' => {
                out.push_str(DOT);
                item = true;
            }
            '*' | '+' | '?' => {
                if !item {
                    return None;
                }
                out.push(char);
                item = false;
            }
            '|' => {
                out.push('|');
                item = false;
            }
            '^' if out.is_empty() => out.push_str("\\A"),
            '(' => {
                if chars.peek() == Some(&'?') {
                    return None;
                }
                depth += 1;
                out.push_str("(?:");
                item = false;
            }
            ')' => {
                depth = depth.checked_sub(1)?;
                out.push(')');
                item = true;
            }
            '[' => {
                class(&mut chars, &mut out)?;
                item = true;
            }
            '\\' => {
                let next = chars.next()?;
                if !next.is_ascii_punctuation() {
                    return None;
                }
                out.push_str(&regex::escape(&next.to_string()));
                item = true;
            }
            '$' | '{' | '}' | ']' | '^' => return None,
            _ if char.is_control() => return None,
            _ => {
                out.push_str(&regex::escape(&char.to_string()));
                item = true;
            }
        }
    }
    (depth == 0).then_some(out)
}

/// A class of letters, digits and ranges of them.
fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) -> Option<()> {
    out.push('[');
    if chars.peek() == Some(&'^') {
        chars.next();
        out.push('^');
    }
    let mut any = false;
    loop {
        match chars.next()? {
            ']' if any => {
                out.push(']');
                return Some(());
            }
            char if char.is_ascii_alphanumeric() || char == ' ' || char == '_' => {
                out.push(char);
                if chars.peek() == Some(&'-') {
                    chars.next();
                    let end = chars.next()?;
                    if !end.is_ascii_alphanumeric() || end < char {
                        return None;
                    }
                    out.push('-');
                    out.push(end);
                }
                any = true;
            }
            _ => return None,
        }
    }
}

/// Whether a text has a match of a pattern that is known.
pub(super) fn rlike(
    types: &[ArrowType],
    args: &[Arc<dyn PhysicalExpr>],
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let refuse = || Unsupported::of_use("RLike with such a pattern");
    let [text, pattern] = args else {
        return Err(refuse());
    };
    let Some(ScalarValue::Utf8View(Some(pattern))) = known(pattern) else {
        return Err(refuse());
    };
    if types.first() != Some(&ArrowType::Utf8View) {
        return Err(refuse());
    }
    let regex = translate(pattern).and_then(|pattern| Regex::new(&pattern).ok());
    let regex = regex.ok_or_else(refuse)?;
    let name = format!("RLike[{regex}]");
    let args = vec![Arc::clone(text)];
    Ok(Kernel::strict(
        name,
        args,
        ArrowType::Boolean,
        move |args, rows| {
            let arg = nth(args, 0)?;
            let texts = arg.string()?;
            let found = BooleanBuffer::collect_bool(rows, |row| {
                let at = arg.at(row);
                texts.is_valid(at) && regex.is_match(texts.value(at))
            });
            Ok(Arc::new(BooleanArray::new(found, texts.nulls().cloned())))
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, pattern: &str) -> Option<bool> {
        let pattern = translate(pattern)?;
        Some(Regex::new(&pattern).unwrap().is_match(text))
    }

    #[test]
    fn plain_patterns_are_translated() {
        assert_eq!(matches("xab", "a.*b"), Some(true));
        assert_eq!(matches("a\nb", "a.b"), Some(false));
        assert_eq!(matches("a\u{85}b", "a.b"), Some(false));
        assert_eq!(matches("xab", "^ab"), Some(false));
        assert_eq!(matches("ac", "a(b|c)"), Some(true));
        assert_eq!(matches("a7", "[a-z][0-9]"), Some(true));
        assert_eq!(matches("a.b", "a\\.b"), Some(true));
        assert_eq!(matches("a-b", "a-b"), Some(true));
    }

    #[test]
    fn others_are_left_to_java() {
        for pattern in [
            "\\d",
            "\\bx",
            "(?i)a",
            "a$",
            "a{2}",
            "[a-z&&[^b]]",
            "a*+",
            "a+?",
            "(a",
            "a)",
            "*a",
            "[]",
            "a^",
            "(a)\\1",
            "a|^b",
        ] {
            assert_eq!(matches("", pattern), None, "{pattern}");
        }
    }
}
