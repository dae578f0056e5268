//! Batches of Arrow streams to functions of Python.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StructArray, new_empty_array};
use arrow::compute::concat;
use arrow::datatypes::{Fields, Schema, SchemaRef};
use arrow::ipc::MetadataVersion;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use catalyst::ArrowSession;
use datafusion_common::Result;
use rows::error::bail_out;

use super::conversion::converted;

/// Most bytes of a batch. Spark begins another one at so many bytes, as it counts them, from version 4.0 on.
pub(super) const MAX_BATCH: usize = 32 << 20;

/// Java's alignment of buffers.
const ALIGNMENT: usize = 8;

/// What stands behind the last batch of a stream: the mark before a message, and that it has no bytes.
pub(super) const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Writes batches of streams of the same columns.
pub(super) struct BatchWriter {
    schema: SchemaRef,
    /// The fields of the only column, if rows are sent as structs.
    fields: Option<Fields>,
    writer: StreamWriter<Vec<u8>>,
    /// What stands before the first batch.
    start: Vec<u8>,
}

impl BatchWriter {
    /// For columns of these types, or for one that has these fields.
    ///
    /// # Errors
    /// A type has no place in a stream.
    pub(super) fn new(schema: Schema, fields: Option<Fields>) -> Result<Self> {
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options)?;
        let start = take(writer.get_mut());
        Ok(Self {
            schema: Arc::new(schema),
            fields,
            writer,
            start,
        })
    }

    /// What stands before the first batch: the types of the columns.
    pub(super) fn start(&self) -> &[u8] {
        &self.start
    }

    /// A batch of so many rows, of the parts of each column; as several ones if it has more bytes than `most`, and
    /// `divides` allows it.
    ///
    /// # Errors
    /// Bail-out: it is too large, or a column is of another type.
    pub(super) fn batch(
        &mut self,
        columns: &[Vec<ArrayRef>],
        rows: usize,
        most: usize,
        divides: bool,
    ) -> Result<Vec<u8>> {
        let fields = self.fields.as_ref().unwrap_or(self.schema.fields());
        let columns = columns.iter().zip(fields);
        let columns = columns.map(|(parts, field)| {
            let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
            match parts[..] {
                [] => Ok(new_empty_array(field.data_type())),
                _ => converted(&concat(&parts)?, field.data_type()),
            }
        });
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        if let Some(fields) = &self.fields {
            let rows = StructArray::try_new(fields.clone(), columns, None)?;
            columns = vec![Arc::new(rows)];
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        self.write(&batch, most, divides)?;
        Ok(take(self.writer.get_mut()))
    }

    fn write(&mut self, batch: &RecordBatch, most: usize, divides: bool) -> Result<()> {
        let columns = batch.columns().iter();
        let bytes = columns.map(|column| column.to_data().get_slice_memory_size());
        let bytes: usize = bytes.sum::<std::result::Result<_, _>>()?;
        let rows = batch.num_rows();
        if bytes <= most {
            return Ok(self.writer.write(batch)?);
        }
        if !divides || rows == 1 {
            return Err(bail_out("large batches for Python"));
        }
        self.write(&batch.slice(0, rows / 2), most, divides)?;
        self.write(&batch.slice(rows / 2, rows - rows / 2), most, divides)
    }
}

/// How many rows a batch has.
///
/// # Errors
/// Bail-out: the session sets no limit.
pub(super) fn rows_of_batch(session: &ArrowSession) -> Result<usize> {
    match usize::try_from(session.batch_size) {
        Ok(rows) if rows > 0 => Ok(rows),
        _ => Err(bail_out("batches of any number of rows for Python")),
    }
}
