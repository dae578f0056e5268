//! Native functions for Spark executors: the C interface of modules ([`abi`]), the types of their signatures as text
//! ([`types`]), and safe traits over the interface for libraries written in Rust ([`guest`]) with what their tests need
//! ([`testing`]).

pub mod abi;
pub mod guest;
pub mod testing;
pub mod types;

/// The Arrow that the traits of [`guest`] are in terms of.
pub use arrow;
