//! Arrays and maps in the making.
//!
//! An array is the number of its elements, a bit set of nulls in words of 8 bytes, the elements, as wide as their type
//! and filled up to words, then what does not fit there, at places that count from the start of the array. A map is the
//! size of its array of keys, that array, and the array of its values.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::Result;

use super::super::layout::{Column, fixed_bytes, header_bytes};
use super::RowSpan;
use super::bits::Bits;
use super::builder::{NOWHERE, Values, big_endian, struct_at, variable, view};
use crate::error::bail_out;

/// An array in a block.
#[derive(Clone, Copy)]
struct ArrayAt {
    span: RowSpan,
    elements: u32,
}

impl ArrayAt {
    /// The array at a place, if all that it is to have before its variable bytes is there.
    fn find(block: &[u8], span: RowSpan, width: usize) -> Option<Self> {
        let start = span.offset as usize;
        let bytes = block.get(start..start.checked_add(span.size as usize)?)?;
        let elements = i64::from_le_bytes(*bytes.first_chunk()?);
        let elements = u32::try_from(elements).ok()?;
        let fixed = (elements as usize)
            .checked_mul(width)?
            .checked_add(header_bytes(elements as usize))?;
        (fixed <= bytes.len()).then_some(Self { span, elements })
    }

    fn nulls<'b>(&self, block: &'b [u8]) -> &'b [u8] {
        let start = self.span.offset as usize;
        let end = start + header_bytes(self.elements as usize);
        block.get(start + 8..end).unwrap_or(&[])
    }

    fn elements<'b>(&self, block: &'b [u8], width: usize) -> &'b [u8] {
        let count = self.elements as usize;
        let start = self.span.offset as usize + header_bytes(count);
        block.get(start..start + count * width).unwrap_or(&[])
    }

    /// Slots of elements of 8 bytes, `None` for nulls.
    fn slots<'b>(&self, block: &'b [u8]) -> impl Iterator<Item = Option<u64>> + use<'b> {
        let nulls = self.nulls(block);
        let (slots, _) = self.elements(block, 8).as_chunks::<8>();
        slots.iter().enumerate().map(move |(index, slot)| {
            let byte = nulls.get(index / 8).copied().unwrap_or(0xFF);
            (byte >> (index % 8) & 1 == 0).then(|| u64::from_le_bytes(*slot))
        })
    }
}

/// Arrays of a column in the making.
pub(crate) struct Lists<'c> {
    elements: Elements<'c>,
    offsets: Offsets,
    /// Those that were pushed and not appended yet.
    pending: Vec<ArrayAt>,
}

impl<'c> Lists<'c> {
    pub(super) fn new(element: &'c Column, rows: usize) -> Self {
        Self {
            elements: Elements::new(element),
            offsets: Offsets::with_capacity(rows),
            pending: Vec::new(),
        }
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.offsets.push(0)
    }

    /// The array whose place a slot tells.
    pub(super) fn push(&mut self, block: &[u8], span: &RowSpan, slot: u64) -> Result<()> {
        let array = within(span, slot)
            .and_then(|span| ArrayAt::find(block, span, self.elements.width))
            .ok_or_else(|| bail_out("an array outside of its row"))?;
        self.offsets.push(array.elements)?;
        self.pending.push(array);
        Ok(())
    }

    /// Reads the elements of what was pushed.
    pub(super) fn append(&mut self, block: &[u8], number: u32) -> Result<()> {
        self.elements.append(block, number, &self.pending)?;
        self.pending.clear();
        Ok(())
    }

    pub(super) fn finish(
        self,
        arrow: &ArrowType,
        nulls: Option<NullBuffer>,
        buffers: &Arc<[Buffer]>,
    ) -> Result<ArrayRef> {
        let ArrowType::List(field) = arrow else {
            return Err(bail_out("a column of another type"));
        };
        let values = self.elements.finish(buffers)?;
        let offsets = self.offsets.finish();
        let array = ListArray::try_new(Arc::clone(field), offsets, values, nulls)?;
        Ok(Arc::new(array))
    }
}

/// Maps of a column in the making.
pub(crate) struct Maps<'c> {
    keys: Elements<'c>,
    values: Elements<'c>,
    offsets: Offsets,
    pending_keys: Vec<ArrayAt>,
    pending_values: Vec<ArrayAt>,
}

