//! Values in plans, as Catalyst keeps them.

use std::fmt;

use javaser::arena::{Graph, NodeId, Value};

use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader, simple};
use crate::stage::Settings;
use crate::types::DataType;
use crate::unsafe_row;

/// A value of a [`DataType`], in Catalyst's internal form.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null` of any type.
    Null,
    /// Of `BooleanType`.
    Boolean(bool),
    /// Of `ByteType`.
    Byte(i8),
    /// Of `ShortType`.
    Short(i16),
    /// Of `IntegerType`, `DateType` (days) and `YearMonthIntervalType` (months).
    Integer(i32),
    /// Of `LongType` and, in microseconds, of timestamps and `DayTimeIntervalType`; in nanoseconds, of `TimeType`.
    Long(i64),
    /// Of `FloatType`.
    Float(f32),
    /// Of `DoubleType`.
    Double(f64),
    /// Of `DecimalType`: the digits, with the scale of the type.
    Decimal(i128),
    /// Of `StringType`. Spark does not promise that this is UTF-8.
    String(Vec<u8>),
    /// Of `BinaryType`, and of `VariantType` as [`variant_bytes`] has it.
    Binary(Vec<u8>),
    /// Of `CalendarIntervalType`.
    Interval {
        /// Months.
        months: i32,
        /// Days.
        days: i32,
        /// Microseconds.
        microseconds: i64,
    },
    /// Of `ArrayType`.
    Array(Vec<Self>),
    /// Of `MapType`.
    Map(Vec<(Self, Self)>),
    /// Of `StructType`: its fields.
    Struct(Vec<Self>),
}

impl Literal {
    /// Reads what Catalyst keeps for this type: boxed numbers, `UTF8String`, `Decimal` and so on.
    pub(crate) fn read(reader: &Reader<'_>, value: Value, data_type: &DataType) -> Result<Self> {
        reader.nested(|| Self::read_nested(reader, value, data_type))
    }

    fn read_nested(reader: &Reader<'_>, value: Value, data_type: &DataType) -> Result<Self> {
        let graph = reader.graph;
        if value == Value::Null {
            return Ok(Self::Null);
        }
        let wrong = || {
            let class = simple(reader.class(value));
            Unsupported::of_use(format!("a literal {data_type} in {class}"))
        };
        let int = || graph.int(value).ok_or_else(wrong);
        let object = || reader.expect(value);
        Ok(match data_type {
            DataType::Null => return Err(wrong()),
            DataType::Boolean => Self::Boolean(graph.bool(value).ok_or_else(wrong)?),
            DataType::Byte => Self::Byte(i8::try_from(int()?).map_err(|_| wrong())?),
            DataType::Short => Self::Short(i16::try_from(int()?).map_err(|_| wrong())?),
            DataType::Integer | DataType::Date | DataType::YearMonthInterval => {
                Self::Integer(i32::try_from(int()?).map_err(|_| wrong())?)
            }
            DataType::Long
            | DataType::Timestamp
            | DataType::TimestampNtz
            | DataType::DayTimeInterval
            | DataType::Time(_) => Self::Long(int()?),
            DataType::Float => {
                let number = graph.double(value).ok_or_else(wrong)?;
                // A float widened: nothing is lost on the way back.
                #[allow(clippy::cast_possible_truncation)]
                Self::Float(number as f32)
            }
            DataType::Double => Self::Double(graph.double(value).ok_or_else(wrong)?),
            DataType::Decimal(decimal) => Self::Decimal(read_decimal(object()?, decimal.scale)?),
            DataType::String => Self::String(read_utf8(object()?)?),
            DataType::Binary => Self::Binary(graph.byte_array(value).ok_or_else(wrong)?.to_vec()),
            DataType::Variant => {
                let object = object()?;
                let part = |name| {
                    let bytes = graph.byte_array(object.value(name)?);
                    bytes.ok_or_else(|| object.missing(name))
                };
                let bytes = variant_bytes(part("value")?, part("metadata")?);
                Self::Binary(bytes.ok_or_else(wrong)?)
            }
            DataType::CalendarInterval => {
                let object = object()?;
                Self::Interval {
                    months: object.int("months")?,
                    days: object.int("days")?,
                    microseconds: object.long("microseconds")?,
                }
            }
            DataType::Array { element, .. } => Self::Array(read_array(reader, object()?, element)?),
            DataType::Map { key, value: of, .. } => {
                let object = object()?;
                let keys = read_array(reader, object.object("keyArray")?, key)?;
                let values = read_array(reader, object.object("valueArray")?, of)?;
                Self::Map(keys.into_iter().zip(values).collect())
            }
            DataType::Struct(fields) => {
                let types: Vec<_> = fields.iter().map(|field| field.data_type.clone()).collect();
                Self::Struct(read_row(reader, object()?, &types)?)
            }
        })
    }
}

