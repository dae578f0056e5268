//! Sketches of Spark SQL's aggregates, byte for byte as the libraries that Spark has for them write them.
//!
//! * [`hll`]: `HllSketch` and `Union` of Apache DataSketches, with registers of a byte each, as all of Spark's are.
//! * [`CountMin`]: Spark's own `CountMinSketchImpl`.
//!
//! Bytes of sketches come from tables of users and from other executors. Only what the libraries write themselves is
//! read: of anything else they make something or an error, which is for them to say.

#![forbid(unsafe_code)]

mod count_min;
pub mod hll;
mod murmur;

pub use count_min::{CountMin, CountMinPlan};

/// Bytes that are not read as a sketch, or a sketch that is not computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub &'static str);

/// What comes of reading or combining sketches.
pub type Result<T> = std::result::Result<T, Unreadable>;
