//! Calls of functions of shared libraries that a query names itself: from an expression of a task, and for single rows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType as ArrowType, Field};
use bytes::Bytes;
use catalyst::{DataType, NativeUdf, Unsupported};
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool};
use rows::error::bail_out;
use rows::types::{ToArrow as _, schema_of_types};
use rows::{RowDecoder, RowEncoder, RowSpan};

use super::native_functions::{NativeCall, NativeCallee, NativeFunction, NativeScalar};
use super::python::{converted, type_for_python};
use super::sources::Sources;

/// A function of a shared library over columns of the lane.
struct ColumnCall {
    /// Types of the arguments as the function is given them.
    arguments: Vec<ArrowType>,
    function: Box<dyn NativeScalar>,
    /// Type of the result in the lane.
    result: ArrowType,
}

impl ColumnCall {
    /// Binds a function to what it is given.
    ///
    /// # Errors
    /// There is none, or it gives another type.
    fn new(
        (arguments, result): (&[DataType], &DataType),
        zone: &Arc<str>,
        bind: impl FnOnce(&[Field]) -> Result<Box<dyn NativeScalar>>,
    ) -> Result<Self> {
        let of = |of| type_for_python(of, zone).map_err(|why| bail_out(why.to_string()));
        let arguments = arguments.iter().map(of).collect::<Result<Vec<_>>>()?;
        let fields = arguments.iter().map(|of| Field::new("", of.clone(), true));
        let function = bind(&fields.collect::<Vec<_>>())?;
        if *function.result() != of(result)? {
            return Err(bail_out("a native function of another type"));
        }
        let result = result.to_arrow().map_err(|why| bail_out(why.to_string()))?;
        Ok(Self {
            arguments,
            function,
            result,
        })
    }

    fn evaluate(&mut self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let arguments = columns.iter().zip(&self.arguments);
        let arguments = arguments.map(|(column, of)| converted(column, of));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        converted(&self.function.execute(&arguments, rows)?, &self.result)
    }
}

/// A function of a shared library that is called for one `UnsafeRow` at a time.
pub struct RowCall {
    decoder: RowDecoder,
    call: ColumnCall,
    encoder: RowEncoder,
}

impl RowCall {
    /// For rows with columns of these types, in a session with this time zone.
    ///
    /// # Errors
    /// Values of a type are not known natively, or the function gives others.
    pub fn new(
        arguments: &[DataType],
        result: &DataType,
        time_zone: &str,
        function: Box<dyn NativeScalar>,
    ) -> Result<Self> {
        let refused = |why: Unsupported| bail_out(why.to_string());
        Ok(Self {
            decoder: RowDecoder::new(arguments).map_err(refused)?,
            call: ColumnCall::new((arguments, result), &Arc::from(time_zone), |_| Ok(function))?,
            encoder: RowEncoder::new([result]).map_err(refused)?,
        })
    }

    /// The result for the bytes of a row: a row of one column, or none if it is null.
    ///
    /// # Errors
    /// The row is none of these types, or the function fails.
    pub fn call(&mut self, row: &[u8]) -> Result<Option<Vec<u8>>> {
        let size = u32::try_from(row.len()).map_err(|_| bail_out("a row of more than 4 GiB"))?;
        let span = RowSpan { offset: 0, size };
        let batch = (Bytes::copy_from_slice(row), vec![span]);
        let batch = self.decoder.decode(&[batch])?;
        let result = self.call.evaluate(batch.columns(), 1)?;
        if result.is_null(0) {
            return Ok(None);
        }
        let schema = schema_of_columns(&result);
        let batch = RecordBatch::try_new(schema, vec![result])?;
        let encoded = self.encoder.encode(&batch)?;
        Ok(Some(encoded.row(0).to_vec()))
    }
}

fn schema_of_columns(column: &ArrayRef) -> arrow::datatypes::SchemaRef {
    let field = Field::new("c0", column.data_type().clone(), true);
    Arc::new(arrow::datatypes::Schema::new(vec![field]))
}

impl fmt::Debug for RowCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowCall").finish_non_exhaustive()
    }
}

/// Functions that the expressions of a task call: each expression's own, bound when it is first evaluated.
#[derive(Clone)]
pub struct TaskCalls(Arc<Calls>);

