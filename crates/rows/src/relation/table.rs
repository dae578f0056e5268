//! A table from keys to rows, for joins.

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64NanosecondType, TimestampMicrosecondType,
};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType as ArrowType, TimeUnit};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::Result;
use twox_hash::XxHash64;

use super::groups::{Grouped, Grouping, Groups};
use crate::error::bail_out;
use crate::normalized;
use crate::slots::{NONE, Slots};
use catalyst::MAX_LONG_DIGITS;

/// A table over the keys of rows. Keys are equal as Spark's join keys are: NaN equals NaN, -0.0 equals 0.0, null equals
/// nothing.
#[derive(Debug)]
pub struct RelationTable {
    types: Vec<ArrowType>,
    keys: Keys,
    /// Rows by groups of those with the same key; `None` if no two rows have the same.
    groups: Option<Groups>,
    num_rows: usize,
}

#[derive(Debug)]
enum Keys {
    /// One number, in a range that is not much larger than their count: the head of each.
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

/// For each row of the streamed side the row of the table with its key, or the group of such rows.
#[derive(Debug, Clone)]
pub struct Matches {
    heads: Vec<u32>,
}

/// How far the pairs of [`Matches`] were given.
#[derive(Debug, Clone, Copy, Default)]
pub struct MatchCursor {
    row: usize,
    /// How many pairs of `row` were given.
    given: usize,
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
        let rows = (0..num_rows).filter(|row| is_valid(*row));
        let mut grouping = Grouping::new(num_rows);
        let mut keys = match &keys
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
                                grouping.push(head, row);
                            }
                        }
                        Keys::Dense { min, heads }
                    }
                    None => {
                        let mut slots = Slots::new(num_rows);
                        let keys = rows.filter_map(|row| Some((*one.get(row)?, row)));
                        slots.for_each(keys, |slots, key, row| {
                            grouping.push(slots.entry(key, |_| true), row);
                        });
                        Keys::Long(slots)
                    }
                }
            }
            Some([one, two]) => {
                let mut slots = Slots::new(num_rows);
                let keys = rows.filter_map(|row| Some(([*one.get(row)?, *two.get(row)?], row)));
                slots.for_each(keys, |slots, key, row| {
                    grouping.push(slots.entry(key, |_| true), row);
                });
                Keys::Pair(slots)
            }
            _ => {
                let fields = types.iter().cloned().map(SortField::new).collect();
                let converter = RowConverter::new(fields)?;
                let normal = keys.iter().map(normalized).collect::<Result<Vec<_>>>()?;
                let converted = converter.convert_columns(&normal)?;
                let mut slots = Slots::new(num_rows);
                for row in rows {
                    let key = converted.row(row);
                    let same = |group: u32| {
                        let first = grouping.first(group);
                        first.is_some_and(|first| converted.row(first as usize) == key)
                    };
                    grouping.push(slots.entry(high_half(key.as_ref()), same), row);
                }
                Keys::Rows {
                    converter,
                    rows: converted,
                    slots,
                }
            }
        };
        let groups = match grouping.finish() {
            Grouped::Several(groups) => Some(groups),
            Grouped::One(rows) => {
                // Else they are the numbers of the groups.
                if rows.len() < num_rows {
                    keys.change_heads(|group| rows.get(group as usize).copied().unwrap_or(NONE));
                }
                None
            }
        };
        Ok(Self {
            types,
            keys,
            groups,
            num_rows,
        })
    }

    /// Whether no two rows have the same key.
    #[must_use]
    pub fn key_is_unique(&self) -> bool {
        self.groups.is_none()
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
            Keys::Long(slots) => slots.memory_size(),
            Keys::Pair(slots) => slots.memory_size(),
            Keys::Rows { rows, slots, .. } => rows.size() + slots.memory_size(),
        };
        keys + self.groups.as_ref().map_or(0, Groups::memory_size)
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
                slots.heads_of(one.iter().copied())
            }
            Keys::Pair(slots) => {
                let numbers = numbers().ok_or_else(wrong)?;
                let [one, two] = &numbers[..] else {
                    return Err(wrong());
                };
                slots.heads_of(one.iter().zip(two).map(|(one, two)| [*one, *two]))
            }
            Keys::Rows {
                converter,
                rows,
                slots,
            } => {
                let normal = keys.iter().map(normalized).collect::<Result<Vec<_>>>()?;
                let converted = converter.convert_columns(&normal)?;
                converted
                    .iter()
                    .map(|key| {
                        let same = |head: u32| {
                            let first = self.rows(&head).first();
                            first.is_some_and(|first| rows.row(*first as usize) == key)
                        };
                        slots.get(high_half(key.as_ref()), same)
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

    /// The rows of a head, which are none if it is [`NONE`].
    #[inline]
    fn rows<'a>(&'a self, head: &'a u32) -> &'a [u32] {
        if *head == NONE {
            return &[];
        }
        match &self.groups {
            Some(groups) => groups.rows(*head),
            None => std::slice::from_ref(head),
        }
    }
}

impl Matches {
    /// The row of the table with the key of each streamed row, if keys are unique.
    pub fn unique(&self) -> impl ExactSizeIterator<Item = Option<u32>> {
        self.heads
            .iter()
            .map(|head| Some(*head).filter(|head| *head != NONE))
    }

    /// Whether a streamed row has any.
    #[must_use]
    pub fn is_match(&self, row: usize) -> bool {
        self.heads.get(row).is_some_and(|head| *head != NONE)
    }

    /// Adds pairs of streamed rows and rows of the table, in the order of streamed rows, until there are `limit`.
    /// Whether these were the last ones; else it is to be called again with the same cursor.
    pub fn pairs(
        &self,
        table: &RelationTable,
        cursor: &mut MatchCursor,
        limit: usize,
        streamed: &mut Vec<u32>,
        build: &mut Vec<u32>,
    ) -> bool {
        while let Some(head) = self.heads.get(cursor.row) {
            let rows = table.rows(head).get(cursor.given..).unwrap_or_default();
            let room = limit.saturating_sub(streamed.len());
            let given = rows.get(..room).unwrap_or(rows);
            build.extend_from_slice(given);
            // Batches have fewer rows.
            streamed.extend(std::iter::repeat_n(cursor.row as u32, given.len()));
            if given.len() < rows.len() {
                cursor.given += given.len();
                return false;
            }
            cursor.row += 1;
            cursor.given = 0;
        }
        true
    }
}

impl Keys {
    fn change_heads(&mut self, change: impl Fn(u32) -> u32) {
        let used = |head: &&mut u32| **head != NONE;
        let change = |head: &mut u32| *head = change(*head);
        match self {
            Self::Dense { heads, .. } => heads.iter_mut().filter(used).for_each(change),
            Self::Long(slots) => slots.heads().filter(used).for_each(change),
            Self::Pair(slots) => slots.heads().filter(used).for_each(change),
            Self::Rows { slots, .. } => slots.heads().filter(used).for_each(change),
        }
    }
}

fn high_half(key: &[u8]) -> u32 {
    (XxHash64::oneshot(0, key) >> 32) as u32
}

/// The least number and how many there are up to the largest, if a table of all of them is not much larger than the
/// numbers.
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

/// Rows without a null among their keys, which alone can have a match; `None` if that is all.
#[must_use]
pub fn valid_rows(keys: &[ArrayRef]) -> Option<NullBuffer> {
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
        ArrowType::Time64(TimeUnit::Nanosecond) => all::<Time64NanosecondType>(keys, |key| key),
        // At most 18 digits.
        ArrowType::Decimal128(precision, _) if *precision <= MAX_LONG_DIGITS => {
            all::<Decimal128Type>(keys, |key| key as i64)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::slice;
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    /// The rows of the table with the key of each streamed row.
    fn found(build: &[ArrayRef], streamed: &[ArrayRef]) -> Vec<Vec<u32>> {
        let (rows, streamed_rows) = (build[0].len(), streamed[0].len());
        let table = RelationTable::new(build, rows).unwrap();
        let matches = table.probe(streamed, streamed_rows).unwrap();
        let (mut of, mut at) = (Vec::new(), Vec::new());
        assert!(matches.pairs(
            &table,
            &mut MatchCursor::default(),
            usize::MAX,
            &mut of,
            &mut at
        ));
        let mut found = vec![Vec::new(); streamed_rows];
        for (of, at) in of.into_iter().zip(at) {
            found[of as usize].push(at);
        }
        found
    }

    #[test]
    fn tables_grow_with_their_keys() {
        // Far apart, each third one twice, looked up together with as many that are not there.
        let key = |number: i64| number * 1_000_003;
        let of = |numbers: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(numbers)) };
        let texts = |numbers: &[i64]| -> ArrayRef {
            let texts = numbers.iter().map(|number| Some(number.to_string()));
            Arc::new(texts.collect::<StringArray>())
        };
        for count in [0, 1, 11, 12, 13, 5000] {
            let twice = (0..count).step_by(3).map(key);
            let build: Vec<i64> = (0..count).map(key).chain(twice).collect();
            let streamed: Vec<i64> = (0..2 * count).map(key).collect();
            let expected: Vec<Vec<u32>> = streamed
                .iter()
                .map(|key| {
                    let rows = (0..).zip(&build).filter(|(_, of)| *of == key);
                    rows.map(|(row, _)| row).collect()
                })
                .collect();
            let (one, other) = (of(build.clone()), of(streamed.clone()));
            let nulls = build.iter().flat_map(|key| [None, Some(*key)]);
            let with_nulls: ArrayRef = Arc::new(nulls.collect::<Int64Array>());
            let further = expected.iter().map(|rows| {
                let rows = rows.iter().map(|row| row * 2 + 1);
                rows.collect::<Vec<u32>>()
            });
            assert_eq!(
                found(&[with_nulls], slice::from_ref(&other)),
                further.collect::<Vec<_>>(),
                "{count}"
            );
            let single = found(slice::from_ref(&one), slice::from_ref(&other));
            assert_eq!(single, expected, "{count}");
            let pairs = (
                [one, of(build.iter().map(|key| key % 7).collect())],
                [other, of(streamed.iter().map(|key| key % 7).collect())],
            );
            assert_eq!(found(&pairs.0, &pairs.1), expected, "{count}");
            let texts = (texts(&build), texts(&streamed));
            assert_eq!(found(&[texts.0], &[texts.1]), expected, "{count}");
        }
    }
}
