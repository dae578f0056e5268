//! Trying a library before jobs rely on it: every function is called with odd columns, and what it gives is held
//! against what it gives for the same rows in other portions.

mod columns;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use arrow::array::{Array as _, ArrayRef, RecordBatch, RecordBatchIterator, UInt32Array};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use fastrand::Rng;

use self::columns::Column;
use super::error::FunctionError;
use super::host::{TaskFacts, TaskMemory};
use super::instance::Instance;
use super::library::{Function, Kind, Library, Volatility};
use crate::cancel::Cancellation;

/// Rows of a column that functions are tried with.
const ROWS: usize = 200;

/// When a function is asked to give up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Rows of a stream that are read.
const MOST_ROWS: usize = 200_000;

/// What came of trying a function in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The function's name.
    pub function: String,
    /// Number of its signature.
    pub signature: usize,
    /// What was tried.
    pub tried: &'static str,
    /// What is wrong, if something is.
    pub problem: Option<String>,
    /// What the function refused, which is no mistake: values that it does not take.
    pub refused: Option<String>,
}

/// What a try comes to: `Err` is a mistake, `Some` a refusal.
type Tried = Result<Option<String>, String>;

/// Calls all functions of a library in all ways that a job may call them. A function that crashes ends the process.
pub fn check(library: &Library) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in &library.functions {
        for signature in 0..function.signatures.len() {
            let trial = Trial {
                function,
                signature,
            };
            for (tried, outcome) in trial.all() {
                let (problem, refused) = match outcome {
                    Ok(refused) => (None, refused),
                    Err(problem) => (Some(problem), None),
                };
                findings.push(Finding {
                    function: function.name.clone(),
                    signature,
                    tried,
                    problem,
                    refused,
                });
            }
        }
    }
    findings
}

/// Memory that is always there, or never, of a task that is cancelled if it takes too long.
#[derive(Debug)]
struct Surroundings {
    memory: bool,
    /// Dropped when the task is over.
    _over: Sender<()>,
}

impl Surroundings {
    fn new(memory: bool, cancellation: &Cancellation) -> Self {
        let (_over, over) = channel();
        let cancellation = cancellation.clone();
        std::thread::spawn(move || {
            if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                cancellation.cancel("it takes too long");
            }
        });
        Self { memory, _over }
    }
}

impl TaskMemory for Surroundings {
    fn reserve(&self, _: usize) -> bool {
        self.memory
    }

    fn release(&self, _: usize) {}
}

/// How a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Ordinary,
    Cancelled,
    WithoutMemory,
}

struct Trial<'a> {
    function: &'a Arc<Function>,
    signature: usize,
}

/// A failure of the function's own is none of the library's; a failure to keep to the interface is.
fn refusal(error: FunctionError) -> Tried {
    match error {
        FunctionError::Refused(words) | FunctionError::Cancelled(words) => Ok(Some(words)),
        error => Err(error.to_string()),
    }
}

/// `Ok` of a call's value, or what comes of its failure.
macro_rules! attempt {
    ($call:expr) => {
        match $call {
            Ok(value) => value,
            Err(error) => return refusal(error),
        }
    };
}

