//! Spark's own formats of rows, to and from batches of columns.
//!
//! * [`RowDecoder`] and [`RowEncoder`]: `UnsafeRow`s and the streams that `UnsafeRowSerializer` makes of them.
//! * [`Partitioner`]: where rows of a shuffle go, as Spark sends them.
//! * [`RowChecksums`]: the checksum over rows in a map status.
//! * [`Relation`] and [`RelationTable`]: what the table side of a broadcast join is sent as.
//! * [`result`], [`RangeSampler`]: what tasks return to the driver.
//!
//! All of it is equal to the bit to what Spark writes: executors of both kinds may run tasks of one stage.
//!
//! The rows of a shuffle that nobody looks into (an operator without known output) are *opaque*: batches have one column of
//! type `BinaryView` that holds whole rows, [`opaque_schema`].

mod checksum;
mod decode;
mod encode;
mod layout;
mod literals;
mod murmur3;
mod partition;
mod random;
mod range;
mod relation;
pub mod result;
mod sample;

pub use checksum::RowChecksums;
pub use decode::{RowDecoder, RowSpan};
pub(crate) use encode::big_integer;
pub use encode::{EncodedRows, RowEncoder};
pub use layout::opaque_schema;
pub use murmur3::{SEED as MURMUR3_SEED, hash_columns as murmur3_columns, is_hashed};
pub(crate) use murmur3::{double_bits, float_bits};
pub use partition::{Partitioner, Scattered, round_robin_order, scatter};
pub use relation::{MatchCursor, Matches, Relation, RelationKind, RelationTable};
pub use sample::{RangeSample, RangeSampler};
