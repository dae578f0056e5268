//! The lanes. Each implements [`crate::task::Lane`] (or, for the JVM, [`crate::task::jvm::Jvm`]) and names no other
//! lane.

pub mod jvm;
pub mod python;
pub mod sql;
