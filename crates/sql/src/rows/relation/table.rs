//! A table from keys to rows, for joins.

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType as ArrowType, TimeUnit};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::Result;
use twox_hash::XxHash64;

use super::super::range::normalized;
use crate::native::error::bail_out;
use crate::types::MAX_LONG_DIGITS;

/// No row.
const NONE: u32 = u32::MAX;

/// A table over the keys of rows. Keys are equal as Spark's join keys are: NaN equals NaN, -0.0 equals 0.0, null equals nothing.
#[derive(Debug)]
pub struct RelationTable {
    types: Vec<ArrowType>,
    keys: Keys,
    /// For each row the next with the same key. Empty if there is none.
    next: Vec<u32>,
    num_rows: usize,
}

#[derive(Debug)]
enum Keys {
    /// One number, in a range that is not much larger than their count: the first row of each.
    Dense { min: i64, heads: Vec<u32> },
    /// One number.
    Long(Slots<i64>),
    /// Two numbers.
    Pair(Slots<[i64; 2]>),
    /// Anything.
    Rows {
        converter: RowConverter,
        rows: Rows,
        /// High halves of hashes.
        slots: Slots<u32>,
    },
}

/// Slots of a hash table: keys and their first rows. At most three quarters of them are used, and far fewer where keys repeat.
#[derive(Debug)]
struct Slots<K> {
    slots: Vec<(K, u32)>,
    shift: u32,
}

/// For each row of the streamed side the first row of the table with its key.
#[derive(Debug, Clone)]
pub struct Matches {
    heads: Vec<u32>,
}

/// How far the pairs of [`Matches`] were given.
#[derive(Debug, Clone, Copy, Default)]
pub struct MatchCursor {
    row: usize,
    /// The next row of the table for `row`, if some of its pairs were given.
    build: Option<u32>,
}

impl RelationTable {
    /// Over the keys of all rows of a relation. Rows with a null key are left out.
    ///
    /// # Errors
    /// Bail-outs: there are too many rows, or keys have a type that cannot be compared.
    pub fn new(keys: &[ArrayRef], num_rows: usize) -> Result<Self> {
        if keys.is_empty() {
            return Err(bail_out("a table without keys"));
        }
        if num_rows >= NONE as usize || keys.iter().any(|key| key.len() != num_rows) {
            return Err(bail_out("too many rows in a relation"));
        }
        let types: Vec<_> = keys.iter().map(|key| key.data_type().clone()).collect();
        let valid = valid_rows(keys);
        let is_valid = |row: usize| valid.as_ref().is_none_or(|valid| valid.is_valid(row));
        // From the last, so that rows with the same key come in their order.
        let rows = (0..num_rows).rev().filter(|row| is_valid(*row));
        let mut chain = Chain {
            next: vec![NONE; num_rows],
            unique: true,
        };
        let keys = match &keys
            .iter()
            .map(numbers)
            .collect::<Option<Vec<_>>>()
            .as_deref()
        {
            Some([one]) => {
                match dense_range(rows.clone().filter_map(|row| one.get(row).copied())) {
                    Some((min, range)) => {
                        let mut heads = vec![NONE; range];
                        for row in rows {
                            let place = one.get(row).map(|key| key.wrapping_sub(min) as usize);
                            if let Some(head) = place.and_then(|place| heads.get_mut(place)) {
                                chain.push(head, row);
                            }
                        }
                        Keys::Dense { min, heads }
                    }
                    None => {
                        let mut slots = Slots::new(num_rows);
                        for row in rows {
                            if let Some(key) = one.get(row) {
                                chain.push(slots.entry(hash_long(*key), *key, |_| true), row);
                            }
                        }
                        Keys::Long(slots)
                    }
                }
            }
            Some([one, two]) => {
                let mut slots = Slots::new(num_rows);
                for row in rows {
                    if let (Some(one), Some(two)) = (one.get(row), two.get(row)) {
                        let key = [*one, *two];
                        chain.push(slots.entry(hash_pair(key), key, |_| true), row);
                    }
                }
                Keys::Pair(slots)
            }
            _ => {
                let fields = types.iter().cloned().map(SortField::new).collect();
                let converter = RowConverter::new(fields)?;
                let normal: Vec<_> = keys.iter().map(normalized).collect();
                let converted = converter.convert_columns(&normal)?;
                let mut slots = Slots::new(num_rows);
                for row in rows {
                    let key = converted.row(row);
                    let hash = XxHash64::oneshot(0, key.as_ref());
                    let same = |head: u32| converted.row(head as usize) == key;
                    chain.push(slots.entry(hash, (hash >> 32) as u32, same), row);
                }
                Keys::Rows {
                    converter,
                    rows: converted,
                    slots,
                }
            }
        };
        Ok(Self {
            types,
            keys,
            next: if chain.unique { Vec::new() } else { chain.next },
            num_rows,
        })
    }

