//! Values as Spark orders, compares and groups them.
//!
//! Floats have one zero, and one NaN that is the largest. Of arrays and structs the first part that differs decides, a
//! shorter array comes before those that it begins, and null parts are the smallest; sorting downwards turns all of it
//! round. So have it `InterpretedOrdering`, `PhysicalArrayType` and the code that `CodegenContext.genComp` generates.
//! Maps and calendar intervals have no order.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, ListArray, PrimitiveArray,
    StructArray,
};
use arrow::datatypes::{DataType as ArrowType, Float32Type, Float64Type};
use arrow::row::{RowConverter, SortField};
use datafusion_common::Result;

use crate::error::bail_out;

/// Whether values of a type have an order: whether [`order_key`] knows the type.
#[must_use]
pub fn is_ordered(of: &ArrowType) -> bool {
    match of {
        // Of nothing but nulls Spark compares none.
        ArrowType::Null => false,
        // A variant.
        ArrowType::LargeBinary => false,
        ArrowType::List(element) => is_ordered(element.data_type()),
        ArrowType::Struct(fields) => {
            !fields.is_empty() && fields.iter().all(|field| is_ordered(field.data_type()))
        }
        other => !other.is_nested(),
    }
}

/// Whether there are floats in it: values that differ may be equal then.
#[must_use]
pub fn has_floats(of: &ArrowType) -> bool {
    match of {
        ArrowType::Float32 | ArrowType::Float64 => true,
        ArrowType::List(element) | ArrowType::Map(element, _) => has_floats(element.data_type()),
        ArrowType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        _ => false,
    }
}

/// The type of the keys of a type.
#[must_use]
pub fn key_type(of: &ArrowType) -> ArrowType {
    match of.is_nested() {
        true => ArrowType::Binary,
        false => of.clone(),
    }
}

/// What Arrow orders and compares as Spark does the values: the values themselves, floats as [`normalized`], arrays and
/// structs as bytes. Keys are null where values are. Those of one type can be compared, whichever columns they are of.
///
/// # Errors
/// Bail-out: the values have no order, or too many bytes.
pub fn order_key(column: &ArrayRef) -> Result<ArrayRef> {
    let of = column.data_type();
    if !of.is_nested() {
        return normalized(column);
    }
    if !is_ordered(of) {
        return Err(bail_out(format!("an order of {of}")));
    }
    // Ascending, nulls first.
    let converter = RowConverter::new(vec![SortField::new(of.clone())])?;
    let rows = converter.convert_columns(&[normalized(column)?])?;
    let (offsets, bytes, _) = rows.try_into_binary()?.into_parts();
    let keys = BinaryArray::try_new(offsets, bytes, column.logical_nulls())?;
    Ok(Arc::new(keys))
}

/// Numbers with one zero and one NaN, which is the largest: Spark compares them so, Arrow compares their bits. Also in
/// arrays and structs.
///
/// # Errors
/// Arrow's, of arrays that are malformed.
pub fn normalized(column: &ArrayRef) -> Result<ArrayRef> {
    Ok(match column.data_type() {
        ArrowType::Float32 => {
            let values = column.as_primitive::<Float32Type>();
            floats(values, |value| {
                if value.is_nan() {
                    f32::NAN
                } else {
                    value + 0.0
                }
            })
        }
        ArrowType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            floats(values, |value| {
                if value.is_nan() {
                    f64::NAN
                } else {
                    value + 0.0
                }
            })
        }
        ArrowType::List(element) if has_floats(element.data_type()) => {
            let lists = column.as_list::<i32>();
            let (values, nulls) = (normalized(lists.values())?, lists.nulls().cloned());
            let offsets = lists.offsets().clone();
            Arc::new(ListArray::try_new(
                Arc::clone(element),
                offsets,
                values,
                nulls,
            )?)
        }
        ArrowType::Struct(fields) if has_floats(column.data_type()) => {
            let structs = column.as_struct();
            let columns = structs.columns().iter().map(normalized);
            let columns = columns.collect::<Result<_>>()?;
            let nulls = structs.nulls().cloned();
            Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?)
        }
        _ => Arc::clone(column),
    })
}

fn floats<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    normal: impl Fn(T::Native) -> T::Native,
) -> ArrayRef {
    let values: PrimitiveArray<T> = values.unary(normal);
    Arc::new(values)
}

#[cfg(test)]
mod tests {
    use catalyst::DataType;
    use catalyst::Literal::{Array as A, Double as D, Null};

    use super::*;
    use crate::array_of;

    fn doubles() -> DataType {
        let element = Box::new(DataType::Double);
        DataType::Array {
            element,
            contains_null: true,
        }
    }

    #[test]
    fn arrays_in_spark_s_order() {
        let other_nan = f64::from_bits(0xfff8_0000_0000_0001);
        // Each before the next; those in one row are equal.
        let sorted = [
            vec![Null],
            vec![A(vec![])],
            vec![A(vec![Null])],
            vec![A(vec![Null, Null])],
            vec![A(vec![D(f64::NEG_INFINITY), D(1.0)])],
            vec![A(vec![D(0.0)]), A(vec![D(-0.0)])],
            vec![A(vec![D(-0.0), D(0.0)]), A(vec![D(0.0), D(-0.0)])],
            vec![A(vec![D(f64::INFINITY)])],
            vec![A(vec![D(f64::NAN)]), A(vec![D(other_nan)])],
            vec![A(vec![D(other_nan), Null])],
        ];
        let all: Vec<_> = sorted.iter().flatten().collect();
        let column = array_of(&doubles(), all).unwrap();
        let keys = order_key(&column).unwrap();
        assert!(keys.is_null(0));
        let keys = keys.as_binary::<i32>();
        let ranks = sorted.iter().enumerate();
        let ranks = ranks.flat_map(|(rank, equal)| equal.iter().map(move |_| rank));
        let ranks: Vec<_> = ranks.collect();
        for (a, of_a) in ranks.iter().enumerate().skip(1) {
            for (b, of_b) in ranks.iter().enumerate().skip(1) {
                assert_eq!(keys.value(a).cmp(keys.value(b)), of_a.cmp(of_b), "{a} {b}");
            }
        }
        // A part of a column has the same keys.
        let part = order_key(&column.slice(3, 5)).unwrap();
        assert_eq!(part.as_ref(), &keys.slice(3, 5));
    }

    #[test]
    fn what_has_no_order_is_refused() {
        let map = DataType::Map {
            key: Box::new(DataType::Integer),
            value: Box::new(DataType::Integer),
            value_contains_null: true,
        };
        let element = |of| DataType::Array {
            element: Box::new(of),
            contains_null: true,
        };
        for of in [
            map.clone(),
            element(map),
            element(DataType::Null),
            DataType::Null,
        ] {
            let column = array_of(&of, vec![&Null]).unwrap();
            assert!(!is_ordered(column.data_type()), "{of}");
            assert!(!of_bytes(&column), "{of}");
        }
        assert!(of_bytes(&array_of(&doubles(), vec![&Null]).unwrap()));
    }

    fn of_bytes(column: &ArrayRef) -> bool {
        column.data_type().is_nested() && order_key(column).is_ok()
    }
}