impl<'c> Maps<'c> {
    pub(super) fn new(entry: &'c [Column; 2], rows: usize) -> Self {
        let [key, value] = entry;
        Self {
            keys: Elements::new(key),
            values: Elements::new(value),
            offsets: Offsets::with_capacity(rows),
            pending_keys: Vec::new(),
            pending_values: Vec::new(),
        }
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.offsets.push(0)
    }

    /// The map whose place a slot tells.
    pub(super) fn push(&mut self, block: &[u8], span: &RowSpan, slot: u64) -> Result<()> {
        let (keys, values) = within(span, slot)
            .and_then(|span| {
                let start = span.offset as usize;
                let size = i64::from_le_bytes(*block.get(start..)?.first_chunk()?);
                let size = u32::try_from(size).ok()?;
                let rest = span.size.checked_sub(8)?.checked_sub(size)?;
                let keys = RowSpan {
                    offset: span.offset + 8,
                    size,
                };
                let values = RowSpan {
                    offset: span.offset + 8 + size,
                    size: rest,
                };
                let keys = ArrayAt::find(block, keys, self.keys.width)?;
                let values = ArrayAt::find(block, values, self.values.width)?;
                (keys.elements == values.elements).then_some((keys, values))
            })
            .ok_or_else(|| bail_out("a map outside of its row"))?;
        self.offsets.push(keys.elements)?;
        self.pending_keys.push(keys);
        self.pending_values.push(values);
        Ok(())
    }

    /// Reads the entries of what was pushed.
    pub(super) fn append(&mut self, block: &[u8], number: u32) -> Result<()> {
        self.keys.append(block, number, &self.pending_keys)?;
        self.values.append(block, number, &self.pending_values)?;
        self.pending_keys.clear();
        self.pending_values.clear();
        Ok(())
    }

    pub(super) fn finish(
        self,
        arrow: &ArrowType,
        nulls: Option<NullBuffer>,
        buffers: &Arc<[Buffer]>,
    ) -> Result<ArrayRef> {
        let wrong = || bail_out("a column of another type");
        let ArrowType::Map(field, sorted) = arrow else {
            return Err(wrong());
        };
        let ArrowType::Struct(entry) = field.data_type() else {
            return Err(wrong());
        };
        let columns = vec![self.keys.finish(buffers)?, self.values.finish(buffers)?];
        // Fails for a null key.
        let entries = StructArray::try_new(entry.clone(), columns, None)?;
        let offsets = self.offsets.finish();
        let array = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?;
        Ok(Arc::new(array))
    }
}

/// Where arrays end among all elements.
struct Offsets {
    all: Vec<i32>,
    end: i32,
}

impl Offsets {
    fn with_capacity(rows: usize) -> Self {
        let mut all = Vec::with_capacity(rows + 1);
        all.push(0);
        Self { all, end: 0 }
    }

    fn push(&mut self, elements: u32) -> Result<()> {
        let elements = i32::try_from(elements).ok();
        let end = elements.and_then(|elements| self.end.checked_add(elements));
        self.end = end.ok_or_else(|| bail_out("too many elements of arrays"))?;
        self.all.push(self.end);
        Ok(())
    }

    fn finish(self) -> OffsetBuffer<i32> {
        OffsetBuffer::new(self.all.into())
    }
}

/// Elements of arrays in the making.
struct Elements<'c> {
    arrow: &'c ArrowType,
    width: usize,
    valid: Bits,
    values: Box<Values<'c>>,
}

impl<'c> Elements<'c> {
    fn new(column: &'c Column) -> Self {
        Self {
            arrow: &column.arrow,
            width: column.slot.width(),
            valid: Bits::with_capacity(0),
            values: Box::new(Values::new(column, 0)),
        }
    }

