//! `mode`: the value that comes most often. Buffer: [values and counts](super::frequencies).
//!
//! Of several that come as often, Spark gives the least or the greatest if an order is asked for, and otherwise the
//! first in its hash table, an `OpenHashMap`, of which what goes into it and in which order says all.

use std::mem::{replace, take};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, UInt32Array, UInt64Array, make_comparator,
    new_empty_array,
};
use arrow::compute::{SortOptions, cast, take as take_rows};
use arrow::datatypes::{
    DataType as ArrowType, DurationMicrosecondType, Field, Int32Type, Int64Type,
    IntervalYearMonthType, Schema,
};
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use datafusion_physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion_physical_plan::aggregates::order::GroupOrdering;
use javaser::ScalaVersion;
use javaser::murmur3::hash_int;

use super::accumulator::{Accumulator, column};
use super::collect::counted;
use super::{frequencies, scala_set};
use catalyst::{DataType, Ties};
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// Whether the mode of values of a type is computed. Of floats, which zeros and which NaN are the same depends on the
/// version; to Spark no binary is the same as another.
pub(super) fn is_counted(of: &DataType, ties: Ties) -> bool {
    match of {
        DataType::YearMonthInterval | DataType::DayTimeInterval => true,
        // Their hash is that of a `scala.math.BigDecimal`.
        DataType::Decimal(_) => ties != Ties::First,
        of => of.to_arrow().is_ok_and(|of| scala_set::is_hashed(&of)),
    }
}

pub(super) struct Modes {
    of: DataType,
    arrow: ArrowType,
    ties: Ties,
    /// Each value of each group once.
    values: Box<dyn GroupValues>,
    /// How often each of them comes.
    counts: Vec<i64>,
    /// Of each group, which of the values are its, in the order in which they came.
    groups: Vec<Vec<u32>>,
    /// Of the rows of a batch, which of the values they are.
    places: Vec<usize>,
}

impl Modes {
    pub(super) fn new(of: &DataType, ties: Ties) -> Result<Self> {
        let arrow = of.to_arrow();
        let arrow = arrow.map_err(|reason| bail_out(reason.to_string()))?;
        Ok(Self {
            of: of.clone(),
            values: new_values(&arrow)?,
            arrow,
            ties,
            counts: Vec::new(),
            groups: Vec::new(),
            places: Vec::new(),
        })
    }

    /// Adds values, none of them null, each to its group, as often as `count` says of the row.
    fn add(
        &mut self,
        values: ArrayRef,
        groups: &[usize],
        count: impl Fn(usize) -> i64,
    ) -> Result<()> {
        let of = UInt64Array::from_iter_values(groups.iter().map(|group| *group as u64));
        self.places.clear();
        self.values
            .intern(&[Arc::new(of), values], &mut self.places)?;
        for (row, (place, group)) in self.places.iter().zip(groups).enumerate() {
            // Places are given one after the other.
            if *place == self.counts.len() {
                let own = self.groups.get_mut(*group);
                let own = own.ok_or_else(|| bail_out("a group that is not there"))?;
                own.push(u32::try_from(*place).map_err(|_| bail_out("too many values"))?);
                self.counts.push(0);
            }
            let own = self.counts.get_mut(*place);
            let own = own.ok_or_else(|| bail_out("a value that is not there"))?;
            let sum = own.checked_add(count(row));
            *own = sum.ok_or_else(|| bail_out("frequencies that overflow"))?;
        }
        Ok(())
    }

    /// Takes all values with their counts, and which of them each group has, in the order of Spark's table.
    fn all(&mut self) -> Result<(ArrayRef, Vec<i64>, Vec<Vec<u32>>)> {
        let mut groups = take(&mut self.groups);
        let counts = take(&mut self.counts);
        let mut values = replace(&mut self.values, new_values(&self.arrow)?);
        let values = match counts.is_empty() {
            true => new_empty_array(&self.arrow),
            false => Arc::clone(column(&values.emit(EmitTo::All)?, 1)?),
        };
        if let Some(hashes) = hashes(&values)? {
            for own in &mut groups {
                *own = ordered(own, &hashes);
            }
        }
        Ok((values, counts, groups))
    }
}

/// Nothing yet.
fn new_values(of: &ArrowType) -> Result<Box<dyn GroupValues>> {
    let fields = [("group", ArrowType::UInt64), ("value", of.clone())];
    let fields = fields.map(|(name, of)| Field::new(name, of, true));
    new_group_values(Arc::new(Schema::new(fields.to_vec())), &GroupOrdering::None)
}

