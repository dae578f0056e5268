//! From frames to batches.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use catalyst::{DataType, Unsupported};
use datafusion_common::Result;
use rows::BATCH_ROWS;
use rows::error::bail_out;
use rows::types::schema_of_types;

use crate::column::ColumnBuilder;
use crate::frame::{Frame, read_rows};
use crate::input::Input;

/// Bytes of frames after which a batch ends before it has all its rows.
const BATCH_BYTES: usize = 16 << 20;

/// Frames to batches, of several frames each if they are small.
///
/// ```text
/// loop {
///     if let Some(batch) = decoder.next()? { … continue }
///     match stream.next()? {
///         Some(frame) => decoder.push(frame)?,
///         None => { decoder.finish()? …; break }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Decoder {
    /// Of all columns of the frames.
    types: Box<[DataType]>,
    /// Columns that are decoded.
    places: Box<[usize]>,
    schema: SchemaRef,
    frames: VecDeque<(usize, Bytes)>,
    rows: usize,
    bytes: usize,
}

impl Decoder {
    /// For frames with these columns.
    ///
    /// # Errors
    /// Columns of a type are not kept natively.
    pub fn new(types: &[DataType]) -> std::result::Result<Self, Unsupported> {
        let places: Vec<_> = (0..types.len()).collect();
        Self::of_places(types, &places)
    }

    /// For frames with these columns, of which only those at some places are decoded, in that order.
    ///
    /// # Errors
    /// As [`Decoder::new`]; a place is not there.
    pub fn of_places(
        types: &[DataType],
        places: &[usize],
    ) -> std::result::Result<Self, Unsupported> {
        let missing = || Unsupported::of_use("a column that is not there");
        let chosen = places.iter().map(|place| types.get(*place));
        let chosen: Vec<_> = chosen.collect::<Option<_>>().ok_or_else(missing)?;
        Ok(Self {
            schema: schema_of_types(chosen)?,
            types: types.into(),
            places: places.into(),
            frames: VecDeque::new(),
            rows: 0,
            bytes: 0,
        })
    }

    /// Schema of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Another frame.
    ///
    /// # Errors
    /// Bail-out: it is none.
    pub fn push(&mut self, frame: Bytes) -> Result<()> {
        let rows = read_rows(&mut Input(&frame))?;
        self.rows += rows;
        self.bytes += frame.len();
        self.frames.push_back((rows, frame));
        Ok(())
    }

    /// A full batch; `None` if more frames are needed for it.
    ///
    /// # Errors
    /// Bail-outs: a frame is damaged or has other columns, or text is not UTF-8.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
            true => self.decode(),
            false => Ok(None),
        }
    }

    /// What is left, batch after batch, when there are no more frames; `None` after the last.
    ///
    /// # Errors
    /// As [`Decoder::next`].
    pub fn finish(&mut self) -> Result<Option<RecordBatch>> {
        self.decode()
    }

    /// A batch of as many frames as go into one.
    fn decode(&mut self) -> Result<Option<RecordBatch>> {
        let (mut rows, mut bytes, mut frames) = (0, 0, Vec::new());
        while let Some((count, frame)) = self.frames.front() {
            let full = rows + count > BATCH_ROWS || bytes >= BATCH_BYTES;
            if full && !frames.is_empty() {
                break;
            }
            rows += count;
            bytes += frame.len();
            frames.extend(self.frames.pop_front());
        }
        self.rows -= rows;
        self.bytes -= bytes;
        if frames.is_empty() {
            return Ok(None);
        }
        self.batch(&frames, rows).map(Some)
    }

    fn batch(&self, frames: &[(usize, Bytes)], rows: usize) -> Result<RecordBatch> {
        let frames = frames.iter().map(|(_, frame)| Frame::read(frame));
        let frames = frames.collect::<std::result::Result<Vec<_>, _>>()?;
        for frame in &frames {
            let types = frame.columns.iter().map(|(of, _)| of);
            if !types.eq(&*self.types) {
                return Err(bail_out("columns of other types than declared"));
            }
        }
        let columns = self.places.iter().map(|place| {
            let missing = || bail_out("a column that is not there");
            let of = self.types.get(*place).ok_or_else(missing)?;
            let mut column = ColumnBuilder::new(of, rows);
            for frame in &frames {
                let (_, payload) = frame.columns.get(*place).ok_or_else(missing)?;
                column.append(payload, frame.rows)?;
            }
            column.finish()
        });
        let columns = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema(), columns, &options)?;
        Ok(batch)
    }
}