impl Trial<'_> {
    fn all(&self) -> Vec<(&'static str, Tried)> {
        let like = |rows, nulls, odd| Column { rows, nulls, odd };
        let ordinary = Task::Ordinary;
        vec![
            ("values", self.call(like(ROWS, false, false), ordinary)),
            ("odd values", self.call(like(ROWS, false, true), ordinary)),
            ("nulls", self.call(like(ROWS, true, false), ordinary)),
            (
                "odd values and nulls",
                self.call(like(ROWS, true, true), ordinary),
            ),
            ("one row", self.call(like(1, false, false), ordinary)),
            ("no rows", self.call(like(0, false, false), ordinary)),
            ("portions", self.portions(like(ROWS, true, false))),
            (
                "a cancelled task",
                self.call(like(ROWS, false, false), Task::Cancelled),
            ),
            (
                "no memory",
                self.call(like(ROWS, false, false), Task::WithoutMemory),
            ),
        ]
    }

    fn bind(&self, task: Task) -> Result<Instance, FunctionError> {
        let cancellation = Cancellation::default();
        if task == Task::Cancelled {
            cancellation.cancel("tried");
        }
        let facts = TaskFacts {
            time_zone: "America/New_York".to_owned(),
            ansi: true,
            stage_id: 1,
            partition_id: 2,
            attempt_number: 0,
            task_attempt_id: 3,
            memory: Box::new(Surroundings::new(
                task != Task::WithoutMemory,
                &cancellation,
            )),
            cancellation,
        };
        let signature = self.function.signatures.get(self.signature);
        let any = signature.is_some_and(|signature| signature.arguments.trim().is_empty());
        // A partition function of any columns is tried with these.
        let columns = Fields::from(vec![
            Field::new("number", DataType::Int64, true),
            Field::new("text", DataType::Utf8, true),
        ]);
        let input = (self.function.kind == Kind::Partition && any).then_some(&columns);
        Instance::bind(self.function, self.signature, input, facts)
    }

    /// The same columns whenever it is asked for the same.
    fn given(&self, instance: &Instance, like: Column) -> Result<Vec<ArrayRef>, String> {
        columns::columns(instance.arguments(), like, &mut Rng::with_seed(20_261_128))
    }

    fn call(&self, like: Column, task: Task) -> Tried {
        let mut instance = attempt!(self.bind(task));
        let given = self.given(&instance, like)?;
        match self.function.kind {
            Kind::Scalar => drop(attempt!(instance.execute_always(&given, like.rows, None))),
            Kind::Aggregate => drop(attempt!(aggregated(&mut instance, &given, like.rows))),
            Kind::Partition | Kind::Table => {
                let calls = (self.function.kind == Kind::Table).then_some(like.rows);
                drop(attempt!(streamed(instance, &given, &[0, like.rows], calls)));
            }
        }
        Ok(None)
    }

    /// Rows in portions: slices, one by one, and states of groups that are merged.
    fn portions(&self, like: Column) -> Tried {
        if self.function.volatility == Volatility::Volatile {
            return Ok(Some("is volatile, and gives what it gives".to_owned()));
        }
        let mut instance = attempt!(self.bind(Task::Ordinary));
        let given = self.given(&instance, like)?;
        let cuts: Vec<usize> = vec![0, 1, 4, 4, 71, like.rows];
        let (whole, parts) = match self.function.kind {
            Kind::Scalar => {
                let whole = attempt!(instance.execute(&given, like.rows));
                let mut parts = Vec::new();
                for (start, rows) in pieces(&cuts) {
                    parts.push(attempt!(
                        instance.execute(&sliced(&given, start, rows), rows)
                    ));
                }
                (whole, parts)
            }
            Kind::Aggregate => {
                let whole = attempt!(aggregated(&mut instance, &given, like.rows));
                let parts = attempt!(merged(
                    &mut instance,
                    || self.bind(Task::Ordinary),
                    &given,
                    &cuts
                ));
                (whole, vec![parts])
            }
            Kind::Partition | Kind::Table => {
                let calls = (self.function.kind == Kind::Table).then_some(like.rows);
                let again = attempt!(self.bind(Task::Ordinary));
                let whole = attempt!(streamed(instance, &given, &[0, like.rows], calls));
                let cuts = match self.function.kind {
                    // A table function has its calls in one batch.
                    Kind::Table => vec![0, like.rows],
                    _ => cuts,
                };
                let parts = attempt!(streamed(again, &given, &cuts, calls));
                (whole, vec![parts])
            }
        };
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        let parts = concat(&parts).map_err(|why| why.to_string())?;
        match same(&whole, &parts) {
            true => Ok(None),
            false => Err("gives other values if the same rows come in portions".to_owned()),
        }
    }
}

/// Where portions start that end at cuts, and how many rows they have.
fn pieces(cuts: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let ends = cuts.iter().skip(1);
    cuts.iter()
        .zip(ends)
        .map(|(start, end)| (*start, end - start))
}

fn sliced(columns: &[ArrayRef], start: usize, rows: usize) -> Vec<ArrayRef> {
    columns
        .iter()
        .map(|column| column.slice(start, rows))
        .collect()
}

