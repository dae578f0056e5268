//! Messages of an Arrow stream that another process sent. The library that decodes them trusts whoever wrote them, and
//! panics where they are malformed: what it relies on is looked at before.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType as ArrowType, Fields, SchemaRef};
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::read_record_batch;
use arrow::ipc::{
    Buffer as BufferPlace, DateUnit, Endianness, Field, FieldNode, MessageHeader, Precision,
    Schema, TimeUnit, Type, root_as_message,
};
use datafusion_common::{DataFusionError, Result};
use rows::error::bail_out;

/// Most rows of a batch: lists count their elements in 32 bits.
const MAX_ROWS: i64 = i32::MAX as i64;

/// What a message says.
#[derive(Debug)]
pub enum ArrowMessage {
    /// The types of the stream's columns.
    Schema(SchemaRef),
    /// A batch of them.
    Batch(RecordBatch),
}

fn malformed() -> DataFusionError {
    bail_out("a malformed Arrow stream")
}

/// The length of what follows the description of a message.
///
/// # Errors
/// Bail-out: it is malformed.
pub fn body_length(description: &[u8]) -> Result<usize> {
    let message = root_as_message(description).map_err(|_| malformed())?;
    usize::try_from(message.bodyLength()).map_err(|_| malformed())
}

/// Reads a message of a stream whose columns are these, if they are known.
///
/// # Errors
/// Bail-out: it is malformed, or has what does not go to Spark's columns.
pub fn read(description: &[u8], body: &Buffer, schema: Option<&SchemaRef>) -> Result<ArrowMessage> {
    let message = root_as_message(description).map_err(|_| malformed())?;
    match (message.header_type(), schema) {
        (MessageHeader::Schema, None) => {
            let schema = message.header_as_schema().ok_or_else(malformed)?;
            if !is_plain_schema(schema) {
                return Err(bail_out("an Arrow stream of another type"));
            }
            Ok(ArrowMessage::Schema(Arc::new(fb_to_schema(schema))))
        }
        (MessageHeader::RecordBatch, Some(schema)) => {
            let batch = message.header_as_record_batch().ok_or_else(malformed)?;
            let rows = batch.length();
            if batch.compression().is_some() || !(0..=MAX_ROWS).contains(&rows) {
                return Err(malformed());
            }
            let mut parts = Parts {
                nodes: batch.nodes().into_iter().flatten().collect(),
                buffers: batch.buffers().into_iter().flatten().collect(),
                body: body.len(),
            };
            parts.nodes.reverse();
            parts.buffers.reverse();
            for field in schema.fields() {
                parts.check(field.data_type(), Some(rows))?;
            }
            let (schema, none) = (Arc::clone(schema), HashMap::new());
            let version = message.version();
            let batch = read_record_batch(body, batch, schema, &none, None, &version);
            batch.map(ArrowMessage::Batch).map_err(|_| malformed())
        }
        _ => Err(malformed()),
    }
}

/// Whether the columns have types that Spark's columns may have, with all that belongs to them.
fn is_plain_schema(schema: Schema<'_>) -> bool {
    let fields = schema.fields();
    let plain = fields.and_then(|fields| are_plain(fields.iter()));
    schema.endianness() == Endianness::Little && plain.is_some()
}

fn are_plain<'a>(mut fields: impl Iterator<Item = Field<'a>>) -> Option<()> {
    fields.try_for_each(is_plain)
}

