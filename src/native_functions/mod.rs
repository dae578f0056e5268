//! Users' own functions from shared libraries: the module interface of `include/firesteel.h`, seen from the host.
//!
//! A library is loaded once and never unloaded; [`Libraries`] finds those that `spark.firesteel.functions` names. An
//! unmodified driver knows a native function as a function of Python whose body calls the same library: the
//! [`Marker`] in its pickled command says which one it is, and a [`BoundFunction`] calls it without Python: an
//! [`Instance`] in this process, or one in a [process of its own](Isolated). A driver with the jar knows it as a
//! function of its own, which a [`RowFunction`] is where Java calls it. What a library gives is checked before it is
//! used, as far as pointers can be.

mod bound;
mod check;
mod crash;
mod error;
mod host;
mod instance;
mod isolated;
mod libraries;
mod library;
mod marker;
mod raw;
mod row_function;
mod spark_types;
mod stream;
mod widening;

pub use self::bound::{BoundFunction, FunctionRows};
pub use self::check::{Finding, check};
pub use self::error::FunctionError;
pub use self::host::{TaskFacts, TaskMemory};
pub use self::instance::Instance;
pub use self::isolated::{Isolated, ProcessCounts, count_isolated, isolate, serve};
pub use self::libraries::Libraries;
pub use self::library::{Function, Kind, Library, Nulls, Signature, Volatility};
pub use self::marker::Marker;
pub use self::row_function::{RowFunction, UncountedMemory, types_of};
pub use self::spark_types::spark_json;
pub use self::stream::OutputStream;
pub use self::widening::widened;

#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    //! What fuzz targets call.

    use functions::types::{columns, columns_fit, names, types};

    pub use super::isolated::fuzzing::isolated_replies;

    /// A pickled command of a function of Python.
    pub fn function_marker(data: &[u8]) {
        let _ = super::Marker::of_command(data);
    }

    /// Words of types, which are the same when they are written and read once more.
    pub fn function_types(data: &[u8]) {
        let Ok(text) = std::str::from_utf8(data) else {
            return;
        };
        let _ = types(text, "UTC");
        if let Ok(read) = columns(text, "UTC") {
            let again = columns(&names(&read), "UTC");
            assert!(again.is_ok_and(|again| columns_fit(&read, &again)));
        }
    }
}
