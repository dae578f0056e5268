//! Columns as functions of Python get and give them in Arrow streams: of the types of `ArrowUtils.toArrowSchema`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, Field, Fields, TimeUnit, TimestampMicrosecondType,
};
use catalyst::{DataType, Unsupported};
use datafusion_common::{DataFusionError, Result};
use rows::error::bail_out;
use rows::types::ToArrow as _;

use super::is_simple;
use crate::expr::from_text::TimeTypes;

/// The type of a column that goes to Python; timestamps are seen in a time zone.
///
/// # Errors
/// Values of the type do not go to Python natively.
pub(crate) fn type_for_python(
    of: &DataType,
    time_zone: &Arc<str>,
) -> std::result::Result<ArrowType, Unsupported> {
    let field = |name: &str, of, nullable| {
        let of = type_for_python(of, time_zone)?;
        Ok::<_, Unsupported>(Arc::new(Field::new(name, of, nullable)))
    };
    Ok(match of {
        DataType::String => ArrowType::Utf8,
        DataType::Binary => ArrowType::Binary,
        DataType::Timestamp => {
            ArrowType::Timestamp(TimeUnit::Microsecond, Some(Arc::clone(time_zone)))
        }
        DataType::Array {
            element,
            contains_null,
        } => ArrowType::List(field("element", element, *contains_null)?),
        DataType::Struct(fields) if !fields.is_empty() => {
            let mut names = HashSet::new();
            if !fields.iter().all(|field| names.insert(&field.name)) {
                return Err(Unsupported::of_use(
                    "Python functions of fields of one name",
                ));
            }
            let fields = fields.iter();
            let fields = fields.map(|of| field(&of.name, &of.data_type, of.nullable));
            ArrowType::Struct(fields.collect::<std::result::Result<Fields, _>>()?)
        }
        DataType::Map {
            key,
            value,
            value_contains_null,
        } => {
            let entry = [
                field("key", key, false)?,
                field("value", value, *value_contains_null)?,
            ];
            let entries = Field::new(
                "entries",
                ArrowType::Struct(Fields::from_iter(entry)),
                false,
            );
            ArrowType::Map(Arc::new(entries), false)
        }
        of if is_simple(of) => of.to_arrow()?,
        _ => return Err(Unsupported::of_use(format!("a Python function of {of}"))),
    })
}

/// Fails for types whose values do not go to Python natively, whatever the time zone.
pub(super) fn check(of: &DataType) -> std::result::Result<(), Unsupported> {
    type_for_python(of, &Arc::from("UTC")).map(drop)
}

/// Whether there are timestamps in a type whose fields depend on the time zone.
pub(super) fn has_timestamps(of: &DataType) -> bool {
    TimeTypes::of(std::iter::once(of)).timestamp
}

fn other() -> DataFusionError {
    bail_out("a column for Python of another type")
}

/// A column of another type that has the same values: one for Python, which is of a [`type_for_python`], or one of the
/// lane from one of [the same](is_of) that Python gave.
///
/// # Errors
/// Bail-out: it is of yet another type, or has nulls where its type has none, decimals of too many digits, or too many
/// bytes.
pub(crate) fn converted(column: &ArrayRef, to: &ArrowType) -> Result<ArrayRef> {
    Ok(match to {
        ArrowType::Utf8 | ArrowType::Binary | ArrowType::Utf8View | ArrowType::BinaryView => {
            cast(column, to)?
        }
        ArrowType::Decimal128(precision, _) if column.data_type() == to => {
            let values = column.as_primitive::<Decimal128Type>();
            let valid = values.validate_decimal_precision(*precision);
            valid.map_err(|_| bail_out("decimals of Python with too many digits"))?;
            Arc::clone(column)
        }
        ArrowType::Timestamp(_, zone) => {
            let values = column.as_primitive_opt::<TimestampMicrosecondType>();
            let values: TimestampMicrosecondArray = values.ok_or_else(other)?.clone();
            Arc::new(values.with_timezone_opt(zone.clone()))
        }
        ArrowType::List(field) => {
            let lists = column.as_list_opt::<i32>().ok_or_else(other)?;
            let values = converted(lists.values(), field.data_type())?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::try_new(
                Arc::clone(field),
                offsets,
                values,
                nulls,
            )?)
        }
        ArrowType::Struct(fields) => {
            let rows = column.as_struct_opt().ok_or_else(other)?;
            if rows.num_columns() != fields.len() {
                return Err(other());
            }
            let columns = rows.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| converted(column, field.data_type()));
            let (columns, nulls) = (columns.collect::<Result<_>>()?, rows.nulls().cloned());
            Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?)
        }
        ArrowType::Map(field, _) => {
            let maps = column.as_map_opt().ok_or_else(other)?;
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            let entries = converted(&entries, field.data_type())?;
            let entries = entries.as_struct_opt().ok_or_else(other)?.clone();
            let (offsets, nulls) = (maps.offsets().clone(), maps.nulls().cloned());
            let map = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, false)?;
            Arc::new(map)
        }
        to if column.data_type() == to => Arc::clone(column),
        _ => return Err(other()),
    })
}

/// Whether Spark takes a column of an Arrow type for one of its own type: `ArrowUtils.fromArrowField`.
pub(super) fn is_of(of: &DataType, arrow: &ArrowType) -> bool {
    match (of, arrow) {
        (DataType::String, arrow) => matches!(arrow, ArrowType::Utf8 | ArrowType::LargeUtf8),
        (DataType::Binary, arrow) => matches!(arrow, ArrowType::Binary | ArrowType::LargeBinary),
        (DataType::Timestamp, arrow) => {
            matches!(arrow, ArrowType::Timestamp(TimeUnit::Microsecond, Some(_)))
        }
        (
            DataType::Array {
                element,
                contains_null,
            },
            ArrowType::List(field),
        ) => field.is_nullable() == *contains_null && is_of(element, field.data_type()),
        (DataType::Struct(fields), ArrowType::Struct(others)) => {
            let mut pairs = fields.iter().zip(others);
            fields.len() == others.len()
                && pairs.all(|(field, other)| {
                    field.name == *other.name()
                        && field.nullable == other.is_nullable()
                        && is_of(&field.data_type, other.data_type())
                })
        }
        (
            DataType::Map {
                key,
                value,
                value_contains_null,
            },
            ArrowType::Map(entries, _),
        ) => match entries.data_type() {
            ArrowType::Struct(entry) => match &entry[..] {
                [of_key, of_value] => {
                    is_of(key, of_key.data_type())
                        && is_of(value, of_value.data_type())
                        && of_value.is_nullable() == *value_contains_null
                }
                _ => false,
            },
            _ => false,
        },
        (of, arrow) if is_simple(of) => of.to_arrow().is_ok_and(|own| own == *arrow),
        _ => false,
    }
}
