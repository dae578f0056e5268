//! What `ParquetFileFormat` captured.

use std::borrow::Cow;

use javaser::Closure;
use javaser::arena::{Graph, Value};

use super::delta::DeletedRows;
use crate::closure::ClosureArgs as _;
use crate::error::Result;
use crate::object::Reader;
use crate::plan::Broadcast;
use crate::types::{StructField, read_fields};

/// Spark's class.
pub(super) const CLASS: &str = "sql.execution.datasources.parquet.ParquetFileFormat";

/// What `ParquetFileFormat` took from the session.
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetOptions {
    /// Broadcast of the `SerializableConfiguration` for Hadoop, if it is the stage's.
    pub conf: Option<Broadcast>,
    /// `spark.sql.parquet.datetimeRebaseModeInRead`: `EXCEPTION`, `CORRECTED` or `LEGACY`.
    pub datetime_rebase_mode: String,
    /// `spark.sql.parquet.int96RebaseModeInRead`
    pub int96_rebase_mode: String,
    /// `spark.sql.parquet.filterPushdown`: whether row groups are left out.
    pub filter_push_down: bool,
    /// `spark.sql.caseSensitive`: whether names of columns must be equal in case.
    pub case_sensitive: bool,
    /// `spark.sql.parquet.int96TimestampConversion`
    pub timestamp_conversion: bool,
    /// `spark.sql.parquet.columnarReaderBatchSize`: rows of a batch of Spark's reader. Only a metric counts them.
    pub batch_rows: Option<usize>,
    /// Of a table of Delta's that has deletion vectors.
    pub deleted_rows: Option<DeletedRows>,
}

/// What the function that reads a file captured.
pub(super) struct ReadFunction {
    pub(super) options: ParquetOptions,
    pub(super) partition_schema: Vec<StructField>,
    /// The columns as files call them. Formats above Parquet have names of their own for a table's columns.
    pub(super) file_schema: Vec<StructField>,
}

/// The function that reads a file. What it captured goes by its types: the order differs between releases.
pub(super) fn read(reader: &Reader<'_>, function: &Closure) -> Result<ReadFunction> {
    let graph = reader.graph;
    let mut function = Cow::Borrowed(function);
    // 4.3 has a closure around it, whose flag is about archives.
    if let Some(inner) = function
        .args
        .iter()
        .find_map(|arg| Closure::read(graph, *arg))
    {
        if function
            .args
            .iter()
            .any(|arg| graph.bool(*arg) == Some(true))
            || inner.name() != function.name()
        {
            return Err(function.unsupported());
        }
        function = Cow::Owned(inner);
    }
    let unknown = || function.unsupported();
    let class = |value: &Value| reader.class(*value);
    let structs: Vec<_> = of_class(graph, &function, "org.apache.spark.sql.types.StructType");
    let texts: Vec<_> = function
        .args
        .iter()
        .filter_map(|arg| graph.str(*arg))
        .collect();
    // enableVectorizedReader, enableParquetFilterPushDown, pushDown{Date,Timestamp,Decimal,StringPredicate},
    // isCaseSensitive, then timestampConversion and others.
    let flags: Vec<_> = function
        .args
        .iter()
        .filter(|arg| class(arg) == "java.lang.Boolean")
        .filter_map(|arg| graph.bool(*arg))
        .collect();
    // Behind `spark.sql.parquet.pushdown.inFilterThreshold`, the only other number that it captured.
    let numbers: Vec<_> = function
        .args
        .iter()
        .filter(|arg| class(arg) == "java.lang.Integer")
        .filter_map(|arg| graph.int(*arg))
        .collect();
    let batch_rows = match numbers.as_slice() {
        [_, rows] => usize::try_from(*rows).ok().filter(|rows| *rows > 0),
        _ => None,
    };
    let broadcast = function
        .args
        .iter()
        .find(|arg| class(arg) == "org.apache.spark.broadcast.TorrentBroadcast");
    let ([partition_schema, file_schema], [datetime, int96]) =
        (structs.as_slice(), texts.as_slice())
    else {
        return Err(unknown());
    };
    let &[
        _,
        filter_push_down,
        _,
        _,
        _,
        _,
        case_sensitive,
        timestamp_conversion,
        ..,
    ] = flags.as_slice()
    else {
        return Err(unknown());
    };
    let options = ParquetOptions {
        conf: Some(super::read_broadcast(
            reader,
            *broadcast.ok_or_else(unknown)?,
        )?),
        datetime_rebase_mode: datetime.to_string(),
        int96_rebase_mode: int96.to_string(),
        filter_push_down,
        case_sensitive,
        timestamp_conversion,
        batch_rows,
        deleted_rows: None,
    };
    let fields = |schema: &Value| read_fields(reader, reader.expect(*schema)?);
    Ok(ReadFunction {
        options,
        partition_schema: fields(partition_schema)?,
        file_schema: fields(file_schema)?,
    })
}

fn of_class(graph: &Graph, function: &Closure, class: &str) -> Vec<Value> {
    function
        .args
        .iter()
        .copied()
        .filter(|arg| graph.class_name(*arg) == Some(class))
        .collect()
}
