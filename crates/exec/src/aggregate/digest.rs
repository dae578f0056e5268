//! `percentile_approx`: summaries of quantiles as Spark's `QuantileSummaries` makes them, after Greenwald and Khanna.
//! Buffer: the summary, big-endian.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, BooleanArray, Float64Array, PrimitiveArray,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion_common::Result;

use super::accumulator::{Accumulator, column};
use super::percentile::result_of;
use catalyst::DataType;
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// Samples from which on a summary is compressed when its head is put in.
const COMPRESSED_FROM: usize = 10_000;

/// Values that are put into a summary at once.
const HEAD: usize = 50_000;

/// Bytes of a buffer without samples, and of a sample.
const HEADER: usize = 24;
const SAMPLE: usize = 24;

/// Whether values of a type have approximate percentiles here.
pub(super) fn is_summarized(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Byte
            | DataType::Short
            | DataType::Integer
            | DataType::Long
            | DataType::Float
            | DataType::Double
            | DataType::Date
            | DataType::Timestamp
            | DataType::TimestampNtz
    )
}

/// A value that stands for those before it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    value: f64,
    /// Ranks from the sample before to this one, at least.
    g: i64,
    /// How much more its rank may be.
    delta: i64,
}

/// A `PercentileDigest`.
#[derive(Debug, Clone, Default)]
struct Digest {
    samples: Vec<Sample>,
    /// Values in `samples`.
    count: i64,
    /// Values that are not in there yet.
    head: Vec<f64>,
    uncompressed: bool,
}

/// So many ranks, times two.
// Counts are below 2^53.
#[allow(clippy::cast_precision_loss)]
fn twice(error: f64, count: i64) -> f64 {
    2.0 * error * count as f64
}

#[allow(clippy::cast_possible_truncation)]
fn floor(of: f64) -> i64 {
    of.floor() as i64
}

impl Digest {
    fn add(&mut self, value: f64, error: f64) {
        // Java compares NaNs as one.
        self.head
            .push(if value.is_nan() { f64::NAN } else { value });
        self.uncompressed = true;
        if self.head.len() >= HEAD {
            self.put_head_in(error);
            if self.samples.len() >= COMPRESSED_FROM {
                self.compress(error);
            }
        }
    }

    fn put_head_in(&mut self, error: f64) {
        if self.head.is_empty() {
            return;
        }
        let mut sorted = take(&mut self.head);
        sorted.sort_by(f64::total_cmp);
        let old = take(&mut self.samples);
        let mut samples = Vec::with_capacity(old.len() + sorted.len());
        let mut rest = old.as_slice();
        let last = sorted.len() - 1;
        for (place, value) in sorted.into_iter().enumerate() {
            while let Some((first, after)) = rest.split_first()
                && first.value <= value
            {
                samples.push(*first);
                rest = after;
            }
            self.count += 1;
            let is_end = samples.is_empty() || (rest.is_empty() && place == last);
            let delta = match is_end {
                true => 0,
                false => floor(twice(error, self.count)),
            };
            samples.push(Sample { value, g: 1, delta });
        }
        samples.extend_from_slice(rest);
        self.samples = samples;
        self.uncompressed = true;
    }

    fn compress(&mut self, error: f64) {
        self.put_head_in(error);
        self.samples = compressed(&self.samples, twice(error, self.count));
        self.uncompressed = false;
    }

    /// As others are to find it: compressed.
    fn close(&mut self, error: f64) {
        if self.uncompressed {
            self.compress(error);
        }
    }

