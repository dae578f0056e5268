//! Methods of texts.

use std::borrow::Cow;

use crate::cases::case;
use crate::evaluate::{Held, LeftToPython};
use crate::interpreter::Interpreter;
use crate::operation::Operation;
use crate::text::{MAX_TEXT, is_space, split, split_lines, split_most, split_most_from_end};
use crate::value::Value;

/// The value of `receiver.method(*arguments)`.
pub(crate) fn method<'v>(
    python: &dyn Interpreter,
    operation: Operation,
    receiver: &Held<'_, 'v>,
    arguments: &[&Value<'v>],
) -> Result<Value<'v>, LeftToPython> {
    use Operation::{
        AlignLeft, AlignRight, Center, Count, EndsWith, FillWithZeros, Find, FindFromEnd, Index,
        IndexFromEnd, Join, Partition, PartitionFromEnd, RemovePrefix, RemoveSuffix, Replace,
        Split, SplitFromEnd, SplitLines, StartsWith, Strip, StripEnd, StripStart,
    };
    let text = receiver.as_str().ok_or(LeftToPython)?;
    match (operation, arguments) {
        (Strip | StripStart | StripEnd, [] | [Value::None]) => {
            stripped(operation, receiver, is_space)
        }
        (Strip | StripStart | StripEnd, [Value::Str(chars)]) => {
            stripped(operation, receiver, |one| chars.contains(one))
        }
        (RemovePrefix, [Value::Str(prefix)]) => {
            receiver.part(|text| text.strip_prefix(&**prefix).unwrap_or(text))
        }
        (RemoveSuffix, [Value::Str(suffix)]) => {
            receiver.part(|text| text.strip_suffix(&**suffix).unwrap_or(text))
        }
        (Split | SplitFromEnd, []) => split(receiver, &Value::None).map(Value::List),
        (Split, [separator]) => split(receiver, separator).map(Value::List),
        (Split, [separator, most]) => {
            let most = most.as_int().ok_or(LeftToPython)?;
            split_most(receiver, separator, most).map(Value::List)
        }
        (SplitFromEnd, [separator, rest @ ..]) => {
            let most = rest.first().map_or(Some(-1), |most| most.as_int());
            let most = most.ok_or(LeftToPython)?;
            split_most_from_end(receiver, separator, most).map(Value::List)
        }
        (SplitLines, []) => split_lines(receiver).map(Value::List),
        (Partition | PartitionFromEnd, [Value::Str(separator)]) => {
            partitioned(operation, receiver, separator)
        }
        (StartsWith | EndsWith, [wanted]) => has(operation, text, wanted).map(Value::Bool),
        (Find | FindFromEnd, [Value::Str(wanted)]) => {
            Ok(Value::Int(place(operation, text, wanted).unwrap_or(-1)))
        }
        (Index | IndexFromEnd, [Value::Str(wanted)]) => place(operation, text, wanted)
            .map(Value::Int)
            .ok_or(LeftToPython),
        (Count, [Value::Str(wanted)]) => Ok(Value::Int(match wanted.is_empty() {
            true => text.chars().count() as i64 + 1,
            false => text.matches(&**wanted).count() as i64,
        })),
        (Join, [pieces]) => joined(text, pieces).map(|text| Value::Str(Cow::Owned(text))),
        (Replace, [Value::Str(from), Value::Str(to), most @ ..]) => {
            let most = most.first().map_or(Some(-1), |most| most.as_int());
            replaced(text, from, to, most.ok_or(LeftToPython)?)
        }
        (FillWithZeros, [width]) => padding(text, width, '0').map(|zeros| match zeros {
            0 => receiver.part(|text| text),
            zeros => Ok(Value::Str(Cow::Owned(filled_with_zeros(text, zeros)))),
        })?,
        (AlignLeft | AlignRight | Center, [width, fill @ ..]) => {
            aligned(operation, receiver, width, fill)
        }
        (_, []) => case(python, operation, text),
        _ => Err(LeftToPython),
    }
}

fn stripped<'v>(
    operation: Operation,
    receiver: &Held<'_, 'v>,
    one_of: impl Fn(char) -> bool,
) -> Result<Value<'v>, LeftToPython> {
    receiver.part(|text| match operation {
        Operation::StripStart => text.trim_start_matches(&one_of),
        Operation::StripEnd => text.trim_end_matches(&one_of),
        _ => text.trim_matches(&one_of),
    })
}

