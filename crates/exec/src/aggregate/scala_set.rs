//! In which order Scala's mutable `HashSet`s give what is in them.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Int32Type, Int64Type};
use datafusion_common::Result;
use javaser::ScalaVersion;
use javaser::murmur3::hash_bytes;

use rows::error::bail_out;
use rows::murmur3::SEED;

/// Whether [`hashes`] knows the type.
pub(super) fn is_hashed(of: &ArrowType) -> bool {
    matches!(
        of,
        ArrowType::Boolean
            | ArrowType::Int8
            | ArrowType::Int16
            | ArrowType::Int32
            | ArrowType::Int64
            | ArrowType::Date32
            | ArrowType::Timestamp(..)
            | ArrowType::Time64(_)
            | ArrowType::Utf8View
    )
}

/// What Scala hashes values to that Catalyst has in a boxed number or an `UTF8String`. There are no nulls.
///
/// # Errors
/// Bail-out: another type.
pub(super) fn hashes(values: &ArrayRef, scala: ScalaVersion) -> Result<Vec<i32>> {
    // The halves of a long, of which the lower is hashed alone by later versions where it says all.
    #[allow(clippy::cast_possible_truncation)]
    let long = |value: i64| match scala {
        ScalaVersion::V2_12 => (value ^ (value.cast_unsigned() >> 32).cast_signed()) as i32,
        _ if i64::from(value as i32) == value => value as i32,
        _ => (value ^ (value.cast_unsigned() >> 32).cast_signed()) as i32,
    };
    Ok(match values.data_type() {
        ArrowType::Boolean => {
            let values = values.as_boolean().values().iter();
            values
                .map(|value| if value { 1231 } else { 1237 })
                .collect()
        }
        ArrowType::Int8 | ArrowType::Int16 | ArrowType::Int32 | ArrowType::Date32 => {
            let ints = cast(values, &ArrowType::Int32)?;
            ints.as_primitive::<Int32Type>().values().to_vec()
        }
        ArrowType::Int64 | ArrowType::Timestamp(..) | ArrowType::Time64(_) => {
            let longs = cast(values, &ArrowType::Int64)?;
            let longs = longs.as_primitive::<Int64Type>().values();
            longs.iter().map(|value| long(*value)).collect()
        }
        ArrowType::Utf8View => {
            let texts = values.as_string_view().iter();
            let hash = |text: &str| hash_bytes(text.as_bytes(), SEED.cast_unsigned());
            texts
                .map(|text| hash(text.unwrap_or_default()).cast_signed())
                .collect()
        }
        other => return Err(bail_out(format!("a set of {other}"))),
    })
}

/// How large the table of a set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableSize {
    slots: usize,
    elements: usize,
}

impl Default for TableSize {
    fn default() -> Self {
        Self {
            slots: 16,
            elements: 0,
        }
    }
}

/// So many of the slots may be full, of 4.
const FULL: usize = 3;

/// The largest table.
const MOST: usize = 1 << 30;

impl TableSize {
    /// Adds a value; `is_new` if it was not there. The table grows before that is looked at.
    pub(super) fn add(&mut self, is_new: bool) {
        if self.elements + 1 >= self.slots * FULL / 4 {
            self.slots *= 2;
        }
        self.elements += usize::from(is_new);
    }

    /// Makes room for another set of so many values.
    pub(super) fn make_room(&mut self, values: usize) {
        // Three quarters of the table, rounded down as a double is.
        let least = (values + 1) * 4 / FULL;
        let slots = least.saturating_sub(1).max(4);
        let slots = ((slots + 1).next_power_of_two()).min(MOST);
        // The highest bit of what is asked for, twice.
        self.slots = self.slots.max(slots);
    }

    /// As [`Self::add`] where room was made before.
    pub(super) fn add_merged(&mut self, is_new: bool) {
        self.elements += usize::from(is_new);
    }
}

/// Places of values in the order in which a set gives them that they were added to, by their hashes.
pub(super) fn order(scala: ScalaVersion, hashes: &[i32], size: TableSize) -> Vec<usize> {
    match scala {
        ScalaVersion::V2_12 => flat(hashes),
        _ => chained(hashes, size.slots),
    }
}