/// A variant as rows have it: the length of the value, the value, the metadata. `None` if it is too long.
#[must_use]
pub fn variant_bytes(value: &[u8], metadata: &[u8]) -> Option<Vec<u8>> {
    let length = i32::try_from(value.len()).ok()?.to_le_bytes();
    i32::try_from(value.len() + metadata.len() + length.len()).ok()?;
    Some([&length, value, metadata].concat())
}

/// Fields of an `InternalRow`: an `UnsafeRow` or a `GenericInternalRow`.
pub(crate) fn read_row(
    reader: &Reader<'_>,
    row: Object<'_>,
    types: &[DataType],
) -> Result<Vec<Literal>> {
    match row.name() {
        "UnsafeRow" => {
            let (bytes, fields) = unsafe_row_bytes(row)?;
            if fields != types.len() {
                return Err(Unsupported::of_use("a row of another width"));
            }
            unsafe_row::read(&bytes, types)
        }
        "GenericInternalRow" => {
            let values = row.elements("values")?;
            if values.len() != types.len() {
                return Err(Unsupported::of_use("a row of another width"));
            }
            values
                .into_iter()
                .zip(types)
                .map(|(value, data_type)| Literal::read(reader, value, data_type))
                .collect()
        }
        other => Err(Unsupported::Class(other.to_owned())),
    }
}

/// Values of an `InternalRow` with columns of these types.
///
/// # Errors
/// It is another object, or has other values.
pub fn literals_of_row(
    graph: &Graph,
    row: NodeId,
    types: &[DataType],
) -> std::result::Result<Vec<Literal>, Unsupported> {
    let reader = Reader::new(graph, Settings::default());
    read_row(&reader, reader.object(row), types)
}

/// Bytes and number of fields of an `UnsafeRow`.
pub(crate) fn unsafe_row_bytes(row: Object<'_>) -> Result<(Vec<u8>, usize)> {
    let body = body(row);
    let (size, rest) = body
        .split_first_chunk()
        .ok_or_else(|| row.missing("size"))?;
    let (fields, bytes) = rest
        .split_first_chunk()
        .ok_or_else(|| row.missing("numFields"))?;
    let of = |bytes: &[u8; 4]| usize::try_from(i32::from_be_bytes(*bytes)).ok();
    if of(size) != Some(bytes.len()) {
        return Err(row.missing("bytes"));
    }
    let fields = of(fields).ok_or_else(|| row.missing("numFields"))?;
    Ok((bytes.to_vec(), fields))
}

fn read_array(reader: &Reader<'_>, object: Object<'_>, of: &DataType) -> Result<Vec<Literal>> {
    match object.name() {
        "GenericArrayData" => object
            .elements("array")?
            .into_iter()
            .map(|value| Literal::read(reader, value, of))
            .collect(),
        "UnsafeArrayData" => {
            let body = body(object);
            // The size of the array and the number of its elements.
            let bytes = body.get(8..).ok_or_else(|| object.missing("bytes"))?;
            unsafe_row::read_array(bytes, of)
        }
        other => Err(Unsupported::Class(other.to_owned())),
    }
}

