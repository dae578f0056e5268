//! Columns in the making.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, IntervalYearMonthArray, LargeBinaryArray, NullArray, StringViewArray, StructArray,
    Time64NanosecondArray, TimestampMicrosecondArray,
};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType as ArrowType, IntervalUnit, TimeUnit};
use datafusion_common::Result;

use super::super::layout::{Column, Slot, fixed_bytes, null_bytes};
use super::RowSpan;
use super::bits::Bits;
use super::elements::{Lists, Maps};
use crate::error::bail_out;

/// Text of at most so many bytes is in the view itself.
const INLINE: usize = 12;

/// A column in the making.
pub(crate) struct ColumnBuilder<'c> {
    arrow: &'c ArrowType,
    /// Where the bit of nulls is in a row: byte and bit.
    null: (usize, usize),
    /// Where the slot is in a row.
    slot: usize,
    valid: Bits,
    values: Values<'c>,
}

/// Values of a column or of the elements of arrays.
pub(crate) enum Values<'c> {
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
    Array(Lists<'c>),
    Map(Box<Maps<'c>>),
}

/// The row of a null struct: nothing is at its place.
pub(super) const NOWHERE: RowSpan = RowSpan {
    offset: u32::MAX,
    size: 0,
};

impl<'c> ColumnBuilder<'c> {
    pub(super) fn new(column: &'c Column, index: usize, columns: usize, rows: usize) -> Self {
        Self {
            arrow: &column.arrow,
            null: (index / 8, index % 8),
            slot: null_bytes(columns) + index * 8,
            valid: Bits::with_capacity(rows),
            values: Values::new(column, rows),
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
                    own.push(match is_null(span) {
                        true => NOWHERE,
                        false => struct_at(span, slot(span), fixed)?,
                    });
                }
                for field in fields {
                    field.append(block, number, own)?;
                }
            }
            Values::Array(lists) => {
                for span in spans {
                    match is_null(span) {
                        true => lists.push_null()?,
                        false => lists.push(block, span, slot(span))?,
                    }
                }
                lists.append(block, number)?;
            }
            Values::Map(maps) => {
                for span in spans {
                    match is_null(span) {
                        true => maps.push_null()?,
                        false => maps.push(block, span, slot(span))?,
                    }
                }
                maps.append(block, number)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self, buffers: &Arc<[Buffer]>) -> Result<ArrayRef> {
        self.values.finish(self.arrow, self.valid, buffers)
    }
}

impl<'c> Values<'c> {
    pub(super) fn new(column: &'c Column, rows: usize) -> Self {
        match &column.slot {
            Slot::Null => Self::Null,
            Slot::Boolean => Self::Boolean(Bits::with_capacity(rows)),
            Slot::Byte => Self::Byte(Vec::with_capacity(rows)),
            Slot::Short => Self::Short(Vec::with_capacity(rows)),
            Slot::Integer => Self::Integer(Vec::with_capacity(rows)),
            Slot::Long => Self::Long(Vec::with_capacity(rows)),
            Slot::Float => Self::Float(Vec::with_capacity(rows)),
            Slot::Double => Self::Double(Vec::with_capacity(rows)),
            Slot::Decimal => Self::Decimal(Vec::with_capacity(rows)),
            Slot::WideDecimal { .. } => Self::WideDecimal(Vec::with_capacity(rows)),
            Slot::String | Slot::Binary | Slot::Variant => Self::Views(Vec::with_capacity(rows)),
            Slot::Struct(fields) => Self::Struct {
                fields: fields
                    .iter()
                    .enumerate()
                    .map(|(index, field)| ColumnBuilder::new(field, index, fields.len(), rows))
                    .collect(),
                spans: Vec::new(),
            },
            Slot::Array(element) => Self::Array(Lists::new(element, rows)),
            Slot::Map(entry) => Self::Map(Box::new(Maps::new(entry, rows))),
        }
    }

    /// All values; `valid` says which are not null.
    pub(crate) fn finish(
        self,
        arrow: &ArrowType,
        valid: Bits,
        buffers: &Arc<[Buffer]>,
    ) -> Result<ArrayRef> {
        let rows = valid.len;
        let nulls = valid.finish_nulls();
        let wrong = || bail_out("a column of another type");
        Ok(match self {
            Self::Null => Arc::new(NullArray::new(rows)),
            Self::Boolean(bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Self::Byte(values) => Arc::new(Int8Array::new(values.into(), nulls)),
            Self::Short(values) => Arc::new(Int16Array::new(values.into(), nulls)),
            Self::Integer(values) => match arrow {
                ArrowType::Int32 => Arc::new(Int32Array::new(values.into(), nulls)),
                ArrowType::Date32 => Arc::new(Date32Array::new(values.into(), nulls)),
                ArrowType::Interval(IntervalUnit::YearMonth) => {
                    Arc::new(IntervalYearMonthArray::new(values.into(), nulls))
                }
                _ => return Err(wrong()),
            },
            Self::Long(values) => match arrow {
                ArrowType::Int64 => Arc::new(Int64Array::new(values.into(), nulls)),
                ArrowType::Timestamp(TimeUnit::Microsecond, zone) => Arc::new(
                    TimestampMicrosecondArray::new(values.into(), nulls)
                        .with_timezone_opt(zone.clone()),
                ),
                ArrowType::Duration(TimeUnit::Microsecond) => {
                    Arc::new(DurationMicrosecondArray::new(values.into(), nulls))
                }
                ArrowType::Time64(TimeUnit::Nanosecond) => {
                    Arc::new(Time64NanosecondArray::new(values.into(), nulls))
                }
                _ => return Err(wrong()),
            },
            Self::Float(values) => Arc::new(Float32Array::new(values.into(), nulls)),
            Self::Double(values) => Arc::new(Float64Array::new(values.into(), nulls)),
            Self::Decimal(values) | Self::WideDecimal(values) => {
                Arc::new(Decimal128Array::new(values.into(), nulls).with_data_type(arrow.clone()))
            }
            Self::Views(views) => finish_views(arrow, views, buffers, nulls)?,
            Self::Struct { fields, .. } => {
                let ArrowType::Struct(names) = arrow else {
                    return Err(wrong());
                };
                let arrays = fields
                    .into_iter()
                    .map(|field| field.finish(buffers))
                    .collect::<Result<_>>()?;
                Arc::new(StructArray::try_new(names.clone(), arrays, nulls)?)
            }
            Self::Array(lists) => lists.finish(arrow, nulls, buffers)?,
            Self::Map(maps) => maps.finish(arrow, nulls, buffers)?,
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
        ArrowType::LargeBinary => {
            let bytes = BinaryViewArray::try_new(views, buffers, nulls)?;
            Arc::new(bytes.iter().collect::<LargeBinaryArray>())
        }
        _ => return Err(bail_out("a column of another type")),
    })
}

/// The 8 bytes at a place; 0 beyond the end.
#[inline]
pub(crate) fn slot(block: &[u8], at: usize) -> u64 {
    let bytes = block.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The row of a struct, which has these fixed bytes at least.
pub(super) fn struct_at(span: &RowSpan, slot: u64, fixed: usize) -> Result<RowSpan> {
    let (offset, size) = variable(span, slot)
        .filter(|(_, size)| *size >= fixed)
        .ok_or_else(|| bail_out("a struct outside of its row"))?;
    // Within a block of at most 2 GiB.
    Ok(RowSpan {
        offset: offset as u32,
        size: size as u32,
    })
}

/// Start in the block and length of what a slot tells the place of, if that is within the row.
#[inline]
pub(super) fn variable(span: &RowSpan, slot: u64) -> Option<(usize, usize)> {
    let (offset, length) = (slot >> 32, slot & u64::from(u32::MAX));
    if offset + length > u64::from(span.size) {
        return None;
    }
    Some((span.offset as usize + offset as usize, length as usize))
}

/// Arrow's view of some bytes of a block, the `number`th.
#[inline]
pub(crate) fn view(block: &[u8], number: u32, at: usize, length: usize) -> Option<u128> {
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
pub(crate) fn big_endian(bytes: &[u8]) -> Option<i128> {
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
