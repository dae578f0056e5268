//! Elements and parts of texts, lists and tuples, and what is put together of them.

use std::borrow::Cow;

use crate::evaluate::{Held, LeftToPython};
use crate::text::MAX_TEXT;
use crate::value::Value;

/// Bytes of the elements of a list that is repeated.
const MAX_REPEATED: usize = 1 << 20;

/// `of[at]`; a list or tuple must have `len` elements if that is given, and a text none then.
pub(crate) fn element<'v>(
    of: Held<'_, 'v>,
    at: i64,
    len: Option<usize>,
) -> Result<Value<'v>, LeftToPython> {
    let Some(values) = of.elements() else {
        return match len {
            None => character(&of, at),
            Some(_) => Err(LeftToPython),
        };
    };
    if len.is_some_and(|len| len != values.len()) {
        return Err(LeftToPython);
    }
    let at = if at < 0 { at + values.len() as i64 } else { at };
    let at = usize::try_from(at).ok().filter(|at| *at < values.len());
    let at = at.ok_or(LeftToPython)?;
    match of {
        Held::New(Value::List(mut values) | Value::Tuple(mut values)) => Ok(values.swap_remove(at)),
        of => {
            let found = of.elements().and_then(|values| values.get(at));
            found.cloned().ok_or(LeftToPython)
        }
    }
}

fn character<'v>(text: &Held<'_, 'v>, at: i64) -> Result<Value<'v>, LeftToPython> {
    let stop = match at {
        -1 => None,
        at => Some(at.checked_add(1).ok_or(LeftToPython)?),
    };
    let found = text.part(|text| slice_of(text, Some(at), stop))?;
    found.is_true().then_some(found).ok_or(LeftToPython)
}

/// The edges of a slice of so many elements, as Python finds them.
fn edges(len: usize, start: Option<i64>, stop: Option<i64>) -> (usize, usize) {
    let len = len as i64;
    let edge = |at: i64| (if at < 0 { at.saturating_add(len) } else { at }).clamp(0, len);
    let start = start.map_or(0, edge);
    let stop = stop.map_or(len, edge).max(start);
    (start as usize, stop as usize)
}

/// `of[start:stop]`
pub(crate) fn slice<'v>(
    of: Held<'_, 'v>,
    start: Option<i64>,
    stop: Option<i64>,
) -> Result<Value<'v>, LeftToPython> {
    let elements = |values: &[Value<'v>]| {
        let (start, stop) = edges(values.len(), start, stop);
        values.get(start..stop).unwrap_or_default().to_vec()
    };
    match &*of {
        Value::List(values) => Ok(Value::List(elements(values))),
        Value::Tuple(values) => Ok(Value::Tuple(elements(values))),
        _ => of.part(|text| slice_of(text, start, stop)),
    }
}

/// A part of a text by numbers of characters.
fn slice_of(text: &str, start: Option<i64>, stop: Option<i64>) -> &str {
    if text.is_ascii() {
        let (start, stop) = edges(text.len(), start, stop);
        return text.get(start..stop).unwrap_or_default();
    }
    let (start, stop) = edges(text.chars().count(), start, stop);
    let place = |at| {
        text.char_indices()
            .nth(at)
            .map_or(text.len(), |(place, _)| place)
    };
    text.get(place(start)..place(stop)).unwrap_or_default()
}

/// `of[start:stop:step]`, of which each may be `None`.
pub(crate) fn slice_between<'v>(
    of: Held<'_, 'v>,
    edges: [&Value<'_>; 3],
) -> Result<Value<'v>, LeftToPython> {
    let edge = |value: &Value<'_>| match value {
        Value::None => Ok(None),
        value => value.as_int().map(Some).ok_or(LeftToPython),
    };
    let [start, stop, step] = edges;
    let (start, stop, step) = (edge(start)?, edge(stop)?, edge(step)?.unwrap_or(1));
    if step == 1 {
        return slice(of, start, stop);
    }
    match &*of {
        Value::List(values) => stepped(values, start, stop, step).map(Value::List),
        Value::Tuple(values) => stepped(values, start, stop, step).map(Value::Tuple),
        Value::Str(text) => {
            let chars: Vec<char> = text.chars().collect();
            let found = stepped(&chars, start, stop, step)?;
            Ok(Value::Str(Cow::Owned(found.into_iter().collect())))
        }
        _ => Err(LeftToPython),
    }
}

