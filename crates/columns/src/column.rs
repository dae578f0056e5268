//! One column: as it waits to be written, and as it is put together from frames.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType,
    Time64NanosecondType, TimestampMicrosecondType,
};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, BooleanBufferBuilder, NullArray,
    PrimitiveArray, StringViewArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::ByteViewType;
use catalyst::DataType;
use datafusion_common::Result;
use rows::error::bail_out;
use rows::types::ToArrow as _;

use crate::bits::{pack, packed_bytes};
use crate::input::{self, Damaged, Input, put_varint};
use crate::numbers;
use crate::text::{self, Texts, Views};
use crate::types::Values;

const AS_IS: u8 = 0;
const LZ4: u8 = 1;

const NO_NULLS: u8 = 0;
const ALL_NULL: u8 = 1;
const SOME_NULL: u8 = 2;

/// Wide decimals as numbers, or with all their bytes.
const SHORT: u8 = 0;
const LONG: u8 = 1;

/// Shorter contents are not compressed.
const WORTH_COMPRESSION: usize = 64;
/// Frames that are not tried after one that compression did not make shorter by an eighth.
const NOT_TRIED: u8 = 15;
/// LZ4 makes at most so many bytes of one.
const MOST_OF_LZ4: usize = 255;

/// Values that wait to be written, of the rows of one reducer.
#[derive(Debug)]
pub(crate) struct Waiting {
    values: Waiters,
    /// Whether rows have a value, once one has none.
    valid: Option<Vec<bool>>,
    rows: usize,
}

#[derive(Debug)]
enum Waiters {
    None,
    Numbers(Vec<i64>),
    Wide(Vec<i128>),
    Text { bytes: Vec<u8>, ends: Vec<u32> },
}

impl Waiting {
    pub(crate) fn new(data_type: &DataType) -> Self {
        let values = match Values::of(data_type) {
            Values::None => Waiters::None,
            Values::Numbers | Values::Bits => Waiters::Numbers(Vec::new()),
            Values::Wide => Waiters::Wide(Vec::new()),
            Values::Text => Waiters::Text {
                bytes: Vec::new(),
                ends: Vec::new(),
            },
        };
        Self {
            values,
            valid: None,
            rows: 0,
        }
    }

