//! The python lane: tasks of PySpark's RDDs.

mod compute;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod lane;
mod native_lane;
mod pickled;
mod plan;
mod result;
mod services;

pub use lane::{Plan, PythonLane};
#[cfg(test)]
pub(crate) use plan::tests as real_tasks;
pub use services::PythonParts;

/// The classes of RDDs that run natively, with what of them.
pub fn recognised() -> Vec<(String, String)> {
    plan::recognised()
}
