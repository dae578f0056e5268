//! Arrays of texts.

use std::sync::Arc;

use arrow::array::{Array, AsArray, StringViewArray, StringViewBuilder};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType as ArrowType, Int32Type};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::super::kernel::{Kernel, nth, pair};
use super::super::known;
use super::{list, lists, other, range};
use rows::error::bail_out;

type Physical = Arc<dyn PhysicalExpr>;

/// Texts, with a text between them; those that are null are left out.
pub(super) fn joined(args: Vec<Physical>) -> Physical {
    Kernel::strict("ArrayJoin", args, ArrowType::Utf8View, |args, rows| {
        let (arrays, between) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let texts = arrays.values().as_string_view_opt().ok_or_else(other)?;
        let betweens = between.string()?;
        let joined = (0..rows).map(|row| {
            let at = between.at(row);
            if arrays.is_null(row) || betweens.is_null(at) {
                return None;
            }
            let all = range(arrays.value_offsets(), row);
            let all = all.filter(|element| texts.is_valid(*element));
            let all: Vec<_> = all.map(|element| texts.value(element)).collect();
            Some(all.join(betweens.value(at)))
        });
        Ok(Arc::new(joined.collect::<StringViewArray>()) as _)
    })
}

/// What stands for something else than itself in Java's regular expressions.
const SPECIAL: &str = "\\^$.|?*+()[]{}";

/// The text that a regular expression matches, if it matches nothing else.
pub(super) fn plain(regex: &str) -> Option<String> {
    let mut text = String::new();
    let mut characters = regex.chars();
    while let Some(character) = characters.next() {
        match character {
            // Letters and digits behind it mean something of their own.
            '\\' => text.push(characters.next().filter(|next| SPECIAL.contains(*next))?),
            _ if SPECIAL.contains(character) => return None,
            _ => text.push(character),
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The parts of texts between matches of a constant pattern, and of at most a constant number; `None` for other ways to
/// split.
pub(super) fn split(to: &ArrowType, args: Vec<Physical>) -> Option<Physical> {
    let limit = match args.get(2).and_then(known)? {
        ScalarValue::Int32(Some(limit)) => *limit,
        _ => return None,
    };
    let regex = match args.get(1).and_then(known)? {
        // An empty one gives characters.
        ScalarValue::Utf8View(Some(regex)) if !regex.is_empty() => regex,
        _ => return None,
    };
    match plain(regex) {
        Some(between) if limit <= 0 => Some(split_by(between, to, args)),
        _ => {
            let pattern = super::super::regex::Pattern::new(regex, false)?;
            Some(super::super::regex::split(pattern, limit, to, args))
        }
    }
}

/// The parts of texts between one that is always the same, all of them.
fn split_by(between: String, to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("StringSplit", args, to.clone(), move |args, rows| {
        let texts = nth(args, 0)?;
        let values = texts.string()?;
        let mut parts = StringViewBuilder::new();
        let (mut lengths, mut valid) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let at = texts.at(row);
            valid.push(values.is_valid(at));
            let mut length = 0;
            if values.is_valid(at) {
                for part in values.value(at).split(between.as_str()) {
                    parts.append_value(part);
                    length += 1;
                }
            }
            lengths.push(length);
        }
        let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
        lists(&of, lengths, Arc::new(parts.finish()), nulls)
    })
}

/// The parts of a text between another; the whole if that is empty.
fn between<'a>(text: &'a str, delimiter: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
    if delimiter.is_empty() {
        Box::new(std::iter::once(text))
    } else {
        Box::new(text.split(delimiter))
    }
}

/// `StringSplitSQL`: parts between a text that means itself.
pub(super) fn split_at_text(to: &ArrowType, args: Vec<Physical>) -> Physical {
    let of = to.clone();
    Kernel::strict("StringSplitSQL", args, to.clone(), move |args, rows| {
        let (text, delimiter) = pair(args)?;
        let (values, delimiters) = (text.string()?, delimiter.string()?);
        let mut parts = StringViewBuilder::new();
        let (mut lengths, mut valid) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let (text, delimiter) = (text.at(row), delimiter.at(row));
            let is_there = values.is_valid(text) && delimiters.is_valid(delimiter);
            valid.push(is_there);
            let mut length = 0;
            if is_there {
                for part in between(values.value(text), delimiters.value(delimiter)) {
                    parts.append_value(part);
                    length += 1;
                }
            }
            lengths.push(length);
        }
        let nulls = Some(NullBuffer::from(valid));
        lists(&of, lengths, Arc::new(parts.finish()), nulls)
    })
}

/// The part with a number, from 1 or from the end; nothing if there are not so many.
fn numbered<'a>(text: &'a str, delimiter: &'a str, number: i32) -> Option<&'a str> {
    let distance = number.unsigned_abs() as usize;
    let mut parts = between(text, delimiter);
    let found = match number {
        0 => return None,
        1.. => parts.nth(distance - 1),
        _ => {
            let parts: Vec<_> = parts.collect();
            let at = parts.len().checked_sub(distance);
            at.and_then(|at| parts.get(at).copied())
        }
    };
    Some(found.unwrap_or_default())
}

/// `split_part(text, delimiter, number)`
pub(super) fn part(args: Vec<Physical>) -> Physical {
    Kernel::strict("SplitPart", args, ArrowType::Utf8View, |args, rows| {
        let (text, delimiter, number) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (values, delimiters) = (text.string()?, delimiter.string()?);
        let numbers = number.primitive::<Int32Type>()?;
        let parts = (0..rows).map(|row| {
            let (text, delimiter, number) = (text.at(row), delimiter.at(row), number.at(row));
            if values.is_null(text) || delimiters.is_null(delimiter) || numbers.is_null(number) {
                return Ok(None);
            }
            let (text, delimiter) = (values.value(text), delimiters.value(delimiter));
            let part = numbered(text, delimiter, numbers.value(number));
            part.map(Some).ok_or_else(|| bail_out("an element at 0"))
        });
        Ok(Arc::new(parts.collect::<RunResult<StringViewArray>>()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_numbers() {
        assert_eq!(numbered("a.b.c", ".", 2), Some("b"));
        assert_eq!(numbered("a.b.c", ".", -1), Some("c"));
        assert_eq!(numbered("a.b.c", ".", 4), Some(""));
        assert_eq!(numbered("a.b.c", ".", -4), Some(""));
        assert_eq!(numbered("a.b.c", "", 1), Some("a.b.c"));
        assert_eq!(numbered("", ".", 1), Some(""));
        assert_eq!(numbered("a", ".", 0), None);
    }

    #[test]
    fn only_what_means_itself_is_split_by() {
        assert_eq!(plain(", "), Some(", ".to_owned()));
        assert_eq!(plain("\\|"), Some("|".to_owned()));
        for other in ["", ".", "a|b", "\\s", "\\", "[,]", "x+"] {
            assert_eq!(plain(other), None, "{other}");
        }
    }
}
