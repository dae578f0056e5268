//! Floats as Spark compares and groups them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float32Array, Float64Array};
use arrow::datatypes::{DataType as ArrowType, Float32Type, Float64Type};

/// Numbers with one zero and one NaN, which is the largest: Spark compares them so, Arrow compares their bits.
#[must_use]
pub fn normalized(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        ArrowType::Float32 => {
            let values = column.as_primitive::<Float32Type>();
            let values: Float32Array = values.unary(|value| match value {
                _ if value == 0.0 => 0.0,
                _ if value.is_nan() => f32::NAN,
                _ => value,
            });
            Arc::new(values)
        }
        ArrowType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            let values: Float64Array = values.unary(|value| match value {
                _ if value == 0.0 => 0.0,
                _ if value.is_nan() => f64::NAN,
                _ => value,
            });
            Arc::new(values)
        }
        _ => Arc::clone(column),
    }
}
