//! Hashes of rows as Spark writes them, without writing them: XXH64 of an `UnsafeRow`'s bytes, word by word through
//! many rows at a time. For rows that all have the same length.

use std::ops::Range;

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType,
    Time64NanosecondType, TimestampMicrosecondType,
};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::Result;

use crate::encode::{big_integer, check_types, place};
use crate::error::bail_out;
use crate::layout::{Column, Slot, WIDE_DECIMAL, fixed_bytes, null_bytes};

/// Rows that are hashed at a time.
const LANES: usize = 64;

/// A word of each of these rows.
type Words = [u64; LANES];

/// The primes of XXH64.
const PRIME: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

/// Hashes rows of columns that take the same room in every row.
#[derive(Debug)]
pub struct RowHasher {
    columns: Box<[Column]>,
    /// Words of a row, those of nulls first, then the slots, and what they have behind them.
    words: Box<[Words]>,
}

impl RowHasher {
    /// `None` if rows of these columns have different lengths.
    pub(crate) fn new(columns: &[Column]) -> Option<Self> {
        let mut words = fixed_bytes(columns.len()) / 8;
        for column in columns {
            match column.slot {
                Slot::WideDecimal { always_16: true } => words += WIDE_DECIMAL as usize / 8,
                Slot::WideDecimal { .. }
                | Slot::String
                | Slot::Binary
                | Slot::Variant
                | Slot::Struct(_)
                | Slot::Array(_)
                | Slot::Map(_) => return None,
                Slot::Null
                | Slot::Boolean
                | Slot::Byte
                | Slot::Short
                | Slot::Integer
                | Slot::Long
                | Slot::Float
                | Slot::Double
                | Slot::Decimal => {}
            }
        }
        Some(Self {
            columns: columns.into(),
            words: vec![[0; LANES]; words].into(),
        })
    }

    /// Bytes of each row.
    #[must_use]
    pub fn row_size(&self) -> usize {
        self.words.len() * 8
    }

    /// The hash of each row of a batch.
    ///
    /// # Errors
    /// Bail-out: the batch has other columns.
    pub fn hash(&mut self, batch: &RecordBatch) -> Result<Vec<u64>> {
        check_types(&self.columns, batch.columns().iter())?;
        let rows = batch.num_rows();
        let mut hashes = Vec::with_capacity(rows.next_multiple_of(LANES));
        for start in (0..rows).step_by(LANES) {
            self.fill(batch.columns(), start, LANES.min(rows - start))?;
            hashes.extend(hash(&self.words));
        }
        hashes.truncate(rows);
        Ok(hashes)
    }

