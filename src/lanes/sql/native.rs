//! Functions of shared libraries that a stage calls in place of functions of Python.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType, Fields};
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;
use exec::{
    NativeAggregate, NativeCall, NativeFunction, NativeInput, NativeOutput, NativePartition,
    NativeScalar,
};
use parking_lot::Mutex;
use rows::error::{RunError, bail_out};

use crate::config::declared::{ANSI, SESSION_TIME_ZONE};
use crate::native_functions::{
    FunctionError, Instance, Kind, Libraries, Marker, OutputStream, TaskFacts, TaskMemory, widened,
};
use crate::report::NativeFunctions;
use crate::task::TaskContext;

/// The native functions of an executor.
#[derive(Debug, Default)]
pub(super) struct Natives {
    pub(super) libraries: Libraries,
    counts: Arc<Mutex<NativeFunctions>>,
    /// Reasons that the log has, why functions are Python's.
    logged: Mutex<BTreeSet<String>>,
}

/// Time zone of sessions that have none, which no function with timestamps is called in.
const NO_ZONE: &str = "UTC";

impl Natives {
    pub(super) fn new(libraries: Libraries) -> Self {
        Self {
            libraries,
            counts: Arc::default(),
            logged: Mutex::default(),
        }
    }

    /// Leaves a function to Python.
    fn leave(&self, marker: &Marker, why: &str) {
        self.counts.lock().left_to_python(why);
        let words = format!("{} runs in Python workers: {why}", title(marker));
        if self.logged.lock().insert(words.clone()) {
            tracing::warn!("Native function {words}");
        }
    }

    /// What was counted since the last time.
    pub(super) fn take_counts(&self) -> NativeFunctions {
        std::mem::take(&mut *self.counts.lock())
    }

    /// The native function that a function of Python stands for, bound for a task; `None` if Python is to run it.
    ///
    /// # Errors
    /// Binding it failed, of which Spark's words are Python's.
    pub(super) fn bound(
        &self,
        marker: &Marker,
        call: NativeCall<'_>,
        context: &TaskContext,
        default_ansi: bool,
    ) -> Result<Option<NativeFunction>> {
        let left = |why: String| {
            self.leave(marker, &why);
            Ok(None)
        };
        let function = match self.libraries.function(marker, &context.files_dir) {
            Ok(function) => function,
            Err(why) => return left(why),
        };
        let ansi = context.local_property(ANSI.key);
        let zone = context.local_property(SESSION_TIME_ZONE.key);
        let facts = TaskFacts {
            time_zone: zone.unwrap_or(NO_ZONE).to_owned(),
            ansi: ansi.map_or(default_ansi, |value| value.eq_ignore_ascii_case("true")),
            stage_id: context.stage_id,
            partition_id: context.partition_id,
            attempt_number: context.attempt_number,
            task_attempt_id: context.task_attempt_id,
            cancellation: context.cancellation.clone(),
            memory: Box::new(Memory(StdMutex::new(call.memory))),
        };
        let input: Option<Fields> =
            (function.kind == Kind::Partition).then(|| call.arguments.iter().cloned().collect());
        let instance = Instance::bind(&function, marker.signature, input.as_ref(), facts);
        let instance = match instance {
            Err(FunctionError::NotApplicable(why)) => return left(why),
            instance => instance.map_err(failed)?,
        };
        let given = call.arguments.iter().map(|field| field.data_type());
        let fits = match function.kind {
            Kind::Partition => Ok(()),
            _ => fits(&instance, given.cloned().collect()),
        };
        if let Err(why) = fits {
            return left(format!("{}: {why}", title(marker)));
        }
        self.counts.lock().called(&title(marker), 1, 0);
        let counted = Counted {
            name: title(marker),
            counts: Arc::clone(&self.counts),
        };
        let bound = Bound { instance, counted };
        Ok(match function.kind {
            Kind::Scalar => Some(NativeFunction::Scalar(Box::new(bound))),
            Kind::Aggregate => Some(NativeFunction::Aggregate(Box::new(bound))),
            Kind::Partition => partition(bound),
            // Spark calls these in operators that are not native.
            Kind::Table => None,
        })
    }
}

