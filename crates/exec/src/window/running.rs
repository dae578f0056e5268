//! Aggregate functions of frames: sums, averages, counts and variances.
//!
//! A frame that has grown is added to. One that has moved on is computed anew from its first row, as Spark does: sums of
//! floating-point numbers depend on the order. Exact numbers are taken away instead.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, Float64Array, Int64Array,
    PrimitiveArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Decimal128Type, Float64Type, Int64Type};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::value;
use crate::aggregate::{MomentBuffer, average, moment_of, takes};
use crate::expr::lower;
use catalyst::{AggregateFunction, AggregateKind, Attribute, DataType, Decimal, EvalMode};
use catalyst::{Moment, Unsupported};
use rows::error::bail_out;

/// An aggregate function that was judged.
#[derive(Debug)]
pub(super) struct Aggregate {
    kind: Fold,
    args: Vec<Arc<dyn PhysicalExpr>>,
}

/// Which function, of which types.
#[derive(Debug, Clone, Copy)]
enum Fold {
    Count,
    SumLong(EvalMode),
    SumDouble,
    AverageDouble,
    SumDecimal(Decimal),
    AverageDecimal {
        input: Decimal,
        result: Decimal,
    },
    Moment {
        of: Moment,
        null_on_divide_by_zero: bool,
    },
}

impl Aggregate {
    /// `None` if it is a function that is [gathered](super::gathered).
    pub(super) fn new(
        function: &AggregateFunction,
        input: &[Attribute],
    ) -> Result<Option<Self>, Unsupported> {
        let of = function.args.first().map(|arg| &arg.data_type);
        let of = of.unwrap_or(&DataType::Null);
        let unsupported =
            || Unsupported::of_use(format!("a window of {:?} of {of}", function.kind));
        if !takes(function.kind, of) {
            return Err(unsupported());
        }
        let kind = match (function.kind, of, function.data_type.decimal()) {
            (AggregateKind::Count, ..) => Fold::Count,
            (AggregateKind::Sum { .. }, DataType::Decimal(_), Some(sum)) => Fold::SumDecimal(sum),
            (AggregateKind::Sum { .. }, DataType::Float | DataType::Double, _) => Fold::SumDouble,
            (
                AggregateKind::Sum { .. } | AggregateKind::Average { .. },
                DataType::YearMonthInterval | DataType::DayTimeInterval,
                _,
            ) => return Ok(None),
            (AggregateKind::Sum { mode }, ..) => Fold::SumLong(mode),
            (AggregateKind::Average { .. }, DataType::Decimal(input), Some(result)) => {
                let input = *input;
                Fold::AverageDecimal { input, result }
            }
            (AggregateKind::Average { .. }, ..) => Fold::AverageDouble,
            (
                AggregateKind::CentralMoment {
                    moment: of,
                    null_on_divide_by_zero,
                    ..
                },
                ..,
            ) => Fold::Moment {
                of,
                null_on_divide_by_zero,
            },
            _ => return Ok(None),
        };
        let args = function.args.iter().map(|arg| lower(arg, input));
        Ok(Some(Self {
            kind,
            args: args.collect::<Result<_, _>>()?,
        }))
    }

    /// A value for each row, which is that of its frame.
    pub(super) fn column(
        &self,
        frames: &[Range<usize>],
        batch: &arrow::array::RecordBatch,
    ) -> Result<ArrayRef> {
        let args = self.args.iter().map(|arg| value(arg, batch));
        let args = args.collect::<Result<Vec<_>>>()?;
        Ok(match self.kind {
            Fold::Count => {
                let nulls = args.iter().filter_map(|arg| arg.logical_nulls());
                let counts = fold(
                    frames,
                    Count {
                        nulls: nulls.collect(),
                        rows: 0,
                    },
                )?;
                Arc::new(counts.into_iter().collect::<Int64Array>())
            }
            Fold::SumLong(mode) => {
                let values = cast(first(&args)?, &ArrowType::Int64)?;
                let values = values.as_primitive::<Int64Type>().clone();
                let sums = Exact::new(values, limit_of_longs(mode), low_bits);
                Arc::new(fold(frames, sums)?.into_iter().collect::<Int64Array>())
            }
            Fold::SumDouble => {
                let sums = Doubles {
                    values: doubles(&args)?,
                    average: false,
                    rows: 0,
                    sum: 0.0,
                };
                Arc::new(fold(frames, sums)?.into_iter().collect::<Float64Array>())
            }
            Fold::AverageDouble => {
                let sums = Doubles {
                    values: doubles(&args)?,
                    average: true,
                    rows: 0,
                    sum: 0.0,
                };
                Arc::new(fold(frames, sums)?.into_iter().collect::<Float64Array>())
            }
            Fold::SumDecimal(of) => {
                let sums = Exact::new(decimals(&args)?, limit_of(of), |sum: Sum| Ok(sum.sum));
                decimal_array(fold(frames, sums)?, of)?
            }
            Fold::AverageDecimal { input, result } => {
                let precision = i32::from(input.precision) + 10;
                let of = Decimal::fit(precision, input.scale.into(), false);
                let finish = |sum: Sum| average(sum.sum, sum.rows, of.scale, result);
                let averages = Exact::new(decimals(&args)?, limit_of(of), finish);
                decimal_array(fold(frames, averages)?, result)?
            }
            Fold::Moment {
                of,
                null_on_divide_by_zero,
            } => {
                let moments = Moments {
                    values: doubles(&args)?,
                    buffer: MomentBuffer::default(),
                    of,
                    null_on_divide_by_zero,
                };
                Arc::new(fold(frames, moments)?.into_iter().collect::<Float64Array>())
            }
        })
    }
}

