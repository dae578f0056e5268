//! Covariances, correlations and regressions of pairs. Buffer: n, xAvg, yAvg, ck; of correlations also xMk and yMk, of
//! regressions also n, avg and m2 of the first.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array};
use arrow::datatypes::Float64Type;
use datafusion_common::Result;

use super::accumulator::{Accumulator, primitive};
use super::moment::{Buffer, quotient};
use catalyst::Comoment;

/// The buffer of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Pairs {
    n: f64,
    x_avg: f64,
    y_avg: f64,
    ck: f64,
    x_mk: f64,
    y_mk: f64,
    /// Of the first alone.
    x: Buffer,
}

impl Pairs {
    fn add(&mut self, x: f64, y: f64, of: Comoment) {
        let n = self.n + 1.0;
        let (dx, dy) = (x - self.x_avg, y - self.y_avg);
        self.n = n;
        self.x_avg += dx / n;
        self.y_avg += dy / n;
        self.ck += dx * (y - self.y_avg);
        if of.has_squares() {
            self.x_mk += dx * (x - self.x_avg);
            self.y_mk += dy * (y - self.y_avg);
        }
        if of.is_regression() {
            self.x.add(x, 2);
        }
    }

    /// Adds up the buffers of two sets of rows; `skips_empty`: with a rule for those without rows.
    fn merge(&mut self, other: &Self, skips_empty: bool) {
        let n = self.n + other.n;
        let one_is_empty = skips_empty && (self.n == 0.0 || other.n == 0.0);
        let delta = |left: f64, right: f64| match one_is_empty {
            true => 0.0,
            false => right - left,
        };
        let share = |delta: f64| match n == 0.0 {
            true => 0.0,
            false => delta / n,
        };
        let average = |left: f64, right: f64, share: f64| match one_is_empty {
            true if self.n == 0.0 => right,
            true => left,
            false => left + share * other.n,
        };
        let (dx, dy) = (
            delta(self.x_avg, other.x_avg),
            delta(self.y_avg, other.y_avg),
        );
        let (dx_n, dy_n) = (share(dx), share(dy));
        let x_avg = average(self.x_avg, other.x_avg, dx_n);
        let y_avg = average(self.y_avg, other.y_avg, dy_n);
        // Without the rule, infinity times no rows is NaN.
        self.ck = self.ck + other.ck + dx * dy_n * self.n * other.n;
        self.x_mk = self.x_mk + other.x_mk + dx * dx_n * self.n * other.n;
        self.y_mk = self.y_mk + other.y_mk + dy * dy_n * self.n * other.n;
        self.x.merge(other.x, skips_empty);
        (self.n, self.x_avg, self.y_avg) = (n, x_avg, y_avg);
    }

    /// The numbers of Spark's buffer, in its order.
    fn numbers(&self, of: Comoment) -> Vec<f64> {
        let mut numbers = vec![self.n, self.x_avg, self.y_avg, self.ck];
        if of.has_squares() {
            numbers.extend([self.x_mk, self.y_mk]);
        }
        if of.is_regression() {
            numbers.extend(self.x.numbers().into_iter().take(3));
        }
        numbers
    }

    fn of_numbers(of: Comoment, numbers: &[f64]) -> Self {
        let number = |place: usize| numbers.get(place).copied().unwrap_or_default();
        let mut pairs = Self {
            n: number(0),
            x_avg: number(1),
            y_avg: number(2),
            ck: number(3),
            ..Self::default()
        };
        if of.has_squares() {
            (pairs.x_mk, pairs.y_mk) = (number(4), number(5));
        }
        if of.is_regression() {
            pairs.x = Buffer::of_numbers(numbers.get(4..).unwrap_or_default());
        }
        pairs
    }

    /// What the buffer comes to; `None` for null.
    fn result(&self, plan: Plan) -> Result<Option<f64>> {
        let undefined = (!plan.null_on_divide_by_zero).then_some(f64::NAN);
        let root = || (self.x_mk * self.y_mk).sqrt();
        Ok(match plan.comoment {
            _ if self.n == 0.0 => None,
            Comoment::CovPopulation => Some(self.ck / self.n),
            Comoment::CovSample | Comoment::Corr if self.n == 1.0 => undefined,
            Comoment::CovSample => Some(self.ck / (self.n - 1.0)),
            Comoment::Corr if plan.checks_squares && (self.x_mk == 0.0 || self.y_mk == 0.0) => {
                undefined
            }
            Comoment::Corr if plan.null_by_zero && root() == 0.0 => None,
            Comoment::Corr => Some(quotient(self.ck, root())?),
            Comoment::RegrR2 if self.y_mk == 0.0 => None,
            Comoment::RegrR2 if self.x_mk == 0.0 => Some(1.0),
            Comoment::RegrR2 => {
                let correlation = quotient(self.ck, root())?;
                Some(correlation * correlation)
            }
            Comoment::SumOfProducts => Some(self.ck),
            Comoment::RegrSlope | Comoment::RegrIntercept if self.x.m2() == 0.0 => None,
            Comoment::RegrSlope => Some(self.ck / self.x.m2()),
            Comoment::RegrIntercept => Some(self.y_avg - self.ck / self.x.m2() * self.x_avg),
        })
    }
}

