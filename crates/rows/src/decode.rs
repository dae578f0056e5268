//! From rows to columns.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::{Buffer, ScalarBuffer};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion_common::{DataFusionError, Result};

use super::layout::{Column, fixed_bytes, opaque_schema};
use crate::error::bail_out;
use crate::types::schema_of_types;
use catalyst::DataType;
use catalyst::Unsupported;

mod bits;
mod builder;
mod elements;

pub(crate) use bits::Bits;
use builder::ColumnBuilder;
pub(crate) use builder::{Values, big_endian, slot, view};

/// Rows of a batch at most.
pub const BATCH_ROWS: usize = 8192;

/// Bytes of rows after which a batch ends before it has that many rows.
const BATCH_BYTES: usize = 16 << 20;

/// Rows that are taken through all columns before the next are: they stay in the processor's cache.
const TILE: usize = 256;

/// The largest row, and the largest block: places in them are 32 bits wide.
const MAX_BYTES: usize = i32::MAX as usize;

/// Where a row lies in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowSpan {
    /// Where it starts.
    pub offset: u32,
    /// Bytes of it.
    pub size: u32,
}

/// Rows of `UnsafeRowSerializer` streams to batches. Text and binary columns are views into the blocks, if that does
/// not keep much more in memory than they hold.
///
/// ```text
/// loop {
///     if let Some(batch) = decoder.next()? { … continue }
///     match stream.next()? {
///         Some(block) => decoder.push(block),
///         None => { decoder.finish()? …; break }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct RowDecoder {
    /// Columns that are decoded, with their places; `None` for whole rows.
    columns: Option<Box<[(usize, Column)]>>,
    /// Columns of the rows; 0 if that is not known.
    num_fields: usize,
    schema: SchemaRef,
    /// Blocks of which rows are to be read yet, the first from `position`.
    blocks: VecDeque<Bytes>,
    position: usize,
    /// The beginning of a row whose end is in the next block.
    tail: Vec<u8>,
    /// Rows of the next batch.
    rows: Vec<(Bytes, Vec<RowSpan>)>,
    num_rows: usize,
    num_bytes: usize,
}

impl RowDecoder {
    /// For rows with these columns.
    ///
    /// # Errors
    /// Columns of a type are not kept natively.
    pub fn new<'a>(
        types: impl IntoIterator<Item = &'a DataType> + Clone,
    ) -> std::result::Result<Self, Unsupported> {
        let schema = schema_of_types(types.clone())?;
        let columns: Vec<_> = Column::all(types)?.into_iter().enumerate().collect();
        let num_fields = columns.len();
        Ok(Self::with(Some(columns.into()), num_fields, schema))
    }

    /// For rows with these columns, of which only those at some places are decoded, in that order. Others may have any
    /// type.
    ///
    /// # Errors
    /// Columns of a type are not kept natively; a place is not there.
    pub fn of_places(
        types: &[DataType],
        places: &[usize],
    ) -> std::result::Result<Self, Unsupported> {
        let of = |place: &usize| {
            let missing = || Unsupported::of_use("a column that is not there");
            types.get(*place).ok_or_else(missing)
        };
        let chosen = places
            .iter()
            .map(of)
            .collect::<std::result::Result<Vec<_>, _>>()?;
        let schema = schema_of_types(chosen.iter().copied())?;
        let columns = Column::all(chosen)?.into_iter();
        let columns = places.iter().copied().zip(columns).collect();
        Ok(Self::with(Some(columns), types.len(), schema))
    }

    /// For rows that nobody looks into, of so many columns if that is known.
    #[must_use]
    pub fn opaque(num_fields: Option<usize>) -> Self {
        Self::with(None, num_fields.unwrap_or(0), opaque_schema())
    }

    fn with(columns: Option<Box<[(usize, Column)]>>, num_fields: usize, schema: SchemaRef) -> Self {
        Self {
            columns,
            num_fields,
            schema,
            blocks: VecDeque::new(),
            position: 0,
            tail: Vec::new(),
            rows: Vec::new(),
            num_rows: 0,
            num_bytes: 0,
        }
    }

    /// Schema of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// More of a stream. A row may start in one block and end in the next.
    pub fn push(&mut self, block: Bytes) {
        if !block.is_empty() {
            self.blocks.push_back(block);
        }
    }

    /// A full batch; `None` if more blocks are needed for it.
    ///
    /// # Errors
    /// Bail-outs: the bytes are no such stream, or text is not UTF-8.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(block) = self.blocks.pop_front() {
            let block = self.complete_row(block)?;
            if block.len() > MAX_BYTES {
                return Err(bail_out("a block of more than 2 GiB"));
            }
            let end = self.scan(&block)?;
            if end < block.len() {
                if self.is_full() {
                    self.blocks.push_front(block);
                    self.position = end;
                    return self.flush().map(Some);
                }
                self.tail.extend_from_slice(block.get(end..).unwrap_or(&[]));
            }
            self.position = 0;
            if self.is_full() {
                return self.flush().map(Some);
            }
        }
        Ok(None)
    }

    /// The last batch, after [`RowDecoder::next`] gave `None` and there are no more blocks.
    ///
    /// # Errors
    /// As [`RowDecoder::next`]; a row has no end.
    pub fn finish(&mut self) -> Result<Option<RecordBatch>> {
        if !self.tail.is_empty() || !self.blocks.is_empty() {
            return Err(bail_out("a stream of rows that ends early"));
        }
        if self.num_rows == 0 {
            return Ok(None);
        }
        self.flush().map(Some)
    }

    /// Takes from a block what the row lacks that started in the one before. Gives what is left of the block.
    fn complete_row(&mut self, mut block: Bytes) -> Result<Bytes> {
        if self.tail.is_empty() {
            return Ok(block);
        }
        loop {
            let wanted = match self.tail.first_chunk::<4>() {
                Some(size) => row_size(*size)?.map_or(4, |size| size + 4),
                None => 4,
            };
            let missing = wanted - self.tail.len().min(wanted);
            if missing == 0 {
                break;
            }
            let part = block.split_to(missing.min(block.len()));
            if part.is_empty() {
                return Ok(block);
            }
            self.tail.extend_from_slice(&part);
        }
        let row = Bytes::from(std::mem::take(&mut self.tail));
        let position = std::mem::take(&mut self.position);
        self.scan(&row)?;
        self.position = position;
        Ok(block)
    }

    /// Adds rows of a block from the position to the batch until that is full. Gives where it ended: before a row that
    /// is not whole, if the batch is not full.
    fn scan(&mut self, block: &Bytes) -> Result<usize> {
        let mut at = self.position;
        let mut spans = Vec::new();
        let mut bytes = 0;
        while let Some(size) = block.get(at..).and_then(<[u8]>::first_chunk) {
            if self.num_rows + spans.len() >= BATCH_ROWS || self.num_bytes + bytes >= BATCH_BYTES {
                break;
            }
            let Some(size) = row_size(*size)? else {
                // The end of a stream that says so.
                at += 4;
                continue;
            };
            if size < fixed_bytes(self.num_fields) {
                return Err(bail_out("a row that is too short"));
            }
            let (start, end) = (at + 4, at + 4 + size);
            if end > block.len() {
                break;
            }
            // Within a block of at most 2 GiB.
            spans.push(RowSpan {
                offset: start as u32,
                size: size as u32,
            });
            bytes += size;
            at = end;
        }
        if !spans.is_empty() {
            self.num_rows += spans.len();
            self.num_bytes += bytes;
            self.rows.push((block.clone(), spans));
        }
        Ok(at)
    }

    fn is_full(&self) -> bool {
        self.num_rows >= BATCH_ROWS || self.num_bytes >= BATCH_BYTES
    }

    fn flush(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        self.num_rows = 0;
        self.num_bytes = 0;
        self.decode(&rows)
    }

    /// Rows at known places of blocks to one batch.
    ///
    /// # Errors
    /// Bail-outs: a row is not whole, or text is not UTF-8.
    pub fn decode(&self, blocks: &[(Bytes, Vec<RowSpan>)]) -> Result<RecordBatch> {
        let num_rows = blocks.iter().map(|(_, spans)| spans.len()).sum();
        let arrays = match &self.columns {
            Some(columns) => decode_columns(columns, self.num_fields, blocks, num_rows)?,
            None => vec![whole_rows(blocks, num_rows, self.num_fields)?],
        };
        let options = RecordBatchOptions::new().with_row_count(Some(num_rows));
        Ok(RecordBatch::try_new_with_options(
            self.schema(),
            arrays,
            &options,
        )?)
    }
}

