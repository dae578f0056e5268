//! Spark's own formats of rows, to and from batches of columns.
//!
//! * [`RowDecoder`] and [`RowEncoder`]: `UnsafeRow`s and the streams that `UnsafeRowSerializer` makes of them.
//! * [`RowChecksums`]: the checksum over rows in a map status.
//! * [`Relation`] and [`RelationTable`]: what the table side of a broadcast join is sent as.
//! * [`cached`]: batches of cached tables.
//! * [`result`], [`written`]: what tasks return to the driver.
//! * [`murmur3`]: Spark's own hash of columns.
//! * [`types`], [`error`]: Spark's types as Arrow's, and how a task that runs natively ends early.
//!
//! All of it is equal to the bit to what Spark writes: executors of both kinds may run tasks of one stage.
//!
//! The rows of a shuffle that nobody looks into (an operator without known output) are *opaque*: batches have one
//! column of type `BinaryView` that holds whole rows, [`opaque_schema`].

#![forbid(unsafe_code)]

pub mod cached;
mod checksum;
mod decode;
mod encode;
pub mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod layout;
mod literals;
pub mod murmur3;
mod objects;
mod order;
mod relation;
pub mod result;
mod row_hash;
mod serializer;
pub mod slots;
pub mod types;
pub mod written;

pub use checksum::RowChecksums;
pub use decode::{BATCH_ROWS, RowDecoder, RowSpan};
pub use encode::{EncodedRows, RowEncoder, big_integer};
pub use layout::opaque_schema;
pub use literals::array_of;
pub use objects::{RowObjectReader, RowObjectWriter, RowObjects};
pub use order::{has_floats, is_ordered, key_type, normalized, order_key};
pub use relation::{MatchCursor, Matches, Relation, RelationKind, RelationTable, valid_rows};
pub use row_hash::RowHasher;
pub use serializer::{KryoForm, Serializer};
