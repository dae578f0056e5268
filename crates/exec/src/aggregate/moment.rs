//! Standard deviations and variances. Buffer: n, avg, m2.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array};
use arrow::datatypes::Float64Type;
use datafusion_common::Result;

use super::accumulator::{Accumulator, each, primitive};
use catalyst::Moment;

/// The buffer of a group.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Buffer {
    n: f64,
    avg: f64,
    m2: f64,
}

impl Buffer {
    pub(crate) fn add(&mut self, value: f64) {
        let n = self.n + 1.0;
        let delta = value - self.avg;
        let delta_n = delta / n;
        self.n = n;
        self.avg += delta_n;
        self.m2 += delta * (delta - delta_n);
    }
}

impl Buffer {
    fn merge(&mut self, other: Self, skips_empty: bool) {
        let n = self.n + other.n;
        let one_is_empty = skips_empty && (self.n == 0.0 || other.n == 0.0);
        let delta = match one_is_empty {
            true => 0.0,
            false => other.avg - self.avg,
        };
        let delta_n = match n == 0.0 {
            true => 0.0,
            false => delta / n,
        };
        // Without the rule, infinity times no rows is NaN.
        self.m2 = self.m2 + other.m2 + delta * delta_n * self.n * other.n;
        self.avg = match one_is_empty {
            true if self.n == 0.0 => other.avg,
            true => self.avg,
            false => self.avg + delta_n * other.n,
        };
        self.n = n;
    }
}

/// What a buffer comes to; `None` for null.
pub(crate) fn moment_of(of: Moment, null_on_divide_by_zero: bool, buffer: Buffer) -> Option<f64> {
    let Buffer { n, m2, .. } = buffer;
    if n == 0.0 {
        return None;
    }
    let samples = matches!(of, Moment::StddevSamp | Moment::VarianceSamp);
    if samples && n == 1.0 {
        return (!null_on_divide_by_zero).then_some(f64::NAN);
    }
    let variance = match samples {
        true => m2 / (n - 1.0),
        false => m2 / n,
    };
    Some(match of {
        Moment::StddevSamp | Moment::StddevPop => variance.sqrt(),
        Moment::VarianceSamp | Moment::VariancePop => variance,
    })
}

pub(super) struct Moments {
    moment: Moment,
    null_on_divide_by_zero: bool,
    /// Whether buffers without rows are left out when buffers are merged.
    skips_empty: bool,
    buffers: Vec<Buffer>,
}

impl Moments {
    pub(super) fn new(moment: Moment, null_on_divide_by_zero: bool, skips_empty: bool) -> Self {
        Self {
            moment,
            null_on_divide_by_zero,
            skips_empty,
            buffers: Vec::new(),
        }
    }
}

// Groups are smaller than `total`, to which the vector is resized.
#[allow(clippy::indexing_slicing)]
impl Accumulator for Moments {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = primitive::<Float64Type>(args, 0)?;
        self.buffers.resize(total, Buffer::default());
        each(values, groups, filter, |group, value| {
            self.buffers[group].add(value);
        });
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let n = primitive::<Float64Type>(buffers, 0)?.values();
        let avg = primitive::<Float64Type>(buffers, 1)?.values();
        let m2 = primitive::<Float64Type>(buffers, 2)?.values();
        self.buffers.resize(total, Buffer::default());
        for (row, group) in groups.iter().enumerate() {
            let left = &mut self.buffers[*group];
            let right = Buffer {
                n: n[row],
                avg: avg[row],
                m2: m2[row],
            };
            left.merge(right, self.skips_empty);
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let buffers = take(&mut self.buffers);
        let of = |field: fn(&Buffer) -> f64| -> ArrayRef {
            Arc::new(
                buffers
                    .iter()
                    .map(field)
                    .map(Some)
                    .collect::<Float64Array>(),
            )
        };
        Ok(vec![of(|b| b.n), of(|b| b.avg), of(|b| b.m2)])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let buffers = take(&mut self.buffers);
        let (of, null) = (self.moment, self.null_on_divide_by_zero);
        let results = buffers
            .into_iter()
            .map(|buffer| moment_of(of, null, buffer));
        Ok(Arc::new(results.collect::<Float64Array>()))
    }

    fn size(&self) -> usize {
        self.buffers.capacity() * size_of::<Buffer>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};

    use super::*;

    #[test]
    fn merged_or_not_the_same() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0, 7.0]));
        let mut all = Moments::new(Moment::VariancePop, true, false);
        all.update(&[Arc::clone(&values)], &[0; 5], None, 1)
            .unwrap();
        let mut parts = Moments::new(Moment::VariancePop, true, false);
        parts.update(&[values], &[0, 1, 0, 1, 0], None, 2).unwrap();
        let buffers = parts.buffers().unwrap();
        parts.merge(&buffers, &[0, 0], 1).unwrap();
        let value = |mut of: Moments| {
            let result = of.evaluate().unwrap();
            result.as_primitive::<Float64Type>().value(0)
        };
        let (all, parts) = (value(all), value(parts));
        assert!((all - 4.24).abs() < 1e-12 && (parts - 4.24).abs() < 1e-12);
    }

    /// As measured: Spark 4.3.0 gives 0, and all before NaN.
    #[test]
    fn large_values_and_no_rows_are_not_a_number_unless_these_are_left_out() {
        for (skips_empty, is_nan) in [(false, true), (true, false)] {
            let mut moments = Moments::new(Moment::VariancePop, true, skips_empty);
            let values: ArrayRef = Arc::new(Float64Array::from(vec![-1e300]));
            moments.update(&[values], &[0], None, 1).unwrap();
            let buffers = moments.buffers().unwrap();
            moments.merge(&buffers, &[0], 1).unwrap();
            let result = moments.evaluate().unwrap();
            let result = result.as_primitive::<Float64Type>().value(0);
            assert_eq!(result.is_nan(), is_nan, "{result}");
        }
    }

    #[test]
    fn one_row_has_no_sample_variance() {
        for (null, expected) in [(true, None), (false, Some(true))] {
            let mut one = Moments::new(Moment::StddevSamp, null, false);
            let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
            one.update(&[values], &[1], None, 2).unwrap();
            let result = one.evaluate().unwrap();
            let result = result.as_primitive::<Float64Type>();
            assert!(result.is_null(0));
            assert_eq!(result.iter().nth(1).unwrap().map(f64::is_nan), expected);
        }
    }
}
