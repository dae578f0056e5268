//! File scans.

use javaser::arena::{Graph, Value};

use crate::closure::Closure;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, read_attributes};
use crate::metrics::{Metric, read_map};
use crate::object::{Object, Reader};
use crate::plan::{Broadcast, LeafId};
use crate::types::{StructField, read_fields};

/// Formats of files that are read: their names, and the classes whose `buildReaderWithPartitionValues` reads them in Spark.
pub const FILE_FORMATS: [(&str, &str); 1] = [(
    "Parquet",
    "sql.execution.datasources.parquet.ParquetFileFormat",
)];

/// A `FileSourceScanExec` of Parquet files.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSourceScan {
    /// Where tasks say which files.
    pub leaf: LeafId,
    /// Columns to read from the files, the first of the output.
    pub required_schema: Vec<StructField>,
    /// Columns that the partitions' paths have, the last of the output.
    pub partition_schema: Vec<StructField>,
    /// What the driver chose partitions by. Nothing is left to do; those that are not known here are left out.
    pub partition_filters: Vec<Expr>,
    /// What rows must meet, for leaving out row groups. The filter above the scan sees to it: those that are not known are left out.
    pub data_filters: Vec<Expr>,
    /// How to read.
    pub parquet: ParquetOptions,
    /// Files that are not there any more have no rows.
    pub ignore_missing_files: bool,
    /// Files that cannot be read end where they cannot.
    pub ignore_corrupt_files: bool,
}

/// What `ParquetFileFormat` took from the session.
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetOptions {
    /// Broadcast of the `SerializableConfiguration` for Hadoop.
    pub conf: Broadcast,
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
}

/// Reads a scan from its operator and its RDD. Gives the output and the metrics too.
pub(crate) fn read(
    reader: &Reader<'_>,
    leaf: LeafId,
    operator: Object<'_>,
    rdd: Object<'_>,
) -> Result<(FileSourceScan, Vec<Attribute>, Vec<Metric>)> {
    if operator.name() != "FileSourceScanExec" {
        return Err(Unsupported::Class(operator.name().to_owned()));
    }
    if !rdd.elements("metadataColumns")?.is_empty() {
        return Err(Unsupported::of_use("metadata columns of files"));
    }
    let (parquet, partition_schema) = read_parquet(reader, rdd)?;
    let required_schema = read_fields(reader, operator.object("requiredSchema")?)?;
    // Made by the reader, not read from the file.
    if required_schema
        .iter()
        .any(|field| field.name.starts_with("_tmp_metadata_"))
    {
        return Err(Unsupported::of_use("metadata columns of files"));
    }
    let output = read_attributes(reader, operator.elements("output")?)?;
    if output.len() != required_schema.len() + partition_schema.len() {
        return Err(Unsupported::of_use("a scan of other columns"));
    }
    let known = |field: &str| {
        let filters = operator.elements(field)?;
        let filters = filters.into_iter();
        Ok::<_, Unsupported>(
            filters
                .filter_map(|filter| Expr::read(reader, filter).ok())
                .collect(),
        )
    };
    let scan = FileSourceScan {
        leaf,
        required_schema,
        partition_schema,
        partition_filters: known("partitionFilters")?,
        data_filters: known("dataFilters")?,
        parquet,
        ignore_missing_files: rdd.bool("ignoreMissingFiles")?,
        ignore_corrupt_files: rdd.bool("ignoreCorruptFiles")?,
    };
    let metrics = read_map(reader, operator, "scanMetrics")?;
    Ok((scan, output, metrics))
}

/// The function that reads a file. What it captured goes by its types: the order differs between releases.
fn read_parquet(
    reader: &Reader<'_>,
    rdd: Object<'_>,
) -> Result<(ParquetOptions, Vec<StructField>)> {
    let graph = reader.graph;
    let mut function = Closure::in_field(rdd, "readFunction")?;
    let is_ours = |function: &Closure| {
        let (class, method) = function.name();
        FILE_FORMATS.iter().any(|(_, known)| class == *known)
            && method == "buildReaderWithPartitionValues"
    };
    if !is_ours(&function) {
        return Err(function.unsupported());
    }
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
            || !is_ours(&inner)
        {
            return Err(function.unsupported());
        }
        function = inner;
    }
    let unknown = || function.unsupported();
    let class = |value: &Value| reader.class(*value);
    let structs: Vec<_> = of_class(graph, &function, "org.apache.spark.sql.types.StructType");
    let texts: Vec<_> = function
        .args
        .iter()
        .filter_map(|arg| graph.str(*arg))
        .collect();
    // enableVectorizedReader, enableParquetFilterPushDown, pushDown{Date,Timestamp,Decimal,StringPredicate}, isCaseSensitive, then
    // timestampConversion and others.
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
    let ([partition_schema, _required], [datetime, int96]) = (structs.as_slice(), texts.as_slice())
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
        conf: read_broadcast(reader, *broadcast.ok_or_else(unknown)?)?,
        datetime_rebase_mode: datetime.to_string(),
        int96_rebase_mode: int96.to_string(),
        filter_push_down,
        case_sensitive,
        timestamp_conversion,
        batch_rows,
    };
    let partition_schema = read_fields(reader, reader.expect(*partition_schema)?)?;
    Ok((options, partition_schema))
}

fn of_class(graph: &Graph, function: &Closure, class: &str) -> Vec<Value> {
    function
        .args
        .iter()
        .copied()
        .filter(|arg| graph.class_name(*arg) == Some(class))
        .collect()
}

/// A `TorrentBroadcast`.
pub(crate) fn read_broadcast(reader: &Reader<'_>, value: Value) -> Result<Broadcast> {
    let object = reader.expect(value)?;
    if object.name() != "TorrentBroadcast" {
        return Err(Unsupported::Class(object.name().to_owned()));
    }
    Ok(Broadcast {
        id: object.long("id")?,
        node: object.node,
    })
}
