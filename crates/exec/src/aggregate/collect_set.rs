//! `collect_set`. Buffer: as that of `collect_list`, in the order in which Scala's set gives its values.

use std::mem::{replace, take};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, ListArray, UInt32Array, UInt64Array, new_empty_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take as take_rows;
use arrow::datatypes::{DataType as ArrowType, Field, Schema};
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use datafusion_physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion_physical_plan::aggregates::order::GroupOrdering;
use javaser::ScalaVersion;

use super::accumulator::{Accumulator, column};
use super::collect::{counted, list_buffers, lists_of};
use super::scala_set::{TableSize, hashes, order};
use catalyst::DataType;
use rows::error::bail_out;
use rows::types::{ToArrow as _, list_field};

pub(super) struct CollectSet {
    scala: ScalaVersion,
    array: DataType,
    element: ArrowType,
    /// Each value of each group once.
    values: Box<dyn GroupValues>,
    sets: Vec<Set>,
    /// Number of all values.
    len: usize,
    /// Of the rows of a batch, which of the values they are.
    places: Vec<usize>,
}

/// The values of a group.
#[derive(Debug, Clone, Default)]
struct Set {
    /// Which of all, in the order in which they came.
    values: Vec<u32>,
    size: TableSize,
}

impl CollectSet {
    pub(super) fn new(of: &DataType, scala: ScalaVersion) -> Result<Self> {
        let element = of.to_arrow();
        let element = element.map_err(|reason| bail_out(reason.to_string()))?;
        Ok(Self {
            scala,
            array: DataType::Array {
                element: Box::new(of.clone()),
                contains_null: false,
            },
            values: new_values(&element)?,
            element,
            sets: Vec::new(),
            len: 0,
            places: Vec::new(),
        })
    }

    /// Adds values, none of them null, each to the set of its group. `add` is told which row it is, and whether the set
    /// did not have it.
    fn add(
        &mut self,
        values: ArrayRef,
        groups: &[usize],
        add: impl Fn(&mut TableSize, usize, bool),
    ) -> Result<()> {
        let of = UInt64Array::from_iter_values(groups.iter().map(|group| *group as u64));
        self.places.clear();
        self.values
            .intern(&[Arc::new(of), values], &mut self.places)?;
        for (row, (place, group)) in self.places.iter().zip(groups).enumerate() {
            let set = self.sets.get_mut(*group);
            let set = set.ok_or_else(|| bail_out("a group that is not there"))?;
            // Places are given one after the other.
            let is_new = *place == self.len;
            if is_new {
                let place = u32::try_from(*place).map_err(|_| bail_out("too many values"))?;
                set.values.push(place);
                self.len += 1;
            }
            add(&mut set.size, row, is_new);
        }
        Ok(())
    }

    /// The sets of all groups.
    fn lists(&mut self) -> Result<ArrayRef> {
        let sets = take(&mut self.sets);
        if i32::try_from(self.len).is_err() {
            return Err(bail_out("too many elements of arrays"));
        }
        let mut values = replace(&mut self.values, new_values(&self.element)?);
        let values = match take(&mut self.len) {
            0 => new_empty_array(&self.element),
            _ => Arc::clone(column(&values.emit(EmitTo::All)?, 1)?),
        };
        let all = hashes(&values, self.scala)?;
        let mut places = Vec::with_capacity(values.len());
        for set in &sets {
            let own = set.values.iter().map(|place| all.get(*place as usize));
            let own: Vec<i32> = own.map(|hash| hash.copied().unwrap_or_default()).collect();
            let order = order(self.scala, &own, set.size).into_iter();
            places.extend(order.filter_map(|place| set.values.get(place).copied()));
        }
        let values = take_rows(&values, &UInt32Array::from(places), None)?;
        let offsets = OffsetBuffer::from_lengths(sets.iter().map(|set| set.values.len()));
        let field = list_field(self.element.clone());
        Ok(Arc::new(ListArray::try_new(field, offsets, values, None)?))
    }
}

