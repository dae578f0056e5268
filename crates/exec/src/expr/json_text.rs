//! Values as texts in JSON, as Spark's `JacksonGenerator` writes them.

use std::fmt::Write as _;

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use catalyst::{DataType, JsonText, StructField, Unsupported};
use datafusion_common::Result as RunResult;
use javatime::Zone;
use javatime::calendar::{DAY, SECOND};
use rows::error::bail_out;

use super::cast::text::{self, decimal};
use super::date_format::{Piece, pieces, write_pieces};
use super::from_text::TimeTypes;
use super::java::JavaDouble;
use super::zone::zone_of;

/// Writes values of a type.
#[derive(Debug)]
pub(super) struct JsonWriter {
    of: Form,
    times: Times,
    ignore_nulls: bool,
}

/// What values are written as.
#[derive(Debug)]
enum Form {
    Null,
    Boolean,
    Byte,
    Short,
    Integer,
    Long,
    Float,
    Double,
    /// Digits behind the point.
    Decimal(i8),
    Text,
    Date,
    Timestamp,
    TimestampNtz,
    List(Box<Self>),
    Map(Key, Box<Self>),
    /// Fields with their names as they are written.
    Struct(Vec<(String, Self)>),
}

/// What keys of maps are: those whose text is sure.
#[derive(Debug, Clone, Copy)]
enum Key {
    Text,
    Integer,
    Long,
}

/// How times are written.
#[derive(Debug)]
struct Times {
    zone: Zone,
    date: Vec<Piece>,
    timestamp: Vec<Piece>,
    /// Whether the offset stands behind timestamps.
    offset: bool,
    timestamp_ntz: Vec<Piece>,
}

impl JsonWriter {
    /// # Errors
    /// Values of the type, or times in these patterns, are not written here.
    pub(super) fn new(form: &JsonText, of: &DataType) -> Result<Self, Unsupported> {
        let known = matches!(
            of,
            DataType::Struct(_) | DataType::Array { .. } | DataType::Map { .. }
        );
        if !known {
            return Err(Unsupported::of_use(format!("to_json of type {of}")));
        }
        Ok(Self {
            of: Form::new(of)?,
            times: Times::new(form, of)?,
            ignore_nulls: form.ignore_nulls,
        })
    }

    /// Writes a value that is not null.
    pub(super) fn write(&self, array: &ArrayRef, row: usize, out: &mut String) -> RunResult<()> {
        self.value(&self.of, array, row, out)
    }

    fn any(&self, form: &Form, array: &ArrayRef, row: usize, out: &mut String) -> RunResult<()> {
        if array.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        self.value(form, array, row, out)
    }

