//! Standard deviations, variances, skewness and kurtosis. Buffer: n, avg, m2, of the last two also m3, of the last m4.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array};
use arrow::datatypes::Float64Type;
use datafusion_common::Result;

use super::accumulator::{Accumulator, each, primitive};
use catalyst::Moment;
use rows::error::bail_out;

/// The buffer of a group.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Buffer {
    n: f64,
    avg: f64,
    m2: f64,
    m3: f64,
    m4: f64,
}

impl Buffer {
    /// Adds a value to the moments up to an order.
    pub(crate) fn add(&mut self, value: f64, order: usize) {
        let n = self.n + 1.0;
        let delta = value - self.avg;
        let delta_n = delta / n;
        let m2 = self.m2 + delta * (delta - delta_n);
        if order > 2 {
            let (squared, squared_n) = (delta * delta, delta_n * delta_n);
            let m3 = self.m3 - 3.0 * delta_n * m2 + delta * (squared - squared_n);
            self.m4 = self.m4 - 4.0 * delta_n * m3 - 6.0 * squared_n * m2
                + delta * (delta * squared - delta_n * squared_n);
            self.m3 = m3;
        }
        self.m2 = m2;
        self.avg += delta_n;
        self.n = n;
    }

    /// Adds up the buffers of two sets of rows; `skips_empty`: with a rule for those without rows.
    pub(super) fn merge(&mut self, other: Self, skips_empty: bool) {
        let (n1, n2) = (self.n, other.n);
        let n = n1 + n2;
        let one_is_empty = skips_empty && (n1 == 0.0 || n2 == 0.0);
        let delta = match one_is_empty {
            true => 0.0,
            false => other.avg - self.avg,
        };
        let delta_n = match n == 0.0 {
            true => 0.0,
            false => delta / n,
        };
        let (m2, m3) = (self.m2, self.m3);
        // Without the rule, infinity times no rows is NaN.
        self.m2 = m2 + other.m2 + delta * delta_n * n1 * n2;
        self.m3 = m3
            + other.m3
            + delta_n * delta_n * delta * n1 * n2 * (n1 - n2)
            + 3.0 * delta_n * (n1 * other.m2 - n2 * m2);
        self.m4 = self.m4
            + other.m4
            + delta_n * delta_n * delta_n * delta * n1 * n2 * (n1 * n1 - n1 * n2 + n2 * n2)
            + 6.0 * delta_n * delta_n * (n1 * n1 * other.m2 + n2 * n2 * m2)
            + 4.0 * delta_n * (n1 * other.m3 - n2 * m3);
        self.avg = match one_is_empty {
            true if n1 == 0.0 => other.avg,
            true => self.avg,
            false => self.avg + delta_n * n2,
        };
        self.n = n;
    }

    pub(super) fn m2(&self) -> f64 {
        self.m2
    }

    /// The numbers of Spark's buffer, in its order; functions of lower moments have fewer.
    pub(super) fn numbers(&self) -> [f64; 5] {
        [self.n, self.avg, self.m2, self.m3, self.m4]
    }

    pub(super) fn of_numbers(numbers: &[f64]) -> Self {
        let number = |place: usize| numbers.get(place).copied().unwrap_or_default();
        Self {
            n: number(0),
            avg: number(1),
            m2: number(2),
            m3: number(3),
            m4: number(4),
        }
    }
}

/// A quotient. By nothing Spark gives null, or fails.
pub(super) fn quotient(of: f64, by: f64) -> Result<f64> {
    match by == 0.0 {
        true => Err(bail_out("moments divided by zero")),
        false => Ok(of / by),
    }
}

/// What a buffer comes to; `None` for null.
///
/// # Errors
/// Bail-out: a division by zero.
pub(crate) fn moment_of(
    of: Moment,
    null_on_divide_by_zero: bool,
    buffer: Buffer,
) -> Result<Option<f64>> {
    let Buffer { n, m2, m3, m4, .. } = buffer;
    let undefined = (!null_on_divide_by_zero).then_some(f64::NAN);
    Ok(match of {
        _ if n == 0.0 => None,
        Moment::StddevSamp | Moment::VarianceSamp if n == 1.0 => undefined,
        Moment::Skewness | Moment::Kurtosis if m2 == 0.0 => undefined,
        Moment::StddevSamp => Some((m2 / (n - 1.0)).sqrt()),
        Moment::VarianceSamp => Some(m2 / (n - 1.0)),
        Moment::StddevPop => Some((m2 / n).sqrt()),
        Moment::VariancePop => Some(m2 / n),
        Moment::Skewness => Some(quotient(n.sqrt() * m3, (m2 * m2 * m2).sqrt())?),
        Moment::Kurtosis => Some(quotient(n * m4, m2 * m2)? - 3.0),
        Moment::SumOfSquares => Some(m2),
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
        let order = self.moment.order();
        each(values, groups, filter, |group, value| {
            self.buffers[group].add(value, order);
        });
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let columns =
            (0..=self.moment.order()).map(|place| primitive::<Float64Type>(buffers, place));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.buffers.resize(total, Buffer::default());
        let mut numbers = Vec::with_capacity(columns.len());
        for (row, group) in groups.iter().enumerate() {
            numbers.clear();
            numbers.extend(columns.iter().map(|column| column.value(row)));
            self.buffers[*group].merge(Buffer::of_numbers(&numbers), self.skips_empty);
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let buffers = take(&mut self.buffers);
        let of = |place: usize| -> ArrayRef {
            let numbers = buffers
                .iter()
                .map(|buffer| buffer.numbers().get(place).copied());
            Arc::new(numbers.collect::<Float64Array>())
        };
        Ok((0..=self.moment.order()).map(of).collect())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let buffers = take(&mut self.buffers);
        let (of, null) = (self.moment, self.null_on_divide_by_zero);
        let results = buffers
            .into_iter()
            .map(|buffer| moment_of(of, null, buffer));
        Ok(Arc::new(results.collect::<Result<Float64Array>>()?))
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

    /// As Spark's documentation has them.
    #[test]
    fn higher_moments_of_parts() {
        for (moment, values, expected) in [
            (
                Moment::Skewness,
                [-10.0, -20.0, 100.0, 1000.0],
                1.113_565_746_902_201_3,
            ),
            (
                Moment::Kurtosis,
                [-10.0, -20.0, 100.0, 1000.0],
                -0.701_436_804_752_961_8,
            ),
        ] {
            for parts in [1, 3] {
                let mut moments = Moments::new(moment, true, false);
                let values: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
                let groups: Vec<_> = (0..4).map(|row| row % parts).collect();
                moments.update(&[values], &groups, None, parts).unwrap();
                let buffers = moments.buffers().unwrap();
                assert_eq!(buffers.len(), moment.order() + 1);
                moments.merge(&buffers, &vec![0; parts], 1).unwrap();
                let result = moments.evaluate().unwrap();
                let result = result.as_primitive::<Float64Type>().value(0);
                assert!((result - expected).abs() < 1e-12, "{moment:?}: {result}");
            }
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