    /// Whether no two rows have the same key.
    #[must_use]
    pub fn key_is_unique(&self) -> bool {
        self.next.is_empty()
    }

    /// Number of rows, with those left out.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// Bytes that it takes in memory, roughly.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        let keys = match &self.keys {
            Keys::Dense { heads, .. } => heads.len() * 4,
            Keys::Long(slots) => slots.slots.len() * size_of::<(i64, u32)>(),
            Keys::Pair(slots) => slots.slots.len() * size_of::<([i64; 2], u32)>(),
            Keys::Rows { rows, slots, .. } => {
                rows.size() + slots.slots.len() * size_of::<(u32, u32)>()
            }
        };
        keys + self.next.len() * 4
    }

    /// Looks up keys of the streamed side, which have the types of the table's.
    ///
    /// # Errors
    /// Bail-out: they have not.
    pub fn probe(&self, keys: &[ArrayRef], num_rows: usize) -> Result<Matches> {
        let same = keys.len() == self.types.len()
            && keys
                .iter()
                .zip(&self.types)
                .all(|(key, of)| key.data_type() == of);
        if !same || keys.iter().any(|key| key.len() != num_rows) {
            return Err(bail_out("join keys of different types"));
        }
        let valid = valid_rows(keys);
        let numbers = || keys.iter().map(numbers).collect::<Option<Vec<_>>>();
        let wrong = || bail_out("join keys of different types");
        let mut heads: Vec<u32> = match &self.keys {
            Keys::Dense { min, heads } => {
                let numbers = numbers().ok_or_else(wrong)?;
                let one = numbers.first().ok_or_else(wrong)?;
                one.iter()
                    .map(|key| {
                        // What is less than the least wraps to more than the most.
                        let place = usize::try_from(key.wrapping_sub(*min) as u64);
                        place
                            .ok()
                            .and_then(|at| heads.get(at))
                            .copied()
                            .unwrap_or(NONE)
                    })
                    .collect()
            }
            Keys::Long(slots) => {
                let numbers = numbers().ok_or_else(wrong)?;
                let one = numbers.first().ok_or_else(wrong)?;
                one.iter()
                    .map(|key| slots.get(hash_long(*key), *key, |_| true))
                    .collect()
            }
            Keys::Pair(slots) => {
                let numbers = numbers().ok_or_else(wrong)?;
                let [one, two] = &numbers[..] else {
                    return Err(wrong());
                };
                one.iter()
                    .zip(two)
                    .map(|(one, two)| {
                        let key = [*one, *two];
                        slots.get(hash_pair(key), key, |_| true)
                    })
                    .collect()
            }
            Keys::Rows {
                converter,
                rows,
                slots,
            } => {
                let normal: Vec<_> = keys.iter().map(normalized).collect();
                let converted = converter.convert_columns(&normal)?;
                converted
                    .iter()
                    .map(|key| {
                        let hash = XxHash64::oneshot(0, key.as_ref());
                        let same = |head: u32| rows.row(head as usize) == key;
                        slots.get(hash, (hash >> 32) as u32, same)
                    })
                    .collect()
            }
        };
        if let Some(valid) = valid {
            for (row, head) in heads.iter_mut().enumerate() {
                if valid.is_null(row) {
                    *head = NONE;
                }
            }
        }
        Ok(Matches { heads })
    }

    /// The next row with the same key.
    #[inline]
    fn next(&self, row: u32) -> Option<u32> {
        self.next
            .get(row as usize)
            .copied()
            .filter(|next| *next != NONE)
    }
}

impl Matches {
    /// The first row of the table with the key of each streamed row: all of them, if keys are unique.
    pub fn first(&self) -> impl ExactSizeIterator<Item = Option<u32>> {
        self.heads
            .iter()
            .map(|head| Some(*head).filter(|head| *head != NONE))
    }

    /// Whether a streamed row has any.
    #[must_use]
    pub fn is_match(&self, row: usize) -> bool {
        self.heads.get(row).is_some_and(|head| *head != NONE)
    }

