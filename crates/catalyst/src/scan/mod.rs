//! File scans. Each format of files has a module that reads what Spark's class for it captured.

mod parquet;
mod text;

use std::fmt;

use javaser::arena::Value;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, read_attributes};
use crate::metrics::{Metric, read_map};
use crate::object::{Object, Reader};
use crate::plan::{Broadcast, LeafId};
use crate::types::{StructField, read_fields};
use javaser::Closure;
pub use parquet::ParquetOptions;
pub use text::TextOptions;

/// Formats of files that are read: their names, and Spark's classes that read them.
pub const FILE_FORMATS: [(&str, &str); 2] = [("Parquet", parquet::CLASS), ("text", text::CLASS)];

/// What puts the values of partition columns behind what a format reads that does not know them itself.
const WITH_PARTITION_VALUES: &str = "org.apache.spark.sql.execution.datasources.FileFormat$$anon$1";

/// A format of files, with what Spark's class for it took from the session.
#[derive(Debug, Clone, PartialEq)]
pub enum FileFormat {
    /// `ParquetFileFormat`
    Parquet(ParquetOptions),
    /// `TextFileFormat`
    Text(TextOptions),
}

impl FileFormat {
    /// Broadcast of the `SerializableConfiguration` for Hadoop.
    #[must_use]
    pub fn conf(&self) -> &Broadcast {
        match self {
            Self::Parquet(options) => &options.conf,
            Self::Text(options) => &options.conf,
        }
    }

    /// The format that a scan's RDD reads with a function, and the columns of partitions' paths.
    fn read(reader: &Reader<'_>, function: Value) -> Result<(Self, Vec<StructField>)> {
        if let Some(function) = Closure::read(reader.graph, function) {
            return match function.name() {
                (parquet::CLASS, "buildReaderWithPartitionValues") => {
                    let (options, partition_schema) = parquet::read(reader, &function)?;
                    Ok((Self::Parquet(options), partition_schema))
                }
                _ => Err(function.unsupported()),
            };
        }
        let function = reader.expect(function)?;
        if function.class() != WITH_PARTITION_VALUES {
            return Err(Unsupported::Class(function.name().to_owned()));
        }
        let inner = Closure::in_field(function, "dataReader$1")?;
        let format = match inner.name() {
            (text::CLASS, _) => Self::Text(text::read(reader, &inner)?),
            _ => return Err(inner.unsupported()),
        };
        let partition_schema = read_fields(reader, function.object("partitionSchema$1")?)?;
        Ok((format, partition_schema))
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = |f: &mut fmt::Formatter<'_>, (set, name): (bool, &str)| match set {
            true => write!(f, " {name}"),
            false => Ok(()),
        };
        match self {
            Self::Parquet(options) => {
                let (datetime, int96) = (&options.datetime_rebase_mode, &options.int96_rebase_mode);
                write!(f, "rebase {datetime} {int96}")?;
                flag(f, (options.filter_push_down, "filterPushdown"))?;
                flag(f, (options.case_sensitive, "caseSensitive"))?;
                flag(f, (options.timestamp_conversion, "timestampConversion"))
            }
            Self::Text(options) => {
                match &options.line_separator {
                    None => write!(f, "lines")?,
                    Some(separator) => write!(f, "lines to {separator:?}")?,
                }
                flag(f, (options.whole_text, "wholetext"))
            }
        }
    }
}

/// A `FileSourceScanExec`.
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
    /// What rows must meet, for leaving out row groups. The filter above the scan sees to it: those that are not known
    /// are left out.
    pub data_filters: Vec<Expr>,
    /// What the files are, and how to read them.
    pub format: FileFormat,
    /// Files that are not there any more have no rows.
    pub ignore_missing_files: bool,
    /// Files that cannot be read end where they cannot.
    pub ignore_corrupt_files: bool,
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
    let (format, partition_schema) = FileFormat::read(reader, rdd.value("readFunction")?)?;
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
        format,
        ignore_missing_files: rdd.bool("ignoreMissingFiles")?,
        ignore_corrupt_files: rdd.bool("ignoreCorruptFiles")?,
    };
    let metrics = read_map(reader, operator, "scanMetrics")?;
    Ok((scan, output, metrics))
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
