//! `max_by` and `min_by` of several rows. Buffer: values, what they are chosen by, both of as many elements as rows are
//! wanted, and a heap of places in them: how many there are, and then the places, the first that of the row that goes
//! next.

use std::cmp::Ordering;
use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, BooleanArray, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::row::{RowConverter, SortField};
use datafusion_common::{Result, ScalarValue};

use super::accumulator::{Accumulator, column};
use super::first::{heap, kept_value, null_of, scalars};
use catalyst::DataType;
use rows::error::bail_out;
use rows::types::list_field;
use rows::{key_type, order_key};

/// A row that is kept.
#[derive(Debug, Clone)]
struct Kept {
    value: ScalarValue,
    by: ScalarValue,
    /// Bytes in the order of `by`.
    key: Box<[u8]>,
}

/// The rows of a group.
#[derive(Debug, Clone, Default)]
struct Group {
    /// In the places that Spark has them in.
    kept: Vec<Kept>,
    /// Spark's heap.
    heap: Vec<u32>,
}

impl Group {
    /// How rows at two places of the heap are ordered in it: the one that goes next is the least.
    fn compare(&self, least: bool, left: usize, right: usize) -> Ordering {
        let key = |at: usize| {
            let kept = self.heap.get(at).and_then(|at| self.kept.get(*at as usize));
            kept.map(|kept| &kept.key)
        };
        let order = key(left).cmp(&key(right));
        if least { order.reverse() } else { order }
    }

    /// Whether a full heap takes a row with this key: it is better than the one that goes next.
    fn takes(&self, least: bool, key: &[u8]) -> bool {
        let next = self.heap.first().and_then(|at| self.kept.get(*at as usize));
        let wanted = if least {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        next.is_some_and(|next| key.cmp(&next.key) == wanted)
    }

    /// Adds a row behind the others.
    fn push(&mut self, least: bool, row: Kept, place: u32) {
        let mut at = self.heap.len();
        self.kept.push(row);
        self.heap.push(place);
        while at > 0 {
            let above = (at - 1) / 2;
            if self.compare(least, at, above).is_ge() {
                return;
            }
            self.heap.swap(at, above);
            at = above;
        }
    }

    /// Puts a row in the place of the one that goes next.
    fn replace(&mut self, least: bool, row: Kept) {
        let next = self.heap.first().copied();
        if let Some(next) = next.and_then(|next| self.kept.get_mut(next as usize)) {
            *next = row;
        }
        let (mut at, size) = (0, self.heap.len());
        while 2 * at + 1 < size {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let below = match right < size && self.compare(least, right, left).is_lt() {
                true => right,
                false => left,
            };
            if self.compare(least, at, below).is_le() {
                return;
            }
            self.heap.swap(at, below);
            at = below;
        }
    }

    /// The values, best first, of equal ones in their places.
    fn values(self, least: bool) -> impl Iterator<Item = ScalarValue> {
        let mut kept = self.kept;
        kept.sort_by(|a, b| match least {
            true => a.key.cmp(&b.key),
            false => b.key.cmp(&a.key),
        });
        kept.into_iter().map(|kept| kept.value)
    }
}

pub(super) struct ExtremesBy {
    least: bool,
    most: usize,
    /// Nulls of the values, and of what they are chosen by.
    nulls: [ScalarValue; 2],
    converter: RowConverter,
    groups: Vec<Group>,
    /// Bytes of what is kept.
    bytes: usize,
}

impl ExtremesBy {
    pub(super) fn new(of: &DataType, by: &DataType, least: bool, most: i32) -> Result<Self> {
        let (null, null_by) = (null_of(of)?, null_of(by)?);
        let key = key_type(&null_by.data_type());
        let most = usize::try_from(most).ok().filter(|most| *most > 0);
        Ok(Self {
            least,
            most: most.ok_or_else(|| bail_out("rows that are not wanted"))?,
            converter: RowConverter::new(vec![SortField::new(key)])?,
            nulls: [null, null_by],
            groups: Vec::new(),
            bytes: 0,
        })
    }

