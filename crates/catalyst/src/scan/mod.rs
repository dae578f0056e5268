//! File scans. Each format of files has a module that reads what Spark's class for it captured.

mod csv;
mod delta;
mod iceberg;
mod json;
mod metadata;
mod parquet;
mod records;
mod text;
mod variant;

use std::fmt;

use javaser::arena::Value;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, ExprId, read_attributes};
use crate::metrics::{Metric, read_map};
use crate::object::{Object, Reader};
use crate::objects::Objects;
use crate::plan::{Broadcast, LeafId};
use crate::types::{StructField, read_fields};
use javaser::Closure;

pub use csv::{CsvOptions, CsvSyntax};
pub(crate) use csv::{
    character as csv_character, characters as csv_characters, syntax as csv_syntax,
};
pub use delta::DeletedRows;
pub(crate) use delta::deletion_vector;
pub(crate) use iceberg::files as iceberg_files;
#[cfg(fuzzing)]
pub(crate) use iceberg::fuzz as fuzz_iceberg;
pub(crate) use json::check_encoding as check_json_encoding;
pub use json::{JsonForm, JsonOptions};
pub use metadata::{FileMetadata, ROW_INDEX};
pub use parquet::ParquetOptions;
pub(crate) use records::{
    MAX_SEPARATOR, check_locale, check_one_row, malformed, option_text, size,
    times as record_times, zone,
};
pub use records::{Malformed, PushedFilter, RecordOptions, RecordTimes};
pub use text::TextOptions;
pub use variant::VariantPart;

/// Formats of files that are read: their names, and Spark's classes that read them.
pub const FILE_FORMATS: [(&str, &str); 4] = [
    ("Parquet", parquet::CLASS),
    ("text", text::CLASS),
    ("CSV", csv::CLASS),
    ("JSON", json::CLASS),
];

/// What puts the values of partition columns behind what a format reads that does not know them itself.
const WITH_PARTITION_VALUES: &str = "org.apache.spark.sql.execution.datasources.FileFormat$$anon$1";

/// A format of files, with what Spark's class for it took from the session.
#[derive(Debug, Clone, PartialEq)]
pub enum FileFormat {
    /// `ParquetFileFormat`
    Parquet(ParquetOptions),
    /// `TextFileFormat`
    Text(TextOptions),
    /// `CSVFileFormat`
    Csv(Box<CsvOptions>),
    /// `JsonFileFormat`
    Json(Box<JsonOptions>),
    /// Parquet of a table of Iceberg's, whose columns tasks know.
    Iceberg(ParquetOptions),
}

impl FileFormat {
    /// Broadcast of the `SerializableConfiguration` for Hadoop, if it is the stage's.
    #[must_use]
    pub fn conf(&self) -> Option<&Broadcast> {
        match self {
            Self::Parquet(options) | Self::Iceberg(options) => options.conf.as_ref(),
            Self::Text(options) => Some(&options.conf),
            Self::Csv(options) => Some(&options.records.conf),
            Self::Json(options) => Some(&options.records.conf),
        }
    }

    /// The format that a scan's RDD reads with a function.
    fn read(reader: &Reader<'_>, function: Value) -> Result<FoundFormat> {
        if let Some(function) = Closure::read(reader.graph, function) {
            let found = match function.name() {
                (parquet::CLASS, "buildReaderWithPartitionValues") => {
                    parquet::read(reader, &function)?
                }
                (class, "buildReaderWithPartitionValues") if delta::CLASSES.contains(&class) => {
                    delta::read(reader, &function)?
                }
                _ => return Err(function.unsupported()),
            };
            return Ok(FoundFormat {
                format: Self::Parquet(found.options),
                partition_schema: found.partition_schema,
                file_schema: Some(found.file_schema),
            });
        }
        let function = reader.expect(function)?;
        if function.class() != WITH_PARTITION_VALUES {
            return Err(Unsupported::Class(function.name().to_owned()));
        }
        let inner = Closure::in_field(function, "dataReader$1")?;
        let format = match inner.name() {
            (text::CLASS, _) => Self::Text(text::read(reader, &inner)?),
            (csv::CLASS, _) => Self::Csv(Box::new(csv::read(reader, &inner)?)),
            (json::CLASS, _) => Self::Json(Box::new(json::read(reader, &inner)?)),
            _ => return Err(inner.unsupported()),
        };
        Ok(FoundFormat {
            format,
            partition_schema: read_fields(reader, function.object("partitionSchema$1")?)?,
            file_schema: None,
        })
    }
}

