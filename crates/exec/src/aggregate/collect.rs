//! `collect_list`. Buffer: the bytes of a row of one column, which is the array.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, BooleanArray, ListArray, RecordBatch, UInt32Array,
    new_empty_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{interleave, take as take_rows};
use arrow::datatypes::DataType as ArrowType;
use bytes::Bytes;
use datafusion_common::Result;

use super::accumulator::{Accumulator, column};
use catalyst::DataType;
use rows::error::bail_out;
use rows::types::{ToArrow as _, list_field};
use rows::{RowDecoder, RowEncoder, RowSpan};

pub(super) struct CollectList {
    array: DataType,
    element: ArrowType,
    /// Values that are not null, as they came.
    chunks: Vec<ArrayRef>,
    /// Of each group, in which chunk and where there.
    groups: Vec<Vec<(u32, u32)>>,
    /// Number of all values.
    values: usize,
    /// Bytes of the chunks.
    bytes: usize,
}

impl CollectList {
    pub(super) fn new(of: &DataType) -> Result<Self> {
        let element = of.to_arrow();
        Ok(Self {
            array: DataType::Array {
                element: Box::new(of.clone()),
                contains_null: false,
            },
            element: element.map_err(|reason| bail_out(reason.to_string()))?,
            chunks: Vec::new(),
            groups: Vec::new(),
            values: 0,
            bytes: 0,
        })
    }

    /// Adds values, each to the list of its group.
    fn push(&mut self, values: ArrayRef, groups: impl Iterator<Item = usize>) -> Result<()> {
        // Chunks have at most as many rows as batches.
        let chunk = u32::try_from(self.chunks.len()).map_err(|_| bail_out("too many values"))?;
        for (row, group) in (0..).zip(groups) {
            let of = self.groups.get_mut(group);
            of.ok_or_else(|| bail_out("a group that is not there"))?
                .push((chunk, row));
        }
        self.values += values.len();
        self.bytes += values.get_array_memory_size();
        self.chunks.push(values);
        Ok(())
    }

    /// The lists of all groups.
    fn lists(&mut self) -> Result<ArrayRef> {
        let (chunks, groups) = (take(&mut self.chunks), take(&mut self.groups));
        self.values = 0;
        self.bytes = 0;
        let all = groups.iter().flatten();
        let all: Vec<_> = all
            .map(|(chunk, row)| (*chunk as usize, *row as usize))
            .collect();
        if i32::try_from(all.len()).is_err() {
            return Err(bail_out("too many elements of arrays"));
        }
        let chunks: Vec<&dyn Array> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
        let values = match all.is_empty() {
            true => new_empty_array(&self.element),
            false => interleave(&chunks, &all)?,
        };
        let offsets = OffsetBuffer::from_lengths(groups.iter().map(Vec::len));
        let field = list_field(self.element.clone());
        Ok(Arc::new(ListArray::try_new(field, offsets, values, None)?))
    }
}

impl Accumulator for CollectList {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.groups.resize_with(total, Vec::new);
        match counted(column(args, 0)?, groups, filter)? {
            Some((kept, own)) => self.push(kept, own.into_iter()),
            None => Ok(()),
        }
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.groups.resize_with(total, Vec::new);
        let lists = lists_of(buffers, &self.array)?;
        // Of all groups together the elements are as many as the values.
        let own = groups.iter().copied().zip(lists.offsets().lengths());
        let own = own.flat_map(|(group, length)| std::iter::repeat_n(group, length));
        self.push(Arc::clone(lists.values()), own)
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let lists = self.lists()?;
        Ok(vec![list_buffers(lists, &self.array)?])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        self.lists()
    }

    fn size(&self) -> usize {
        self.bytes
            + self.groups.capacity() * size_of::<Vec<(u32, u32)>>()
            + self.values * 2 * size_of::<(u32, u32)>()
    }
}

