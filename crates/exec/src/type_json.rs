//! Types as Python and the JVM are told of them: `DataType.json`.

use catalyst::{DataType, StructField};
use serde_json::{Value, json};

/// The schema of rows with columns `_0`, `_1` and so on.
pub(crate) fn json_of_row<'a>(types: impl IntoIterator<Item = &'a DataType>) -> String {
    let columns = types.into_iter().enumerate();
    let fields = columns.map(|(place, of)| field(&format!("_{place}"), of, true));
    structure(fields).to_string()
}

/// The schema of rows with these columns.
pub(crate) fn json_of_columns(columns: &[StructField]) -> String {
    let field = |of: &StructField| field(&of.name, &of.data_type, of.nullable);
    structure(columns.iter().map(field)).to_string()
}

fn structure(fields: impl Iterator<Item = Value>) -> Value {
    json!({"type": "struct", "fields": fields.collect::<Vec<_>>()})
}

fn field(name: &str, of: &DataType, nullable: bool) -> Value {
    json!({"name": name, "type": json_of(of), "nullable": nullable, "metadata": {}})
}

fn json_of(of: &DataType) -> Value {
    let name = match of {
        DataType::Null => "void",
        DataType::Boolean => "boolean",
        DataType::Byte => "byte",
        DataType::Short => "short",
        DataType::Integer => "integer",
        DataType::Long => "long",
        DataType::Float => "float",
        DataType::Double => "double",
        DataType::Date => "date",
        DataType::Timestamp => "timestamp",
        DataType::TimestampNtz => "timestamp_ntz",
        DataType::Binary => "binary",
        DataType::Decimal(of) => return json!(format!("decimal({},{})", of.precision, of.scale)),
        DataType::Array {
            element,
            contains_null,
        } => {
            let element = json_of(element);
            return json!({"type": "array", "elementType": element, "containsNull": contains_null});
        }
        DataType::Map {
            key,
            value,
            value_contains_null,
        } => {
            let (key, value) = (json_of(key), json_of(value));
            return json!({"type": "map", "keyType": key, "valueType": value, "valueContainsNull": value_contains_null});
        }
        DataType::DayTimeInterval => "interval day to second",
        DataType::YearMonthInterval => "interval year to month",
        DataType::CalendarInterval => "interval",
        DataType::Variant => "variant",
        DataType::Time(precision) => return json!(format!("time({precision})")),
        DataType::Struct(fields) => {
            let of = |of: &StructField| field(&of.name, &of.data_type, of.nullable);
            return structure(fields.iter().map(of));
        }
        DataType::String => "string",
    };
    json!(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_nested_and_names_escaped() {
        let name = "a \"quoted\" name".to_owned();
        let of = DataType::Struct(vec![StructField {
            name,
            data_type: DataType::Map {
                key: Box::new(DataType::String),
                value: Box::new(DataType::Array {
                    element: Box::new(DataType::Byte),
                    contains_null: false,
                }),
                value_contains_null: true,
            },
            nullable: false,
            field_id: None,
            exists_default: None,
        }]);
        let expected = r#"{"fields":[{"metadata":{},"name":"_0","nullable":true,"type":{"fields":[{"metadata":{},
            "name":"a \"quoted\" name","nullable":false,"type":{"keyType":"string","type":"map",
            "valueContainsNull":true,"valueType":{"containsNull":false,"elementType":"byte","type":"array"}}}],
            "type":"struct"}}],"type":"struct"}"#;
        let (read, expected): (Value, Value) = (
            serde_json::from_str(&json_of_row([&of])).unwrap(),
            serde_json::from_str(expected).unwrap(),
        );
        assert_eq!(read, expected);
    }
}