/// What is made of pairs, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) comoment: Comoment,
    pub(super) null_on_divide_by_zero: bool,
    pub(super) skips_empty: bool,
    pub(super) checks_squares: bool,
    pub(super) null_by_zero: bool,
}

#[derive(Clone)]
pub(super) struct Comoments {
    plan: Plan,
    pairs: Vec<Pairs>,
}

impl Comoments {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            pairs: Vec::new(),
        }
    }
}

// Groups are smaller than `total`, to which the vector is resized; rows are those of the arrays.
#[allow(clippy::indexing_slicing)]
impl Accumulator for Comoments {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let x = primitive::<Float64Type>(args, 0)?;
        let y = primitive::<Float64Type>(args, 1)?;
        self.pairs.resize(total, Pairs::default());
        for (row, group) in groups.iter().enumerate() {
            let counts = filter.is_none_or(|filter| filter.value(row));
            if counts && x.is_valid(row) && y.is_valid(row) {
                self.pairs[*group].add(x.value(row), y.value(row), self.plan.comoment);
            }
        }
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let columns = (0..self.plan.comoment.buffer_len())
            .map(|place| primitive::<Float64Type>(buffers, place));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.pairs.resize(total, Pairs::default());
        for (row, group) in groups.iter().enumerate() {
            let numbers: Vec<_> = columns.iter().map(|column| column.value(row)).collect();
            let other = Pairs::of_numbers(self.plan.comoment, &numbers);
            self.pairs[*group].merge(&other, self.plan.skips_empty);
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let of = self.plan.comoment;
        let pairs = take(&mut self.pairs).into_iter();
        let numbers: Vec<_> = pairs.map(|pairs| pairs.numbers(of)).collect();
        let column = |place: usize| -> ArrayRef {
            let numbers = numbers.iter().map(|numbers| numbers.get(place).copied());
            Arc::new(numbers.collect::<Float64Array>())
        };
        Ok((0..of.buffer_len()).map(column).collect())
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        Some(self.clone().evaluate())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let pairs = take(&mut self.pairs).into_iter();
        let results = pairs.map(|pairs| pairs.result(self.plan));
        Ok(Arc::new(results.collect::<Result<Float64Array>>()?))
    }

    fn size(&self) -> usize {
        self.pairs.capacity() * size_of::<Pairs>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;

    use super::*;

    const PAIRS: [(f64, f64); 5] = [
        (1.0, 2.0),
        (2.0, 3.5),
        (4.0, 9.0),
        (7.0, 13.0),
        (11.0, 24.0),
    ];

    fn of(comoment: Comoment, pairs: &[(f64, f64)], parts: usize) -> Option<f64> {
        let plan = Plan {
            comoment,
            null_on_divide_by_zero: true,
            skips_empty: false,
            checks_squares: true,
            null_by_zero: false,
        };
        let mut comoments = Comoments::new(plan);
        let column = |of: fn(&(f64, f64)) -> f64| -> ArrayRef {
            Arc::new(pairs.iter().map(of).map(Some).collect::<Float64Array>())
        };
        let groups: Vec<_> = (0..pairs.len()).map(|row| row % parts).collect();
        let args = [column(|pair| pair.0), column(|pair| pair.1)];
        comoments.update(&args, &groups, None, parts).unwrap();
        let buffers = comoments.buffers().unwrap();
        assert_eq!(buffers.len(), comoment.buffer_len());
        comoments.merge(&buffers, &vec![0; parts], 1).unwrap();
        let result = comoments.evaluate().unwrap();
        result.as_primitive::<Float64Type>().iter().next().unwrap()
    }

    #[test]
    fn parts_come_to_the_same() {
        for (comoment, expected) in [
            (Comoment::CovPopulation, 28.5),
            (Comoment::CovSample, 35.625),
            (Comoment::SumOfProducts, 142.5),
            (Comoment::RegrSlope, 142.5 / 66.0),
            (Comoment::RegrIntercept, 10.3 - 142.5 / 66.0 * 5.0),
            (Comoment::Corr, 142.5 / (66.0_f64 * 311.8).sqrt()),
            (Comoment::RegrR2, 142.5 * 142.5 / (66.0 * 311.8)),
        ] {
            for parts in [1, 2, 3] {
                let result = of(comoment, &PAIRS, parts).unwrap();
                assert!((result - expected).abs() < 1e-9, "{comoment:?}: {result}");
            }
        }
    }

    #[test]
    fn too_few_pairs_and_constants_are_null() {
        for comoment in [Comoment::Corr, Comoment::CovSample] {
            assert_eq!(of(comoment, &PAIRS[..1], 1), None);
        }
        assert_eq!(of(Comoment::Corr, &[(1.0, 1.0), (1.0, 2.0)], 1), None);
        assert_eq!(
            of(Comoment::RegrR2, &[(1.0, 1.0), (1.0, 2.0)], 1),
            Some(1.0)
        );
        assert_eq!(of(Comoment::RegrSlope, &[(1.0, 1.0), (1.0, 2.0)], 1), None);
        assert_eq!(of(Comoment::CovPopulation, &[], 1), None);
    }
}
