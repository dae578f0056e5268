//! Streams of records with a length in front.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

/// The records at the start of `buffered` that are there completely and have nothing special about them: four bytes of length, not
/// negative, and so many bytes of UTF-8, decoded unless `raw`. Returns them and the number of bytes that they take.
#[pyfunction]
pub(crate) fn utf8_records<'py>(
    py: Python<'py>,
    buffered: &[u8],
    raw: bool,
) -> PyResult<(Bound<'py, PyList>, usize)> {
    let records = PyList::empty(py);
    let mut rest = buffered;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            break;
        };
        let Some((record, after)) = after.split_at_checked(length) else {
            break;
        };
        match raw {
            true => records.append(PyBytes::new(py, record))?,
            // What cannot be decoded is left to Python, with its error.
            false => match std::str::from_utf8(record) {
                Ok(text) => records.append(PyString::new(py, text))?,
                Err(_) => break,
            },
        }
        rest = after;
    }
    Ok((records, buffered.len() - rest.len()))
}
