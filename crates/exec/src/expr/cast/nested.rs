//! Casts of arrays, maps and structs to strings, and `ToPrettyString`, which `show` asks for.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringViewArray, StringViewBuilder,
};
use arrow::datatypes::{DataType as ArrowType, Field, Schema};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;

use super::{Casting, text};
use crate::expr::kernel::{Kernel, single};
use crate::expr::variant::value_text;
use catalyst::DataType;
use catalyst::EvalMode;
use catalyst::Unsupported;
use javatime::TimeZone;
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// Writes values of a type as texts.
#[derive(Debug)]
enum Writer {
    /// They are texts.
    Text,
    /// They are null.
    Null,
    /// A cast of the only column of a batch.
    Scalar(Arc<dyn PhysicalExpr>, Arc<Schema>),
    Array(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Struct(Vec<Self>),
}

impl Writer {
    fn new(from: &DataType, casting: &Casting<'_>) -> Result<Self, Unsupported> {
        use DataType as T;
        Ok(match from {
            T::Null => Self::Null,
            T::String => Self::Text,
            T::Array { element, .. } => Self::Array(Box::new(Self::new(element, casting)?)),
            T::Map { key, value, .. } => Self::Map(
                Box::new(Self::new(key, casting)?),
                Box::new(Self::new(value, casting)?),
            ),
            T::Struct(fields) => {
                let fields = fields
                    .iter()
                    .map(|field| Self::new(&field.data_type, casting));
                Self::Struct(fields.collect::<Result<_, _>>()?)
            }
            // `ToPrettyString` shows bytes as a setting of the session says.
            T::Binary if casting.pretty => return Err(casting.refuse()),
            T::Variant => {
                let child = Arc::new(Column::new("value", 0));
                let field = Field::new("value", from.to_arrow()?, true);
                let schema = Arc::new(Schema::new(vec![field]));
                Self::Scalar(value_text(child), schema)
            }
            scalar => {
                let field = Field::new("value", scalar.to_arrow()?, true);
                let child = Arc::new(Column::new("value", 0));
                let cast = text::lower(&Casting {
                    from: scalar,
                    child,
                    ..*casting
                })?;
                Self::Scalar(cast, Arc::new(Schema::new(vec![field])))
            }
        })
    }

    /// A text for each value; what is null stays so.
    fn texts(&self, array: &ArrayRef, null: &str) -> RunResult<StringViewArray> {
        let other = || bail_out("a value of another type as text");
        match self {
            Self::Null => Ok((0..array.len()).map(|_| None::<&str>).collect()),
            Self::Text => Ok(array.as_string_view_opt().ok_or_else(other)?.clone()),
            Self::Scalar(cast, schema) => {
                let rows = RecordBatchOptions::new().with_row_count(Some(array.len()));
                let columns = vec![Arc::clone(array)];
                let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &rows)?;
                let texts = cast.evaluate(&batch)?.into_array(array.len())?;
                Ok(texts.as_string_view_opt().ok_or_else(other)?.clone())
            }
            Self::Array(of) => {
                let lists = array.as_list_opt::<i32>().ok_or_else(other)?;
                let parts = Parts::new(of, lists.values(), lists.value_offsets(), null)?;
                Ok(rows(array, |row, out| {
                    out.push('[');
                    parts.write(row, out, |at, out| parts.item(at, out));
                    out.push(']');
                }))
            }
            Self::Map(key, value) => {
                let maps = array.as_map_opt().ok_or_else(other)?;
                let keys = Parts::new(key, maps.keys(), maps.value_offsets(), null)?;
                let values = Parts::new(value, maps.values(), maps.value_offsets(), null)?;
                Ok(rows(array, |row, out| {
                    out.push('{');
                    keys.write(row, out, |at, out| {
                        keys.item(at, out);
                        out.push_str(" -> ");
                        values.item(at, out);
                    });
                    out.push('}');
                }))
            }
            Self::Struct(of) => {
                let structs = array.as_struct_opt().ok_or_else(other)?;
                let columns = of.iter().zip(structs.columns());
                let columns = columns.map(|(of, column)| of.texts(column, null));
                let columns = columns.collect::<RunResult<Vec<_>>>()?;
                Ok(rows(array, |row, out| {
                    out.push('{');
                    for (place, column) in columns.iter().enumerate() {
                        let comma = if place == 0 { "" } else { ", " };
                        let text = if column.is_null(row) {
                            null
                        } else {
                            column.value(row)
                        };
                        // Writing to a string does not fail.
                        let _ = write!(out, "{comma}{text}");
                    }
                    out.push('}');
                }))
            }
        }
    }
}

/// A text for each row that is not null.
fn rows(array: &ArrayRef, mut write: impl FnMut(usize, &mut String)) -> StringViewArray {
    let mut builder = StringViewBuilder::with_capacity(array.len());
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
            continue;
        }
        text.clear();
        write(row, &mut text);
        builder.append_value(&text);
    }
    builder.finish()
}

