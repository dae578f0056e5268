//! `FileSourceScanExec`. What all formats have in common is here; each format has a module that implements
//! [`FormatScan`].

mod files;
mod in_jvm;
mod parquet;
mod record_filters;
mod records;
#[cfg(test)]
mod tests;
mod text;
#[cfg(test)]
mod text_tests;

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::StreamExt;

use super::draws::file_facts;
use super::exec::{OperatorExec, from_fn};
use super::expr::lower;
use super::expr::variant::VariantParts;
use super::lower::{Demand, Lowered, Result, leaf_input, places};
use super::metrics::{DELETED_ROWS, INPUT_BATCHES, PARTS};
use super::sources::{HadoopSettings, Sources};
use catalyst::{
    Attribute, Broadcast, DataType, Expr, ExprKind, FileFact, FileFormat, FileMetadata,
    FileSourceScan, LeafInput, Literal, PartitionedFile, StructField, Unsupported,
};
use files::Files;
pub(super) use in_jvm::scan as scan_or_jvm;
pub(super) use parquet::footer_of;
#[cfg(fuzzing)]
pub use parquet::fuzz_deletion_vector;
use rows::error::bail_out;

/// How the files of a scan are read: a format of files. Errors of files that Spark would read in another way are
/// bail-outs.
trait FormatScan: Debug + Send + Sync {
    /// Opens a file, to read what belongs to this part of it: each row of the file belongs to the part that Spark gives
    /// it to.
    fn open(
        &self,
        part: &PartitionedFile,
        files: &Files<'_>,
        batch_size: usize,
    ) -> DataFusionResult<Box<dyn PartReader>>;
}

/// Reads a part of a file.
trait PartReader: Send {
    /// The next rows; `None` at the end.
    fn next(&mut self) -> DataFusionResult<Option<Batch>>;

    /// Rows read since this was asked, those that a filter left out early among them.
    fn take_rows(&mut self) -> usize;

    /// Batches that Spark's reader would have made since this was asked.
    fn take_batches(&mut self) -> usize;

    /// Rows left out since this was asked because they are deleted.
    fn take_dropped(&mut self) -> usize {
        0
    }
}

/// Columns of a batch that were read from a file, as Spark has them.
struct Batch {
    arrays: Vec<ArrayRef>,
    rows: usize,
}

/// What is read of the files.
struct Wanted<'a> {
    /// The columns of the files.
    fields: Vec<StructField>,
    /// All columns that are put out: those, those of the partitions' paths behind them, and what is known of the files
    /// and their parts.
    output: &'a [Attribute],
    /// The filter right above the scan.
    filter: Option<&'a Expr>,
    /// What a column of the scan is in the files.
    in_files: &'a dyn Fn(&Attribute) -> Option<&'a StructField>,
}

/// What is read of each file.
#[derive(Debug)]
struct Scan {
    /// Configuration of the files' file system, if tasks do not bring it along.
    conf: Option<Broadcast>,
    format: Box<dyn FormatScan>,
    /// What is put out behind the columns of the files.
    constants: Vec<Constant>,
    /// What is put out behind those.
    facts: Vec<FileFact>,
    /// Columns of variants of which only parts are put out, by their places.
    variants: Vec<(usize, VariantParts)>,
}

/// A column that is the same for all rows of a part of a file.
#[derive(Debug)]
enum Constant {
    /// A partition column: its place among them, and its type.
    OfPath(usize, DataType),
    /// A field of `_metadata`.
    Metadata(FileMetadata),
}

impl Constant {
    fn of(&self, file: &PartitionedFile) -> Result<Arc<dyn PhysicalExpr>> {
        let (value, data_type, nullable) = match self {
            Self::OfPath(place, data_type) => {
                let value = file.partition_values.get(*place).cloned();
                let value =
                    value.ok_or_else(|| Unsupported::of_use("a file without its partition"))?;
                (value, data_type.clone(), true)
            }
            Self::Metadata(field) => (field.value(file)?, field.data_type(), false),
        };
        let literal = Expr {
            kind: ExprKind::Literal(value),
            data_type,
            nullable,
        };
        lower(&literal, &[])
    }
}

/// A part of a file.
#[derive(Debug, Clone)]
struct Part {
    file: PartitionedFile,
    /// Values of the constants that are put out, and what else is known of the file.
    constants: Vec<Arc<dyn PhysicalExpr>>,
}

