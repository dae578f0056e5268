//! Which rows go where: the partitions of a shuffle, and the sample that the bounds of a range come from.

mod partition;
mod range;
mod sample;

pub use partition::{Partitioner, Scattered, round_robin_order, scatter};
pub use sample::{KeySample, RangeSample, RangeSampler};
