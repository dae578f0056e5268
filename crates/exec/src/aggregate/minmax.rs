//! `min` and `max` of numbers, dates, times, timestamps and intervals. Buffer: the value.

use std::cmp::Ordering;
use std::mem::take;
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType,
    Time64NanosecondType, TimestampMicrosecondType,
};
use datafusion_common::Result;

use super::accumulator::{Accumulator, each, primitive};
use super::number::valid;
use catalyst::DataType;
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// Spark's order of values.
trait Order: Copy + Default + Send {
    fn order(self, other: Self) -> Ordering;
}

macro_rules! ordered {
    ($($of:ty),*) => { $(impl Order for $of {
        fn order(self, other: Self) -> Ordering {
            self.cmp(&other)
        }
    })* };
}

ordered!(i8, i16, i32, i64, i128);

macro_rules! floats {
    ($($of:ty),*) => { $(impl Order for $of {
        /// NaN is the largest, and both zeros are the same.
        fn order(self, other: Self) -> Ordering {
            self.partial_cmp(&other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
        }
    })* };
}

floats!(f32, f64);

struct MinMax<T: ArrowPrimitiveType> {
    wanted: Ordering,
    data_type: ArrowType,
    values: Vec<T::Native>,
    seen: Vec<bool>,
}

/// The accumulator for values of a type.
pub(super) fn min_max(of: &DataType, min: bool) -> Result<Box<dyn Accumulator>> {
    let data_type = of.to_arrow();
    let data_type = data_type.map_err(|reason| bail_out(reason.to_string()))?;
    Ok(match of {
        DataType::Byte => MinMax::<Int8Type>::boxed(data_type, min),
        DataType::Short => MinMax::<Int16Type>::boxed(data_type, min),
        DataType::Integer => MinMax::<Int32Type>::boxed(data_type, min),
        DataType::Long => MinMax::<Int64Type>::boxed(data_type, min),
        DataType::Float => MinMax::<Float32Type>::boxed(data_type, min),
        DataType::Double => MinMax::<Float64Type>::boxed(data_type, min),
        DataType::Decimal(_) => MinMax::<Decimal128Type>::boxed(data_type, min),
        DataType::Date => MinMax::<Date32Type>::boxed(data_type, min),
        DataType::Timestamp | DataType::TimestampNtz => {
            MinMax::<TimestampMicrosecondType>::boxed(data_type, min)
        }
        DataType::YearMonthInterval => MinMax::<IntervalYearMonthType>::boxed(data_type, min),
        DataType::DayTimeInterval => MinMax::<DurationMicrosecondType>::boxed(data_type, min),
        DataType::Time(_) => MinMax::<Time64NanosecondType>::boxed(data_type, min),
        _ => return Err(bail_out(format!("the least {of}"))),
    })
}

impl<T: ArrowPrimitiveType> MinMax<T>
where
    T::Native: Order,
{
    fn boxed(data_type: ArrowType, min: bool) -> Box<dyn Accumulator> {
        Box::new(Self {
            wanted: match min {
                true => Ordering::Less,
                false => Ordering::Greater,
            },
            data_type,
            values: Vec::new(),
            seen: Vec::new(),
        })
    }
}

// Groups are smaller than `total`, to which the vectors are resized.
#[allow(clippy::indexing_slicing)]
impl<T: ArrowPrimitiveType> Accumulator for MinMax<T>
where
    T::Native: Order,
{
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let array = primitive::<T>(args, 0)?;
        self.values.resize(total, T::Native::default());
        self.seen.resize(total, false);
        let (values, seen, wanted) = (&mut self.values, &mut self.seen, self.wanted);
        each(array, groups, filter, |group, value| {
            // Of equal ones, such as both zeros, Spark keeps the first.
            if !seen[group] || value.order(values[group]) == wanted {
                values[group] = value;
                seen[group] = true;
            }
        });
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let (values, seen) = (take(&mut self.values), take(&mut self.seen));
        let array = PrimitiveArray::<T>::new(values.into(), Some(valid(seen)));
        Ok(Arc::new(array.with_data_type(self.data_type.clone())))
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.seen.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_the_largest_and_zeros_are_equal() {
        let values: ArrayRef = Arc::new(PrimitiveArray::<Float64Type>::from(vec![
            f64::NAN,
            1.0,
            -0.0,
            0.0,
        ]));
        let of = |min| {
            let mut accumulator = min_max(&DataType::Double, min).unwrap();
            accumulator
                .update(&[Arc::clone(&values)], &[0, 0, 1, 1], None, 3)
                .unwrap();
            let result = accumulator.evaluate().unwrap();
            let result = primitive::<Float64Type>(std::slice::from_ref(&result), 0).unwrap();
            result.iter().collect::<Vec<_>>()
        };
        assert_eq!(of(true)[0], Some(1.0));
        assert!(of(false)[0].is_some_and(f64::is_nan));
        assert!(of(true)[1].is_some_and(f64::is_sign_negative));
        assert_eq!(of(true)[2], None);
    }
}
