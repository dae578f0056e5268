//! Java's regular expressions: those that mean the same in the crate `regex`, if they are constant.
//!
//! What a pattern matches is compared with Java's own in `java_tests`. Java goes through texts in units of UTF-16: it
//! can be between the halves of a character, which is bailed out of where it would matter.

mod java;
mod set;

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder, StringViewBuilder};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType as ArrowType, Int32Type};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;
use regex::{CaptureLocations, Regex};

use super::kernel::{Kernel, nth, union_nulls};
use super::nested::lists;
use super::search::integers;
use super::strings::texts;
use super::{known, refused};
use catalyst::Function;
use catalyst::Unsupported;
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;
/// Where something begins and ends.
type Span = (usize, usize);

/// The longest text that is made of one.
const MAX_MADE: usize = 1 << 28;

/// A pattern that is looked for.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    of: Arc<java::Translated>,
    /// The numbers that the crate gives to the groups.
    groups: Arc<[usize]>,
}

impl Pattern {
    /// Of Java's pattern; `None` if it might mean something else. Groups are kept on demand: it is slower with them.
    pub(super) fn new(pattern: &str, keeps: bool) -> Option<Self> {
        let of = java::translate(pattern, keeps)?;
        let regex = Regex::new(&of.pattern).ok()?;
        let mut groups = vec![0];
        if keeps {
            for group in 1..=of.groups {
                let name = format!("g{group}");
                groups.push(regex.capture_names().position(|of| of == Some(&name))?);
            }
        }
        Some(Self {
            regex,
            of: Arc::new(of),
            groups: groups.into(),
        })
    }

    /// Whether this text is searched as Java does it, else it is bailed out of.
    fn check(&self, text: &str) -> RunResult<()> {
        let line_end = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
        if self.of.words && !text.is_ascii() {
            return Err(bail_out("boundaries of words of other letters than ASCII"));
        }
        if self.of.ends && text.ends_with(line_end) {
            return Err(bail_out("the end of a text that ends with a line"));
        }
        Ok(())
    }

    fn is_match(&self, text: &str) -> RunResult<bool> {
        self.check(text)?;
        Ok(self.regex.is_match(text))
    }

    fn first(&self, text: &str) -> RunResult<Option<Span>> {
        self.check(text)?;
        let found = self.regex.find(text);
        Ok(found.map(|found| (found.start(), found.end())))
    }

    /// All matches in their order, as Java finds them: behind one that is empty the next character is looked at. Stops
    /// when it is told that no more are wanted.
    pub(super) fn all(
        &self,
        text: &str,
        mut f: impl FnMut(Span) -> RunResult<bool>,
    ) -> RunResult<()> {
        self.check(text)?;
        let mut from = 0;
        while let Some(found) = self.regex.find_at(text, from) {
            let span = (found.start(), found.end());
            if !f(span)? {
                break;
            }
            match behind(text, span)? {
                Some(next) => from = next,
                None => break,
            }
        }
        Ok(())
    }

    /// The same with groups.
    fn all_with_groups(
        &self,
        text: &str,
        mut f: impl FnMut(Span, &CaptureLocations) -> RunResult<bool>,
    ) -> RunResult<()> {
        self.check(text)?;
        let mut groups = self.regex.capture_locations();
        let mut from = 0;
        while let Some(found) = self.regex.captures_read_at(&mut groups, text, from) {
            let span = (found.start(), found.end());
            if !f(span, &groups)? {
                break;
            }
            match behind(text, span)? {
                Some(next) => from = next,
                None => break,
            }
        }
        Ok(())
    }

    /// What a group has in a text; nothing if it is not part of the match.
    fn group<'a>(
        &self,
        text: &'a str,
        groups: &CaptureLocations,
        group: usize,
    ) -> RunResult<&'a str> {
        let number = self.groups.get(group);
        let number = number.ok_or_else(|| bail_out("a group that is not there"))?;
        if self.of.inner.contains(&group) {
            return Err(bail_out("a group in something that is repeated"));
        }
        let span = groups.get(*number);
        let found = span.and_then(|(start, end)| text.get(start..end));
        Ok(found.unwrap_or_default())
    }
}

