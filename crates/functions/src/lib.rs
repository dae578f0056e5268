//! Native functions for Spark executors: the C interface of modules, and safe traits over it for libraries written in
//! Rust.

pub mod abi;
pub mod types;