/// What `OpenHashSet` makes of the `hashCode`s that Java has of the values; `None` where it does not matter.
fn hashes(values: &ArrayRef) -> Result<Option<Vec<u32>>> {
    let values: ArrayRef = match values.data_type() {
        ArrowType::Decimal128(..) => return Ok(None),
        ArrowType::Interval(_) => {
            let months = values.as_primitive::<IntervalYearMonthType>();
            Arc::new(months.reinterpret_cast::<Int32Type>())
        }
        ArrowType::Duration(_) => {
            let micros = values.as_primitive::<DurationMicrosecondType>();
            Arc::new(micros.reinterpret_cast::<Int64Type>())
        }
        ArrowType::Timestamp(..) => cast(values, &ArrowType::Int64)?,
        _ => Arc::clone(values),
    };
    // Those of Scala 2.12 are Java's own.
    let hashes = scala_set::hashes(&values, ScalaVersion::V2_12)?;
    let mixed = hashes.iter().map(|hash| hash_int(hash.cast_unsigned(), 0));
    Ok(Some(mixed.collect()))
}

/// Slots of a table of Spark's that nothing is in yet.
const SLOTS: usize = 64;

/// Values in the order in which Spark's table has them after they came one by one.
fn ordered(values: &[u32], hashes: &[u32]) -> Vec<u32> {
    let mut table: Vec<Option<u32>> = vec![None; SLOTS];
    for (count, value) in (1..).zip(values) {
        put(&mut table, hashes, *value);
        if count > table.len() * 7 / 10 {
            let mut larger = vec![None; table.len() * 2];
            for value in table.into_iter().flatten() {
                put(&mut larger, hashes, value);
            }
            table = larger;
        }
    }
    table.into_iter().flatten().collect()
}

/// Puts a value in the first free slot, of which each is one farther from the last than that from the one before.
fn put(table: &mut [Option<u32>], hashes: &[u32], value: u32) {
    let hash = hashes.get(value as usize).copied().unwrap_or_default();
    let mask = table.len() - 1;
    let mut slot = hash as usize & mask;
    // Three of ten slots are free, and the way goes over all of them.
    let mut step = 1;
    while let Some(Some(_)) = table.get(slot) {
        slot = (slot + step) & mask;
        step += 1;
    }
    if let Some(free) = table.get_mut(slot) {
        *free = Some(value);
    }
}