    /// Bytes of the values.
    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Waiters::None => 0,
            Waiters::Numbers(values) => values.len() * 8,
            Waiters::Wide(values) => values.len() * 16,
            Waiters::Text { bytes, ends } => bytes.len() + ends.len() * 4,
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.valid.as_ref().map_or(0, Vec::capacity)
            + match &self.values {
                Waiters::None => 0,
                Waiters::Numbers(values) => values.capacity() * 8,
                Waiters::Wide(values) => values.capacity() * 16,
                Waiters::Text { bytes, ends } => bytes.capacity() + ends.capacity() * 4,
            }
    }

    /// Forgets the values; memory beyond `most` bytes is given back.
    pub(crate) fn clear(&mut self, most: usize) {
        self.rows = 0;
        self.valid = None;
        match &mut self.values {
            Waiters::None => {}
            Waiters::Numbers(values) => {
                values.clear();
                values.shrink_to(most / 8);
            }
            Waiters::Wide(values) => {
                values.clear();
                values.shrink_to(most / 16);
            }
            Waiters::Text { bytes, ends } => {
                bytes.clear();
                bytes.shrink_to(most);
                ends.clear();
                ends.shrink_to(most / 4);
            }
        }
    }

    /// Appends some rows of an array, which has the type's Arrow type.
    pub(crate) fn append(
        &mut self,
        data_type: &DataType,
        array: &dyn Array,
        rows: &[u32],
    ) -> Result<()> {
        match &mut self.values {
            Waiters::None => {}
            Waiters::Numbers(values) => gather(data_type, array, rows, values),
            Waiters::Wide(values) => {
                let digits = array.as_primitive::<Decimal128Type>().values();
                let of = |row: &u32| digits.get(*row as usize).copied().unwrap_or(0);
                values.extend(rows.iter().map(of));
            }
            Waiters::Text { bytes, ends } => match data_type {
                DataType::String => gather_text(array.as_string_view(), rows, bytes, ends)?,
                _ => gather_text(array.as_binary_view(), rows, bytes, ends)?,
            },
        }
        self.append_nulls(array, rows);
        self.rows += rows.len();
        Ok(())
    }

    fn append_nulls(&mut self, array: &dyn Array, rows: &[u32]) {
        let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else {
            if let Some(valid) = &mut self.valid {
                valid.resize(self.rows + rows.len(), true);
            }
            return;
        };
        let before = self.rows;
        let valid = self.valid.get_or_insert_with(|| vec![true; before]);
        valid.extend(rows.iter().map(|row| nulls.is_valid(*row as usize)));
        match &mut self.values {
            Waiters::Numbers(values) => like_neighbours(values, valid, before),
            Waiters::Wide(values) => like_neighbours(values, valid, before),
            Waiters::None | Waiters::Text { .. } => {}
        }
    }

    /// Appends the payload of some rows, with its length.
    pub(crate) fn encode(
        &self,
        rows: Range<usize>,
        compression: &mut Compression,
        out: &mut Vec<u8>,
    ) {
        let mut content = std::mem::take(&mut compression.content);
        content.clear();
        self.encode_content(rows, &mut content);
        let compressed = match &self.values {
            Waiters::Text { .. } | Waiters::Wide(_) => compression.compress(&content),
            Waiters::Numbers(_) if compression.of_bits => compression.compress(&content),
            Waiters::None | Waiters::Numbers(_) => None,
        };
        match compressed {
            Some(compressed) => {
                let mut head = vec![LZ4];
                put_varint(content.len() as u64, &mut head);
                put_varint((head.len() + compressed.len()) as u64, out);
                out.extend_from_slice(&head);
                out.extend_from_slice(compressed);
            }
            None => {
                put_varint(content.len() as u64 + 1, out);
                out.push(AS_IS);
                out.extend_from_slice(&content);
            }
        }
        compression.content = content;
    }

    fn encode_content(&self, rows: Range<usize>, out: &mut Vec<u8>) {
        if matches!(self.values, Waiters::None) {
            return out.push(ALL_NULL);
        }
        let valid = self.valid.as_ref().and_then(|all| all.get(rows.clone()));
        match valid {
            Some(valid) if valid.iter().all(|valid| *valid) => out.push(NO_NULLS),
            Some(valid) if !valid.contains(&true) => return out.push(ALL_NULL),
            Some(valid) => {
                out.push(SOME_NULL);
                pack(valid.iter().map(|valid| u64::from(*valid)), 1, out);
            }
            None => out.push(NO_NULLS),
        }
        match &self.values {
            Waiters::None => {}
            Waiters::Numbers(values) => {
                numbers::encode(values.get(rows).unwrap_or(&[]), out);
            }
            Waiters::Wide(values) => encode_wide(values.get(rows).unwrap_or(&[]), out),
            Waiters::Text { bytes, ends } => {
                let before = rows.start.checked_sub(1);
                let start = before.and_then(|before| ends.get(before));
                let texts = Texts {
                    bytes,
                    ends: ends.get(rows).unwrap_or(&[]),
                    start: start.copied().unwrap_or(0),
                };
                text::encode(texts, out);
            }
        }
    }
}

/// Gives nulls from `start` on the value before them, which costs the least.
fn like_neighbours<T: Copy + Default>(values: &mut [T], valid: &[bool], start: usize) {
    let before = start.checked_sub(1);
    let mut last = before.and_then(|at| values.get(at)).copied();
    let from = values.iter_mut().zip(valid).skip(start);
    for (value, valid) in from {
        match valid {
            true => last = Some(*value),
            false => *value = last.unwrap_or_default(),
        }
    }
}

