//! `CountMinSketchImpl` of Spark: rows of counters, one of which in each row counts an item. Bytes: version, sum,
//! number of rows and of counters in one, multipliers, counters; big-endian.

use std::sync::Arc;

use javaser::JavaRandom;
use javaser::murmur3::hash_bytes;

use crate::{Result, Unreadable};

/// The only version of the format.
const VERSION: i32 = 1;

/// Bytes before the multipliers.
const HEADER: usize = 20;

/// The modulus of the hash of longs.
const PRIME: i64 = i32::MAX as i64;

/// More counters than these are not kept: 32 MiB.
const MOST_COUNTERS: usize = 1 << 22;

/// What sketches of an aggregate have in common: only such can be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountMinPlan {
    /// Of each row what longs are multiplied with.
    multipliers: Arc<[i64]>,
    /// Counters of a row.
    width: i32,
}

impl CountMinPlan {
    /// Sketches of so many rows of so many counters, with the multipliers that `java.util.Random` gives for a seed;
    /// `None` if that is none, or more than is kept here.
    #[must_use]
    pub fn new(depth: i32, width: i32, seed: i32) -> Option<Self> {
        let counters = usize::try_from(depth)
            .ok()?
            .checked_mul(usize::try_from(width).ok()?)?;
        if counters == 0 || counters > MOST_COUNTERS {
            return None;
        }
        let mut random = JavaRandom::new(seed.into());
        let multipliers = (0..depth).map(|_| random.next_int(i32::MAX).into());
        Some(Self {
            multipliers: multipliers.collect(),
            width,
        })
    }

    fn counters(&self) -> usize {
        // Both are at most `MOST_COUNTERS`.
        self.multipliers.len() * self.width.unsigned_abs() as usize
    }

    /// Bytes of a sketch in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        self.counters() * size_of::<i64>()
    }
}

/// Counts of items, none of which is too low.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountMin {
    plan: CountMinPlan,
    total: i64,
    /// Row after row.
    counters: Vec<i64>,
}

impl CountMin {
    /// A sketch of nothing.
    #[must_use]
    pub fn new(plan: &CountMinPlan) -> Self {
        Self {
            plan: plan.clone(),
            total: 0,
            counters: vec![0; plan.counters()],
        }
    }

    /// Counts an item in each row at the place that is found for the row.
    fn count(&mut self, place: impl Fn(i32, i64) -> i32) {
        let width = self.plan.width.unsigned_abs() as usize;
        let rows = self.counters.chunks_exact_mut(width);
        for ((row, multiplier), counters) in (0..).zip(&*self.plan.multipliers).zip(rows) {
            let place = usize::try_from(place(row, *multiplier));
            if let Some(counter) = place.ok().and_then(|place| counters.get_mut(place)) {
                *counter = counter.wrapping_add(1);
            }
        }
        self.total = self.total.wrapping_add(1);
    }

    /// Counts a number.
    // Only the bits below the modulus are left.
    #[allow(clippy::cast_possible_truncation)]
    pub fn add_long(&mut self, item: i64) {
        let width = self.plan.width;
        self.count(|_, multiplier| {
            let product = multiplier.wrapping_mul(item);
            let folded = product.wrapping_add(product >> 32) & PRIME;
            (folded as i32) % width
        });
    }

    /// Counts bytes, or those of a text.
    pub fn add_bytes(&mut self, item: &[u8]) {
        let width = self.plan.width;
        let first = hash_bytes(item, 0);
        let second = hash_bytes(item, first).cast_signed();
        let first = first.cast_signed();
        self.count(|row, _| {
            let hash = first.wrapping_add(row.wrapping_mul(second));
            (hash % width).abs()
        });
    }

