//! Spark's types as those of Parquet files (`SparkToParquetSchemaConverter`), and as those of the arrays that are
//! written.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field, Fields, TimeUnit as ArrowUnit};
use catalyst::{Attribute, DataType, MAX_LONG_DIGITS, StructField, Unsupported};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::Result;
use parquet::schema::types::{Type, TypePtr};
use rows::types::ToArrow;

/// Most digits of decimals that are kept in 32 bits: `Decimal.MAX_INT_DIGITS`.
const MAX_INT_DIGITS: u8 = 9;

/// Bytes of a timestamp of 96 bits.
pub(super) const INT96_BYTES: i32 = 12;

/// How timestamps are kept: `spark.sql.parquet.outputTimestampType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampFormat {
    /// `INT96`: a Julian day and nanoseconds.
    Int96,
    /// `TIMESTAMP_MICROS`
    Micros,
    /// `TIMESTAMP_MILLIS`
    Millis,
}

/// The type of a file's rows. As it is written, timestamps of 96 bits are arrays of 12 bytes: the pages are the same.
///
/// # Errors
/// Those of names that Parquet does not take.
pub(super) fn message(
    columns: &[Attribute],
    timestamps: TimestampFormat,
    as_written: bool,
) -> Result<TypePtr> {
    let types = Types {
        timestamps,
        as_written,
    };
    let fields = columns
        .iter()
        .map(|column| types.field(&column.name, &column.data_type, column.nullable));
    let schema = Type::group_type_builder("spark_schema")
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    Ok(Arc::new(schema))
}

struct Types {
    timestamps: TimestampFormat,
    as_written: bool,
}

impl Types {
    fn field(&self, name: &str, of: &DataType, nullable: bool) -> Result<TypePtr> {
        let repetition = match nullable {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let group = |logical: Option<LogicalType>, fields: Vec<TypePtr>| {
            Type::group_type_builder(name)
                .with_repetition(repetition)
                .with_logical_type(logical)
                .with_fields(fields)
                .build()
        };
        let repeated = |name: &str, fields: Vec<TypePtr>| {
            let group = Type::group_type_builder(name)
                .with_repetition(Repetition::REPEATED)
                .with_fields(fields)
                .build()?;
            Ok::<_, parquet::errors::ParquetError>(Arc::new(group))
        };
        let built = match of {
            DataType::Struct(fields) => {
                let fields = fields
                    .iter()
                    .map(|field| self.field(&field.name, &field.data_type, field.nullable));
                group(None, fields.collect::<Result<_>>()?)?
            }
            DataType::Array {
                element,
                contains_null,
            } => {
                let element = self.field("element", element, *contains_null)?;
                group(
                    Some(LogicalType::List),
                    vec![repeated("list", vec![element])?],
                )?
            }
            DataType::Map {
                key,
                value,
                value_contains_null,
            } => {
                let key = self.field("key", key, false)?;
                let value = self.field("value", value, *value_contains_null)?;
                let entries = repeated("key_value", vec![key, value])?;
                group(Some(LogicalType::Map), vec![entries])?
            }
            leaf => self.leaf(name, leaf, repetition)?,
        };
        Ok(Arc::new(built))
    }

    fn leaf(&self, name: &str, of: &DataType, repetition: Repetition) -> Result<Type> {
        let timestamp = |unit, of_utc| Some(LogicalType::timestamp(of_utc, unit));
        let (physical, logical) = match of {
            DataType::Boolean => (Physical::BOOLEAN, None),
            DataType::Byte => (Physical::INT32, Some(LogicalType::integer(8, true))),
            DataType::Short => (Physical::INT32, Some(LogicalType::integer(16, true))),
            DataType::Integer | DataType::YearMonthInterval => (Physical::INT32, None),
            DataType::Date => (Physical::INT32, Some(LogicalType::Date)),
            DataType::Float => (Physical::FLOAT, None),
            DataType::Double => (Physical::DOUBLE, None),
            DataType::String => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            DataType::Binary => (Physical::BYTE_ARRAY, None),
            DataType::TimestampNtz => (Physical::INT64, timestamp(TimeUnit::MICROS, false)),
            DataType::Timestamp => match self.timestamps {
                TimestampFormat::Int96 if self.as_written => (Physical::FIXED_LEN_BYTE_ARRAY, None),
                TimestampFormat::Int96 => (Physical::INT96, None),
                TimestampFormat::Micros => (Physical::INT64, timestamp(TimeUnit::MICROS, true)),
                TimestampFormat::Millis => (Physical::INT64, timestamp(TimeUnit::MILLIS, true)),
            },
            DataType::Decimal(decimal) => {
                let logical = LogicalType::decimal(decimal.scale.into(), decimal.precision.into());
                let physical = match decimal.precision {
                    few if few <= MAX_INT_DIGITS => Physical::INT32,
                    some if some <= MAX_LONG_DIGITS => Physical::INT64,
                    _ => Physical::FIXED_LEN_BYTE_ARRAY,
                };
                (physical, Some(logical))
            }
            DataType::Time(precision) => {
                let unit = match is_nanos(*precision) {
                    true => TimeUnit::NANOS,
                    false => TimeUnit::MICROS,
                };
                (Physical::INT64, Some(LogicalType::time(false, unit)))
            }
            // The others were refused.
            _ => (Physical::INT64, None),
        };
        let mut builder = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical);
        if let DataType::Decimal(decimal) = of {
            builder = builder
                .with_precision(decimal.precision.into())
                .with_scale(decimal.scale.into());
        }
        if physical == Physical::FIXED_LEN_BYTE_ARRAY {
            let length = of.decimal().map(|decimal| bytes_of(decimal.precision));
            builder = builder.with_length(length.unwrap_or(INT96_BYTES));
        }
        builder.build()
    }
}

