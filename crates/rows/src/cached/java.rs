//! Batches as Java objects: what `JavaSerializer` makes of a partition of a cached table.

use std::io::Read;

use catalyst::{DataType, Decimal, Literal, MAX_LONG_DIGITS, literals_of_row};
use datafusion_common::Result;
use javaser::arena::{Graph, NodeId, Value};
use javaser::stream::{HEADER, TC_RESET};
use javaser::{Catalog, Error, Limits};

use super::{CachedBatch, ColumnStatistics};
use crate::error::{bail_out, source_error};
use crate::result::Writer;

const BATCH: &str = "org.apache.spark.sql.execution.columnar.DefaultCachedBatch";
const ROW: &str = "org.apache.spark.sql.catalyst.expressions.GenericInternalRow";

/// Values of each column in the row of statistics.
const STATISTICS: usize = 5;

/// Bytes that are read at once at least.
const CHUNK: usize = 64 << 10;

/// Bytes of batches that are read together at most. Spark forgets handles after 100 objects, we after each.
const MAX_TOGETHER: usize = 1 << 30;

/// Appends a batch to the stream of a partition's batches, behind its header or other batches. Handles are forgotten
/// after it, so that batches can be read one by one. `types` are the columns'.
///
/// # Errors
/// Bail-out: classes of Spark are missing or not as expected.
pub fn write_batch(
    catalog: &Catalog,
    batch: &CachedBatch,
    types: &[DataType],
    out: &mut Vec<u8>,
) -> Result<()> {
    let bytes = written(catalog, batch, types)
        .map_err(|why| bail_out(format!("a cached batch cannot be written: {why}")))?;
    out.extend_from_slice(bytes.get(HEADER.len()..).unwrap_or(&[]));
    out.push(TC_RESET);
    Ok(())
}

fn written(
    catalog: &Catalog,
    batch: &CachedBatch,
    types: &[DataType],
) -> std::result::Result<Vec<u8>, Error> {
    let mut writer = Writer::new(catalog);
    let mut statistics = Vec::with_capacity(batch.statistics.len() * STATISTICS);
    for (column, data_type) in batch.statistics.iter().zip(types) {
        for (value, of) in column
            .values()
            .iter()
            .zip(ColumnStatistics::types(data_type))
        {
            statistics.push(literal(&mut writer, value, &of)?);
        }
    }
    let statistics = writer.array("[Ljava.lang.Object;", statistics)?;
    let statistics = writer.object(ROW, &[("values", statistics)])?;
    let buffers = batch.buffers.iter().map(|buffer| writer.bytes(buffer));
    let buffers = buffers.collect::<std::result::Result<Vec<_>, _>>()?;
    let buffers = writer.array("[[B", buffers)?;
    // A batch has as many rows as an int counts.
    let rows = Value::Int(batch.num_rows as i32);
    let fields = [
        ("numRows", rows),
        ("buffers", buffers),
        ("stats", statistics),
    ];
    let root = writer.object(BATCH, &fields)?;
    writer.finish(root)
}

/// A bound, as Catalyst keeps values of the type.
fn literal(
    writer: &mut Writer<'_>,
    value: &Literal,
    data_type: &DataType,
) -> std::result::Result<Value, Error> {
    match (value, data_type) {
        (Literal::Boolean(value), _) => writer.boxed("java.lang.Boolean", Value::Bool(*value)),
        (Literal::Byte(value), _) => writer.boxed("java.lang.Byte", Value::Byte(*value)),
        (Literal::Short(value), _) => writer.boxed("java.lang.Short", Value::Short(*value)),
        (Literal::Integer(value), _) => writer.boxed("java.lang.Integer", Value::Int(*value)),
        (Literal::Long(value), _) => writer.boxed("java.lang.Long", Value::Long(*value)),
        (Literal::Float(value), _) => writer.boxed("java.lang.Float", Value::Float(*value)),
        (Literal::Double(value), _) => writer.boxed("java.lang.Double", Value::Double(*value)),
        (Literal::String(bytes), _) => {
            // Of a row of at most 2 GiB.
            let length = (bytes.len() as u32).to_be_bytes();
            writer.external(
                "org.apache.spark.unsafe.types.UTF8String",
                &[&length, &**bytes].concat(),
            )
        }
        (Literal::Decimal(digits), DataType::Decimal(of)) => decimal(writer, *digits, of),
        // Of types without an order.
        _ => Ok(Value::Null),
    }
}

