//! `histogram_numeric`: bins of a center and a height each. Buffer: how many bins there may be and are, and the bins.

use std::cmp::Ordering;
use std::mem::take;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, BooleanArray, Float64Array, Int64Array, ListArray,
    StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType as ArrowType, DurationMicrosecondType, Float64Type, Int32Type, Int64Type,
    IntervalYearMonthType,
};
use datafusion_common::Result;

use super::accumulator::{Accumulator, column};
use super::digest;
use catalyst::DataType;
use javaser::JavaRandom;
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// Whether there are histograms of values of a type.
pub(super) fn is_summarized(of: &DataType) -> bool {
    digest::is_summarized(of)
        || matches!(of, DataType::YearMonthInterval | DataType::DayTimeInterval)
}

/// Spark's `NumericHistogram`.
#[derive(Debug, Clone)]
struct Histogram {
    most: usize,
    /// Centers, in their order, and heights.
    bins: Vec<(f64, f64)>,
    random: JavaRandom,
}

impl Histogram {
    fn new(most: usize) -> Self {
        Self {
            most,
            bins: Vec::new(),
            // Spark's own.
            random: JavaRandom::new(31_183),
        }
    }

    fn add(&mut self, value: f64) {
        let (mut place, mut left, mut right) = (0, 0, self.bins.len());
        // Where Spark looks for it: what is in no order, as NaN, is found by chance.
        while left < right {
            place = usize::midpoint(left, right);
            let Some((center, _)) = self.bins.get(place) else {
                break;
            };
            if *center > value {
                right = place;
            } else if *center < value {
                place += 1;
                left = place;
            } else {
                break;
            }
        }
        match self.bins.get_mut(place) {
            Some((center, height)) if *center == value => *height += 1.0,
            _ => {
                self.bins.insert(place.min(self.bins.len()), (value, 1.0));
                self.trim();
            }
        }
    }

    fn merge(&mut self, other: Self) {
        if self.bins.is_empty() {
            (self.most, self.bins) = (other.most, other.bins);
            return;
        }
        self.bins.extend(other.bins);
        self.bins.sort_by(|a, b| compare(a.0, b.0));
        self.trim();
    }

    /// Makes one of the two bins that are nearest to each other while there are too many.
    fn trim(&mut self) {
        while self.bins.len() > self.most {
            let gaps = self.bins.iter().zip(self.bins.iter().skip(1));
            let mut gaps = gaps.map(|((left, _), (right, _))| right - left).enumerate();
            let Some((mut place, mut least)) = gaps.next() else {
                return;
            };
            let mut equal = 1_u32;
            for (at, gap) in gaps {
                if gap < least {
                    (place, least, equal) = (at, gap, 1);
                } else if gap == least {
                    equal += 1;
                    if self.random.next_double() <= 1.0 / f64::from(equal) {
                        place = at;
                    }
                }
            }
            let (center, height) = self.bins.remove(place + 1);
            if let Some(left) = self.bins.get_mut(place) {
                let sum = left.1 + height;
                left.0 *= left.1 / sum;
                left.0 += center / sum * height;
                left.1 = sum;
            }
        }
    }

    fn read(buffer: &[u8]) -> Result<Self> {
        let broken = || bail_out("a histogram that is cut off");
        let (most, rest) = buffer.split_first_chunk().ok_or_else(broken)?;
        let (used, rest) = rest.split_first_chunk().ok_or_else(broken)?;
        let of = |bytes: [u8; 4]| usize::try_from(i32::from_be_bytes(bytes)).map_err(|_| broken());
        let (most, used) = (of(*most)?, of(*used)?);
        let (bins, odd) = rest.as_chunks::<16>();
        if bins.len() != used || !odd.is_empty() {
            return Err(broken());
        }
        if most < 2 || used > most {
            return Err(bail_out("a histogram of too many bins"));
        }
        let bins = bins.iter().map(|bin| {
            let bits = u128::from_be_bytes(*bin);
            // The halves.
            #[allow(clippy::cast_possible_truncation)]
            let (center, height) = ((bits >> 64) as u64, bits as u64);
            (f64::from_bits(center), f64::from_bits(height))
        });
        Ok(Self {
            bins: bins.collect(),
            ..Self::new(most)
        })
    }