    /// Words of `count` rows from `start` on.
    fn fill(&mut self, arrays: &[ArrayRef], start: usize, count: usize) -> Result<()> {
        let narrow = || bail_out("a row of fewer words");
        let (nulls, slots) = self
            .words
            .split_at_mut_checked(null_bytes(self.columns.len()) / 8)
            .ok_or_else(narrow)?;
        nulls.iter_mut().for_each(|words| words.fill(0));
        let (slots, mut behind) = slots
            .split_at_mut_checked(self.columns.len())
            .ok_or_else(narrow)?;
        // As many columns as there are types.
        let mut offset = fixed_bytes(self.columns.len()) as u32;
        let columns = self.columns.iter().zip(arrays).zip(slots);
        for (index, ((column, array), slot)) in columns.enumerate() {
            if column.slot == (Slot::WideDecimal { always_16: true }) {
                let (digits, rest) = behind.split_first_chunk_mut::<2>().ok_or_else(narrow)?;
                wide_decimals(array, start..start + count, offset, slot, digits);
                behind = rest;
                offset += WIDE_DECIMAL;
            } else {
                values(column, array, start..start + count, slot);
            }
            let nulls_of = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
            if let (Some(nulls_of), Some(bits)) = (nulls_of, nulls.get_mut(index / 64)) {
                for ((slot, bits), row) in slot.iter_mut().zip(bits).zip(start..start + count) {
                    if nulls_of.is_null(row) {
                        *bits |= 1 << (index % 64);
                        // That of a wide decimal tells of its place nevertheless.
                        if !matches!(column.slot, Slot::WideDecimal { .. }) {
                            *slot = 0;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// What slots hold, of nulls too.
fn values(column: &Column, array: &ArrayRef, rows: Range<usize>, slots: &mut Words) {
    fn all<T: ArrowPrimitiveType>(
        array: &ArrayRef,
        rows: Range<usize>,
        slots: &mut Words,
        bits: impl Fn(T::Native) -> u64,
    ) {
        let values = array.as_primitive::<T>().values().get(rows);
        for (slot, value) in slots.iter_mut().zip(values.unwrap_or_default()) {
            *slot = bits(*value);
        }
    }
    match (&column.slot, &column.arrow) {
        (Slot::Boolean, _) => {
            let values = array.as_boolean().values();
            for (slot, row) in slots.iter_mut().zip(rows) {
                *slot = u64::from(values.value(row));
            }
        }
        (Slot::Byte, _) => all::<Int8Type>(array, rows, slots, |v| u64::from(v as u8)),
        (Slot::Short, _) => all::<Int16Type>(array, rows, slots, |v| u64::from(v as u16)),
        (Slot::Integer, ArrowType::Date32) => {
            all::<Date32Type>(array, rows, slots, |v| u64::from(v as u32));
        }
        (Slot::Integer, ArrowType::Interval(_)) => {
            all::<IntervalYearMonthType>(array, rows, slots, |v| u64::from(v as u32));
        }
        (Slot::Integer, _) => all::<Int32Type>(array, rows, slots, |v| u64::from(v as u32)),
        (Slot::Long, ArrowType::Timestamp(..)) => {
            all::<TimestampMicrosecondType>(array, rows, slots, |v| v as u64);
        }
        (Slot::Long, ArrowType::Duration(_)) => {
            all::<DurationMicrosecondType>(array, rows, slots, |v| v as u64);
        }
        (Slot::Long, ArrowType::Time64(_)) => {
            all::<Time64NanosecondType>(array, rows, slots, |v| v as u64);
        }
        (Slot::Long, _) => all::<Int64Type>(array, rows, slots, |v| v as u64),
        (Slot::Float, _) => all::<Float32Type>(array, rows, slots, |v| u64::from(v.to_bits())),
        (Slot::Double, _) => all::<Float64Type>(array, rows, slots, f64::to_bits),
        // At most 18 digits.
        (Slot::Decimal, _) => all::<Decimal128Type>(array, rows, slots, |v| v as i64 as u64),
        // There are no others.
        _ => slots.fill(0),
    }
}

/// Slots of wide decimals, and their digits behind the slots.
fn wide_decimals(
    array: &ArrayRef,
    rows: Range<usize>,
    offset: u32,
    slots: &mut Words,
    [first, second]: &mut [Words; 2],
) {
    let values = array.as_primitive::<Decimal128Type>();
    let behind = first.iter_mut().zip(second);
    for ((slot, (first, second)), row) in slots.iter_mut().zip(behind).zip(rows) {
        let (mut bytes, mut length) = ([0; 16], 0);
        if values.is_valid(row) {
            let value = values.value(row).to_be_bytes();
            let digits = big_integer(&value);
            // Of 16.
            length = digits.len() as u32;
            bytes
                .iter_mut()
                .zip(digits)
                .for_each(|(byte, digit)| *byte = *digit);
        }
        *slot = u64::from_le_bytes(place(offset, length));
        let words = u128::from_le_bytes(bytes);
        (*first, *second) = (words as u64, (words >> 64) as u64);
    }
}

/// XXH64 of rows of these words, with the seed 0.
fn hash(words: &[Words]) -> Words {
    let [one, two, three, four, five] = PRIME;
    let stripes = words.chunks_exact(4);
    let rest = stripes.remainder();
    let mut hashes = [five; LANES];
    if words.len() >= 4 {
        let start = [one.wrapping_add(two), two, 0, one.wrapping_neg()];
        let mut lanes = start.map(|start| [start; LANES]);
        for stripe in stripes {
            for (lane, words) in lanes.iter_mut().zip(stripe) {
                for (state, word) in lane.iter_mut().zip(words) {
                    *state = round(*state, *word);
                }
            }
        }
        hashes = [0; LANES];
        for (lane, bits) in lanes.iter().zip([1, 7, 12, 18]) {
            for (hash, state) in hashes.iter_mut().zip(lane) {
                *hash = hash.wrapping_add(state.rotate_left(bits));
            }
        }
        for lane in &lanes {
            for (hash, state) in hashes.iter_mut().zip(lane) {
                *hash = (*hash ^ round(0, *state))
                    .wrapping_mul(one)
                    .wrapping_add(four);
            }
        }
    }
    let length = words.len() as u64 * 8;
    hashes
        .iter_mut()
        .for_each(|hash| *hash = hash.wrapping_add(length));
    for words in rest {
        for (hash, word) in hashes.iter_mut().zip(words) {
            let mixed = (*hash ^ round(0, *word)).rotate_left(27);
            *hash = mixed.wrapping_mul(one).wrapping_add(four);
        }
    }
    hashes.map(|hash| {
        let hash = (hash ^ hash >> 33).wrapping_mul(two);
        let hash = (hash ^ hash >> 29).wrapping_mul(three);
        hash ^ hash >> 32
    })
}

#[inline]
fn round(state: u64, word: u64) -> u64 {
    let [one, two, ..] = PRIME;
    let state = state.wrapping_add(word.wrapping_mul(two));
    state.rotate_left(31).wrapping_mul(one)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BooleanArray, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array,
        Int32Array, Int64Array, NullArray, StringViewArray,
    };
    use twox_hash::XxHash64;

    use super::*;
    use crate::RowEncoder;
    use crate::types::schema_of_types;
    use catalyst::{DataType, Decimal, StructField};

    /// Columns of all types with nulls.
    fn columns(rows: i64) -> Vec<(DataType, ArrayRef)> {
        let numbers = |every: i64| {
            let numbers =
                (0..rows).map(move |n| (n % every != 0, n.wrapping_mul(0x1234_5678_9abc_def1)));
            numbers.map(|(valid, n)| valid.then_some(n))
        };
        let decimals = |precision, shift: u32| -> ArrayRef {
            let values = numbers(7)
                .map(|n| n.map(|n| i128::from(n % 100_000_007) << (shift + n as u32 % 29)));
            let values: Decimal128Array = values.collect();
            Arc::new(values.with_precision_and_scale(precision, 2).unwrap())
        };
        let of = |precision| {
            DataType::Decimal(Decimal {
                precision,
                scale: 2,
            })
        };
        let small = |n: Option<i64>| n.map(|n| n as i32);
        vec![
            (DataType::Null, Arc::new(NullArray::new(rows as usize))),
            (
                DataType::Boolean,
                Arc::new(
                    numbers(3)
                        .map(|n| n.map(|n| n < 0))
                        .collect::<BooleanArray>(),
                ),
            ),
            (
                DataType::Byte,
                Arc::new(
                    numbers(2)
                        .map(|n| n.map(|n| n as i8))
                        .collect::<Int8Array>(),
                ),
            ),
            (
                DataType::Short,
                Arc::new(
                    numbers(5)
                        .map(|n| n.map(|n| n as i16))
                        .collect::<Int16Array>(),
                ),
            ),
            (
                DataType::Integer,
                Arc::new(numbers(11).map(small).collect::<Int32Array>()),
            ),
            (
                DataType::Long,
                Arc::new(numbers(1_000_000).collect::<Int64Array>()),
            ),
            (
                DataType::Float,
                Arc::new(
                    numbers(4)
                        .map(|n| n.map(|n| n as f32))
                        .collect::<Float32Array>(),
                ),
            ),
            (
                DataType::Double,
                Arc::new(
                    numbers(9)
                        .map(|n| n.map(|n| -n as f64 / 3.0))
                        .collect::<Float64Array>(),
                ),
            ),
            (of(18), decimals(18, 0)),
            (of(38), decimals(38, 60)),
            (of(20), decimals(20, 4)),
        ]
    }

    #[test]
    fn rows_hash_as_their_bytes_do() {
        for rows in [0, 1, 63, 64, 65, 300] {
            let all = columns(rows);
            // Each number of columns, so that rows have each number of words, and more than one word of nulls.
            for count in (0..=all.len()).chain([70, 130]) {
                let some: Vec<_> = all
                    .iter()
                    .cycle()
                    .skip(count)
                    .take(count)
                    .cloned()
                    .collect();
                let (types, arrays): (Vec<_>, Vec<_>) = some.into_iter().unzip();
                let schema = schema_of_types(&types).unwrap();
                let options =
                    arrow::array::RecordBatchOptions::new().with_row_count(Some(rows as usize));
                let batch = RecordBatch::try_new_with_options(schema, arrays, &options).unwrap();
                let mut encoder = RowEncoder::new(&types).unwrap();
                let mut hasher = encoder.hasher().unwrap();
                for batch in [
                    batch.clone(),
                    batch.slice(rows as usize / 3, rows as usize / 2),
                ] {
                    let rows = encoder.encode(&batch).unwrap();
                    let expected: Vec<u64> =
                        rows.rows().map(|row| XxHash64::oneshot(0, row)).collect();
                    assert_eq!(hasher.hash(&batch).unwrap(), expected, "{count} columns");
                    assert_eq!(hasher.row_size() * expected.len(), rows.data_size());
                }
            }
        }
    }

    #[test]
    fn rows_of_different_lengths_are_not_hashed() {
        let field = StructField {
            name: "a".to_owned(),
            data_type: DataType::Long,
            nullable: true,
            field_id: None,
            exists_default: None,
        };
        for of in [
            DataType::String,
            DataType::Binary,
            DataType::Struct(vec![field]),
        ] {
            let encoder = RowEncoder::new([&DataType::Long, &of]).unwrap();
            assert!(encoder.hasher().is_none(), "{of}");
        }
        let cached = RowEncoder::of_cached([&DataType::Decimal(Decimal {
            precision: 20,
            scale: 0,
        })]);
        assert!(cached.unwrap().hasher().is_none());
        assert!(RowEncoder::opaque(Some(1)).hasher().is_none());
        let mut hasher = RowEncoder::new([&DataType::Long])
            .unwrap()
            .hasher()
            .unwrap();
        let schema = schema_of_types(&[DataType::String]).unwrap();
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["a"]));
        let batch = RecordBatch::try_new(schema, vec![texts]).unwrap();
        assert!(hasher.hash(&batch).is_err());
    }
}
