//! The groups of one key that is a number: its values are found where the table is looked into, and nowhere else.

use std::sync::Arc;

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, TimeUnit};
use catalyst::MAX_LONG_DIGITS;
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use datafusion_physical_plan::aggregates::group_values::GroupValues;

use rows::error::bail_out;
use rows::slots::{NONE, Slots};

/// Groups by a key of this type; `None` if it is no number that fits.
pub(super) fn number_groups(of: &DataType) -> Option<Box<dyn GroupValues>> {
    fn groups<T: Number>(of: &DataType) -> Option<Box<dyn GroupValues>> {
        Some(Box::new(NumberGroups::<T>::new(of.clone())))
    }
    match of {
        DataType::Int8 => groups::<Int8Type>(of),
        DataType::Int16 => groups::<Int16Type>(of),
        DataType::Int32 => groups::<Int32Type>(of),
        DataType::Int64 => groups::<Int64Type>(of),
        DataType::Date32 => groups::<Date32Type>(of),
        DataType::Timestamp(TimeUnit::Microsecond, _) => groups::<TimestampMicrosecondType>(of),
        DataType::Decimal128(precision, _) if *precision <= MAX_LONG_DIGITS => {
            groups::<Decimal128Type>(of)
        }
        _ => None,
    }
}

/// A type whose values are numbers of at most 64 bits.
trait Number: ArrowPrimitiveType + Send {
    fn number(value: Self::Native) -> i64;
}

macro_rules! number {
    ($($of:ty => $native:ty),+ $(,)?) => {
        $(impl Number for $of {
            #[inline]
            fn number(value: $native) -> i64 {
                value as i64
            }
        })+
    };
}

number!(
    Int8Type => i8,
    Int16Type => i16,
    Int32Type => i32,
    Int64Type => i64,
    Date32Type => i32,
    TimestampMicrosecondType => i64,
    // At most 18 digits.
    Decimal128Type => i128,
);

struct NumberGroups<T: Number> {
    data_type: DataType,
    slots: Slots<i64>,
    /// By group; anything for the one of null.
    values: Vec<T::Native>,
    null: Option<usize>,
}

impl<T: Number> NumberGroups<T> {
    fn new(data_type: DataType) -> Self {
        Self {
            data_type,
            slots: Slots::new(0),
            values: Vec::new(),
            null: None,
        }
    }

    fn intern_valid(&mut self, values: impl Iterator<Item = T::Native>, groups: &mut Vec<usize>) {
        let keys = values.map(|value| (T::number(value), value));
        let of = &mut self.values;
        self.slots.for_each(keys, |slots, key, value| {
            groups.push(group(slots, key, value, of));
        });
    }

    fn intern_some(
        &mut self,
        values: &PrimitiveArray<T>,
        nulls: &NullBuffer,
        groups: &mut Vec<usize>,
    ) {
        for (row, value) in values.values().iter().enumerate() {
            let of = &mut self.values;
            groups.push(match nulls.is_valid(row) {
                true => group(&mut self.slots, T::number(*value), *value, of),
                false => *self.null.get_or_insert_with(|| {
                    of.push(*value);
                    of.len() - 1
                }),
            });
        }
    }
}

/// The group of a key, which may be new.
#[inline]
fn group<V>(slots: &mut Slots<i64>, key: i64, value: V, values: &mut Vec<V>) -> usize {
    let head = slots.entry(key, |_| true);
    if *head == NONE {
        // Of which there are fewer than NONE.
        *head = values.len() as u32;
        values.push(value);
    }
    *head as usize
}

impl<T: Number> GroupValues for NumberGroups<T> {
    fn intern(&mut self, keys: &[ArrayRef], groups: &mut Vec<usize>) -> Result<()> {
        let [keys] = keys else {
            return Err(bail_out("groups by another number of keys"));
        };
        let keys = keys.as_primitive_opt::<T>();
        let keys = keys.ok_or_else(|| bail_out("groups by a key of another type"))?;
        if self.values.len().saturating_add(keys.len()) >= NONE as usize {
            return Err(bail_out("too many groups"));
        }
        groups.clear();
        groups.reserve(keys.len());
        match keys.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => self.intern_valid(keys.values().iter().copied(), groups),
            Some(nulls) => self.intern_some(keys, nulls, groups),
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.slots.memory_size() + self.values.capacity() * size_of::<T::Native>()
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn emit(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let count = match emit_to {
            EmitTo::All => self.values.len(),
            EmitTo::First(count) => count.min(self.values.len()),
        };
        let rest = self.values.split_off(count);
        let values = std::mem::replace(&mut self.values, rest);
        let null = self.null.filter(|null| *null < count);
        let nulls = null.map(|null| {
            (0..count)
                .map(|group| group != null)
                .collect::<NullBuffer>()
        });
        self.null = match null {
            Some(_) => None,
            None => self.null.map(|null| null - count),
        };
        // Those that are left have other numbers.
        self.slots = Slots::new(self.values.len());
        for (group, value) in self.values.iter().enumerate() {
            if self.null != Some(group) {
                // There are fewer than NONE.
                *self.slots.entry(T::number(*value), |_| true) = group as u32;
            }
        }
        let values = PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls)?;
        Ok(vec![Arc::new(
            values.with_data_type(self.data_type.clone()),
        )])
    }

