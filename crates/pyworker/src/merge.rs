//! The loops of `pyspark.shuffle.ExternalMerger`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

/// The count has been reached, or the interpreter should have a look at what else there is to do.
pub(crate) const PAUSED: u8 = 0;
/// The iterator has ended.
pub(crate) const EXHAUSTED: u8 = 1;
/// The third element of the answer is an element that was taken from the iterator and not merged: no pair, or its key
/// cannot be looked up.
pub(crate) const LEFT_TO_PYTHON: u8 = 2;

/// Elements after which the interpreter gets its turn, for signals and other threads.
const TURN: usize = 8192;

/// Where an exception was raised, for the Python side to show it where the loop it stands for would have.
#[derive(Clone, Copy)]
enum Place {
    Iterator = 0,
    Merge = 1,
    Create = 2,
    Store = 3,
    Size = 4,
}

/// Merges pairs of `iterator` into `data`: `data[k] = merge(data[k], v) if k in data else create(v)`, where without a
/// `create` the value is taken as it is. `count` grows by one for each pair, by `size(v)` with a `size`, and not at all
/// if `size` is false; when it reaches `until`, this pauses.
///
/// Returns the state (`PAUSED`, `EXHAUSTED`, `LEFT_TO_PYTHON`), the count and the element that is left. `place[0]` says
/// where an exception came from.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // A loop's variables.
pub(crate) fn merge<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyDict>,
    iterator: &Bound<'py, PyAny>,
    create: Option<&Bound<'py, PyAny>>,
    merge: &Bound<'py, PyAny>,
    mut count: i64,
    until: f64,
    size: &Bound<'py, PyAny>,
    place: &Bound<'py, PyList>,
) -> PyResult<(u8, i64, Option<Bound<'py, PyAny>>)> {
    let at = |failed: Place| {
        // The list is the caller's own, of one element.
        let _ = place.set_item(0, failed as u8);
    };
    let adds = merge.is(add(py)?);
    let counting = match size.is_none() {
        true => Counting::Pairs,
        false if size.is_callable() => Counting::Sizes,
        false => Counting::Nothing,
    };
    let mut pairs = iterator.cast::<PyIterator>()?.clone();
    for _ in 0..TURN {
        let item = match pairs.next() {
            None => return Ok((EXHAUSTED, count, None)),
            Some(Ok(item)) => item,
            Some(Err(error)) => {
                at(Place::Iterator);
                return Err(error);
            }
        };
        let Some((key, value)) = pair(&item) else {
            return Ok((LEFT_TO_PYTHON, count, Some(item)));
        };
        let merged = match data.get_item(&key) {
            // The loop that this stands for meets the same, and says so in its own words.
            Err(_) => return Ok((LEFT_TO_PYTHON, count, Some(item))),
            Ok(Some(old)) => {
                let merged = match adds {
                    true => old.add(&value),
                    false => merge.call1((old, &value)),
                };
                merged.inspect_err(|_| at(Place::Merge))?
            }
            Ok(None) => match create {
                Some(create) => create.call1((&value,)).inspect_err(|_| at(Place::Create))?,
                None => value.clone(),
            },
        };
        data.set_item(key, merged)
            .inspect_err(|_| at(Place::Store))?;
        match counting {
            Counting::Nothing => continue,
            Counting::Pairs => count += 1,
            Counting::Sizes => {
                let size = size.call1((value,)).and_then(|size| size.extract::<i64>());
                count = count.saturating_add(size.inspect_err(|_| at(Place::Size))?);
            }
        }
        // Exact far beyond any count of elements.
        if count as f64 >= until {
            break;
        }
    }
    Ok((PAUSED, count, None))
}

/// What the count counts.
#[derive(Clone, Copy)]
enum Counting {
    Pairs,
    Sizes,
    Nothing,
}

/// Key and value of a tuple of two; everything else that can be unpacked is left to the interpreter.
fn pair<'py>(item: &Bound<'py, PyAny>) -> Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let tuple = item.cast_exact::<PyTuple>().ok()?;
    if tuple.len() != 2 {
        return None;
    }
    Some((tuple.get_item(0).ok()?, tuple.get_item(1).ok()?))
}

/// `operator.add`, which is most often what merges.
fn add(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ADD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let add = ADD.get_or_try_init(py, || {
        let operator = py.import(intern!(py, "operator"))?;
        operator.getattr(intern!(py, "add")).map(Bound::unbind)
    })?;
    Ok(add.bind(py))
}