fn decode_columns(
    columns: &[(usize, Column)],
    num_fields: usize,
    blocks: &[(Bytes, Vec<RowSpan>)],
    num_rows: usize,
) -> Result<Vec<ArrayRef>> {
    let mut builders: Vec<_> = columns
        .iter()
        .map(|(index, column)| ColumnBuilder::new(column, *index, num_fields, num_rows))
        .collect();
    for (number, (block, spans)) in blocks.iter().enumerate() {
        let number = u32::try_from(number).map_err(|_| bail_out("too many blocks"))?;
        let whole = |span: &RowSpan| {
            span.offset as usize + span.size as usize <= block.len()
                && span.size as usize >= fixed_bytes(num_fields)
        };
        if !spans.iter().all(whole) {
            return Err(bail_out("a row that is too short"));
        }
        for tile in spans.chunks(TILE) {
            for builder in &mut builders {
                builder.append(block, number, tile)?;
            }
        }
    }
    let buffers: Arc<[Buffer]> = blocks
        .iter()
        .map(|(block, _)| Buffer::from(block.clone()))
        .collect();
    builders
        .into_iter()
        .map(|builder| builder.finish(&buffers))
        .collect()
}

fn whole_rows(
    blocks: &[(Bytes, Vec<RowSpan>)],
    num_rows: usize,
    num_fields: usize,
) -> Result<ArrayRef> {
    let mut views = Vec::with_capacity(num_rows);
    for (number, (block, spans)) in (0..).zip(blocks) {
        for span in spans {
            if (span.size as usize) < fixed_bytes(num_fields) {
                return Err(bail_out("a row that is too short"));
            }
            let view = builder::view(block, number, span.offset as usize, span.size as usize);
            views.push(view.ok_or_else(|| bail_out("a row that is too short"))?);
        }
    }
    let buffers: Vec<_> = blocks
        .iter()
        .map(|(block, _)| Buffer::from(block.clone()))
        .collect();
    let rows = BinaryViewArray::try_new(ScalarBuffer::from(views), buffers, None)
        .map_err(DataFusionError::from)?;
    Ok(Arc::new(rows))
}

/// Bytes of the row behind this; `None` if it marks the end.
fn row_size(size: [u8; 4]) -> Result<Option<usize>> {
    match i32::from_be_bytes(size) {
        -1 => Ok(None),
        size => match usize::try_from(size) {
            Ok(size) => Ok(Some(size)),
            Err(_) => Err(bail_out("a row of negative size")),
        },
    }
}
