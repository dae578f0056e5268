//! Parquet files.

mod columns;
mod file;
mod footer;
mod footer_check;
mod late;
mod nested;
mod prune;

use std::sync::Arc;

use catalyst::{FileSourceScan, ParquetOptions, PartitionedFile, ROW_INDEX, StructField};
use datafusion_common::Result as DataFusionResult;
use parquet::file::metadata::ParquetMetaData;

use self::file::{Chunks, FileReader};
use self::late::Late;
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
    /// Where among them rows' places in their file are put.
    row_index: Option<usize>,
    /// The filter above, if it can be asked early.
    late: Option<Arc<Late>>,
    /// By which row groups are left out.
    bounds: Vec<Bound>,
}

impl ParquetScan {
    /// Judges the scan.
    pub(super) fn new(
        scan: &FileSourceScan,
        options: &ParquetOptions,
        wanted: Wanted<'_>,
    ) -> Result<Self> {
        let mut fields = wanted.fields;
        let row_index = fields.iter().position(|field| field.name == ROW_INDEX);
        let bounds = match options.filter_push_down {
            true => bounds(&scan.data_filters, wanted.file_name),
            false => Vec::new(),
        };
        let late = match wanted.filter {
            // What the filter leaves out cannot be counted.
            Some(filter) if row_index.is_none() => {
                Late::new(filter, wanted.output, &fields)?.map(Arc::new)
            }
            _ => None,
        };
        if let Some(place) = row_index {
            fields.remove(place);
        }
        for field in &fields {
            columns::check(field)?;
        }
        Ok(Self {
            options: options.clone(),
            fields,
            row_index,
            late,
            bounds,
        })
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
        Ok(Box::new(FileReader::open(self, part, bytes, batch_size)?))
    }
}
