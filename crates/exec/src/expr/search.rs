//! Functions that look for texts in texts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int32Array};
use arrow::datatypes::{DataType as ArrowType, Int32Type};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;
use memchr::memmem;

use super::kernel::{Arg, Kernel, nth, pair, union_nulls};
use super::like::Pattern;
use super::strings::texts;
use super::{known, refused};
use catalyst::Function;
use catalyst::Unsupported;
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Lowers a function of this module.
pub(super) fn lower(op: Function, types: &[ArrowType], args: Args) -> Lowered {
    use ArrowType as A;
    use Function as F;
    match (op, types) {
        (F::SubstringIndex, [A::Utf8View, A::Utf8View, A::Int32]) => Ok(substring_index(args)),
        (F::FindInSet, [A::Utf8View, A::Utf8View]) => Ok(find_in_set(args)),
        (F::StringInstr, [A::Utf8View, A::Utf8View]) => Ok(instr(args)),
        (F::StringLocate, [A::Utf8View, A::Utf8View, A::Int32]) => Ok(locate(args)),
        (F::LikeAny | F::LikeAll | F::NotLikeAny | F::NotLikeAll, [A::Utf8View, ..]) => {
            like_many(op, args)
        }
        _ => Err(refused(op, types)),
    }
}

/// Numbers of rows in which no argument is null.
pub(super) fn integers(
    args: &[&Arg],
    rows: usize,
    mut f: impl FnMut(usize) -> RunResult<i32>,
) -> RunResult<ArrayRef> {
    let nulls = union_nulls(args);
    let valid = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let numbers = (0..rows).map(|row| valid(row).then(|| f(row)).transpose());
    Ok(Arc::new(numbers.collect::<RunResult<Int32Array>>()?))
}

/// What stands before the `count`th delimiter, or behind the one that is `count`th from the end. The next is looked for
/// one byte further: delimiters may overlap.
fn part<'a>(text: &'a str, delimiter: &str, count: i32) -> Option<&'a str> {
    let (bytes, between) = (text.as_bytes(), delimiter.as_bytes());
    if between.is_empty() || count == 0 {
        return Some("");
    }
    if count > 0 {
        let mut found = None;
        for _ in 0..count {
            let from = found.map_or(0, |at| at + 1);
            match memmem::find(bytes.get(from..).unwrap_or_default(), between) {
                Some(at) => found = Some(from + at),
                None => return Some(text),
            }
        }
        return text.get(..found?);
    }
    let mut found = None;
    // Spark's own arithmetic overflows for the least number.
    for _ in 0..count.checked_neg()? {
        let end = match found {
            None => bytes.len(),
            Some(0) => return Some(text),
            Some(at) => at - 1 + between.len(),
        };
        match memmem::rfind(bytes.get(..end).unwrap_or_default(), between) {
            Some(at) => found = Some(at),
            None => return Some(text),
        }
    }
    text.get(found? + between.len()..)
}

fn substring_index(args: Args) -> Arc<dyn PhysicalExpr> {
    let to = ArrowType::Utf8View;
    Kernel::strict("SubstringIndex", args, to, |args, rows| {
        let (text, delimiter, count) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (source, between) = (text.string()?, delimiter.string()?);
        let counts = count.primitive::<Int32Type>()?;
        texts(&[text, delimiter, count], rows, |row, out| {
            let source = source.value(text.at(row));
            let between = between.value(delimiter.at(row));
            let found = part(source, between, counts.value(count.at(row)));
            out.push_str(found.ok_or_else(|| bail_out("a count that overflows"))?);
            Ok(())
        })
    })
}

/// The place of a word among words with commas between them, from 1; 0 if it is not there or has a comma.
fn place_in_set(word: &str, set: &str) -> i32 {
    if word.contains(',') {
        return 0;
    }
    let place = set.split(',').position(|other| other == word);
    place.map_or(0, |place| i32::try_from(place + 1).unwrap_or(i32::MAX))
}

fn find_in_set(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("FindInSet", args, ArrowType::Int32, |args, rows| {
        let (word, set) = pair(args)?;
        let (words, sets) = (word.string()?, set.string()?);
        integers(&[word, set], rows, |row| {
            Ok(place_in_set(
                words.value(word.at(row)),
                sets.value(set.at(row)),
            ))
        })
    })
}

/// The place of a part, in characters from 1, not before so many characters; 0 if it is not there.
fn place(text: &str, part: &str, skipped: usize) -> i32 {
    let start = match text.is_ascii() {
        true => (skipped <= text.len()).then_some(skipped),
        false => {
            let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            places.nth(skipped)
        }
    };
    let rest = start.and_then(|start| text.get(start..));
    let Some(found) = rest.and_then(|rest| memmem::find(rest.as_bytes(), part.as_bytes())) else {
        return 0;
    };
    let before = text.get(..start.unwrap_or(0) + found).unwrap_or_default();
    i32::try_from(before.chars().count() + 1).unwrap_or(i32::MAX)
}