fn first(args: &[ArrayRef]) -> Result<&ArrayRef> {
    args.first()
        .ok_or_else(|| bail_out("an aggregate without argument"))
}

fn doubles(args: &[ArrayRef]) -> Result<Float64Array> {
    let doubles = cast(first(args)?, &ArrowType::Float64)?;
    Ok(doubles.as_primitive::<Float64Type>().clone())
}

fn decimals(args: &[ArrayRef]) -> Result<Decimal128Array> {
    let decimals = first(args)?.as_primitive_opt::<Decimal128Type>();
    let decimals = decimals.ok_or_else(|| bail_out("an aggregate of another type"))?;
    Ok(decimals.clone())
}

fn decimal_array(values: Vec<Option<i128>>, of: Decimal) -> Result<ArrayRef> {
    let array: Decimal128Array = values.into_iter().collect();
    Ok(Arc::new(
        array.with_precision_and_scale(of.precision, of.scale)?,
    ))
}

/// What is known of the rows of a frame.
trait Running {
    type Value: Copy;
    /// Whether rows can be taken away.
    const EXACT: bool;
    fn clear(&mut self);
    fn add(&mut self, row: usize) -> Result<()>;
    /// Takes a row away that was added. Called if `EXACT`.
    fn remove(&mut self, row: usize);
    fn value(&self) -> Result<Option<Self::Value>>;
}

/// The value of each frame.
fn fold<R: Running>(frames: &[Range<usize>], mut of: R) -> Result<Vec<Option<R::Value>>> {
    let mut values = Vec::with_capacity(frames.len());
    let mut seen = 0..0;
    let mut value = None;
    for (row, frame) in frames.iter().enumerate() {
        if row == 0 || *frame != seen {
            let overlaps = frame.start >= seen.start && frame.start < seen.end;
            let goes_on = overlaps && frame.end >= seen.end;
            if goes_on && (R::EXACT || frame.start == seen.start) {
                (seen.start..frame.start).for_each(|row| of.remove(row));
            } else {
                of.clear();
                seen = frame.start..frame.start;
            }
            for row in seen.end..frame.end {
                of.add(row)?;
            }
            seen = frame.clone();
            value = of.value()?;
        }
        values.push(value);
    }
    Ok(values)
}

struct Count {
    /// Of the arguments that have any.
    nulls: Vec<NullBuffer>,
    rows: i64,
}

impl Count {
    fn counts(&self, row: usize) -> i64 {
        i64::from(self.nulls.iter().all(|nulls| nulls.is_valid(row)))
    }
}

impl Running for Count {
    type Value = i64;
    const EXACT: bool = true;

    fn clear(&mut self) {
        self.rows = 0;
    }

    fn add(&mut self, row: usize) -> Result<()> {
        self.rows += self.counts(row);
        Ok(())
    }

    fn remove(&mut self, row: usize) {
        self.rows -= self.counts(row);
    }

    fn value(&self) -> Result<Option<i64>> {
        Ok(Some(self.rows))
    }
}

/// Exact numbers, of which rows can be taken away.
struct Exact<T: ArrowPrimitiveType, F> {
    values: PrimitiveArray<T>,
    sum: Sum,
    /// Sums whose values are as large together, whatever their signs, are left to Spark.
    limit: u128,
    finish: F,
}

/// What is known of exact numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    rows: i64,
    sum: i128,
    /// The sum of absolute values: no part of the sum is larger.
    size: u128,
}

impl<T: ArrowPrimitiveType, F> Exact<T, F> {
    fn new(values: PrimitiveArray<T>, limit: u128, finish: F) -> Self {
        Self {
            values,
            sum: Sum::default(),
            limit,
            finish,
        }
    }
}

impl<T, F, V> Running for Exact<T, F>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128>,
    F: Fn(Sum) -> Result<V>,
    V: Copy,
{
    type Value = V;
    const EXACT: bool = true;

    fn clear(&mut self) {
        self.sum = Sum::default();
    }

    fn add(&mut self, row: usize) -> Result<()> {
        if self.values.is_valid(row) {
            let value: i128 = self.values.value(row).into();
            let size = self.sum.size.checked_add(value.unsigned_abs());
            let size = size.filter(|size| *size < self.limit);
            self.sum.size = size.ok_or_else(|| bail_out("a sum that may overflow"))?;
            // Not larger than the size, which is below the limit.
            self.sum.sum += value;
            self.sum.rows += 1;
        }
        Ok(())
    }

    fn remove(&mut self, row: usize) {
        if self.values.is_valid(row) {
            let value: i128 = self.values.value(row).into();
            self.sum.size -= value.unsigned_abs();
            self.sum.sum -= value;
            self.sum.rows -= 1;
        }
    }

    fn value(&self) -> Result<Option<V>> {
        match self.sum.rows {
            0 => Ok(None),
            _ => (self.finish)(self.sum).map(Some),
        }
    }
}

