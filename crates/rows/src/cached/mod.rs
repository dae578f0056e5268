//! Batches of cached tables: what `InMemoryRelation` keeps of the rows of a partition.
//!
//! A `DefaultCachedBatch` has a buffer for each column and statistics, by which scans leave out batches. A buffer is,
//! in the processor's order of bytes (little endian here):
//!
//! ```text
//! number of nulls: int | their places among the rows: int each | values that are not null
//! ```
//!
//! Values of fixed width are the bytes of the value, others (text, binary, wide decimals as big endian digits, structs,
//! arrays, maps as in an `UnsafeRow`) are their length as an int and their bytes. The values of primitive types, text
//! and decimals of up to 18 digits stand behind the number of a [compression scheme](compression).
//!
//! Sources: `ColumnBuilder`, `ColumnType`, `ColumnStats` and `compressionSchemes.scala` in Spark's
//! `org.apache.spark.sql.execution.columnar`; the same in 3.5.9 to 4.3.0, but for
//! collations and types that are not kept natively.

mod build;
mod column;
mod compression;
mod decode;
mod java;
mod kryo;
mod stream;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use catalyst::{DataType, Literal, Unsupported};

use crate::layout::{Column, Slot};

pub use build::CachedBatchBuilder;
pub use decode::CachedBatchDecoder;
pub use stream::{CachedBatchFormat, CachedBatchReader};

/// A `DefaultCachedBatch`.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedBatch {
    /// How many rows.
    pub num_rows: usize,
    /// The columns.
    pub buffers: Vec<Bytes>,
    /// What is known of each column; none if that was not asked for.
    pub statistics: Vec<ColumnStatistics>,
}

/// What is known of the values of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnStatistics {
    /// The least, if the type has an order. Types of numbers have bounds even if there is no value.
    pub lower: Literal,
    /// The greatest.
    pub upper: Literal,
    /// How many are null.
    pub null_count: i32,
    /// How many there are, with nulls.
    pub count: i32,
    /// Bytes of all of them, uncompressed.
    pub size_in_bytes: i64,
}

impl ColumnStatistics {
    /// Types of the values that Spark keeps of a column of this type, in its order.
    #[must_use]
    pub fn types(of: &DataType) -> [DataType; 5] {
        let (int, long) = (DataType::Integer, DataType::Long);
        [of.clone(), of.clone(), int.clone(), int, long]
    }

    /// The values, in that order.
    #[must_use]
    pub fn values(&self) -> [Literal; 5] {
        [
            self.lower.clone(),
            self.upper.clone(),
            Literal::Integer(self.null_count),
            Literal::Integer(self.count),
            Literal::Long(self.size_in_bytes),
        ]
    }
}

impl CachedBatch {
    /// `SimpleMetricsCachedBatch.sizeInBytes`: bytes of all values, uncompressed.
    #[must_use]
    pub fn size_in_bytes(&self) -> i64 {
        let sizes = self.statistics.iter().map(|column| column.size_in_bytes);
        sizes.fold(0, i64::saturating_add)
    }
}

/// How values of a column are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Only nulls.
    Null,
    /// So many bytes.
    Fixed(usize),
    /// A length and bytes.
    Variable,
}

impl Layout {
    fn of(column: &Column) -> Self {
        match column.slot {
            Slot::Null => Self::Null,
            Slot::Boolean | Slot::Byte => Self::Fixed(1),
            Slot::Short => Self::Fixed(2),
            Slot::Integer | Slot::Float => Self::Fixed(4),
            Slot::Long | Slot::Double | Slot::Decimal => Self::Fixed(8),
            Slot::WideDecimal { .. }
            | Slot::String
            | Slot::Binary
            | Slot::Variant
            | Slot::Struct(_)
            | Slot::Array(_)
            | Slot::Map(_) => Self::Variable,
        }
    }
}

/// A column of a cached table; of variants none is known.
fn column_of(data_type: &DataType) -> std::result::Result<Column, Unsupported> {
    match data_type.has_variants() {
        true => Err(Unsupported::of_use("a cached table with variants")),
        false => Column::of(data_type),
    }
}

/// Whether the number of a compression scheme stands before the values.
fn has_scheme(column: &Column) -> bool {
    match Layout::of(column) {
        Layout::Null => false,
        Layout::Fixed(_) => true,
        Layout::Variable => column.slot == Slot::String,
    }
}