/// Digits of an `org.apache.spark.sql.types.Decimal`, brought to the scale of the type.
fn read_decimal(object: Object<'_>, scale: i8) -> Result<i128> {
    let own = i8::try_from(object.int("_scale")?).map_err(|_| object.missing("_scale"))?;
    let (mut digits, own) = match object.maybe("decimalVal") {
        None => (i128::from(object.long("longVal")?), own),
        Some(big) => {
            // scala.math.BigDecimal around java.math.BigDecimal.
            let big = big.maybe("bigDecimal").unwrap_or(big);
            let scale = i8::try_from(big.int("scale")?).map_err(|_| big.missing("scale"))?;
            (read_big_integer(big.object("intVal")?)?, scale)
        }
    };
    for _ in own..scale {
        digits = digits
            .checked_mul(10)
            .ok_or_else(|| object.missing("scale"))?;
    }
    if own > scale {
        return Err(Unsupported::of_use("a decimal of a larger scale"));
    }
    Ok(digits)
}

/// Digits of a `java.math.BigDecimal` of this scale.
pub(crate) fn read_java_decimal(object: Object<'_>, scale: i8) -> Result<i128> {
    match object.long("scale")? == i64::from(scale) {
        true => read_big_integer(object.object("intVal")?),
        false => Err(Unsupported::of_use("a decimal of another scale")),
    }
}

fn read_big_integer(object: Object<'_>) -> Result<i128> {
    let magnitude = object
        .graph
        .byte_array(object.value("magnitude")?)
        .ok_or_else(|| object.missing("magnitude"))?;
    let mut digits: i128 = 0;
    for byte in magnitude {
        digits = digits
            .checked_mul(256)
            .and_then(|digits| digits.checked_add(i128::from(*byte)))
            .ok_or_else(|| object.missing("magnitude"))?;
    }
    Ok(if object.int("signum")? < 0 {
        -digits
    } else {
        digits
    })
}

/// Bytes of a `UTF8String`.
pub(crate) fn read_utf8(object: Object<'_>) -> Result<Vec<u8>> {
    if object.name() != "UTF8String" {
        return Err(Unsupported::Class(object.name().to_owned()));
    }
    let body = body(object);
    let (length, bytes) = body
        .split_first_chunk()
        .ok_or_else(|| object.missing("length"))?;
    let length = usize::try_from(i32::from_be_bytes(*length)).ok();
    if length != Some(bytes.len()) {
        return Err(object.missing("bytes"));
    }
    Ok(bytes.to_vec())
}

/// What an object of a class that writes by itself has written.
pub(crate) fn body(object: Object<'_>) -> Vec<u8> {
    object
        .graph
        .levels(object.node)
        .next_back()
        .map(|level| level.block_bytes().into_owned())
        .unwrap_or_default()
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, values: &[Self]| {
            for (index, value) in values.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}{value}")?;
            }
            Ok(())
        };
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Byte(value) => write!(f, "{value}"),
            Self::Short(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Long(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::Decimal(value) => write!(f, "{value}"),
            Self::String(value) => write!(f, "{:?}", String::from_utf8_lossy(value)),
            Self::Binary(value) if value.len() > 16 => write!(f, "[{} bytes]", value.len()),
            Self::Binary(value) => write!(f, "{value:02x?}"),
            Self::Interval {
                months,
                days,
                microseconds,
            } => write!(f, "interval {months} {days} {microseconds}"),
            Self::Array(values) => {
                f.write_str("[")?;
                list(f, values)?;
                f.write_str("]")
            }
            Self::Struct(values) => {
                f.write_str("{")?;
                list(f, values)?;
                f.write_str("}")
            }
            Self::Map(pairs) => {
                f.write_str("{")?;
                for (index, (key, value)) in pairs.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{key}: {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}