/// Appends the numbers that stand for values of a type.
fn gather(data_type: &DataType, array: &dyn Array, rows: &[u32], out: &mut Vec<i64>) {
    match data_type {
        DataType::Boolean => {
            let values = array.as_boolean().values();
            // Rows are those of the batch.
            out.extend(
                rows.iter()
                    .map(|row| i64::from(values.value(*row as usize))),
            );
        }
        DataType::Byte => primitive::<Int8Type>(array, rows, out, i64::from),
        DataType::Short => primitive::<Int16Type>(array, rows, out, i64::from),
        DataType::Integer => primitive::<Int32Type>(array, rows, out, i64::from),
        DataType::Date => primitive::<Date32Type>(array, rows, out, i64::from),
        DataType::YearMonthInterval => {
            primitive::<IntervalYearMonthType>(array, rows, out, i64::from);
        }
        DataType::Timestamp | DataType::TimestampNtz => {
            primitive::<TimestampMicrosecondType>(array, rows, out, |value| value);
        }
        DataType::DayTimeInterval => {
            primitive::<DurationMicrosecondType>(array, rows, out, |value| value);
        }
        DataType::Time(_) => {
            primitive::<Time64NanosecondType>(array, rows, out, |value| value);
        }
        DataType::Float => {
            primitive::<Float32Type>(array, rows, out, |value| value.to_bits().into());
        }
        DataType::Double => {
            primitive::<Float64Type>(array, rows, out, |value| value.to_bits() as i64);
        }
        // At most 18 digits.
        DataType::Decimal(_) => {
            primitive::<Decimal128Type>(array, rows, out, |value| value as i64);
        }
        _ => primitive::<Int64Type>(array, rows, out, |value| value),
    }
}

fn primitive<T: ArrowPrimitiveType>(
    array: &dyn Array,
    rows: &[u32],
    out: &mut Vec<i64>,
    number: impl Fn(T::Native) -> i64,
) {
    let values = array.as_primitive::<T>().values();
    let of = |row: &u32| values.get(*row as usize).map_or(0, |value| number(*value));
    out.extend(rows.iter().map(of));
}

fn gather_text<T: ByteViewType + ?Sized>(
    array: &arrow::array::GenericByteViewArray<T>,
    rows: &[u32],
    bytes: &mut Vec<u8>,
    ends: &mut Vec<u32>,
) -> Result<()> {
    for row in rows {
        let row = *row as usize;
        if array.is_valid(row) {
            let value: &[u8] = array.value(row).as_ref();
            bytes.extend_from_slice(value);
        }
        let end = u32::try_from(bytes.len());
        ends.push(end.map_err(|_| bail_out("more than 4 GiB of text for one reducer"))?);
    }
    Ok(())
}

