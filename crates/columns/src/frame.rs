//! A frame's head, and its rows.

use bytes::Bytes;
use catalyst::DataType;
use rows::RowEncoder;
use rows::error::bail_out;

use crate::decode::Decoder;
use crate::input::{Damaged, Input, Result};
use crate::types::read_type;

/// Rows of a frame at most.
pub const MAX_ROWS: usize = 8192;
/// Columns at most; each takes bytes in the frame.
const MAX_COLUMNS: usize = 1 << 16;
/// Values at most, unless there is only one row. Many may take a few bytes only.
const MAX_VALUES: usize = 1 << 20;

/// Rows at most of a frame with so many columns.
pub(crate) fn most_rows(columns: usize) -> usize {
    (MAX_VALUES / columns.max(1)).clamp(1, MAX_ROWS)
}

/// A frame, looked at.
#[derive(Debug)]
pub(crate) struct Frame<'b> {
    pub(crate) rows: usize,
    /// Types and payloads.
    pub(crate) columns: Vec<(DataType, &'b [u8])>,
}

impl<'b> Frame<'b> {
    pub(crate) fn read(bytes: &'b [u8]) -> Result<Self> {
        let mut input = Input(bytes);
        let rows = read_rows(&mut input)?;
        let count = input.length(MAX_COLUMNS)?;
        if rows > most_rows(count) {
            return Err(Damaged("too many values"));
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            let of = read_type(&mut input)?;
            let length = input.length(usize::MAX)?;
            columns.push((of, input.bytes(length)?));
        }
        input.end()?;
        Ok(Self { rows, columns })
    }
}

/// Reads how many rows the frame has.
pub(crate) fn read_rows(input: &mut Input<'_>) -> Result<usize> {
    match input.length(MAX_ROWS)? {
        0 => Err(Damaged("no rows")),
        rows => Ok(rows),
    }
}

/// The rows of a frame as `UnsafeRowSerializer` writes them, each behind its size, appended to `out`. Gives their
/// number.
///
/// # Errors
/// Bail-outs: it is no frame, or text in it is not UTF-8.
pub fn frame_rows(frame: &Bytes, out: &mut Vec<u8>) -> datafusion_common::Result<usize> {
    let columns = Frame::read(frame)?.columns.into_iter();
    let types: Vec<DataType> = columns.map(|(of, _)| of).collect();
    let unsupported = |why: catalyst::Unsupported| bail_out(why.to_string());
    let mut decoder = Decoder::new(&types).map_err(unsupported)?;
    let mut encoder = RowEncoder::new(&types).map_err(unsupported)?;
    decoder.push(frame.clone())?;
    let batch = decoder.finish()?;
    let batch = batch.ok_or(Damaged("no rows"))?;
    let rows = encoder.encode(&batch)?;
    out.extend_from_slice(rows.bytes());
    Ok(rows.len())
}
