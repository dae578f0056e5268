//! Arrow streams to functions of Python and back.
//!
//! Rows go in batches of as many as the session says, whatever batches they come in: functions see how long their
//! arguments are.

use std::collections::HashSet;
use std::mem::{replace, take};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType as ArrowType, Field, Fields, Schema, SchemaRef};
use bytes::Bytes;
use catalyst::{ArrowSession, Attribute, DataType, StructField};
use datafusion_common::{DataFusionError, Result};
use rows::error::bail_out;
use rows::types::ToArrow as _;

use super::batches::{BatchWriter, END_OF_STREAM, MAX_BATCH, rows_of_batch};
use super::conversion::{converted, has_timestamps, is_of, type_for_python};
use super::queue::RowQueue;
use crate::arrow_message::{self, ArrowMessage};

/// Makes the stream of arguments.
pub(super) struct ArrowEncoder {
    writer: BatchWriter,
    batch_size: usize,
    /// Whether functions do not see how long batches are.
    divides: bool,
    /// Rows that are not in a batch yet.
    waiting: RowQueue,
    state: Progress,
}

/// How far a stream has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    New,
    Begun,
    /// All rows are there.
    Last,
    Ended,
}

/// What comes next of a stream.
pub(super) enum Part {
    /// Bytes, and whether they are a batch.
    Bytes(Vec<u8>, bool),
    /// More rows are needed.
    Rows,
    End,
}

impl ArrowEncoder {
    /// For arguments of these types; `divides` if functions do not see how long batches are.
    ///
    /// # Errors
    /// Bail-out: the session leaves something open.
    pub(super) fn new(divides: bool, types: &[DataType], session: &ArrowSession) -> Result<Self> {
        let zone = zone_of(session, types)?;
        let columns = types.iter().enumerate().map(|(place, of)| {
            let of = type_for_python(of, &zone).map_err(|why| bail_out(why.to_string()))?;
            Ok(Field::new(format!("_{place}"), of, true))
        });
        let schema = Schema::new(columns.collect::<Result<Vec<_>>>()?);
        let writer = BatchWriter::new(schema, None)?;
        Self::with(writer, types.len(), divides, session)
    }

    /// For rows of these fields, each as a struct.
    ///
    /// # Errors
    /// Bail-out: the session leaves something open.
    pub(super) fn of_rows(fields: &[StructField], session: &ArrowSession) -> Result<Self> {
        let row = DataType::Struct(fields.to_vec());
        let zone = zone_of(session, std::slice::from_ref(&row))?;
        let of = type_for_python(&row, &zone).map_err(|why| bail_out(why.to_string()))?;
        let ArrowType::Struct(own) = &of else {
            return Err(bail_out("rows for Python of another type"));
        };
        let (count, own) = (own.len(), own.clone());
        let schema = Schema::new(vec![Field::new("struct", of, true)]);
        let writer = BatchWriter::new(schema, Some(own))?;
        Self::with(writer, count, false, session)
    }

    fn with(
        writer: BatchWriter,
        columns: usize,
        divides: bool,
        session: &ArrowSession,
    ) -> Result<Self> {
        Ok(Self {
            writer,
            batch_size: rows_of_batch(session)?,
            divides,
            waiting: RowQueue::new(columns),
            state: Progress::New,
        })
    }