    fn write(&self, bytes: &mut Vec<u8>) -> Result<()> {
        for number in [self.most, self.bins.len()] {
            let number = i32::try_from(number).map_err(|_| bail_out("too many bins"))?;
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        for (center, height) in &self.bins {
            bytes.extend_from_slice(&center.to_be_bytes());
            bytes.extend_from_slice(&height.to_be_bytes());
        }
        Ok(())
    }
}

/// `Double.compare`: minus zero is below zero, and NaN above all others.
fn compare(a: f64, b: f64) -> Ordering {
    let bits = |of: f64| if of.is_nan() { f64::NAN } else { of };
    bits(a).total_cmp(&bits(b))
}

pub(super) struct Histograms {
    most: usize,
    result: DataType,
    groups: Vec<Histogram>,
    /// Number of all bins, at most.
    bins: usize,
}

impl Histograms {
    pub(super) fn new(most: i32, result: &DataType) -> Result<Self> {
        let most = usize::try_from(most).ok().filter(|most| *most >= 2);
        Ok(Self {
            most: most.ok_or_else(|| bail_out("a histogram without bins"))?,
            result: result.clone(),
            groups: Vec::new(),
            bins: 0,
        })
    }

    fn group(&mut self, group: usize) -> Result<&mut Histogram> {
        let own = self.groups.get_mut(group);
        own.ok_or_else(|| bail_out("a group that is not there"))
    }

    fn resize(&mut self, total: usize) {
        let empty = Histogram::new(self.most);
        self.groups.resize(total, empty);
    }
}

impl Accumulator for Histograms {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let values = doubles(column(args, 0)?)?;
        for (row, (value, group)) in values.iter().zip(groups).enumerate() {
            let counts = filter.is_none_or(|filter| filter.value(row));
            let Some(value) = value.filter(|_| counts) else {
                continue;
            };
            let own = self.group(*group)?;
            let before = own.bins.len();
            own.add(value);
            let added = own.bins.len().saturating_sub(before);
            self.bins += added;
        }
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.resize(total);
        let buffers = column(buffers, 0)?.as_binary_view_opt();
        let buffers = buffers.ok_or_else(|| bail_out("a buffer of another type"))?;
        for (buffer, group) in buffers.iter().zip(groups) {
            let buffer = buffer.ok_or_else(|| bail_out("a buffer that is null"))?;
            let other = Histogram::read(buffer)?;
            self.bins += other.bins.len();
            self.group(*group)?.merge(other);
        }
        Ok(())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let mut builder = BinaryViewBuilder::with_capacity(self.groups.len());
        let mut bytes = Vec::new();
        self.bins = 0;
        for group in take(&mut self.groups) {
            bytes.clear();
            group.write(&mut bytes)?;
            builder.append_value(&bytes);
        }
        Ok(vec![Arc::new(builder.finish())])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        self.bins = 0;
        let groups = take(&mut self.groups);
        let of = self.result.to_arrow();
        let of = of.map_err(|reason| bail_out(reason.to_string()))?;
        let ArrowType::List(field) = of else {
            return Err(bail_out("a histogram of another type"));
        };
        let ArrowType::Struct(fields) = field.data_type() else {
            return Err(bail_out("a histogram of another type"));
        };
        let all = || groups.iter().flat_map(|group| &group.bins);
        let centers = all().map(|(center, _)| *center).collect();
        let heights = Float64Array::from_iter_values(all().map(|(_, height)| *height));
        let centers = match fields.first() {
            Some(center) => typed(centers, center.data_type())?,
            None => return Err(bail_out("a histogram of another type")),
        };
        let bins = StructArray::try_new(fields.clone(), vec![centers, Arc::new(heights)], None)?;
        let lengths = groups.iter().map(|group| group.bins.len());
        let offsets = OffsetBuffer::from_lengths(lengths);
        let valid = groups.iter().map(|group| !group.bins.is_empty());
        let nulls: NullBuffer = valid.collect::<Vec<_>>().into();
        let lists = ListArray::try_new(Arc::clone(&field), offsets, Arc::new(bins), Some(nulls))?;
        Ok(Arc::new(lists))
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Histogram>() + 2 * self.bins * size_of::<(f64, f64)>()
    }
}

/// Numbers, dates and times as doubles.
fn doubles(values: &ArrayRef) -> Result<Float64Array> {
    let longs = match values.data_type() {
        ArrowType::Float32 | ArrowType::Float64 => {
            let doubles = cast(values, &ArrowType::Float64)?;
            return Ok(doubles.as_primitive::<Float64Type>().clone());
        }
        ArrowType::Date32 => cast(values, &ArrowType::Int32)?,
        ArrowType::Interval(_) => {
            let months = values.as_primitive::<IntervalYearMonthType>();
            Arc::new(months.reinterpret_cast::<Int32Type>())
        }
        ArrowType::Duration(_) => {
            let micros = values.as_primitive::<DurationMicrosecondType>();
            Arc::new(micros.reinterpret_cast::<Int64Type>())
        }
        _ => Arc::clone(values),
    };
    let longs = cast(&longs, &ArrowType::Int64)?;
    // As Java's.
    #[allow(clippy::cast_precision_loss)]
    Ok(longs.as_primitive::<Int64Type>().unary(|long| long as f64))
}

