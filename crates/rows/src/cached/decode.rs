//! Batches to columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_null_array};
use arrow::buffer::{Buffer, NullBuffer};
use bytes::Bytes;
use catalyst::{DataType, Unsupported};
use datafusion_common::{DataFusionError, Result};

use super::compression::{Cursor, Place, Scheme, decompress};
use super::{CachedBatch, Layout, has_scheme};
use crate::RowSpan;
use crate::decode::{Bits, RowDecoder, Values, big_endian, view};
use crate::error::bail_out;
use crate::layout::{Column, Slot, fixed_bytes, null_bytes};

/// Decodes some columns of batches.
#[derive(Debug)]
pub struct CachedBatchDecoder {
    /// Columns of the table.
    all: usize,
    columns: Box<[(usize, DecodedColumn)]>,
    max_rows: usize,
}

/// How a column is decoded.
#[derive(Debug)]
struct DecodedColumn {
    column: Column,
    /// Of rows of this column alone, if its values are structs, arrays or maps.
    nested: Option<RowDecoder>,
}

impl CachedBatchDecoder {
    /// For tables with columns of these types, of which those at some places are decoded, in that order. Batches have
    /// so many rows at most.
    ///
    /// # Errors
    /// Columns of a type are not kept natively; a place is not there.
    pub fn new(
        types: &[DataType],
        places: &[usize],
        max_rows: i32,
    ) -> std::result::Result<Self, Unsupported> {
        let column = |place: &usize| {
            let missing = || Unsupported::of_use("a column that is not there");
            let data_type = types.get(*place).ok_or_else(missing)?;
            let column = super::column_of(data_type)?;
            let nested = match column.slot {
                Slot::Struct(_) | Slot::Array(_) | Slot::Map(_) => {
                    Some(RowDecoder::new([data_type])?)
                }
                _ => None,
            };
            Ok((*place, DecodedColumn { column, nested }))
        };
        Ok(Self {
            all: types.len(),
            columns: places
                .iter()
                .map(column)
                .collect::<std::result::Result<_, _>>()?,
            max_rows: usize::try_from(max_rows).unwrap_or(0),
        })
    }

    /// The columns.
    ///
    /// # Errors
    /// Bail-outs: the batch is not one of the table, or text is not UTF-8.
    pub fn decode(&self, batch: &CachedBatch) -> Result<Vec<ArrayRef>> {
        if batch.num_rows > self.max_rows || batch.buffers.len() != self.all {
            return Err(unreadable());
        }
        let columns = self.columns.iter();
        columns
            .map(|(place, column)| {
                let buffer = batch.buffers.get(*place).ok_or_else(unreadable)?;
                column.decode(buffer, batch.num_rows)
            })
            .collect()
    }
}

fn unreadable() -> DataFusionError {
    bail_out("a cached batch that cannot be read")
}

impl DecodedColumn {
    fn decode(&self, buffer: &Bytes, rows: usize) -> Result<ArrayRef> {
        let mut cursor = Cursor::new(buffer);
        let valid = read_nulls(&mut cursor, rows).ok_or_else(unreadable)?;
        let count = rows - valid.as_ref().map_or(0, NullBuffer::null_count);
        let scheme = match has_scheme(&self.column) {
            true => cursor.int().and_then(Scheme::of).ok_or_else(unreadable)?,
            false => Scheme::PassThrough,
        };
        if scheme != Scheme::PassThrough && !Scheme::all(&self.column.slot).contains(&scheme) {
            return Err(unreadable());
        }
        match Layout::of(&self.column) {
            Layout::Null if count == 0 => Ok(new_null_array(&self.column.arrow, rows)),
            Layout::Null => Err(unreadable()),
            Layout::Fixed(width) => {
                let values = decompress(scheme, &mut cursor, count, width);
                let values = values.ok_or_else(unreadable)?;
                let values = spread(values, valid.as_ref(), rows, 0);
                self.finish(self.fixed(values), valid.as_ref(), buffer, rows)
            }
            Layout::Variable => {
                let places = decompress(scheme, &mut cursor, count, 0);
                let places: Vec<Place> = places.ok_or_else(unreadable)?;
                self.variable(places, valid, buffer, rows)
            }
        }
    }

    fn finish(
        &self,
        values: Values<'_>,
        valid: Option<&NullBuffer>,
        buffer: &Bytes,
        rows: usize,
    ) -> Result<ArrayRef> {
        let buffers = Arc::from([Buffer::from(buffer.clone())]);
        let valid = Bits::of((0..rows).map(|row| valid.is_none_or(|valid| valid.is_valid(row))));
        values.finish(&self.column.arrow, valid, &buffers)
    }