fn title(marker: &Marker) -> String {
    format!("{}.{}", marker.module, marker.function)
}

/// Whether a function takes arguments of these types, as they are or widened.
fn fits(instance: &Instance, given: Vec<DataType>) -> std::result::Result<(), String> {
    let wanted = instance.arguments();
    if wanted.len() != given.len() {
        return Err(format!(
            "{} arguments instead of {}",
            given.len(),
            wanted.len()
        ));
    }
    for (given, wanted) in given.iter().zip(wanted) {
        let none = arrow::array::new_empty_array(given);
        if widened(&none, wanted.data_type()).is_none() {
            return Err(format!("{given} instead of {}", wanted.data_type()));
        }
    }
    Ok(())
}

/// What a failure of a function becomes: Spark's words for it come from Python, which calls the same library.
fn failed(error: FunctionError) -> datafusion_common::DataFusionError {
    match error {
        FunctionError::Cancelled(_) => RunError::Killed.into(),
        error => bail_out(error.to_string()),
    }
}

/// Memory of a task for what a function keeps.
#[derive(Debug)]
struct Memory(StdMutex<MemoryReservation>);

impl TaskMemory for Memory {
    fn reserve(&self, bytes: usize) -> bool {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.try_grow(bytes).is_ok()
    }

    fn release(&self, bytes: usize) {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = memory.size();
        memory.shrink(bytes.min(held));
    }
}

/// A function for one task.
struct Bound {
    instance: Instance,
    counted: Counted,
}

/// Counts rows that a function was called for.
struct Counted {
    name: String,
    counts: Arc<Mutex<NativeFunctions>>,
}

impl Counted {
    fn rows(&self, rows: usize) {
        self.counts.lock().called(&self.name, 0, rows as u64);
    }
}

impl Bound {
    /// Arguments as the function takes them.
    fn arguments(&self, given: &[ArrayRef], rows: usize) -> Result<Vec<ArrayRef>> {
        self.counted.rows(rows);
        let wanted = self.instance.arguments().iter();
        let arguments = given.iter().zip(wanted).map(|(given, wanted)| {
            let argument = widened(given, wanted.data_type());
            argument.ok_or_else(|| bail_out("an argument of another type"))
        });
        arguments.collect()
    }
}

impl NativeScalar for Bound {
    fn result(&self) -> &DataType {
        self.instance.result()
    }

    fn execute(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let arguments = self.arguments(arguments, rows)?;
        self.instance.execute(&arguments, rows).map_err(failed)
    }
}

impl NativeAggregate for Bound {
    fn result(&self) -> &DataType {
        self.instance.result()
    }

    fn update(&mut self, arguments: &[ArrayRef], groups: &UInt32Array, count: u32) -> Result<()> {
        let arguments = self.arguments(arguments, groups.len())?;
        let updated = self.instance.update(&arguments, groups, count);
        updated.map_err(failed)
    }

    fn finish(&mut self, count: u32) -> Result<ArrayRef> {
        self.instance.finish(count).map_err(failed)
    }
}

/// A partition function; `None` if it gives no rows, which is Python's to tell.
fn partition(bound: Bound) -> Option<NativeFunction> {
    let DataType::Struct(result) = bound.instance.result().clone() else {
        return None;
    };
    Some(NativeFunction::Partition(Box::new(Partition {
        bound,
        result,
    })))
}

/// A partition function, and its columns.
struct Partition {
    bound: Bound,
    result: Fields,
}

impl NativePartition for Partition {
    fn result(&self) -> &Fields {
        &self.result
    }

    fn open(self: Box<Self>, input: NativeInput) -> Result<NativeOutput> {
        let Bound { instance, counted } = self.bound;
        let stream = instance.open(input).map_err(failed)?;
        Ok(Box::new(Rows { stream, counted }))
    }
}

/// Rows of a partition function.
struct Rows {
    stream: OutputStream,
    counted: Counted,
}

impl Iterator for Rows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.stream.next_rows().map_err(failed).transpose();
        if let Some(Ok(batch)) = &next {
            self.counted.rows(batch.num_rows());
        }
        next
    }
}