    fn clear_shrink(&mut self, num_rows: usize) {
        self.slots = Slots::new(num_rows);
        self.values = Vec::with_capacity(num_rows);
        self.null = None;
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Int64Array};
    use arrow::compute::cast;
    use arrow::datatypes::{Field, Schema};
    use datafusion_physical_plan::aggregates::group_values::new_group_values;
    use datafusion_physical_plan::aggregates::order::GroupOrdering;

    use super::*;

    /// What DataFusion's own groups give of the same keys.
    fn expected(of: &DataType) -> Box<dyn GroupValues> {
        let schema = Arc::new(Schema::new(vec![Field::new("key", of.clone(), true)]));
        new_group_values(schema, &GroupOrdering::None).unwrap()
    }

    #[test]
    fn groups_are_those_of_any_other_table() {
        let batches = |every: i64| {
            let batch = move |from: i64| -> ArrayRef {
                let keys = (0..700).map(|n| (n * 7919 + from) % 997 - 300);
                let keys = keys.map(|n| (every == 0 || n % every != 0).then_some(n % 128));
                Arc::new(keys.collect::<Int64Array>())
            };
            [0, 300, 5000].map(batch)
        };
        for of in [
            DataType::Int8,
            DataType::Int16,
            DataType::Int32,
            DataType::Int64,
            DataType::Date32,
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            DataType::Decimal128(18, 2),
        ] {
            for every in [0, 5, 1] {
                for first in [0, 1, 40, 1000] {
                    let (mut ours, mut other) = (number_groups(&of).unwrap(), expected(&of));
                    for batch in batches(every) {
                        let keys = [match of {
                            DataType::Date32 => {
                                cast(&cast(&batch, &DataType::Int32).unwrap(), &of).unwrap()
                            }
                            _ => cast(&batch, &of).unwrap(),
                        }];
                        let (mut found, mut wanted) = (vec![7], Vec::new());
                        ours.intern(&keys, &mut found).unwrap();
                        other.intern(&keys, &mut wanted).unwrap();
                        assert_eq!(found, wanted, "{of} {every}");
                        assert_eq!(ours.len(), other.len());
                        if first < ours.len() {
                            let of_first = EmitTo::First(first);
                            assert_eq!(ours.emit(of_first).unwrap(), other.emit(of_first).unwrap());
                        }
                    }
                    assert!(ours.size() > 0);
                    let all = ours.emit(EmitTo::All).unwrap();
                    assert_eq!(all, other.emit(EmitTo::All).unwrap());
                    assert_eq!(all[0].data_type(), &of);
                    assert!(ours.is_empty());
                }
            }
        }
    }

    #[test]
    fn extreme_numbers_are_groups_too() {
        let keys = [i64::MIN, i64::MAX, 0, -1, i64::MIN];
        let mut groups = number_groups(&DataType::Int64).unwrap();
        let mut found = Vec::new();
        let all: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
        groups.intern(&[all], &mut found).unwrap();
        assert_eq!(found, [0, 1, 2, 3, 0]);
        let of = DataType::Decimal128(18, 0);
        let mut groups = number_groups(&of).unwrap();
        let digits = 999_999_999_999_999_999_i128;
        let all = Decimal128Array::from(vec![digits, -digits, digits]).with_data_type(of);
        groups.intern(&[Arc::new(all)], &mut found).unwrap();
        assert_eq!(found, [0, 1, 0]);
        assert!(number_groups(&DataType::Decimal128(19, 0)).is_none());
        assert!(number_groups(&DataType::Float64).is_none());
    }
}