/// Scala 2.13: chains of each slot, by the hash; of equal hashes in the order in which they came.
fn chained(hashes: &[i32], slots: usize) -> Vec<usize> {
    let improved = |hash: i32| hash ^ (hash.cast_unsigned() >> 16).cast_signed();
    let mut places: Vec<usize> = (0..hashes.len()).collect();
    let by = |place: &usize| {
        let hash = improved(hashes.get(*place).copied().unwrap_or_default());
        (hash.cast_unsigned() as usize & (slots - 1), hash)
    };
    places.sort_by_key(by);
    places
}

/// Scala 2.12: the next free slot, in a table that grows when it is 45 % full.
fn flat(hashes: &[i32]) -> Vec<usize> {
    let mut table: Vec<Option<usize>> = vec![None; 32];
    let mut count = 0;
    for place in 0..hashes.len() {
        put(&mut table, hashes, place);
        count += 1;
        if count >= threshold(table.len()) {
            let mut larger = vec![None; table.len() * 2];
            for place in table.into_iter().flatten() {
                put(&mut larger, hashes, place);
            }
            table = larger;
        }
    }
    table.into_iter().flatten().collect()
}

fn threshold(slots: usize) -> usize {
    slots * 450 / 1000
}

fn put(table: &mut [Option<usize>], hashes: &[i32], place: usize) {
    let bits = table.len().trailing_zeros();
    let hash = hashes.get(place).copied().unwrap_or_default();
    let improved = improved(hash.cast_unsigned()).rotate_right(bits);
    let mut slot = (improved >> (32 - bits)) as usize;
    // Less than half of the slots are full.
    while let Some(Some(_)) = table.get(slot) {
        slot = (slot + 1) % table.len();
    }
    if let Some(free) = table.get_mut(slot) {
        *free = Some(place);
    }
}

/// `scala.util.hashing.byteswap32`
fn improved(hash: u32) -> u32 {
    const FACTOR: u32 = 0x9e37_75cd;
    hash.wrapping_mul(FACTOR).swap_bytes().wrapping_mul(FACTOR)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringViewArray};

    use super::*;

    /// In which order a set gives longs that were added one by one.
    fn of(scala: ScalaVersion, longs: &[i64]) -> Vec<i64> {
        let values: ArrayRef = Arc::new(Int64Array::from(longs.to_vec()));
        let mut size = TableSize::default();
        longs.iter().for_each(|_| size.add(true));
        let places = order(scala, &hashes(&values, scala).unwrap(), size);
        places.into_iter().map(|place| longs[place]).collect()
    }

    #[test]
    fn small_numbers_are_in_order_in_2_13() {
        let longs: Vec<i64> = (0..40).rev().collect();
        assert_eq!(of(ScalaVersion::V2_13, &longs), (0..40).collect::<Vec<_>>());
        assert_eq!(of(ScalaVersion::V2_13, &[5, 1 << 32, -1]), [-1, 1 << 32, 5]);
    }

    #[test]
    fn all_values_are_there_in_2_12() {
        let longs: Vec<i64> = (0..1000).map(|n| n * 7 - 300).collect();
        let mut set = of(ScalaVersion::V2_12, &longs);
        assert_ne!(set, longs);
        set.sort_unstable();
        assert_eq!(set, longs);
    }

    #[test]
    fn tables_grow_before_duplicates_are_seen() {
        let mut size = TableSize::default();
        (0..11).for_each(|_| size.add(true));
        assert_eq!(size.slots, 16);
        size.add(false);
        assert_eq!((size.slots, size.elements), (32, 11));
        size.make_room(23);
        assert_eq!(size.slots, 32);
        size.make_room(24);
        assert_eq!(size.slots, 64);
    }

    #[test]
    fn texts_are_hashed_as_bytes() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["", "Spark"]));
        let of = hashes(&texts, ScalaVersion::V2_13).unwrap();
        assert_eq!(of[0], hash_bytes(b"", 42).cast_signed());
        assert_eq!(of[1], 228_093_765);
    }
}
