//! `approx_count_distinct`: HyperLogLog++ as `HyperLogLogPlusPlusHelper` has it. Buffer: registers of 6 bits, ten in
//! each word.

use std::mem::take;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow::datatypes::Int64Type;
use datafusion_common::Result;

use super::accumulator::{Accumulator, column, primitive};
use rows::error::bail_out;

/// Bits of a register.
const REGISTER: u32 = 6;

/// Registers in a word.
const IN_WORD: usize = 10;

/// Estimates whose biases are averaged.
const NEAREST: usize = 6;

/// Up to which count of each precision, from 4 bits on, empty registers are counted instead: of the paper, as Spark has
/// them.
const THRESHOLDS: [f64; 15] = [
    10.0, 20.0, 40.0, 80.0, 220.0, 400.0, 900.0, 1800.0, 3100.0, 6500.0, 15500.0, 20000.0, 50000.0,
    120_000.0, 350_000.0,
];

/// Raw estimates of each precision and their biases: the appendix of "HyperLogLog in Practice", read out of Spark's
/// `HyperLogLogPlusPlusHelper` by `capture_hll.py`.
const TABLES: &str = include_str!("hll.txt");

/// Words of a buffer of so many bits.
pub(super) fn words(precision: u8) -> usize {
    (1_usize << precision) / IN_WORD + 1
}

/// About how many different values there are. Its arguments are hashes of values, and the values, for the nulls.
#[derive(Clone)]
pub(super) struct ApproxCountDistinct {
    precision: u8,
    /// Words of each group, which is as many.
    per_group: usize,
    words: Vec<u64>,
}

impl ApproxCountDistinct {
    pub(super) fn new(precision: u8) -> Self {
        Self {
            precision,
            per_group: words(precision),
            words: Vec::new(),
        }
    }

    /// The words of a group.
    fn group(&mut self, group: usize) -> Result<&mut [u64]> {
        let start = group * self.per_group;
        let words = self.words.get_mut(start..start + self.per_group);
        words.ok_or_else(|| bail_out("a group that is not there"))
    }
}

impl Accumulator for ApproxCountDistinct {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let hashes = primitive::<Int64Type>(args, 0)?;
        let nulls = column(args, 1)?.logical_nulls();
        self.words.resize(total * self.per_group, 0);
        let precision = u32::from(self.precision);
        for (row, (hash, group)) in hashes.values().iter().zip(groups).enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
                || filter.is_some_and(|filter| !filter.value(row))
            {
                continue;
            }
            let hash = hash.cast_unsigned();
            // At most 18 bits.
            let index = (hash >> (64 - precision)) as usize;
            let rest = (hash << precision) | (1 << (precision - 1));
            let zeros = u64::from(rest.leading_zeros()) + 1;
            let shift = REGISTER * (index % IN_WORD) as u32;
            let word = self.group(*group)?.get_mut(index / IN_WORD);
            let word = word.ok_or_else(|| bail_out("a register that is not there"))?;
            if zeros > (*word >> shift) & 63 {
                *word = *word & !(63 << shift) | zeros << shift;
            }
        }
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.words.resize(total * self.per_group, 0);
        if buffers.len() != self.per_group {
            return Err(bail_out("a buffer of another size"));
        }
        for place in 0..buffers.len() {
            let words = primitive::<Int64Type>(buffers, place)?;
            for (word, group) in words.values().iter().zip(groups) {
                if let Some(own) = self.group(*group)?.get_mut(place) {
                    *own = greatest(*own, word.cast_unsigned());
                }
            }
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let words = take(&mut self.words);
        let of = |place: usize| -> ArrayRef {
            let words = words.iter().skip(place).step_by(self.per_group);
            let words = words.map(|word| word.cast_signed());
            Arc::new(words.map(Some).collect::<Int64Array>())
        };
        Ok((0..self.per_group).map(of).collect())
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        Some(self.clone().evaluate())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let words = take(&mut self.words);
        let groups = words.chunks_exact(self.per_group);
        let counts = groups.map(|words| Some(count(self.precision, words)));
        Ok(Arc::new(counts.collect::<Int64Array>()))
    }

    fn size(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// The greater of each pair of registers.
fn greatest(left: u64, right: u64) -> u64 {
    (0..IN_WORD as u32).fold(0, |word, register| {
        let mask = 63 << (REGISTER * register);
        word | (left & mask).max(right & mask)
    })
}

/// What the registers say.
// Counts are far below 2^53; the result is rounded as Java rounds.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
fn count(precision: u8, words: &[u64]) -> i64 {
    let registers = 1_usize << precision;
    let m = registers as f64;
    let values = words
        .iter()
        .flat_map(|word| (0..IN_WORD as u32).map(move |at| (word >> (REGISTER * at)) & 63));
    let (mut inverse, mut empty) = (0.0, 0.0);
    for value in values.take(registers) {
        // Java shifts by what is left of 64.
        inverse += 1.0 / (1_u64 << value).cast_signed() as f64;
        empty += f64::from(u8::from(value == 0));
    }
    let alpha = match precision {
        4 => 0.673,
        5 => 0.697,
        6 => 0.709,
        _ => 0.7213 / (1.0 + 1.079 / m),
    };
    let raw = alpha * m * m / inverse;
    let table = usize::from(precision).checked_sub(4);
    let corrected = || match table.and_then(|table| tables().get(table)) {
        Some(table) if raw < 5.0 * m => raw - table.bias(raw),
        _ => raw,
    };
    let estimate = match empty > 0.0 {
        true => {
            let linear = m * (m / empty).ln();
            let threshold = table.and_then(|table| THRESHOLDS.get(table));
            match threshold.is_some_and(|most| linear <= *most) || raw <= 2.5 * m {
                true => linear,
                false => corrected(),
            }
        }
        false => corrected(),
    };
    (estimate + 0.5).floor() as i64
}

/// Estimates of a precision, in order, and what is to be taken off them.
#[derive(Debug, Default)]
struct Biases {
    estimates: Vec<f64>,
    biases: Vec<f64>,
}

impl Biases {
    fn bias(&self, of: f64) -> f64 {
        let distance = |place: usize| match self.estimates.get(place) {
            Some(estimate) => (of - estimate) * (of - estimate),
            None => f64::INFINITY,
        };
        let all = self.estimates.len();
        // Estimates are not always in order: Java's search goes on all the same, and so does this one.
        let nearest = java_binary_search(&self.estimates, of);
        let mut low = (nearest + 1).saturating_sub(NEAREST);
        let mut high = all.min(low + NEAREST);
        while high < all && distance(high) < distance(low) {
            low += 1;
            high += 1;
        }
        let biases = self.biases.get(low..high).unwrap_or_default();
        let sum = biases.iter().fold(0.0, |sum, bias| sum + bias);
        // At most six.
        #[allow(clippy::cast_precision_loss)]
        let count = (high - low) as f64;
        sum / count
    }
}

/// Where `Arrays.binarySearch` finds a number, or would insert it.
fn java_binary_search(sorted: &[f64], key: f64) -> usize {
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = low + (high - low - 1) / 2;
        match sorted.get(middle).map(|value| value.total_cmp(&key)) {
            Some(std::cmp::Ordering::Less) => low = middle + 1,
            Some(std::cmp::Ordering::Greater) => high = middle,
            _ => return middle,
        }
    }
    low
}