    /// Adds another digest, which is compressed.
    fn merge(&mut self, mut other: Self, error: f64) {
        self.close(error);
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other;
            return;
        }
        let (left, right) = (take(&mut self.samples), take(&mut other.samples));
        let more_left = floor(twice(error, other.count));
        let more_right = floor(twice(error, self.count));
        let count = self.count + other.count;
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut l, mut r) = (left.as_slice(), right.as_slice());
        while let (Some((a, after_a)), Some((b, after_b))) = (l.split_first(), r.split_first()) {
            let (sample, more) = if a.value < b.value {
                l = after_a;
                (a, if r.len() < right.len() { more_left } else { 0 })
            } else {
                r = after_b;
                (b, if l.len() < left.len() { more_right } else { 0 })
            };
            merged.push(Sample {
                delta: sample.delta + more,
                ..*sample
            });
        }
        merged.extend_from_slice(l);
        merged.extend_from_slice(r);
        self.samples = compressed(&merged, twice(error, count));
        self.count = count;
    }

    /// About the values at some places, in order of the places; of a compressed digest that has values.
    // Ranks are below 2^53.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    fn at(&self, places: &[f64], error: f64) -> Option<Vec<f64>> {
        let (first, last) = (self.samples.first()?, self.samples.last()?);
        let widest = self
            .samples
            .iter()
            .map(|sample| sample.delta + sample.g)
            .max()?;
        let within = (widest / 2) as f64;
        let (mut index, mut rank_there) = (0, first.g);
        let mut order: Vec<usize> = (0..places.len()).collect();
        let place_of = |place: &usize| places.get(*place).copied().unwrap_or_default();
        order.sort_by(|left, right| place_of(left).total_cmp(&place_of(right)));
        let mut results = vec![0.0; places.len()];
        for place in order {
            let percentile = *places.get(place)?;
            let result = results.get_mut(place)?;
            if percentile <= error {
                *result = first.value;
                continue;
            }
            if percentile >= 1.0 - error {
                *result = last.value;
                continue;
            }
            let rank = (percentile * self.count as f64).ceil() as i64 as f64;
            let mut least = rank_there;
            let mut at = index;
            loop {
                let sample = self.samples.get(at)?;
                if at + 1 == self.samples.len() {
                    // Spark's search starts here then, with no rank.
                    (index, rank_there, *result) = (at, 0, last.value);
                    break;
                }
                let most = least + sample.delta;
                if most as f64 - within <= rank && rank <= least as f64 + within {
                    (index, rank_there, *result) = (at, least, sample.value);
                    break;
                }
                at += 1;
                least += self.samples.get(at)?.g;
            }
        }
        Some(results)
    }

    fn write(&self, error: f64, into: &mut Vec<u8>) -> Result<()> {
        let of = |count: usize| i32::try_from(count).map_err(|_| bail_out("large buffers"));
        into.extend_from_slice(&of(COMPRESSED_FROM)?.to_be_bytes());
        into.extend_from_slice(&error.to_be_bytes());
        into.extend_from_slice(&self.count.to_be_bytes());
        into.extend_from_slice(&of(self.samples.len())?.to_be_bytes());
        for sample in &self.samples {
            into.extend_from_slice(&sample.value.to_be_bytes());
            into.extend_from_slice(&sample.g.to_be_bytes());
            into.extend_from_slice(&sample.delta.to_be_bytes());
        }
        Ok(())
    }

    /// Reads what Spark wrote with the same accuracy.
    fn read(bytes: &[u8], error: f64) -> Result<Self> {
        let broken = || bail_out("a digest that is not read");
        let (header, samples) = bytes.split_first_chunk::<HEADER>().ok_or_else(broken)?;
        let word = |bytes: &[u8], at: usize| -> Result<[u8; 8]> {
            let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
            word.copied().ok_or_else(broken)
        };
        let length = header
            .last_chunk::<4>()
            .map(|bytes| i32::from_be_bytes(*bytes));
        let length = length.and_then(|length| usize::try_from(length).ok());
        let same_error = f64::from_be_bytes(word(header, 4)?)
            .total_cmp(&error)
            .is_eq();
        let count = i64::from_be_bytes(word(header, 12)?);
        // Ranks are added up.
        let plausible = |number: i64| (0..1 << 52).contains(&number);
        let whole = length.and_then(|length| length.checked_mul(SAMPLE)) == Some(samples.len());
        if !(whole && same_error && plausible(count)) {
            return Err(broken());
        }
        let samples = samples.chunks_exact(SAMPLE).map(|sample| {
            Ok(Sample {
                value: f64::from_be_bytes(word(sample, 0)?),
                g: i64::from_be_bytes(word(sample, 8)?),
                delta: i64::from_be_bytes(word(sample, 16)?),
            })
        });
        let samples = samples.collect::<Result<Vec<_>>>()?;
        let sum = samples.iter().try_fold(0_i64, |sum, sample| {
            let fits = plausible(sample.g) && plausible(sample.delta);
            sum.checked_add(sample.g)
                .filter(|sum| fits && plausible(*sum))
        });
        if sum.is_none() {
            return Err(broken());
        }
        Ok(Self {
            samples,
            count,
            head: Vec::new(),
            uncompressed: false,
        })
    }

    fn size(&self) -> usize {
        self.samples.capacity() * size_of::<Sample>() + self.head.capacity() * size_of::<f64>()
    }
}