    /// Rows that are not in a batch yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.rows()
    }

    /// Takes more rows, as arguments; `None` if they are too many.
    pub(super) fn push(&mut self, columns: Vec<ArrayRef>, rows: usize) -> Option<()> {
        self.waiting.push(columns, rows)
    }

    /// There are no more rows.
    pub(super) fn finish(&mut self) {
        self.state = Progress::Last;
    }

    /// The next part.
    ///
    /// # Errors
    /// Bail-out: a batch is too large.
    pub(super) fn next(&mut self) -> Result<Part> {
        match self.state {
            Progress::New => {
                self.state = Progress::Begun;
                Ok(Part::Bytes(self.writer.start().to_vec(), false))
            }
            Progress::Begun if self.waiting.rows() < self.batch_size => Ok(Part::Rows),
            Progress::Last if self.waiting.rows() == 0 => {
                self.state = Progress::Ended;
                Ok(Part::Bytes(END_OF_STREAM.to_vec(), false))
            }
            Progress::Ended => Ok(Part::End),
            Progress::Begun | Progress::Last => {
                let rows = self.waiting.rows().min(self.batch_size);
                let columns = self.waiting.take(rows);
                let columns =
                    columns.ok_or_else(|| bail_out("rows for Python that are missing"))?;
                let bytes = self.writer.batch(&columns, rows, MAX_BATCH, self.divides)?;
                Ok(Part::Bytes(bytes, true))
            }
        }
    }
}

/// The time zone in which functions see these columns.
pub(super) fn zone_of(session: &ArrowSession, types: &[DataType]) -> Result<Arc<str>> {
    let zone = known_zone(session.time_zone.as_deref(), types);
    zone.ok_or_else(|| bail_out("timestamps for Python in a session without a time zone"))
}

/// The time zone in which functions see timestamps, by the session's; `None` if that has none and there are timestamps.
pub(super) fn known_zone<'a>(
    zone: Option<&str>,
    types: impl IntoIterator<Item = &'a DataType>,
) -> Option<Arc<str>> {
    match zone {
        Some(zone) => Some(Arc::from(zone)),
        None if types.into_iter().any(has_timestamps) => None,
        // Nobody sees it.
        None => Some(Arc::from("UTC")),
    }
}

/// Reads the stream of results.
pub(super) struct ArrowDecoder {
    types: Vec<DataType>,
    /// The types of the columns that are made.
    columns: Vec<ArrowType>,
    /// Whether columns come as the fields of one, and what these are.
    rows: Option<Rows>,
    /// The types of the columns that come, once they are known.
    schema: Option<SchemaRef>,
    next: Expected,
    /// Bytes of the message that is read.
    bytes: usize,
}

/// Columns that come as the fields of structs.
struct Rows {
    /// Their names, and whether they may be null.
    fields: Vec<(String, bool)>,
    /// Whether Spark compares what comes with these.
    checked: bool,
}

/// What comes next.
enum Expected {
    /// A mark and the length of a description.
    Start,
    Description,
    /// The body of a message of that description.
    Body(Bytes),
    Nothing,
}

/// Columns of results, how many rows they have, and how many bytes they were.
pub(super) type Results = (Vec<ArrayRef>, usize, usize);

impl ArrowDecoder {
    /// For results of these types.
    ///
    /// # Errors
    /// Bail-out: there are no columns of these types.
    pub(super) fn new(types: &[DataType]) -> Result<Self> {
        let columns = types.iter().map(DataType::to_arrow);
        let columns = columns.collect::<std::result::Result<_, _>>();
        Ok(Self {
            types: types.to_vec(),
            columns: columns.map_err(|why| bail_out(why.to_string()))?,
            rows: None,
            schema: None,
            next: Expected::Start,
            bytes: 0,
        })
    }

    /// For rows of these columns, each as a struct; `checked` if Spark looks at its type.
    ///
    /// # Errors
    /// Bail-out: there are no columns of these types.
    pub(super) fn of_rows(columns: &[Attribute], checked: bool) -> Result<Self> {
        let types = columns.iter().map(|column| column.data_type.clone());
        let fields = columns.iter().map(|of| (of.name.clone(), of.nullable));
        let rows = Rows {
            fields: fields.collect(),
            checked,
        };
        Ok(Self {
            rows: Some(rows),
            ..Self::new(&types.collect::<Vec<_>>())?
        })
    }

