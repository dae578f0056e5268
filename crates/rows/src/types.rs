//! Spark's types as Arrow's.

use std::sync::Arc;

use arrow::datatypes::{
    DataType as ArrowType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit,
};

use catalyst::Attribute;
use catalyst::Unsupported;
use catalyst::{DataType, Decimal, StructField};

/// Type of timestamps: microseconds since the epoch. The zone says only that it is an instant; what depends on the
/// session's zone is told to each expression.
#[must_use]
pub fn timestamp() -> ArrowType {
    ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// A type that columns may have.
pub trait ToArrow {
    /// The only Arrow type that columns of this type have.
    ///
    /// # Errors
    /// Columns of that type are not kept natively.
    fn to_arrow(&self) -> Result<ArrowType, Unsupported>;
}

impl ToArrow for DataType {
    fn to_arrow(&self) -> Result<ArrowType, Unsupported> {
        Ok(match self {
            Self::Null => ArrowType::Null,
            Self::Boolean => ArrowType::Boolean,
            Self::Byte => ArrowType::Int8,
            Self::Short => ArrowType::Int16,
            Self::Integer => ArrowType::Int32,
            Self::Long => ArrowType::Int64,
            Self::Float => ArrowType::Float32,
            Self::Double => ArrowType::Float64,
            Self::Decimal(Decimal { precision, scale }) if (0..=38).contains(scale) => {
                ArrowType::Decimal128(*precision, *scale)
            }
            Self::String => ArrowType::Utf8View,
            Self::Binary => ArrowType::BinaryView,
            // As it is in rows. No other columns have this type of Arrow's: what does not know variants refuses them.
            Self::Variant => ArrowType::LargeBinary,
            Self::Date => ArrowType::Date32,
            Self::Timestamp => timestamp(),
            Self::TimestampNtz => ArrowType::Timestamp(TimeUnit::Microsecond, None),
            Self::YearMonthInterval => ArrowType::Interval(IntervalUnit::YearMonth),
            Self::DayTimeInterval => ArrowType::Duration(TimeUnit::Microsecond),
            Self::Time(_) => ArrowType::Time64(TimeUnit::Nanosecond),
            Self::Struct(fields) if !fields.is_empty() => ArrowType::Struct(struct_fields(fields)?),
            Self::Array { element, .. } => ArrowType::List(list_field(element.to_arrow()?)),
            Self::Map { key, value, .. } => {
                let entries = map_fields(key.to_arrow()?, value.to_arrow()?);
                let entries = Field::new("entries", ArrowType::Struct(entries), false);
                ArrowType::Map(Arc::new(entries), false)
            }
            Self::Decimal(_) | Self::CalendarInterval | Self::Struct(_) => {
                return Err(Unsupported::of_use(format!("a column of type {self}")));
            }
        })
    }
}

/// The field of a list's elements. What Spark says of nulls is not relied on.
#[must_use]
pub fn list_field(element: ArrowType) -> Arc<Field> {
    Arc::new(Field::new("item", element, true))
}

/// The fields of a map's entries: keys are never null.
#[must_use]
pub fn map_fields(key: ArrowType, value: ArrowType) -> Fields {
    Fields::from(vec![
        Field::new("key", key, false),
        Field::new("value", value, true),
    ])
}

fn struct_fields(fields: &[StructField]) -> Result<Fields, Unsupported> {
    columns(fields.iter().map(|field| &field.data_type))
}

/// Columns by their places: `c0`, `c1` and so on. Spark's names need not be unique, and what it says of nulls is not
/// relied on.
fn columns<'a>(types: impl Iterator<Item = &'a DataType>) -> Result<Fields, Unsupported> {
    types
        .enumerate()
        .map(|(index, of)| {
            Ok(Arc::new(Field::new(
                column_name(index),
                of.to_arrow()?,
                true,
            )))
        })
        .collect()
}

/// Name of the column at a place.
#[must_use]
pub fn column_name(index: usize) -> String {
    format!("c{index}")
}

/// Schema of the batches that have these columns.
///
/// # Errors
/// A column has a type that is not kept natively.
pub fn schema_of(attributes: &[Attribute]) -> Result<SchemaRef, Unsupported> {
    schema_of_types(attributes.iter().map(|attribute| &attribute.data_type))
}

/// Schema of the batches that have columns of these types.
///
/// # Errors
/// A column has a type that is not kept natively.
pub fn schema_of_types<'a>(
    types: impl IntoIterator<Item = &'a DataType>,
) -> Result<SchemaRef, Unsupported> {
    Ok(Arc::new(Schema::new(columns(types.into_iter())?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_by_place() {
        let schema = schema_of_types(&[DataType::Integer, DataType::String]).unwrap();
        let text: Vec<_> = schema.fields().iter().map(|f| f.to_string()).collect();
        assert_eq!(schema.field(1).name(), "c1");
        assert_eq!(schema.field(1).data_type(), &ArrowType::Utf8View);
        assert_eq!(text.len(), 2);
    }

    #[test]
    fn what_arrow_would_keep_otherwise_is_refused() {
        let negative = Decimal {
            precision: 5,
            scale: -2,
        };
        assert!(DataType::Decimal(negative).to_arrow().is_err());
        assert!(DataType::CalendarInterval.to_arrow().is_err());
        assert!(DataType::Struct(Vec::new()).to_arrow().is_err());
    }
}
