//! Arrays and maps in rows. `decode::elements` says how they lie there.

use std::ops::Range;

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType,
    Time64NanosecondType, TimestampMicrosecondType,
};
use arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray};
use arrow::datatypes::{ByteViewType, DataType as ArrowType};
use datafusion_common::Result;

use super::super::layout::{Column, Slot, fixed_bytes, header_bytes};
use super::{Rows, add_sizes, big_integer, length, place, put, variant_length, write};
use crate::error::bail_out;

/// Bytes of a map before its keys: their size.
const MAP_HEADER: u32 = 8;

/// Adds to the sizes of rows what a column of arrays or maps has behind the slots.
pub(super) fn add_array_sizes(
    column: &Column,
    array: &ArrayRef,
    sources: &[u32],
    sizes: &mut [u32],
) -> Result<()> {
    for (row, size) in sources.iter().zip(sizes) {
        if let Some(own) = nested_size(column, array.as_ref(), *row as usize)? {
            *size = size.saturating_add(own);
        }
    }
    Ok(())
}

/// Writes a column of arrays or maps; `cursors` as in `write`.
pub(super) fn write_arrays(
    column: &Column,
    rows: &mut Rows<'_>,
    cursors: &mut [u32],
) -> Result<()> {
    for ((row, start), cursor) in rows.sources.iter().zip(rows.starts).zip(cursors) {
        let at = start + *cursor as usize;
        if let Some(size) = write_nested(column, rows.array, *row as usize, at, rows.out)? {
            put(rows.out, start + rows.slot, &place(*cursor, size));
            *cursor += size;
        }
    }
    Ok(())
}

/// Where the elements of a list or the entries of a map are; `None` if it is null.
fn elements(array: &dyn Array, row: usize) -> Option<Range<usize>> {
    let offsets = match array.as_list_opt::<i32>() {
        Some(list) => list.value_offsets(),
        None => array.as_map_opt()?.value_offsets(),
    };
    if array.is_null(row) {
        return None;
    }
    // Offsets are not negative and grow.
    Some(*offsets.get(row)? as usize..*offsets.get(row + 1)? as usize)
}

/// Bytes of an array or a map; `None` if it is null.
fn nested_size(column: &Column, array: &dyn Array, row: usize) -> Result<Option<u32>> {
    let Some(range) = elements(array, row) else {
        return Ok(None);
    };
    Ok(match &column.slot {
        Slot::Array(element) => {
            let values = array.as_list::<i32>().values();
            Some(array_size(element, values, range)?)
        }
        Slot::Map(entry) => {
            let map = array.as_map();
            let [key, value] = &**entry;
            let keys = array_size(key, map.keys(), range.clone())?;
            let values = array_size(value, map.values(), range)?;
            Some(MAP_HEADER.saturating_add(keys).saturating_add(values))
        }
        _ => None,
    })
}

/// Bytes of an array of some of the values.
fn array_size(column: &Column, values: &ArrayRef, range: Range<usize>) -> Result<u32> {
    let count = range.len();
    let fixed = header_bytes(count) + (count * column.slot.width()).next_multiple_of(8);
    let mut size = u32::try_from(fixed).unwrap_or(u32::MAX);
    match &column.slot {
        Slot::WideDecimal { .. } => {
            let digits = values.as_primitive::<Decimal128Type>();
            for index in range.filter(|index| digits.is_valid(*index)) {
                let bytes = digits.value(index).to_be_bytes();
                size = size.saturating_add(big_integer(&bytes).len().next_multiple_of(8) as u32);
            }
        }
        Slot::String => size = size.saturating_add(lengths(values.as_string_view(), range)),
        Slot::Binary => size = size.saturating_add(lengths(values.as_binary_view(), range)),
        Slot::Variant => {
            let variants = values.as_binary::<i64>();
            for index in range {
                size = size.saturating_add(variant_length(variants, index));
            }
        }
        Slot::Struct(fields) => {
            let (_, sizes) = structs(fields, values, range)?;
            size = sizes.into_iter().fold(size, u32::saturating_add);
        }
        Slot::Array(_) | Slot::Map(_) => {
            for index in range {
                let own = nested_size(column, values.as_ref(), index)?;
                size = size.saturating_add(own.unwrap_or(0));
            }
        }
        _ => {}
    }
    Ok(size)
}

