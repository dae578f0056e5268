//! Catalyst's values as DataFusion's.

use arrow::datatypes::DataType as ArrowType;
use datafusion_common::ScalarValue;

use catalyst::Literal;
use catalyst::Unsupported;
use catalyst::{DataType, Decimal};
use rows::array_of;
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
        (Literal::Long(v), DataType::Time(_)) => ScalarValue::Time64Nanosecond(Some(*v)),
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
        (Literal::Binary(v), DataType::Variant) => ScalarValue::LargeBinary(Some(v.clone())),
        (Literal::Struct(_) | Literal::Array(_) | Literal::Map(_), _) => {
            ScalarValue::try_from_array(&array_of(of, vec![value])?, 0).map_err(|_| wrong())?
        }
        _ => return Err(wrong()),
    })
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
