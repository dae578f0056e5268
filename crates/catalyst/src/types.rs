//! Spark's data types.

use std::fmt;

use javaser::arena::Value;

use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader, simple};

/// An `org.apache.spark.sql.types.DataType`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `NullType`
    Null,
    /// `BooleanType`
    Boolean,
    /// `ByteType`
    Byte,
    /// `ShortType`
    Short,
    /// `IntegerType`
    Integer,
    /// `LongType`
    Long,
    /// `FloatType`
    Float,
    /// `DoubleType`
    Double,
    /// `DecimalType`
    Decimal(Decimal),
    /// `StringType` with Spark's own collation, which compares bytes.
    String,
    /// `BinaryType`
    Binary,
    /// `DateType`: days since 1970-01-01.
    Date,
    /// `TimestampType`: microseconds since the epoch.
    Timestamp,
    /// `TimestampNTZType`: microseconds without a time zone.
    TimestampNtz,
    /// `CalendarIntervalType`
    CalendarInterval,
    /// `YearMonthIntervalType`: months.
    YearMonthInterval,
    /// `DayTimeIntervalType`: microseconds.
    DayTimeInterval,
    /// `TimeType`: nanoseconds of a day. Its digits behind the seconds, at most [`MAX_TIME_PRECISION`], bind no value.
    Time(u8),
    /// `VariantType`: a value of any type, as two binaries. None can be compared.
    Variant,
    /// `ArrayType`
    Array {
        /// Type of the elements.
        element: Box<Self>,
        /// Whether elements may be null.
        contains_null: bool,
    },
    /// `MapType`
    Map {
        /// Type of the keys.
        key: Box<Self>,
        /// Type of the values.
        value: Box<Self>,
        /// Whether values may be null.
        value_contains_null: bool,
    },
    /// `StructType`
    Struct(Vec<StructField>),
}

/// Precision and scale of a `DecimalType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Number of digits, 1 to 38.
    pub precision: u8,
    /// Digits behind the point; negative only with Spark's legacy setting.
    pub scale: i8,
}

/// Most digits of a decimal.
pub const MAX_PRECISION: u8 = 38;

/// Most digits of a decimal that are kept in a `long`, `Decimal.MAX_LONG_DIGITS`.
pub const MAX_LONG_DIGITS: u8 = 18;

/// Most digits behind the seconds of a time, `TimeType.MAX_PRECISION` of Spark 4.3.
pub const MAX_TIME_PRECISION: u8 = 9;

/// Types without parameters, by the names of Spark's singletons.
static OBJECTS: [(&str, DataType); 15] = [
    ("NullType", DataType::Null),
    ("BooleanType", DataType::Boolean),
    ("ByteType", DataType::Byte),
    ("ShortType", DataType::Short),
    ("IntegerType", DataType::Integer),
    ("LongType", DataType::Long),
    ("FloatType", DataType::Float),
    ("DoubleType", DataType::Double),
    ("StringType", DataType::String),
    ("BinaryType", DataType::Binary),
    ("DateType", DataType::Date),
    ("TimestampType", DataType::Timestamp),
    ("TimestampNTZType", DataType::TimestampNtz),
    ("CalendarIntervalType", DataType::CalendarInterval),
    ("VariantType", DataType::Variant),
];

impl Decimal {
    /// What Spark makes of a result with these digits when it may lose digits behind the point
    /// (`DecimalType.adjustPrecisionScale`) or may not (`DecimalType.bounded`).
    #[must_use]
    pub fn fit(precision: i32, scale: i32, allow_precision_loss: bool) -> Self {
        let max = i32::from(MAX_PRECISION);
        let (precision, scale) = if !allow_precision_loss || precision <= max || scale < 0 {
            (precision.min(max), scale.min(max))
        } else {
            let digits = precision - scale;
            (max, (max - digits).max(scale.min(6)))
        };
        Self {
            precision: u8::try_from(precision).unwrap_or(1),
            scale: i8::try_from(scale).unwrap_or(0),
        }
    }

    /// Digits before the point.
    #[must_use]
    pub fn integral_digits(self) -> i32 {
        i32::from(self.precision) - i32::from(self.scale)
    }
}

