//! Lanes: the ways to run a task.
pub mod jvm;
