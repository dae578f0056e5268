//! Simple functions of users, from a source of records to values merged by key, without an object of the interpreter
//! for any of it.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use pyfunc::{Expression, LeftToPython, Operation, Pieces, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::cpython::{CPython, write_key, write_value};
use crate::key::{Key, Probe, size_in_python};
use crate::merge::{EXHAUSTED, LEFT_TO_PYTHON, PAUSED};

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
    /// `steps` are pairs of `"map"`, `"filter"` or `"flatmap"` and an encoded expression, `create` and `merge` those of
    /// a `pyspark.shuffle.Aggregator`, `allowed` is the memory (bytes) that the interpreter may need for what is
    /// merged.
    ///
    /// Raises `TypeError` if the last step gives tuples that are no pairs.
    #[new]
    fn new(
        steps: Vec<(String, String)>,
        create: &str,
        merge: &str,
        allowed: usize,
    ) -> PyResult<Self> {
        let decode = |encoded: &str, arguments| {
            Expression::decode(encoded, arguments)
                .map_err(|error| PyValueError::new_err(error.to_string()))
        };
        let mut read = Vec::new();
        for (kind, encoded) in steps {
            let expression = decode(&encoded, 1)?;
            read.push(match kind.as_str() {
                "map" => Step::Map(expression),
                "filter" => Step::Filter(expression),
                "flatmap" => Step::FlatMap(expression),
                other => return Err(PyValueError::new_err(format!("unknown step {other}"))),
            });
        }
        let merge = decode(merge, 2)?;
        let both = vec![Expression::Argument(0), Expression::Argument(1)];
        let many = read.iter().any(|step| matches!(step, Step::FlatMap(_)));
        let last = match read.pop() {
            Some(Step::Map(Expression::Tuple(pair))) => match <[_; 2]>::try_from(pair) {
                Ok([key, value]) => Last::Pair(key, value),
                Err(_) => return Err(PyTypeError::new_err("no pairs")),
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
                create: decode(create, 1)?,
                adds: merge == Expression::Call(Operation::Add, both),
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
    /// Returns a state (`PAUSED`, `EXHAUSTED`, `LEFT_TO_PYTHON`), and what was read of a text that is left to the
    /// interpreter, as it was in the stream.
    fn texts<'py>(
        &mut self,
        stream: &Bound<'py, PyAny>,
    ) -> PyResult<(u8, Option<Bound<'py, PyBytes>>)> {
        let py = stream.py();
        let mut rest = TURN;
        while rest > 0 {
            if self.merged.size > self.allowed {
                return Ok((LEFT_TO_PYTHON, None));
            }
            // What is there already, without taking it.
            let there = stream.call_method1("peek", (1,))?;
            let there = there.cast::<PyBytes>()?;
            let (taken, state) = self.texts_of(CPython(py), there.as_bytes());
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
                return Ok((LEFT_TO_PYTHON, Some(head)));
            };
            if len == END_OF_DATA_SECTION {
                return Ok((EXHAUSTED, None));
            }
            let Ok(len) = usize::try_from(len) else {
                return Ok((LEFT_TO_PYTHON, Some(head)));
            };
            let text = stream
                .call_method1("read", (len,))?
                .cast_into::<PyBytes>()?;
            let taken = match text.as_bytes().len() == len {
                true => self.text(CPython(py), text.as_bytes()),
                false => Err(LeftToPython),
            };
            if taken.is_err() {
                let whole = [head.as_bytes(), text.as_bytes()].concat();
                return Ok((LEFT_TO_PYTHON, Some(PyBytes::new(py, &whole))));
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
            if self.merged.size > self.allowed
                || self.record(CPython(py), Value::Int(number)).is_err()
            {
                return Ok((LEFT_TO_PYTHON, merged));
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
            data.set_item(write_key(&key, py)?, write_value(&value, py)?)?;
        }
        Ok(())
    }
}

impl Pipeline {
    /// Merges the texts that are whole, and says how many bytes they were.
    fn texts_of(&mut self, python: CPython<'_>, there: &[u8]) -> (usize, u8) {
        let mut rest = there;
        loop {
            let taken = there.len() - rest.len();
            let Some((len, behind)) = rest.split_first_chunk::<4>() else {
                // At the end of the stream the interpreter says what that means.
                return (
                    taken,
                    if there.is_empty() {
                        LEFT_TO_PYTHON
                    } else {
                        PAUSED
                    },
                );
            };
            let len = i32::from_be_bytes(*len);
            if len == END_OF_DATA_SECTION {
                return (taken + 4, EXHAUSTED);
            }
            let Ok(len) = usize::try_from(len) else {
                return (taken, LEFT_TO_PYTHON);
            };
            let Some((text, behind)) = behind.split_at_checked(len) else {
                return (taken, PAUSED);
            };
            if self.text(python, text).is_err() {
                return (taken, LEFT_TO_PYTHON);
            }
            rest = behind;
        }
    }

    fn text(&mut self, python: CPython<'_>, text: &[u8]) -> Result<(), LeftToPython> {
        let text = std::str::from_utf8(text).map_err(|_| LeftToPython)?;
        self.record(python, Value::Str(Cow::Borrowed(text)))
    }

    /// Merges a record, or changes nothing.
    fn record(&mut self, python: CPython<'_>, record: Value<'_>) -> Result<(), LeftToPython> {
        if self.merged.undo.is_none() {
            return feed(python, &self.steps, &self.last, &mut self.merged, record);
        }
        let before = (self.merged.values.len(), self.merged.size);
        let done = feed(python, &self.steps, &self.last, &mut self.merged, record);
        self.merged.end_record(before, done.is_ok());
        done
    }
}

fn feed<'v>(
    python: CPython<'_>,
    steps: &'v [Step],
    last: &'v Last,
    merged: &mut Merged,
    value: Value<'v>,
) -> Result<(), LeftToPython> {
    let Some((step, rest)) = steps.split_first() else {
        return match (last, value) {
            (Last::Pair(key, of), value) => {
                let value = [value];
                merged.merge(
                    python,
                    key.value(&python, &value)?,
                    of.value(&python, &value)?,
                )
            }
            (Last::Any, Value::Tuple(pair)) => match <[_; 2]>::try_from(pair) {
                Ok([key, value]) => merged.merge(python, key, value),
                Err(_) => Err(LeftToPython),
            },
            _ => Err(LeftToPython),
        };
    };
    let value = [value];
    match step {
        Step::Map(function) => feed(python, rest, last, merged, function.value(&python, &value)?),
        Step::Filter(function) => {
            let keep = function.value(&python, &value)?.is_true();
            let [value] = value;
            match keep {
                true => feed(python, rest, last, merged, value),
                false => Ok(()),
            }
        }
        // Without a list of the pieces.
        Step::FlatMap(Expression::Call(Operation::Split, inner)) if inner.len() < 3 => {
            let (text, separator) = inner.split_first().ok_or(LeftToPython)?;
            let Value::Str(text) = text.value(&python, &value)? else {
                return Err(LeftToPython);
            };
            let separator = separator.iter().map(|one| one.value(&python, &value));
            let separator = separator.collect::<Result<Vec<_>, _>>()?;
            for piece in Pieces::new(&text, &separator)? {
                feed(python, rest, last, merged, Value::Str(Cow::Borrowed(piece)))?;
            }
            Ok(())
        }
        Step::FlatMap(function) => match function.value(&python, &value)? {
            Value::List(values) | Value::Tuple(values) => values
                .into_iter()
                .try_for_each(|value| feed(python, rest, last, merged, value)),
            _ => Err(LeftToPython),
        },
    }
}

impl Merged {
    /// Merges a pair, or changes nothing.
    fn merge(
        &mut self,
        python: CPython<'_>,
        key: Value<'_>,
        value: Value<'_>,
    ) -> Result<(), LeftToPython> {
        let found = self.values.get_index_of(&Probe::new(&key)?);
        let Some((index, (_, old))) =
            found.and_then(|index| Some((index, self.values.get_index_mut(index)?)))
        else {
            let value = self.create.value(&python, &[value])?;
            is_small(&value)?;
            let key = Key::new(key)?;
            self.size += key.size_in_python() + size_in_python(&value);
            self.values.insert(key, value.into_owned());
            return Ok(());
        };
        let new = match (self.adds, &*old, &value) {
            (true, Value::Int(old), Value::Int(new)) => {
                Value::Int(old.checked_add(*new).ok_or(LeftToPython)?)
            }
            _ => {
                let new = self.merge.value(&python, &[old.borrowed(), value])?;
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
fn is_small(value: &Value<'_>) -> Result<(), LeftToPython> {
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
    small.then_some(()).ok_or(LeftToPython)
}
