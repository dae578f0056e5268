//! Strangers at the block server: what they can make it write, hold and say, and how long others wait for their
//! answers meanwhile.
//!
//! Each test states its bound; the figures of plain Spark 4.3.0 for the same attack stand beside it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod attacks;
#[path = "../block_server/fixture.rs"]
mod fixture;
mod names;
