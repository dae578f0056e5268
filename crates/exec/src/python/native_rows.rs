//! Rows that functions of shared libraries make of all rows of a partition, in place of functions of Python.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use catalyst::{Attribute, MapInBatch};
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::memory_pool::MemoryReservation;
use rows::error::bail_out;
use rows::types::ToArrow as _;

use super::conversion::{converted, type_for_python};
use super::frames::wait_for_next;
use crate::native_functions::{
    NativeCall, NativeCallee, NativeFunction, NativeOutput, NativePartition,
};
use crate::sources::Sources;

/// A function that was bound to the columns of an input.
pub(super) struct NativeMap {
    function: Box<dyn NativePartition>,
    input: SchemaRef,
    /// The types in the lane of what comes out.
    output: Vec<ArrowType>,
}

impl NativeMap {
    /// The native function of an operator, if it calls one.
    ///
    /// # Errors
    /// It does not take the task.
    pub(super) fn of(
        map: &MapInBatch,
        sources: &dyn Sources,
        memory: MemoryReservation,
    ) -> Result<Option<Self>> {
        let zone = Arc::from(map.time_zone.as_str());
        let of =
            |data_type| type_for_python(data_type, &zone).map_err(|why| bail_out(why.to_string()));
        let fields = map.input.iter();
        let fields = fields.map(|field| Ok(Field::new(&field.name, of(&field.data_type)?, true)));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let call = NativeCall {
            function: NativeCallee::Python(map.function),
            arguments: &fields,
            memory,
        };
        let Some(NativeFunction::Partition(function)) = sources.native_function(call)? else {
            return Ok(None);
        };
        // Spark has the names from the declared columns, and takes what comes by them.
        let columns = map.output.iter().zip(function.result());
        let mut same = map.output.len() == function.result().len();
        for (declared, given) in columns {
            same &=
                declared.name == *given.name() && of(&declared.data_type)? == *given.data_type();
        }
        if !same {
            return Ok(None);
        }
        let output = map.output.iter().map(in_lane);
        Ok(Some(Self {
            output: output.collect::<Result<_>>()?,
            function,
            input: Arc::new(Schema::new(fields)),
        }))
    }

    /// The rows for those of an input.
    ///
    /// # Errors
    /// The function fails.
    pub(super) fn open(self, input: SendableRecordBatchStream) -> Result<NativeOutput> {
        let failure = Failure::default();
        let rows = InputRows {
            input,
            schema: self.input,
            failure: failure.clone(),
        };
        let rows = self.function.open(Box::new(rows));
        let mut rows = rows.map_err(|error| failure.take().unwrap_or(error))?;
        let output = self.output;
        Ok(Box::new(std::iter::from_fn(move || {
            let batch = match rows.next()? {
                Ok(batch) => batch,
                // What the input failed with says more.
                Err(error) => return Some(Err(failure.take().unwrap_or(error))),
            };
            Some(of_lane(&batch, &output))
        })))
    }
}

fn in_lane(column: &Attribute) -> Result<ArrowType> {
    let of = column.data_type.to_arrow();
    of.map_err(|why| bail_out(why.to_string()))
}

/// A batch of a function with the lane's types.
fn of_lane(batch: &RecordBatch, types: &[ArrowType]) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(types);
    let columns = columns.map(|(column, of)| converted(column, of));
    batch_without_names(columns.collect::<Result<_>>()?, types, batch.num_rows())
}

fn batch_without_names(
    columns: Vec<arrow::array::ArrayRef>,
    types: &[ArrowType],
    rows: usize,
) -> Result<RecordBatch> {
    let fields = types.iter().map(|of| Field::new("", of.clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        schema, columns, &options,
    )?)
}

/// What an input failed with, on its way around a function that knows errors as texts.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<DataFusionError>>>);

impl Failure {
    fn take(&self) -> Option<DataFusionError> {
        // Nobody panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, error: DataFusionError) -> ArrowError {
        let words = error.to_string();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        ArrowError::ExternalError(words.into())
    }
}

/// Rows of an input as a function gets them.
struct InputRows {
    input: SendableRecordBatchStream,
    schema: SchemaRef,
    failure: Failure,
}

impl InputRows {
    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = wait_for_next(&mut self.input).transpose()? else {
            return Ok(None);
        };
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| converted(column, field.data_type()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = columns.collect::<Result<_>>()?;
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        Ok(Some(batch))
    }
}

impl Iterator for InputRows {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batch().transpose()?;
        Some(batch.map_err(|error| self.failure.keep(error)))
    }
}

impl RecordBatchReader for InputRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
