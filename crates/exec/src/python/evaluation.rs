//! Rows, and the values of functions for them: of a worker, of shared libraries, of functions that are simple.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, Stream};
use rows::error::bail_out;

use super::call::{Decoder, WorkerCall};
use super::frames::{Frames, Kept, wait_for_next};
use super::native::{Candidates, NativeColumn};
use super::queue::RowQueue;
use super::simple::SimpleColumn;
use super::waiting::Waiting;
use super::{Column, DATA_RECEIVED, DATA_SENT, Plan};
use crate::exec::{Start, batch_of, from_fn};
use crate::project::evaluate;
use crate::sources::{PythonFrames, PythonTimes, Sources};

/// Rows on their way through functions.
pub(super) struct Evaluation {
    task: Task,
    schema: SchemaRef,
    /// Results, until they are as many as the first of those batches has rows.
    ready: RowQueue,
    /// For each of the results: whose it is.
    results: Vec<Whose>,
    simple: Vec<SimpleColumn>,
    worker: Worker,
    baseline: BaselineMetrics,
}

/// What workers are called with.
#[derive(Clone)]
struct Task {
    plan: Arc<Plan>,
    sources: Arc<dyn Sources>,
    /// Batches of which frames were made, and whose results are not all there.
    waiting: Waiting,
    sent: Count,
    received: Count,
    times: PythonTimes,
}

/// Who computes a column of results.
enum Whose {
    /// A worker, as the column of this place.
    Worker(usize),
    /// A native function.
    Native(NativeColumn),
    /// This process, and a worker for batches that it cannot, as the simple function of this place.
    Simple(usize),
}

/// Who is given rows.
enum Worker {
    /// One of Python.
    Python(Called),
    /// None: no function is a worker's.
    None(SendableRecordBatchStream),
}

/// A worker that was called.
struct Called {
    call: Arc<WorkerCall>,
    frames: PythonFrames,
    decoder: Decoder,
}

/// Columns of results, and how many rows they have.
type Results = (Vec<ArrayRef>, usize);

impl Task {
    /// Has a worker compute functions for the rows of an input.
    fn call(
        &self,
        places: &[usize],
        input: SendableRecordBatchStream,
        waiting: Waiting,
    ) -> Result<Called> {
        let call = Arc::new(self.plan.call_of(places)?);
        let (python, encoder, decoder) = call.open(&*self.sources)?;
        let frames = Frames::new(
            &call,
            encoder,
            input,
            Kept::Rows(waiting),
            self.sent.clone(),
        );
        let frames = self
            .sources
            .python(&python, Box::new(frames), self.times.clone())?;
        Ok(Called {
            call,
            frames,
            decoder,
        })
    }

    /// The results of functions for a batch, of a worker that is called for it alone.
    fn of_python(&self, places: &[usize], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let only = stream::iter([Ok(batch.clone())]);
        let input = Box::pin(RecordBatchStreamAdapter::new(batch.schema(), only));
        let waiting = self.waiting.another();
        let mut called = self.call(places, input, waiting)?;
        let mut ready = RowQueue::new(places.len());
        while let Some((columns, rows)) = called.next(&self.received)? {
            ready.push(columns, rows).ok_or_else(other_number)?;
        }
        let parts = match ready.rows() == batch.num_rows() {
            true => ready.take(batch.num_rows()),
            false => None,
        };
        let parts = parts.ok_or_else(other_number)?;
        let columns = parts
            .iter()
            .map(|parts| joined(Some(parts))?.ok_or_else(other_number));
        columns.collect()
    }

    /// The results of simple functions for a batch. If Python has to see it, it sees it for all of them, so that of
    /// several errors the first is found.
    fn of_simple(&self, simple: &[SimpleColumn], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let mut columns = Vec::with_capacity(simple.len());
        for column in simple {
            match column.evaluate(&self.plan.arguments, batch)? {
                Some(column) => columns.push(column),
                None => {
                    let places: Vec<_> = simple.iter().map(SimpleColumn::place).collect();
                    return self.of_python(&places, batch);
                }
            }
        }
        Ok(columns)
    }
}

impl Called {
    /// The next results; `None` after the last.
    fn next(&mut self, received: &Count) -> Result<Option<Results>> {
        for frame in self.frames.by_ref() {
            if let Some((columns, rows, bytes)) =
                self.decoder.columns(&self.call.results, frame?)?
            {
                received.add(bytes);
                return Ok(Some((columns, rows)));
            }
        }
        Ok(None)
    }
}

fn other_number() -> datafusion_common::DataFusionError {
    bail_out("another number of results of Python")
}

