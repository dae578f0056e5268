//! Shuffles that are read: rows, or columns that native executors wrote.

use std::sync::Arc;

use arrow::array::RecordBatch;
use catalyst::{Columns, DataType, LeafId, LeafInput, ShuffleRead, Unsupported};
use columns::{Decoder, frame_rows};
use datafusion_common::Result as DataFusionResult;
use futures::StreamExt;
use rows::RowDecoder;
use rows::error::bail_out;

use super::exec::{Batches, Start, batch_of, from_fn};
use super::leaves::leaf_exec;
use super::lower::{Demand, Lowered, Result, leaf_input, places, schema_of_columns};
use super::sources::{BlockStream, Records, Sources};

/// How the rows of a leaf are read.
#[derive(Debug, Clone)]
pub(super) enum RowsRead {
    /// As columns.
    Columns {
        /// Types of all columns of the rows.
        types: Arc<[DataType]>,
        /// Places of those that are put out, if not all.
        places: Option<Arc<[usize]>>,
    },
    /// Whole, as nothing is known of their columns but perhaps their number.
    Whole { num_fields: Option<usize> },
}

impl RowsRead {
    /// How rows with these columns are read, and the columns that are put out.
    pub(super) fn new(columns: &Columns, demand: Demand<'_>) -> Result<(Self, Columns)> {
        let columns = match columns {
            Columns::Known(columns) => columns,
            Columns::Opaque { num_fields } => {
                let num_fields = *num_fields;
                return Ok((Self::Whole { num_fields }, Columns::Opaque { num_fields }));
            }
        };
        let types = columns.iter().map(|column| column.data_type.clone());
        let types: Arc<[DataType]> = types.collect();
        // Columns that nobody asks for may have any type.
        let (places, columns) = places(columns, demand);
        let places = places.map(Into::into);
        Ok((Self::Columns { types, places }, Columns::Known(columns)))
    }

    pub(super) fn decoder(&self) -> DataFusionResult<RowDecoder> {
        let decoder = match self {
            Self::Whole { num_fields } => Ok(RowDecoder::opaque(*num_fields)),
            Self::Columns {
                types,
                places: None,
            } => RowDecoder::new(types.iter()),
            Self::Columns {
                types,
                places: Some(places),
            } => RowDecoder::of_places(types, places),
        };
        decoder.map_err(|reason| bail_out(reason.to_string()))
    }

    /// A decoder of frames; `None` if their rows are wanted whole.
    fn column_decoder(&self) -> DataFusionResult<Option<Decoder>> {
        let decoder = match self {
            Self::Whole { .. } => return Ok(None),
            Self::Columns {
                types,
                places: None,
            } => Decoder::new(types),
            Self::Columns {
                types,
                places: Some(places),
            } => Decoder::of_places(types, places),
        };
        decoder
            .map(Some)
            .map_err(|reason| bail_out(reason.to_string()))
    }
}

/// Records of a shuffle to batches. Those of different executors may be rows and columns.
#[derive(Debug)]
struct ShuffleDecoder {
    rows: RowDecoder,
    columns: Option<Decoder>,
    ended: bool,
}

impl ShuffleDecoder {
    fn new(read: &RowsRead) -> DataFusionResult<Self> {
        Ok(Self {
            rows: read.decoder()?,
            columns: read.column_decoder()?,
            ended: false,
        })
    }

    fn push(&mut self, records: Records) -> DataFusionResult<()> {
        match (records, &mut self.columns) {
            (Records::Rows(rows), _) => self.rows.push(rows),
            (Records::Columns(frame), Some(decoder)) => decoder.push(frame)?,
            (Records::Columns(frame), None) => {
                let mut rows = Vec::new();
                frame_rows(&frame, &mut rows)?;
                self.rows.push(rows.into());
            }
        }
        Ok(())
    }

    /// There are no more records.
    fn end(&mut self) {
        self.ended = true;
    }

    /// A full batch, or after the end what is left. `None` if more records are needed.
    fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        if let Some(batch) = self.rows.next()? {
            return Ok(Some(batch));
        }
        let columns = &mut self.columns;
        if !self.ended {
            let next = columns.as_mut().map(Decoder::next);
            return next.transpose().map(Option::flatten);
        }
        if let Some(batch) = self.rows.finish()? {
            return Ok(Some(batch));
        }
        let last = columns.as_mut().map(Decoder::finish);
        last.transpose().map(Option::flatten)
    }
}

/// Lowers a shuffle that is read.
pub(super) fn shuffle(
    leaf: LeafId,
    read: ShuffleRead,
    output: &Columns,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let fields = usize::try_from(read.num_fields).ok();
    if output.num_fields() != fields {
        return Err(Unsupported::of_use("rows of another width"));
    }
    let (rows, columns) = RowsRead::new(output, demand)?;
    let schema = schema_of_columns(&columns)?;
    Lowered::of(
        columns,
        Box::new(move |task, inputs| {
            let LeafInput::Shuffle(spec) = *leaf_input(leaf, inputs)? else {
                return Err(Unsupported::of_use("a shuffle without blocks"));
            };
            let (rows, sources) = (rows.clone(), Arc::clone(&task.sources));
            let start = move |start: &Start<'_>| {
                let of_shuffle = Arc::clone(&sources);
                let open = move || of_shuffle.shuffle(&read, spec);
                batches(start, &rows, Arc::clone(&sources), open)
            };
            Ok(leaf_exec("ShuffledRowRDD", &schema, start))
        }),
    )
}