/// The texts of elements, keys or values.
struct Parts<'a> {
    texts: StringViewArray,
    /// Place of the first among all.
    first: usize,
    /// Where those of each row begin and end.
    offsets: &'a [i32],
    /// What stands for null.
    null: &'a str,
}

impl<'a> Parts<'a> {
    fn new(of: &Writer, values: &ArrayRef, offsets: &'a [i32], null: &'a str) -> RunResult<Self> {
        let bound = |at: Option<&i32>| at.and_then(|at| usize::try_from(*at).ok()).unwrap_or(0);
        let (first, last) = (bound(offsets.first()), bound(offsets.last()));
        // Others are of other rows, and might not be known as texts.
        let texts = of.texts(&values.slice(first, last.saturating_sub(first)), null)?;
        Ok(Self {
            texts,
            first,
            offsets,
            null,
        })
    }

    fn item(&self, at: usize, out: &mut String) {
        let at = at - self.first;
        out.push_str(match self.texts.is_null(at) {
            true => self.null,
            false => self.texts.value(at),
        });
    }

    /// All of a row with commas between them.
    fn write(&self, row: usize, out: &mut String, item: impl Fn(usize, &mut String)) {
        let offset = |row: usize| {
            self.offsets
                .get(row)
                .and_then(|at| usize::try_from(*at).ok())
        };
        let (Some(start), Some(end)) = (offset(row), offset(row + 1)) else {
            return;
        };
        for at in start..end {
            if at > start {
                out.push_str(", ");
            }
            item(at, out);
        }
    }
}

/// A cast of an array, a map or a struct to a string.
pub(super) fn lower(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let writer = Writer::new(casting.from, casting)?;
    let child = vec![Arc::clone(&casting.child)];
    let to = ArrowType::Utf8View;
    Ok(Kernel::strict(casting.name(), child, to, move |args, _| {
        Ok(Arc::new(writer.texts(&single(args)?.array, "null")?))
    }))
}

/// `ToPrettyString`: the text of any value, and `NULL` for null. Decimals have no exponents.
pub(in super::super) fn pretty(
    from: &DataType,
    zone: Option<&TimeZone>,
    child: Arc<dyn PhysicalExpr>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let casting = Casting {
        from,
        to: &DataType::String,
        mode: EvalMode::Ansi,
        zone,
        child: Arc::clone(&child),
        pretty: true,
    };
    let writer = Writer::new(from, &casting)?;
    let name = format!("ToPrettyString[{from} {}]", zone.map_or("-", TimeZone::id));
    let to = ArrowType::Utf8View;
    Ok(Kernel::lenient(name, vec![child], to, move |args, _| {
        let texts = writer.texts(&single(args)?.array, "NULL")?;
        let texts = texts.iter().map(|text| Some(text.unwrap_or("NULL")));
        Ok(Arc::new(texts.collect::<StringViewArray>()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, ListArray, NullArray, StructArray};
    use arrow::buffer::OffsetBuffer;

    fn array_of(element: DataType) -> DataType {
        DataType::Array {
            element: Box::new(element),
            contains_null: true,
        }
    }

    fn texts(from: &DataType, array: ArrayRef, null: &str) -> Vec<Option<String>> {
        let casting = Casting {
            from,
            to: &DataType::String,
            mode: EvalMode::Legacy,
            zone: None,
            child: Arc::new(Column::new("value", 0)),
            pretty: false,
        };
        let writer = Writer::new(from, &casting).unwrap();
        let texts = writer.texts(&array, null).unwrap();
        texts.iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn nulls_within_are_written() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
        let element = Arc::new(Field::new("element", ArrowType::Int32, true));
        let offsets = OffsetBuffer::from_lengths([2, 0, 1]);
        let lists: ArrayRef = Arc::new(ListArray::new(element, offsets, values, None));
        let found = texts(&array_of(DataType::Integer), Arc::clone(&lists), "null");
        let found: Vec<_> = found.iter().flatten().map(String::as_str).collect();
        assert_eq!(found, ["[1, null]", "[]", "[3]"]);
        let fields = vec![
            Arc::new(Field::new("a", lists.data_type().clone(), true)),
            Arc::new(Field::new("b", ArrowType::Null, true)),
        ];
        let columns = vec![lists, Arc::new(NullArray::new(3))];
        let structs: ArrayRef = Arc::new(StructArray::new(fields.into(), columns, None));
        let field = |name: &str, data_type| catalyst::StructField {
            name: name.to_owned(),
            data_type,
            nullable: true,
            field_id: None,
            exists_default: None,
        };
        let of = DataType::Struct(vec![
            field("a", array_of(DataType::Integer)),
            field("b", DataType::Null),
        ]);
        let found = texts(&of, structs, "NULL");
        assert_eq!(found[0].as_deref(), Some("{[1, NULL], NULL}"));
    }

    #[test]
    fn binaries_and_intervals_within_are_refused() {
        for of in [DataType::Binary, DataType::DayTimeInterval] {
            let from = array_of(of);
            let child = Arc::new(Column::new("value", 0));
            assert!(pretty(&from, None, child).is_err());
        }
    }
}