impl Accumulator for Modes {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.groups.resize_with(total, Vec::new);
        match counted(column(args, 0)?, groups, filter)? {
            Some((kept, own)) => self.add(kept, &own, |_| 1),
            None => Ok(()),
        }
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.groups.resize_with(total, Vec::new);
        let read = frequencies::read(buffers, &self.of)?;
        let hashes = hashes(&read.values)?;
        let rows = u32::try_from(read.values.len()).map_err(|_| bail_out("too many values"))?;
        let (mut places, mut own, mut start) = (Vec::new(), Vec::new(), 0);
        for (length, group) in read.lengths.iter().zip(groups) {
            // Spark makes a table of it, and then adds that.
            let end = u32::try_from(*length).map_or(rows, |length| rows.min(start + length));
            let values: Vec<u32> = (start..end).collect();
            places.extend(match &hashes {
                Some(hashes) => ordered(&values, hashes),
                None => values,
            });
            own.resize(places.len(), *group);
            start = end;
        }
        if places.is_empty() {
            return Ok(());
        }
        let counts: Vec<i64> = places
            .iter()
            .map(|place| read.counts.value(*place as usize))
            .collect();
        if counts.iter().any(|count| *count < 1) {
            return Err(bail_out("a value that never comes"));
        }
        let values = take_rows(&read.values, &UInt32Array::from(places), None)?;
        self.add(values, &own, |row| {
            counts.get(row).copied().unwrap_or_default()
        })
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let (values, counts, groups) = self.all()?;
        let places: Vec<u32> = groups.iter().flatten().copied().collect();
        let counts = places
            .iter()
            .map(|place| counts.get(*place as usize).copied().unwrap_or_default());
        let counts = counts.collect();
        let values = take_rows(&values, &UInt32Array::from(places), None)?;
        let lengths = groups.iter().map(Vec::len);
        Ok(vec![frequencies::write(values, counts, lengths, &self.of)?])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let (values, counts, groups) = self.all()?;
        let compare = make_comparator(&values, &values, SortOptions::default())?;
        let count = |value: u32| counts.get(value as usize).copied().unwrap_or_default();
        let best = groups.iter().map(|own| {
            let mut own = own.iter().copied();
            let first = own.next()?;
            Some(own.fold(first, |best, value| {
                let order = compare(value as usize, best as usize);
                let wins = match self.ties {
                    Ties::First => false,
                    Ties::Least => order.is_lt(),
                    Ties::Greatest => order.is_gt(),
                };
                match count(value).cmp(&count(best)).is_gt()
                    || (count(value) == count(best) && wins)
                {
                    true => value,
                    false => best,
                }
            }))
        });
        let best: UInt32Array = best.collect();
        Ok(take_rows(&values, &best, None)?)
    }

    fn size(&self) -> usize {
        self.values.size()
            + self.groups.capacity() * size_of::<Vec<u32>>()
            + self.counts.capacity() * (size_of::<i64>() + size_of::<u32>())
            + self.places.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Int64Array, StringViewArray};
    use catalyst::Decimal;

    use super::*;

    /// The mode of the values of one group, at once and through a buffer that another merges.
    fn of(data_type: &DataType, ties: Ties, values: &ArrayRef) -> (ArrayRef, ArrayRef) {
        let groups = vec![0; values.len()];
        let mut whole = Modes::new(data_type, ties).unwrap();
        let values = [Arc::clone(values)];
        whole.update(&values, &groups, None, 1).unwrap();
        assert!(whole.size() > 0);
        let mut part = Modes::new(data_type, ties).unwrap();
        part.update(&values, &groups, None, 1).unwrap();
        let mut merged = Modes::new(data_type, ties).unwrap();
        merged.merge(&part.buffers().unwrap(), &[0], 1).unwrap();
        (whole.evaluate().unwrap(), merged.evaluate().unwrap())
    }

    fn of_longs(longs: impl Iterator<Item = i64>) -> (i64, i64) {
        let longs: ArrayRef = Arc::new(Int64Array::from_iter_values(longs));
        let (whole, merged) = of(&DataType::Long, Ties::First, &longs);
        let value = |of: &ArrayRef| of.as_primitive::<Int64Type>().value(0);
        (value(&whole), value(&merged))
    }

    /// What Spark 4.3.0 says, which computes it at once, and Spark 3.5.9, which merges.
    #[test]
    fn values_that_come_as_often_are_in_the_order_of_sparks_table() {
        for (rows, expected) in [
            (3, (0, 0)),
            (44, (43, 10)),
            (45, (13, 13)),
            (200, (147, 147)),
        ] {
            assert_eq!(of_longs(0..rows), expected, "{rows}");
        }
        assert_eq!(of_longs((0..1000).map(|id| id % 40)), (13, 2));
        let large = |rows| of_longs((0..rows).map(|id| id * 3_000_000_007 - 7));
        assert_eq!(large(3).0, 3_000_000_000);
        assert_eq!(large(44).0, 105_000_000_238);
        assert_eq!(large(200).0, 147_000_000_336);
        for (rows, whole, merged) in [(3, "k2", "k2"), (44, "k5", "k6"), (200, "k174", "k174")] {
            let texts = (0..rows).map(|id| format!("k{id}"));
            let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
            let (at_once, through) = of(&DataType::String, Ties::First, &texts);
            assert_eq!(at_once.as_string_view().value(0), whole);
            assert_eq!(through.as_string_view().value(0), merged);
        }
    }

    #[test]
    fn the_order_that_is_asked_for_decides_between_values_that_come_as_often() {
        let of_type = DataType::Decimal(Decimal {
            precision: 10,
            scale: 2,
        });
        let decimals = Decimal128Array::from(vec![
            Some(5),
            Some(-7),
            Some(5),
            None,
            None,
            None,
            Some(9),
            Some(-7),
        ]);
        let decimals: ArrayRef = Arc::new(decimals.with_precision_and_scale(10, 2).unwrap());
        for (ties, expected) in [(Ties::Least, -7), (Ties::Greatest, 5)] {
            let (whole, merged) = of(&of_type, ties, &decimals);
            for found in [whole, merged] {
                let found = found.as_primitive::<arrow::datatypes::Decimal128Type>();
                assert_eq!(found.value(0), expected);
            }
        }
        assert!(!is_counted(&of_type, Ties::First));
        assert!(!is_counted(&DataType::Double, Ties::Least));
    }

    #[test]
    fn a_group_without_values_has_no_mode() {
        let mut modes = Modes::new(&DataType::Long, Ties::First).unwrap();
        let longs: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(3)]));
        modes.update(&[longs], &[0, 2], None, 3).unwrap();
        let found = modes.evaluate().unwrap();
        let expected = Int64Array::from(vec![None, None, Some(3)]);
        assert_eq!(found.as_primitive::<Int64Type>(), &expected);
        assert_eq!(modes.evaluate().unwrap().len(), 0);
    }
}
