//! `percentile`, `median`, `percentile_cont` and `percentile_disc`: how often each value comes. Buffer:
//! [values and counts](super::frequencies).

use std::collections::HashMap;
use std::iter::repeat_n;
use std::mem::take;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, ListArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, Float32Type, Float64Type, Int64Type,
};
use datafusion_common::Result;

use super::accumulator::{Accumulator, column};
use super::frequencies;
use catalyst::{Between, DataType};
use rows::error::bail_out;
use rows::types::{ToArrow as _, list_field};

/// What is asked of the values.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) places: Vec<f64>,
    /// Whether the result is an array.
    pub(super) as_array: bool,
    pub(super) reverse: bool,
    pub(super) between: Between,
}

/// Whether values of a type have percentiles here.
pub(super) fn is_counted(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Byte
            | DataType::Short
            | DataType::Integer
            | DataType::Long
            | DataType::Float
            | DataType::Double
            | DataType::Decimal(_)
    )
}

pub(super) struct Percentiles {
    asked: Asked,
    of: DataType,
    arrow: ArrowType,
    /// How often each value of a group comes.
    counts: HashMap<(usize, i128), i64>,
    total: usize,
}

impl Percentiles {
    pub(super) fn new(of: &DataType, asked: Asked) -> Result<Self> {
        let arrow = of.to_arrow();
        Ok(Self {
            asked,
            of: of.clone(),
            arrow: arrow.map_err(|reason| bail_out(reason.to_string()))?,
            counts: HashMap::new(),
            total: 0,
        })
    }

    fn add(&mut self, group: usize, key: i128, count: i64) -> Result<()> {
        let own = self.counts.entry((group, key)).or_default();
        let sum = own.checked_add(count);
        *own = sum.ok_or_else(|| bail_out("frequencies that overflow"))?;
        Ok(())
    }

    /// Groups, values and counts, in order.
    fn sorted(&mut self) -> Vec<((usize, i128), i64)> {
        let mut all: Vec<_> = take(&mut self.counts).into_iter().collect();
        all.sort_unstable();
        all
    }

    /// The number that a key is of.
    #[allow(clippy::cast_precision_loss)]
    fn number(&self, key: i128) -> Result<f64> {
        Ok(match &self.of {
            DataType::Float | DataType::Double => double(key),
            DataType::Decimal(decimal) => {
                let digits = format!("{key}e-{}", decimal.scale);
                digits
                    .parse()
                    .map_err(|_| bail_out("a decimal that is no number"))?
            }
            _ => key as f64,
        })
    }

    /// The values at the places that are asked for.
    fn places(&self, values: &[((usize, i128), i64)]) -> Result<Vec<f64>> {
        let is_float = matches!(self.of, DataType::Float | DataType::Double);
        let keys = values.iter().map(|((_, key), _)| *key);
        // To Spark these are two values, of which either may come first.
        if is_float && keys.clone().filter(|key| matches!(key, -1 | 0)).count() > 1 {
            return Err(bail_out("percentiles of both zeros"));
        }
        let mut keys: Vec<i128> = keys.collect();
        let mut counts: Vec<i64> = values.iter().map(|(_, count)| *count).collect();
        if self.asked.reverse {
            keys.reverse();
            counts.reverse();
        }
        let mut sum = 0_i64;
        for count in &mut counts {
            let next = sum.checked_add(*count);
            sum = next.ok_or_else(|| bail_out("frequencies that overflow"))?;
            *count = sum;
        }
        let places = self.asked.places.iter();
        places
            .map(|place| self.place(&keys, &counts, sum, *place))
            .collect()
    }

    /// The value at a place. `counts` are those up to each key.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    fn place(&self, keys: &[i128], counts: &[i64], all: i64, place: f64) -> Result<f64> {
        let at = |rank: i64| {
            let index = counts.partition_point(|count| *count < rank);
            let key = keys.get(index).copied();
            key.ok_or_else(|| bail_out("a percentile beyond all values"))
        };
        if self.asked.between == Between::First {
            return self.number(at((all as f64 * place).ceil() as i64)?);
        }
        let position = (all - 1) as f64 * place;
        let (lower, higher) = (position.floor() as i64, position.ceil() as i64);
        let (low, high) = (at(lower + 1)?, at(higher + 1)?);
        if higher == lower || low == high || self.asked.between == Between::Lower {
            return self.number(low);
        }
        let (low, high) = (self.number(low)?, self.number(high)?);
        let part = position - lower as f64;
        Ok(match self.asked.between {
            Between::LineFromLower => low + part * (high - low),
            _ => (higher as f64 - position) * low + part * high,
        })
    }
}