/// Lowers a scan. Columns that are not needed above are not read. A filter right above it is applied there.
pub(super) fn scan(
    scan: &FileSourceScan,
    output: &[Attribute],
    filter: Option<&Expr>,
    demand: Demand<'_>,
) -> Result<Lowered> {
    // A file that is missing ends the attempt, and the JVM passes it over. What a file that is damaged still gives
    // depends on who reads it.
    if scan.ignore_corrupt_files {
        return Err(Unsupported::of_use("a scan that ignores corrupt files"));
    }
    let pairs = output.iter().zip(&scan.file_schema);
    let in_files = |of: &Attribute| {
        let mut pairs = pairs.clone();
        let found = pairs.find(|(column, _)| column.id == of.id);
        found.map(|(_, field)| field)
    };
    let (kept, mut output) = places(output, demand);
    let kept: Vec<usize> = kept.unwrap_or_else(|| (0..output.len()).collect());
    let mut fields = Vec::new();
    let (mut constants, mut variants) = (Vec::new(), Vec::new());
    let of_files = scan.required_schema.len();
    let of_paths = scan.partition_schema.len();
    for (place, column) in kept.iter().copied().zip(&output) {
        let of_file = scan.required_schema.get(place);
        let data_type = if let Some((field, read)) = of_file.zip(scan.file_schema.get(place)) {
            let mut read = read.clone();
            if let Some(Some(parts)) = scan.variant_parts.get(place) {
                let parts = VariantParts::new(parts, &field.data_type)?;
                variants.push((fields.len(), parts));
                read.data_type = DataType::Variant;
            }
            fields.push(read);
            field.data_type.clone()
        } else if let Some(field) = scan.partition_schema.get(place - of_files) {
            constants.push(Constant::OfPath(place - of_files, field.data_type.clone()));
            field.data_type.clone()
        } else {
            let field = scan.metadata_columns.get(place - of_files - of_paths);
            let field = field.ok_or_else(|| Unsupported::of_use("a scan of other columns"))?;
            constants.push(Constant::Metadata(*field));
            field.data_type()
        };
        if data_type != column.data_type {
            return Err(Unsupported::of_use("a scan of other types"));
        }
    }
    let facts: Vec<FileFact> = file_facts(demand).collect();
    output.extend(facts.iter().map(|fact| fact.attribute()));
    let is_parquet = matches!(scan.format, FileFormat::Parquet(_));
    if !variants.is_empty() && !is_parquet {
        return Err(Unsupported::of_use("parts of variants in other files"));
    }
    let wanted = Wanted {
        fields,
        output: &output,
        // It is of the parts.
        filter: filter.filter(|_| variants.is_empty()),
        in_files: &in_files,
    };
    let format: Box<dyn FormatScan> = match &scan.format {
        FileFormat::Parquet(options) => Box::new(parquet::ParquetScan::new(scan, options, wanted)?),
        FileFormat::Text(options) => Box::new(text::TextScan::new(options, &wanted)?),
        FileFormat::Csv(options) => {
            let format = records::Format::Csv(options.clone());
            Box::new(records::RecordScan::new(scan, format, &wanted)?)
        }
        FileFormat::Json(options) => {
            let format = records::Format::Json(options.clone());
            Box::new(records::RecordScan::new(scan, format, &wanted)?)
        }
        FileFormat::Iceberg(options) => {
            Box::new(parquet::IcebergScan::new(scan, options, kept, &wanted)?)
        }
    };
    let leaf = scan.leaf;
    let scan = Arc::new(Scan {
        conf: scan.format.conf().copied(),
        format,
        constants,
        facts,
        variants,
    });
    let schema = rows::types::schema_of(&output)?;
    Lowered::new(
        output,
        Box::new(move |task, inputs| {
            let LeafInput::Files(files) = leaf_input(leaf, inputs)? else {
                return Err(Unsupported::of_use("a scan without files"));
            };
            let parts = files.iter().map(|file| scan.part(file));
            let parts: Arc<[Part]> = parts.collect::<Result<_>>()?;
            let (scan, sources) = (Arc::clone(&scan), Arc::clone(&task.sources));
            let start = move |start: &super::exec::Start<'_>| {
                let mut parts = Parts {
                    scan: Arc::clone(&scan),
                    sources: Arc::clone(&sources),
                    parts: Arc::clone(&parts),
                    next: 0,
                    open: None,
                    schema: Arc::clone(start.schema),
                    batch_size: start.batch_size(),
                    counts: Counts::of(start, parts.len()),
                };
                Ok(from_fn(move || parts.next()).boxed())
            };
            let schema = Arc::clone(&schema);
            let scan = OperatorExec::new("FileSourceScanExec", Vec::new(), schema, Arc::new(start));
            let plan: Arc<dyn datafusion_physical_plan::ExecutionPlan> = Arc::new(scan);
            task.scans.push(Arc::clone(&plan));
            Ok(plan)
        }),
    )
}