/// Batches of the records of a stream, which is opened by the first row that is asked for: a join reads one side after
/// the other.
pub(super) fn batches(
    start: &Start<'_>,
    rows: &RowsRead,
    sources: Arc<dyn Sources>,
    open: impl FnOnce() -> DataFusionResult<Box<dyn BlockStream>> + Send + 'static,
) -> DataFusionResult<Batches> {
    let (schema, baseline) = (Arc::clone(start.schema), start.baseline());
    let mut decoder = ShuffleDecoder::new(rows)?;
    let mut open = Some(open);
    let mut stream: Option<Box<dyn BlockStream>> = None;
    let mut next = move || loop {
        let batch = {
            let _timer = baseline.elapsed_compute().timer();
            decoder.next()?
        };
        if let Some(batch) = batch {
            baseline.record_output(batch.num_rows());
            let rows = batch.num_rows();
            return batch_of(&schema, batch.columns().to_vec(), rows).map(Some);
        }
        if decoder.ended {
            return Ok(None);
        }
        if let Some(open) = open.take() {
            stream = Some(open()?);
        }
        let records = stream.as_mut().map(|stream| stream.next());
        match records.transpose()?.flatten() {
            Some(records) => decoder.push(records)?,
            None => decoder.end(),
        }
    };
    Ok(from_fn(move || {
        sources.alive()?;
        next()
    })
    .boxed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::column;
    use arrow::array::{ArrayRef, Int64Array, StringViewArray};
    use arrow::compute::concat_batches;
    use columns::{ColumnTypes, Scatter};
    use rows::RowEncoder;
    use rows::types::schema_of_types;

    const TYPES: [DataType; 2] = [DataType::Long, DataType::String];

    fn batch(numbers: std::ops::Range<i64>) -> RecordBatch {
        let texts: StringViewArray = numbers
            .clone()
            .map(|n| (n % 3 > 0).then(|| n.to_string()))
            .collect();
        let columns: [ArrayRef; 2] = [Arc::new(Int64Array::from_iter(numbers)), Arc::new(texts)];
        RecordBatch::try_new(schema_of_types(&TYPES).unwrap(), columns.to_vec()).unwrap()
    }

    fn rows(batch: &RecordBatch) -> Records {
        let mut encoder = RowEncoder::new(&TYPES).unwrap();
        Records::Rows(encoder.encode(batch).unwrap().bytes().to_vec().into())
    }

    fn frame(batch: &RecordBatch) -> Records {
        let mut scatter = Scatter::new(ColumnTypes::new(&TYPES).unwrap(), 1, 0).unwrap();
        let all: Vec<u32> = (0..batch.num_rows() as u32).collect();
        scatter.append(0, batch, &all).unwrap();
        let mut frames = Vec::new();
        let taken = scatter.take(0, |frame, _| {
            frames.push(frame.to_vec());
            Ok::<_, ()>(())
        });
        assert_eq!((taken, frames.len()), (Ok(()), 1));
        Records::Columns(frames.remove(0).into())
    }

    fn read(columns: &Columns, records: Vec<Records>) -> Vec<RecordBatch> {
        let (read, _) = RowsRead::new(columns, Demand::unordered(None)).unwrap();
        let mut decoder = ShuffleDecoder::new(&read).unwrap();
        let mut batches = Vec::new();
        for records in records {
            decoder.push(records).unwrap();
            batches.extend(std::iter::from_fn(|| decoder.next().unwrap()));
        }
        decoder.end();
        batches.extend(std::iter::from_fn(|| decoder.next().unwrap()));
        batches
    }

    #[test]
    fn rows_and_columns_come_in_any_order() {
        let [a, b, c, d] = [0..5, 5..8_000, 8_000..15_000, 15_000..15_001].map(batch);
        let known = Columns::Known(vec![column(0, DataType::Long), column(1, DataType::String)]);
        let mixed = vec![frame(&a), rows(&b), frame(&c), rows(&d)];
        let found = read(&known, mixed.clone());
        let mut numbers: Vec<i64> = Vec::new();
        for batch in &found {
            let column = batch
                .column(0)
                .as_any()
                .downcast_ref::<Int64Array>()
                .unwrap();
            numbers.extend(column.values());
            let texts = batch
                .column(1)
                .as_any()
                .downcast_ref::<StringViewArray>()
                .unwrap();
            for (number, text) in column.values().iter().zip(texts) {
                assert_eq!(
                    text.map(str::to_owned),
                    (number % 3 > 0).then(|| number.to_string())
                );
            }
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..15_001));
        let opaque = Columns::Opaque {
            num_fields: Some(2),
        };
        let whole = read(&opaque, mixed);
        let whole = concat_batches(&whole[0].schema(), &whole).unwrap();
        assert_eq!(whole.num_rows(), 15_001);
        assert_eq!(read(&known, Vec::new()), []);
    }
}
