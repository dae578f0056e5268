//! How columns lie in an `UnsafeRow`.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef};

use crate::types::ToArrow as _;
use catalyst::Unsupported;
use catalyst::{DataType, Decimal, MAX_LONG_DIGITS};

/// Bytes kept for a wider decimal, null or not.
pub(crate) const WIDE_DECIMAL: u32 = 16;

/// What the 8 bytes of a column hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Slot {
    /// Nothing: always null.
    Null,
    Boolean,
    Byte,
    Short,
    /// Also days and months.
    Integer,
    /// Also microseconds, and nanoseconds of a day.
    Long,
    Float,
    Double,
    /// The digits.
    Decimal,
    /// Place of the digits, big endian.
    WideDecimal {
        /// Whether any of them takes 16 bytes, and not only a null, and others as many words as they need.
        always_16: bool,
    },
    /// Place of UTF-8.
    String,
    /// Place of bytes.
    Binary,
    /// Place of a variant.
    Variant,
    /// Place of a row.
    Struct(Box<[Column]>),
    /// Place of an array.
    Array(Box<Column>),
    /// Place of an array of keys and one of values.
    Map(Box<[Column; 2]>),
}

impl Slot {
    /// Bytes of an element of an array.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Boolean | Self::Byte => 1,
            Self::Short => 2,
            Self::Integer | Self::Float => 4,
            _ => 8,
        }
    }
}

/// A column of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) slot: Slot,
    pub(crate) arrow: ArrowType,
}

impl Column {
    pub(crate) fn of(data_type: &DataType) -> Result<Self, Unsupported> {
        let arrow = data_type.to_arrow()?;
        let slot = match data_type {
            DataType::Null => Slot::Null,
            DataType::Boolean => Slot::Boolean,
            DataType::Byte => Slot::Byte,
            DataType::Short => Slot::Short,
            DataType::Integer | DataType::Date | DataType::YearMonthInterval => Slot::Integer,
            DataType::Long
            | DataType::Timestamp
            | DataType::TimestampNtz
            | DataType::DayTimeInterval
            | DataType::Time(_) => Slot::Long,
            DataType::Float => Slot::Float,
            DataType::Double => Slot::Double,
            DataType::Decimal(Decimal { precision, .. }) if *precision <= MAX_LONG_DIGITS => {
                Slot::Decimal
            }
            DataType::Decimal(_) => Slot::WideDecimal { always_16: true },
            DataType::String => Slot::String,
            DataType::Binary => Slot::Binary,
            DataType::Variant => Slot::Variant,
            // Types nest only as deep as they were read.
            DataType::Struct(fields) => {
                Slot::Struct(Self::all(fields.iter().map(|field| &field.data_type))?)
            }
            DataType::Array { element, .. } => Slot::Array(Box::new(Self::of(element)?)),
            DataType::Map { key, value, .. } => {
                Slot::Map(Box::new([Self::of(key)?, Self::of(value)?]))
            }
            DataType::CalendarInterval => {
                return Err(Unsupported::of_use(format!("a row with {data_type}")));
            }
        };
        Ok(Self { slot, arrow })
    }

    pub(crate) fn all<'a>(
        types: impl IntoIterator<Item = &'a DataType>,
    ) -> Result<Box<[Self]>, Unsupported> {
        types.into_iter().map(Self::of).collect()
    }
}

/// Bytes of the bit set of nulls.
pub(crate) fn null_bytes(columns: usize) -> usize {
    columns.div_ceil(64) * 8
}

/// Bytes of an array before its elements: their number and the bit set of nulls.
pub(crate) fn header_bytes(elements: usize) -> usize {
    8 + null_bytes(elements)
}

/// Bytes of a row without anything behind the slots.
pub(crate) fn fixed_bytes(columns: usize) -> usize {
    null_bytes(columns) + columns * 8
}

/// Schema of batches of rows that nobody looks into: one column of whole rows.
#[must_use]
pub fn opaque_schema() -> SchemaRef {
    let field = Field::new("c0", ArrowType::BinaryView, false);
    Arc::new(Schema::new(vec![field]))
}