/// Where the next match is looked for; `None` if there is none.
fn behind(text: &str, (start, end): Span) -> RunResult<Option<usize>> {
    if start < end {
        return Ok(Some(end));
    }
    match text.get(end..).and_then(|rest| rest.chars().next()) {
        None => Ok(None),
        Some(next) if next.len_utf16() > 1 => Err(bail_out("matches within a character")),
        Some(next) => Ok(Some(end + next.len_utf8())),
    }
}

/// Lowers a function of this module.
pub(super) fn lower(op: Function, types: &[ArrowType], to: &ArrowType, args: Args) -> Lowered {
    use ArrowType as A;
    use Function as F;
    let refuse = || Unsupported::of_use(format!("{} with such a pattern", op.name()));
    let Some(ScalarValue::Utf8View(Some(java))) = args.get(1).and_then(known) else {
        return Err(refuse());
    };
    let java = java.clone();
    let java = java.as_str();
    match (op, types) {
        (F::RLike, [A::Utf8View, A::Utf8View]) => {
            let pattern = Pattern::new(java, false).ok_or_else(refuse)?;
            Ok(rlike(pattern, java, args))
        }
        (F::RegExpReplace, [A::Utf8View, A::Utf8View, A::Utf8View, A::Int32]) => {
            let keeps = match args.get(2).and_then(known) {
                Some(ScalarValue::Utf8View(Some(by))) => by.contains('$'),
                _ => true,
            };
            let pattern = Pattern::new(java, keeps).ok_or_else(refuse)?;
            Ok(replace(pattern, java, keeps, args))
        }
        (
            F::RegExpExtract | F::RegExpExtractAll | F::RegExpInStr,
            [A::Utf8View, A::Utf8View, A::Int32],
        ) => {
            let group = match args.get(2).and_then(known) {
                Some(ScalarValue::Int32(Some(group))) => usize::try_from(*group).ok(),
                _ => None,
            };
            let keeps = op != F::RegExpInStr && group != Some(0);
            let pattern = Pattern::new(java, keeps).ok_or_else(refuse)?;
            if group.is_some_and(|group| keeps && pattern.of.inner.contains(&group)) {
                let what = format!("{} of a group in something that is repeated", op.name());
                return Err(Unsupported::of_use(what));
            }
            Ok(match op {
                F::RegExpExtract => extract(pattern, java, keeps, args),
                F::RegExpExtractAll => extract_all(pattern, java, keeps, to, args),
                _ => place(pattern, java, args),
            })
        }
        _ => Err(refused(op, types)),
    }
}

fn named(op: Function, java: &str) -> String {
    format!("{}[{java:?}]", op.name())
}

/// Whether a text has a match.
fn rlike(pattern: Pattern, java: &str, args: Args) -> Arc<dyn PhysicalExpr> {
    let (name, args) = (named(Function::RLike, java), args.into_iter().take(1));
    let to = ArrowType::Boolean;
    Kernel::strict(name, args.collect(), to, move |args, rows| {
        let arg = nth(args, 0)?;
        let texts = arg.string()?;
        let mut found = BooleanBufferBuilder::new(rows);
        for row in 0..rows {
            let at = arg.at(row);
            found.append(texts.is_valid(at) && pattern.is_match(texts.value(at))?);
        }
        let nulls = texts.nulls().cloned();
        Ok(Arc::new(BooleanArray::new(found.finish(), nulls)))
    })
}

/// The place of the first match, from 1; 0 if there is none.
fn place(pattern: Pattern, java: &str, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = named(Function::RegExpInStr, java);
    Kernel::strict(name, args, ArrowType::Int32, move |args, rows| {
        let (text, group) = (nth(args, 0)?, nth(args, 2)?);
        let source = text.string()?;
        integers(&[text, group], rows, |row| {
            let source = source.value(text.at(row));
            let Some((start, _)) = pattern.first(source)? else {
                return Ok(0);
            };
            let before = source.get(..start).unwrap_or_default();
            // Spark counts units of UTF-16 before 4.3, and characters since.
            if before.chars().any(|of| of.len_utf16() > 1) {
                return Err(bail_out("a place behind a character of two units"));
            }
            Ok(i32::try_from(before.chars().count() + 1).unwrap_or(i32::MAX))
        })
    })
}

