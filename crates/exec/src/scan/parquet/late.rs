//! Late materialisation: where a filter lets few rows through, its columns are read first and the others for those rows
//! only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use parquet::file::metadata::FileMetaData;

use super::columns::Columns;
use super::lookup::Lookup;
use crate::exec::batch_of;
use crate::expr::lower;
use crate::filter::mask;
use crate::lower::all_references;
use catalyst::ParquetOptions;
use catalyst::StructField;
use catalyst::Unsupported;
use catalyst::{Attribute, Expr};
use rows::error::bail_out;
use rows::types::schema_of;

/// The filter above a scan, and how many rows it lets through. Shared by the tasks of a stage.
#[derive(Debug)]
pub(super) struct Late {
    predicate: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    /// The columns that it looks at, and their places among those that are read.
    fields: Vec<StructField>,
    places: Vec<usize>,
    seen: AtomicU64,
    passed: AtomicU64,
}

/// Rows to be looked at before it is known what the filter does.
const SAMPLE: u64 = 4096;

impl Late {
    /// `None` if the filter cannot be asked before other columns are read, or if there are none.
    pub(super) fn new(
        condition: &Expr,
        columns: &[Attribute],
        fields: &[StructField],
    ) -> std::result::Result<Option<Self>, Unsupported> {
        let Some(ids) = all_references([condition]) else {
            return Ok(None);
        };
        let own = columns.iter().zip(fields).enumerate();
        let own = own.filter(|(_, (column, _))| ids.contains(&column.id));
        let (places, pairs): (Vec<_>, Vec<_>) = own.unzip();
        let (input, of): (Vec<Attribute>, Vec<StructField>) = pairs
            .into_iter()
            .map(|(column, field)| (column.clone(), field.clone()))
            .unzip();
        if input.is_empty() || input.len() < ids.len() || input.len() == fields.len() {
            return Ok(None);
        }
        Ok(Some(Self {
            predicate: lower(condition, &input)?,
            schema: schema_of(&input)?,
            fields: of,
            places,
            seen: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }))
    }

    /// Places of its columns among those that are read.
    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }

    /// Whether it is not known yet how many rows the filter lets through.
    pub(super) fn is_curious(&self) -> bool {
        self.seen.load(Ordering::Relaxed) < SAMPLE
    }

    /// Looks at rows of all columns.
    pub(super) fn sample(&self, columns: &[ArrayRef], rows: usize) -> Result<()> {
        let own = self.places.iter().map(|place| columns.get(*place).cloned());
        let own: Option<Vec<ArrayRef>> = own.collect();
        let own = own.ok_or_else(|| bail_out("a filter without columns"))?;
        let batch = batch_of(&self.schema, own, rows)?;
        let passed = mask(&self.predicate, &batch)?.true_count();
        self.seen.fetch_add(rows as u64, Ordering::Relaxed);
        self.passed.fetch_add(passed as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Whether few rows pass: then reading the columns apart costs less than it saves.
    pub(super) fn pays(&self) -> bool {
        let passed = self.passed.load(Ordering::Relaxed);
        !self.is_curious() && passed * 5 < self.seen.load(Ordering::Relaxed)
    }

    /// The filter, for a file's reader.
    pub(super) fn row_filter(
        self: &Arc<Self>,
        file: &FileMetaData,
        options: &ParquetOptions,
        lookup: Lookup,
    ) -> Result<RowFilter> {
        let columns = Columns::find(file, &self.fields, options, lookup)?;
        let late = Arc::clone(self);
        let mask = columns.mask.clone();
        let predicate = move |batch: RecordBatch| {
            let rows = batch.num_rows();
            let arrays = columns.arrange(batch.columns(), rows);
            let batch = arrays.and_then(|arrays| batch_of(&late.schema, arrays, rows));
            let passed = batch.and_then(|batch| self::mask(&late.predicate, &batch));
            passed.map_err(|error| ArrowError::ExternalError(Box::new(error)))
        };
        let predicate = ArrowPredicateFn::new(mask, predicate);
        Ok(RowFilter::new(vec![Box::new(predicate)]))
    }
}
