//! Spark's frames, RPC envelopes and typed messages. No I/O, no unsafe.
#![forbid(unsafe_code)]

pub mod frame;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod test_vectors;