/// Groups of rows: not all groups have rows, and rows of one do not follow each other.
fn groups(start: usize, rows: usize) -> UInt32Array {
    let numbers = (start..start + rows).map(|row| u32::try_from(row % 7 % 5).unwrap_or_default());
    UInt32Array::from_iter_values(numbers)
}

const GROUPS: u32 = 6;

fn aggregated(
    instance: &mut Instance,
    given: &[ArrayRef],
    rows: usize,
) -> Result<ArrayRef, FunctionError> {
    instance.update(given, &groups(0, rows), GROUPS)?;
    instance.finish(GROUPS)
}

/// The same of portions, each in an instance of its own, whose states are merged.
fn merged(
    instance: &mut Instance,
    another: impl Fn() -> Result<Instance, FunctionError>,
    given: &[ArrayRef],
    cuts: &[usize],
) -> Result<ArrayRef, FunctionError> {
    let all = UInt32Array::from_iter_values(0..GROUPS);
    for (start, rows) in pieces(cuts) {
        let mut part = another()?;
        part.update(&sliced(given, start, rows), &groups(start, rows), GROUPS)?;
        let states = part.states(GROUPS)?;
        let states = arrow::array::AsArray::as_struct(&states).columns().to_vec();
        instance.merge(&states, &all, GROUPS)?;
    }
    instance.finish(GROUPS)
}

/// The rows of a partition or table function, as one column.
fn streamed(
    instance: Instance,
    given: &[ArrayRef],
    cuts: &[usize],
    calls: Option<usize>,
) -> Result<ArrayRef, FunctionError> {
    let odd = |why: arrow::error::ArrowError| FunctionError::Failed(why.to_string());
    let of = instance.row_type();
    let schema = Arc::new(Schema::new(instance.arguments().clone()));
    let mut batches = Vec::new();
    for (start, rows) in pieces(cuts) {
        let columns = instance.row(instance.arguments(), &sliced(given, start, rows), rows)?;
        batches.push(Ok(RecordBatch::from(columns)));
    }
    let mut rows = instance.open(Box::new(RecordBatchIterator::new(batches, schema)))?;
    let mut parts: Vec<ArrayRef> = vec![arrow::array::new_empty_array(&of)];
    let mut last = 0;
    let mut read = 0;
    // Odd values may ask for more rows than there are days. Whoever has enough ends the stream early.
    while read < MOST_ROWS
        && let Some(batch) = rows.next_rows()?
    {
        read += batch.num_rows();
        if let Some(calls) = calls {
            last = in_order(&batch, last, calls).map_err(|why| rows.failed(why))?;
        }
        parts.push(Arc::new(arrow::array::StructArray::from(batch)));
    }
    let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
    concat(&parts).map_err(odd)
}

/// Whether the numbers of a table function's calls are those of calls, and do not fall; the last one.
fn in_order(batch: &RecordBatch, mut last: i64, calls: usize) -> Result<i64, String> {
    use arrow::array::AsArray as _;
    let numbers = batch
        .column(0)
        .as_primitive::<arrow::datatypes::Int64Type>();
    for number in numbers {
        let number = number.ok_or("gave a row of no call")?;
        if number < last || usize::try_from(number).map_or(true, |number| number >= calls) {
            return Err(format!(
                "gave a row of call {number} after one of call {last}, of {calls}"
            ));
        }
        last = number;
    }
    Ok(last)
}

/// Whether columns have the same values, but for the last digits of doubles, which depend on the order of additions.
fn same(one: &ArrayRef, other: &ArrayRef) -> bool {
    let words = |column: &ArrayRef| {
        let options = arrow::util::display::FormatOptions::default().with_null("null");
        let values = arrow::util::display::ArrayFormatter::try_new(column, &options).ok()?;
        let words = (0..column.len()).map(|row| values.value(row).to_string());
        Some(words.collect::<Vec<_>>())
    };
    let near = |(one, other): (&String, &String)| {
        one == other
            || match (one.parse::<f64>(), other.parse::<f64>()) {
                (Ok(one), Ok(other)) => (one - other).abs() <= one.abs().max(other.abs()) * 1e-9,
                _ => false,
            }
    };
    match (words(one), words(other)) {
        (Some(one), Some(other)) => one.len() == other.len() && one.iter().zip(&other).all(near),
        _ => false,
    }
}
