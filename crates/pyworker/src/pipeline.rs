//! Simple functions of users, from a source of records to values merged by key, without an object of the interpreter for any of it.

use crate::expression::{Expression, Function, Odd};
use crate::merge::{EXHAUSTED, ODD, PAUSED};
use crate::text::Pieces;
use crate::value::{Key, Probe, Value};
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::borrow::Cow;

/// Bytes of text, and numbers, after which the interpreter gets its turn, for signals and other threads.
const TURN: usize = 1 << 20;
const NUMBERS: usize = 1 << 14;
/// Elements and bytes of merged values: some functions would make them larger with every record.
const MAX_WIDTH: usize = 16;
const MAX_TEXT: usize = 256;
/// `SpecialLengths.END_OF_DATA_SECTION` of `pyspark.serializers`.
const END_OF_DATA_SECTION: i32 = -1;

/// What is done to a record on its way.
#[derive(Debug)]
enum Step {
    Map(Expression),
    Filter(Expression),
    FlatMap(Expression),
}

/// What gives the pairs.
#[derive(Debug)]
enum Last {
    Pair(Expression, Expression),
    Any,
}

/// A pipeline of functions, and what it has merged.
#[pyclass(module = "firesteel_worker._native")]
#[derive(Debug)]
pub(crate) struct Pipeline {
    steps: Vec<Step>,
    last: Last,
    merged: Merged,
    /// What may be merged, in bytes as the interpreter needs them.
    allowed: usize,
}

#[derive(Debug)]
struct Merged {
    create: Expression,
    merge: Expression,
    adds: bool,
    /// In the order of their first records, as in a dictionary.
    values: IndexMap<Key, Value<'static>, RandomState>,
    size: usize,
    /// What the current record has changed, if it may be several pairs.
    undo: Option<Vec<(usize, Value<'static>)>>,
}

#[pymethods]
impl Pipeline {
    /// `steps` are pairs of `"map"`, `"filter"` or `"flatmap"` and an expression, `create` and `merge` those of a `pyspark.shuffle.Aggregator`, `allowed` is the
    /// memory (bytes) that the interpreter may need for what is merged.
    #[new]
    fn new(
        steps: &Bound<'_, PyList>,
        create: &Bound<'_, PyAny>,
        merge: &Bound<'_, PyAny>,
        allowed: usize,
    ) -> PyResult<Self> {
        let mut read = Vec::new();
        for step in steps {
            let step = step.cast::<PyTuple>()?;
            let expression = Expression::read(&step.get_item(1)?, 1)?;
            read.push(match step.get_item(0)?.extract::<String>()?.as_str() {
                "map" => Step::Map(expression),
                "filter" => Step::Filter(expression),
                "flatmap" => Step::FlatMap(expression),
                other => return Err(PyValueError::new_err(format!("unknown step {other}"))),
            });
        }
        let merge = Expression::read(merge, 2)?;
        let both = vec![Expression::Argument(0), Expression::Argument(1)];
        let many = read.iter().any(|step| matches!(step, Step::FlatMap(_)));
        let last = match read.pop() {
            Some(Step::Map(Expression::Tuple(pair))) => match <[_; 2]>::try_from(pair) {
                Ok([key, value]) => Last::Pair(key, value),
                Err(_) => return Err(PyValueError::new_err("no pairs")),
            },
            other => {
                read.extend(other);
                Last::Any
            }
        };
        Ok(Self {
            steps: read,
            last,
            merged: Merged {
                create: Expression::read(create, 1)?,
                adds: merge == Expression::Call(Function::Add, both),
                merge,
                values: IndexMap::default(),
                size: 0,
                undo: many.then(Vec::new),
            },
            allowed,
        })
    }

