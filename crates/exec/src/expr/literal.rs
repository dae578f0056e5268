//! Catalyst's values as DataFusion's.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, MapArray, StructArray, new_empty_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::ScalarValue;

use catalyst::Literal;
use catalyst::Unsupported;
use catalyst::{DataType, Decimal};
use rows::types::ToArrow as _;
use rows::types::timestamp;

/// A value of a type, with the type that columns of it have.
///
/// # Errors
/// Such values are not kept natively, or it is no value of that type.
pub fn scalar(value: &Literal, of: &DataType) -> Result<ScalarValue, Unsupported> {
    let arrow = of.to_arrow()?;
    let wrong = || Unsupported::of_use(format!("a literal {of}"));
    if *value == Literal::Null {
        return ScalarValue::try_new_null(&arrow).map_err(|_| wrong());
    }
    Ok(match (value, of) {
        (Literal::Boolean(v), DataType::Boolean) => ScalarValue::Boolean(Some(*v)),
        (Literal::Byte(v), DataType::Byte) => ScalarValue::Int8(Some(*v)),
        (Literal::Short(v), DataType::Short) => ScalarValue::Int16(Some(*v)),
        (Literal::Integer(v), DataType::Integer) => ScalarValue::Int32(Some(*v)),
        (Literal::Integer(v), DataType::Date) => ScalarValue::Date32(Some(*v)),
        (Literal::Integer(v), DataType::YearMonthInterval) => {
            ScalarValue::IntervalYearMonth(Some(*v))
        }
        (Literal::Long(v), DataType::Long) => ScalarValue::Int64(Some(*v)),
        (Literal::Long(v), DataType::Timestamp) => match timestamp() {
            ArrowType::Timestamp(_, zone) => ScalarValue::TimestampMicrosecond(Some(*v), zone),
            _ => return Err(wrong()),
        },
        (Literal::Long(v), DataType::TimestampNtz) => {
            ScalarValue::TimestampMicrosecond(Some(*v), None)
        }
        (Literal::Long(v), DataType::DayTimeInterval) => ScalarValue::DurationMicrosecond(Some(*v)),
        (Literal::Float(v), DataType::Float) => ScalarValue::Float32(Some(*v)),
        (Literal::Double(v), DataType::Double) => ScalarValue::Float64(Some(*v)),
        (Literal::Decimal(v), DataType::Decimal(Decimal { precision, scale })) => {
            ScalarValue::Decimal128(Some(*v), *precision, *scale)
        }
        (Literal::String(v), DataType::String) => {
            let text = String::from_utf8(v.clone());
            ScalarValue::Utf8View(Some(
                text.map_err(|_| Unsupported::of_use("a literal that is not UTF-8"))?,
            ))
        }
        (Literal::Binary(v), DataType::Binary) => ScalarValue::BinaryView(Some(v.clone())),
        (Literal::Struct(values), DataType::Struct(fields)) if values.len() == fields.len() => {
            let ArrowType::Struct(arrow) = arrow else {
                return Err(wrong());
            };
            let columns = values
                .iter()
                .zip(fields)
                .map(|(value, field)| {
                    scalar(value, &field.data_type)?
                        .to_array()
                        .map_err(|_| wrong())
                })
                .collect::<Result<Vec<_>, _>>()?;
            let row = StructArray::try_new(arrow, columns, None::<NullBuffer>);
            ScalarValue::Struct(Arc::new(row.map_err(|_| wrong())?))
        }
        (Literal::Array(values), DataType::Array { element, .. }) => {
            let ArrowType::List(field) = arrow else {
                return Err(wrong());
            };
            let values = column(values.iter(), element)?;
            let offsets = OffsetBuffer::from_lengths([values.len()]);
            let list = ListArray::try_new(field, offsets, values, None);
            ScalarValue::List(Arc::new(list.map_err(|_| wrong())?))
        }
        (Literal::Map(pairs), DataType::Map { key, value, .. }) => {
            let ArrowType::Map(field, sorted) = arrow else {
                return Err(wrong());
            };
            let ArrowType::Struct(entry) = field.data_type() else {
                return Err(wrong());
            };
            let keys = column(pairs.iter().map(|(key, _)| key), key)?;
            let values = column(pairs.iter().map(|(_, value)| value), value)?;
            let offsets = OffsetBuffer::from_lengths([pairs.len()]);
            let entries = StructArray::try_new(entry.clone(), vec![keys, values], None);
            let entries = entries.map_err(|_| wrong())?;
            let map = MapArray::try_new(Arc::clone(&field), offsets, entries, None, sorted);
            ScalarValue::Map(Arc::new(map.map_err(|_| wrong())?))
        }
        _ => return Err(wrong()),
    })
}

/// Values of a type as a column.
fn column<'a>(
    values: impl Iterator<Item = &'a Literal>,
    of: &DataType,
) -> Result<ArrayRef, Unsupported> {
    let wrong = || Unsupported::of_use(format!("literals of {of}"));
    let scalars = values.map(|value| scalar(value, of));
    let scalars = scalars.collect::<Result<Vec<_>, _>>()?;
    if scalars.is_empty() {
        return Ok(new_empty_array(&of.to_arrow()?));
    }
    ScalarValue::iter_to_array(scalars).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_types_of_columns() {
        let decimal = DataType::Decimal(Decimal {
            precision: 15,
            scale: 2,
        });
        for (value, of) in [
            (Literal::Null, DataType::String),
            (Literal::String(b"x".to_vec()), DataType::String),
            (Literal::Integer(3), DataType::Date),
            (Literal::Long(3), DataType::Timestamp),
            (Literal::Decimal(3), decimal),
        ] {
            let scalar = scalar(&value, &of).unwrap();
            assert_eq!(scalar.data_type(), of.to_arrow().unwrap());
        }
        assert!(scalar(&Literal::String(vec![0xff]), &DataType::String).is_err());
        assert!(scalar(&Literal::Long(1), &DataType::Integer).is_err());
    }
}