    /// The elements of some arrays of a block, the `number`th.
    fn append(&mut self, block: &[u8], number: u32, arrays: &[ArrayAt]) -> Result<()> {
        for array in arrays {
            self.valid
                .extend_valid(array.nulls(block), array.elements as usize);
        }
        match &mut *self.values {
            Values::Null => {}
            Values::Boolean(bits) => {
                for array in arrays {
                    for byte in array.elements(block, 1) {
                        bits.push(u64::from(*byte != 0), 1);
                    }
                }
            }
            Values::Byte(values) => numbers(block, arrays, values, i8::from_le_bytes),
            Values::Short(values) => numbers(block, arrays, values, i16::from_le_bytes),
            Values::Integer(values) => numbers(block, arrays, values, i32::from_le_bytes),
            Values::Long(values) => numbers(block, arrays, values, i64::from_le_bytes),
            Values::Float(values) => numbers(block, arrays, values, f32::from_le_bytes),
            Values::Double(values) => numbers(block, arrays, values, f64::from_le_bytes),
            Values::Decimal(values) => {
                numbers(block, arrays, values, |bytes| {
                    i64::from_le_bytes(bytes).into()
                });
            }
            Values::WideDecimal(values) => each(block, arrays, |span, slot| {
                let digits = slot.map(|slot| {
                    let (at, length) = variable(span, slot)?;
                    big_endian(block.get(at..at.checked_add(length)?)?)
                });
                let digits = digits.unwrap_or(Some(0));
                values.push(digits.ok_or_else(|| bail_out("a decimal outside of its array"))?);
                Ok(())
            })?,
            Values::Views(views) => apart(block, arrays, |span, slot| {
                let found = slot.map(|slot| {
                    let (at, length) = variable(span, slot)?;
                    view(block, number, at, length)
                });
                let found = found.unwrap_or(Some(0));
                views.push(found.ok_or_else(|| bail_out("text outside of its array"))?);
                Ok(())
            })?,
            Values::Struct { fields, spans } => {
                let fixed = fixed_bytes(fields.len());
                spans.clear();
                apart(block, arrays, |span, slot| {
                    spans.push(match slot {
                        Some(slot) => struct_at(span, slot, fixed)?,
                        None => NOWHERE,
                    });
                    Ok(())
                })?;
                for field in fields {
                    field.append(block, number, spans)?;
                }
            }
            Values::Array(lists) => {
                apart(block, arrays, |span, slot| match slot {
                    Some(slot) => lists.push(block, span, slot),
                    None => lists.push_null(),
                })?;
                lists.append(block, number)?;
            }
            Values::Map(maps) => {
                apart(block, arrays, |span, slot| match slot {
                    Some(slot) => maps.push(block, span, slot),
                    None => maps.push_null(),
                })?;
                maps.append(block, number)?;
            }
        }
        Ok(())
    }

    fn finish(self, buffers: &Arc<[Buffer]>) -> Result<ArrayRef> {
        self.values.finish(self.arrow, self.valid, buffers)
    }
}

fn numbers<const WIDTH: usize, T>(
    block: &[u8],
    arrays: &[ArrayAt],
    values: &mut Vec<T>,
    of: impl Fn([u8; WIDTH]) -> T,
) {
    for array in arrays {
        let (elements, _) = array.elements(block, WIDTH).as_chunks::<WIDTH>();
        values.extend(elements.iter().map(|bytes| of(*bytes)));
    }
}

/// Calls a function with the place of the array and the slot of each element.
fn each(
    block: &[u8],
    arrays: &[ArrayAt],
    mut of: impl FnMut(&RowSpan, Option<u64>) -> Result<()>,
) -> Result<()> {
    for array in arrays {
        for slot in array.slots(block) {
            of(&array.span, slot)?;
        }
    }
    Ok(())
}

/// As [`each`], for elements that have bytes of their own: together they are no more than the array has. Otherwise few
/// bytes that many elements mean, on several levels, would become many values.
fn apart(
    block: &[u8],
    arrays: &[ArrayAt],
    mut of: impl FnMut(&RowSpan, Option<u64>) -> Result<()>,
) -> Result<()> {
    for array in arrays {
        let mut room = u64::from(array.span.size);
        for slot in array.slots(block) {
            let size = slot.map_or(0, |slot| slot & u64::from(u32::MAX));
            let left = room.checked_sub(size);
            room = left.ok_or_else(|| bail_out("elements that lie in each other"))?;
            of(&array.span, slot)?;
        }
    }
    Ok(())
}

/// What a slot tells the place of.
fn within(span: &RowSpan, slot: u64) -> Option<RowSpan> {
    let (offset, size) = variable(span, slot)?;
    Some(RowSpan {
        // Within a block of at most 2 GiB.
        offset: u32::try_from(offset).ok()?,
        size: u32::try_from(size).ok()?,
    })
}
