//! Sums and averages of intervals. What overflows is bailed out of.

// Groups are smaller than `total`, to which the vectors are resized.
#![allow(clippy::indexing_slicing)]

use std::mem::take;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, PrimitiveArray};
use arrow::datatypes::Int64Type;
use datafusion_common::Result;

use super::accumulator::{Accumulator, each, primitive, try_each};
use crate::expr::{Interval, half_up};
use catalyst::AggregateKind;
use rows::error::bail_out;

/// `sum` and `avg` of intervals. Buffer: sum, null if there was no value; of `avg` sum and count.
pub(super) struct Intervals<I: Interval> {
    average: bool,
    sums: Vec<I::Native>,
    counts: Vec<i64>,
}

impl<I: Interval> Intervals<I> {
    pub(super) fn boxed(kind: AggregateKind) -> Box<dyn Accumulator> {
        Box::new(Self::new(matches!(kind, AggregateKind::Average { .. })))
    }

    fn new(average: bool) -> Self {
        Self {
            average,
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
        if !self.average {
            return self.update(buffers, groups, None, total);
        }
        self.resize(total);
        let counts = primitive::<Int64Type>(buffers, 1)?;
        each(counts, groups, None, |group, count| {
            self.counts[group] += count;
        });
        self.add(primitive::<I>(buffers, 0)?, groups, None)
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        if !self.average {
            return Ok(vec![self.evaluate()?]);
        }
        let sums = PrimitiveArray::<I>::from_iter_values(take(&mut self.sums));
        let counts = Int64Array::from(take(&mut self.counts));
        Ok(vec![Arc::new(sums), Arc::new(counts)])
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
        let mut partial = Intervals::<Months>::new(true);
        let values = array::<Months>(vec![Some(1), Some(2), Some(-1), Some(-2), None]);
        partial
            .update(&[values], &[0, 0, 1, 1, 2], None, 3)
            .unwrap();
        let buffers = partial.buffers().unwrap();
        assert_eq!(buffers[0].null_count() + buffers[1].null_count(), 0);
        let mut last = Intervals::<Months>::new(true);
        last.merge(&buffers, &[0, 1, 2], 3).unwrap();
        let expected = array::<Months>(vec![Some(2), Some(-2), None]);
        assert_eq!(last.so_far().unwrap().unwrap().as_ref(), expected.as_ref());
        assert_eq!(last.evaluate().unwrap().as_ref(), expected.as_ref());
    }

    #[test]
    fn sums_that_overflow_are_not_made() {
        type Micros = DurationMicrosecondType;
        let mut sum = Intervals::<Micros>::new(false);
        let values = array::<Micros>(vec![Some(i64::MAX), Some(-1), Some(1), None]);
        sum.update(&[Arc::clone(&values)], &[0, 0, 0, 1], None, 2)
            .unwrap();
        let expected = array::<Micros>(vec![Some(i64::MAX), None]);
        assert_eq!(sum.so_far().unwrap().unwrap().as_ref(), expected.as_ref());
        assert!(sum.update(&[values], &[0, 0, 0, 1], None, 2).is_err());
    }
}