fn is_plain(field: Field<'_>) -> Option<()> {
    let holds = |condition: bool| condition.then_some(());
    let children = field.children();
    holds(field.dictionary().is_none())?;
    match field.type_type() {
        Type::Null => field.type_as_null().map(drop),
        Type::Bool => field.type_as_bool().map(drop),
        Type::Utf8 => field.type_as_utf_8().map(drop),
        Type::LargeUtf8 => field.type_as_large_utf_8().map(drop),
        Type::Binary => field.type_as_binary().map(drop),
        Type::LargeBinary => field.type_as_large_binary().map(drop),
        Type::Int => {
            let of = field.type_as_int()?;
            holds(of.is_signed() && [8, 16, 32, 64].contains(&of.bitWidth()))
        }
        Type::FloatingPoint => {
            let of = field.type_as_floating_point()?.precision();
            holds([Precision::SINGLE, Precision::DOUBLE].contains(&of))
        }
        Type::Decimal => {
            let of = field.type_as_decimal()?;
            let (digits, scale) = (of.precision(), of.scale());
            holds(
                of.bitWidth() == 128 && (1..=38).contains(&digits) && (0..=digits).contains(&scale),
            )
        }
        Type::Date => holds(field.type_as_date()?.unit() == DateUnit::DAY),
        Type::Timestamp => holds(field.type_as_timestamp()?.unit() == TimeUnit::MICROSECOND),
        // Its recursion is as deep as the verifier lets it be.
        Type::List => {
            field.type_as_list()?;
            let children = children?;
            holds(children.len() == 1)?;
            are_plain(children.iter())
        }
        Type::Struct_ => {
            field.type_as_struct_()?;
            are_plain(children?.iter())
        }
        Type::Map => {
            field.type_as_map()?;
            let children = children?;
            holds(children.len() == 1)?;
            let entry = children.get(0);
            let parts = entry.children()?;
            holds(entry.type_type() == Type::Struct_ && parts.len() == 2)?;
            is_plain(entry)
        }
        _ => None,
    }
}

/// What a batch has of columns, the next one last.
struct Parts<'a> {
    nodes: Vec<&'a FieldNode>,
    buffers: Vec<&'a BufferPlace>,
    /// Bytes of all buffers.
    body: usize,
}

impl Parts<'_> {
    /// Looks at a column, which has so many rows if that is known.
    fn check(&mut self, of: &ArrowType, rows: Option<i64>) -> Result<()> {
        let node = self.nodes.pop().ok_or_else(malformed)?;
        let (length, nulls) = (node.length(), node.null_count());
        let fits = (0..=MAX_ROWS).contains(&length) && (0..=length).contains(&nulls);
        if !fits || rows.is_some_and(|rows| rows != length) {
            return Err(malformed());
        }
        if *of == ArrowType::Null {
            return Ok(());
        }
        let validity = self.buffer(1)?;
        if nulls > 0 && validity < (length as usize).div_ceil(8) {
            return Err(malformed());
        }
        match of {
            ArrowType::Struct(fields) => self.fields(fields, length),
            ArrowType::List(element) => {
                self.buffer(4)?;
                self.check(element.data_type(), None)
            }
            ArrowType::Map(entries, _) => {
                self.buffer(4)?;
                self.check(entries.data_type(), None)
            }
            ArrowType::Utf8 | ArrowType::Binary => {
                self.buffer(4)?;
                self.buffer(1).map(drop)
            }
            ArrowType::LargeUtf8 | ArrowType::LargeBinary => {
                self.buffer(8)?;
                self.buffer(1).map(drop)
            }
            other => self.buffer(other.primitive_width().unwrap_or(1)).map(drop),
        }
    }

    fn fields(&mut self, fields: &Fields, rows: i64) -> Result<()> {
        let mut fields = fields.iter();
        fields.try_for_each(|field| self.check(field.data_type(), Some(rows)))
    }

    /// The length of the next buffer, which is within the body and has values of so many bytes.
    fn buffer(&mut self, width: usize) -> Result<usize> {
        let place = self.buffers.pop().ok_or_else(malformed)?;
        let start = usize::try_from(place.offset()).map_err(|_| malformed())?;
        let length = usize::try_from(place.length()).map_err(|_| malformed())?;
        let end = start.checked_add(length).ok_or_else(malformed)?;
        if end > self.body || length % width != 0 {
            return Err(malformed());
        }
        Ok(length)
    }
}