    /// Offers rows to groups, in this order.
    fn offer(
        &mut self,
        values: &ArrayRef,
        by: &ArrayRef,
        rows: impl Iterator<Item = (usize, usize)>,
    ) -> Result<()> {
        let keys = self.converter.convert_columns(&[order_key(by)?])?;
        let nulls = by.logical_nulls();
        let least = self.least;
        for (row, group) in rows {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            let own = self.groups.get_mut(group);
            let own = own.ok_or_else(|| bail_out("a group that is not there"))?;
            let (key, is_full) = (keys.row(row), own.kept.len() >= self.most);
            if is_full && !own.takes(least, key.as_ref()) {
                continue;
            }
            let kept = Kept {
                value: kept_value(values, row)?,
                by: kept_value(by, row)?,
                key: key.as_ref().into(),
            };
            if is_full {
                own.replace(least, kept);
                continue;
            }
            self.bytes += size_of::<Kept>() + heap(&kept.value) + heap(&kept.by) + kept.key.len();
            let place = u32::try_from(own.kept.len()).map_err(|_| bail_out("too many rows"))?;
            own.push(least, kept, place);
        }
        Ok(())
    }

    fn take(&mut self) -> Vec<Group> {
        self.bytes = 0;
        take(&mut self.groups)
    }
}

/// Lists of so many elements each; null are those that are empty, if that is asked for.
fn lists(
    values: Vec<Option<ScalarValue>>,
    lengths: Vec<usize>,
    null: &ScalarValue,
    empty_is_null: bool,
) -> Result<ArrayRef> {
    if i32::try_from(values.len()).is_err() {
        return Err(bail_out("too many elements of arrays"));
    }
    let valid = lengths.iter().map(|length| !empty_is_null || *length > 0);
    let nulls: NullBuffer = valid.collect::<Vec<_>>().into();
    let values = scalars(values, null)?;
    let field = list_field(values.data_type().clone());
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        values,
        Some(nulls),
    )?))
}

impl Accumulator for ExtremesBy {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.groups.resize_with(total, Group::default);
        let (values, by) = (column(args, 0)?, column(args, 1)?);
        let counts = |row: &(usize, usize)| filter.is_none_or(|filter| filter.value(row.0));
        let rows = groups.iter().copied().enumerate();
        self.offer(values, by, rows.filter(counts))
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.groups.resize_with(total, Group::default);
        let other = || bail_out("a buffer of another type");
        let of = |place| {
            column(buffers, place)?
                .as_list_opt::<i32>()
                .ok_or_else(other)
        };
        let (values, by) = (of(0)?, of(1)?);
        let heaps = column(buffers, 2)?.as_binary_view_opt().ok_or_else(other)?;
        let broken = || bail_out("a heap that is cut off");
        let mut rows = Vec::new();
        for (row, group) in groups.iter().enumerate() {
            if values.is_null(row) || by.is_null(row) || heaps.is_null(row) {
                return Err(bail_out("a buffer that is null"));
            }
            let start = |list: &ListArray| list.value_offsets().get(row).copied();
            let length = values.value_length(row);
            if length != by.value_length(row) || start(values) != start(by) {
                return Err(bail_out("lists of different lengths"));
            }
            let start = start(values).and_then(|start| usize::try_from(start).ok());
            let start = start.ok_or_else(broken)?;
            // Numbers of Java, as the processor has them.
            let (numbers, _) = heaps.value(row).as_chunks::<4>();
            let mut numbers = numbers.iter().map(|number| i32::from_le_bytes(*number));
            let size = numbers.next().and_then(|size| usize::try_from(size).ok());
            let size = size.ok_or_else(broken)?;
            let before = rows.len();
            for place in numbers.take(size) {
                if !(0..length).contains(&place) {
                    return Err(broken());
                }
                let place = usize::try_from(place).map_err(|_| broken())?;
                rows.push((start + place, *group));
            }
            if rows.len() - before != size {
                return Err(broken());
            }
        }
        let (values, by) = (values.values(), by.values());
        self.offer(values, by, rows.into_iter())
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let groups = self.take();
        let lengths = vec![self.most; groups.len()];
        let mut heaps = BinaryViewBuilder::with_capacity(groups.len());
        let (mut values, mut by) = (Vec::new(), Vec::new());
        let all = self.most.checked_mul(groups.len());
        if all.is_none_or(|all| i32::try_from(all).is_err()) {
            return Err(bail_out("too many elements of arrays"));
        }
        for group in groups {
            let size = u32::try_from(group.heap.len()).map_err(|_| bail_out("too many rows"))?;
            let mut bytes = vec![0; (self.most + 1) * 4];
            let numbers = [size].into_iter().chain(group.heap);
            for (to, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
                *to = number.to_le_bytes();
            }
            heaps.append_value(&bytes);
            let missing = self.most - group.kept.len();
            for kept in group.kept {
                values.push(Some(kept.value));
                by.push(Some(kept.by));
            }
            values.resize(values.len() + missing, None);
            by.resize(by.len() + missing, None);
        }
        let [null, null_by] = &self.nulls;
        Ok(vec![
            lists(values, lengths.clone(), null, false)?,
            lists(by, lengths, null_by, false)?,
            Arc::new(heaps.finish()),
        ])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let groups = self.take();
        let lengths = groups.iter().map(|group| group.kept.len()).collect();
        let least = self.least;
        let values = groups.into_iter().flat_map(|group| group.values(least));
        let values = values.map(Some).collect();
        lists(values, lengths, &self.nulls[0], true)
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Group>() + self.bytes + self.bytes / 8
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;
    use arrow::datatypes::Int64Type;