/// A `StructField`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StructField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether it may be null.
    pub nullable: bool,
    /// `parquet.field.id` of its metadata.
    pub field_id: Option<i64>,
    /// `EXISTS_DEFAULT` of its metadata: SQL of the value for files that lack the column.
    pub exists_default: Option<String>,
}

impl DataType {
    /// Whether it has no parts, and values of it that are equal are the same: truths, integers, decimals, texts, dates
    /// and times. Of floats there are two zeros and many NaNs, and binaries are compared in several ways.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(
            self,
            Self::Boolean
                | Self::Byte
                | Self::Short
                | Self::Integer
                | Self::Long
                | Self::Decimal(_)
                | Self::String
                | Self::Date
                | Self::Timestamp
                | Self::TimestampNtz
                | Self::Time(_)
        )
    }

    /// Whether it is that of variants, or has some in its parts.
    #[must_use]
    pub fn has_variants(&self) -> bool {
        match self {
            Self::Variant => true,
            Self::Array { element, .. } => element.has_variants(),
            Self::Map { key, value, .. } => key.has_variants() || value.has_variants(),
            Self::Struct(fields) => fields.iter().any(|field| field.data_type.has_variants()),
            _ => false,
        }
    }

    /// The decimal that it is.
    #[must_use]
    pub fn decimal(&self) -> Option<Decimal> {
        match self {
            Self::Decimal(decimal) => Some(*decimal),
            _ => None,
        }
    }

    /// Whether it is the same but for where nulls are allowed.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.same_parts(other, &|field, other| field.name == other.name)
    }

    /// Whether it is the same but for the names of fields, and where nulls are allowed.
    #[must_use]
    pub fn is_like_but_for_names(&self, other: &Self) -> bool {
        self.same_parts(other, &|_, _| true)
    }

    fn same_parts(&self, other: &Self, same: &dyn Fn(&StructField, &StructField) -> bool) -> bool {
        match (self, other) {
            (Self::Array { element, .. }, Self::Array { element: of, .. }) => {
                element.same_parts(of, same)
            }
            (
                Self::Map { key, value, .. },
                Self::Map {
                    key: other_key,
                    value: other_value,
                    ..
                },
            ) => key.same_parts(other_key, same) && value.same_parts(other_value, same),
            (Self::Struct(fields), Self::Struct(others)) => {
                let mut pairs = fields.iter().zip(others);
                fields.len() == others.len()
                    && pairs.all(|(field, other)| {
                        same(field, other) && field.data_type.same_parts(&other.data_type, same)
                    })
            }
            _ => self == other,
        }
    }

    /// The name of Spark's singleton, if it is one.
    pub fn object(&self) -> Option<&'static str> {
        let object = OBJECTS.iter().find(|(_, of)| of == self);
        object.map(|(name, _)| *name)
    }

    pub(crate) fn read(reader: &Reader<'_>, value: Value) -> Result<Self> {
        reader.nested(|| Self::read_nested(reader, value))
    }

    fn read_nested(reader: &Reader<'_>, value: Value) -> Result<Self> {
        let class = reader.class(value);
        let Some(name) = class.strip_prefix("org.apache.spark.sql.types.") else {
            return Err(Unsupported::Class(simple(class).to_owned()));
        };
        let object = reader.expect(value)?;
        let inner = |name| Self::read(reader, object.value(name)?).map(Box::new);
        Ok(match name.trim_end_matches('$') {
            "DecimalType" => {
                let number =
                    |name| i8::try_from(object.int(name)?).map_err(|_| object.missing(name));
                let precision = u8::try_from(number("precision")?)
                    .ok()
                    .filter(|p| (1..=MAX_PRECISION).contains(p))
                    .ok_or_else(|| object.missing("precision"))?;
                Self::Decimal(Decimal {
                    precision,
                    scale: number("scale")?,
                })
            }
            "StringType" => {
                // A singleton has no field; instances are collations other than the default, or that by its number.
                let collation = object.get("collationId").and_then(|v| reader.graph.int(v));
                if collation.is_some_and(|id| id != 0) {
                    return Err(Unsupported::of_use("a collation"));
                }
                Self::String
            }
            // They behave as strings once they are read or written.
            "CharType" | "VarcharType" => return Err(Unsupported::Class(simple(class).to_owned())),
            // No singletons: they have a first and a last field.
            "YearMonthIntervalType" => Self::YearMonthInterval,
            "DayTimeIntervalType" => Self::DayTimeInterval,
            "TimeType" => Self::Time(
                u8::try_from(object.int("precision")?)
                    .ok()
                    .filter(|precision| *precision <= MAX_TIME_PRECISION)
                    .ok_or_else(|| object.missing("precision"))?,
            ),
            "ArrayType" => Self::Array {
                element: inner("elementType")?,
                contains_null: object.bool("containsNull")?,
            },
            "MapType" => Self::Map {
                key: inner("keyType")?,
                value: inner("valueType")?,
                value_contains_null: object.bool("valueContainsNull")?,
            },
            "StructType" => Self::Struct(read_fields(reader, object)?),
            other => match OBJECTS.iter().find(|(name, _)| *name == other) {
                Some((_, of)) => of.clone(),
                None => return Err(Unsupported::Class(other.to_owned())),
            },
        })
    }
}