    /// Adds pairs of streamed rows and rows of the table, in the order of streamed rows, until there are `limit`. Whether these were the
    /// last ones; else it is to be called again with the same cursor.
    pub fn pairs(
        &self,
        table: &RelationTable,
        cursor: &mut MatchCursor,
        limit: usize,
        streamed: &mut Vec<u32>,
        build: &mut Vec<u32>,
    ) -> bool {
        while let Some(head) = self.heads.get(cursor.row) {
            let mut next = cursor
                .build
                .take()
                .or(Some(*head).filter(|head| *head != NONE));
            while let Some(row) = next {
                if streamed.len() >= limit {
                    cursor.build = Some(row);
                    return false;
                }
                // Batches have fewer rows.
                streamed.push(cursor.row as u32);
                build.push(row);
                next = table.next(row);
            }
            cursor.row += 1;
        }
        true
    }
}

/// Rows with the same key in the making.
struct Chain {
    next: Vec<u32>,
    unique: bool,
}

impl Chain {
    fn push(&mut self, head: &mut u32, row: usize) {
        if *head != NONE {
            self.unique = false;
            if let Some(next) = self.next.get_mut(row) {
                *next = *head;
            }
        }
        // There are fewer than NONE.
        *head = row as u32;
    }
}

impl<K: Copy + Default + PartialEq> Slots<K> {
    fn new(keys: usize) -> Self {
        let slots = (keys + keys / 3 + 1).next_power_of_two().max(16);
        Self {
            slots: vec![(K::default(), NONE); slots],
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// The first row of a key, or where it is to be put. `same` tells whether a row with that key in its slot is meant.
    fn entry(&mut self, hash: u64, key: K, same: impl Fn(u32) -> bool) -> &mut u32 {
        let mask = self.slots.len() - 1;
        let mut place = (hash >> self.shift) as usize;
        while let Some((of, head)) = self.slots.get(place) {
            if *head == NONE || (*of == key && same(*head)) {
                break;
            }
            place = (place + 1) & mask;
        }
        // The mask keeps the place inside.
        #[allow(clippy::indexing_slicing)]
        let slot = &mut self.slots[place & mask];
        slot.0 = key;
        &mut slot.1
    }

    #[inline]
    fn get(&self, hash: u64, key: K, same: impl Fn(u32) -> bool) -> u32 {
        let mask = self.slots.len() - 1;
        let mut place = (hash >> self.shift) as usize;
        while let Some((of, head)) = self.slots.get(place) {
            if *head == NONE {
                return NONE;
            }
            if *of == key && same(*head) {
                return *head;
            }
            place = (place + 1) & mask;
        }
        NONE
    }
}

#[inline]
fn hash_long(key: i64) -> u64 {
    (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
fn hash_pair([one, two]: [i64; 2]) -> u64 {
    let hash = hash_long(one);
    ((hash ^ hash >> 29).wrapping_add(two as u64)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The least number and how many there are up to the largest, if a table of all of them is not much larger than the numbers.
fn dense_range(keys: impl Iterator<Item = i64>) -> Option<(i64, usize)> {
    let (mut min, mut max, mut count) = (i64::MAX, i64::MIN, 0_u64);
    for key in keys {
        min = min.min(key);
        max = max.max(key);
        count += 1;
    }
    if count == 0 {
        return Some((0, 0));
    }
    let range = max.wrapping_sub(min) as u64;
    if range >= count * 8 + 1024 {
        return None;
    }
    usize::try_from(range + 1).ok().map(|range| (min, range))
}

/// Rows without a null among their keys; `None` if that is all.
fn valid_rows(keys: &[ArrayRef]) -> Option<NullBuffer> {
    keys.iter().fold(None, |valid, key| {
        NullBuffer::union(valid.as_ref(), key.logical_nulls().as_ref())
    })
}

/// Numbers that stand for the keys; anything where a key is null.
fn numbers(keys: &ArrayRef) -> Option<Vec<i64>> {
    fn all<T: ArrowPrimitiveType>(keys: &ArrayRef, of: impl Fn(T::Native) -> i64) -> Vec<i64> {
        keys.as_primitive::<T>()
            .values()
            .iter()
            .map(|key| of(*key))
            .collect()
    }
    Some(match keys.data_type() {
        ArrowType::Int8 => all::<Int8Type>(keys, i64::from),
        ArrowType::Int16 => all::<Int16Type>(keys, i64::from),
        ArrowType::Int32 => all::<Int32Type>(keys, i64::from),
        ArrowType::Int64 => all::<Int64Type>(keys, |key| key),
        ArrowType::Date32 => all::<Date32Type>(keys, i64::from),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            all::<TimestampMicrosecondType>(keys, |key| key)
        }
        // At most 18 digits.
        ArrowType::Decimal128(precision, _) if *precision <= MAX_LONG_DIGITS => {
            all::<Decimal128Type>(keys, |key| key as i64)
        }
        _ => return None,
    })
}
