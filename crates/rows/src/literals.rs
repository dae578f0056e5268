//! Values of plans as columns.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, IntervalYearMonthArray, NullArray, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::DataType as ArrowType;

use crate::types::ToArrow as _;
use catalyst::DataType;
use catalyst::Literal;
use catalyst::Unsupported;

type Result<T> = std::result::Result<T, Unsupported>;

/// A column of values of this type.
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
        _ => return Err(wrong()),
    })
}