/// What is known of a format by the function that reads files.
struct FoundFormat {
    format: FileFormat,
    /// The columns of partitions' paths.
    partition_schema: Vec<StructField>,
    /// The columns of files as the files call them; `None` if that is what the scan calls them.
    file_schema: Option<Vec<StructField>>,
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
                flag(f, (options.deleted_rows.is_some(), "deletionVectors"))?;
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
            Self::Csv(options) => {
                let of = &options.syntax;
                let chars = [of.delimiter, of.quote, of.escape].map(char::from);
                write!(
                    f,
                    "{} {} separated {chars:?}",
                    options.records, options.times
                )?;
                flag(f, (of.header, "header"))?;
                flag(f, (options.column_pruning, "columnPruning"))
            }
            Self::Json(options) => write!(f, "{} {}", options.records, options.form.times),
            Self::Iceberg(options) => match options.batch_rows {
                Some(rows) => write!(f, "in batches of {rows}"),
                None => f.write_str("row by row"),
            },
        }
    }
}

/// A `FileSourceScanExec`.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSourceScan {
    /// Where tasks say which files.
    pub leaf: LeafId,
    /// Columns to read from the files, the first of the output. One of Parquet that is called [`ROW_INDEX`] is made by
    /// the reader.
    pub required_schema: Vec<StructField>,
    /// The same columns as files call them, with the names of fields of structs and `parquet.field.id` in files: where
    /// tables have other names for their columns (Delta's column mapping). Types are the same but for names.
    pub file_schema: Vec<StructField>,
    /// What is read in the place of variants: for each column of the files, the fields of the struct that it is then.
    pub variant_parts: Vec<Option<Vec<VariantPart>>>,
    /// Columns that the partitions' paths have, behind those.
    pub partition_schema: Vec<StructField>,
    /// Fields of `_metadata`, the last of the output.
    pub metadata_columns: Vec<FileMetadata>,
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
    /// Of a table of Iceberg's: how the JVM reads what is not read natively of it.
    pub in_jvm: Option<Box<ScanInJvm>>,
}

/// A scan that Spark's own code does, for tasks that show to be none that are read natively.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanInJvm {
    /// The RDD.
    pub objects: Objects,
    /// How many of the scan's metrics, the first ones, the RDD counts itself.
    pub counted: usize,
}

/// A scan with its output and its metrics.
pub(crate) type FoundScan = (FileSourceScan, Vec<Attribute>, Vec<Metric>);

/// Reads a scan from its operator and its RDD. Gives the output and the metrics too.
pub(crate) fn read(
    reader: &Reader<'_>,
    leaf: LeafId,
    operator: Object<'_>,
    rdd: Object<'_>,
) -> Result<FoundScan> {
    if operator.name() != "FileSourceScanExec" {
        return Err(Unsupported::Class(operator.name().to_owned()));
    }
    let found = FileFormat::read(reader, rdd.value("readFunction")?)?;
    let schema = operator.object("requiredSchema")?;
    let (mut scan, _) = unfiltered(reader, leaf, rdd, read_fields(reader, schema)?, found)?;
    scan.variant_parts = variant::parts(reader, schema)?;
    let output = read_attributes(reader, operator.elements("output")?)?;
    let schemas = scan.required_schema.len() + scan.partition_schema.len();
    if output.len() != schemas + scan.metadata_columns.len() {
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
        partition_filters: known("partitionFilters")?,
        data_filters: known("dataFilters")?,
        ..scan
    };
    let metrics = read_map(reader, operator, "scanMetrics")?;
    Ok((scan, output, metrics))
}

