//! Buffers of values and how often they come, as Spark's `TypedAggregateWithHashMapAsBuffer` has them: rows of a value
//! and a count, each with its size before it, and -1 behind the last.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, Int64Array, PrimitiveArray, RecordBatch,
};
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use datafusion_common::Result;

use super::accumulator::column;
use catalyst::{DataType, Unsupported};
use rows::error::bail_out;
use rows::types::schema_of_types;
use rows::{RowDecoder, RowEncoder, RowSpan};

/// What buffers have in them, one after the other.
pub(super) struct Frequencies {
    pub(super) values: ArrayRef,
    pub(super) counts: PrimitiveArray<Int64Type>,
    /// How many values each buffer has.
    pub(super) lengths: Vec<usize>,
}

fn unsupported(reason: Unsupported) -> datafusion_common::DataFusionError {
    bail_out(reason.to_string())
}

/// Reads the first column of buffers of values of a type. None of the values is null.
pub(super) fn read(buffers: &[ArrayRef], of: &DataType) -> Result<Frequencies> {
    let buffers = column(buffers, 0)?.as_binary_view_opt();
    let buffers = buffers.ok_or_else(|| bail_out("a buffer of another type"))?;
    let (mut block, mut spans, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for buffer in buffers {
        let buffer = buffer.ok_or_else(|| bail_out("a buffer that is null"))?;
        let before = spans.len();
        for row in rows_of(buffer)? {
            let row = buffer.get(row).unwrap_or_default();
            let of = |len: usize| u32::try_from(len).map_err(|_| bail_out("large buffers"));
            spans.push(RowSpan {
                offset: of(block.len())?,
                size: of(row.len())?,
            });
            block.extend_from_slice(row);
        }
        lengths.push(spans.len() - before);
    }
    let decoder = RowDecoder::new([of, &DataType::Long]).map_err(unsupported)?;
    let batch = decoder.decode(&[(Bytes::from(block), spans)])?;
    let values = Arc::clone(column(batch.columns(), 0)?);
    let counts = column(batch.columns(), 1)?.as_primitive::<Int64Type>();
    if values.null_count() + counts.null_count() > 0 {
        return Err(bail_out("a buffer with nulls"));
    }
    Ok(Frequencies {
        values,
        counts: counts.clone(),
        lengths,
    })
}

/// Writes buffers that have so many of the values each.
pub(super) fn write(
    values: ArrayRef,
    counts: Vec<i64>,
    lengths: impl ExactSizeIterator<Item = usize>,
    of: &DataType,
) -> Result<ArrayRef> {
    let types = [of, &DataType::Long];
    let columns: Vec<ArrayRef> = vec![values, Arc::new(Int64Array::from(counts))];
    let schema = schema_of_types(types).map_err(unsupported)?;
    let batch = RecordBatch::try_new(schema, columns)?;
    let mut encoder = RowEncoder::new(types).map_err(unsupported)?;
    let encoded = encoder.encode(&batch)?;
    let mut rows = encoded.rows();
    let mut builder = BinaryViewBuilder::with_capacity(lengths.len());
    let mut bytes = Vec::new();
    for length in lengths {
        bytes.clear();
        for row in rows.by_ref().take(length) {
            let size = i32::try_from(row.len()).map_err(|_| bail_out("large buffers"))?;
            bytes.extend_from_slice(&size.to_be_bytes());
            bytes.extend_from_slice(row);
        }
        bytes.extend_from_slice(&(-1_i32).to_be_bytes());
        builder.append_value(&bytes);
    }
    Ok(Arc::new(builder.finish()))
}

/// Where the rows are in a buffer.
fn rows_of(buffer: &[u8]) -> Result<Vec<Range<usize>>> {
    let broken = || bail_out("a buffer that is cut off");
    let mut rows = Vec::new();
    let mut at = 0_usize;
    loop {
        let size = buffer.get(at..).and_then(|rest| rest.first_chunk());
        let size = i32::from_be_bytes(*size.ok_or_else(broken)?);
        let Ok(size) = usize::try_from(size) else {
            return Ok(rows);
        };
        let row = at + 4..(at + 4).checked_add(size).ok_or_else(broken)?;
        if row.end > buffer.len() {
            return Err(broken());
        }
        at = row.end;
        rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_are_cut_off_are_refused() {
        assert!(rows_of(&[255; 4]).unwrap().is_empty());
        for broken in [
            &[][..],
            &[0, 0, 0, 9, 1],
            &[0, 0, 0, 0],
            &[127, 255, 255, 255],
        ] {
            rows_of(broken).unwrap_err();
        }
    }
}