    fn fixed(&self, values: Vec<i64>) -> Values<'static> {
        let values = values.into_iter();
        match self.column.slot {
            Slot::Boolean => Values::Boolean(Bits::of(values.map(|value| value != 0))),
            Slot::Byte => Values::Byte(values.map(|value| value as i8).collect()),
            Slot::Short => Values::Short(values.map(|value| value as i16).collect()),
            Slot::Integer => Values::Integer(values.map(|value| value as i32).collect()),
            Slot::Float => Values::Float(values.map(|v| f32::from_bits(v as u32)).collect()),
            Slot::Double => Values::Double(values.map(|v| f64::from_bits(v as u64)).collect()),
            Slot::Decimal => Values::Decimal(values.map(i128::from).collect()),
            _ => Values::Long(values.collect()),
        }
    }

    fn variable(
        &self,
        places: Vec<Place>,
        valid: Option<NullBuffer>,
        buffer: &Bytes,
        rows: usize,
    ) -> Result<ArrayRef> {
        if let Some(decoder) = &self.nested {
            return nested(decoder, &places, valid.as_ref(), buffer, rows);
        }
        if matches!(self.column.slot, Slot::WideDecimal { .. }) {
            let digits = |(at, length): &Place| big_endian(buffer.get(*at..*at + *length)?);
            let digits: Option<Vec<i128>> = places.iter().map(digits).collect();
            let digits = spread(digits.ok_or_else(unreadable)?, valid.as_ref(), rows, 0);
            return self.finish(Values::WideDecimal(digits), valid.as_ref(), buffer, rows);
        }
        let view = |(at, length): &Place| view(buffer, 0, *at, *length);
        let views: Option<Vec<u128>> = places.iter().map(view).collect();
        let views = spread(views.ok_or_else(unreadable)?, valid.as_ref(), rows, 0);
        self.finish(Values::Views(views), valid.as_ref(), buffer, rows)
    }
}

/// Structs, arrays and maps: as the only column of rows, which they lie in as they do here.
fn nested(
    decoder: &RowDecoder,
    places: &[Place],
    valid: Option<&NullBuffer>,
    buffer: &Bytes,
    rows: usize,
) -> Result<ArrayRef> {
    let mut block = Vec::new();
    let mut spans = Vec::with_capacity(rows);
    let mut places = places.iter();
    let fixed = fixed_bytes(1);
    for row in 0..rows {
        let start = block.len();
        if valid.is_some_and(|valid| valid.is_null(row)) {
            block.push(1);
            block.resize(start + fixed, 0);
        } else {
            let (at, length) = *places.next().ok_or_else(unreadable)?;
            block.resize(start + null_bytes(1), 0);
            block.extend_from_slice(&((fixed as u64) << 32 | length as u64).to_le_bytes());
            block.extend_from_slice(buffer.get(at..at + length).ok_or_else(unreadable)?);
        }
        let of = |length: usize| u32::try_from(length).map_err(|_| bail_out("a large row"));
        spans.push(RowSpan {
            offset: of(start)?,
            size: of(block.len() - start)?,
        });
    }
    let batch = decoder.decode(&[(block.into(), spans)])?;
    batch.columns().first().cloned().ok_or_else(unreadable)
}

/// Which rows are not null, if some are.
fn read_nulls(cursor: &mut Cursor<'_>, rows: usize) -> Option<Option<NullBuffer>> {
    let nulls = cursor.count()?;
    if nulls == 0 {
        return Some(None);
    }
    if nulls > rows {
        return None;
    }
    let mut valid = vec![true; rows];
    let mut least = 0;
    for _ in 0..nulls {
        let place = cursor.count().filter(|place| *place >= least)?;
        *valid.get_mut(place)? = false;
        least = place + 1;
    }
    Some(Some(NullBuffer::from(valid)))
}

/// Puts values at the places of the rows that are not null.
fn spread<V: Copy>(values: Vec<V>, valid: Option<&NullBuffer>, rows: usize, null: V) -> Vec<V> {
    let Some(valid) = valid else {
        return values;
    };
    let mut spread = vec![null; rows];
    for (place, value) in valid.valid_indices().zip(values) {
        if let Some(at) = spread.get_mut(place) {
            *at = value;
        }
    }
    spread
}