/// Fields of a `StructType`.
pub(crate) fn read_fields(reader: &Reader<'_>, object: Object<'_>) -> Result<Vec<StructField>> {
    object
        .elements("fields")?
        .into_iter()
        .map(|field| {
            let field = reader.expect(field)?;
            let metadata = match field.maybe("metadata") {
                Some(metadata) => metadata.pairs("map")?,
                None => Vec::new(),
            };
            let of = |key: &str| {
                metadata
                    .iter()
                    .find(|(name, _)| reader.graph.str(*name).as_deref() == Some(key))
                    .map(|(_, value)| *value)
            };
            Ok(StructField {
                name: field.text("name")?.into_owned(),
                data_type: DataType::read(reader, field.value("dataType")?)?,
                nullable: field.bool("nullable")?,
                field_id: of("parquet.field.id").and_then(|id| reader.graph.int(id)),
                exists_default: of("EXISTS_DEFAULT")
                    .and_then(|sql| reader.graph.str(sql))
                    .map(std::borrow::Cow::into_owned),
            })
        })
        .collect()
}

/// As `DataType.catalogString`.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("void"),
            Self::Boolean => f.write_str("boolean"),
            Self::Byte => f.write_str("tinyint"),
            Self::Short => f.write_str("smallint"),
            Self::Integer => f.write_str("int"),
            Self::Long => f.write_str("bigint"),
            Self::Float => f.write_str("float"),
            Self::Double => f.write_str("double"),
            Self::Decimal(d) => write!(f, "decimal({},{})", d.precision, d.scale),
            Self::String => f.write_str("string"),
            Self::Binary => f.write_str("binary"),
            Self::Date => f.write_str("date"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::TimestampNtz => f.write_str("timestamp_ntz"),
            Self::CalendarInterval => f.write_str("interval"),
            Self::YearMonthInterval => f.write_str("interval year to month"),
            Self::DayTimeInterval => f.write_str("interval day to second"),
            Self::Time(precision) => write!(f, "time({precision})"),
            Self::Variant => f.write_str("variant"),
            Self::Array { element, .. } => write!(f, "array<{element}>"),
            Self::Map { key, value, .. } => write!(f, "map<{key},{value}>"),
            Self::Struct(fields) => {
                f.write_str("struct<")?;
                for (index, field) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{}", field.name, field.data_type)?;
                }
                f.write_str(">")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(precision: i32, scale: i32, loss: bool) -> (u8, i8) {
        let decimal = Decimal::fit(precision, scale, loss);
        (decimal.precision, decimal.scale)
    }

    #[test]
    fn decimals_that_are_too_wide_lose_digits_behind_the_point_or_not() {
        assert_eq!(fit(32, 4, true), (32, 4));
        assert_eq!(fit(48, 20, true), (38, 10));
        assert_eq!(fit(60, 20, true), (38, 6));
        assert_eq!(fit(60, 3, true), (38, 3));
        assert_eq!(fit(60, 20, false), (38, 20));
        assert_eq!(fit(40, -2, true), (38, -2));
    }
}
