//! The python lane: tasks of PySpark's RDDs.

mod compute;
mod element;
mod function;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod lane;
mod native_lane;
mod plan;
mod read_function;
mod result;
mod services;

#[cfg(any(test, fuzzing))]
mod testing;
pub mod worker;

pub use element::{Element, Elements};
pub use function::{BroadcastFile, PythonBroadcast, PythonFunction};
pub use lane::{Plan, PythonLane};
pub use services::PythonParts;

/// The classes of RDDs that run natively, with what of them.
pub fn recognised() -> Vec<(String, String)> {
    plan::recognised()
}