    /// For columns of these types that come as the fields of one, whatever names they have.
    ///
    /// # Errors
    /// Bail-out: there are no columns of these types.
    pub(super) fn of_fields(types: &[DataType]) -> Result<Self> {
        let rows = Rows {
            fields: vec![(String::new(), true); types.len()],
            checked: false,
        };
        Ok(Self {
            rows: Some(rows),
            ..Self::new(types)?
        })
    }

    /// Takes the next part of the stream: what is before a message, its description, or its body, if it has one. Gives
    /// the batch that it completes.
    ///
    /// # Errors
    /// Bail-out: results of other types, or a malformed stream.
    pub(super) fn push(&mut self, part: Bytes) -> Result<Option<Results>> {
        self.bytes += part.len();
        let (description, body) = match replace(&mut self.next, Expected::Nothing) {
            Expected::Start => {
                // The mark was looked at by who divided the stream.
                let length = part
                    .get(4..8)
                    .ok_or_else(|| bail_out("an Arrow stream in other parts"))?;
                if length.iter().any(|byte| *byte != 0) {
                    self.next = Expected::Description;
                }
                return Ok(None);
            }
            Expected::Description if arrow_message::body_length(&part)? > 0 => {
                self.next = Expected::Body(part);
                return Ok(None);
            }
            Expected::Description => (part, Bytes::new()),
            Expected::Body(description) => (description, part),
            Expected::Nothing => return Err(bail_out("results of Python behind the last")),
        };
        self.next = Expected::Start;
        let bytes = take(&mut self.bytes);
        let body = Buffer::from(body);
        match arrow_message::read(&description, &body, self.schema.as_ref())? {
            ArrowMessage::Schema(schema) => {
                self.check(&schema)?;
                self.schema = Some(schema);
                Ok(None)
            }
            ArrowMessage::Batch(batch) => self.results(&batch, bytes).map(Some),
        }
    }

    fn results(&self, batch: &RecordBatch, bytes: usize) -> Result<Results> {
        let columns = match (&self.rows, batch.columns()) {
            (None, columns) => columns,
            (Some(_), [only]) => match only.as_struct_opt() {
                // Of a row that is null Spark takes what its fields hold.
                Some(rows) if rows.null_count() == 0 => rows.columns(),
                _ => return Err(bail_out("rows of Python that are null")),
            },
            (Some(_), _) => return Err(other_type()),
        };
        let columns = columns.iter().zip(&self.columns);
        let columns = columns.map(|(column, to)| converted(column, to));
        let columns = columns.collect::<Result<_>>()?;
        Ok((columns, batch.num_rows(), bytes))
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        let types = &self.types;
        let fields = match (&self.rows, &schema.fields()[..]) {
            (None, fields) if fields.len() == types.len() => schema.fields(),
            (Some(rows), [only]) => match only.data_type() {
                ArrowType::Struct(fields) if rows.are(fields) => fields,
                _ => return Err(other_type()),
            },
            _ => return Err(other_type()),
        };
        let mut pairs = fields.iter().zip(types);
        match pairs.all(|(field, of)| is_of(of, field.data_type())) {
            true => Ok(()),
            false => Err(other_type()),
        }
    }
}

impl Rows {
    /// Whether Spark takes fields for these: by their places, whatever names they have and how many more there are, or
    /// as `DataType.equalsIgnoreCompatibleNullability` compares them.
    fn are(&self, fields: &Fields) -> bool {
        let mut pairs = self.fields.iter().zip(fields);
        if self.checked {
            return self.fields.len() == fields.len()
                && pairs.all(|((name, nullable), field)| {
                    name == field.name() && (*nullable || !field.is_nullable())
                });
        }
        // Of two fields of one name Java keeps one.
        let mut names = HashSet::new();
        fields.iter().all(|field| names.insert(field.name()))
            && self.fields.len() <= fields.len()
            && fields
                .iter()
                .skip(self.fields.len())
                .all(|field| !field.data_type().is_nested())
    }
}

fn other_type() -> DataFusionError {
    bail_out("results of Python of another type")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "stream_tests.rs"]
mod tests;