/// Reads a scan whose closure over its RDD captured `metrics` and not the operator. `output` is what the operator above
/// says of its columns, if there is one.
pub(crate) fn read_rows(
    reader: &Reader<'_>,
    leaf: LeafId,
    output: Option<Vec<Attribute>>,
    metrics: Vec<Metric>,
    rdd: Object<'_>,
) -> Result<FoundScan> {
    let found = FileFormat::read(reader, rdd.value("readFunction")?)?;
    let schema = rdd.object("readSchema")?;
    let mut required_schema = read_fields(reader, schema)?;
    let of_files = required_schema
        .len()
        .checked_sub(found.partition_schema.len());
    let of_paths = of_files.map(|of_files| required_schema.split_off(of_files));
    if !of_paths.is_some_and(|of_paths| same_but_for_names(&of_paths, &found.partition_schema)) {
        return Err(Unsupported::of_use("a scan of other columns"));
    }
    let (mut scan, metadata_columns) = unfiltered(reader, leaf, rdd, required_schema, found)?;
    // Of all columns, those of the partitions' paths among them.
    scan.variant_parts = variant::parts(reader, schema)?;
    let output = output.unwrap_or_else(|| {
        let fields = scan.required_schema.iter().chain(&scan.partition_schema);
        // Nothing refers to them. Ids of Spark's are not negative.
        let ids = (1..).map(|id| ExprId { id: -id, jvm_id: 0 });
        let attributes = fields.zip(ids);
        attributes
            .map(|(field, id)| Attribute {
                name: field.name.clone(),
                data_type: field.data_type.clone(),
                nullable: field.nullable,
                id,
            })
            .chain(metadata_columns.iter().cloned())
            .collect()
    });
    let fields = scan.required_schema.iter().chain(&scan.partition_schema);
    let types = fields.map(|field| &field.data_type);
    let types = types.chain(metadata_columns.iter().map(|column| &column.data_type));
    if !types.eq(output.iter().map(|attribute| &attribute.data_type)) {
        return Err(Unsupported::of_use("a scan of other columns"));
    }
    Ok((scan, output, metrics))
}

/// A scan of the columns of files and of partitions, and the attributes of its fields of `_metadata`.
fn unfiltered(
    reader: &Reader<'_>,
    leaf: LeafId,
    rdd: Object<'_>,
    required_schema: Vec<StructField>,
    found: FoundFormat,
) -> Result<(FileSourceScan, Vec<Attribute>)> {
    let FoundFormat {
        format,
        partition_schema,
        file_schema,
    } = found;
    let file_schema = file_schema.unwrap_or_else(|| required_schema.clone());
    if !same_but_for_names(&required_schema, &file_schema) {
        return Err(Unsupported::of_use("a scan of other columns"));
    }
    metadata::check_made(&required_schema, matches!(format, FileFormat::Parquet(_)))?;
    let (metadata_columns, attributes) = metadata::read(reader, rdd)?;
    let scan = FileSourceScan {
        leaf,
        required_schema,
        file_schema,
        variant_parts: Vec::new(),
        partition_schema,
        metadata_columns,
        partition_filters: Vec::new(),
        data_filters: Vec::new(),
        format,
        ignore_missing_files: rdd.bool("ignoreMissingFiles")?,
        ignore_corrupt_files: rdd.bool("ignoreCorruptFiles")?,
        in_jvm: None,
    };
    Ok((scan, attributes))
}

/// Reads a scan of a table of Iceberg's from its `DataSourceRDD`.
pub(crate) fn read_iceberg(
    leaf: LeafId,
    factory: Object<'_>,
    output: &[Attribute],
    in_jvm: Option<ScanInJvm>,
) -> Result<FileSourceScan> {
    let options = iceberg::options(factory)?;
    let columns = output.iter().map(|column| StructField {
        name: column.name.clone(),
        data_type: column.data_type.clone(),
        nullable: column.nullable,
        field_id: None,
        exists_default: None,
    });
    let required_schema: Vec<_> = columns.collect();
    Ok(FileSourceScan {
        leaf,
        file_schema: required_schema.clone(),
        required_schema,
        variant_parts: Vec::new(),
        partition_schema: Vec::new(),
        metadata_columns: Vec::new(),
        partition_filters: Vec::new(),
        data_filters: Vec::new(),
        format: FileFormat::Iceberg(options),
        ignore_missing_files: false,
        ignore_corrupt_files: false,
        in_jvm: in_jvm.map(Box::new),
    })
}

/// Whether columns, and fields of structs, have the same types.
fn same_but_for_names(some: &[StructField], others: &[StructField]) -> bool {
    let mut pairs = some.iter().zip(others);
    some.len() == others.len()
        && pairs.all(|(one, other)| one.data_type.is_like_but_for_names(&other.data_type))
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
