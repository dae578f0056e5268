//! Functions written in Rust: safe traits over the C interface of [`crate::abi`].
//!
//! A library is a crate of the type `cdylib` that has a [`Module`] of functions and says so with
//! [`module!`](crate::module!):
//!
//! ```
//! use std::sync::Arc;
//!
//! use functions::arrow::array::{ArrayRef, AsArray, Float64Array, StructArray};
//! use functions::arrow::datatypes::Float64Type;
//! use functions::guest::{Declaration, Failure, Module, Nulls, Task, scalar};
//!
//! fn area(_task: &Task, arguments: &StructArray) -> Result<ArrayRef, Failure> {
//!     let width = arguments.column(0).as_primitive::<Float64Type>().values();
//!     let height = arguments.column(1).as_primitive::<Float64Type>().values();
//!     let area = width.iter().zip(height).map(|(width, height)| width * height);
//!     Ok(Arc::new(Float64Array::from_iter_values(area)))
//! }
//!
//! fn shapes() -> Module {
//!     let declaration = Declaration::new("area")
//!         .description("The area of a rectangle")
//!         .signature("double, double", "double")
//!         .nulls(Nulls::Skipped);
//!     Module::new("shapes", env!("CARGO_PKG_VERSION")).scalar(scalar(declaration, area))
//! }
//!
//! functions::module!(shapes());
//! ```
//!
//! There are four kinds of functions: [`Scalar`], [`Aggregate`], [`Partition`] and [`Table`]. Each has a
//! [`Declaration`] and makes *instances* for the tasks that call it.
//!
//! A function that fails says so with a [`Failure`]; one that panics fails too, and the executor goes on.
//!
//! # Arguments are borrowed
//!
//! The arrays that a function is called with are the executor's own memory, which is gone or changed after the call. A
//! result may share memory with them (it is copied then); an instance that keeps some of them, even a slice of one, is
//! ended and its task fails. Copy what is to be kept: [`Binding::constant`]'s arrays and the batches of streams are
//! owned and may be kept.

mod aggregate;
mod binding;
mod borrowed;
mod declaration;
mod entry;
mod failure;
mod instance;
mod module;
pub(crate) mod raw;
mod results;
mod scalar;
mod stream;
mod stream_entry;
mod stream_output;
mod task;

#[cfg(test)]
mod tests;

pub use aggregate::{Aggregate, AggregateInstance, Groups};
pub use binding::Binding;
pub use declaration::{Declaration, Nulls, Volatility};
pub use failure::{Failure, Status};
pub use module::{Export, Module};
pub use scalar::{Scalar, ScalarInstance, scalar};
pub use stream::{Batches, Partition, StreamInstance, Table, by_batch, by_call};
pub use task::{Level, Reservation, Task};
