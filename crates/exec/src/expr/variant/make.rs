//! Variants of values, as Spark's `VariantExpressionEvalUtils.castToVariant` makes them.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use catalyst::{DataType, Unsupported};

use super::build::{Builder, Fault};
use super::format::Variant;

/// Judges whether values of a type become variants.
pub(super) fn check(of: &DataType) -> Result<(), Unsupported> {
    use DataType as T;
    match of {
        T::Null
        | T::Boolean
        | T::Byte
        | T::Short
        | T::Integer
        | T::Long
        | T::Float
        | T::Double
        | T::Decimal(_)
        | T::String
        | T::Binary
        | T::Date
        | T::Timestamp
        | T::TimestampNtz
        | T::Variant => Ok(()),
        T::Array { element, .. } => check(element),
        T::Map { key, value, .. } if **key == T::String => check(value),
        T::Struct(fields) => fields.iter().try_for_each(|field| check(&field.data_type)),
        other => Err(Unsupported::of_use(format!("a variant of {other}"))),
    }
}

/// Appends a value of a column of a type.
pub(super) fn append(
    of: &DataType,
    array: &ArrayRef,
    row: usize,
    builder: &mut Builder,
) -> Result<(), Fault> {
    if *of == DataType::Null || array.is_null(row) {
        builder.null();
        return Ok(());
    }
    plain(of, array, row, builder).unwrap_or_else(|| parts(of, array, row, builder))
}

/// Appends a value without parts; `None` if it has some, or is of another type.
fn plain(
    of: &DataType,
    array: &ArrayRef,
    row: usize,
    builder: &mut Builder,
) -> Option<Result<(), Fault>> {
    use DataType as T;
    macro_rules! value {
        ($type:ty) => {
            array.as_primitive_opt::<$type>()?.value(row)
        };
    }
    match of {
        T::Boolean => builder.boolean(array.as_boolean_opt()?.value(row)),
        T::Byte => builder.long(value!(Int8Type).into()),
        T::Short => builder.long(value!(Int16Type).into()),
        T::Integer => builder.long(value!(Int32Type).into()),
        T::Long => builder.long(value!(Int64Type)),
        T::Float => builder.float(value!(Float32Type)),
        T::Double => builder.double(value!(Float64Type)),
        // Scales of columns are not negative.
        T::Decimal(of) => builder.decimal(value!(Decimal128Type), of.scale.unsigned_abs()),
        T::Date => builder.date(value!(Date32Type)),
        T::Timestamp => builder.timestamp(value!(TimestampMicrosecondType)),
        T::TimestampNtz => builder.timestamp_ntz(value!(TimestampMicrosecondType)),
        T::String => return Some(builder.text(array.as_string_view_opt()?.value(row))),
        T::Binary => return Some(builder.binary(array.as_binary_view_opt()?.value(row))),
        T::Variant => {
            let variant = Variant::new(array.as_binary_opt::<i64>()?.value(row));
            return Some(
                variant
                    .map_err(Fault::from)
                    .and_then(|of| builder.variant(of)),
            );
        }
        _ => return None,
    }
    Some(Ok(()))
}

fn parts(of: &DataType, array: &ArrayRef, row: usize, builder: &mut Builder) -> Result<(), Fault> {
    let start = builder.position();
    match of {
        DataType::Array { element, .. } => {
            let lists = array.as_list_opt::<i32>().ok_or(Fault::Unknown)?;
            let values = lists.value(row);
            let mut offsets = Vec::with_capacity(values.len());
            for at in 0..values.len() {
                offsets.push(builder.position() - start);
                append(element, &values, at, builder)?;
            }
            builder.array(start, &offsets)
        }
        DataType::Map { value: of, .. } => {
            let entries = array.as_map_opt().ok_or(Fault::Unknown)?.value(row);
            let (keys, values) = match entries.columns() {
                [keys, values] => (keys.as_string_view_opt().ok_or(Fault::Unknown)?, values),
                _ => return Err(Fault::Unknown),
            };
            let mut fields = Vec::with_capacity(keys.len());
            for at in 0..keys.len() {
                fields.push(builder.field(start, keys.value(at))?);
                append(of, values, at, builder)?;
            }
            builder.object(start, fields, false)
        }
        DataType::Struct(of) => {
            let structs = array.as_struct_opt().ok_or(Fault::Unknown)?;
            let mut fields = Vec::with_capacity(of.len());
            for (of, column) in of.iter().zip(structs.columns()) {
                fields.push(builder.field(start, of.name.as_str())?);
                append(&of.data_type, column, row, builder)?;
            }
            builder.object(start, fields, false)
        }
        _ => Err(Fault::Unknown),
    }
}
