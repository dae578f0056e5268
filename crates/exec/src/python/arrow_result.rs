//! Rows for a driver, in batches of Arrow's IPC format: `toPandas`, `toArrow`, and all that Spark Connect sends.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use catalyst::{ArrowBatches, Unsupported};
use datafusion_common::Result;
use rows::error::bail_out;

use super::batches::{BatchWriter, END_OF_STREAM};
use super::conversion::type_for_python;
use super::queue::RowQueue;

/// Most bytes of a batch: Java's arrays have no more.
const MAX_BYTES: usize = i32::MAX as usize / 2;

/// Makes batches of as many rows as the session says, whatever batches rows come in.
pub struct ArrowResult {
    writer: BatchWriter,
    /// All rows, if there is no limit.
    rows_of_batch: Option<usize>,
    /// Most bytes of a batch, if each is a stream.
    bytes_of_stream: Option<usize>,
    waiting: RowQueue,
    batches: Vec<EncodedBatch>,
    bytes: usize,
}

/// A batch of rows.
#[derive(Debug)]
pub struct EncodedBatch {
    /// In Arrow's IPC format: a message, or a stream with its schema.
    pub bytes: Vec<u8>,
    /// How many rows it has.
    pub rows: usize,
}

impl ArrowResult {
    /// No rows yet.
    ///
    /// # Errors
    /// Values of a type do not go to Python natively.
    pub fn new(batches: &ArrowBatches) -> std::result::Result<Self, Unsupported> {
        let zone = batches.session.time_zone.as_deref();
        let zone = Arc::from(zone.unwrap_or_default());
        let columns = batches.columns.iter().map(|column| {
            let of = type_for_python(&column.data_type, &zone)?;
            Ok(Field::new(&column.name, of, column.nullable))
        });
        let columns: Vec<_> = columns.collect::<std::result::Result<_, Unsupported>>()?;
        let waiting = RowQueue::new(columns.len());
        let writer = BatchWriter::new(Schema::new(columns), None);
        let writer = writer.map_err(|error| Unsupported::of_use(error.to_string()))?;
        let rows_of_batch = usize::try_from(batches.session.batch_size);
        Ok(Self {
            writer,
            rows_of_batch: rows_of_batch.ok().filter(|rows| *rows > 0),
            bytes_of_stream: batches.streams.map(|bytes| {
                // Without a limit, by rows only.
                let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes > 0);
                bytes.unwrap_or(MAX_BYTES)
            }),
            waiting,
            batches: Vec::new(),
            bytes: 0,
        })
    }

    /// More rows.
    ///
    /// # Errors
    /// Bail-out: too many bytes.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let pushed = self
            .waiting
            .push(batch.columns().to_vec(), batch.num_rows());
        pushed.ok_or_else(too_many)?;
        while let Some(rows) = self
            .rows_of_batch
            .filter(|rows| self.waiting.rows() >= *rows)
        {
            self.write(rows)?;
        }
        Ok(())
    }

    /// Bytes of what was made so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The batches; none of no rows.
    ///
    /// # Errors
    /// Bail-out: too many bytes.
    pub fn finish(mut self) -> Result<Vec<EncodedBatch>> {
        if self.waiting.rows() > 0 {
            self.write(self.waiting.rows())?;
        }
        Ok(self.batches)
    }

    fn write(&mut self, rows: usize) -> Result<()> {
        let columns = self.waiting.take(rows).ok_or_else(too_many)?;
        self.encode(&columns, rows)
    }

    /// Halves what is too long for a stream, until it is not.
    fn encode(&mut self, columns: &[Vec<ArrayRef>], rows: usize) -> Result<()> {
        let mut bytes = self.writer.batch(columns, rows, MAX_BYTES, false)?;
        if let Some(most) = self.bytes_of_stream {
            if bytes.len() > most && rows > 1 {
                let half = rows / 2;
                let part = |from: usize, length: usize| {
                    let parts = columns.iter().map(|pieces| rows_of(pieces, from, length));
                    parts.collect::<Vec<_>>()
                };
                self.encode(&part(0, half), half)?;
                return self.encode(&part(half, rows - half), rows - half);
            }
            bytes = [self.writer.start(), &bytes, &END_OF_STREAM].concat();
        }
        self.bytes += bytes.len();
        if self.bytes > MAX_BYTES {
            return Err(too_many());
        }
        self.batches.push(EncodedBatch { bytes, rows });
        Ok(())
    }
}

