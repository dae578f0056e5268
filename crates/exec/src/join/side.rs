//! What a join puts out, of which side.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use crate::exec::batch_of;
use crate::filter::mask;
use rows::error::bail_out;

/// A column of a pair of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Of the streamed row, by place.
    Streamed(usize),
    /// Of the row of the table, by place.
    Build(usize),
    /// Whether there is a row in the table.
    Exists,
}

/// Rows of the streamed side that come out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Streamed<'a> {
    /// All, each once.
    All,
    /// These.
    Rows(&'a UInt32Array),
    /// None: they are null.
    Nulls,
}

/// What else must be true of a pair of rows.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) predicate: Arc<dyn PhysicalExpr>,
    /// The columns that it is computed from.
    pub(super) columns: Vec<Column>,
    pub(super) schema: SchemaRef,
}

impl Condition {
    /// Which pairs it is true of.
    pub(super) fn mask(
        &self,
        streamed: &RecordBatch,
        streamed_rows: &UInt32Array,
        build: &RecordBatch,
        build_rows: &UInt32Array,
    ) -> Result<BooleanArray> {
        let rows = streamed_rows.len();
        let of = Streamed::Rows(streamed_rows);
        let columns = self.columns.iter();
        let columns = columns.map(|column| gather(*column, streamed, of, build, build_rows, None));
        let batch = batch_of(&self.schema, columns.collect::<Result<_>>()?, rows)?;
        mask(&self.predicate, &batch)
    }
}

/// A column of pairs of rows. `build_rows` has a null where there is no row in the table.
pub(super) fn gather(
    column: Column,
    streamed: &RecordBatch,
    streamed_rows: Streamed<'_>,
    build: &RecordBatch,
    build_rows: &UInt32Array,
    exists: Option<&BooleanArray>,
) -> Result<ArrayRef> {
    let missing = || bail_out("a join without a column");
    Ok(match column {
        Column::Streamed(place) => {
            let array = streamed.columns().get(place).ok_or_else(missing)?;
            match streamed_rows {
                Streamed::All => Arc::clone(array),
                Streamed::Rows(rows) => take(array, rows, None)?,
                Streamed::Nulls => new_null_array(array.data_type(), build_rows.len()),
            }
        }
        Column::Build(place) => {
            let array = build.columns().get(place).ok_or_else(missing)?;
            if array.is_empty() {
                new_null_array(array.data_type(), build_rows.len())
            } else {
                take(array, build_rows, None)?
            }
        }
        Column::Exists => Arc::new(exists.ok_or_else(missing)?.clone()),
    })
}
