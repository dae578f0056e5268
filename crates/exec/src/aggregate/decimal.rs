//! Sums and averages of decimals. What overflows is left to Spark: its result may depend on the order of rows.

// Groups are smaller than `total`, to which the vectors are resized.
#![allow(clippy::indexing_slicing)]

use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Decimal128Array, Int64Array};
use arrow::datatypes::{Decimal128Type, Int64Type};
use datafusion_common::{DataFusionError, Result};

use super::accumulator::{Accumulator, boolean, each, primitive, try_each};
use super::number::valid;
use catalyst::Decimal;
use rows::error::bail_out;

fn overflow() -> DataFusionError {
    bail_out("a sum of decimals that overflows")
}

/// The first number with more digits than a precision has.
fn limit(precision: u8) -> i128 {
    10_i128.checked_pow(precision.into()).unwrap_or(i128::MAX)
}

/// Sums with a number of digits.
struct Sums {
    sums: Vec<i128>,
    buffer: Decimal,
    limit: i128,
    /// Whether no number of rows that is ever met makes a sum of rows overflow.
    safe: bool,
}

impl Sums {
    fn new(input: Decimal, buffer: Decimal) -> Self {
        Self {
            sums: Vec::new(),
            buffer,
            limit: limit(buffer.precision),
            // Ten digits more than a value has: as many values of one task are 160 GB.
            safe: buffer.precision >= input.precision + 10,
        }
    }

    fn resize(&mut self, total: usize) {
        self.sums.resize(total, 0);
    }

    fn add(&mut self, group: usize, value: i128) -> Result<()> {
        let sum = self.sums[group].checked_add(value);
        let sum = sum.filter(|sum| -self.limit < *sum && *sum < self.limit);
        self.sums[group] = sum.ok_or_else(overflow)?;
        Ok(())
    }

    /// Adds the values that count, and tells `counted` of each.
    fn add_all(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        mut counted: impl FnMut(usize),
    ) -> Result<()> {
        let values = primitive::<Decimal128Type>(args, 0)?;
        if self.safe {
            let sums = &mut self.sums;
            each(values, groups, filter, |group, value| {
                sums[group] += value;
                counted(group);
            });
            return Ok(());
        }
        try_each(values, groups, filter, |group, value| {
            counted(group);
            self.add(group, value)
        })
    }

    fn array(&mut self) -> Result<Decimal128Array> {
        let array = Decimal128Array::from(take(&mut self.sums));
        Ok(array.with_precision_and_scale(self.buffer.precision, self.buffer.scale)?)
    }
}

/// `sum`. Buffer: sum, isEmpty.
pub(super) struct SumDecimal {
    sums: Sums,
    seen: Vec<bool>,
}

impl SumDecimal {
    pub(super) fn new(input: Decimal, buffer: Decimal) -> Self {
        Self {
            sums: Sums::new(input, buffer),
            seen: Vec::new(),
        }
    }

    fn resize(&mut self, total: usize) {
        self.sums.resize(total);
        self.seen.resize(total, false);
    }
}

impl Accumulator for SumDecimal {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let seen = &mut self.seen;
        self.sums
            .add_all(args, groups, filter, |group| seen[group] = true)
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let sums = primitive::<Decimal128Type>(buffers, 0)?;
        let empty = boolean(buffers, 1)?;
        self.resize(total);
        for (row, group) in groups.iter().enumerate() {
            if empty.value(row) {
                continue;
            }
            if sums.is_null(row) {
                return Err(overflow());
            }
            self.seen[*group] = true;
            self.sums.add(*group, sums.value(row))?;
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let empty: Vec<bool> = take(&mut self.seen).iter().map(|seen| !seen).collect();
        Ok(vec![
            Arc::new(self.sums.array()?),
            Arc::new(BooleanArray::from(empty)),
        ])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let values = take(&mut self.sums.sums);
        let seen = valid(take(&mut self.seen));
        let array = Decimal128Array::new(values.into(), Some(seen));
        let Decimal { precision, scale } = self.sums.buffer;
        Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
    }

    fn size(&self) -> usize {
        self.sums.sums.capacity() * size_of::<i128>() + self.seen.capacity()
    }
}

/// `avg`. Buffer: sum, count.
pub(super) struct AverageDecimal {
    sums: Sums,
    counts: Vec<i64>,
    result: Decimal,
}

impl AverageDecimal {
    pub(super) fn new(input: Decimal, buffer: Decimal, result: Decimal) -> Self {
        Self {
            sums: Sums::new(input, buffer),
            counts: Vec::new(),
            result,
        }
    }

    fn resize(&mut self, total: usize) {
        self.sums.resize(total);
        self.counts.resize(total, 0);
    }
}

