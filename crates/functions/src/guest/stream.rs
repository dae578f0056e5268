use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::error::ArrowError;
use arrow::ffi_stream::ArrowArrayStreamReader;
use arrow::record_batch::{RecordBatchIterator, RecordBatchReader};

use crate::guest::{Binding, Declaration, Failure, Task};

/// A function that makes rows of all rows of a partition, as Spark's `mapInArrow` does.
pub trait Partition: Send + Sync + 'static {
    /// What it is. The same at every call.
    fn declaration(&self) -> Declaration;

    /// Makes an instance for a task.
    ///
    /// # Errors
    /// The function does not take such columns, or cannot be used.
    fn bind(&self, binding: &Binding) -> Result<Box<dyn StreamInstance>, Failure>;
}

/// A table function: makes rows of the arguments of one call. Its input is one batch with a row for each call, and its
/// output has two columns: `call`, the number of the row (`bigint`, never falling), and `row`, a struct of the result's
/// columns. [`by_call`] makes such an output.
pub trait Table: Send + Sync + 'static {
    /// What it is. The same at every call.
    fn declaration(&self) -> Declaration;

    /// Makes an instance for a task.
    ///
    /// # Errors
    /// The function does not take such arguments, or cannot be used.
    fn bind(&self, binding: &Binding) -> Result<Box<dyn StreamInstance>, Failure>;
}

/// A partition or table function that is called by one task.
pub trait StreamInstance: Send {
    /// Starts: gives a reader of the output, which reads the input as it is read. The reader is dropped before the
    /// instance is. Failures of a reader are sent as [`ArrowError`]s: `?` turns a [`Failure`] into one.
    ///
    /// # Errors
    /// Whatever fails the task.
    fn open(&mut self, task: &Task, input: ArrowArrayStreamReader) -> Result<Batches, Failure>;
}

/// Batches that are read one by one.
pub type Batches = Box<dyn RecordBatchReader + Send>;

/// An output with a batch for each batch of the input: `rows` gives an array for each column of the result.
pub fn by_batch<R>(input: ArrowArrayStreamReader, columns: &Fields, mut rows: R) -> Batches
where
    R: FnMut(&RecordBatch) -> Result<Vec<ArrayRef>, Failure> + Send + 'static,
{
    let declared = columns.clone();
    let batches = input.map(move |batch| {
        let rows = struct_of(&declared, rows(&batch?)?)?;
        Ok::<_, ArrowError>(RecordBatch::from(rows))
    });
    let schema = Arc::new(Schema::new(columns.clone()));
    Box::new(RecordBatchIterator::new(batches, schema))
}

/// The output of a table function that makes the rows of each call on their own, in order: `rows` is given the batch of
/// arguments and the row of a call, and gives batches of rows, each an array for each column of the result.
pub fn by_call<R, I>(input: ArrowArrayStreamReader, columns: &Fields, mut rows: R) -> Batches
where
    R: FnMut(&RecordBatch, usize) -> Result<I, Failure> + Send + 'static,
    I: IntoIterator<Item = Result<Vec<ArrayRef>, Failure>>,
    I::IntoIter: Send + 'static,
{
    let schema = Arc::new(Schema::new(columns_of_table(columns)));
    let declared = columns.clone();
    let mut input = input;
    let mut calls = None;
    let mut current: Option<(i64, I::IntoIter)> = None;
    let next = move || -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some((call, batches)) = &mut current {
                if let Some(batch) = batches.next() {
                    return Ok(Some(rows_of_call(*call, &declared, batch?)?));
                }
                current = None;
            }
            let (arguments, call) = match &mut calls {
                Some(calls) => calls,
                None => match input.next().transpose()? {
                    Some(arguments) => calls.insert((arguments, 0)),
                    None => return Ok(None),
                },
            };
            if *call == arguments.num_rows() {
                return Ok(None);
            }
            let batches = rows(arguments, *call)?;
            current = Some((
                i64::try_from(*call).unwrap_or(i64::MAX),
                batches.into_iter(),
            ));
            *call += 1;
        }
    };
    let mut next = Some(next);
    let batches = std::iter::from_fn(move || {
        let batch = next.as_mut()?().transpose();
        if !matches!(batch, Some(Ok(_))) {
            next = None;
        }
        batch
    });
    Box::new(RecordBatchIterator::new(batches, schema))
}

/// The columns of a table function's output.
pub(crate) fn columns_of_table(columns: &Fields) -> Fields {
    Fields::from(vec![
        Field::new("call", DataType::Int64, false),
        Field::new("row", DataType::Struct(columns.clone()), false),
    ])
}

fn rows_of_call(
    call: i64,
    declared: &Fields,
    columns: Vec<ArrayRef>,
) -> Result<RecordBatch, Failure> {
    let rows = struct_of(declared, columns)?;
    let calls = Int64Array::from_value(call, rows.len());
    let fields = columns_of_table(rows.fields());
    let batch = StructArray::try_new(fields, vec![Arc::new(calls), Arc::new(rows)], None)?;
    Ok(RecordBatch::from(batch))
}

/// Arrays with the names that were declared, and types of their own: the output checks those.
pub(crate) fn struct_of(declared: &Fields, columns: Vec<ArrayRef>) -> Result<StructArray, Failure> {
    if declared.len() != columns.len() {
        let message = format!(
            "the function gives {} columns and declares {}",
            columns.len(),
            declared.len()
        );
        return Err(Failure::internal(message));
    }
    let fields: Fields = declared
        .iter()
        .zip(&columns)
        .map(|(declared, column)| Field::new(declared.name(), column.data_type().clone(), true))
        .collect();
    Ok(StructArray::try_new(fields, columns, None)?)
}