/// The first number with more digits than a sum of this type has.
fn limit_of(sum: Decimal) -> u128 {
    10_u128.saturating_pow(sum.precision.into())
}

/// Sums that wrap around are the low bits of the whole sum, whose room no number of rows fills.
fn limit_of_longs(mode: EvalMode) -> u128 {
    match mode {
        EvalMode::Legacy => 1 << 126,
        EvalMode::Ansi | EvalMode::Try => 1 << 63,
    }
}

#[allow(clippy::cast_possible_truncation)]
fn low_bits(sum: Sum) -> Result<i64> {
    Ok(sum.sum as i64)
}

/// The sum or the average of doubles.
struct Doubles {
    values: Float64Array,
    average: bool,
    rows: i64,
    sum: f64,
}

impl Running for Doubles {
    type Value = f64;
    const EXACT: bool = false;

    fn clear(&mut self) {
        (self.rows, self.sum) = (0, 0.0);
    }

    fn add(&mut self, row: usize) -> Result<()> {
        if self.values.is_valid(row) {
            self.rows += 1;
            self.sum += self.values.value(row);
        }
        Ok(())
    }

    fn remove(&mut self, _: usize) {}

    fn value(&self) -> Result<Option<f64>> {
        // As Spark does: the count as a double.
        #[allow(clippy::cast_precision_loss)]
        let value = match self.average {
            true => self.sum / self.rows as f64,
            false => self.sum,
        };
        Ok((self.rows > 0).then_some(value))
    }
}

struct Moments {
    values: Float64Array,
    buffer: MomentBuffer,
    of: Moment,
    null_on_divide_by_zero: bool,
}

impl Running for Moments {
    type Value = f64;
    const EXACT: bool = false;

    fn clear(&mut self) {
        self.buffer = MomentBuffer::default();
    }

    fn add(&mut self, row: usize) -> Result<()> {
        if self.values.is_valid(row) {
            self.buffer.add(self.values.value(row), self.of.order());
        }
        Ok(())
    }

    fn remove(&mut self, _: usize) {}

    fn value(&self) -> Result<Option<f64>> {
        moment_of(self.of, self.null_on_divide_by_zero, self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each frame computed by itself.
    fn expected(values: &[Option<i64>], frames: &[Range<usize>]) -> Vec<Option<i64>> {
        let sum = |frame: &Range<usize>| {
            let some: Vec<i64> = values[frame.clone()].iter().flatten().copied().collect();
            (!some.is_empty()).then(|| some.iter().sum())
        };
        frames.iter().map(sum).collect()
    }

    #[test]
    fn frames_that_grow_move_or_start_anew() {
        let values = [Some(5), None, Some(-7), Some(1), None, Some(100), Some(2)];
        let frames = [
            0..1,
            0..2,
            0..4,
            1..4,
            3..5,
            4..5,
            5..5,
            5..7,
            6..7,
            0..7,
            2..3,
            2..3,
            3..3,
        ];
        let longs = |mode| {
            let values = Int64Array::from(values.to_vec());
            Exact::new(values, limit_of_longs(mode), low_bits)
        };
        for mode in [EvalMode::Legacy, EvalMode::Ansi] {
            assert_eq!(
                fold(&frames, longs(mode)).unwrap(),
                expected(&values, &frames)
            );
        }
        let doubles = values
            .iter()
            .map(|value| value.map(|value| value as f64))
            .collect();
        let doubles = Doubles {
            values: doubles,
            average: false,
            rows: 0,
            sum: 0.0,
        };
        let sums: Vec<_> = fold(&frames, doubles).unwrap();
        let sums: Vec<_> = sums
            .into_iter()
            .map(|sum| sum.map(|sum| sum as i64))
            .collect();
        assert_eq!(sums, expected(&values, &frames));
    }

    #[test]
    fn what_may_overflow_is_left_to_spark_unless_it_wraps() {
        let longs = |mode| {
            let values = Int64Array::from(vec![i64::MAX, 1, -1]);
            Exact::new(values, limit_of_longs(mode), low_bits)
        };
        let whole = std::slice::from_ref(&(0..3));
        assert_eq!(
            fold(whole, longs(EvalMode::Legacy)).unwrap(),
            [Some(i64::MAX)]
        );
        assert!(fold(whole, longs(EvalMode::Ansi)).is_err());
        let of = Decimal {
            precision: 3,
            scale: 0,
        };
        let decimals = || {
            let values = Decimal128Array::from(vec![999_i128, 1, -1]);
            Exact::new(values, limit_of(of), |sum: Sum| Ok(sum.sum))
        };
        assert!(fold(whole, decimals()).is_err());
        assert_eq!(
            fold(&[0..1, 1..3], decimals()).unwrap(),
            [Some(999), Some(0)]
        );
    }
}