/// A number of a group. Spark looks at it only when there is a match.
fn group_of(number: i32) -> RunResult<usize> {
    usize::try_from(number).map_err(|_| bail_out("a group that is not there"))
}

/// What a group has in the first match.
fn extract(pattern: Pattern, java: &str, keeps: bool, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = named(Function::RegExpExtract, java);
    Kernel::strict(name, args, ArrowType::Utf8View, move |args, rows| {
        let (text, group) = (nth(args, 0)?, nth(args, 2)?);
        let (source, numbers) = (text.string()?, group.primitive::<Int32Type>()?);
        texts(&[text, group], rows, |row, out| {
            let source = source.value(text.at(row));
            if !keeps {
                let span = pattern.first(source)?;
                let found = span.and_then(|(start, end)| source.get(start..end));
                out.push_str(found.unwrap_or_default());
                return Ok(());
            }
            pattern.all_with_groups(source, |_, groups| {
                let group = group_of(numbers.value(group.at(row)))?;
                out.push_str(pattern.group(source, groups, group)?);
                Ok(false)
            })
        })
    })
}

/// What a group has in all matches.
fn extract_all(
    pattern: Pattern,
    java: &str,
    keeps: bool,
    to: &ArrowType,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let (name, of) = (named(Function::RegExpExtractAll, java), to.clone());
    Kernel::strict(name, args, to.clone(), move |args, rows| {
        let (text, group) = (nth(args, 0)?, nth(args, 2)?);
        let (source, numbers) = (text.string()?, group.primitive::<Int32Type>()?);
        let nulls = union_nulls(&[text, group]);
        let mut found = StringViewBuilder::new();
        let mut lengths = Vec::with_capacity(rows);
        for row in 0..rows {
            let mut length = 0;
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                let source = source.value(text.at(row));
                if keeps {
                    pattern.all_with_groups(source, |_, groups| {
                        let group = group_of(numbers.value(group.at(row)))?;
                        found.append_value(pattern.group(source, groups, group)?);
                        length += 1;
                        Ok(true)
                    })?;
                } else {
                    pattern.all(source, |(start, end)| {
                        found.append_value(source.get(start..end).unwrap_or_default());
                        length += 1;
                        Ok(true)
                    })?;
                }
            }
            lengths.push(length);
        }
        lists(&of, lengths, Arc::new(found.finish()), nulls)
    })
}

/// A part of what matches are replaced by.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
}

/// The parts of what matches are replaced by; `None` if Java refuses it, which it does only when there is a match.
fn replacement(by: &str, groups: usize, names: &[(String, usize)]) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut chars = by.chars().peekable();
    while let Some(character) = chars.next() {
        match character {
            '\\' => text.push(chars.next()?),
            '$' => {
                let group = if chars.next_if_eq(&'{').is_some() {
                    let mut name = String::new();
                    loop {
                        match chars.next()? {
                            '}' => break,
                            letter => name.push(letter),
                        }
                    }
                    let named = names.iter().find(|(other, _)| *other == name);
                    named.map(|(_, group)| *group)?
                } else {
                    let digit = |next: char| next.to_digit(10).map(|digit| digit as usize);
                    let mut group = digit(chars.next()?)?;
                    // As many digits as there are groups for.
                    while let Some(more) = chars.peek().copied().and_then(digit) {
                        if group * 10 + more > groups {
                            break;
                        }
                        group = group * 10 + more;
                        chars.next();
                    }
                    group
                };
                if group > groups {
                    return None;
                }
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Group(group));
            }
            other => text.push(other),
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Some(parts)
}

/// Where the part of a text begins that is searched, behind so many characters; `None` behind its end.
fn start_of(text: &str, mut skipped: usize) -> RunResult<Option<usize>> {
    for (at, character) in text.char_indices() {
        if skipped == 0 {
            return Ok(Some(at));
        }
        // Spark counts units of UTF-16.
        if character.len_utf16() > 1 {
            return Err(bail_out("a place behind a character of two units"));
        }
        skipped -= 1;
    }
    Ok(None)
}

