//! The interpreter that this module is in: what expressions ask it, and values and keys as its objects.

use pyfunc::{Interpreter, LeftToPython, Value};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyList, PyNone, PyString, PyTuple};

use crate::key::Key;

/// The interpreter of this thread.
#[derive(Clone, Copy)]
pub(crate) struct CPython<'py>(pub(crate) Python<'py>);

impl CPython<'_> {
    /// What a built-in function makes of a text.
    fn call<T: for<'py> FromPyObjectOwned<'py>>(
        self,
        function: &str,
        text: &str,
    ) -> Result<T, LeftToPython> {
        let call = || -> PyResult<_> {
            let function = self.0.import("builtins")?.getattr(function)?;
            function.call1((PyString::new(self.0, text),))
        };
        let made = call().map_err(|_| LeftToPython)?;
        made.extract().map_err(|_| LeftToPython)
    }

    fn method<T: for<'py> FromPyObjectOwned<'py>>(
        self,
        name: &str,
        text: &str,
    ) -> Result<T, LeftToPython> {
        let made = PyString::new(self.0, text).call_method0(name);
        let made = made.map_err(|_| LeftToPython)?;
        made.extract().map_err(|_| LeftToPython)
    }
}

impl Interpreter for CPython<'_> {
    fn int(&self, text: &str) -> Result<i64, LeftToPython> {
        self.call("int", text)
    }

    fn float(&self, text: &str) -> Result<f64, LeftToPython> {
        self.call("float", text)
    }

    fn lower(&self, text: &str) -> Result<String, LeftToPython> {
        self.method("lower", text)
    }

    fn upper(&self, text: &str) -> Result<String, LeftToPython> {
        self.method("upper", text)
    }

    fn text(&self, method: &'static str, text: &str) -> Result<String, LeftToPython> {
        self.method(method, text)
    }

    fn holds(&self, method: &'static str, text: &str) -> Result<bool, LeftToPython> {
        self.method(method, text)
    }
}

/// The object of a value.
pub(crate) fn write_value<'py>(value: &Value<'_>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let all = |values: &[Value<'_>]| -> PyResult<Vec<_>> {
        values.iter().map(|value| write_value(value, py)).collect()
    };
    Ok(match value {
        Value::None => PyNone::get(py).to_owned().into_any(),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Int(value) => value.into_pyobject(py)?.into_any(),
        Value::Float(value) => PyFloat::new(py, *value).into_any(),
        Value::Str(text) => PyString::new(py, text).into_any(),
        Value::List(values) => PyList::new(py, all(values)?)?.into_any(),
        Value::Tuple(values) => PyTuple::new(py, all(values)?)?.into_any(),
    })
}

/// The object of a key.
pub(crate) fn write_key<'py>(key: &Key, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match key {
        Key::None => PyNone::get(py).to_owned().into_any(),
        Key::Int(value) => value.into_pyobject(py)?.into_any(),
        Key::Str(text) => PyString::new(py, text).into_any(),
        Key::Tuple(keys) => {
            let keys: PyResult<Vec<_>> = keys.iter().map(|key| write_key(key, py)).collect();
            PyTuple::new(py, keys?)?.into_any()
        }
    })
}