    fn value(&self, form: &Form, array: &ArrayRef, row: usize, out: &mut String) -> RunResult<()> {
        match form {
            Form::Null => out.push_str("null"),
            Form::Boolean => {
                let value = array.as_boolean().value(row);
                out.push_str(if value { "true" } else { "false" });
            }
            Form::Byte => put(out, array.as_primitive::<Int8Type>().value(row)),
            Form::Short => put(out, array.as_primitive::<Int16Type>().value(row)),
            Form::Integer => put(out, array.as_primitive::<Int32Type>().value(row)),
            Form::Long => put(out, array.as_primitive::<Int64Type>().value(row)),
            Form::Float => {
                let value = array.as_primitive::<Float32Type>().value(row);
                float(f64::from(value), out, || JavaDouble::of_float(value))?;
            }
            Form::Double => {
                let value = array.as_primitive::<Float64Type>().value(row);
                float(value, out, || JavaDouble::of(value))?;
            }
            Form::Decimal(scale) => {
                let digits = array.as_primitive::<Decimal128Type>().value(row);
                decimal(digits, *scale, false, out);
            }
            Form::Text => quote(array.as_string_view().value(row), out),
            Form::Date => {
                let days = i64::from(array.as_primitive::<Date32Type>().value(row));
                time(&self.times.date, days.checked_mul(DAY), out, None)?;
            }
            Form::Timestamp => {
                let instant = array.as_primitive::<TimestampMicrosecondType>().value(row);
                let local = self.times.zone.local(instant);
                let offset = local
                    .filter(|_| self.times.offset)
                    .map(|local| local - instant);
                time(&self.times.timestamp, local, out, offset)?;
            }
            Form::TimestampNtz => {
                let local = array.as_primitive::<TimestampMicrosecondType>().value(row);
                time(&self.times.timestamp_ntz, Some(local), out, None)?;
            }
            Form::List(element) => {
                out.push('[');
                let elements = array.as_list::<i32>().value(row);
                for at in 0..elements.len() {
                    separate(at == 0, out);
                    self.any(element, &elements, at, out)?;
                }
                out.push(']');
            }
            Form::Map(key, value) => {
                out.push('{');
                let entries = array.as_map().value(row);
                let (keys, values) = (entries.column(0), entries.column(1));
                for at in 0..entries.len() {
                    separate(at == 0, out);
                    match key {
                        Key::Text => quote(keys.as_string_view().value(at), out),
                        Key::Integer => {
                            let _ =
                                write!(out, "\"{}\"", keys.as_primitive::<Int32Type>().value(at));
                        }
                        Key::Long => {
                            let _ =
                                write!(out, "\"{}\"", keys.as_primitive::<Int64Type>().value(at));
                        }
                    }
                    out.push(':');
                    self.any(value, values, at, out)?;
                }
                out.push('}');
            }
            Form::Struct(fields) => {
                out.push('{');
                let mut first = true;
                for ((name, form), column) in fields.iter().zip(array.as_struct().columns()) {
                    if self.ignore_nulls && column.is_null(row) {
                        continue;
                    }
                    separate(std::mem::take(&mut first), out);
                    out.push_str(name);
                    out.push(':');
                    self.any(form, column, row, out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

impl Form {
    fn new(of: &DataType) -> Result<Self, Unsupported> {
        Ok(match of {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean,
            DataType::Byte => Self::Byte,
            DataType::Short => Self::Short,
            DataType::Integer => Self::Integer,
            DataType::Long => Self::Long,
            DataType::Float => Self::Float,
            DataType::Double => Self::Double,
            DataType::Decimal(of) => Self::Decimal(of.scale),
            DataType::String => Self::Text,
            DataType::Date => Self::Date,
            DataType::Timestamp => Self::Timestamp,
            DataType::TimestampNtz => Self::TimestampNtz,
            DataType::Array { element, .. } => Self::List(Box::new(Self::new(element)?)),
            DataType::Map { key, value, .. } => {
                let key = match **key {
                    DataType::String => Key::Text,
                    DataType::Integer => Key::Integer,
                    DataType::Long => Key::Long,
                    ref other => {
                        return Err(Unsupported::of_use(format!("keys of type {other} in JSON")));
                    }
                };
                Self::Map(key, Box::new(Self::new(value)?))
            }
            DataType::Struct(fields) => {
                Self::Struct(fields.iter().map(Self::field).collect::<Result<_, _>>()?)
            }
            other => {
                return Err(Unsupported::of_use(format!(
                    "values of type {other} in JSON"
                )));
            }
        })
    }

    fn field(field: &StructField) -> Result<(String, Self), Unsupported> {
        if field.exists_default.is_some() {
            return Err(Unsupported::of_use("records with default values"));
        }
        let mut name = String::new();
        quote(&field.name, &mut name);
        Ok((name, Self::new(&field.data_type)?))
    }
}

impl Times {
    /// For values of a type.
    fn new(form: &JsonText, of: &DataType) -> Result<Self, Unsupported> {
        let of = TimeTypes::of(std::iter::once(of));
        // Whatever is optional is written.
        let known = |is_needed: bool, pattern: &str| {
            let unknown = || Unsupported::of_use(format!("the date format {pattern}"));
            match is_needed {
                true => pieces(&pattern.replace("[.SSS]", ".SSS")).ok_or_else(unknown),
                false => Ok(Vec::new()),
            }
        };
        let offset = form.timestamp == JsonText::TIMESTAMP;
        let timestamp = form.timestamp.strip_suffix("[XXX]").filter(|_| offset);
        Ok(Self {
            zone: match of.timestamp {
                true => zone_of(Some(&form.zone))?,
                false => Zone::UTC,
            },
            date: known(of.date, &form.date)?,
            timestamp: known(of.timestamp, timestamp.unwrap_or(&form.timestamp))?,
            offset,
            timestamp_ntz: known(of.timestamp_ntz, &form.timestamp_ntz)?,
        })
    }
}

fn put(out: &mut String, number: impl std::fmt::Display) {
    let _ = write!(out, "{number}");
}

/// What stands between an element and the one before it, if it is not the first.
pub(super) fn separate(first: bool, out: &mut String) {
    if !first {
        out.push(',');
    }
}

/// A float; one that is no number of JSON is a text.
fn float(value: f64, out: &mut String, digits: impl Fn() -> Option<JavaDouble>) -> RunResult<()> {
    let quote = if value.is_finite() { "" } else { "\"" };
    out.push_str(quote);
    text::float(value, out, digits)?;
    out.push_str(quote);
    Ok(())
}

/// A time in quotes, with the offset from UTC in microseconds behind it.
fn time(
    pieces: &[Piece],
    local: Option<i64>,
    out: &mut String,
    offset: Option<i64>,
) -> RunResult<()> {
    let unknown = || bail_out("a date whose year has not four digits as text");
    let local = local.ok_or_else(unknown)?;
    let mut text = String::new();
    write_pieces(pieces, local, &mut text).ok_or_else(unknown)?;
    // Seconds of offsets, which were long ago, are written by some versions.
    if offset.is_some_and(|offset| offset % (60 * SECOND) != 0) {
        return Err(bail_out("an offset from UTC with seconds"));
    }
    match offset.map(|offset| offset / SECOND / 60) {
        None => {}
        Some(0) => text.push('Z'),
        Some(minutes) => {
            let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
            let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
    }
    quote(&text, out);
    Ok(())
}

/// A text in quotes, as Jackson's generators write it.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, StringViewArray, StructArray, TimestampMicrosecondArray};
    use javatime::{TimeZone, Zones};
    use rows::types::ToArrow as _;
    use std::sync::Arc;

    use super::*;
    use crate::testing::field;

    #[test]
    fn structs_are_objects_without_what_is_null() {
        let of = DataType::Struct(vec![
            field("a", DataType::Integer),
            field("b\"", DataType::String),
            field("t", DataType::Timestamp),
        ]);
        let arrow::datatypes::DataType::Struct(fields) = of.to_arrow().unwrap() else {
            panic!("a struct");
        };
        let times = TimestampMicrosecondArray::from(vec![Some(1_500_000), None]);
        let times = times.with_data_type(fields.last().unwrap().data_type().clone());
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(vec![Some(1), None])),
            Arc::new(StringViewArray::from(vec![Some("x\u{1}\u{1f600}"), None])),
            Arc::new(times),
        ];
        let array: ArrayRef = Arc::new(StructArray::try_new(fields, columns, None).unwrap());
        let write = |form: &JsonText, row| {
            let mut out = String::new();
            let writer = JsonWriter::new(form, &of).unwrap();
            writer.write(&array, row, &mut out).unwrap();
            out
        };
        let mut form = JsonText::new(TimeZone::new("+05:30", &Zones::default()));
        let text =
            "{\"a\":1,\"b\\\"\":\"x\\u0001\u{1f600}\",\"t\":\"1970-01-01T05:30:01.500+05:30\"}";
        assert_eq!(write(&form, 0), text);
        assert_eq!(write(&form, 1), "{}");
        form.ignore_nulls = false;
        form.timestamp = "yyyy".to_owned();
        assert_eq!(write(&form, 1), "{\"a\":null,\"b\\\"\":null,\"t\":null}");
        form.timestamp = "yyyy[XXX]".to_owned();
        assert!(JsonWriter::new(&form, &of).is_err());
        assert!(JsonWriter::new(&JsonText::new(form.zone), &DataType::Integer).is_err());
    }

    #[test]
    fn offsets_are_written_in_minutes() {
        let of = |offset: i64| {
            let mut out = String::new();
            let written = time(&[], Some(0), &mut out, Some(offset * SECOND));
            written.ok().map(|()| out)
        };
        assert_eq!(of(0).as_deref(), Some("\"Z\""));
        assert_eq!(of(-3600 * 3 - 1800).as_deref(), Some("\"-03:30\""));
        assert_eq!(of(2048), None);
    }
}