/// Nothing yet.
fn new_values(of: &ArrowType) -> Result<Box<dyn GroupValues>> {
    let fields = [("group", ArrowType::UInt64), ("value", of.clone())];
    let fields = fields.map(|(name, of)| Field::new(name, of, true));
    new_group_values(Arc::new(Schema::new(fields.to_vec())), &GroupOrdering::None)
}

impl Accumulator for CollectSet {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sets.resize_with(total, Set::default);
        match counted(column(args, 0)?, groups, filter)? {
            Some((kept, own)) => self.add(kept, &own, |size, _, is_new| size.add(is_new)),
            None => Ok(()),
        }
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.sets.resize_with(total, Set::default);
        let lists = lists_of(buffers, &self.array)?;
        let all = hashes(lists.values(), self.scala)?;
        let (mut places, mut own, mut room) = (Vec::new(), Vec::new(), Vec::new());
        for (ends, group) in lists.offsets().windows(2).zip(groups) {
            let list = match ends {
                [start, end] => usize::try_from(*start).ok().zip(usize::try_from(*end).ok()),
                _ => None,
            };
            let (start, end) = list.ok_or_else(|| bail_out("a list without ends"))?;
            let hashes = all.get(start..end).unwrap_or_default();
            // Spark makes a set of it, and then adds that.
            let mut size = TableSize::default();
            hashes.iter().for_each(|_| size.add(true));
            let order = order(self.scala, hashes, size).into_iter();
            places.extend(order.filter_map(|place| u32::try_from(start + place).ok()));
            own.resize(places.len(), *group);
            // What the first of them makes room for.
            room.extend((!hashes.is_empty()).then_some(hashes.len()));
            room.resize(places.len(), 0);
        }
        if places.is_empty() {
            return Ok(());
        }
        let values = take_rows(lists.values(), &UInt32Array::from(places), None)?;
        self.add(values, &own, |size, row, is_new| {
            match room.get(row) {
                None | Some(0) => {}
                Some(values) => size.make_room(*values),
            }
            size.add_merged(is_new);
        })
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let lists = self.lists()?;
        Ok(vec![list_buffers(lists, &self.array)?])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        self.lists()
    }

    fn size(&self) -> usize {
        self.values.size()
            + self.sets.capacity() * size_of::<Set>()
            + self.len * 2 * size_of::<u32>()
            + self.places.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, StringViewArray};

    use super::*;

    #[test]
    fn values_are_kept_once_and_sets_go_through_buffers() {
        for scala in [ScalaVersion::V2_12, ScalaVersion::V2_13] {
            let of = || CollectSet::new(&DataType::String, scala).unwrap();
            let long = "a text that is longer than a view";
            let texts = [Some("b"), None, Some(long), Some("b"), Some("x"), Some("")];
            let texts: ArrayRef = Arc::new(StringViewArray::from(texts.to_vec()));
            let filter = BooleanArray::from(vec![true, true, true, true, false, true]);
            let mut sets = of();
            let groups = [0, 0, 1, 0, 1, 0];
            sets.update(&[texts], &groups, Some(&filter), 3).unwrap();
            assert!(sets.size() > 0);
            let buffers = sets.buffers().unwrap();
            let mut merged = of();
            merged.merge(&buffers, &[1, 0, 0], 2).unwrap();
            merged.merge(&buffers, &[0, 1, 0], 2).unwrap();
            let lists = merged.evaluate().unwrap();
            let texts = |row| -> Vec<String> {
                let list = lists.as_list::<i32>().value(row);
                let texts = list.as_string_view().iter();
                let mut texts: Vec<_> = texts.map(|text| text.unwrap().to_owned()).collect();
                texts.sort();
                texts
            };
            assert_eq!(texts(0), ["", long, "b"]);
            assert_eq!(texts(1), ["", long, "b"]);
            assert_eq!(merged.evaluate().unwrap().len(), 0);
        }
    }
}