    use super::*;

    /// Of numbers by their rests, at once, and through a buffer that is merged.
    fn of(least: bool, most: i32, rows: i64, rest: i64) -> (Vec<i64>, Vec<i64>) {
        let new = || ExtremesBy::new(&DataType::Long, &DataType::Long, least, most).unwrap();
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let by = (0..rows).map(|id| id % rest);
        let by: ArrayRef = Arc::new(Int64Array::from_iter_values(by));
        let groups = vec![0; values.len()];
        let args = [values, by];
        let mut whole = new();
        whole.update(&args, &groups, None, 2).unwrap();
        assert!(whole.size() > 0);
        let mut part = new();
        part.update(&args, &groups, None, 2).unwrap();
        let buffers = part.buffers().unwrap();
        let most = usize::try_from(most).unwrap();
        assert_eq!(buffers[0].as_list::<i32>().value(1).null_count(), most);
        assert_eq!(
            buffers[2].as_binary_view().value(1),
            vec![0; (most + 1) * 4]
        );
        let mut merged = new();
        merged.merge(&buffers, &[0, 1], 2).unwrap();
        let result = |mut of: ExtremesBy| {
            let lists = of.evaluate().unwrap();
            let lists = lists.as_list::<i32>();
            assert!(lists.is_null(1));
            let list = lists.value(0);
            list.as_primitive::<Int64Type>().values().to_vec()
        };
        (result(whole), result(merged))
    }

    /// What Spark 4.3.0 says, which computes it at once.
    #[test]
    fn rows_are_in_the_places_of_sparks_heap() {
        let (whole, merged) = of(false, 4, 40, 7);
        assert_eq!(whole, [13, 27, 6, 20]);
        assert_eq!(merged, [27, 13, 20, 6]);
        let (whole, merged) = of(true, 4, 40, 7);
        assert_eq!(whole, [0, 21, 14, 7]);
        assert_eq!(merged, [21, 7, 14, 0]);
        let (whole, merged) = of(false, 10, 40, 3);
        assert_eq!(whole, [23, 17, 2, 11, 26, 5, 14, 20, 8, 29]);
        assert_eq!(merged, [29, 23, 26, 14, 20, 5, 2, 11, 8, 17]);
        assert_eq!(of(false, 5, 3, 100).0, [2, 1, 0]);
    }

    #[test]
    fn heaps_that_are_cut_off_are_refused() {
        let mut part = ExtremesBy::new(&DataType::Long, &DataType::Long, true, 2).unwrap();
        let values: ArrayRef = Arc::new(Int64Array::from(vec![3, 4]));
        let args = [Arc::clone(&values), values];
        part.update(&args, &[0, 0], None, 1).unwrap();
        let buffers = part.buffers().unwrap();
        for heap in [
            &[][..] as &[u8],
            &[2, 0, 0, 0],
            &[1, 0, 0, 0, 9, 0, 0, 0],
            &[255; 12],
        ] {
            let mut builder = BinaryViewBuilder::new();
            builder.append_value(heap);
            let heap: ArrayRef = Arc::new(builder.finish());
            let buffers = [Arc::clone(&buffers[0]), Arc::clone(&buffers[1]), heap];
            part.merge(&buffers, &[0], 1).unwrap_err();
        }
    }
}