fn decimal(
    writer: &mut Writer<'_>,
    digits: i128,
    of: &Decimal,
) -> std::result::Result<Value, Error> {
    let mut fields = vec![
        ("_precision", Value::Int(of.precision.into())),
        ("_scale", Value::Int(of.scale.into())),
    ];
    match i64::try_from(digits) {
        Ok(digits) if of.precision <= MAX_LONG_DIGITS => {
            fields.push(("longVal", Value::Long(digits)));
        }
        _ => fields.push(("decimalVal", big_decimal(writer, digits, of.scale)?)),
    }
    writer.object("org.apache.spark.sql.types.Decimal", &fields)
}

/// A `scala.math.BigDecimal`.
fn big_decimal(
    writer: &mut Writer<'_>,
    digits: i128,
    scale: i8,
) -> std::result::Result<Value, Error> {
    let magnitude = digits.unsigned_abs().to_be_bytes();
    let zeros = magnitude.iter().take_while(|byte| **byte == 0).count();
    let magnitude = writer.bytes(magnitude.get(zeros..).unwrap_or(&[]))?;
    let integer = [
        ("signum", Value::Int(digits.signum() as i32)),
        ("magnitude", magnitude),
        // Caches of old versions, which write these.
        ("bitCount", Value::Int(-1)),
        ("bitLength", Value::Int(-1)),
        ("firstNonzeroByteNum", Value::Int(-2)),
        ("lowestSetBit", Value::Int(-2)),
    ];
    let integer = writer.object("java.math.BigInteger", &integer)?;
    let java = [("intVal", integer), ("scale", Value::Int(scale.into()))];
    let java = writer.object("java.math.BigDecimal", &java)?;
    // BigDecimal.defaultMathContext: DECIMAL128.
    let half_even = writer.constant("java.math.RoundingMode", "HALF_EVEN")?;
    let context = [("precision", Value::Int(34)), ("roundingMode", half_even)];
    let context = writer.object("java.math.MathContext", &context)?;
    let scala = [
        ("bigDecimal", java),
        ("mc", context),
        // BigDecimal.hashCodeNotComputed
        ("computedHashCode", Value::Int(1_565_550_863)),
    ];
    writer.object("scala.math.BigDecimal", &scala)
}

/// Reads the batches of a partition.
#[derive(Debug)]
pub struct CachedBatchReader<R> {
    stream: R,
    /// Types of the columns, if statistics are wanted.
    types: Option<Box<[DataType]>>,
    /// What was read and not looked at, behind a header.
    bytes: Vec<u8>,
    ended: bool,
    /// The batches of the last piece, in the order from the last to the first.
    batches: Vec<CachedBatch>,
}

impl<R: Read> CachedBatchReader<R> {
    /// For a partition's stream of objects. Statistics are read if `types`, those of all columns, are told.
    pub fn new(stream: R, types: Option<&[DataType]>) -> Self {
        Self {
            stream,
            types: types.map(Into::into),
            bytes: Vec::new(),
            ended: false,
            batches: Vec::new(),
        }
    }