/// A text with something else instead of all matches.
fn replace(pattern: Pattern, java: &str, keeps: bool, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = named(Function::RegExpReplace, java);
    let of = Arc::clone(&pattern.of);
    let parts_of = move |by: &str| replacement(by, of.groups, &of.names);
    Kernel::strict(name, args, ArrowType::Utf8View, move |args, rows| {
        let (text, by, from) = (nth(args, 0)?, nth(args, 2)?, nth(args, 3)?);
        let (source, replacements) = (text.string()?, by.string()?);
        let places = from.primitive::<Int32Type>()?;
        let fixed = by.constant.then(|| parts_of(replacements.value(0)));
        texts(&[text, by, from], rows, |row, out| {
            let source = source.value(text.at(row));
            let skipped = usize::try_from(i64::from(places.value(from.at(row))) - 1);
            let skipped = skipped.map_err(|_| bail_out("a place before the text"))?;
            let start = match skipped {
                0 => Some(0),
                _ => start_of(source, skipped)?,
            };
            let Some(start) = start else {
                out.push_str(source);
                return Ok(());
            };
            let own;
            let parts = match &fixed {
                Some(parts) => parts,
                None => {
                    own = parts_of(replacements.value(by.at(row)));
                    &own
                }
            };
            let (before, searched) = source.split_at_checked(start).unwrap_or_default();
            out.push_str(before);
            replaced(&pattern, keeps, searched, parts.as_deref(), out)
        })
    })
}

fn replaced(
    pattern: &Pattern,
    keeps: bool,
    text: &str,
    parts: Option<&[Part]>,
    out: &mut String,
) -> RunResult<()> {
    let wrong = || bail_out("an invalid replacement");
    let mut done = 0;
    if keeps {
        pattern.all_with_groups(text, |(start, end), groups| {
            out.push_str(text.get(done..start).unwrap_or_default());
            for part in parts.ok_or_else(wrong)? {
                match part {
                    Part::Text(more) => out.push_str(more),
                    Part::Group(group) => out.push_str(pattern.group(text, groups, *group)?),
                }
            }
            done = end;
            bounded(out)
        })?;
    } else {
        pattern.all(text, |(start, end)| {
            out.push_str(text.get(done..start).unwrap_or_default());
            for part in parts.ok_or_else(wrong)? {
                // Without groups there are only texts.
                if let Part::Text(more) = part {
                    out.push_str(more);
                }
            }
            done = end;
            bounded(out)
        })?;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok(())
}

fn bounded(out: &str) -> RunResult<bool> {
    if out.len() > MAX_MADE {
        return Err(bail_out("a long text"));
    }
    Ok(true)
}

/// The parts of texts between matches, so many at most; all of them if the number is not positive.
pub(super) fn split(
    pattern: Pattern,
    limit: i32,
    to: &ArrowType,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let name = format!("StringSplit[{} {limit}]", pattern.regex);
    let of = to.clone();
    let most = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    Kernel::strict(name, args, to.clone(), move |args, rows| {
        let text = nth(args, 0)?;
        let source = text.string()?;
        let mut found = StringViewBuilder::new();
        let mut lengths = Vec::with_capacity(rows);
        let mut valid = Vec::with_capacity(rows);
        for row in 0..rows {
            let at = text.at(row);
            valid.push(source.is_valid(at));
            let mut length = 0;
            if source.is_valid(at) {
                let source = source.value(at);
                let mut done = 0;
                if most != Some(1) {
                    pattern.all(source, |(start, end)| {
                        // Nothing comes before an empty match at the start.
                        if end > 0 {
                            found.append_value(source.get(done..start).unwrap_or_default());
                            length += 1;
                            done = end;
                        }
                        Ok(most.is_none_or(|most| length + 1 < most))
                    })?;
                }
                found.append_value(source.get(done..).unwrap_or_default());
                length += 1;
            }
            lengths.push(length);
        }
        let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
        lists(&of, lengths, Arc::new(found.finish()), nulls)
    })
}

#[cfg(test)]
#[path = "java_tests.rs"]
mod tests;
