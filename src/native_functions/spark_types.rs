//! Types of signatures as Spark's own.

use arrow::datatypes::{DataType as ArrowType, Field, Fields, TimeUnit};
use catalyst::{DataType, Decimal, StructField};
use serde_json::{Value, json};

/// Spark's type of a type that a signature may have; `None` of any other.
pub(super) fn spark_type(of: &ArrowType) -> Option<DataType> {
    Some(match of {
        ArrowType::Boolean => DataType::Boolean,
        ArrowType::Int8 => DataType::Byte,
        ArrowType::Int16 => DataType::Short,
        ArrowType::Int32 => DataType::Integer,
        ArrowType::Int64 => DataType::Long,
        ArrowType::Float32 => DataType::Float,
        ArrowType::Float64 => DataType::Double,
        ArrowType::Utf8 => DataType::String,
        ArrowType::Binary => DataType::Binary,
        ArrowType::Date32 => DataType::Date,
        ArrowType::Timestamp(TimeUnit::Microsecond, Some(_)) => DataType::Timestamp,
        ArrowType::Timestamp(TimeUnit::Microsecond, None) => DataType::TimestampNtz,
        ArrowType::Decimal128(precision, scale) => DataType::Decimal(Decimal {
            precision: *precision,
            scale: *scale,
        }),
        ArrowType::List(element) => DataType::Array {
            element: Box::new(spark_type(element.data_type())?),
            contains_null: true,
        },
        ArrowType::Map(entries, _) => {
            let (key, value) = entry(entries)?;
            DataType::Map {
                key: Box::new(spark_type(key.data_type())?),
                value: Box::new(spark_type(value.data_type())?),
                value_contains_null: true,
            }
        }
        ArrowType::Struct(fields) => DataType::Struct(struct_fields(fields)?),
        _ => return None,
    })
}

fn struct_fields(fields: &Fields) -> Option<Vec<StructField>> {
    let fields = fields.iter().map(|field| {
        Some(StructField {
            name: field.name().clone(),
            data_type: spark_type(field.data_type())?,
            nullable: true,
            field_id: None,
            exists_default: None,
        })
    });
    fields.collect()
}

fn entry(entries: &Field) -> Option<(&Field, &Field)> {
    match entries.data_type() {
        ArrowType::Struct(fields) => match fields.as_ref() {
            [key, value] => Some((key, value)),
            _ => None,
        },
        _ => None,
    }
}

/// The type as `DataType.fromJson` reads it; `None` of what no signature has.
pub fn spark_json(of: &DataType) -> Option<Value> {
    Some(match of {
        DataType::Boolean => json!("boolean"),
        DataType::Byte => json!("byte"),
        DataType::Short => json!("short"),
        DataType::Integer => json!("integer"),
        DataType::Long => json!("long"),
        DataType::Float => json!("float"),
        DataType::Double => json!("double"),
        DataType::String => json!("string"),
        DataType::Binary => json!("binary"),
        DataType::Date => json!("date"),
        DataType::Timestamp => json!("timestamp"),
        DataType::TimestampNtz => json!("timestamp_ntz"),
        DataType::Decimal(Decimal { precision, scale }) => {
            json!(format!("decimal({precision},{scale})"))
        }
        DataType::Array { element, .. } => json!({
            "type": "array",
            "elementType": spark_json(element)?,
            "containsNull": true,
        }),
        DataType::Map { key, value, .. } => json!({
            "type": "map",
            "keyType": spark_json(key)?,
            "valueType": spark_json(value)?,
            "valueContainsNull": true,
        }),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| {
                Some(json!({
                    "name": field.name,
                    "type": spark_json(&field.data_type)?,
                    "nullable": true,
                    "metadata": {},
                }))
            });
            json!({"type": "struct", "fields": fields.collect::<Option<Vec<_>>>()?})
        }
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use functions::types::data_type;

    use super::*;

    #[test]
    fn every_word_is_a_type_of_spark() {
        for (word, expected) in [
            ("boolean", json!("boolean")),
            ("tinyint", json!("byte")),
            ("smallint", json!("short")),
            ("int", json!("integer")),
            ("bigint", json!("long")),
            ("float", json!("float")),
            ("double", json!("double")),
            ("string", json!("string")),
            ("binary", json!("binary")),
            ("date", json!("date")),
            ("timestamp", json!("timestamp")),
            ("timestamp_ntz", json!("timestamp_ntz")),
            ("decimal(20,2)", json!("decimal(20,2)")),
            (
                "array<map<string,struct<a:int>>>",
                json!({"type": "array", "containsNull": true, "elementType": {
                    "type": "map", "keyType": "string", "valueContainsNull": true, "valueType": {
                        "type": "struct",
                        "fields": [{"name": "a", "type": "integer", "nullable": true, "metadata": {}}],
                    },
                }}),
            ),
        ] {
            let of = spark_type(&data_type(word, "UTC").unwrap()).unwrap();
            assert_eq!(spark_json(&of).unwrap(), expected, "{word}");
        }
        assert_eq!(spark_type(&ArrowType::LargeUtf8), None);
    }
}