fn lengths<T: ByteViewType + ?Sized>(values: &GenericByteViewArray<T>, range: Range<usize>) -> u32 {
    // Places of values are 32 bits wide, as of rows.
    range
        .map(|index| length(values, index as u32).next_multiple_of(8))
        .fold(0, u32::saturating_add)
}

/// Those of some structs that are not null, and their sizes.
fn structs(
    fields: &[Column],
    values: &ArrayRef,
    range: Range<usize>,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let of = values.as_struct();
    let fixed = u32::try_from(fixed_bytes(fields.len()));
    let fixed = fixed.map_err(|_| bail_out("too many fields"))?;
    let valid = range.filter(|index| of.is_valid(*index));
    // Offsets of lists are 32 bits wide.
    let sources: Vec<u32> = valid.map(|index| index as u32).collect();
    let mut sizes = vec![fixed; sources.len()];
    add_sizes(fields, of.columns(), &sources, &mut sizes)?;
    Ok((sources, sizes))
}

/// Writes an array or a map and gives its size; `None` if it is null.
fn write_nested(
    column: &Column,
    array: &dyn Array,
    row: usize,
    start: usize,
    out: &mut [u8],
) -> Result<Option<u32>> {
    let Some(range) = elements(array, row) else {
        return Ok(None);
    };
    Ok(match &column.slot {
        Slot::Array(element) => {
            let values = array.as_list::<i32>().values();
            Some(write_array(element, values, range, start, out)?)
        }
        Slot::Map(entry) => {
            let map = array.as_map();
            let [key, value] = &**entry;
            let at = start + MAP_HEADER as usize;
            let keys = write_array(key, map.keys(), range.clone(), at, out)?;
            put(out, start, &u64::from(keys).to_le_bytes());
            let values = write_array(value, map.values(), range, at + keys as usize, out)?;
            Some(MAP_HEADER + keys + values)
        }
        _ => None,
    })
}

/// Writes an array of some of the values and gives its size.
fn write_array(
    column: &Column,
    values: &ArrayRef,
    range: Range<usize>,
    start: usize,
    out: &mut [u8],
) -> Result<u32> {
    let count = range.len();
    put(out, start, &(count as u64).to_le_bytes());
    let header = header_bytes(count);
    let width = column.slot.width();
    let mut array = Elements {
        range,
        start,
        first: start + header,
        out,
        // Rows were measured: they are of at most 2 GiB.
        cursor: (header + (count * width).next_multiple_of(8)) as u32,
    };
    array.write_nulls(values.as_ref());
    array.write(column, values)?;
    Ok(array.cursor)
}

/// An array that is written.
struct Elements<'w> {
    /// Which of the values.
    range: Range<usize>,
    /// Where it starts in `out`.
    start: usize,
    /// Where the first element is in `out`.
    first: usize,
    out: &'w mut [u8],
    /// Where in the array its next variable bytes go.
    cursor: u32,
}