    /// Merges some of the texts that `pyspark.serializers.UTF8Deserializer` would read from a stream.
    ///
    /// Returns a state (`PAUSED`, `EXHAUSTED`, `ODD`), and what was read of a text that is left to the interpreter, as it was in the stream.
    fn texts<'py>(
        &mut self,
        stream: &Bound<'py, PyAny>,
    ) -> PyResult<(u8, Option<Bound<'py, PyBytes>>)> {
        let py = stream.py();
        let mut rest = TURN;
        while rest > 0 {
            if self.merged.size > self.allowed {
                return Ok((ODD, None));
            }
            // What is there already, without taking it.
            let there = stream.call_method1("peek", (1,))?;
            let there = there.cast::<PyBytes>()?;
            let (taken, state) = self.texts_of(py, there.as_bytes());
            if taken > 0 {
                stream.call_method1("read", (taken,))?;
            }
            rest = rest.saturating_sub(taken);
            if state != PAUSED {
                return Ok((state, None));
            }
            if taken > 0 {
                continue;
            }
            // A text whose end is not there yet.
            let head = stream.call_method1("read", (4,))?.cast_into::<PyBytes>()?;
            let Ok(len) = head.as_bytes().try_into().map(i32::from_be_bytes) else {
                return Ok((ODD, Some(head)));
            };
            if len == END_OF_DATA_SECTION {
                return Ok((EXHAUSTED, None));
            }
            let Ok(len) = usize::try_from(len) else {
                return Ok((ODD, Some(head)));
            };
            let text = stream
                .call_method1("read", (len,))?
                .cast_into::<PyBytes>()?;
            let taken = match text.as_bytes().len() == len {
                true => self.text(py, text.as_bytes()),
                false => Err(Odd),
            };
            if taken.is_err() {
                let whole = [head.as_bytes(), text.as_bytes()].concat();
                return Ok((ODD, Some(PyBytes::new(py, &whole))));
            }
            rest = rest.saturating_sub(len);
        }
        Ok((PAUSED, None))
    }

    /// Merges some of the numbers of a range that begins with `first` and has `count` of them.
    ///
    /// Returns a state and how many were merged.
    fn numbers(
        &mut self,
        py: Python<'_>,
        first: i64,
        step: i64,
        count: usize,
    ) -> PyResult<(u8, usize)> {
        let mut number = first;
        for merged in 0..count.min(NUMBERS) {
            if self.merged.size > self.allowed || self.record(py, Value::Int(number)).is_err() {
                return Ok((ODD, merged));
            }
            // The last one need not have a successor.
            number = number.wrapping_add(step);
        }
        match count <= NUMBERS {
            true => Ok((EXHAUSTED, count)),
            false => Ok((PAUSED, NUMBERS)),
        }
    }

    /// Moves what was merged into a dictionary.
    fn drain(&mut self, data: &Bound<'_, PyDict>) -> PyResult<()> {
        let py = data.py();
        for (key, value) in std::mem::take(&mut self.merged.values) {
            data.set_item(key.write(py)?, value.write(py)?)?;
        }
        Ok(())
    }
}

impl Pipeline {
    /// Merges the texts that are whole, and says how many bytes they were.
    fn texts_of(&mut self, py: Python<'_>, there: &[u8]) -> (usize, u8) {
        let mut rest = there;
        loop {
            let taken = there.len() - rest.len();
            let Some((len, behind)) = rest.split_first_chunk::<4>() else {
                // At the end of the stream the interpreter says what that means.
                return (taken, if there.is_empty() { ODD } else { PAUSED });
            };
            let len = i32::from_be_bytes(*len);
            if len == END_OF_DATA_SECTION {
                return (taken + 4, EXHAUSTED);
            }
            let Ok(len) = usize::try_from(len) else {
                return (taken, ODD);
            };
            let Some((text, behind)) = behind.split_at_checked(len) else {
                return (taken, PAUSED);
            };
            if self.text(py, text).is_err() {
                return (taken, ODD);
            }
            rest = behind;
        }
    }

    fn text(&mut self, py: Python<'_>, text: &[u8]) -> Result<(), Odd> {
        let text = std::str::from_utf8(text).map_err(|_| Odd)?;
        self.record(py, Value::Str(Cow::Borrowed(text)))
    }

    /// Merges a record, or changes nothing.
    fn record(&mut self, py: Python<'_>, record: Value<'_>) -> Result<(), Odd> {
        if self.merged.undo.is_none() {
            return feed(py, &self.steps, &self.last, &mut self.merged, record);
        }
        let before = (self.merged.values.len(), self.merged.size);
        let done = feed(py, &self.steps, &self.last, &mut self.merged, record);
        self.merged.end_record(before, done.is_ok());
        done
    }
}