impl Evaluation {
    /// The rows of an input with the results of functions.
    ///
    /// # Errors
    /// There is no input.
    pub(super) fn start(
        plan: &Arc<Plan>,
        sources: &Arc<dyn Sources>,
        start: &Start<'_>,
    ) -> Result<impl Stream<Item = Result<RecordBatch>> + Send + 'static> {
        let counter = |name| MetricBuilder::new(start.metrics).counter(name, 0);
        let pool = Arc::clone(start.context.memory_pool());
        let task = Task {
            plan: Arc::clone(plan),
            sources: Arc::clone(sources),
            waiting: Waiting::new("EvalPythonExec", &pool),
            sent: counter(DATA_SENT),
            received: counter(DATA_RECEIVED),
            times: PythonTimes::new(counter),
        };
        let (schema, baseline) = (Arc::clone(start.schema), start.baseline());
        let mut begin = Some((start.input(0)?, task));
        let mut evaluation = None;
        Ok(from_fn(move || {
            // A worker is asked for when somebody asks for rows.
            if let Some((input, task)) = begin.take() {
                let candidates = Candidates {
                    callees: &task.plan.callees,
                    results: &task.plan.results,
                    arguments: &task.plan.argument_types,
                };
                let native = candidates.native(&*task.sources, &pool)?;
                let Shared {
                    results,
                    simple,
                    left,
                } = Shared::of(&task, native)?;
                let worker = match left.is_empty() {
                    true => Worker::None(input),
                    false => Worker::Python(task.call(&left, input, task.waiting.clone())?),
                };
                evaluation = Some(Self {
                    ready: RowQueue::new(left.len()),
                    results,
                    simple,
                    worker,
                    task,
                    schema: Arc::clone(&schema),
                    baseline: baseline.clone(),
                });
            }
            evaluation.as_mut().map_or(Ok(None), Self::next)
        }))
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let first = self.task.waiting.rows();
            if first.is_some_and(|rows| rows <= self.ready.rows())
                && let Some(batch) = self.task.waiting.pop()
            {
                return self.joined(&batch).map(Some);
            }
            let called = match &mut self.worker {
                Worker::Python(called) => called,
                Worker::None(input) => match wait_for_next(input).transpose()? {
                    Some(batch) if batch.num_rows() == 0 => continue,
                    Some(batch) => return self.joined(&batch).map(Some),
                    None => return Ok(None),
                },
            };
            let Some((columns, rows)) = called.next(&self.task.received)? else {
                // Of the last rows, too, which may have gone out just now.
                return match self.task.waiting.rows().is_none() && self.ready.rows() == 0 {
                    true => Ok(None),
                    false => Err(other_number()),
                };
            };
            self.ready.push(columns, rows).ok_or_else(other_number)?;
        }
    }

    /// The rows of a batch with their results, which are there.
    fn joined(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.baseline.record_output(batch.num_rows());
        let parts = match &self.worker {
            Worker::Python(_) => self.ready.take(batch.num_rows()),
            Worker::None(_) => Some(Vec::new()),
        };
        let parts = parts.ok_or_else(other_number)?;
        let simple = self.task.of_simple(&self.simple, batch)?;
        let plan = Arc::clone(&self.task.plan);
        let mut columns = Vec::with_capacity(plan.output.len());
        for column in &plan.output {
            let column = match column {
                Column::Input(place) => batch.columns().get(*place).cloned(),
                Column::Result(place) => match self.results.get_mut(*place) {
                    Some(Whose::Native(native)) => Some(native.evaluate(&plan.arguments, batch)?),
                    Some(Whose::Simple(place)) => simple.get(*place).cloned(),
                    Some(Whose::Worker(place)) => joined(parts.get(*place))?,
                    None => None,
                },
            };
            columns.push(column.ok_or_else(|| bail_out("columns that are missing"))?);
        }
        batch_of(&self.schema, columns, batch.num_rows())
    }
}

/// Who computes what.
struct Shared {
    /// Whose each result is.
    results: Vec<Whose>,
    simple: Vec<SimpleColumn>,
    /// Places of the functions that are left to a worker.
    left: Vec<usize>,
}

impl Shared {
    fn of(task: &Task, native: Vec<Option<NativeColumn>>) -> Result<Self> {
        let places = (0..native.len()).filter(|place| {
            let is_wanted = |column: &Column| matches!(column, Column::Result(of) if of == place);
            // Of functions whose results nobody wants only errors and effects are left.
            native.get(*place).is_some_and(Option::is_none)
                && task.plan.output.iter().any(is_wanted)
        });
        let places: Vec<_> = places.collect();
        let found = SimpleColumn::of(&task.plan, &places, &*task.sources)?;
        let mut shared = Self {
            results: Vec::with_capacity(native.len()),
            simple: found.into_iter().flatten().collect(),
            left: Vec::new(),
        };
        for (place, column) in native.into_iter().enumerate() {
            let simple = shared.simple.iter().position(|of| of.place() == place);
            shared.results.push(match (column, simple) {
                (Some(column), _) => Whose::Native(column),
                (None, Some(simple)) => Whose::Simple(simple),
                (None, None) => {
                    shared.left.push(place);
                    Whose::Worker(shared.left.len() - 1)
                }
            });
        }
        Ok(shared)
    }
}

/// The values of an argument for rows.
pub(super) fn argument(
    arguments: &[Arc<dyn PhysicalExpr>],
    place: usize,
    batch: &RecordBatch,
) -> Result<ArrayRef> {
    let argument = arguments.get(place).map(std::slice::from_ref);
    let values = argument.map(|argument| evaluate(argument, batch));
    let values = values.transpose()?.and_then(|mut values| values.pop());
    values.ok_or_else(|| bail_out("an argument that is missing"))
}

/// One column of its parts. Batches without rows are not made.
pub(super) fn joined(parts: Option<&Vec<ArrayRef>>) -> Result<Option<ArrayRef>> {
    let parts = parts.into_iter().flatten();
    let parts: Vec<_> = parts.map(AsRef::as_ref).collect();
    match parts[..] {
        [] => Ok(None),
        _ => Ok(Some(concat(&parts)?)),
    }
}
