//! Parquet files.

mod columns;
mod deleted;
mod file;
mod footer;
mod footer_check;
mod iceberg;
mod late;
mod lookup;
mod nested;
mod positions;
mod prune;

use std::sync::Arc;

use catalyst::{FileSourceScan, ParquetOptions, PartitionedFile, ROW_INDEX, StructField};
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use rows::error::bail_out;

use self::deleted::Deleted;
#[cfg(fuzzing)]
pub use self::deleted::fuzz as fuzz_deletion_vector;
use self::file::{Chunks, FileReader, OfPart};
pub(super) use self::iceberg::IcebergScan;
use self::late::Late;
use self::lookup::{HasIds as _, Lookup};
use self::prune::{Bound, bounds};
use super::{Files, FormatScan, PartReader, Wanted};
use crate::lower::Result;
use crate::sources::FileBytes;

/// The footer of a file of so many bytes, read anew.
pub(crate) fn footer_of(file: Arc<dyn FileBytes>, size: u64) -> DataFusionResult<ParquetMetaData> {
    Ok(footer_check::read(&Chunks::new(file, size).with_end()?)?)
}

/// A scan of Parquet files.
#[derive(Debug)]
pub(super) struct ParquetScan {
    options: ParquetOptions,
    /// The columns of files that are read.
    fields: Vec<StructField>,
    /// All columns of the scan, if some have ids.
    with_ids: Option<Vec<StructField>>,
    /// Columns that the reader makes, by their places among all, in their order.
    made: Vec<(usize, Made)>,
    /// The filter above, if it can be asked early.
    late: Option<Arc<Late>>,
    /// By which row groups are left out.
    bounds: Vec<Bound>,
    /// Whether it is of a table of Iceberg's.
    of_table: bool,
}

impl ParquetScan {
    /// Judges the scan.
    pub(super) fn new(
        scan: &FileSourceScan,
        options: &ParquetOptions,
        wanted: Wanted<'_>,
    ) -> Result<Self> {
        let (made, fields) = made(wanted.fields, scan, options);
        let with_ids = scan.file_schema.has_ids().then(|| scan.file_schema.clone());
        let bounds = match options.filter_push_down {
            true => bounds(&scan.data_filters, wanted.in_files),
            false => Vec::new(),
        };
        let late = match wanted.filter {
            // What the filter leaves out cannot be counted.
            Some(filter) if made.is_empty() => {
                Late::new(filter, wanted.output, &fields)?.map(Arc::new)
            }
            _ => None,
        };
        for field in &fields {
            columns::check(&field.data_type)?;
        }
        Ok(Self {
            options: options.clone(),
            with_ids,
            fields,
            made,
            late,
            bounds,
            of_table: false,
        })
    }
}

impl ParquetScan {
    /// The same of a table of Iceberg's; `constants` are columns that are wanted, by their places, and not the file's.
    fn of_table(
        scan: &FileSourceScan,
        options: &ParquetOptions,
        wanted: Wanted<'_>,
        constants: Vec<(usize, Made)>,
    ) -> Result<Self> {
        let (mut made, mut fields) = (constants, Vec::new());
        let mut output = Vec::new();
        for (place, (field, column)) in wanted.fields.into_iter().zip(wanted.output).enumerate() {
            if made.iter().any(|(constant, _)| *constant == place) {
                continue;
            }
            if field.name == ROW_INDEX {
                made.push((place, Made::RowIndex));
                continue;
            }
            columns::check(&field.data_type)?;
            fields.push(field);
            output.push(column.clone());
        }
        made.sort_by_key(|(place, _)| *place);
        let places_are_known = !made.iter().any(|(_, made)| *made == Made::RowIndex);
        let late = match wanted.filter.filter(|_| places_are_known) {
            Some(filter) => Late::new(filter, &output, &fields)?.map(Arc::new),
            None => None,
        };
        Ok(Self {
            options: options.clone(),
            with_ids: None,
            fields,
            made,
            late,
            bounds: bounds(&scan.data_filters, wanted.in_files),
            of_table: true,
        })
    }
}

