//! Functions of shared libraries that a stage calls: those that it names, and those that functions of Python stand for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType, Fields};
use catalyst::NativeUdf;
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;
use exec::{
    NativeAggregate, NativeCall, NativeFunction, NativeInput, NativeOutput, NativePartition,
    NativeScalar,
};
use parking_lot::Mutex;
use rows::error::{RunError, bail_out};

use super::failure::of_source;
use crate::config::declared::{ANSI, SESSION_TIME_ZONE};
use crate::native_functions::{
    BoundFunction, FunctionError, FunctionRows, Kind, Libraries, Marker, TaskFacts, TaskMemory,
    count_isolated, widened,
};
use crate::report::NativeFunctions;
use crate::task::{TaskContext, TaskError};

/// The native functions of an executor.
#[derive(Debug, Default)]
pub(super) struct Natives {
    pub(super) libraries: Libraries,
    counts: Arc<Mutex<NativeFunctions>>,
    /// Reasons that the log has, why functions are Python's.
    logged: Mutex<BTreeSet<String>>,
}

/// What functions are told of the session.
#[derive(Clone, Copy)]
struct Session<'a> {
    time_zone: &'a str,
    ansi: bool,
}

/// Where the library of a function is, or why it is not here.
type Found = std::result::Result<PathBuf, String>;

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
        let mut counts = std::mem::take(&mut *self.counts.lock());
        let processes = count_isolated();
        counts.processes += processes.started;
        counts.processes_ended += processes.ended;
        counts
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
        let library = self.libraries.of_python(marker, &context.files_dir);
        let ansi = context.local_property(ANSI.key);
        let zone = context.local_property(SESSION_TIME_ZONE.key);
        let session = Session {
            time_zone: zone.unwrap_or(NO_ZONE),
            ansi: ansi.map_or(default_ansi, |value| value.eq_ignore_ascii_case("true")),
        };
        match self.bind(library, marker, call, (context, session))? {
            Ok(function) => Ok(function),
            Err(why) => {
                self.leave(marker, &why);
                Ok(None)
            }
        }
    }

    /// A function that the query names, bound for a task.
    ///
    /// # Errors
    /// Bail-out: it is not here, or binding it failed. The JVM calls the same library, or says why it cannot.
    pub(super) fn named(
        &self,
        of: &NativeUdf,
        call: NativeCall<'_>,
        context: &TaskContext,
    ) -> Result<NativeFunction> {
        let marker = Marker {
            function: of.function.clone(),
            library: of.library.clone(),
            module: of.module.clone(),
            signature: of.signature,
            version: of.version.clone(),
        };
        let library = self.libraries.of_query(&marker, &context.files_dir);
        let session = Session {
            time_zone: &of.time_zone,
            ansi: of.ansi,
        };
        let bound = self.bind(library, &marker, call, (context, session))?;
        let bound = bound.map_err(|why| bail_out(format!("native function {of}: {why}")))?;
        bound.ok_or_else(|| bail_out(format!("native function {of}: of another kind")))
    }

    /// A function that was looked up, bound for a task; or why it is not called.
    ///
    /// # Errors
    /// Binding it failed.
    fn bind(
        &self,
        library: Found,
        marker: &Marker,
        call: NativeCall<'_>,
        (context, session): (&TaskContext, Session<'_>),
    ) -> Result<std::result::Result<Option<NativeFunction>, String>> {
        let library = match library {
            Ok(library) => library,
            Err(why) => return Ok(Err(why)),
        };
        let facts = TaskFacts {
            time_zone: session.time_zone.to_owned(),
            ansi: session.ansi,
            stage_id: context.stage_id,
            partition_id: context.partition_id,
            attempt_number: context.attempt_number,
            task_attempt_id: context.task_attempt_id,
            cancellation: context.cancellation.clone(),
            memory: Box::new(Memory(StdMutex::new(call.memory))),
        };
        let input: Fields = call.arguments.iter().cloned().collect();
        let instance = match BoundFunction::bind(&library, marker, Some(&input), facts) {
            Err(FunctionError::NotApplicable(why)) => return Ok(Err(why)),
            bound => match bound.map_err(failed)? {
                Ok(instance) => instance,
                Err(why) => return Ok(Err(why)),
            },
        };
        let kind = instance.kind();
        let given = call.arguments.iter().map(|field| field.data_type());
        let fits = match kind {
            Kind::Partition => Ok(()),
            _ => fits(&instance, given.cloned().collect()),
        };
        if let Err(why) = fits {
            return Ok(Err(format!("{}: {why}", title(marker))));
        }
        self.counts.lock().called(&title(marker), 1, 0);
        let counted = Counted {
            name: title(marker),
            counts: Arc::clone(&self.counts),
        };
        let bound = Bound { instance, counted };
        Ok(Ok(match kind {
            Kind::Scalar => Some(NativeFunction::Scalar(Box::new(bound))),
            Kind::Aggregate => Some(NativeFunction::Aggregate(Box::new(bound))),
            Kind::Partition => partition(bound),
            // Spark calls these in operators that are not native.
            Kind::Table => None,
        }))
    }
}

fn title(marker: &Marker) -> String {
    format!("{}.{}", marker.module, marker.function)
}

/// Whether a function takes arguments of these types, as they are or widened.
fn fits(instance: &BoundFunction, given: Vec<DataType>) -> std::result::Result<(), String> {
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

/// What a failure of a function becomes: Spark's words for it come from Python, which calls the same library. One that
/// crashes is not called again for that.
fn failed(error: FunctionError) -> datafusion_common::DataFusionError {
    match error {
        FunctionError::Cancelled(_) => RunError::Killed.into(),
        FunctionError::Crashed(words) => of_source(TaskError::spark(words)),
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
    instance: BoundFunction,
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
    stream: FunctionRows,
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