fn feed<'v>(
    py: Python<'_>,
    steps: &'v [Step],
    last: &'v Last,
    merged: &mut Merged,
    value: Value<'v>,
) -> Result<(), Odd> {
    let Some((step, rest)) = steps.split_first() else {
        return match (last, value) {
            (Last::Pair(key, of), value) => {
                let value = [value];
                merged.merge(py, key.value(py, &value)?, of.value(py, &value)?)
            }
            (Last::Any, Value::Tuple(pair)) => match <[_; 2]>::try_from(pair) {
                Ok([key, value]) => merged.merge(py, key, value),
                Err(_) => Err(Odd),
            },
            _ => Err(Odd),
        };
    };
    let value = [value];
    match step {
        Step::Map(function) => feed(py, rest, last, merged, function.value(py, &value)?),
        Step::Filter(function) => {
            let keep = function.value(py, &value)?.is_true();
            let [value] = value;
            match keep {
                true => feed(py, rest, last, merged, value),
                false => Ok(()),
            }
        }
        // Without a list of the pieces.
        Step::FlatMap(Expression::Call(Function::Split, inner)) => {
            let (text, separator) = inner.split_first().ok_or(Odd)?;
            let Value::Str(text) = text.value(py, &value)? else {
                return Err(Odd);
            };
            let separator = separator.iter().map(|one| one.value(py, &value));
            let separator = separator.collect::<Result<Vec<_>, _>>()?;
            for piece in Pieces::new(&text, &separator)? {
                feed(py, rest, last, merged, Value::Str(Cow::Borrowed(piece)))?;
            }
            Ok(())
        }
        Step::FlatMap(function) => match function.value(py, &value)? {
            Value::List(values) | Value::Tuple(values) => values
                .into_iter()
                .try_for_each(|value| feed(py, rest, last, merged, value)),
            _ => Err(Odd),
        },
    }
}

impl Merged {
    /// Merges a pair, or changes nothing.
    fn merge(&mut self, py: Python<'_>, key: Value<'_>, value: Value<'_>) -> Result<(), Odd> {
        let found = self.values.get_index_of(&Probe::new(&key)?);
        let Some((index, (_, old))) =
            found.and_then(|index| Some((index, self.values.get_index_mut(index)?)))
        else {
            let value = self.create.value(py, &[value])?;
            is_small(&value)?;
            let key = Key::new(key)?;
            self.size += key.size_in_python() + value.size_in_python();
            self.values.insert(key, value.into_owned());
            return Ok(());
        };
        let new = match (self.adds, &*old, &value) {
            (true, Value::Int(old), Value::Int(new)) => {
                Value::Int(old.checked_add(*new).ok_or(Odd)?)
            }
            _ => {
                let new = self.merge.value(py, &[old.borrowed(), value])?;
                is_small(&new)?;
                new.into_owned()
            }
        };
        let old = std::mem::replace(old, new);
        if let Some(undo) = &mut self.undo {
            undo.push((index, old));
        }
        Ok(())
    }

    /// Forgets what would undo a record, or undoes it; `before` it there were so many values of that size.
    fn end_record(&mut self, before: (usize, usize), done: bool) {
        let Some(undo) = &mut self.undo else { return };
        if done {
            undo.clear();
            return;
        }
        for (index, old) in undo.drain(..).rev() {
            if let Some((_, value)) = self.values.get_index_mut(index) {
                *value = old;
            }
        }
        let (len, size) = before;
        self.values.truncate(len);
        self.size = size;
    }
}

/// Values that functions can make larger with every record are the interpreter's.
fn is_small(value: &Value<'_>) -> Result<(), Odd> {
    fn is_single(value: &Value<'_>) -> bool {
        match value {
            Value::Str(text) => text.len() <= MAX_TEXT,
            Value::List(_) | Value::Tuple(_) => false,
            _ => true,
        }
    }
    let small = match value {
        Value::Tuple(values) => values.len() <= MAX_WIDTH && values.iter().all(is_single),
        value => is_single(value),
    };
    small.then_some(()).ok_or(Odd)
}
