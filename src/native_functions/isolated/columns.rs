//! Columns in shared memory: a stream of Arrow's IPC format with a schema, and no batch or one.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::buffer::Buffer;
use arrow::datatypes::{Field, Fields, Schema};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamWriter;
use datafusion_common::DataFusionError;
use exec::arrow_message::{self, ArrowMessage};
use rows::error::RunError;

/// Bytes before what a message says of itself: a mark, and how long that is.
const START: usize = 8;

/// A batch of columns, of which there may be none.
///
/// # Errors
/// They are of other types or lengths.
pub(super) fn batch(
    fields: &Fields,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields.clone())), columns, &options)
}

/// One column, as a batch.
///
/// # Errors
/// None that is known.
pub(super) fn single(column: ArrayRef) -> Result<RecordBatch, ArrowError> {
    let rows = column.len();
    let field = Field::new("", column.data_type().clone(), true);
    batch(&Fields::from(vec![field]), vec![column], rows)
}

/// Writes a batch.
///
/// # Errors
/// Writing fails.
pub(super) fn write(to: &mut impl Write, batch: &RecordBatch) -> Result<(), ArrowError> {
    let mut writer = StreamWriter::try_new(to, &batch.schema())?;
    writer.write(batch)?;
    writer.finish()
}

/// Writes a schema only.
///
/// # Errors
/// Writing fails.
pub(super) fn write_schema(to: &mut impl Write, fields: &Fields) -> Result<(), ArrowError> {
    let schema = Schema::new(fields.clone());
    StreamWriter::try_new(to, &schema)?.finish()
}

/// The batch of a stream that is to have these columns. Its schema is not looked at: what does not fit is malformed.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(mut bytes: Buffer, of: &Fields) -> Result<RecordBatch, String> {
    let odd = |why: DataFusionError| format!("gave odd columns: {}", RunError::of(why));
    let schema = Arc::new(Schema::new(of.clone()));
    next_message(&mut bytes).ok_or("gave columns without a schema")?;
    let (description, body) = next_message(&mut bytes).ok_or("gave no columns")?;
    match arrow_message::read(&description, &body, Some(&schema)).map_err(odd)? {
        ArrowMessage::Batch(batch) => Ok(batch),
        ArrowMessage::Schema(_) => Err("gave no columns".to_owned()),
    }
}

/// What a message of a stream says of itself, and what follows; `None` if there is none, or not all of it.
fn next_message(stream: &mut Buffer) -> Option<(Buffer, Buffer)> {
    let start = stream.as_slice().strip_prefix(&[0xff; 4])?;
    let length = u32::from_le_bytes(*start.first_chunk()?) as usize;
    let description = (length > 0).then(|| part(stream, START, length))??;
    let after = START + length;
    let body = part(
        stream,
        after,
        arrow_message::body_length(&description).ok()?,
    )?;
    stream.advance(after + body.len());
    Some((description, body))
}

/// A part of a buffer that is within it.
fn part(of: &Buffer, start: usize, length: usize) -> Option<Buffer> {
    let end = start.checked_add(length)?;
    (end <= of.len()).then(|| of.slice_with_length(start, length))
}

/// The columns of a schema that the executor wrote.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read_schema(mut bytes: Buffer) -> Result<Fields, String> {
    let mut decoder = StreamDecoder::new();
    let read = decoder.decode(&mut bytes);
    read.map_err(|why| format!("odd columns: {why}"))?;
    let schema = decoder.schema().ok_or("no columns")?;
    Ok(schema.fields().clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Array as _, AsArray, Decimal128Array, StringArray};
    use arrow::datatypes::DataType;

    use super::*;

    fn written(batch: &RecordBatch) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, batch).unwrap();
        bytes
    }

    #[test]
    fn columns_are_read_as_they_were_written() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
        let numbers = Decimal128Array::from(vec![Some(1), Some(-2), None]);
        let numbers = numbers.with_precision_and_scale(20, 2).unwrap();
        let fields = [
            Field::new("texts", DataType::Utf8, true),
            Field::new("numbers", numbers.data_type().clone(), true),
        ];
        let fields = Fields::from(fields.to_vec());
        let all = batch(&fields, vec![texts, Arc::new(numbers)], 3).unwrap();
        for some in [all.clone(), all.slice(1, 2), all.slice(0, 0)] {
            let read = read(Buffer::from_vec(written(&some)), &fields).unwrap();
            assert_eq!(read, some);
        }
        let none = batch(&Fields::empty(), Vec::new(), 5).unwrap();
        let read_none = read(Buffer::from_vec(written(&none)), &Fields::empty()).unwrap();
        assert_eq!(read_none.num_rows(), 5);

        let mut schema = Vec::new();
        write_schema(&mut schema, &fields).unwrap();
        assert_eq!(read_schema(Buffer::from_vec(schema)).unwrap(), fields);
    }

    #[test]
    fn other_columns_are_refused() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "bc"]));
        let bytes = written(&single(texts).unwrap());
        let of = |of: DataType| Fields::from(vec![Field::new("", of, true)]);
        let good = read(Buffer::from_slice_ref(&bytes), &of(DataType::Utf8)).unwrap();
        assert_eq!(good.column(0).as_string::<i32>().value(1), "bc");
        for other in [DataType::Int64, DataType::new_list(DataType::Utf8, true)] {
            let read = read(Buffer::from_slice_ref(&bytes), &of(other.clone()));
            assert!(read.is_err(), "{other}: {read:?}");
        }
        assert!(
            read(Buffer::from_slice_ref(&bytes), &Fields::empty())
                .is_ok_and(|batch| batch.num_columns() == 0)
        );
        for len in 0..bytes.len() - 8 {
            let cut = Buffer::from_slice_ref(bytes.get(..len).unwrap());
            let read = read(cut, &of(DataType::Utf8));
            assert!(read.is_err(), "{len}");
        }
    }
}