/// A column that is in no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// Rows' places in their file.
    RowIndex,
    /// Whether rows are deleted.
    Deleted,
    /// A value that is the same for all rows: its place among those of the part.
    Constant(usize),
}

/// Which columns the reader makes, by their places among those that are wanted, and the others.
fn made(
    wanted: Vec<StructField>,
    scan: &FileSourceScan,
    options: &ParquetOptions,
) -> (Vec<(usize, Made)>, Vec<StructField>) {
    let deleted = options.deleted_rows.as_ref();
    let deleted = deleted.and_then(|rows| scan.file_schema.get(rows.column));
    let (mut made, mut others) = (Vec::new(), Vec::new());
    for (place, field) in wanted.into_iter().enumerate() {
        if field.name == ROW_INDEX {
            made.push((place, Made::RowIndex));
        } else if deleted.is_some_and(|deleted| deleted.name == field.name) {
            made.push((place, Made::Deleted));
        } else {
            others.push(field);
        }
    }
    (made, others)
}

/// Settings of `ParquetReadSupport`, which the configuration for Hadoop has of the session.
const READ_IDS: &str = "spark.sql.parquet.fieldId.read.enabled";
const IGNORE_MISSING_IDS: &str = "spark.sql.parquet.fieldId.read.ignoreMissing";

/// What ids of columns are for.
#[derive(Debug, Clone, Copy, Default)]
struct Ids {
    /// Whether columns that have one are found by it.
    found_by: bool,
    /// Whether files may have none where columns have: they are refused otherwise, also where nothing is found by ids.
    may_lack: bool,
}

impl Ids {
    /// As the settings say.
    fn of(files: &Files<'_>) -> DataFusionResult<Self> {
        let is_set = |key| {
            let value = files.hadoop_setting(key)?;
            Ok::<_, DataFusionError>(value.is_some_and(|value| value.eq_ignore_ascii_case("true")))
        };
        Ok(Self {
            found_by: is_set(READ_IDS)?,
            may_lack: is_set(IGNORE_MISSING_IDS)?,
        })
    }
}

impl ParquetScan {
    /// How columns are found in a file.
    fn lookup(&self, ids: Ids, file: &FileMetaData) -> DataFusionResult<Lookup> {
        let lookup = Lookup {
            case_sensitive: self.options.case_sensitive,
            by_id: ids.found_by || self.of_table,
            of_table: self.of_table,
        };
        if self.of_table {
            // Columns of files without any are found by their names, or by their places.
            return match file.schema().has_ids() {
                true => Ok(lookup),
                false => Err(bail_out("a file whose columns have no ids")),
            };
        }
        let Some(wanted) = &self.with_ids else {
            return Ok(lookup);
        };
        if !ids.may_lack && !file.schema().has_ids() {
            return Err(bail_out("a file whose columns have no ids"));
        }
        if ids.found_by {
            lookup.check_names(file.schema().get_fields(), wanted)?;
        }
        Ok(lookup)
    }
}

impl FormatScan for ParquetScan {
    fn open(
        &self,
        part: &PartitionedFile,
        files: &Files<'_>,
        batch_size: usize,
    ) -> DataFusionResult<Box<dyn PartReader>> {
        let bytes = files.bytes(part)?;
        let ids = match self.with_ids {
            Some(_) => Ids::of(files)?,
            None => Ids::default(),
        };
        let deleted = match &self.options.deleted_rows {
            Some(of) => Deleted::read(part.deletion_vector.as_ref(), of, files)?,
            None => Deleted::None,
        };
        let of_part = OfPart {
            ids,
            deleted,
            constants: Vec::new(),
        };
        let reader = FileReader::open(self, part, bytes, batch_size, of_part)?;
        Ok(Box::new(reader))
    }
}