impl Elements<'_> {
    fn write_nulls(&mut self, values: &dyn Array) {
        let all = values.data_type() == &ArrowType::Null;
        if !all && values.null_count() == 0 {
            return;
        }
        for (index, value) in self.range.clone().enumerate() {
            if (all || values.is_null(value))
                && let Some(byte) = self.out.get_mut(self.start + 8 + index / 8)
            {
                *byte |= 1 << (index % 8);
            }
        }
    }

    fn write(&mut self, column: &Column, values: &ArrayRef) -> Result<()> {
        match &column.slot {
            Slot::Null => {}
            Slot::Boolean => {
                let booleans = values.as_boolean();
                self.numbers(values, |index| [u8::from(booleans.value(index))]);
            }
            Slot::Byte => self.primitives::<Int8Type, 1>(values, i8::to_le_bytes),
            Slot::Short => self.primitives::<Int16Type, 2>(values, i16::to_le_bytes),
            Slot::Integer => match column.arrow {
                ArrowType::Date32 => self.primitives::<Date32Type, 4>(values, i32::to_le_bytes),
                ArrowType::Interval(_) => {
                    self.primitives::<IntervalYearMonthType, 4>(values, i32::to_le_bytes);
                }
                _ => self.primitives::<Int32Type, 4>(values, i32::to_le_bytes),
            },
            Slot::Long => match column.arrow {
                ArrowType::Timestamp(..) => {
                    self.primitives::<TimestampMicrosecondType, 8>(values, i64::to_le_bytes);
                }
                ArrowType::Duration(_) => {
                    self.primitives::<DurationMicrosecondType, 8>(values, i64::to_le_bytes);
                }
                ArrowType::Time64(_) => {
                    self.primitives::<Time64NanosecondType, 8>(values, i64::to_le_bytes);
                }
                _ => self.primitives::<Int64Type, 8>(values, i64::to_le_bytes),
            },
            Slot::Float => self.primitives::<Float32Type, 4>(values, f32::to_le_bytes),
            Slot::Double => self.primitives::<Float64Type, 8>(values, f64::to_le_bytes),
            // At most 18 digits.
            Slot::Decimal => {
                self.primitives::<Decimal128Type, 8>(values, |v| (v as i64).to_le_bytes());
            }
            Slot::WideDecimal { .. } => {
                let digits = values.as_primitive::<Decimal128Type>();
                self.bytes(values, |index, put| {
                    put(big_integer(&digits.value(index).to_be_bytes()));
                });
            }
            Slot::String => {
                let text = values.as_string_view();
                self.bytes(values, |index, put| put(text.value(index).as_bytes()));
            }
            Slot::Binary => {
                let binary = values.as_binary_view();
                self.bytes(values, |index, put| put(binary.value(index)));
            }
            Slot::Variant => {
                let variants = values.as_binary::<i64>();
                self.bytes(values, |index, put| put(variants.value(index)));
            }
            Slot::Struct(fields) => self.structs(fields, values)?,
            Slot::Array(_) | Slot::Map(_) => {
                for (place, index) in self.range.clone().enumerate() {
                    let at = self.start + self.cursor as usize;
                    let size = write_nested(column, values.as_ref(), index, at, self.out)?;
                    if let Some(size) = size {
                        self.place(place, size);
                    }
                }
            }
        }
        Ok(())
    }

    fn primitives<T: ArrowPrimitiveType, const WIDTH: usize>(
        &mut self,
        values: &ArrayRef,
        bytes: impl Fn(T::Native) -> [u8; WIDTH],
    ) {
        let numbers = values.as_primitive::<T>().values();
        self.numbers(values, |index| {
            numbers.get(index).map_or([0; WIDTH], |value| bytes(*value))
        });
    }

    /// Elements that are in their slots; nulls are zeros there.
    fn numbers<const WIDTH: usize>(
        &mut self,
        values: &ArrayRef,
        bytes: impl Fn(usize) -> [u8; WIDTH],
    ) {
        let end = self.first + self.range.len() * WIDTH;
        let slots = self.out.get_mut(self.first..end).unwrap_or(&mut []);
        let (slots, _) = slots.as_chunks_mut::<WIDTH>();
        let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
        for (index, slot) in self.range.clone().zip(slots) {
            if nulls.is_none_or(|nulls| nulls.is_valid(index)) {
                *slot = bytes(index);
            }
        }
    }

    /// Elements behind the slots. A function gives the bytes of one.
    fn bytes(&mut self, values: &ArrayRef, bytes: impl Fn(usize, &mut dyn FnMut(&[u8]))) {
        for (place, index) in self.range.clone().enumerate() {
            if values.is_null(index) {
                continue;
            }
            bytes(index, &mut |value| {
                let size = value.len() as u32;
                put(self.out, self.start + self.cursor as usize, value);
                self.place(place, size);
            });
        }
    }

    fn structs(&mut self, fields: &[Column], values: &ArrayRef) -> Result<()> {
        let first = self.range.start;
        let (sources, sizes) = structs(fields, values, self.range.clone())?;
        let mut starts = Vec::with_capacity(sources.len());
        for (source, size) in sources.iter().zip(sizes) {
            starts.push(self.start + self.cursor as usize);
            self.place(*source as usize - first, size);
        }
        // As in the sizes.
        let mut cursors = vec![fixed_bytes(fields.len()) as u32; sources.len()];
        let columns = values.as_struct().columns();
        write(fields, columns, &sources, &starts, &mut cursors, self.out)
    }

    /// Writes into a slot that an element of this size is next, and goes behind it.
    fn place(&mut self, slot: usize, size: u32) {
        put(self.out, self.first + slot * 8, &place(self.cursor, size));
        self.cursor += size.next_multiple_of(8);
    }
}