/// Centers in the type of what they are centers of, as Scala makes one of the other.
// Java's conversions end at the ends, too, but smaller integers are cut out of larger ones.
#[allow(clippy::cast_possible_truncation)]
fn typed(centers: Vec<f64>, of: &ArrowType) -> Result<ArrayRef> {
    let ints = || -> ArrayRef {
        let ints = centers.iter().map(|center| *center as i32);
        Arc::new(arrow::array::Int32Array::from_iter_values(ints))
    };
    let longs = || {
        let longs = centers.iter().map(|center| *center as i64);
        Int64Array::from_iter_values(longs)
    };
    Ok(match of {
        ArrowType::Float64 => Arc::new(Float64Array::from(centers)),
        ArrowType::Float32 => {
            let floats = centers.iter().map(|center| *center as f32);
            Arc::new(arrow::array::Float32Array::from_iter_values(floats))
        }
        ArrowType::Int8 => {
            let bytes = centers.iter().map(|center| *center as i32 as i8);
            Arc::new(arrow::array::Int8Array::from_iter_values(bytes))
        }
        ArrowType::Int16 => {
            let shorts = centers.iter().map(|center| *center as i32 as i16);
            Arc::new(arrow::array::Int16Array::from_iter_values(shorts))
        }
        ArrowType::Int32 => ints(),
        ArrowType::Date32 => cast(&ints(), of)?,
        ArrowType::Interval(_) => {
            let ints = ints();
            let ints = ints.as_primitive::<Int32Type>();
            Arc::new(ints.reinterpret_cast::<IntervalYearMonthType>())
        }
        ArrowType::Int64 => Arc::new(longs()),
        ArrowType::Duration(_) => Arc::new(longs().reinterpret_cast::<DurationMicrosecondType>()),
        _ => cast(&longs(), of)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(most: usize, values: impl IntoIterator<Item = f64>) -> Histogram {
        let mut histogram = Histogram::new(most);
        values.into_iter().for_each(|value| histogram.add(value));
        histogram
    }

    /// What Spark makes of `id * 7 % 101` up to 1000 in five bins.
    #[test]
    fn bins_are_sparks() {
        let value = |id: u32| f64::from(id * 7 % 101);
        let whole = of(5, (0..1000).map(value));
        let expected = [
            (11.874_493_927_125_515, 247.0),
            (35.443_946_188_340_83, 223.0),
            (57.223_300_970_873_79, 206.0),
            (76.844_444_444_444_46, 180.0),
            (93.180_555_555_555_53, 144.0),
        ];
        assert_eq!(whole.bins, expected);
        // As it was, where there was nothing before.
        let mut merged = Histogram::new(5);
        merged.merge(whole);
        assert_eq!(merged.bins, expected);
        merged.merge(of(5, (0..10).map(value)));
        let rows: f64 = merged.bins.iter().map(|(_, height)| height).sum();
        assert_eq!((merged.bins.len(), rows), (5, 1010.0));
    }

    #[test]
    fn buffers_are_whole() {
        let mut bytes = Vec::new();
        of(3, [1.5, -0.0, f64::NAN]).write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 8 + 3 * 16);
        assert_eq!(Histogram::read(&bytes).unwrap().bins.len(), 3);
        Histogram::read(&bytes[..bytes.len() - 1]).unwrap_err();
        bytes[3] = 1;
        Histogram::read(&bytes).unwrap_err();
        Histogram::read(&[255; 8]).unwrap_err();
    }

    #[test]
    fn groups_without_values_are_null() {
        let list = |of: DataType| DataType::Array {
            element: Box::new(DataType::Struct(
                [("x", of), ("y", DataType::Double)]
                    .map(|(name, data_type)| catalyst::StructField {
                        name: name.to_owned(),
                        data_type,
                        nullable: true,
                        field_id: None,
                        exists_default: None,
                    })
                    .to_vec(),
            )),
            contains_null: true,
        };
        let mut all = Histograms::new(2, &list(DataType::Long)).unwrap();
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(3), None, Some(4), Some(3)]));
        all.update(&[values], &[0, 1, 0, 0], None, 2).unwrap();
        assert!(all.size() > 0);
        let buffers = all.buffers().unwrap();
        let mut merged = Histograms::new(2, &list(DataType::Long)).unwrap();
        merged.merge(&buffers, &[0, 1], 2).unwrap();
        let found = merged.evaluate().unwrap();
        let found = found.as_list::<i32>();
        assert!(found.is_null(1));
        let bins = found.value(0);
        let bins = bins.as_struct();
        let centers = bins.column(0).as_primitive::<Int64Type>();
        let heights = bins.column(1).as_primitive::<Float64Type>();
        assert_eq!(centers.values(), &[3, 4]);
        assert_eq!(heights.values(), &[2.0, 1.0]);
    }
}
