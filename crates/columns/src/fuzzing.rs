//! Private decoders as the fuzz targets see them. Compiled for `cargo fuzz` only.

use arrow::array::{RecordBatch, RecordBatchOptions};
use bytes::Bytes;
use catalyst::DataType;
use rows::types::schema_of_types;

use crate::column::ColumnBuilder;
use crate::frame::Frame;
use crate::{ColumnTypes, Decoder, Scatter};

/// Columns that are decoded: a stage's plan says how many there are, not the frame.
const COLUMNS: usize = 8;

/// A frame: its columns are read or refused, and those that were read come back from a frame of their own.
pub fn column_frames(data: &[u8]) {
    let Ok(frame) = Frame::read(data) else {
        return;
    };
    let (mut types, mut arrays) = (Vec::new(), Vec::new());
    for (of, payload) in frame.columns.iter().take(COLUMNS) {
        let mut column = ColumnBuilder::new(of, frame.rows);
        if column.append(payload, frame.rows).is_ok()
            && let Ok(array) = column.finish()
        {
            types.push(of.clone());
            arrays.push(array);
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(frame.rows));
    let schema = schema_of_types(&types).expect("types of frames");
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options).expect("a batch");
    assert_eq!(written_and_read(&types, &batch), Some(batch));
}

fn written_and_read(types: &[DataType], batch: &RecordBatch) -> Option<RecordBatch> {
    let rows: Vec<u32> = (0..).take(batch.num_rows()).collect();
    let mut scatter = Scatter::new(ColumnTypes::new(types)?, 1, 0).ok()?;
    scatter.append(0, batch, &rows).ok()?;
    let mut decoder = Decoder::new(types).ok()?;
    let pushed = scatter.take(0, |frame, _| decoder.push(Bytes::copy_from_slice(frame)));
    pushed.ok()?;
    decoder.finish().ok()?
}