    /// The next batch; `None` after the last.
    ///
    /// # Errors
    /// The stream fails; bail-out: it has something else than batches.
    pub fn next_batch(&mut self) -> Result<Option<CachedBatch>> {
        loop {
            if let Some(batch) = self.batches.pop() {
                return Ok(Some(batch));
            }
            if self.ended && self.bytes.len() <= HEADER.len() {
                return Ok(None);
            }
            let (graph, used) = self.piece()?;
            let batches = graph.root_values().map(|root| {
                let batch = read_batch(&graph, root, self.types.as_deref());
                batch.ok_or_else(|| bail_out("a cached block with other objects than batches"))
            });
            self.batches = batches.collect::<Result<_>>()?;
            self.batches.reverse();
            // The header stays for what comes next.
            let rest = self.bytes.split_off(used);
            self.bytes.truncate(HEADER.len());
            self.bytes.extend(rest);
        }
    }

    /// Objects up to where handles are forgotten, or all that are left, and how many bytes they take.
    fn piece(&mut self) -> Result<(Graph, usize)> {
        let limits = Limits {
            max_total: MAX_TOGETHER,
            max_array_len: MAX_TOGETHER,
            ..Limits::default()
        };
        let unreadable = |why: Error| bail_out(format!("a cached block: {}", why.code()));
        loop {
            if self.bytes.len() > HEADER.len() {
                match Graph::parse_to_reset(&self.bytes, &limits) {
                    Ok((graph, Some(used))) => return Ok((graph, used)),
                    Ok((graph, None)) if self.ended => return Ok((graph, self.bytes.len())),
                    Ok(_) => {}
                    Err(Error::Truncated { .. }) if !self.ended => {}
                    Err(why) => return Err(unreadable(why)),
                }
            } else if self.ended {
                return Ok((Graph::default(), self.bytes.len()));
            }
            self.fill()?;
        }
    }

    /// Reads as much as there is already, so that what is looked at again and again grows fast.
    fn fill(&mut self) -> Result<()> {
        let wanted = self.bytes.len().max(CHUNK);
        if self.bytes.len() + wanted > MAX_TOGETHER {
            return Err(bail_out("cached batches of more than 1 GiB together"));
        }
        let mut part = self.stream.by_ref().take(wanted as u64);
        let read = part.read_to_end(&mut self.bytes).map_err(source_error)?;
        self.ended = read < wanted;
        Ok(())
    }
}

fn read_batch(graph: &Graph, value: Value, types: Option<&[DataType]>) -> Option<CachedBatch> {
    let batch = value.node()?;
    if graph.class_name(value) != Some(BATCH) {
        return None;
    }
    let num_rows = graph.int(graph.field(batch, "numRows")?)?;
    let buffers = graph.array(graph.field(batch, "buffers")?)?;
    let buffer = |value: Value| graph.byte_array(value).map(|bytes| bytes.to_vec().into());
    let buffers: Vec<_> = buffers.into_iter().map(buffer).collect::<Option<_>>()?;
    let statistics = match types {
        Some(types) => read_statistics(graph, graph.field(batch, "stats")?.node()?, types)?,
        None => Vec::new(),
    };
    Some(CachedBatch {
        num_rows: usize::try_from(num_rows).ok()?,
        buffers,
        statistics,
    })
}

fn read_statistics(
    graph: &Graph,
    row: NodeId,
    types: &[DataType],
) -> Option<Vec<ColumnStatistics>> {
    let all: Vec<_> = types.iter().flat_map(ColumnStatistics::types).collect();
    let values = literals_of_row(graph, row, &all).ok()?;
    let columns = values.as_chunks::<STATISTICS>().0;
    let column = |values: &[Literal; STATISTICS]| match values {
        [
            lower,
            upper,
            Literal::Integer(null_count),
            Literal::Integer(count),
            Literal::Long(size_in_bytes),
        ] => Some(ColumnStatistics {
            lower: lower.clone(),
            upper: upper.clone(),
            null_count: *null_count,
            count: *count,
            size_in_bytes: *size_in_bytes,
        }),
        _ => None,
    };
    columns.iter().map(column).collect()
}