/// The elements of a slice with a step, as `PySlice_AdjustIndices` finds them.
fn stepped<T: Clone>(
    values: &[T],
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
) -> Result<Vec<T>, LeftToPython> {
    if step == 0 {
        return Err(LeftToPython);
    }
    let len = values.len() as i64;
    // Backwards, the place before the first element is an edge, too.
    let (lowest, highest) = if step < 0 { (-1, len - 1) } else { (0, len) };
    let edge = |at: i64| (if at < 0 { at.saturating_add(len) } else { at }).clamp(lowest, highest);
    let (first, last) = if step < 0 {
        (highest, lowest)
    } else {
        (lowest, highest)
    };
    let (mut at, stop) = (start.map_or(first, edge), stop.map_or(last, edge));
    let mut found = Vec::new();
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        let value = usize::try_from(at).ok().and_then(|at| values.get(at));
        found.push(value.ok_or(LeftToPython)?.clone());
        at = at.saturating_add(step);
    }
    Ok(found)
}

/// `one + two` of sequences.
pub(crate) fn concatenated<'v>(
    one: Held<'_, 'v>,
    two: Held<'_, 'v>,
) -> Result<Value<'v>, LeftToPython> {
    if let (Some(text), Some(other)) = (one.as_str(), two.as_str()) {
        let len = text.len() + other.len();
        if len > MAX_TEXT {
            return Err(LeftToPython);
        }
        return Ok(Value::Str(Cow::Owned(match one {
            Held::New(Value::Str(Cow::Owned(mut text))) => {
                text.push_str(other);
                text
            }
            one => {
                let mut made = String::with_capacity(len);
                made.push_str(one.as_str().unwrap_or_default());
                made.push_str(other);
                made
            }
        })));
    }
    match (one.into_value(), two.into_value()) {
        (Value::List(mut one), Value::List(two)) => {
            one.extend(two);
            Ok(Value::List(one))
        }
        (Value::Tuple(mut one), Value::Tuple(two)) => {
            one.extend(two);
            Ok(Value::Tuple(one))
        }
        _ => Err(LeftToPython),
    }
}

/// `one * two` of a sequence and an integer, in whatever order.
pub(crate) fn repeated<'v>(one: &Value<'v>, two: &Value<'v>) -> Result<Value<'v>, LeftToPython> {
    let (of, count) = match two.as_int() {
        Some(count) => (one, count),
        None => (two, one.as_int().ok_or(LeftToPython)?),
    };
    let count = usize::try_from(count).unwrap_or(0);
    let limited = |size: usize, most| {
        let fits = size.checked_mul(count).is_some_and(|size| size <= most);
        fits.then_some(()).ok_or(LeftToPython)
    };
    let all = |values: &[Value<'v>]| -> Result<Vec<Value<'v>>, LeftToPython> {
        limited(of.size(), MAX_REPEATED)?;
        Ok(std::iter::repeat_n(values, count)
            .flatten()
            .cloned()
            .collect())
    };
    match of {
        Value::Str(text) => {
            limited(text.len(), MAX_TEXT)?;
            Ok(Value::Str(Cow::Owned(text.repeat(count))))
        }
        Value::List(values) => all(values).map(Value::List),
        Value::Tuple(values) => all(values).map(Value::Tuple),
        _ => Err(LeftToPython),
    }
}

/// `sum(values)` of integers: that of floats is not the same in all versions.
pub(crate) fn sum(values: &[Value<'_>]) -> Option<i64> {
    values
        .iter()
        .try_fold(0i64, |sum, value| sum.checked_add(value.as_int()?))
}