/// Some of the rows of a column that is in pieces.
fn rows_of(pieces: &[ArrayRef], mut from: usize, mut length: usize) -> Vec<ArrayRef> {
    let mut found = Vec::new();
    for piece in pieces {
        let skipped = from.min(piece.len());
        let taken = length.min(piece.len() - skipped);
        if taken > 0 {
            found.push(piece.slice(skipped, taken));
        }
        from -= skipped;
        length -= taken;
    }
    found
}

impl std::fmt::Debug for ArrowResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowResult")
            .field("batches", &self.batches.len())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

fn too_many() -> datafusion_common::DataFusionError {
    bail_out("a result of more than 1 GiB of Arrow batches")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;
    use arrow::ipc::reader::StreamReader;
    use catalyst::{ArrowSession, DataType, StructField};

    use super::*;

    #[test]
    fn batches_have_so_many_rows() {
        let column = StructField {
            name: "n".to_owned(),
            data_type: DataType::Integer,
            nullable: true,
            field_id: None,
            exists_default: None,
        };
        let session = ArrowSession {
            time_zone: Some("UTC".to_owned()),
            batch_size: 4,
            settings: Vec::new(),
            validates_schemas: false,
        };
        let mut result = ArrowBatches {
            columns: vec![column],
            session,
            streams: None,
        };
        for (rows, expected) in [
            (0, vec![]),
            (3, vec![3]),
            (8, vec![4, 4]),
            (9, vec![4, 4, 1]),
        ] {
            let mut made = ArrowResult::new(&result).unwrap();
            let start = made.writer.start().to_vec();
            for from in (0..rows).step_by(5) {
                let numbers = Int32Array::from_iter_values(from..rows.min(from + 5));
                let batch = RecordBatch::try_from_iter([("n", Arc::new(numbers) as _)]).unwrap();
                made.push(&batch).unwrap();
            }
            let made = made.finish().unwrap();
            let made: Vec<_> = made.into_iter().map(|batch| batch.bytes).collect();
            let stream = [start, made.concat(), END_OF_STREAM.to_vec()].concat();
            let read = StreamReader::try_new(stream.as_slice(), None).unwrap();
            let (mut lengths, mut values) = (Vec::new(), Vec::new());
            for batch in read {
                let batch = batch.unwrap();
                lengths.push(batch.num_rows());
                values.extend(
                    batch
                        .column(0)
                        .as_primitive::<Int32Type>()
                        .values()
                        .to_vec(),
                );
            }
            assert_eq!(lengths, expected);
            assert_eq!(values, (0..rows).collect::<Vec<_>>());
        }
        // Streams of their own, halved until they are short.
        result.session.batch_size = 1000;
        for (most, expected) in [(1 << 20, 1), (3000, 2), (1, 1000), (0, 1)] {
            result.streams = Some(most);
            let mut made = ArrowResult::new(&result).unwrap();
            let numbers = Int32Array::from_iter_values(0..1000);
            let batch = RecordBatch::try_from_iter([("n", Arc::new(numbers) as _)]).unwrap();
            made.push(&batch).unwrap();
            let made = made.finish().unwrap();
            assert_eq!(made.len(), expected, "{most}");
            let mut rows = 0;
            for EncodedBatch { bytes, rows: of } in made {
                let mut read = StreamReader::try_new(bytes.as_slice(), None).unwrap();
                let batch = read.next().unwrap().unwrap();
                assert_eq!(batch.num_rows(), of);
                assert_eq!(batch.column(0).as_primitive::<Int32Type>().value(0), rows);
                rows += of as i32;
                assert!(read.next().is_none());
            }
            assert_eq!(rows, 1000);
        }
    }
}
