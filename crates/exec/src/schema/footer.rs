//! The columns of a Parquet file: those that Spark wrote into its footer, or what `ParquetToSparkSchemaConverter` makes
//! of the file's own.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::Type;
use serde_json::Value as Json;

use crate::sources::FileBytes;
use catalyst::SchemaOptions;
use catalyst::{DataType, Decimal, MAX_LONG_DIGITS, MAX_PRECISION, StructField};

/// Where Spark keeps the columns of what it has written.
const SPARK_METADATA_KEY: &str = "org.apache.spark.sql.parquet.row.metadata";

/// Deepest nesting of types.
const MAX_DEPTH: u32 = 100;

/// `Decimal.MAX_INT_DIGITS`
const MAX_INT_DIGITS: i32 = 9;

type Result<T> = std::result::Result<T, String>;

/// The columns of a file, without metadata.
///
/// # Errors
/// Why they are left to Spark, which may have words of its own for it.
pub fn read(
    file: Arc<dyn FileBytes>,
    size: u64,
    options: SchemaOptions,
) -> Result<Vec<StructField>> {
    let unreadable = "a file without a footer that can be read";
    let footer = crate::scan::footer_of(file, size).map_err(|_| unreadable.to_owned())?;
    let footer = footer.file_metadata();
    let mut pairs = footer.key_value_metadata().into_iter().flatten();
    let by_spark = pairs.find(|pair| pair.key == SPARK_METADATA_KEY);
    if let Some(text) = by_spark.and_then(|pair| pair.value.as_deref()) {
        let json: Json = serde_json::from_str(text).map_err(|_| "columns in no JSON".to_owned())?;
        return match of_json(&json, 0)? {
            DataType::Struct(columns) => Ok(columns),
            _ => Err("columns of no struct".to_owned()),
        };
    }
    let fields = footer.schema_descr().root_schema().get_fields();
    fields.iter().map(|field| column(field, options)).collect()
}

/// A type as `DataType.json` writes it.
fn of_json(json: &Json, depth: u32) -> Result<DataType> {
    let unknown = || format!("a column of type {json}");
    if depth > MAX_DEPTH {
        return Err("types that are nested too deeply".to_owned());
    }
    if let Some(name) = json.as_str() {
        return simple(name).ok_or_else(unknown);
    }
    let flag = |json: &Json, name: &str| json[name].as_bool().ok_or_else(unknown);
    let inner = |name: &str| of_json(&json[name], depth + 1).map(Box::new);
    match json["type"].as_str() {
        Some("array") => Ok(DataType::Array {
            element: inner("elementType")?,
            contains_null: flag(json, "containsNull")?,
        }),
        Some("map") => Ok(DataType::Map {
            key: inner("keyType")?,
            value: inner("valueType")?,
            value_contains_null: flag(json, "valueContainsNull")?,
        }),
        Some("struct") => {
            let fields = json["fields"].as_array().ok_or_else(unknown)?;
            let columns = fields.iter().map(|field| {
                if field["metadata"]
                    .as_object()
                    .is_some_and(|all| !all.is_empty())
                {
                    return Err("columns with metadata".to_owned());
                }
                let name = field["name"].as_str().ok_or_else(unknown)?;
                let data_type = of_json(&field["type"], depth + 1)?;
                Ok(without_metadata(name, data_type, flag(field, "nullable")?))
            });
            columns.collect::<Result<_>>().map(DataType::Struct)
        }
        _ => Err(unknown()),
    }
}

fn without_metadata(name: &str, data_type: DataType, nullable: bool) -> StructField {
    StructField {
        name: name.to_owned(),
        data_type,
        nullable,
        field_id: None,
        exists_default: None,
    }
}

