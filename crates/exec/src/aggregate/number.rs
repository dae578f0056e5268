//! Sums and averages of integers and doubles, and counts.

// Groups are smaller than `total`, to which the vectors are resized.
#![allow(clippy::indexing_slicing)]

use std::mem::take;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, PrimitiveArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Float64Type, Int64Type};
use datafusion_common::Result;

use super::accumulator::{Accumulator, boolean, column, each, primitive, try_each};
use catalyst::EvalMode;
use rows::error::bail_out;

/// A column of one type of numbers, widened if need be.
pub(super) fn widened(columns: &[ArrayRef], to: &ArrowType) -> Result<ArrayRef> {
    let array = column(columns, 0)?;
    Ok(match array.data_type() == to {
        true => Arc::clone(array),
        false => cast(array, to)?,
    })
}

/// Nulls where a flag is not set.
pub(super) fn valid(set: Vec<bool>) -> NullBuffer {
    NullBuffer::new(BooleanBuffer::from(set))
}

/// `sum` of integers. Buffer: sum, null if there was no value; for `try_sum` also whether there was none.
pub(super) struct SumLong {
    mode: EvalMode,
    sums: Vec<i64>,
    seen: Vec<bool>,
}

impl SumLong {
    pub(super) fn new(mode: EvalMode) -> Self {
        Self {
            mode,
            sums: Vec::new(),
            seen: Vec::new(),
        }
    }

    fn add(
        &mut self,
        values: &PrimitiveArray<Int64Type>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sums.resize(total, 0);
        self.seen.resize(total, false);
        let (sums, seen) = (&mut self.sums, &mut self.seen);
        if self.mode == EvalMode::Legacy {
            each(values, groups, filter, |group, value| {
                sums[group] = sums[group].wrapping_add(value);
                seen[group] = true;
            });
            return Ok(());
        }
        try_each(values, groups, filter, |group, value| {
            let sum = sums[group].checked_add(value);
            sums[group] = sum.ok_or_else(|| bail_out("a sum of integers that overflows"))?;
            seen[group] = true;
            Ok(())
        })
    }
}

impl Accumulator for SumLong {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = widened(args, &ArrowType::Int64)?;
        self.add(values.as_primitive(), groups, filter, total)
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let sums = primitive::<Int64Type>(buffers, 0)?;
        if self.mode != EvalMode::Try {
            return self.add(sums, groups, None, total);
        }
        let empty = boolean(buffers, 1)?;
        if (0..sums.len()).any(|row| sums.is_null(row) && !empty.value(row)) {
            return Err(bail_out("a sum of integers that overflows"));
        }
        let some = arrow::compute::not(empty)?;
        self.add(sums, groups, Some(&some), total)
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        if self.mode != EvalMode::Try {
            return Ok(vec![self.evaluate()?]);
        }
        let (sums, seen) = (take(&mut self.sums), take(&mut self.seen));
        let empty: Vec<bool> = seen.iter().map(|seen| !seen).collect();
        Ok(vec![
            Arc::new(Int64Array::from(sums)),
            Arc::new(BooleanArray::from(empty)),
        ])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let (sums, seen) = (take(&mut self.sums), take(&mut self.seen));
        Ok(Arc::new(Int64Array::new(sums.into(), Some(valid(seen)))))
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i64>() + self.seen.capacity()
    }
}

/// `sum` of doubles. Buffer: sum, null if there was no value.
#[derive(Default)]
pub(super) struct SumDouble {
    sums: Vec<f64>,
    seen: Vec<bool>,
}

impl Accumulator for SumDouble {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = widened(args, &ArrowType::Float64)?;
        self.sums.resize(total, 0.0);
        self.seen.resize(total, false);
        let (sums, seen) = (&mut self.sums, &mut self.seen);
        each(
            values.as_primitive::<Float64Type>(),
            groups,
            filter,
            |group, value| {
                sums[group] += value;
                seen[group] = true;
            },
        );
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let (sums, seen) = (take(&mut self.sums), take(&mut self.seen));
        Ok(Arc::new(Float64Array::new(sums.into(), Some(valid(seen)))))
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<f64>() + self.seen.capacity()
    }
}

/// `avg` of anything but decimals. Buffer: sum, count.
#[derive(Default)]
pub(super) struct AverageDouble {
    sums: Vec<f64>,
    counts: Vec<i64>,
}

impl AverageDouble {
    fn resize(&mut self, total: usize) {
        self.sums.resize(total, 0.0);
        self.counts.resize(total, 0);
    }
}

impl Accumulator for AverageDouble {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = widened(args, &ArrowType::Float64)?;
        self.resize(total);
        let (sums, counts) = (&mut self.sums, &mut self.counts);
        each(
            values.as_primitive::<Float64Type>(),
            groups,
            filter,
            |group, value| {
                sums[group] += value;
                counts[group] += 1;
            },
        );
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let sums = primitive::<Float64Type>(buffers, 0)?;
        let counts = primitive::<Int64Type>(buffers, 1)?;
        self.resize(total);
        each(sums, groups, None, |group, sum| self.sums[group] += sum);
        each(counts, groups, None, |group, count| {
            self.counts[group] += count
        });
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        Ok(vec![
            Arc::new(Float64Array::from(take(&mut self.sums))),
            Arc::new(Int64Array::from(take(&mut self.counts))),
        ])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let pairs = take(&mut self.sums).into_iter().zip(take(&mut self.counts));
        // As Spark does: the count as a double.
        #[allow(clippy::cast_precision_loss)]
        let averages = pairs.map(|(sum, count)| (count != 0).then(|| sum / count as f64));
        Ok(Arc::new(averages.collect::<Float64Array>()))
    }

    fn size(&self) -> usize {
        (self.sums.capacity() + self.counts.capacity()) * 8
    }
}

/// `count`. Buffer: count.
#[derive(Default)]
pub(super) struct Count {
    counts: Vec<i64>,
}

impl Accumulator for Count {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.counts.resize(total, 0);
        let nullable: Vec<_> = args
            .iter()
            .filter(|arg| arg.logical_null_count() > 0)
            .collect();
        if nullable.is_empty() && filter.is_none() {
            groups.iter().for_each(|group| self.counts[*group] += 1);
            return Ok(());
        }
        let nulls: Vec<_> = nullable
            .iter()
            .filter_map(|arg| arg.logical_nulls())
            .collect();
        for (row, group) in groups.iter().enumerate() {
            if nulls.iter().all(|nulls| nulls.is_valid(row))
                && filter.is_none_or(|filter| filter.value(row))
            {
                self.counts[*group] += 1;
            }
        }
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let counts = primitive::<Int64Type>(buffers, 0)?;
        self.counts.resize(total, 0);
        each(counts, groups, None, |group, count| {
            self.counts[group] += count
        });
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from(take(&mut self.counts))))
    }

    fn size(&self) -> usize {
        self.counts.capacity() * 8
    }
}
