//! The python lane: tasks of PySpark's RDDs.

mod element;

pub use element::{Element, Elements};