/// Samples of which those that are near enough to the one after them are one with it.
// Ranks are below 2^53.
#[allow(clippy::cast_precision_loss)]
fn compressed(samples: &[Sample], threshold: f64) -> Vec<Sample> {
    let Some((first, rest)) = samples.split_first() else {
        return Vec::new();
    };
    let Some((last, between)) = rest.split_last() else {
        return vec![*first];
    };
    let mut backwards = Vec::new();
    let mut head = *last;
    for sample in between.iter().rev() {
        if ((sample.g + head.g + head.delta) as f64) < threshold {
            head.g += sample.g;
        } else {
            backwards.push(head);
            head = *sample;
        }
    }
    backwards.push(head);
    // Not so if there are NaNs.
    if first.value <= head.value {
        backwards.push(*first);
    }
    backwards.reverse();
    backwards
}

/// About the values at some places.
#[derive(Clone)]
pub(super) struct ApproxPercentiles {
    of: ArrowType,
    /// How exact, as a part of all ranks.
    error: f64,
    places: Vec<f64>,
    as_array: bool,
    digests: Vec<Digest>,
}

impl ApproxPercentiles {
    pub(super) fn new(
        of: &DataType,
        accuracy: i32,
        places: Vec<f64>,
        as_array: bool,
    ) -> Result<Self> {
        let of = of.to_arrow();
        Ok(Self {
            of: of.map_err(|reason| bail_out(reason.to_string()))?,
            error: 1.0 / f64::from(accuracy),
            places,
            as_array,
            digests: Vec::new(),
        })
    }
}

// Groups are smaller than `total`, to which the vector is resized.
#[allow(clippy::indexing_slicing)]
impl Accumulator for ApproxPercentiles {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.digests.resize_with(total, Digest::default);
        let values = doubles(column(args, 0)?)?;
        for (row, group) in groups.iter().enumerate() {
            if values.is_valid(row) && filter.is_none_or(|filter| filter.value(row)) {
                self.digests[*group].add(values.value(row), self.error);
            }
        }
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.digests.resize_with(total, Digest::default);
        let buffers = column(buffers, 0)?.as_binary_view_opt();
        let buffers = buffers.ok_or_else(|| bail_out("a buffer of another type"))?;
        for (buffer, group) in buffers.iter().zip(groups) {
            let buffer = buffer.ok_or_else(|| bail_out("a buffer that is null"))?;
            let other = Digest::read(buffer, self.error)?;
            self.digests[*group].merge(other, self.error);
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let mut builder = BinaryViewBuilder::with_capacity(self.digests.len());
        let mut bytes = Vec::new();
        for mut digest in take(&mut self.digests) {
            bytes.clear();
            digest.close(self.error);
            digest.write(self.error, &mut bytes)?;
            builder.append_value(&bytes);
        }
        Ok(vec![Arc::new(builder.finish())])
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        // Spark compresses what it is asked for, and goes on with that.
        for digest in &mut self.digests {
            digest.close(self.error);
        }
        Some(self.clone().evaluate())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let (mut results, mut valid) = (Vec::new(), Vec::new());
        for mut digest in take(&mut self.digests) {
            digest.close(self.error);
            let found = digest.at(&self.places, self.error);
            valid.push(found.is_some());
            match found {
                Some(found) => results.extend(found),
                None if self.as_array => {}
                None => results.push(0.0),
            }
        }
        let in_array = self.as_array.then_some(self.places.len());
        result_of(narrowed(results, &self.of)?, valid, in_array)
    }

    fn size(&self) -> usize {
        self.digests.capacity() * size_of::<Digest>()
            + self.digests.iter().map(Digest::size).sum::<usize>()
    }
}

/// Values as Java's doubles.
fn doubles(values: &ArrayRef) -> Result<PrimitiveArray<Float64Type>> {
    let numbers = match values.data_type() {
        ArrowType::Date32 => cast(values, &ArrowType::Int32)?,
        ArrowType::Timestamp(..) => cast(values, &ArrowType::Int64)?,
        _ => Arc::clone(values),
    };
    Ok(cast(&numbers, &ArrowType::Float64)?
        .as_primitive::<Float64Type>()
        .clone())
}

