//! The executor's side of Python workers, against the `pyspark` of real distributions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod barrier;
mod bench;
mod data;
mod life;
