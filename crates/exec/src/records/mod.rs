//! Records in texts as values of columns: lines of CSV, and JSON. What of them is read in files is in `scan`, what
//! functions read in `expr`.

mod column;
mod csv;
mod csv_types;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod infer;
pub(crate) mod jackson;
mod json;
#[cfg(any(test, fuzzing))]
mod samples;
#[cfg(test)]
mod tests;

use arrow::array::{Array as _, AsArray as _, RecordBatch, StringViewArray};
use datafusion_common::Result as DataFusionResult;
use rows::error::bail_out;

pub(crate) use column::Column;
pub(crate) use csv::CsvRecords;
pub use csv_types::CsvTypes;
pub use infer::JsonTypes;
pub(crate) use json::{JsonRecords, JsonValues};

/// The texts of rows of one column, none of which is null.
fn texts_of(batch: &RecordBatch) -> DataFusionResult<&StringViewArray> {
    let texts = batch.columns().first();
    let texts = texts.and_then(|of| of.as_string_view_opt());
    let texts = texts.filter(|texts| texts.null_count() == 0);
    texts.ok_or_else(|| bail_out("rows without a text"))
}

/// What became of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// A row: each column has one more value.
    Row,
    /// A row too, with nulls for what could not be read.
    Malformed,
    /// A row of nulls: the text is no record at all.
    Broken,
    /// Nothing: the text is blank.
    Nothing,
}

impl Became {
    /// Whether the text is not as the columns want it.
    pub(crate) fn is_malformed(self) -> bool {
        matches!(self, Self::Malformed | Self::Broken)
    }
}

/// A format of records.
pub(crate) trait Records: Send {
    /// Whether the first line of a file that is not empty has no record.
    fn has_header(&self) -> bool {
        false
    }

    /// Looks at a line at the start of a file. False if the names are still to come.
    fn header(&mut self, _line: &[u8]) -> DataFusionResult<bool> {
        Ok(true)
    }

    /// Reads a text into the columns. An error is a bail-out.
    fn read(&mut self, text: &[u8]) -> DataFusionResult<Became>;

    /// Whether Spark's reader asks a condition on these columns of the last row: it depends on which of them were
    /// there, and could be read.
    fn asks(&self, columns: &[usize]) -> bool;

    fn columns(&mut self) -> &mut [Column];
}
