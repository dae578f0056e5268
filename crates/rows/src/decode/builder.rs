//! Columns in the making.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, IntervalYearMonthArray, NullArray, StringViewArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType as ArrowType, IntervalUnit, TimeUnit};
use datafusion_common::Result;

use super::super::layout::{Column, Slot, fixed_bytes, null_bytes};
use super::RowSpan;
use crate::error::bail_out;

/// Text of at most so many bytes is in the view itself.
const INLINE: usize = 12;

/// A column in the making.
pub(super) struct ColumnBuilder<'c> {
    arrow: &'c ArrowType,
    /// Where the bit of nulls is in a row: byte and bit.
    null: (usize, usize),
    /// Where the slot is in a row.
    slot: usize,
    valid: Bits,
    values: Values<'c>,
}

enum Values<'c> {
    Null,
    Boolean(Bits),
    Byte(Vec<i8>),
    Short(Vec<i16>),
    Integer(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Decimal(Vec<i128>),
    WideDecimal(Vec<i128>),
    Views(Vec<u128>),
    Struct {
        fields: Vec<ColumnBuilder<'c>>,
        spans: Vec<RowSpan>,
    },
}

/// The row of a null struct: nothing is at its place.
const NOWHERE: RowSpan = RowSpan {
    offset: u32::MAX,
    size: 0,
};

impl<'c> ColumnBuilder<'c> {
    pub(super) fn new(column: &'c Column, index: usize, columns: usize, rows: usize) -> Self {
        let values = match &column.slot {
            Slot::Null => Values::Null,
            Slot::Boolean => Values::Boolean(Bits::with_capacity(rows)),
            Slot::Byte => Values::Byte(Vec::with_capacity(rows)),
            Slot::Short => Values::Short(Vec::with_capacity(rows)),
            Slot::Integer => Values::Integer(Vec::with_capacity(rows)),
            Slot::Long => Values::Long(Vec::with_capacity(rows)),
            Slot::Float => Values::Float(Vec::with_capacity(rows)),
            Slot::Double => Values::Double(Vec::with_capacity(rows)),
            Slot::Decimal => Values::Decimal(Vec::with_capacity(rows)),
            Slot::WideDecimal => Values::WideDecimal(Vec::with_capacity(rows)),
            Slot::String | Slot::Binary => Values::Views(Vec::with_capacity(rows)),
            Slot::Struct(fields) => Values::Struct {
                fields: fields
                    .iter()
                    .enumerate()
                    .map(|(index, field)| Self::new(field, index, fields.len(), rows))
                    .collect(),
                spans: Vec::new(),
            },
        };
        Self {
            arrow: &column.arrow,
            null: (index / 8, index % 8),
            slot: null_bytes(columns) + index * 8,
            valid: Bits::with_capacity(rows),
            values,
        }
    }