/// The values of rows that count and are not null, with their groups; `None` if there is none.
pub(super) fn counted(
    values: &ArrayRef,
    groups: &[usize],
    filter: Option<&BooleanArray>,
) -> Result<Option<(ArrayRef, Vec<usize>)>> {
    let nulls = values.logical_nulls();
    let counts = |row: usize| {
        nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
            && filter.is_none_or(|filter| filter.value(row))
    };
    let pairs = (0_u32..).zip(groups.iter().copied());
    let (rows, own): (Vec<_>, Vec<_>) = pairs.filter(|(row, _)| counts(*row as usize)).unzip();
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some((
        take_rows(values, &UInt32Array::from(rows), None)?,
        own,
    )))
}

/// The lists in buffers: a list for each of them.
pub(super) fn lists_of(buffers: &[ArrayRef], array: &DataType) -> Result<ListArray> {
    let buffers = column(buffers, 0)?.as_binary_view_opt();
    let buffers = buffers.ok_or_else(|| bail_out("a buffer of another type"))?;
    let (mut block, mut spans) = (Vec::new(), Vec::new());
    for buffer in buffers {
        let Some(buffer) = buffer else {
            return Err(bail_out("a buffer that is null"));
        };
        let of = |length: usize| u32::try_from(length).map_err(|_| bail_out("large buffers"));
        spans.push(RowSpan {
            offset: of(block.len())?,
            size: of(buffer.len())?,
        });
        block.extend_from_slice(buffer);
    }
    let decoder = RowDecoder::new([array]);
    let decoder = decoder.map_err(|reason| bail_out(reason.to_string()))?;
    let batch = decoder.decode(&[(Bytes::from(block), spans)])?;
    let lists = column(batch.columns(), 0)?.as_list_opt::<i32>();
    let lists = lists.ok_or_else(|| bail_out("a buffer of another type"))?;
    if lists.null_count() > 0 || lists.values().logical_null_count() > 0 {
        return Err(bail_out("a buffer with nulls"));
    }
    Ok(lists.clone())
}

/// Buffers with lists: of each the bytes of a row.
pub(super) fn list_buffers(lists: ArrayRef, array: &DataType) -> Result<ArrayRef> {
    let unsupported = |reason: catalyst::Unsupported| bail_out(reason.to_string());
    let schema = rows::types::schema_of_types([array]).map_err(unsupported)?;
    let batch = RecordBatch::try_new(schema, vec![lists])?;
    let mut encoder = RowEncoder::new([array]).map_err(unsupported)?;
    let mut builder = BinaryViewBuilder::with_capacity(batch.num_rows());
    for row in encoder.encode(&batch)?.rows() {
        builder.append_value(row);
    }
    Ok(Arc::new(builder.finish()))
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;

    use super::*;

    #[test]
    fn lists_go_through_sparks_buffers() {
        let of = || CollectList::new(&DataType::String).unwrap();
        let long = "a text that is longer than a view";
        let texts = StringViewArray::from(vec![Some("b"), None, Some(long), Some(""), Some("x")]);
        let texts: ArrayRef = Arc::new(texts);
        let mut accumulator = of();
        let filter = BooleanArray::from(vec![true, true, true, true, false]);
        let groups = [0, 0, 1, 0, 1];
        accumulator
            .update(&[texts], &groups, Some(&filter), 3)
            .unwrap();
        assert!(accumulator.size() > 0);
        let buffers = accumulator.buffers().unwrap();
        // A row of an empty array: nulls, its place, and no elements.
        let empty = [[0; 8], (16_u64 << 32 | 8).to_le_bytes(), [0; 8]].concat();
        assert_eq!(buffers[0].as_binary_view().value(2), empty);
        let mut merged = of();
        merged.merge(&buffers, &[1, 0, 0], 2).unwrap();
        merged.merge(&buffers, &[0, 1, 0], 2).unwrap();
        let lists = merged.evaluate().unwrap();
        let text = |row| -> Vec<String> {
            let list = lists.as_list::<i32>().value(row);
            let texts = list.as_string_view().iter();
            texts.map(|text| text.unwrap().to_owned()).collect()
        };
        assert_eq!(text(0), [long, "b", ""]);
        assert_eq!(text(1), ["b", "", long]);
    }
}
