//! Native functions for Spark executors: the C interface of modules ([`abi`]), the types of their signatures as text
//! ([`types`]), and safe traits over the interface for libraries written in Rust ([`guest`]).

pub mod abi;
pub mod guest;
pub mod types;

/// The Arrow that the traits of [`guest`] are in terms of.
pub use arrow;