    /// Adds the counts of another sketch of the same plan.
    ///
    /// # Errors
    /// The bytes are no sketch of that plan.
    pub fn merge(&mut self, bytes: &[u8]) -> Result<()> {
        const OTHER: Unreadable = Unreadable("a count-min sketch of another form");
        let (header, rest) = bytes.split_first_chunk::<HEADER>().ok_or(OTHER)?;
        let multipliers = self.plan.multipliers.len();
        let own = self.header();
        let total = header.get(4..).and_then(|rest| rest.first_chunk());
        let total = i64::from_be_bytes(*total.ok_or(OTHER)?);
        let (given, counters) = rest
            .split_at_checked(multipliers * size_of::<i64>())
            .ok_or(OTHER)?;
        let same_header = header.first_chunk::<4>() == own.first_chunk::<4>()
            && header.last_chunk::<8>() == own.last_chunk::<8>();
        if !same_header
            || !longs(given).eq(self.plan.multipliers.iter().copied())
            || counters.len() != self.counters.len() * size_of::<i64>()
        {
            return Err(OTHER);
        }
        for (counter, more) in self.counters.iter_mut().zip(longs(counters)) {
            *counter = counter.wrapping_add(more);
        }
        self.total = self.total.wrapping_add(total);
        Ok(())
    }

    fn header(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(HEADER);
        // At most `MOST_COUNTERS`.
        let depth = i32::try_from(self.plan.multipliers.len()).unwrap_or(i32::MAX);
        header.extend_from_slice(&VERSION.to_be_bytes());
        header.extend_from_slice(&self.total.to_be_bytes());
        header.extend_from_slice(&depth.to_be_bytes());
        header.extend_from_slice(&self.plan.width.to_be_bytes());
        header
    }

    /// As Spark writes it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let longs = self.plan.multipliers.len() + self.counters.len();
        let mut bytes = Vec::with_capacity(HEADER + longs * size_of::<i64>());
        bytes.extend_from_slice(&self.header());
        let longs = self.plan.multipliers.iter().chain(&self.counters);
        bytes.extend(longs.flat_map(|long| long.to_be_bytes()));
        bytes
    }

    /// Bytes in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        self.counters.capacity() * size_of::<i64>()
    }
}

fn longs(bytes: &[u8]) -> impl Iterator<Item = i64> {
    let (longs, _) = bytes.as_chunks::<8>();
    longs.iter().map(|long| i64::from_be_bytes(*long))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    /// From the documentation of `count_min_sketch(col, 0.5d, 0.5d, 1)` over 1, 2 and 1.
    #[test]
    fn bytes_are_those_of_the_documentation() {
        let mut sketch = CountMin::new(&CountMinPlan::new(1, 4, 1).unwrap());
        [1, 2, 1].into_iter().for_each(|item| sketch.add_long(item));
        let expected = "0000000100000000000000030000000100000004000000005D8D6AB9000000000000000000000000\
                        0000000200000000000000010000000000000000";
        assert_eq!(sketch.to_bytes(), testkit::from_hex(expected));
    }

    #[test]
    fn sketches_of_another_plan_are_not_added() {
        let new =
            |depth, width, seed| CountMin::new(&CountMinPlan::new(depth, width, seed).unwrap());
        let mut sketch = new(3, 5, 7);
        sketch.add_bytes(b"a");
        let bytes = sketch.to_bytes();
        sketch.merge(&bytes).unwrap();
        let mut twice = new(3, 5, 7);
        twice.add_bytes(b"a");
        twice.add_bytes(b"a");
        assert_eq!(sketch, twice);
        for other in [new(3, 5, 8), new(3, 6, 7), new(2, 5, 7)] {
            sketch.merge(&other.to_bytes()).unwrap_err();
        }
        for length in 0..bytes.len() {
            sketch.merge(&bytes[..length]).unwrap_err();
        }
        let mut version = bytes.clone();
        version[3] = 2;
        sketch.merge(&version).unwrap_err();
        sketch.merge(&[bytes, vec![0]].concat()).unwrap_err();
        assert_eq!(CountMinPlan::new(0, 5, 1), None);
        assert_eq!(CountMinPlan::new(3, 0, 1), None);
        assert_eq!(CountMinPlan::new(i32::MAX, i32::MAX, 1), None);
        assert_eq!(CountMinPlan::new(-1, -1, 1), None);
    }
}
