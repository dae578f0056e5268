//! Casts of arrays, maps and structs to others, whose elements, keys, values and fields are cast one by one.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;

use super::Casting;
use crate::expr::field;
use crate::expr::kernel::{Kernel, single};
use catalyst::DataType;
use catalyst::Unsupported;
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// A cast of the only column of a batch.
#[derive(Debug)]
pub(in crate::expr) struct Part {
    cast: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
}

impl Part {
    pub(in crate::expr) fn new(
        from: &DataType,
        to: &DataType,
        casting: &Casting<'_>,
    ) -> Result<Self, Unsupported> {
        let cast = super::lower(&Casting {
            from,
            to,
            child: Arc::new(Column::new("value", 0)),
            ..*casting
        })?;
        let field = Field::new("value", from.to_arrow()?, true);
        Ok(Self {
            cast,
            schema: Arc::new(Schema::new(vec![field])),
        })
    }

    pub(in crate::expr) fn of(&self, values: &ArrayRef) -> RunResult<ArrayRef> {
        let rows = RecordBatchOptions::new().with_row_count(Some(values.len()));
        let columns = vec![Arc::clone(values)];
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows)?;
        self.cast.evaluate(&batch)?.into_array(values.len())
    }
}

/// The cast of a type whose fields have those types in the end.
#[derive(Debug)]
enum Parts {
    Array(Part, FieldRef),
    Map(Part, Part, FieldRef, Fields),
    Struct(Vec<Part>, Fields),
}

impl Parts {
    fn new(casting: &Casting<'_>) -> Result<Self, Unsupported> {
        use DataType as T;
        let part = |from, to| Part::new(from, to, casting);
        Ok(match (casting.from, casting.to, casting.arrow()?) {
            (T::Array { element: from, .. }, T::Array { element: to, .. }, ArrowType::List(of)) => {
                Self::Array(part(from, to)?, of)
            }
            (
                T::Map {
                    key: from_key,
                    value: from,
                    ..
                },
                T::Map {
                    key: to_key,
                    value: to,
                    ..
                },
                ArrowType::Map(entry, false),
            ) => {
                let ArrowType::Struct(fields) = entry.data_type() else {
                    return Err(casting.refuse());
                };
                let fields = fields.clone();
                Self::Map(part(from_key, to_key)?, part(from, to)?, entry, fields)
            }
            (T::Struct(from), T::Struct(to), ArrowType::Struct(fields))
                if from.len() == to.len() =>
            {
                let parts = from.iter().zip(to);
                let parts = parts.map(|(from, to)| part(&from.data_type, &to.data_type));
                Self::Struct(parts.collect::<Result<_, _>>()?, fields)
            }
            _ => return Err(casting.refuse()),
        })
    }

    fn of(&self, array: &ArrayRef) -> RunResult<ArrayRef> {
        let other = || bail_out("a cast of another type");
        // What is null where it may not be fails here: Spark has it otherwise, or fails.
        let nulls = |_| bail_out("a cast to a type without nulls");
        Ok(match self {
            Self::Array(part, of) => {
                let lists = array.as_list_opt::<i32>().ok_or_else(other)?;
                let (values, offsets) = own_values(lists.values(), lists.offsets());
                let values = part.of(&values)?;
                let nulls_of = lists.nulls().cloned();
                Arc::new(
                    ListArray::try_new(Arc::clone(of), offsets, values, nulls_of).map_err(nulls)?,
                )
            }
            Self::Map(key, value, entry, fields) => {
                let maps = array.as_map_opt().ok_or_else(other)?;
                let (keys, offsets) = own_values(maps.keys(), maps.offsets());
                let (values, _) = own_values(maps.values(), maps.offsets());
                let columns = vec![key.of(&keys)?, value.of(&values)?];
                let entries = StructArray::try_new(fields.clone(), columns, None).map_err(nulls)?;
                let nulls_of = maps.nulls().cloned();
                let made = MapArray::try_new(Arc::clone(entry), offsets, entries, nulls_of, false);
                Arc::new(made.map_err(nulls)?)
            }
            Self::Struct(parts, fields) => {
                let structs = array.as_struct_opt().ok_or_else(other)?;
                let parts = parts.iter().enumerate();
                // Null structs have no fields that might fail.
                let columns = parts.map(|(place, part)| part.of(&field(array, place)?));
                let columns = columns.collect::<RunResult<Vec<_>>>()?;
                let nulls_of = structs.nulls().cloned();
                let made = match columns.is_empty() {
                    true => Ok(StructArray::new_empty_fields(array.len(), nulls_of)),
                    false => StructArray::try_new(fields.clone(), columns, nulls_of),
                };
                Arc::new(made.map_err(nulls)?)
            }
        })
    }
}

/// The values of the rows of an array that may be a part of another one, and where they begin and end.
fn own_values(values: &ArrayRef, offsets: &OffsetBuffer<i32>) -> (ArrayRef, OffsetBuffer<i32>) {
    let bound = |at: Option<&i32>| at.copied().unwrap_or(0);
    let (first, last) = (bound(offsets.first()), bound(offsets.last()));
    // Offsets are not negative, and ascend.
    let (start, length) = (
        first.unsigned_abs() as usize,
        (last - first).unsigned_abs() as usize,
    );
    let moved = offsets.iter().map(|at| at - first);
    (
        values.slice(start, length),
        OffsetBuffer::new(moved.collect()),
    )
}

/// A cast among arrays, maps or structs.
///
/// # Errors
/// Parts of them are not cast natively.
pub(super) fn lower(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let parts = Parts::new(casting)?;
    let child = vec![Arc::clone(&casting.child)];
    Ok(Kernel::strict(
        casting.name(),
        child,
        casting.arrow()?,
        move |args, _| parts.of(&single(args)?.array),
    ))
}