impl Scan {
    fn part(&self, file: &PartitionedFile) -> Result<Part> {
        let constants = self.constants.iter().map(|constant| constant.of(file));
        let facts = self.facts.iter().map(|fact| {
            let value = match fact {
                FileFact::Name => {
                    let table = file.table.as_ref();
                    let name = table.map_or(&file.path, |table| &table.location);
                    Literal::String(name.clone().into_bytes())
                }
                FileFact::Start => Literal::Long(file.start),
                FileFact::Length => Literal::Long(file.length),
            };
            let literal = Expr {
                kind: ExprKind::Literal(value),
                data_type: fact.attribute().data_type,
                nullable: false,
            };
            lower(&literal, &[])
        });
        Ok(Part {
            constants: constants.chain(facts).collect::<Result<_>>()?,
            file: file.clone(),
        })
    }
}

/// Reads parts of files one after the other.
struct Parts {
    scan: Arc<Scan>,
    sources: Arc<dyn Sources>,
    parts: Arc<[Part]>,
    /// The one that is opened next.
    next: usize,
    open: Option<(Box<dyn PartReader>, Part)>,
    schema: SchemaRef,
    batch_size: usize,
    counts: Counts,
}

/// What a scan counts.
struct Counts {
    baseline: BaselineMetrics,
    /// Those that Spark's reader would have made.
    batches: Count,
    /// Rows left out because they are deleted.
    dropped: Count,
}

impl Parts {
    fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        self.sources.alive()?;
        let _timer = self.counts.baseline.elapsed_compute().timer();
        loop {
            if let Some((reader, part)) = &mut self.open {
                if let Some(mut columns) = reader.next()? {
                    let rows = columns.rows;
                    for (place, parts) in &self.scan.variants {
                        if let Some(array) = columns.arrays.get_mut(*place) {
                            *array = parts.of(array)?;
                        }
                    }
                    columns.arrays.extend(constants(&part.constants, rows)?);
                    let batch = super::exec::batch_of(&self.schema, columns.arrays, rows)?;
                    self.counts.add(reader.as_mut());
                    return Ok(Some(batch));
                }
                self.counts.add(reader.as_mut());
                self.open = None;
            }
            let Some(part) = self.parts.get(self.next).cloned() else {
                return Ok(None);
            };
            self.next += 1;
            let file = &part.file;
            let conf = match (&file.table, &self.scan.conf) {
                (Some(table), _) => HadoopSettings::Task(&table.io),
                (None, Some(conf)) => HadoopSettings::Stage(conf),
                (None, None) => return Err(bail_out("files without settings of Hadoop")),
            };
            let files = Files::new(self.sources.as_ref(), conf);
            let reader = self.scan.format.open(file, &files, self.batch_size)?;
            self.open = Some((reader, part));
        }
    }
}

impl Counts {
    fn of(start: &super::exec::Start<'_>, parts: usize) -> Self {
        let counter = |name| MetricBuilder::new(start.metrics).counter(name, 0);
        counter(PARTS).add(parts);
        Self {
            baseline: start.baseline(),
            batches: counter(INPUT_BATCHES),
            dropped: counter(DELETED_ROWS),
        }
    }

    /// Adds what was read since this was done last. Rows that a filter left out early count as rows of the scan.
    fn add(&self, reader: &mut dyn PartReader) {
        self.baseline.record_output(reader.take_rows());
        self.batches.add(reader.take_batches());
        self.dropped.add(reader.take_dropped());
    }
}

fn constants(constants: &[Arc<dyn PhysicalExpr>], rows: usize) -> DataFusionResult<Vec<ArrayRef>> {
    if constants.is_empty() {
        return Ok(Vec::new());
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    super::project::evaluate(constants, &batch)
}