fn simple(name: &str) -> Option<DataType> {
    if let Some(parameters) = name.strip_prefix("decimal(") {
        let (precision, scale) = parameters.strip_suffix(')')?.split_once(',')?;
        let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
        return decimal(precision, scale);
    }
    Some(match name {
        "void" | "null" => DataType::Null,
        "boolean" => DataType::Boolean,
        "byte" => DataType::Byte,
        "short" => DataType::Short,
        "integer" => DataType::Integer,
        "long" => DataType::Long,
        "float" => DataType::Float,
        "double" => DataType::Double,
        "string" => DataType::String,
        "binary" => DataType::Binary,
        "date" => DataType::Date,
        "timestamp" => DataType::Timestamp,
        "timestamp_ntz" => DataType::TimestampNtz,
        "variant" => DataType::Variant,
        _ => return None,
    })
}

fn decimal(precision: i32, scale: i32) -> Option<DataType> {
    let precision = u8::try_from(precision).ok()?;
    let scale = i8::try_from(scale).ok()?;
    let known = (1..=MAX_PRECISION).contains(&precision);
    known.then_some(DataType::Decimal(Decimal { precision, scale }))
}

fn column(field: &Type, options: SchemaOptions) -> Result<StructField> {
    let info = field.get_basic_info();
    let unknown = || format!("a Parquet column such as {field:?}");
    if !field.is_primitive() {
        return Err("nested columns of a file that Spark did not write".to_owned());
    }
    let nullable = match info.repetition() {
        Repetition::OPTIONAL => true,
        Repetition::REQUIRED => false,
        Repetition::REPEATED => return Err("repeated columns".to_owned()),
    };
    let meaning = Meaning::of(field).ok_or_else(unknown)?;
    let data_type = primitive(field, meaning, options).ok_or_else(unknown)?;
    Ok(without_metadata(info.name(), data_type, nullable))
}

/// What a column's annotation says, the old way or the new.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    Nothing,
    Text,
    Bson,
    Date,
    Integer { bits: i8, signed: bool },
    Decimal { precision: i32, scale: i32 },
    Timestamp { utc: bool },
}

impl Meaning {
    fn of(field: &Type) -> Option<Self> {
        let info = field.get_basic_info();
        let decimal = || Self::Decimal {
            precision: field.get_precision(),
            scale: field.get_scale(),
        };
        let integer = |bits, signed| Self::Integer { bits, signed };
        if let Some(logical) = info.logical_type_ref() {
            return Some(match logical {
                LogicalType::String | LogicalType::Enum | LogicalType::Json => Self::Text,
                LogicalType::Bson => Self::Bson,
                LogicalType::Date => Self::Date,
                LogicalType::Decimal(of) => Self::Decimal {
                    precision: of.precision,
                    scale: of.scale,
                },
                LogicalType::Integer(of) => integer(of.bit_width, of.is_signed),
                LogicalType::Timestamp(of)
                    if matches!(of.unit, TimeUnit::MILLIS | TimeUnit::MICROS) =>
                {
                    Self::Timestamp {
                        utc: of.is_adjusted_to_u_t_c,
                    }
                }
                _ => return None,
            });
        }
        Some(match info.converted_type() {
            ConvertedType::NONE => Self::Nothing,
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Self::Text,
            ConvertedType::BSON => Self::Bson,
            ConvertedType::DATE => Self::Date,
            ConvertedType::DECIMAL => decimal(),
            ConvertedType::INT_8 => integer(8, true),
            ConvertedType::INT_16 => integer(16, true),
            ConvertedType::INT_32 => integer(32, true),
            ConvertedType::INT_64 => integer(64, true),
            ConvertedType::UINT_8 => integer(8, false),
            ConvertedType::UINT_16 => integer(16, false),
            ConvertedType::UINT_32 => integer(32, false),
            ConvertedType::UINT_64 => integer(64, false),
            ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS => {
                Self::Timestamp { utc: true }
            }
            _ => return None,
        })
    }
}