/// `text.startswith(wanted)` or `text.endswith(wanted)`
fn has(operation: Operation, text: &str, wanted: &Value<'_>) -> Result<bool, LeftToPython> {
    match wanted {
        Value::Str(wanted) => Ok(match operation {
            Operation::StartsWith => text.starts_with(&**wanted),
            _ => text.ends_with(&**wanted),
        }),
        Value::Tuple(all) => {
            for one in all {
                // No tuples within tuples.
                one.as_str().ok_or(LeftToPython)?;
                if has(operation, text, one)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(LeftToPython),
    }
}

/// The first or last place of a part, in characters.
fn place(operation: Operation, text: &str, wanted: &str) -> Option<i64> {
    let at = match operation {
        Operation::Find | Operation::Index => text.find(wanted),
        _ => text.rfind(wanted),
    };
    Some(text.get(..at?)?.chars().count() as i64)
}

fn partitioned<'v>(
    operation: Operation,
    receiver: &Held<'_, 'v>,
    separator: &str,
) -> Result<Value<'v>, LeftToPython> {
    if separator.is_empty() {
        return Err(LeftToPython);
    }
    let parts = receiver.parts(|text, found| {
        let at = match operation {
            Operation::Partition => text.find(separator),
            _ => text.rfind(separator),
        };
        let (before, rest) = match (at, operation) {
            (Some(at), _) => text.split_at_checked(at),
            (None, Operation::Partition) => Some((text, "")),
            (None, _) => Some(("", "")),
        }
        .ok_or(LeftToPython)?;
        let end = if at.is_some() { separator.len() } else { 0 };
        let (between, behind) = rest.split_at_checked(end).ok_or(LeftToPython)?;
        let behind = match (at, operation) {
            (None, Operation::PartitionFromEnd) => text,
            _ => behind,
        };
        [before, between, behind].into_iter().for_each(found);
        Ok(())
    })?;
    Ok(Value::Tuple(parts))
}

fn joined(between: &str, pieces: &Value<'_>) -> Result<String, LeftToPython> {
    let mut made = String::new();
    let mut is_first = true;
    let mut add = |piece: &str| {
        if !std::mem::take(&mut is_first) {
            made.push_str(between);
        }
        made.push_str(piece);
        (made.len() <= MAX_TEXT).then_some(()).ok_or(LeftToPython)
    };
    match pieces {
        Value::Str(text) => {
            let mut buffer = [0; 4];
            for one in text.chars() {
                add(one.encode_utf8(&mut buffer))?;
            }
        }
        pieces => {
            for piece in pieces.elements().ok_or(LeftToPython)? {
                add(piece.as_str().ok_or(LeftToPython)?)?;
            }
        }
    }
    Ok(made)
}

/// With all found parts replaced if `most` is negative.
fn replaced<'v>(text: &str, from: &str, to: &str, most: i64) -> Result<Value<'v>, LeftToPython> {
    // Replacements in replacements could make any text that there is memory for.
    let places = text.len().checked_div(from.len()).ok_or(LeftToPython)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX).min(places);
    if most.saturating_mul(to.len()) > MAX_TEXT {
        return Err(LeftToPython);
    }
    Ok(Value::Str(Cow::Owned(text.replacen(from, to, most))))
}

/// Characters that are missing to a width.
fn padding(text: &str, width: &Value<'_>, fill: char) -> Result<usize, LeftToPython> {
    let width = usize::try_from(width.as_int().ok_or(LeftToPython)?).unwrap_or(0);
    let missing = width.saturating_sub(text.chars().count());
    let fits = missing
        .checked_mul(fill.len_utf8())
        .is_some_and(|len| len <= MAX_TEXT);
    fits.then_some(missing).ok_or(LeftToPython)
}

fn filled_with_zeros(text: &str, zeros: usize) -> String {
    let sign = text.chars().next().filter(|one| matches!(one, '+' | '-'));
    let mut made = String::with_capacity(text.len() + zeros);
    made.extend(sign);
    made.extend(std::iter::repeat_n('0', zeros));
    made.push_str(text.get(usize::from(sign.is_some())..).unwrap_or_default());
    made
}

fn aligned<'v>(
    operation: Operation,
    receiver: &Held<'_, 'v>,
    width: &Value<'_>,
    fill: &[&Value<'_>],
) -> Result<Value<'v>, LeftToPython> {
    let text = receiver.as_str().ok_or(LeftToPython)?;
    let fill = fill.first().map_or(Some(" "), |fill| fill.as_str());
    let mut chars = fill.ok_or(LeftToPython)?.chars();
    let (Some(fill), None) = (chars.next(), chars.next()) else {
        return Err(LeftToPython);
    };
    let missing = padding(text, width, fill)?;
    let before = match operation {
        _ if missing == 0 => return receiver.part(|text| text),
        Operation::AlignLeft => 0,
        Operation::AlignRight => missing,
        // As CPython does: the odd one is in front only if the width is odd, too.
        _ => missing / 2 + (missing & (missing + text.chars().count()) & 1),
    };
    let mut made = String::with_capacity(text.len() + missing * fill.len_utf8());
    made.extend(std::iter::repeat_n(fill, before));
    made.push_str(text);
    made.extend(std::iter::repeat_n(fill, missing - before));
    Ok(Value::Str(Cow::Owned(made)))
}