struct Calls {
    sources: Arc<dyn Sources>,
    pool: Arc<dyn MemoryPool>,
    /// By the number of the expression. A function is not there while it runs.
    bound: Mutex<HashMap<u64, ColumnCall>>,
}

thread_local! {
    /// Of the task whose plan this thread computes.
    static CURRENT: RefCell<Option<Arc<Calls>>> = const { RefCell::new(None) };
}

impl TaskCalls {
    /// For a task, with its memory.
    #[must_use]
    pub fn new(sources: Arc<dyn Sources>, pool: Arc<dyn MemoryPool>) -> Self {
        Self(Arc::new(Calls {
            sources,
            pool,
            bound: Mutex::default(),
        }))
    }

    /// Until the guard is dropped, expressions that this thread evaluates are the task's.
    #[must_use]
    pub fn enter(&self) -> TaskCallsEntered {
        let current = Some(Arc::clone(&self.0));
        TaskCallsEntered(CURRENT.with(|known| known.replace(current)))
    }
}

impl fmt::Debug for TaskCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskCalls").finish_non_exhaustive()
    }
}

/// See [`TaskCalls::enter`]; has whose expressions were evaluated before.
pub struct TaskCallsEntered(Option<Arc<Calls>>);

impl Drop for TaskCallsEntered {
    fn drop(&mut self) {
        // Of a thread that ends there is nothing to be put back.
        let _ = CURRENT.try_with(|known| known.replace(self.0.take()));
    }
}

impl fmt::Debug for TaskCallsEntered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskCallsEntered")
    }
}

/// Where the task gets things whose expressions this thread evaluates, if it does so.
pub(crate) fn sources_of_task() -> Option<Arc<dyn Sources>> {
    let sources = |calls: &Arc<Calls>| Arc::clone(&calls.sources);
    CURRENT.with_borrow(|calls| calls.as_ref().map(sources))
}

impl Calls {
    fn bound(&self) -> MutexGuard<'_, HashMap<u64, ColumnCall>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bind(&self, call: &LibraryCall) -> Result<ColumnCall> {
        let LibraryCall {
            function,
            arguments,
            result,
            ..
        } = call;
        let zone = Arc::from(function.time_zone.as_str());
        ColumnCall::new((arguments, result), &zone, |fields| {
            let call = NativeCall {
                function: NativeCallee::Library(function),
                arguments: fields,
                memory: MemoryConsumer::new("NativeFunction").register(&self.pool),
            };
            match self.sources.native_function(call)? {
                Some(NativeFunction::Scalar(function)) => Ok(function),
                _ => Err(bail_out(format!("{function} is no scalar function"))),
            }
        })
    }
}

/// A call in an expression of a stage.
pub(crate) struct LibraryCall {
    /// Tells it from all others of the process.
    number: u64,
    function: NativeUdf,
    arguments: Vec<DataType>,
    result: DataType,
}

impl LibraryCall {
    /// Judges a call.
    ///
    /// # Errors
    /// Values of a type do not go to native functions.
    pub(crate) fn new(
        function: &NativeUdf,
        arguments: Vec<DataType>,
        result: &DataType,
    ) -> std::result::Result<Self, Unsupported> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let zone = Arc::from("UTC");
        for of in arguments.iter().chain([result]) {
            type_for_python(of, &zone)?;
        }
        schema_of_types(&arguments)?;
        Ok(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            function: function.clone(),
            arguments,
            result: result.clone(),
        })
    }

    /// The results for rows of the task that this thread computes.
    ///
    /// # Errors
    /// Bail-out: there is no such task, no such function here, or it fails.
    pub(crate) fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let calls = CURRENT.with_borrow(Clone::clone);
        let calls = calls.ok_or_else(|| bail_out("a native function outside of its task"))?;
        let known = calls.bound().remove(&self.number);
        let mut call = match known {
            Some(call) => call,
            None => calls.bind(self)?,
        };
        let results = call.evaluate(columns, rows)?;
        calls.bound().insert(self.number, call);
        Ok(results)
    }
}

#[cfg(test)]
#[path = "native_calls_tests.rs"]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod tests;