/// Whether times of a precision are kept in nanoseconds; only Spark 4.3 has such, and others are microseconds.
fn is_nanos(precision: u8) -> bool {
    precision > 6
}

/// `Decimal.minBytesForPrecision`: bytes of the smallest signed number with so many digits.
fn bytes_of(precision: u8) -> i32 {
    let mut bytes: u32 = 1;
    while bytes < 16 && 2_u128.pow(8 * bytes - 1) < 10_u128.pow(precision.into()) {
        bytes += 1;
    }
    // At most 16.
    bytes.cast_signed()
}

/// The field of an array that is written. Arrays with nulls where it allows none are not to be made.
///
/// # Errors
/// Columns of that type are not written.
pub(super) fn field(
    name: &str,
    of: &DataType,
    nullable: bool,
    timestamps: TimestampFormat,
) -> std::result::Result<Field, Unsupported> {
    Ok(Field::new(name, array_type(of, timestamps)?, nullable))
}

fn array_type(
    of: &DataType,
    timestamps: TimestampFormat,
) -> std::result::Result<ArrowType, Unsupported> {
    Ok(match of {
        DataType::Null | DataType::Variant => {
            return Err(Unsupported::of_use(format!(
                "a write of a column of type {of}"
            )));
        }
        DataType::YearMonthInterval => ArrowType::Int32,
        DataType::DayTimeInterval => ArrowType::Int64,
        DataType::Time(precision) if !is_nanos(*precision) => {
            ArrowType::Time64(ArrowUnit::Microsecond)
        }
        DataType::Timestamp => match timestamps {
            TimestampFormat::Int96 => ArrowType::FixedSizeBinary(INT96_BYTES),
            TimestampFormat::Micros => of.to_arrow()?,
            TimestampFormat::Millis => {
                ArrowType::Timestamp(ArrowUnit::Millisecond, Some("UTC".into()))
            }
        },
        DataType::Array {
            element,
            contains_null,
        } => ArrowType::List(Arc::new(field(
            "element",
            element,
            *contains_null,
            timestamps,
        )?)),
        DataType::Map {
            key,
            value,
            value_contains_null,
        } => {
            let [key, value] = [
                field("key", key, false, timestamps)?,
                field("value", value, *value_contains_null, timestamps)?,
            ];
            let entries = ArrowType::Struct(Fields::from(vec![key, value]));
            ArrowType::Map(Arc::new(Field::new("key_value", entries, false)), false)
        }
        DataType::Struct(fields) => ArrowType::Struct(struct_fields(fields, timestamps)?),
        other => other.to_arrow()?,
    })
}

fn struct_fields(
    fields: &[StructField],
    timestamps: TimestampFormat,
) -> std::result::Result<Fields, Unsupported> {
    if fields.is_empty() {
        return Err(Unsupported::of_use("a write of a struct without fields"));
    }
    fields
        .iter()
        .map(|of| field(&of.name, &of.data_type, of.nullable, timestamps).map(Arc::new))
        .collect()
}