/// The tables, of 4 bits first.
fn tables() -> &'static [Biases] {
    static PARSED: OnceLock<Vec<Biases>> = OnceLock::new();
    PARSED.get_or_init(|| {
        let rows = |name: &str| {
            let lines = TABLES.lines().filter_map(|line| {
                let (_, rest) = line.split_once(' ')?;
                rest.strip_prefix(name)
            });
            let numbers = |line: &str| {
                let numbers = line.split_whitespace();
                numbers.filter_map(|number| number.parse().ok()).collect()
            };
            lines.map(numbers).collect::<Vec<Vec<f64>>>()
        };
        let pairs = rows("estimates").into_iter().zip(rows("biases"));
        pairs
            .map(|(estimates, biases)| Biases { estimates, biases })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;

    use super::*;

    #[test]
    fn tables_are_those_of_15_precisions() {
        let lengths: Vec<_> = tables()
            .iter()
            .map(|table| (table.estimates.len(), table.biases.len()))
            .collect();
        let of = [
            79, 159, 200, 200, 200, 201, 200, 201, 201, 200, 201, 201, 200, 201, 200,
        ];
        assert_eq!(lengths, of.map(|length| (length, length)));
    }

    /// Hashes that are far from each other.
    fn hashes(count: i64) -> ArrayRef {
        let hash = |n: i64| {
            let mut x = n.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (x ^ (x >> 31)).cast_signed()
        };
        Arc::new((1..=count).map(hash).map(Some).collect::<Int64Array>())
    }

    #[test]
    fn counts_are_about_right_and_buffers_merge() {
        for precision in [4, 9, 14, 18] {
            for count in [0_i64, 1, 10, 1000, 30_000] {
                let values = hashes(count);
                let groups: Vec<_> = (0..values.len()).map(|row| row % 2).collect();
                let mut halves = ApproxCountDistinct::new(precision);
                let args = [Arc::clone(&values), values];
                halves.update(&args, &groups, None, 2).unwrap();
                assert!(halves.size() >= 2 * words(precision) * 8);
                let buffers = halves.buffers().unwrap();
                assert_eq!(buffers.len(), words(precision));
                let mut whole = ApproxCountDistinct::new(precision);
                whole.merge(&buffers, &[0, 0], 1).unwrap();
                let result = whole.evaluate().unwrap();
                let result = result.as_primitive::<Int64Type>().value(0);
                let error = 3.0 * 1.04 / f64::from(1 << precision).sqrt();
                #[allow(clippy::cast_precision_loss)]
                let most = (count as f64) * error + 1.0;
                #[allow(clippy::cast_precision_loss)]
                let off = (result - count).abs() as f64;
                assert!(off <= most, "{precision} bits: {result} of {count}");
            }
        }
    }

    #[test]
    fn nulls_and_rows_that_are_filtered_do_not_count() {
        let mut counts = ApproxCountDistinct::new(9);
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let filter = BooleanArray::from(vec![true, true, false]);
        let args = [hashes(3), values];
        counts.update(&args, &[0, 0, 0], Some(&filter), 1).unwrap();
        let result = counts.evaluate().unwrap();
        assert_eq!(result.as_primitive::<Int64Type>().value(0), 1);
    }
}
