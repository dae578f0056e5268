//! Sums and averages of intervals. What overflows is bailed out of.

// Groups are smaller than `total`, to which the vectors are resized.
#![allow(clippy::indexing_slicing)]

use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, PrimitiveArray};
use arrow::datatypes::Int64Type;
use datafusion_common::Result;

use super::accumulator::{Accumulator, boolean, each, primitive, try_each};
use crate::expr::{Interval, half_up};
use catalyst::{AggregateKind, EvalMode};
use rows::error::bail_out;

/// `sum` and `avg` of intervals. Buffer: sum, null if there was no value; of `avg` sum and count; of `try_sum` sum and
/// whether there was no value.
pub(super) struct Intervals<I: Interval> {
    average: bool,
    /// Whether a sum in a buffer may be null since it overflowed.
    tries: bool,
    sums: Vec<I::Native>,
    counts: Vec<i64>,
}

impl<I: Interval> Intervals<I> {
    pub(super) fn boxed(kind: AggregateKind) -> Box<dyn Accumulator> {
        let (AggregateKind::Sum { mode } | AggregateKind::Average { mode }) = kind else {
            return Box::new(Self::new(false, false));
        };
        let average = matches!(kind, AggregateKind::Average { .. });
        Box::new(Self::new(average, mode == EvalMode::Try))
    }

    fn new(average: bool, tries: bool) -> Self {
        Self {
            average,
            tries,
            sums: Vec::new(),
            counts: Vec::new(),
        }
    }

    fn add(
        &mut self,
        values: &PrimitiveArray<I>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
    ) -> Result<()> {
        let sums = &mut self.sums;
        try_each(values, groups, filter, |group, value| {
            let sum = I::narrow(I::wide(sums[group]) + I::wide(value));
            sums[group] = sum.ok_or_else(|| bail_out("a sum of intervals that overflows"))?;
            Ok(())
        })
    }

    fn resize(&mut self, total: usize) {
        self.sums.resize(total, I::Native::default());
        self.counts.resize(total, 0);
    }

    fn results(&self) -> PrimitiveArray<I> {
        let groups = self.sums.iter().zip(&self.counts);
        let results = groups.map(|(sum, count)| match (count, self.average) {
            (0, _) => None,
            (_, false) => Some(*sum),
            // No sum divided by a count is larger than it.
            (_, true) => I::narrow(half_up(I::wide(*sum), (*count).into())),
        });
        results.collect()
    }
}

impl<I: Interval> Accumulator for Intervals<I> {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let values = primitive::<I>(args, 0)?;
        let counts = &mut self.counts;
        each(values, groups, filter, |group, _| counts[group] += 1);
        self.add(values, groups, filter)
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        if !self.average && !self.tries {
            return self.update(buffers, groups, None, total);
        }
        self.resize(total);
        let sums = primitive::<I>(buffers, 0)?;
        if !self.average {
            let empty = boolean(buffers, 1)?;
            if (0..sums.len()).any(|row| sums.is_null(row) && !empty.value(row)) {
                return Err(bail_out("a sum of intervals that overflows"));
            }
            let some = arrow::compute::not(empty)?;
            let counts = &mut self.counts;
            each(sums, groups, Some(&some), |group, _| counts[group] += 1);
            return self.add(sums, groups, Some(&some));
        }
        if sums.null_count() > 0 {
            return Err(bail_out("a sum of intervals that overflows"));
        }
        let counts = primitive::<Int64Type>(buffers, 1)?;
        each(counts, groups, None, |group, count| {
            self.counts[group] += count;
        });
        self.add(sums, groups, None)
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        if !self.average && !self.tries {
            return Ok(vec![self.evaluate()?]);
        }
        let sums = PrimitiveArray::<I>::from_iter_values(take(&mut self.sums));
        let counts = take(&mut self.counts);
        let second: ArrayRef = match self.average {
            true => Arc::new(Int64Array::from(counts)),
            false => {
                let empty: Vec<bool> = counts.iter().map(|count| *count == 0).collect();
                Arc::new(BooleanArray::from(empty))
            }
        };
        Ok(vec![Arc::new(sums), second])
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        Some(Ok(Arc::new(self.results())))
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let results = self.results();
        (self.sums, self.counts) = (Vec::new(), Vec::new());
        Ok(Arc::new(results))
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<I::Native>() + self.counts.capacity() * size_of::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DurationMicrosecondType, IntervalYearMonthType};

    use super::*;

    fn array<I: Interval>(values: Vec<Option<I::Native>>) -> ArrayRef {
        Arc::new(values.into_iter().collect::<PrimitiveArray<I>>())
    }

    #[test]
    fn averages_are_rounded_half_away_from_zero() {
        type Months = IntervalYearMonthType;
        let mut partial = Intervals::<Months>::new(true, false);
        let values = array::<Months>(vec![Some(1), Some(2), Some(-1), Some(-2), None]);
        partial
            .update(&[values], &[0, 0, 1, 1, 2], None, 3)
            .unwrap();
        let buffers = partial.buffers().unwrap();
        assert_eq!(buffers[0].null_count() + buffers[1].null_count(), 0);
        let mut last = Intervals::<Months>::new(true, false);
        last.merge(&buffers, &[0, 1, 2], 3).unwrap();
        let expected = array::<Months>(vec![Some(2), Some(-2), None]);
        assert_eq!(last.so_far().unwrap().unwrap().as_ref(), expected.as_ref());
        assert_eq!(last.evaluate().unwrap().as_ref(), expected.as_ref());
    }

    #[test]
    fn sums_that_overflow_are_not_made() {
        type Micros = DurationMicrosecondType;
        let mut sum = Intervals::<Micros>::new(false, false);
        let values = array::<Micros>(vec![Some(i64::MAX), Some(-1), Some(1), None]);
        sum.update(&[Arc::clone(&values)], &[0, 0, 0, 1], None, 2)
            .unwrap();
        let expected = array::<Micros>(vec![Some(i64::MAX), None]);
        assert_eq!(sum.so_far().unwrap().unwrap().as_ref(), expected.as_ref());
        assert!(sum.update(&[values], &[0, 0, 0, 1], None, 2).is_err());
    }

    #[test]
    fn buffers_of_try_sum_say_whether_there_was_a_value() {
        type Micros = DurationMicrosecondType;
        let mut partial = Intervals::<Micros>::new(false, true);
        let values = array::<Micros>(vec![Some(i64::MAX), Some(-1), None]);
        partial.update(&[values], &[0, 0, 1], None, 2).unwrap();
        let buffers = partial.buffers().unwrap();
        assert_eq!(buffers[0].null_count(), 0);
        let empty = BooleanArray::from(vec![false, true]);
        assert_eq!(boolean(&buffers, 1).unwrap(), &empty);
        let mut last = Intervals::<Micros>::new(false, true);
        last.merge(&buffers, &[0, 1], 2).unwrap();
        let expected = array::<Micros>(vec![Some(i64::MAX - 1), None]);
        assert_eq!(last.evaluate().unwrap().as_ref(), expected.as_ref());
        // What overflowed in Spark's JVM is null, but not empty.
        let overflowed = array::<Micros>(vec![None, None]);
        let merged = last.merge(&[overflowed, Arc::new(empty)], &[0, 1], 2);
        assert!(merged.is_err());
    }
}
