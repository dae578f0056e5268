//! Rows for a driver, in batches of Arrow's IPC format: `toPandas`, `toArrow`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use catalyst::{ArrowBatches, Unsupported};
use datafusion_common::Result;
use rows::error::bail_out;

use super::batches::BatchWriter;
use super::conversion::type_for_python;
use super::queue::RowQueue;

/// Most bytes of a batch: Java's arrays have no more.
const MAX_BYTES: usize = i32::MAX as usize / 2;

/// Makes batches of as many rows as the session says, whatever batches rows come in.
pub struct ArrowResult {
    writer: BatchWriter,
    /// All rows, if there is no limit.
    rows_of_batch: Option<usize>,
    waiting: RowQueue,
    batches: Vec<Vec<u8>>,
    bytes: usize,
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
    pub fn finish(mut self) -> Result<Vec<Vec<u8>>> {
        if self.waiting.rows() > 0 {
            self.write(self.waiting.rows())?;
        }
        Ok(self.batches)
    }

    fn write(&mut self, rows: usize) -> Result<()> {
        let columns = self.waiting.take(rows).ok_or_else(too_many)?;
        let batch = self.writer.batch(&columns, rows, MAX_BYTES, false)?;
        self.bytes += batch.len();
        if self.bytes > MAX_BYTES {
            return Err(too_many());
        }
        self.batches.push(batch);
        Ok(())
    }
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

    use super::super::batches::END_OF_STREAM;
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
        let result = ArrowBatches {
            columns: vec![column],
            session,
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
            let stream = [
                start,
                made.finish().unwrap().concat(),
                END_OF_STREAM.to_vec(),
            ]
            .concat();
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
    }
}
