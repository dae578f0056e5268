//! Inner loops of PySpark's worker, for CPython's stable interface: `firesteel_worker._native`.
//!
//! [`merge`] does part of the work of a loop in the distribution's own Python code, element by element in the same
//! order, and a [`pipeline`] that of simple functions of the user's, too, which [`pyfunc`] computes. Everything unusual
//! is handed back to the loop and the functions. The Python side (`firesteel_worker.loops` and `.pipelines`) puts them
//! into place.

#![deny(unsafe_code)]

mod cpython;
mod key;
mod merge;
mod pipeline;

use pyo3::prelude::*;

/// The module.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(merge::merge, module)?)?;
    module.add_class::<pipeline::Pipeline>()?;
    module.add("PAUSED", merge::PAUSED)?;
    module.add("EXHAUSTED", merge::EXHAUSTED)?;
    module.add("LEFT_TO_PYTHON", merge::LEFT_TO_PYTHON)?;
    Ok(())
}