impl Accumulator for Percentiles {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.total = total;
        let values = column(args, 0)?;
        let keys = keys_of(values)?;
        let frequencies = cast(column(args, 1)?, &ArrowType::Int64)?;
        let frequencies = frequencies.as_primitive::<Int64Type>();
        for (row, (key, group)) in keys.into_iter().zip(groups).enumerate() {
            if values.is_null(row)
                || frequencies.is_null(row)
                || filter.is_some_and(|filter| !filter.value(row))
            {
                continue;
            }
            match frequencies.value(row) {
                0 => {}
                count if count < 0 => return Err(bail_out("a negative frequency")),
                count => self.add(*group, key, count)?,
            }
        }
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.total = total;
        let read = frequencies::read(buffers, &self.of)?;
        let own = groups.iter().zip(&read.lengths);
        let own = own.flat_map(|(group, length)| repeat_n(*group, *length));
        let pairs = keys_of(&read.values)?.into_iter().zip(read.counts.values());
        for ((key, count), group) in pairs.zip(own) {
            self.add(group, key, *count)?;
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let all = self.sorted();
        let keys: Vec<i128> = all.iter().map(|((_, key), _)| *key).collect();
        let counts: Vec<i64> = all.iter().map(|(_, count)| *count).collect();
        let values = column_of(&keys, &self.arrow)?;
        let lengths: Vec<_> = by_group(&all, self.total).map(<[_]>::len).collect();
        let buffers = frequencies::write(values, counts, lengths.into_iter(), &self.of)?;
        self.total = 0;
        Ok(vec![buffers])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let all = self.sorted();
        let mut results = Vec::new();
        let mut valid = Vec::new();
        for values in by_group(&all, self.total) {
            valid.push(!values.is_empty());
            match values.is_empty() {
                true if self.asked.as_array => {}
                true => results.push(0.0),
                false => results.extend(self.places(values)?),
            }
        }
        self.total = 0;
        let in_array = self.asked.as_array.then_some(self.asked.places.len());
        result_of(Arc::new(Float64Array::from(results)), valid, in_array)
    }

    fn size(&self) -> usize {
        // A byte of the table's own for each.
        self.counts.capacity() * (size_of::<((usize, i128), i64)>() + 1)
    }
}

/// Results of all groups as a column: of those that are valid each the next value, or so many of them as an array.
pub(super) fn result_of(
    values: ArrayRef,
    valid: Vec<bool>,
    in_array: Option<usize>,
) -> Result<ArrayRef> {
    let nulls = NullBuffer::from(valid);
    let Some(length) = in_array else {
        let data = values.to_data().into_builder().nulls(Some(nulls)).build()?;
        return Ok(arrow::array::make_array(data));
    };
    let lengths = nulls.iter().map(|valid| if valid { length } else { 0 });
    let offsets = OffsetBuffer::from_lengths(lengths);
    let field = list_field(values.data_type().clone());
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        values,
        Some(nulls),
    )?))
}

/// What belongs to each group.
fn by_group(
    sorted: &[((usize, i128), i64)],
    total: usize,
) -> impl Iterator<Item = &[((usize, i128), i64)]> {
    let mut rest = sorted;
    (0..total).map(move |group| {
        let end = rest.partition_point(|((of, _), _)| *of <= group);
        let (own, after) = rest.split_at(end);
        rest = after;
        own
    })
}

/// The bits of a double in its order: there is one NaN, which is the greatest, and minus zero is just below zero.
fn key(value: f64) -> i128 {
    let value = if value.is_nan() { f64::NAN } else { value };
    let bits = value.to_bits().cast_signed();
    i128::from(bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed())
}

/// The double of [`key`].
// Keys of doubles have 64 bits.
#[allow(clippy::cast_possible_truncation)]
fn double(key: i128) -> f64 {
    let key = key as i64;
    f64::from_bits((key ^ ((key >> 63).cast_unsigned() >> 1).cast_signed()).cast_unsigned())
}

/// Numbers that are in the order of the values.
fn keys_of(values: &ArrayRef) -> Result<Vec<i128>> {
    Ok(match values.data_type() {
        ArrowType::Float32 => {
            let values = values.as_primitive::<Float32Type>().values();
            values.iter().map(|value| key(f64::from(*value))).collect()
        }
        ArrowType::Float64 => {
            let values = values.as_primitive::<Float64Type>().values();
            values.iter().map(|value| key(*value)).collect()
        }
        ArrowType::Decimal128(..) => values.as_primitive::<Decimal128Type>().values().to_vec(),
        _ => {
            let values = cast(values, &ArrowType::Int64)?;
            let values = values.as_primitive::<Int64Type>().values();
            values.iter().map(|value| i128::from(*value)).collect()
        }
    })
}

