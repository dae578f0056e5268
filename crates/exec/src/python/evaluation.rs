//! Rows, and the values of functions for them: of a worker, of shared libraries, of functions that are simple.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, Stream};
use rows::error::bail_out;

use super::call::{Decoder, WorkerCall};
use super::frames::{Frames, wait_for_next};
use super::native::{Candidates, NativeColumn};
use super::queue::RowQueue;
use super::simple::SimpleColumn;
use super::waiting::Waiting;
use super::{Column, DATA_RECEIVED, DATA_SENT, Plan};
use crate::exec::{Start, batch_of, from_fn};
use crate::sources::{PythonFrames, PythonTimes, Sources};

/// Rows on their way through functions.
pub(super) struct Evaluation {
    task: Task,
    schema: SchemaRef,
    /// Batches of which frames were made, and whose results are not all there.
    waiting: Waiting,
    /// Results, until they are as many as the first of those batches has rows.
    ready: RowQueue,
    /// For each of the results: whose it is.
    results: Vec<Whose>,
    worker: Worker,
    baseline: BaselineMetrics,
}

/// What workers are called with.
#[derive(Clone)]
struct Task {
    plan: Arc<Plan>,
    sources: Arc<dyn Sources>,
    /// For batches that wait.
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
    /// This process, and a worker for batches that it cannot.
    Simple(SimpleColumn),
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
        let frames = Frames::new(&call, encoder, input, waiting, self.sent.clone());
        let frames = self
            .sources
            .python(&python, Box::new(frames), self.times.clone())?;
        Ok(Called {
            call,
            frames,
            decoder,
        })
    }

    /// The results of a function for a batch, of a worker that is called for it alone.
    fn of_python(&self, place: usize, batch: &RecordBatch) -> Result<ArrayRef> {
        let only = stream::iter([Ok(batch.clone())]);
        let input = Box::pin(RecordBatchStreamAdapter::new(batch.schema(), only));
        let waiting = self.waiting.another();
        let mut called = self.call(&[place], input, waiting)?;
        let mut parts = Vec::new();
        while let Some(results) = called.next(&self.received)? {
            parts.extend(results.0);
        }
        match joined(Some(&parts))? {
            Some(column) if column.len() == batch.num_rows() => Ok(column),
            _ => Err(other_number()),
        }
    }
}

impl Called {
    /// The next results; `None` after the last.
    fn next(&mut self, received: &Count) -> Result<Option<Results>> {
        while let Some(frame) = self.frames.next() {
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
                let (results, left) = shared(&task, native)?;
                let worker = match left.is_empty() {
                    true => Worker::None(input),
                    false => Worker::Python(task.call(&left, input, task.waiting.clone())?),
                };
                evaluation = Some(Self {
                    ready: RowQueue::new(left.len()),
                    results,
                    worker,
                    waiting: task.waiting.clone(),
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
            let first = self.waiting.rows();
            if first.is_some_and(|rows| rows <= self.ready.rows())
                && let Some(batch) = self.waiting.pop()
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
                return match self.waiting.rows().is_none() && self.ready.rows() == 0 {
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
        let plan = Arc::clone(&self.task.plan);
        let mut columns = Vec::with_capacity(plan.output.len());
        for column in &plan.output {
            let column = match column {
                Column::Input(place) => batch.columns().get(*place).cloned(),
                Column::Result(place) => self.result(*place, &parts, batch)?,
            };
            columns.push(column.ok_or_else(|| bail_out("columns that are missing"))?);
        }
        batch_of(&self.schema, columns, batch.num_rows())
    }

    /// A column of results for a batch.
    fn result(
        &mut self,
        place: usize,
        parts: &[Vec<ArrayRef>],
        batch: &RecordBatch,
    ) -> Result<Option<ArrayRef>> {
        let arguments = &self.task.plan.arguments;
        match self.results.get_mut(place) {
            Some(Whose::Native(native)) => native.evaluate(arguments, batch).map(Some),
            Some(Whose::Simple(simple)) => match simple.evaluate(arguments, batch)? {
                Some(column) => Ok(Some(column)),
                None => self.task.of_python(place, batch).map(Some),
            },
            Some(Whose::Worker(place)) => joined(parts.get(*place)),
            None => Ok(None),
        }
    }
}

/// Whose each result is, and the places of the functions that are left to a worker.
fn shared(task: &Task, native: Vec<Option<NativeColumn>>) -> Result<(Vec<Whose>, Vec<usize>)> {
    let open: Vec<_> = (0..native.len())
        .filter(|place| native.get(*place).is_some_and(Option::is_none))
        .collect();
    let mut simple = SimpleColumn::of(&task.plan, &open, &*task.sources)?.into_iter();
    let (mut results, mut left) = (Vec::new(), Vec::new());
    for (place, column) in native.into_iter().enumerate() {
        results.push(match column {
            Some(column) => Whose::Native(column),
            None => match simple.next().flatten() {
                Some(column) => Whose::Simple(column),
                None => {
                    left.push(place);
                    Whose::Worker(left.len() - 1)
                }
            },
        });
    }
    Ok((results, left))
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