/// `convertPrimitiveField`; `None` for what Spark refuses, or does by settings that are not known here.
fn primitive(field: &Type, meaning: Meaning, options: SchemaOptions) -> Option<DataType> {
    let decimal_of = |most: i32| match meaning {
        Meaning::Decimal { precision, scale } => {
            let fits = precision <= most && (0..=precision).contains(&scale);
            decimal(precision, scale).filter(|_| fits)
        }
        _ => None,
    };
    Some(match (field.get_physical_type(), meaning) {
        (Physical::BOOLEAN, Meaning::Nothing) => DataType::Boolean,
        (Physical::FLOAT, Meaning::Nothing) => DataType::Float,
        (Physical::DOUBLE, Meaning::Nothing) => DataType::Double,
        (Physical::INT32, Meaning::Nothing) => DataType::Integer,
        (Physical::INT32, Meaning::Date) => DataType::Date,
        (Physical::INT32, Meaning::Integer { bits, signed }) => match (bits, signed) {
            (8, true) => DataType::Byte,
            (16, true) | (8, false) => DataType::Short,
            (32, true) | (16, false) => DataType::Integer,
            (32, false) => DataType::Long,
            _ => return None,
        },
        (Physical::INT32, Meaning::Decimal { .. }) => return decimal_of(MAX_INT_DIGITS),
        (Physical::INT64, Meaning::Nothing) => DataType::Long,
        (Physical::INT64, Meaning::Integer { bits: 64, signed }) => {
            if !signed {
                return decimal(20, 0);
            }
            DataType::Long
        }
        (Physical::INT64, Meaning::Timestamp { utc }) => {
            match utc || !options.infer_timestamp_ntz {
                true => DataType::Timestamp,
                false => DataType::TimestampNtz,
            }
        }
        (Physical::INT64, Meaning::Decimal { .. }) => {
            return decimal_of(i32::from(MAX_LONG_DIGITS));
        }
        (Physical::INT96, Meaning::Nothing) if options.int96_as_timestamp => DataType::Timestamp,
        (Physical::BYTE_ARRAY, Meaning::Text) => DataType::String,
        (Physical::BYTE_ARRAY, Meaning::Nothing) if options.binary_as_string => DataType::String,
        (Physical::BYTE_ARRAY, Meaning::Nothing | Meaning::Bson)
        | (Physical::FIXED_LEN_BYTE_ARRAY, Meaning::Nothing) => DataType::Binary,
        (Physical::BYTE_ARRAY, Meaning::Decimal { .. }) => return decimal_of(i32::MAX),
        (Physical::FIXED_LEN_BYTE_ARRAY, Meaning::Decimal { .. }) => {
            return decimal_of(digits_of_bytes(type_length(field)));
        }
        _ => return None,
    })
}

fn type_length(field: &Type) -> i32 {
    match field {
        Type::PrimitiveType { type_length, .. } => *type_length,
        Type::GroupType { .. } => 0,
    }
}

