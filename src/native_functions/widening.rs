//! Values of one type as values of a wider one, as the module of Python that stands for a library makes them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type};
use functions::types::fits;

/// Largest integers that a double has all of, and largest power of ten that it is exactly.
const EXACT: (u128, i8) = (1 << 53, 22);

/// A column as one of a signature's type: of the same type, or a wider one. `None` if it is neither.
pub fn widened(column: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    let from = column.data_type();
    if from == to {
        return Some(Arc::clone(column));
    }
    match (from, to) {
        (DataType::Null, to) => Some(new_null_array(to, column.len())),
        (DataType::Decimal128(_, scale), DataType::Float64) => Some(Arc::new(doubles(
            column.as_primitive::<Decimal128Type>(),
            *scale,
        ))),
        (from, to) if widens(from, to) || fits(to, from) => {
            let column = cast(column, to).ok()?;
            (column.data_type() == to).then_some(column)
        }
        _ => None,
    }
}

/// Whether every value of a type is one of another, or becomes the nearest double.
fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType::{Float32, Float64, Int8, Int16, Int32, Int64};
    match to {
        Int16 => matches!(from, Int8),
        Int32 => matches!(from, Int8 | Int16),
        Int64 => matches!(from, Int8 | Int16 | Int32),
        Float64 => matches!(from, Int8 | Int16 | Int32 | Int64 | Float32),
        _ => false,
    }
}

/// The doubles that are nearest to decimals.
fn doubles(decimals: &Decimal128Array, scale: i8) -> Float64Array {
    decimals.unary(|unscaled| {
        let (integers, powers) = EXACT;
        if unscaled.unsigned_abs() <= integers && (0..=powers).contains(&scale) {
            // Both are exact, so that the quotient is rounded once.
            #[allow(clippy::cast_precision_loss)]
            return unscaled as f64 / 10_f64.powi(i32::from(scale));
        }
        let digits = format!("{unscaled}e{}", -i32::from(scale));
        // A number that Rust reads, and rounds to the nearest.
        digits.parse().unwrap_or(f64::NAN)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Float32Array, Int32Array, Int64Array, NullArray};
    use arrow::datatypes::{Field, Float64Type};

    use super::*;

    #[test]
    fn decimals_become_the_nearest_doubles() {
        for (unscaled, scale, expected) in [
            (4885, 2, 48.85),
            (1, 1, 0.1),
            (0, 38, 0.0),
            (i128::from(i64::MAX), 3, 9_223_372_036_854_775.807),
            (
                -12_345_678_901_234_567_890_123_456_789_012_345_678,
                10,
                -1.234_567_890_123_456_8e27,
            ),
        ] {
            let column: ArrayRef = Arc::new(
                Decimal128Array::from(vec![Some(unscaled), None])
                    .with_precision_and_scale(38, scale)
                    .unwrap(),
            );
            let doubles = widened(&column, &DataType::Float64).unwrap();
            let doubles = doubles.as_primitive::<Float64Type>();
            assert_eq!(
                doubles.value(0).to_bits(),
                f64::to_bits(expected),
                "{unscaled}e-{scale}"
            );
            assert!(doubles.is_null(1));
        }
    }

    #[test]
    fn narrower_types_are_not_taken() {
        let ints: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        let longs: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let floats: ArrayRef = Arc::new(Float32Array::from(vec![0.1]));
        let nulls: ArrayRef = Arc::new(NullArray::new(3));
        assert!(widened(&ints, &DataType::Int64).is_some());
        assert!(widened(&longs, &DataType::Int32).is_none());
        assert!(widened(&floats, &DataType::Int32).is_none());
        assert!(widened(&ints, &DataType::Utf8).is_none());
        assert!(widened(&ints, &DataType::Float32).is_none());
        let texts = widened(&nulls, &DataType::Utf8).unwrap();
        assert_eq!((texts.len(), texts.null_count()), (3, 3));
        let lists =
            |nullable| DataType::List(Arc::new(Field::new("element", DataType::Int32, nullable)));
        let column = new_null_array(&lists(false), 2);
        assert_eq!(
            *widened(&column, &lists(true)).unwrap().data_type(),
            lists(true)
        );
    }
}