/// The values of [`keys_of`].
// Keys are of values of the type.
#[allow(clippy::cast_possible_truncation)]
fn column_of(keys: &[i128], of: &ArrowType) -> Result<ArrayRef> {
    let values: ArrayRef = match of {
        ArrowType::Float32 | ArrowType::Float64 => {
            let doubles = keys.iter().map(|key| double(*key));
            Arc::new(doubles.map(Some).collect::<Float64Array>())
        }
        ArrowType::Decimal128(precision, scale) => {
            let decimals = Decimal128Array::from(keys.to_vec());
            return Ok(Arc::new(
                decimals.with_precision_and_scale(*precision, *scale)?,
            ));
        }
        _ => {
            let longs = keys.iter().map(|key| *key as i64);
            Arc::new(longs.map(Some).collect::<Int64Array>())
        }
    };
    Ok(cast(&values, of)?)
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;
    use catalyst::Decimal;

    use super::*;

    fn asked(places: &[f64], between: Between, reverse: bool) -> Asked {
        Asked {
            places: places.to_vec(),
            as_array: true,
            reverse,
            between,
        }
    }

    /// Of two groups of which the second has no values; through buffers.
    fn of(data_type: &DataType, values: ArrayRef, asked: Asked) -> Result<Vec<f64>> {
        let rows = values.len();
        let ones: ArrayRef = Arc::new(Int32Array::from(vec![1; rows]));
        let mut parts = Percentiles::new(data_type, asked.clone())?;
        let groups: Vec<_> = (0..rows).map(|row| row % 2).collect();
        parts.update(&[values, ones], &groups, None, 2)?;
        assert!(parts.size() > 0);
        let buffers = parts.buffers()?;
        let mut whole = Percentiles::new(data_type, asked)?;
        whole.merge(&buffers, &[0, 0], 2)?;
        let result = whole.evaluate()?;
        let result = result.as_list::<i32>();
        assert!(result.is_null(1));
        Ok(result
            .value(0)
            .as_primitive::<Float64Type>()
            .values()
            .to_vec())
    }

    #[test]
    fn between_two_values_is_the_line_or_one_of_them() {
        let values = || -> ArrayRef { Arc::new(Int32Array::from(vec![10, 0, 10, 30])) };
        let places = [0.0, 0.3, 0.5, 0.9, 1.0];
        let of = |between, reverse| {
            of(
                &DataType::Integer,
                values(),
                asked(&places, between, reverse),
            )
            .unwrap()
        };
        let near = |left: Vec<f64>, right: [f64; 5]| {
            left.iter()
                .zip(right)
                .all(|(left, right)| (left - right).abs() < 1e-9)
        };
        assert!(near(of(Between::Line, false), [0.0, 9.0, 10.0, 24.0, 30.0]));
        assert!(near(of(Between::Line, true), [30.0, 12.0, 10.0, 3.0, 0.0]));
        assert!(near(
            of(Between::LineFromLower, false),
            [0.0, 9.0, 10.0, 24.0, 30.0]
        ));
        assert_eq!(of(Between::First, false), [0.0, 10.0, 10.0, 30.0, 30.0]);
        assert_eq!(of(Between::Lower, false), [0.0, 0.0, 10.0, 10.0, 30.0]);
    }

    #[test]
    fn nan_is_the_greatest_and_two_zeros_are_sparks() {
        let values = |of: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(of.to_vec())) };
        let asked = || asked(&[0.0, 1.0], Between::Line, false);
        let odd = [f64::NAN, f64::NEG_INFINITY, -0.0, -f64::NAN, 5.0];
        let result = of(&DataType::Double, values(&odd), asked()).unwrap();
        assert!(result[0] == f64::NEG_INFINITY && result[1].is_nan());
        of(&DataType::Double, values(&[-0.0, 0.0]), asked()).unwrap_err();
    }

    #[test]
    fn decimals_become_the_nearest_doubles() {
        let decimals = Decimal128Array::from(vec![1, 12_345_678_901_234_567_890_123]);
        let decimals = decimals.with_precision_and_scale(38, 3).unwrap();
        let of_type = DataType::Decimal(Decimal {
            precision: 38,
            scale: 3,
        });
        let asked = asked(&[0.0, 1.0], Between::Line, false);
        let result = of(&of_type, Arc::new(decimals), asked).unwrap();
        assert_eq!(result, [0.001, 12_345_678_901_234_567_890.123]);
    }
}
