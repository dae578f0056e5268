//! Casts between booleans, integers and floats.

use std::sync::Arc;

use arrow::array::{Array, ArrowPrimitiveType, BinaryViewArray, PrimitiveArray};
use arrow::datatypes::{
    DataType as ArrowType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion_physical_expr::PhysicalExpr;

use super::{Casting, OVERFLOW, to_boolean};
use crate::expr::arithmetic::otherwise;
use crate::expr::kernel::{Kernel, single};
use catalyst::DataType;
use catalyst::Unsupported;

/// Whether it is a boolean, an integer or a float.
pub(super) fn is_number(of: &DataType) -> bool {
    use DataType as T;
    matches!(
        of,
        T::Boolean | T::Byte | T::Short | T::Integer | T::Long | T::Float | T::Double
    )
}

/// Numbers as a cast sees them.
pub(in super::super) trait Number: Copy + 'static {
    /// As Java's casts: high bits are dropped, floats saturate and NaN is 0. Bytes and shorts go through int.
    fn to_long(self) -> i64;
    fn to_int(self) -> i32;
    fn to_float(self) -> f32;
    fn to_double(self) -> f64;
    /// The same number without what is behind the point; `None` if it is out of the range.
    fn exact(self, min: i64, max: i64) -> Option<i64>;
}

/// Java's casts among primitive types are Rust's.
macro_rules! primitive_casts {
    () => {
        fn to_long(self) -> i64 {
            self as i64
        }
        fn to_int(self) -> i32 {
            self as i32
        }
        fn to_float(self) -> f32 {
            self as f32
        }
        fn to_double(self) -> f64 {
            self as f64
        }
    };
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        // What is lost is lost in Java as well.
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_lossless)]
        impl Number for $type {
            primitive_casts!();
            fn exact(self, min: i64, max: i64) -> Option<i64> {
                Some(self as i64).filter(|value| (min..=max).contains(value))
            }
        }
    )*};
}

integer!(i8, i16, i32, i64);

macro_rules! float {
    ($($type:ty),*) => {$(
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_lossless)]
        impl Number for $type {
            primitive_casts!();
            fn exact(self, min: i64, max: i64) -> Option<i64> {
                // The bounds are compared as doubles, as Spark does: 2^63 counts as a long.
                let wide = self as f64;
                (wide.floor() <= max as f64 && wide.ceil() >= min as f64).then_some(self as i64)
            }
        }
    )*};
}

float!(f32, f64);

/// A cast among numbers.
pub(super) fn lower(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    match casting.from {
        T::Boolean => from_boolean(casting),
        T::Byte => from_number::<Int8Type>(casting),
        T::Short => from_number::<Int16Type>(casting),
        T::Integer => from_number::<Int32Type>(casting),
        T::Long => from_number::<Int64Type>(casting),
        T::Float => from_number::<Float32Type>(casting),
        T::Double => from_number::<Float64Type>(casting),
        _ => Err(casting.refuse()),
    }
}

fn from_boolean(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    macro_rules! number {
        ($type:ty, $one:expr, $zero:expr) => {
            Kernel::strict(
                casting.name(),
                vec![Arc::clone(&casting.child)],
                casting.arrow()?,
                |args, _| {
                    let array = single(args)?.boolean()?;
                    let values = array.values().iter().map(|v| if v { $one } else { $zero });
                    Ok(Arc::new(PrimitiveArray::<$type>::try_new(
                        values.collect::<Vec<_>>().into(),
                        array.nulls().cloned(),
                    )?))
                },
            )
        };
    }
    use DataType as T;
    Ok(match casting.to {
        T::Byte => number!(Int8Type, 1, 0),
        T::Short => number!(Int16Type, 1, 0),
        T::Integer => number!(Int32Type, 1, 0),
        T::Long => number!(Int64Type, 1, 0),
        T::Float => number!(Float32Type, 1.0, 0.0),
        T::Double => number!(Float64Type, 1.0, 0.0),
        _ => return Err(casting.refuse()),
    })
}

// What does not fit was checked before, or is dropped in Java as well.
#[allow(clippy::cast_possible_truncation)]
fn from_number<I: ArrowPrimitiveType<Native: Number>>(
    casting: &Casting<'_>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let ansi = casting.ansi();
    let otherwise = otherwise(Some(casting.mode), OVERFLOW);
    macro_rules! number {
        ($type:ty, $f:expr) => {
            casting.each::<I, $type>(otherwise, $f)?
        };
    }
    macro_rules! integer {
        ($type:ty, $native:ty, $legacy:expr) => {{
            let (min, max) = (<$native>::MIN.into(), <$native>::MAX.into());
            if ansi {
                number!($type, move |v| Some(v.exact(min, max)? as $native))
            } else {
                number!($type, |v: I::Native| Some($legacy(v)))
            }
        }};
    }
    use DataType as T;
    Ok(match casting.to {
        T::Byte => integer!(Int8Type, i8, |v: I::Native| v.to_int() as i8),
        T::Short => integer!(Int16Type, i16, |v: I::Native| v.to_int() as i16),
        T::Integer => integer!(Int32Type, i32, Number::to_int),
        T::Long => integer!(Int64Type, i64, Number::to_long),
        T::Float => number!(Float32Type, |v: I::Native| Some(v.to_float())),
        T::Double => number!(Float64Type, |v: I::Native| Some(v.to_double())),
        T::Boolean => to_boolean::<I>(casting),
        _ => return Err(casting.refuse()),
    })
}

/// The bytes of an integer, the highest first.
pub(super) fn to_binary(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    macro_rules! bytes {
        ($type:ty) => {
            Kernel::strict(
                casting.name(),
                vec![Arc::clone(&casting.child)],
                ArrowType::BinaryView,
                |args, _| {
                    let array = single(args)?.primitive::<$type>()?;
                    let values = array.iter().map(|v| v.map(|v| v.to_be_bytes()));
                    Ok(Arc::new(values.collect::<BinaryViewArray>()))
                },
            )
        };
    }
    use DataType as T;
    Ok(match casting.from {
        T::Byte => bytes!(Int8Type),
        T::Short => bytes!(Int16Type),
        T::Integer => bytes!(Int32Type),
        T::Long => bytes!(Int64Type),
        _ => return Err(casting.refuse()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_integers_as_in_java() {
        assert_eq!(f64::NAN.to_int(), 0);
        assert_eq!(1e20.to_long(), i64::MAX);
        assert_eq!((-1e20).to_int(), i32::MIN);
        assert_eq!(
            2_147_483_647.9.exact(i32::MIN.into(), i32::MAX.into()),
            Some(i64::from(i32::MAX))
        );
        assert_eq!(
            2_147_483_648.0.exact(i32::MIN.into(), i32::MAX.into()),
            None
        );
        assert_eq!(
            2_147_483_648f32.exact(i32::MIN.into(), i32::MAX.into()),
            None
        );
        assert_eq!(f64::NAN.exact(0, 1), None);
        assert_eq!((-128.9).exact(-128, 127), Some(-128));
    }
}
