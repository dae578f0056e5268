//! Rows to batches.

use catalyst::{DataType, Unsupported};
use datafusion_common::Result;

use super::CachedBatch;
use super::column::ColumnOfRows;
use crate::EncodedRows;
use crate::error::bail_out;
use crate::layout::{Column, fixed_bytes};

/// Bytes of values after which a batch ends: `ColumnBuilder.MAX_BATCH_SIZE_IN_BYTE`.
const MAX_BATCH_BYTES: i64 = 4 << 20;

/// Makes batches of rows, cut where Spark cuts them.
#[derive(Debug)]
pub struct CachedBatchBuilder {
    columns: Box<[Column]>,
    max_rows: usize,
    compressed: bool,
    /// Rows of the batch in the making, one after the other.
    rows: Vec<u8>,
    /// Where they end.
    ends: Vec<usize>,
    size: i64,
}

impl CachedBatchBuilder {
    /// For rows with columns of these types, `spark.sql.inMemoryColumnarStorage.batchSize` of them in a batch at most,
    /// compressed if `spark.sql.inMemoryColumnarStorage.compressed` says so.
    ///
    /// # Errors
    /// Columns of a type are not kept natively; a batch is to have no rows.
    pub fn new(
        types: &[DataType],
        max_rows: i32,
        compressed: bool,
    ) -> std::result::Result<Self, Unsupported> {
        let max_rows = usize::try_from(max_rows).ok().filter(|rows| *rows > 0);
        Ok(Self {
            columns: types
                .iter()
                .map(super::column_of)
                .collect::<std::result::Result<_, _>>()?,
            max_rows: max_rows.ok_or_else(|| Unsupported::of_use("cached batches of no rows"))?,
            compressed,
            rows: Vec::new(),
            ends: Vec::new(),
            size: 0,
        })
    }

    /// Adds rows, and gives the batches that are full.
    ///
    /// # Errors
    /// Bail-out: rows of other columns.
    pub fn push(&mut self, rows: &EncodedRows<'_>) -> Result<Vec<CachedBatch>> {
        let mut full = Vec::new();
        for row in rows.rows() {
            if row.len() < fixed_bytes(self.columns.len()) {
                return Err(bail_out("a row that is too short"));
            }
            self.rows.extend_from_slice(row);
            self.ends.push(self.rows.len());
            let sizes = self.columns().map(|column| column.size(row));
            self.size = self.size.saturating_add(sizes.sum());
            if self.ends.len() >= self.max_rows || self.size >= MAX_BATCH_BYTES {
                full.extend(self.finish());
            }
        }
        Ok(full)
    }

    /// The last batch, if there are rows left.
    pub fn finish(&mut self) -> Option<CachedBatch> {
        if self.ends.is_empty() {
            return None;
        }
        let mut start = 0;
        let mut rows = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            rows.push(self.rows.get(start..*end).unwrap_or(&[]));
            start = *end;
        }
        let built = self
            .columns()
            .map(|column| column.build(&rows, self.compressed));
        let (buffers, statistics) = built.map(|(buffer, of)| (buffer.into(), of)).unzip();
        let batch = CachedBatch {
            num_rows: rows.len(),
            buffers,
            statistics,
        };
        self.rows.clear();
        self.ends.clear();
        self.size = 0;
        Some(batch)
    }

    fn columns(&self) -> impl Iterator<Item = ColumnOfRows<'_>> {
        let of = self.columns.len();
        let columns = self.columns.iter().enumerate();
        columns.map(move |(place, column)| ColumnOfRows { column, place, of })
    }
}
