//! Values of plans as columns.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, IntervalYearMonthArray, LargeBinaryArray, ListArray, MapArray, NullArray,
    StringViewArray, StructArray, Time64NanosecondArray, TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType as ArrowType;

use crate::types::ToArrow as _;
use catalyst::Literal;
use catalyst::Unsupported;
use catalyst::{DataType, StructField};

type Result<T> = std::result::Result<T, Unsupported>;

/// A column of values of this type.
///
/// # Errors
/// Some are of another type, or of one that columns do not have.
pub fn array_of(data_type: &DataType, values: Vec<&Literal>) -> Result<ArrayRef> {
    let wrong = || Unsupported::of_use(format!("a value that is not of {data_type}"));
    macro_rules! collect {
        ($variant:ident) => {
            values
                .into_iter()
                .map(|value| match value {
                    Literal::Null => Ok(None),
                    Literal::$variant(value) => Ok(Some(value.clone())),
                    _ => Err(wrong()),
                })
                .collect::<Result<Vec<_>>>()?
        };
    }
    Ok(match data_type {
        DataType::Null => Arc::new(NullArray::new(values.len())),
        DataType::Boolean => Arc::new(BooleanArray::from(collect!(Boolean))),
        DataType::Byte => Arc::new(Int8Array::from(collect!(Byte))),
        DataType::Short => Arc::new(Int16Array::from(collect!(Short))),
        DataType::Integer => Arc::new(Int32Array::from(collect!(Integer))),
        DataType::Date => Arc::new(Date32Array::from(collect!(Integer))),
        DataType::YearMonthInterval => Arc::new(IntervalYearMonthArray::from(collect!(Integer))),
        DataType::Long => Arc::new(Int64Array::from(collect!(Long))),
        DataType::Timestamp | DataType::TimestampNtz => {
            let ArrowType::Timestamp(_, zone) = data_type.to_arrow()? else {
                return Err(wrong());
            };
            let values = TimestampMicrosecondArray::from(collect!(Long));
            Arc::new(values.with_timezone_opt(zone))
        }
        DataType::DayTimeInterval => Arc::new(DurationMicrosecondArray::from(collect!(Long))),
        DataType::Time(_) => Arc::new(Time64NanosecondArray::from(collect!(Long))),
        DataType::Float => Arc::new(Float32Array::from(collect!(Float))),
        DataType::Double => Arc::new(Float64Array::from(collect!(Double))),
        DataType::Decimal(_) => {
            let digits = Decimal128Array::from(collect!(Decimal));
            Arc::new(digits.with_data_type(data_type.to_arrow()?))
        }
        DataType::String => {
            let text = collect!(String)
                .into_iter()
                .map(|bytes| bytes.map(String::from_utf8).transpose())
                .collect::<std::result::Result<Vec<_>, _>>()
                .map_err(|_| Unsupported::of_use("text that is not UTF-8"))?;
            Arc::new(StringViewArray::from_iter(text))
        }
        DataType::Binary => Arc::new(BinaryViewArray::from_iter(collect!(Binary))),
        DataType::Variant => Arc::new(LargeBinaryArray::from_iter(collect!(Binary))),
        DataType::Array { .. } | DataType::Map { .. } | DataType::Struct(_) => {
            return nested(data_type, &values);
        }
        DataType::CalendarInterval => return Err(wrong()),
    })
}

fn nested(data_type: &DataType, values: &[&Literal]) -> Result<ArrayRef> {
    let wrong = || Unsupported::of_use(format!("a value that is not of {data_type}"));
    let valid = |value: &&Literal| **value != Literal::Null;
    let nulls = Some(NullBuffer::from_iter(values.iter().map(valid)));
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    Ok(match (data_type, data_type.to_arrow()?) {
        (DataType::Struct(fields), ArrowType::Struct(arrow)) => {
            let column = |(place, field): (usize, &StructField)| {
                let parts = values.iter().map(|value| match value {
                    Literal::Null => Ok(&Literal::Null),
                    Literal::Struct(parts) if parts.len() == fields.len() => {
                        parts.get(place).ok_or_else(wrong)
                    }
                    _ => Err(wrong()),
                });
                array_of(&field.data_type, parts.collect::<Result<_>>()?)
            };
            let columns = fields.iter().enumerate().map(column);
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new(arrow, columns, nulls).map_err(|_| wrong())?)
        }
        (DataType::Array { element, .. }, ArrowType::List(field)) => {
            let mut all = Vec::new();
            let lengths = values.iter().map(|value| match value {
                Literal::Null => Ok(0),
                Literal::Array(elements) => {
                    all.extend(elements);
                    Ok(elements.len())
                }
                _ => Err(wrong()),
            });
            let lengths = lengths.collect::<Result<Vec<_>>>()?;
            let elements = array_of(element, all)?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(ListArray::try_new(field, offsets, elements, nulls).map_err(|_| wrong())?)
        }
        (DataType::Map { key, value, .. }, ArrowType::Map(field, sorted)) => {
            let ArrowType::Struct(entry) = field.data_type() else {
                return Err(wrong());
            };
            let (mut keys, mut of_keys) = (Vec::new(), Vec::new());
            let lengths = values.iter().map(|value| match value {
                Literal::Null => Ok(0),
                Literal::Map(pairs) => {
                    keys.extend(pairs.iter().map(|(key, _)| key));
                    of_keys.extend(pairs.iter().map(|(_, value)| value));
                    Ok(pairs.len())
                }
                _ => Err(wrong()),
            });
            let lengths = lengths.collect::<Result<Vec<_>>>()?;
            let columns = vec![array_of(key, keys)?, array_of(value, of_keys)?];
            let entries = StructArray::try_new(entry.clone(), columns, None);
            let entries = entries.map_err(|_| wrong())?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            let map = MapArray::try_new(Arc::clone(&field), offsets, entries, nulls, sorted);
            Arc::new(map.map_err(|_| wrong())?)
        }
        _ => return Err(wrong()),
    })
}
