//! The python lane: tasks of PySpark's RDDs.

mod element;
mod function;

pub use element::{Element, Elements};
pub use function::{BroadcastFile, PythonBroadcast, PythonFunction};