fn encode_wide(values: &[i128], out: &mut Vec<u8>) {
    let short: Option<Vec<i64>> = values
        .iter()
        .map(|value| (*value).try_into().ok())
        .collect();
    match short {
        Some(short) => {
            out.push(SHORT);
            numbers::encode(&short, out);
        }
        None => {
            out.push(LONG);
            out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
}

/// What compression has saved of a column so far.
#[derive(Debug, Default)]
pub(crate) struct Compression {
    /// Whether numbers are tried too, as all their bits count.
    of_bits: bool,
    /// Frames that are not to be tried.
    skip: u8,
    content: Vec<u8>,
    compressed: Vec<u8>,
}

impl Compression {
    pub(crate) fn new(data_type: &DataType) -> Self {
        Self {
            of_bits: Values::of(data_type) == Values::Bits,
            ..Self::default()
        }
    }

    /// `None` if it saves less than an eighth.
    fn compress(&mut self, content: &[u8]) -> Option<&[u8]> {
        if content.len() < WORTH_COMPRESSION {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        let most = lz4_flex::block::get_maximum_output_size(content.len());
        if self.compressed.len() < most {
            self.compressed.resize(most, 0);
        }
        let length = lz4_flex::block::compress_into(content, &mut self.compressed).ok()?;
        if length >= content.len() - content.len() / 8 {
            self.skip = NOT_TRIED;
            return None;
        }
        self.compressed.get(..length)
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.content.capacity() + self.compressed.capacity()
    }

    /// Gives memory back.
    pub(crate) fn shrink(&mut self) {
        self.content = Vec::new();
        self.compressed = Vec::new();
    }
}

/// A column that is put together from frames.
pub(crate) struct ColumnBuilder<'c> {
    data_type: &'c DataType,
    values: Built,
    valid: Option<BooleanBufferBuilder>,
    rows: usize,
}

enum Built {
    None,
    Numbers(Vec<i64>),
    Wide(Vec<i128>),
    Text(Views),
}

impl<'c> ColumnBuilder<'c> {
    pub(crate) fn new(data_type: &'c DataType, rows: usize) -> Self {
        let values = match Values::of(data_type) {
            Values::None => Built::None,
            Values::Numbers | Values::Bits => Built::Numbers(Vec::with_capacity(rows)),
            Values::Wide => Built::Wide(Vec::with_capacity(rows)),
            Values::Text => Built::Text(Views::default()),
        };
        Self {
            data_type,
            values,
            valid: None,
            rows: 0,
        }
    }

    /// Appends the column of a frame of so many rows.
    pub(crate) fn append(&mut self, payload: &[u8], rows: usize) -> input::Result<()> {
        let mut payload = Input(payload);
        match payload.byte()? {
            AS_IS => self.append_content(payload, rows),
            LZ4 => {
                let most = payload.0.len().saturating_mul(MOST_OF_LZ4);
                let size = payload.length(most)?;
                let content = lz4_flex::block::decompress(payload.0, size);
                let content = content.map_err(|_| Damaged("bytes that are not LZ4"))?;
                self.append_content(Input(&content), rows)
            }
            _ => Err(Damaged("a payload of an unknown form")),
        }
    }

    fn append_content(&mut self, mut content: Input<'_>, rows: usize) -> input::Result<()> {
        let before = self.rows;
        self.rows += rows;
        let nulls = match content.byte()? {
            NO_NULLS => None,
            ALL_NULL => {
                self.valid(before).append_n(rows, false);
                match &mut self.values {
                    Built::None => {}
                    Built::Numbers(values) => values.resize(self.rows, 0),
                    Built::Wide(values) => values.resize(self.rows, 0),
                    Built::Text(views) => views.nulls(rows),
                }
                return content.end();
            }
            SOME_NULL => Some(content.bytes(packed_bytes(rows, 1))?),
            _ => return Err(Damaged("nulls of an unknown form")),
        };
        match (nulls, &mut self.valid) {
            (Some(bits), _) => self.valid(before).append_packed_range(0..rows, bits),
            (None, Some(valid)) => valid.append_n(rows, true),
            (None, None) => {}
        }
        match &mut self.values {
            Built::None => return Err(Damaged("values of no type")),
            Built::Numbers(values) => numbers::decode(&mut content, rows, values)?,
            Built::Wide(values) => decode_wide(&mut content, rows, values)?,
            Built::Text(views) => views.decode(&mut content, rows)?,
        }
        content.end()
    }

    /// Validity, of which so many rows are known already.
    fn valid(&mut self, before: usize) -> &mut BooleanBufferBuilder {
        self.valid.get_or_insert_with(|| {
            let mut valid = BooleanBufferBuilder::new(before);
            valid.append_n(before, true);
            valid
        })
    }

    pub(crate) fn finish(self) -> Result<ArrayRef> {
        let nulls = self.valid.map(|mut valid| NullBuffer::new(valid.finish()));
        match self.values {
            Built::None => Ok(Arc::new(NullArray::new(self.rows))),
            Built::Numbers(values) => array_of_numbers(self.data_type, values, nulls),
            Built::Wide(values) => {
                let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls);
                of_type(self.data_type, array)
            }
            Built::Text(text) => {
                let views = ScalarBuffer::from(text.views);
                let buffers = vec![Buffer::from(text.bytes)];
                Ok(match self.data_type {
                    DataType::String => {
                        let text = StringViewArray::try_new(views, buffers, nulls);
                        Arc::new(text.map_err(|_| bail_out("text that is not UTF-8"))?)
                    }
                    _ => Arc::new(BinaryViewArray::try_new(views, buffers, nulls)?),
                })
            }
        }
    }
}

fn decode_wide(content: &mut Input<'_>, rows: usize, out: &mut Vec<i128>) -> input::Result<()> {
    match content.byte()? {
        SHORT => {
            let mut short = Vec::with_capacity(rows);
            numbers::decode(content, rows, &mut short)?;
            out.extend(short.into_iter().map(i128::from));
        }
        LONG => {
            let bytes = content.bytes(rows.saturating_mul(16))?;
            let values = bytes.as_chunks().0.iter();
            out.extend(values.map(|value| i128::from_le_bytes(*value)));
        }
        _ => return Err(Damaged("decimals of an unknown form")),
    }
    Ok(())
}

/// Numbers that do not fit are cut off: no writer has any.
fn array_of_numbers(
    data_type: &DataType,
    values: Vec<i64>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    fn array<T: ArrowPrimitiveType>(
        values: Vec<i64>,
        nulls: Option<NullBuffer>,
        value: impl Fn(i64) -> T::Native,
    ) -> PrimitiveArray<T> {
        let values: Vec<_> = values.into_iter().map(value).collect();
        PrimitiveArray::new(values.into(), nulls)
    }
    Ok(match data_type {
        DataType::Boolean => {
            let values: BooleanBuffer = values.iter().map(|value| *value != 0).collect();
            Arc::new(BooleanArray::new(values, nulls))
        }
        DataType::Byte => Arc::new(array::<Int8Type>(values, nulls, |value| value as i8)),
        DataType::Short => Arc::new(array::<Int16Type>(values, nulls, |value| value as i16)),
        DataType::Integer => Arc::new(array::<Int32Type>(values, nulls, |value| value as i32)),
        DataType::Date => Arc::new(array::<Date32Type>(values, nulls, |value| value as i32)),
        DataType::YearMonthInterval => {
            let array = array::<IntervalYearMonthType>(values, nulls, |value| value as i32);
            Arc::new(array)
        }
        DataType::Float => {
            let array = array::<Float32Type>(values, nulls, |bits| f32::from_bits(bits as u32));
            Arc::new(array)
        }
        DataType::Double => {
            let array = array::<Float64Type>(values, nulls, |bits| f64::from_bits(bits as u64));
            Arc::new(array)
        }
        DataType::Long => Arc::new(PrimitiveArray::<Int64Type>::new(values.into(), nulls)),
        DataType::DayTimeInterval => {
            let array = PrimitiveArray::<DurationMicrosecondType>::new(values.into(), nulls);
            Arc::new(array)
        }
        DataType::Time(_) => Arc::new(PrimitiveArray::<Time64NanosecondType>::new(
            values.into(),
            nulls,
        )),
        DataType::Timestamp | DataType::TimestampNtz => {
            let array = PrimitiveArray::<TimestampMicrosecondType>::new(values.into(), nulls);
            return of_type(data_type, array);
        }
        DataType::Decimal(_) => {
            let array = array::<Decimal128Type>(values, nulls, i128::from);
            return of_type(data_type, array);
        }
        _ => return Err(bail_out("a column of another type")),
    })
}

/// The array with its zone, or its digits.
fn of_type<T: ArrowPrimitiveType>(
    data_type: &DataType,
    array: PrimitiveArray<T>,
) -> Result<ArrayRef> {
    let arrow = data_type.to_arrow();
    let arrow = arrow.map_err(|why| bail_out(why.to_string()))?;
    Ok(Arc::new(array.with_data_type(arrow)))
}
