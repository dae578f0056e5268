//! Batches as Java objects: what `JavaSerializer` makes of a partition of a cached table.

use catalyst::{DataType, Decimal, Literal, MAX_LONG_DIGITS, literals_of_row};
use datafusion_common::Result;
use javaser::arena::{Graph, NodeId, Value};
use javaser::stream::{HEADER, TC_RESET};
use javaser::{Catalog, Error, Limits};

use super::stream::MAX_TOGETHER;
use super::{CachedBatch, ColumnStatistics};
use crate::error::bail_out;
use crate::result::Writer;

pub(super) const BATCH: &str = "org.apache.spark.sql.execution.columnar.DefaultCachedBatch";
pub(super) const ROW: &str = "org.apache.spark.sql.catalyst.expressions.GenericInternalRow";

/// Values of each column in the row of statistics.
pub(super) const STATISTICS: usize = 5;

/// Appends a batch to the stream of a partition's batches, behind its header or other batches. Handles are forgotten
/// after it, so that batches can be read one by one. `types` are the columns'.
///
/// # Errors
/// Bail-out: classes of Spark are missing or not as expected.
pub(super) fn write_batch(
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

/// Batches of the first objects, up to where handles are forgotten or up to the end, and how many bytes they take;
/// `None` if they are not complete, which they must be if nothing else comes.
///
/// # Errors
/// Bail-out: there is something else than batches.
pub(super) fn read_batches(
    bytes: &[u8],
    types: Option<&[DataType]>,
    ended: bool,
) -> Result<Option<(Vec<CachedBatch>, usize)>> {
    let limits = Limits {
        max_total: MAX_TOGETHER,
        max_array_len: MAX_TOGETHER,
        ..Limits::default()
    };
    let (graph, used) = match Graph::parse_to_reset(bytes, &limits) {
        Ok((graph, Some(used))) => (graph, used),
        Ok((graph, None)) if ended => (graph, bytes.len()),
        Ok(_) => return Ok(None),
        Err(Error::Truncated { .. }) if !ended => return Ok(None),
        Err(why) => return Err(bail_out(format!("a cached block: {}", why.code()))),
    };
    let batches = graph.root_values().map(|root| {
        let batch = read_batch(&graph, root, types);
        batch.ok_or_else(|| bail_out("a cached block with other objects than batches"))
    });
    Ok(Some((batches.collect::<Result<_>>()?, used)))
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
    statistics_of(values.as_chunks::<STATISTICS>().0)
}

/// Statistics of columns from their values.
pub(super) fn statistics_of(columns: &[[Literal; STATISTICS]]) -> Option<Vec<ColumnStatistics>> {
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