    /// The values of some rows of a block, the `number`th.
    pub(super) fn append(&mut self, block: &[u8], number: u32, spans: &[RowSpan]) -> Result<()> {
        let (byte, bit) = self.null;
        let is_null = |span: &RowSpan| {
            let byte = block.get(span.offset as usize + byte);
            byte.is_none_or(|byte| byte >> bit & 1 == 1)
        };
        self.valid.extend(spans, |span| !is_null(span));
        let at = self.slot;
        let slot = |span: &RowSpan| slot(block, span.offset as usize + at);
        // What does not fit is cut off: slots are wider than most values.
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(bits) => bits.extend(spans, |span| slot(span) as u8 != 0),
            Values::Byte(values) => values.extend(spans.iter().map(|span| slot(span) as i8)),
            Values::Short(values) => values.extend(spans.iter().map(|span| slot(span) as i16)),
            Values::Integer(values) => values.extend(spans.iter().map(|span| slot(span) as i32)),
            Values::Long(values) => values.extend(spans.iter().map(|span| slot(span) as i64)),
            Values::Float(values) => {
                values.extend(spans.iter().map(|span| f32::from_bits(slot(span) as u32)));
            }
            Values::Double(values) => {
                values.extend(spans.iter().map(|span| f64::from_bits(slot(span))));
            }
            Values::Decimal(values) => {
                values.extend(spans.iter().map(|span| i128::from(slot(span) as i64)));
            }
            Values::WideDecimal(values) => {
                for span in spans {
                    let digits = variable(span, slot(span)).and_then(|(at, length)| {
                        big_endian(block.get(at..at.checked_add(length)?)?)
                    });
                    values.push(match digits {
                        Some(digits) => digits,
                        None if is_null(span) => 0,
                        None => return Err(bail_out("a decimal outside of its row")),
                    });
                }
            }
            Values::Views(views) => {
                for span in spans {
                    let found = variable(span, slot(span))
                        .and_then(|(at, length)| view(block, number, at, length));
                    views.push(match found {
                        Some(view) => view,
                        None if is_null(span) => 0,
                        None => return Err(bail_out("text outside of its row")),
                    });
                }
            }
            Values::Struct { fields, spans: own } => {
                let fixed = fixed_bytes(fields.len());
                own.clear();
                for span in spans {
                    if is_null(span) {
                        own.push(NOWHERE);
                        continue;
                    }
                    let (offset, size) = variable(span, slot(span))
                        .filter(|(_, size)| *size >= fixed)
                        .ok_or_else(|| bail_out("a struct outside of its row"))?;
                    // Within a block of at most 2 GiB.
                    own.push(RowSpan {
                        offset: offset as u32,
                        size: size as u32,
                    });
                }
                for field in fields {
                    field.append(block, number, own)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(self, buffers: &Arc<[Buffer]>) -> Result<ArrayRef> {
        let rows = self.valid.len;
        let nulls = self.valid.finish_nulls();
        let wrong = || bail_out("a column of another type");
        Ok(match self.values {
            Values::Null => Arc::new(NullArray::new(rows)),
            Values::Boolean(bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Values::Byte(values) => Arc::new(Int8Array::new(values.into(), nulls)),
            Values::Short(values) => Arc::new(Int16Array::new(values.into(), nulls)),
            Values::Integer(values) => match self.arrow {
                ArrowType::Int32 => Arc::new(Int32Array::new(values.into(), nulls)),
                ArrowType::Date32 => Arc::new(Date32Array::new(values.into(), nulls)),
                ArrowType::Interval(IntervalUnit::YearMonth) => {
                    Arc::new(IntervalYearMonthArray::new(values.into(), nulls))
                }
                _ => return Err(wrong()),
            },
            Values::Long(values) => match self.arrow {
                ArrowType::Int64 => Arc::new(Int64Array::new(values.into(), nulls)),
                ArrowType::Timestamp(TimeUnit::Microsecond, zone) => Arc::new(
                    TimestampMicrosecondArray::new(values.into(), nulls)
                        .with_timezone_opt(zone.clone()),
                ),
                ArrowType::Duration(TimeUnit::Microsecond) => {
                    Arc::new(DurationMicrosecondArray::new(values.into(), nulls))
                }
                _ => return Err(wrong()),
            },
            Values::Float(values) => Arc::new(Float32Array::new(values.into(), nulls)),
            Values::Double(values) => Arc::new(Float64Array::new(values.into(), nulls)),
            Values::Decimal(values) | Values::WideDecimal(values) => Arc::new(
                Decimal128Array::new(values.into(), nulls).with_data_type(self.arrow.clone()),
            ),
            Values::Views(views) => finish_views(self.arrow, views, buffers, nulls)?,
            Values::Struct { fields, .. } => {
                let ArrowType::Struct(names) = self.arrow else {
                    return Err(wrong());
                };
                let arrays = fields
                    .into_iter()
                    .map(|field| field.finish(buffers))
                    .collect::<Result<_>>()?;
                Arc::new(StructArray::try_new(names.clone(), arrays, nulls)?)
            }
        })
    }
}

fn finish_views(
    arrow: &ArrowType,
    views: Vec<u128>,
    buffers: &Arc<[Buffer]>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    // Lengths are the low halves of views' low words.
    let lengths = views.iter().map(|view| *view as u32 as usize);
    let used: usize = lengths.filter(|length| *length > INLINE).sum();
    let kept: usize = buffers.iter().map(Buffer::len).sum();
    let views = ScalarBuffer::from(views);
    let buffers = if used == 0 {
        Arc::from([])
    } else {
        Arc::clone(buffers)
    };
    // Whoever keeps the column keeps the blocks: not for little in them.
    let compact = used > 0 && used < kept / 4;
    Ok(match arrow {
        ArrowType::Utf8View => {
            let text = StringViewArray::try_new(views, buffers, nulls)
                .map_err(|_| bail_out("text that is not UTF-8"))?;
            Arc::new(if compact { text.gc() } else { text })
        }
        ArrowType::BinaryView => {
            let bytes = BinaryViewArray::try_new(views, buffers, nulls)?;
            Arc::new(if compact { bytes.gc() } else { bytes })
        }
        _ => return Err(bail_out("a column of another type")),
    })
}

/// The 8 bytes at a place; 0 beyond the end.
#[inline]
fn slot(block: &[u8], at: usize) -> u64 {
    let bytes = block.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Start in the block and length of what a slot tells the place of, if that is within the row.
#[inline]
fn variable(span: &RowSpan, slot: u64) -> Option<(usize, usize)> {
    let (offset, length) = (slot >> 32, slot & u64::from(u32::MAX));
    if offset + length > u64::from(span.size) {
        return None;
    }
    Some((span.offset as usize + offset as usize, length as usize))
}

/// Arrow's view of some bytes of a block, the `number`th.
#[inline]
pub(super) fn view(block: &[u8], number: u32, at: usize, length: usize) -> Option<u128> {
    let bytes = block.get(at..at.checked_add(length)?)?;
    if length <= INLINE {
        // Rows are padded: mostly there are 16 bytes to read at once.
        let raw = match block.get(at..).and_then(<[u8]>::first_chunk::<16>) {
            Some(raw) => u128::from_le_bytes(*raw),
            None => bytes
                .iter()
                .rev()
                .fold(0, |raw, byte| raw << 8 | u128::from(*byte)),
        };
        let kept = raw & ((1 << (8 * length)) - 1);
        return Some(kept << 32 | length as u128);
    }
    let prefix = u32::from_le_bytes(*bytes.first_chunk()?);
    // Within a block of at most 2 GiB.
    Some((at as u128) << 96 | u128::from(number) << 64 | u128::from(prefix) << 32 | length as u128)
}

/// Two's complement of at most 16 bytes.
#[inline]
fn big_endian(bytes: &[u8]) -> Option<i128> {
    if bytes.len() > 16 {
        return None;
    }
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let start = if negative { -1 } else { 0 };
    Some(
        bytes
            .iter()
            .fold(start, |digits: i128, byte| digits << 8 | i128::from(*byte)),
    )
}

/// Bits in the making.
struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    fn with_capacity(bits: usize) -> Self {
        Self {
            words: Vec::with_capacity(bits.div_ceil(64) + 1),
            len: 0,
        }
    }

    #[inline]
    fn extend(&mut self, spans: &[RowSpan], bit: impl Fn(&RowSpan) -> bool) {
        for chunk in spans.chunks(64) {
            let mut word = 0;
            for (shift, span) in chunk.iter().enumerate() {
                word |= u64::from(bit(span)) << shift;
            }
            self.push(word, chunk.len());
        }
    }

    /// The low `count` bits of a word, 1 to 64.
    #[inline]
    fn push(&mut self, word: u64, count: usize) {
        let used = self.len % 64;
        if let (1.., Some(last)) = (used, self.words.last_mut()) {
            *last |= word << used;
            if used + count > 64 {
                self.words.push(word >> (64 - used));
            }
        } else {
            self.words.push(word);
        }
        self.len += count;
    }

    fn finish(self) -> BooleanBuffer {
        BooleanBuffer::new(Buffer::from_vec(self.words), 0, self.len)
    }

    fn finish_nulls(self) -> Option<NullBuffer> {
        Some(NullBuffer::new(self.finish())).filter(|nulls| nulls.null_count() > 0)
    }
}
