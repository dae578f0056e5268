//! Iceberg's schemas and partition specs, which tasks carry as JSON ("Appendix C: JSON serialization" of its
//! specification).

use serde_json::Value as Json;

use crate::error::{Result, Unsupported};
use crate::types::{DataType, Decimal, MAX_PRECISION, StructField};

/// Columns of a schema, with their ids.
pub(super) fn read_schema(json: &str) -> Result<Vec<StructField>> {
    let schema = serde_json::from_str(json).map_err(|_| damaged())?;
    fields(&schema)
}

/// A field of a partition spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartitionField {
    /// Its id.
    pub(super) id: i64,
    /// Its name.
    pub(super) name: String,
    /// The id of the column that it is, if it is one as it is.
    pub(super) source: Option<i64>,
}

/// The fields of a partition spec.
pub(super) fn read_spec(json: &str) -> Result<Vec<PartitionField>> {
    let spec: Json = serde_json::from_str(json).map_err(|_| damaged())?;
    let fields = spec.get("fields").and_then(Json::as_array);
    let fields = fields.ok_or_else(damaged)?.iter().map(|field| {
        let transform = field.get("transform").and_then(Json::as_str);
        let source = match transform.ok_or_else(damaged)? {
            "identity" => Some(id(field, "source-id")?),
            _ => None,
        };
        let name = field.get("name").and_then(Json::as_str);
        Ok(PartitionField {
            id: id(field, "field-id")?,
            name: name.ok_or_else(damaged)?.to_owned(),
            source,
        })
    });
    fields.collect()
}

fn damaged() -> Unsupported {
    Unsupported::of_use("a schema of Iceberg's in another form")
}

fn id(of: &Json, name: &str) -> Result<i64> {
    of.get(name).and_then(Json::as_i64).ok_or_else(damaged)
}

fn flag(of: &Json, name: &str) -> Result<bool> {
    of.get(name).and_then(Json::as_bool).ok_or_else(damaged)
}

fn fields(of: &Json) -> Result<Vec<StructField>> {
    let fields = of.get("fields").and_then(Json::as_array);
    fields.ok_or_else(damaged)?.iter().map(field).collect()
}

fn field(of: &Json) -> Result<StructField> {
    let name = of.get("name").and_then(Json::as_str);
    Ok(StructField {
        name: name.ok_or_else(damaged)?.to_owned(),
        data_type: data_type(of.get("type").ok_or_else(damaged)?)?,
        nullable: !flag(of, "required")?,
        field_id: Some(id(of, "id")?),
        exists_default: of.get("initial-default").map(Json::to_string),
    })
}

/// The type that Spark has for one of Iceberg's (`TypeToSparkType`). The parser limits how deep JSON may be.
fn data_type(of: &Json) -> Result<DataType> {
    let part = |name: &str| {
        let part = of.get(name).ok_or_else(damaged)?;
        data_type(part).map(Box::new)
    };
    if let Some(name) = of.as_str() {
        return primitive(name);
    }
    match of.get("type").and_then(Json::as_str) {
        Some("struct") => fields(of).map(DataType::Struct),
        Some("list") => Ok(DataType::Array {
            element: part("element")?,
            contains_null: !flag(of, "element-required")?,
        }),
        Some("map") => Ok(DataType::Map {
            key: part("key")?,
            value: part("value")?,
            value_contains_null: !flag(of, "value-required")?,
        }),
        _ => Err(damaged()),
    }
}

fn primitive(name: &str) -> Result<DataType> {
    Ok(match name {
        "boolean" => DataType::Boolean,
        "int" => DataType::Integer,
        "long" => DataType::Long,
        "float" => DataType::Float,
        "double" => DataType::Double,
        "date" => DataType::Date,
        "timestamp" => DataType::TimestampNtz,
        "timestamptz" => DataType::Timestamp,
        "string" => DataType::String,
        "binary" => DataType::Binary,
        "variant" => DataType::Variant,
        _ => decimal(name).ok_or_else(|| Unsupported::of_use(format!("Iceberg's type {name}")))?,
    })
}

/// `decimal(9, 2)`
fn decimal(name: &str) -> Option<DataType> {
    let digits = name.strip_prefix("decimal(")?.strip_suffix(')')?;
    let (precision, scale) = digits.split_once(',')?;
    let precision = precision.trim().parse().ok()?;
    let scale = scale.trim().parse().ok().filter(|scale| *scale >= 0)?;
    let decimal = Decimal { precision, scale };
    (1..=MAX_PRECISION).contains(&precision).then_some(())?;
    Some(DataType::Decimal(decimal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_ids() {
        let json = r#"{"type":"struct","schema-id":0,"fields":[
            {"id":1,"name":"a","required":true,"type":"long"},
            {"id":2,"name":"d","required":false,"type":"decimal(9, 2)","initial-default":"1.50"},
            {"id":3,"name":"l","required":false,"type":{"type":"list","element-id":4,"element":"date",
             "element-required":false}},
            {"id":5,"name":"m","required":false,"type":{"type":"map","key-id":6,"key":"string","value-id":7,
             "value":{"type":"struct","fields":[{"id":8,"name":"x","required":false,"type":"timestamptz"}]},
             "value-required":true}}]}"#;
        let fields = read_schema(json).unwrap();
        let types: Vec<_> = fields
            .iter()
            .map(|field| field.data_type.to_string())
            .collect();
        let expected = [
            "bigint",
            "decimal(9,2)",
            "array<date>",
            "map<string,struct<x:timestamp>>",
        ];
        assert_eq!(types, expected);
        let ids: Vec<_> = fields.iter().map(|field| field.field_id.unwrap()).collect();
        assert_eq!(ids, [1, 2, 3, 5]);
        assert_eq!(fields[1].exists_default.as_deref(), Some("\"1.50\""));
        assert!(!fields[0].nullable && fields[1].nullable);
    }

    #[test]
    fn other_schemas_are_refused() {
        let of = |of: &str| {
            let field = format!(r#"{{"id":1,"name":"a","required":true,"type":{of}}}"#);
            read_schema(&format!(r#"{{"fields":[{field}]}}"#)).map(|fields| fields.len())
        };
        assert_eq!(of("\"int\""), Ok(1));
        for other in [
            "\"uuid\"",
            "\"fixed[3]\"",
            "\"timestamp_ns\"",
            "\"decimal(39, 0)\"",
            "\"decimal(3, -1)\"",
            "{}",
            "3",
            r#"{"type":"list","element":"int"}"#,
        ] {
            assert!(of(other).is_err(), "{other}");
        }
        for other in ["", "{}", "[]", r#"{"fields":[{}]}"#] {
            assert!(
                read_schema(other).is_err() && read_spec(other).is_err(),
                "{other}"
            );
        }
        let deep = "[".repeat(100_000);
        assert!(read_schema(&deep).is_err());
    }

    #[test]
    fn columns_that_partitions_are_made_by() {
        let json = r#"{"spec-id":2,"fields":[
            {"name":"d","transform":"identity","source-id":3,"field-id":1000},
            {"name":"b","transform":"bucket[4]","source-id":1,"field-id":1001}]}"#;
        let field = |id, name: &str, source| PartitionField {
            id,
            name: name.to_owned(),
            source,
        };
        let expected = vec![field(1000, "d", Some(3)), field(1001, "b", None)];
        assert_eq!(read_spec(json), Ok(expected));
        assert_eq!(read_spec(r#"{"fields":[]}"#), Ok(vec![]));
    }
}
