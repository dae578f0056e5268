//! Expressions of Spark's that the JVM beside the task evaluates: columns go there as rows, and results come back as
//! rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType as ArrowType, SchemaRef};
use catalyst::{DataType, JvmExpression, Unsupported};
use datafusion_common::Result;
use rows::error::bail_out;
use rows::types::{ToArrow as _, schema_of_types};
use rows::{BATCH_ROWS, EncodedRows, RowDecoder, RowEncoder};

use super::native_calls::sources_of_task;

/// Longest message, unless a row is longer: the JVM's heap may be small.
const MESSAGE: usize = 4 << 20;

/// Longest row: what holds it in the JVM is an array.
const MAX_BYTES: usize = 1 << 30;

/// Which expression is evaluated.
#[derive(Debug)]
pub struct JvmCall {
    /// Tells it from all others of the process.
    pub number: u64,
    /// The expression.
    pub expression: Arc<JvmExpression>,
}

/// An expression of a stage over columns of the lane.
pub(crate) struct JvmRows {
    call: JvmCall,
    columns: Vec<DataType>,
    schema: SchemaRef,
    result: DataType,
    to: ArrowType,
}

impl JvmRows {
    /// Judges an expression by the types of its columns and of its result.
    ///
    /// # Errors
    /// Rows have no values of one.
    pub(crate) fn new(
        expression: &Arc<JvmExpression>,
        columns: Vec<&DataType>,
        result: &DataType,
    ) -> std::result::Result<Self, Unsupported> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        RowEncoder::new(columns.iter().copied())?;
        RowDecoder::new([result])?;
        Ok(Self {
            call: JvmCall {
                number: NEXT.fetch_add(1, Ordering::Relaxed),
                expression: Arc::clone(expression),
            },
            schema: schema_of_types(columns.iter().copied())?,
            columns: columns.into_iter().cloned().collect(),
            result: result.clone(),
            to: result.to_arrow()?,
        })
    }

    /// The results for rows of the task that this thread computes.
    ///
    /// # Errors
    /// Bail-out: there is no such task, or the expression fails for one.
    pub(crate) fn evaluate(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        let mut results = Vec::new();
        for start in (0..rows).step_by(BATCH_ROWS) {
            let part = batch.slice(start, BATCH_ROWS.min(rows - start));
            results.extend(self.evaluate_part(&part)?);
        }
        match results.as_slice() {
            [] => Ok(new_empty_array(&self.to)),
            [one] => Ok(Arc::clone(one)),
            many => {
                let many: Vec<_> = many.iter().map(AsRef::as_ref).collect();
                Ok(concat(&many)?)
            }
        }
    }

    /// Rows go in messages of a few MiB. Of the results of one, too, only so many come at once.
    fn evaluate_part(&self, part: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let sources = sources_of_task();
        let sources = sources.ok_or_else(|| bail_out("an expression outside of its task"))?;
        let refused = |why: Unsupported| bail_out(why.to_string());
        let mut encoder = RowEncoder::new(&self.columns).map_err(refused)?;
        let rows = encoder.encode(part)?;
        let mut decoder = RowDecoder::new([&self.result]).map_err(refused)?;
        let (mut results, mut start) = (Vec::new(), 0);
        while start < rows.len() {
            let (message, end) = message(&rows, start)?;
            decoder.push(sources.jvm_rows(&self.call, message)?);
            let mut done = 0;
            while let Some(batch) = decoder.next()? {
                done += batch.num_rows();
                results.push(Arc::clone(batch.column(0)));
            }
            if let Some(batch) = decoder.finish()? {
                done += batch.num_rows();
                results.push(Arc::clone(batch.column(0)));
            }
            if done == 0 || done > end - start {
                return Err(bail_out(
                    "another number of results of an expression in the JVM",
                ));
            }
            start += done;
        }
        Ok(results)
    }
}

/// Rows for the JVM, from one on, as many as a message has; and the place of the one behind the last.
///
/// # Errors
/// Bail-out: a row is too long.
pub fn message<'e>(rows: &EncodedRows<'e>, start: usize) -> Result<(&'e [u8], usize)> {
    let mut end = start + 1;
    while end < rows.len() && rows.records(start, end + 1).len() <= MESSAGE {
        end += 1;
    }
    let message = rows.records(start, end);
    match message.len() > MAX_BYTES {
        true => Err(bail_out("a row of more than 1 GiB for the JVM")),
        false => Ok((message, end)),
    }
}

#[cfg(test)]
#[path = "jvm_calls_tests.rs"]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod tests;