fn instr(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("StringInstr", args, ArrowType::Int32, |args, rows| {
        let (text, part) = pair(args)?;
        let (source, parts) = (text.string()?, part.string()?);
        integers(&[text, part], rows, |row| {
            let (source, part) = (source.value(text.at(row)), parts.value(part.at(row)));
            Ok(place(source, part, 0))
        })
    })
}

/// `locate(part, text, start)`: 0 without a start, else null where another is.
fn locate(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::lenient("StringLocate", args, ArrowType::Int32, |args, rows| {
        let (part, text, start) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (parts, source) = (part.string()?, text.string()?);
        let starts = start.primitive::<Int32Type>()?;
        let places = (0..rows).map(|row| {
            let (part, text, start) = (part.at(row), text.at(row), start.at(row));
            if starts.is_null(start) {
                return Some(0);
            }
            if parts.is_null(part) || source.is_null(text) {
                return None;
            }
            let skipped = usize::try_from(i64::from(starts.value(start)) - 1);
            Some(match (skipped, parts.value(part)) {
                (Err(_), _) => 0,
                // Found at once, wherever it is looked for.
                (Ok(_), "") => 1,
                (Ok(skipped), part) => place(source.value(text), part, skipped),
            })
        });
        Ok(Arc::new(places.collect::<Int32Array>()))
    })
}

/// `LIKE ANY` and `LIKE ALL` of constant patterns, with and without `NOT`. A null among them leaves open what the
/// others do not decide.
fn like_many(op: Function, args: Args) -> Lowered {
    let mut args = args.into_iter();
    let text = args.next().ok_or_else(|| Unsupported::of_use(op.name()))?;
    let (mut patterns, mut unknown, mut name) = (Vec::new(), false, op.name().to_owned());
    for arg in args {
        match known(&arg) {
            Some(ScalarValue::Utf8View(Some(pattern))) => {
                let of = Pattern::new(pattern, '\\');
                patterns.push(of.ok_or_else(|| Unsupported::of_use("an invalid pattern"))?);
                name = format!("{name} {pattern:?}");
            }
            Some(value) if value.is_null() => unknown = true,
            _ => return Err(Unsupported::of_use("a variable pattern")),
        }
    }
    let negated = matches!(op, Function::NotLikeAny | Function::NotLikeAll);
    let any = matches!(op, Function::LikeAny | Function::NotLikeAny);
    let name = format!("{name} {unknown}");
    let to = ArrowType::Boolean;
    Ok(Kernel::strict(name, vec![text], to, move |args, rows| {
        let text = nth(args, 0)?;
        let source = text.string()?;
        let results = (0..rows).map(|row| {
            let at = text.at(row);
            if source.is_null(at) {
                return None;
            }
            let mut likes = patterns
                .iter()
                .map(|pattern| pattern.matches(source.value(at)) != negated);
            let decided = if any {
                likes.any(|like| like)
            } else {
                likes.any(|like| !like)
            };
            if decided {
                Some(any)
            } else {
                (!unknown).then_some(!any)
            }
        });
        Ok(Arc::new(results.collect::<BooleanArray>()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_may_overlap() {
        assert_eq!(part("www.apache.org", ".", 2), Some("www.apache"));
        assert_eq!(part("www.apache.org", ".", -2), Some("apache.org"));
        assert_eq!(part("www.apache.org", ".", 5), Some("www.apache.org"));
        assert_eq!(part("www.apache.org", ".", -5), Some("www.apache.org"));
        assert_eq!(part("aaaa", "aa", 2), Some("a"));
        assert_eq!(part("aaaa", "aa", -2), Some("a"));
        assert_eq!(part("aa", "aa", 1), Some(""));
        assert_eq!(part("aa", "aa", -1), Some(""));
        assert_eq!(part("a", "aa", -1), Some("a"));
        assert_eq!(part("a", "", 1), Some(""));
        assert_eq!(part("a", "b", i32::MIN), None);
    }

    #[test]
    fn places_are_of_characters() {
        assert_eq!(place("äbäb", "b", 0), 2);
        assert_eq!(place("äbäb", "b", 2), 4);
        assert_eq!(place("äbäb", "b", 4), 0);
        assert_eq!(place("äbäb", "b", 9), 0);
        assert_eq!(place("abab", "", 0), 1);
        assert_eq!(place_in_set("b", "a,b,c"), 2);
        assert_eq!(place_in_set("", "a,,c"), 2);
        assert_eq!(place_in_set("a,b", "a,b"), 0);
        assert_eq!(place_in_set("d", "a,b"), 0);
    }
}