impl Accumulator for AverageDecimal {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let counts = &mut self.counts;
        self.sums
            .add_all(args, groups, filter, |group| counts[group] += 1)
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let sums = primitive::<Decimal128Type>(buffers, 0)?;
        let counts = primitive::<Int64Type>(buffers, 1)?;
        if sums.null_count() > 0 {
            return Err(overflow());
        }
        self.resize(total);
        try_each(sums, groups, None, |group, sum| self.sums.add(group, sum))?;
        each(counts, groups, None, |group, count| {
            self.counts[group] += count
        });
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let counts = take(&mut self.counts);
        Ok(vec![
            Arc::new(self.sums.array()?),
            Arc::new(Int64Array::from(counts)),
        ])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let sums = take(&mut self.sums.sums);
        let pairs = sums.into_iter().zip(take(&mut self.counts));
        let averages = pairs.map(|(sum, count)| match count {
            0 => Ok(None),
            _ => average(sum, count, self.sums.buffer.scale, self.result).map(Some),
        });
        let averages = averages.collect::<Result<Decimal128Array>>()?;
        let Decimal { precision, scale } = self.result;
        Ok(Arc::new(
            averages.with_precision_and_scale(precision, scale)?,
        ))
    }

    fn size(&self) -> usize {
        self.sums.sums.capacity() * size_of::<i128>() + self.counts.capacity() * size_of::<i64>()
    }
}

/// Half up. Spark rounds twice, first to 38 digits behind the point; where that might be seen it is left to Spark.
pub(crate) fn average(sum: i128, count: i64, scale: i8, result: Decimal) -> Result<i128> {
    let unsure = || bail_out("an average of decimals with many digits");
    let count = i128::from(count);
    let shift = u32::try_from(i32::from(result.scale) - i32::from(scale)).map_err(|_| unsure())?;
    let spare = u32::try_from(37 - i32::from(result.scale)).map_err(|_| unsure())?;
    // A fraction that is not a half differs from it by 1 / (2 * count) at least.
    if count >= 10_i128.checked_pow(spare).ok_or_else(unsure)? {
        return Err(unsure());
    }
    // The whole part first: its digits fit where those of the sum times a power of ten may not.
    let power = 10_i128.checked_pow(shift).ok_or_else(unsure)?;
    let (whole, rest) = (sum / count, sum % count);
    let rest = rest.checked_mul(power).ok_or_else(unsure)?;
    let whole = whole.checked_mul(power).ok_or_else(overflow)?;
    let (quotient, rest) = (rest / count, rest % count);
    let up = match rest.abs() * 2 >= count {
        true => rest.signum(),
        false => 0,
    };
    let average = whole + quotient + up;
    match average.abs() < limit(result.precision) {
        true => Ok(average),
        false => Err(overflow()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn decimal(precision: u8, scale: i8) -> Decimal {
        Decimal { precision, scale }
    }

    #[test]
    fn averages_are_rounded_half_up() {
        let of = |sum, count| average(sum, count, 2, decimal(19, 6)).unwrap();
        assert_eq!(of(100, 3), 333_333);
        assert_eq!(of(200, 3), 666_667);
        assert_eq!(of(-200, 3), -666_667);
        assert_eq!(of(1, 20_000), 1);
        assert_eq!(of(1, 20_001), 0);
        assert_eq!(of(-1, 20_000), -1);
    }

    #[test]
    fn what_overflows_is_left_to_spark() {
        let mut sums = Sums::new(decimal(38, 0), decimal(38, 0));
        sums.resize(1);
        let most = limit(38) - 1;
        sums.add(0, most).unwrap();
        assert!(sums.add(0, 1).is_err());
        assert!(average(most, 1, 6, decimal(38, 10)).is_err());
    }

    #[test]
    fn a_sum_of_nulls_is_zero_and_empty() {
        let mut sum = SumDecimal::new(decimal(15, 2), decimal(25, 2));
        let values = Decimal128Array::from(vec![None, Some(125), Some(-25)]);
        let values: ArrayRef = Arc::new(values.with_precision_and_scale(15, 2).unwrap());
        sum.update(&[values], &[0, 1, 1], None, 2).unwrap();
        let buffers = sum.buffers().unwrap();
        let totals = primitive::<Decimal128Type>(&buffers, 0).unwrap();
        assert_eq!(
            (totals.null_count(), totals.value(0), totals.value(1)),
            (0, 0, 100)
        );
        assert!(boolean(&buffers, 1).unwrap().value(0));
        sum.merge(&buffers, &[0, 1], 2).unwrap();
        sum.merge(&buffers, &[0, 1], 2).unwrap();
        let result = sum.evaluate().unwrap();
        assert!(result.is_null(0));
        assert_eq!(
            primitive::<Decimal128Type>(&[result], 0).unwrap().value(1),
            200
        );
    }
}