/// Doubles as values, as Java narrows them.
#[allow(clippy::cast_possible_truncation)]
fn narrowed(doubles: Vec<f64>, to: &ArrowType) -> Result<ArrayRef> {
    let doubles = doubles.into_iter();
    Ok(match to {
        ArrowType::Int8 => Arc::new(PrimitiveArray::<Int8Type>::from_iter_values(
            doubles.map(|value| value as i32 as i8),
        )),
        ArrowType::Int16 => Arc::new(PrimitiveArray::<Int16Type>::from_iter_values(
            doubles.map(|value| value as i32 as i16),
        )),
        ArrowType::Int32 => Arc::new(PrimitiveArray::<Int32Type>::from_iter_values(
            doubles.map(|value| value as i32),
        )),
        ArrowType::Date32 => Arc::new(PrimitiveArray::<Date32Type>::from_iter_values(
            doubles.map(|value| value as i32),
        )),
        ArrowType::Int64 | ArrowType::Timestamp(..) => {
            let longs = doubles.map(|value| value as i64);
            let longs: ArrayRef = Arc::new(PrimitiveArray::<Int64Type>::from_iter_values(longs));
            cast(&longs, to)?
        }
        _ => {
            let doubles: ArrayRef = Arc::new(Float64Array::from_iter_values(doubles));
            cast(&doubles, to)?
        }
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;

    use super::*;

    fn of(values: impl Iterator<Item = i32>, accuracy: i32, parts: usize) -> Vec<i32> {
        let places = vec![0.9, 0.0, 0.5, 1.0];
        let new =
            || ApproxPercentiles::new(&DataType::Integer, accuracy, places.clone(), true).unwrap();
        let values: ArrayRef = Arc::new(values.map(Some).collect::<Int32Array>());
        let groups: Vec<_> = (0..values.len()).map(|row| row % parts).collect();
        let mut digests = new();
        digests.update(&[values], &groups, None, parts).unwrap();
        assert!(digests.size() > 0);
        let buffers = digests.buffers().unwrap();
        let mut whole = new();
        whole.merge(&buffers, &vec![0; parts], 2).unwrap();
        let result = whole.evaluate().unwrap();
        let result = result.as_list::<i32>();
        assert!(result.is_null(1));
        result
            .value(0)
            .as_primitive::<Int32Type>()
            .values()
            .to_vec()
    }

    #[test]
    fn few_values_are_found_exactly() {
        assert_eq!(of([0, 6, 7, 9, 10].into_iter(), 100, 1), [10, 0, 7, 10]);
        assert_eq!(of([10, 9, 7, 6, 0].into_iter(), 100, 2), [10, 0, 7, 10]);
    }

    #[test]
    fn many_values_are_found_as_exactly_as_was_asked_for() {
        const COUNT: i32 = 200_000;
        for parts in [1, 3] {
            let shuffled = (0..COUNT).map(|n| n.wrapping_mul(7919).rem_euclid(COUNT));
            let found = of(shuffled, 100, parts);
            let near = |found: i32, place: f64| {
                (f64::from(found) - place * f64::from(COUNT)).abs() <= f64::from(COUNT) / 100.0
            };
            assert!(near(found[0], 0.9) && near(found[2], 0.5), "{found:?}");
            assert_eq!([found[1], found[3]], [0, COUNT - 1]);
        }
    }

    #[test]
    fn digests_that_are_cut_off_or_of_another_accuracy_are_refused() {
        let mut digest = Digest::default();
        (0..10).for_each(|n| digest.add(f64::from(n), 0.01));
        digest.close(0.01);
        let mut bytes = Vec::new();
        digest.write(0.01, &mut bytes).unwrap();
        assert_eq!(bytes.len(), HEADER + 10 * SAMPLE);
        let read = Digest::read(&bytes, 0.01).unwrap();
        assert_eq!((read.samples, read.count), (digest.samples, 10));
        Digest::read(&bytes, 0.1).unwrap_err();
        for length in [0, 23, HEADER, bytes.len() - 1] {
            Digest::read(&bytes[..length], 0.01).unwrap_err();
        }
    }
}
