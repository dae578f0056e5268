//! Values as texts in JSON, as Spark's `JacksonGenerator` writes them.

use std::fmt::Write as _;

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::datatypes::{Int32Type, Int64Type};
use catalyst::{DataType, JsonText, StructField, Unsupported};
use datafusion_common::Result as RunResult;
use javatime::Zone;
use rows::error::bail_out;

use super::value_text::{Atom, TimeTexts};
use super::variant::{Variant, write_json};
use super::zone::zone_of;

/// Writes values of a type.
#[derive(Debug)]
pub(crate) struct JsonWriter {
    of: Form,
    times: TimeTexts,
    /// That of times in variants.
    zone: Zone,
    ignore_nulls: bool,
}

/// What values are written as.
#[derive(Debug)]
enum Form {
    Null,
    Atom(Atom),
    Variant,
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

impl JsonWriter {
    /// # Errors
    /// Values of the type, or times in these patterns, are not written here.
    pub(crate) fn new(form: &JsonText, of: &DataType) -> Result<Self, Unsupported> {
        let known = matches!(
            of,
            DataType::Struct(_) | DataType::Array { .. } | DataType::Map { .. } | DataType::Variant
        );
        if !known {
            return Err(Unsupported::of_use(format!("to_json of type {of}")));
        }
        Ok(Self {
            of: Form::new(of)?,
            zone: match of.has_variants() {
                true => zone_of(Some(&form.times.zone))?,
                false => Zone::UTC,
            },
            times: TimeTexts::new(&form.times, std::iter::once(of))?,
            ignore_nulls: form.ignore_nulls,
        })
    }

    /// Writes a value that is not null.
    pub(crate) fn write(&self, array: &ArrayRef, row: usize, out: &mut String) -> RunResult<()> {
        self.value(&self.of, array, row, out)
    }

    /// Writes a row, whose columns are the fields of the struct that is written.
    pub(crate) fn write_row(
        &self,
        columns: &[&ArrayRef],
        row: usize,
        out: &mut String,
    ) -> RunResult<()> {
        match &self.of {
            Form::Struct(fields) => self.fields(fields, columns.iter().copied(), row, out),
            _ => Err(bail_out("a row that is no struct")),
        }
    }

    fn fields<'a>(
        &self,
        fields: &[(String, Form)],
        columns: impl Iterator<Item = &'a ArrayRef>,
        row: usize,
        out: &mut String,
    ) -> RunResult<()> {
        out.push('{');
        let mut first = true;
        for ((name, form), column) in fields.iter().zip(columns) {
            if self.ignore_nulls && column.is_null(row) {
                continue;
            }
            separate(std::mem::take(&mut first), out);
            out.push_str(name);
            out.push(':');
            self.any(form, column, row, out)?;
        }
        out.push('}');
        Ok(())
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
            Form::Atom(atom) => self.atom(*atom, array, row, out)?,
            Form::Variant => {
                let variants = array.as_binary_opt::<i64>();
                let variants = variants.ok_or_else(|| bail_out("a value of another type"))?;
                write_json(Variant::new(variants.value(row))?, &self.zone, out)?;
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
                let columns = array.as_struct().columns().iter();
                self.fields(fields, columns, row, out)?;
            }
        }
        Ok(())
    }
}

impl JsonWriter {
    fn atom(&self, atom: Atom, array: &ArrayRef, row: usize, out: &mut String) -> RunResult<()> {
        match atom {
            Atom::Text => quote(array.as_string_view().value(row), out),
            Atom::Date | Atom::Timestamp | Atom::TimestampNtz => {
                let mut text = String::new();
                self.times.write(atom, array, row, &mut text)?;
                quote(&text, out);
            }
            _ => {
                let start = out.len();
                self.times.write(atom, array, row, out)?;
                // Floats that are no numbers of JSON are texts.
                let is_float = matches!(atom, Atom::Float | Atom::Double);
                if is_float && out.ends_with(|last: char| last.is_ascii_alphabetic()) {
                    out.insert(start, '"');
                    out.push('"');
                }
            }
        }
        Ok(())
    }
}

impl Form {
    fn new(of: &DataType) -> Result<Self, Unsupported> {
        Ok(match of {
            DataType::Null => Self::Null,
            DataType::Variant => Self::Variant,
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
                let atom = Atom::of(other).ok_or_else(|| {
                    Unsupported::of_use(format!("values of type {other} in JSON"))
                })?;
                Self::Atom(atom)
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

/// What stands between an element and the one before it, if it is not the first.
pub(super) fn separate(first: bool, out: &mut String) {
    if !first {
        out.push(',');
    }
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
    use catalyst::TimesText;
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
        let mut form = JsonText {
            times: TimesText::new(TimeZone::new("+05:30", &Zones::default())),
            ignore_nulls: true,
        };
        let text =
            "{\"a\":1,\"b\\\"\":\"x\\u0001\u{1f600}\",\"t\":\"1970-01-01T05:30:01.500+05:30\"}";
        assert_eq!(write(&form, 0), text);
        assert_eq!(write(&form, 1), "{}");
        form.ignore_nulls = false;
        form.times.timestamp = "yyyy".to_owned();
        assert_eq!(write(&form, 1), "{\"a\":null,\"b\\\"\":null,\"t\":null}");
        form.times.timestamp = "yyyy[XXX]".to_owned();
        assert!(JsonWriter::new(&form, &of).is_err());
        form.times.timestamp = "yyyy".to_owned();
        assert!(JsonWriter::new(&form, &DataType::Integer).is_err());
    }
}
