//! Which columns are written by the numbers of their values. Parquet's Java library, which Spark has, looks at the
//! first page of a row group: if its values and their numbers take as much room as the page itself, they are left as
//! they are (`DictionaryValuesWriter.isCompressionSatisfying`). The `parquet` crate does not, and small files of many
//! different values would be half as large again.

use std::collections::HashSet;

use arrow::array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType,
};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{ArrowPrimitiveType, DataType, TimeUnit};

use super::column::leaves;

/// What a column takes.
#[derive(Default)]
struct Sizes<'a> {
    numbers: HashSet<i128>,
    texts: HashSet<&'a [u8]>,
    values: usize,
    /// Bytes of the values.
    plain: usize,
    /// Bytes of those that differ.
    different: usize,
}

/// For each leaf of the columns of these batches, in their order, whether it has few values.
pub(super) fn few_values(batches: &[Vec<ArrayRef>]) -> Vec<bool> {
    let mut all: Vec<Sizes<'_>> = Vec::new();
    for columns in batches {
        let mut found = Vec::with_capacity(all.len());
        for column in columns {
            leaves(column, &mut found);
        }
        all.resize_with(found.len().max(all.len()), Sizes::default);
        for (sizes, leaf) in all.iter_mut().zip(found) {
            sizes.add(leaf);
        }
    }
    all.iter().map(Sizes::has_few).collect()
}

impl<'a> Sizes<'a> {
    fn add(&mut self, array: &'a ArrayRef) {
        match array.data_type() {
            DataType::Int8 => self.add_numbers::<Int8Type>(array, 4, i128::from),
            DataType::Int16 => self.add_numbers::<Int16Type>(array, 4, i128::from),
            DataType::Int32 => self.add_numbers::<Int32Type>(array, 4, i128::from),
            DataType::Int64 => self.add_numbers::<Int64Type>(array, 8, i128::from),
            DataType::Date32 => self.add_numbers::<Date32Type>(array, 4, i128::from),
            DataType::Float32 => {
                self.add_numbers::<Float32Type>(array, 4, |value| value.to_bits().into());
            }
            DataType::Float64 => {
                self.add_numbers::<Float64Type>(array, 8, |value| value.to_bits().into());
            }
            DataType::Decimal128(..) => self.add_numbers::<Decimal128Type>(array, 8, |value| value),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.add_numbers::<TimestampMicrosecondType>(array, 8, i128::from);
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                self.add_numbers::<TimestampMillisecondType>(array, 8, i128::from);
            }
            DataType::Time64(TimeUnit::Microsecond) => {
                self.add_numbers::<Time64MicrosecondType>(array, 8, i128::from);
            }
            DataType::Time64(TimeUnit::Nanosecond) => {
                self.add_numbers::<Time64NanosecondType>(array, 8, i128::from);
            }
            DataType::Utf8View => {
                let values = array.as_string_view().iter().flatten();
                self.add_texts(values.map(str::as_bytes));
            }
            DataType::BinaryView => self.add_texts(array.as_binary_view().iter().flatten()),
            // Booleans and arrays of bytes have no numbers anyway.
            _ => {}
        }
    }

    fn add_numbers<T: ArrowPrimitiveType>(
        &mut self,
        array: &ArrayRef,
        width: usize,
        number: impl Fn(T::Native) -> i128,
    ) {
        for value in array.as_primitive::<T>().iter().flatten() {
            let is_new = self.numbers.insert(number(value));
            self.count(width, is_new);
        }
    }

    fn add_texts(&mut self, values: impl Iterator<Item = &'a [u8]>) {
        for value in values {
            let is_new = self.texts.insert(value);
            // With the length before it.
            self.count(value.len() + 4, is_new);
        }
    }

    fn count(&mut self, bytes: usize, is_new: bool) {
        self.values += 1;
        self.plain += bytes;
        self.different += if is_new { bytes } else { 0 };
    }

    fn has_few(&self) -> bool {
        let different = self.numbers.len().max(self.texts.len());
        let bits = usize::BITS - different.saturating_sub(1).leading_zeros();
        let numbers = (self.values * bits as usize).div_ceil(8);
        self.values == 0 || numbers + self.different < self.plain
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringViewArray};

    use super::*;

    #[test]
    fn values_that_differ_are_left_as_they_are() {
        let numbers = |modulus: i64| {
            let values = (0..10_000).map(|at| at % modulus);
            Arc::new(Int64Array::from_iter_values(values)) as ArrayRef
        };
        let texts = |modulus: usize| {
            let values = (0..10_000).map(|at| format!("text {}", at % modulus));
            Arc::new(StringViewArray::from_iter_values(values)) as ArrayRef
        };
        let columns = vec![numbers(10_000), numbers(100), texts(10_000), texts(5000)];
        assert_eq!(few_values(&[columns]), [false, true, false, true]);
        // Halves of the same values.
        let twice = [vec![numbers(10_000)], vec![numbers(10_000)]];
        assert_eq!(few_values(&twice), [true]);
        let none = Arc::new(Int64Array::new_null(5)) as ArrayRef;
        assert_eq!(few_values(&[vec![none]]), [true]);
        assert!(few_values(&[]).is_empty());
    }
}
