//! Spark's plans run natively.
//!
//! [`NativeStage`] judges a stage once and lowers it; [`NativeStage::task`] makes of it what one task executes, over the [`Sources`]
//! that the executor gives.

mod aggregate;
pub mod capabilities;
pub mod error;
mod exec;
pub mod expr;
mod filter;
mod join;
mod leaves;
mod limit;
mod lower;
mod metrics;
mod plan;
mod project;
mod scan;
mod sort;
mod sources;
pub mod types;
mod union;

pub use plan::{NativeStage, TaskPlan};
pub use sources::{BlockStream, FileBytes, Make, Shared, SharedMemory, Sources};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