/// `Decimal.maxPrecisionForBytes`: digits that a number of so many bytes surely holds.
fn digits_of_bytes(bytes: i32) -> i32 {
    let bits = f64::from(8 * bytes.clamp(0, 1000) - 1);
    // Far from any power of ten: 2^n is none.
    (bits * std::f64::consts::LOG10_2).floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::schema::parser::parse_message_type;

    const OPTIONS: SchemaOptions = SchemaOptions {
        binary_as_string: false,
        int96_as_timestamp: true,
        infer_timestamp_ntz: true,
    };

    fn of(column_text: &str, options: SchemaOptions) -> Result<StructField> {
        let message = parse_message_type(&format!(
            "message m {{ {column_text}{} }}",
            if column_text.ends_with('}') { "" } else { ";" }
        ))
        .unwrap();
        column(&message.get_fields()[0], options)
    }

    #[track_caller]
    fn is(text: &str, expected: &str) {
        let found = of(text, OPTIONS).unwrap();
        assert_eq!(found.data_type, simple(expected).unwrap(), "{text}");
        assert_eq!(found.nullable, text.starts_with("optional"), "{text}");
        assert_eq!(found.name, "c", "{text}");
    }

    #[test]
    fn columns_of_other_writers() {
        is("optional boolean c", "boolean");
        is("required int32 c", "integer");
        is("optional int32 c (INTEGER(8,true))", "byte");
        is("optional int32 c (UINT_8)", "short");
        is("optional int32 c (INTEGER(32,false))", "long");
        is("optional int32 c (DATE)", "date");
        is("optional int32 c (DECIMAL(9,2))", "decimal(9,2)");
        is("optional int64 c (DECIMAL(18,0))", "decimal(18,0)");
        is("optional int64 c (INTEGER(64,false))", "decimal(20,0)");
        is("optional int64 c (TIMESTAMP(MICROS,true))", "timestamp");
        is(
            "optional int64 c (TIMESTAMP(MILLIS,false))",
            "timestamp_ntz",
        );
        is("optional int64 c (TIMESTAMP_MILLIS)", "timestamp");
        is("optional int96 c", "timestamp");
        is("optional float c", "float");
        is("optional double c", "double");
        is("optional binary c (STRING)", "string");
        is("optional binary c (UTF8)", "string");
        is("optional binary c", "binary");
        is("optional binary c (DECIMAL(38,10))", "decimal(38,10)");
        is(
            "optional fixed_len_byte_array(7) c (DECIMAL(16,2))",
            "decimal(16,2)",
        );
        is("required fixed_len_byte_array(3) c", "binary");
    }

    #[test]
    fn settings_decide() {
        let other = SchemaOptions {
            binary_as_string: true,
            int96_as_timestamp: false,
            infer_timestamp_ntz: false,
        };
        let found = of("optional binary c", other).unwrap().data_type;
        assert_eq!(found, DataType::String);
        let found = of("optional int64 c (TIMESTAMP(MICROS,false))", other);
        assert_eq!(found.unwrap().data_type, DataType::Timestamp);
        assert!(of("optional int96 c", other).is_err());
    }

    #[test]
    fn what_spark_refuses_is_left_to_it() {
        for text in [
            "optional int64 c (TIMESTAMP(NANOS,true))",
            "optional int32 c (TIME(MILLIS,true))",
            "repeated int32 c",
            "optional group c { optional int32 d; }",
            "optional fixed_len_byte_array(16) c (UUID)",
        ] {
            assert!(of(text, OPTIONS).is_err(), "{text}");
        }
    }

    #[test]
    fn columns_that_spark_wrote() {
        let json = r#"{"type":"struct","fields":[
            {"name":"a","type":"decimal(12,2)","nullable":true,"metadata":{}},
            {"name":"b","type":{"type":"map","keyType":"string","valueType":{"type":"array","elementType":"long","containsNull":false},
             "valueContainsNull":true},"nullable":false,"metadata":{}}]}"#;
        let found = of_json(&serde_json::from_str(json).unwrap(), 0).unwrap();
        let array = DataType::Array {
            element: Box::new(DataType::Long),
            contains_null: false,
        };
        let map = DataType::Map {
            key: Box::new(DataType::String),
            value: Box::new(array),
            value_contains_null: true,
        };
        let decimal = DataType::Decimal(Decimal {
            precision: 12,
            scale: 2,
        });
        let expected = vec![
            without_metadata("a", decimal, true),
            without_metadata("b", map, false),
        ];
        assert_eq!(found, DataType::Struct(expected));
        for other in [
            r#"{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{"comment":"x"}}]}"#,
            r#"{"type":"udt","class":"x"}"#,
            r#""interval day to second""#,
            r#""char(3)""#,
            r#""decimal(39,2)""#,
        ] {
            assert!(
                of_json(&serde_json::from_str(other).unwrap(), 0).is_err(),
                "{other}"
            );
        }
    }

    #[test]
    fn digits_are_those_of_spark() {
        let digits: Vec<i32> = [1, 2, 3, 4, 8, 9, 16].map(digits_of_bytes).to_vec();
        assert_eq!(digits, [2, 4, 6, 9, 18, 21, 38]);
    }
}
