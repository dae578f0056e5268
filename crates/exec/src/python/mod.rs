//! `BatchEvalPythonExec`: columns that functions of Python compute in workers.
//!
//! Rows go out as they come in, in frames of pickled arguments, and wait here until the results are there. The worker
//! sets the pace: a frame is made when it takes one.

mod pickle;
mod results;
mod unpickle;

#[cfg(fuzzing)]
pub mod fuzzing;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::SchemaRef;
use catalyst::{Attribute, DataType, Expr, ExprId, Inputs, Operator, PythonUdf};
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::stream::StreamExt as _;
use rows::error::bail_out;

use self::pickle::RowPickler;
use super::exec::{OperatorExec, Start, batch_of, from_fn};
use super::expr::lower;
use super::lower::{Build, Demand, Lowered, Lowering, Result, needed};
use super::project::evaluate;
use super::sources::{PythonCall, PythonCallee, PythonFrames, PythonTimes, Sources};

/// Rows in a frame, as Spark groups them.
const ROWS_PER_FRAME: usize = 100;

/// Names of the metrics of what goes to workers and comes from them, in bytes.
pub(super) const DATA_SENT: &str = "pythonDataSent";
pub(super) const DATA_RECEIVED: &str = "pythonDataReceived";

/// What is known of the operator when it is judged.
struct Plan {
    call: PythonCall,
    /// What the functions are given, each value once.
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    pickler: RowPickler,
    /// Types of the results.
    results: Vec<DataType>,
    /// Places of the columns that come out: of the input, or of results.
    output: Vec<Column>,
}

enum Column {
    Input(usize),
    Result(usize),
}

/// The operator: functions, their columns, and whose artifacts workers see.
pub(super) type Functions<'a> = (&'a [PythonUdf], &'a [Attribute], Option<&'a str>);

/// Lowers functions of Python over an input.
pub(super) fn batch_eval_python(
    lowering: &Lowering,
    (udfs, columns, artifacts): Functions<'_>,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let is_needed = |column: &Attribute| demand.columns.is_none_or(|ids| ids.contains(&column.id));
    let all = udfs.iter().flat_map(|udf| &udf.arguments);
    let values = all.map(|argument| &argument.value);
    let own: HashSet<ExprId> = columns.iter().map(|column| column.id).collect();
    let above = demand.columns.map(|ids| ids - &own);
    let below = needed(demand.of(above.as_ref()), values);
    let child = lowering.operator(child, inputs, demand.of(below.as_ref()))?;
    let input = child.output()?.to_vec();
    let (callees, arguments) = arguments(udfs);
    let mut output = Vec::new();
    let mut attributes = Vec::new();
    for (place, column) in input
        .iter()
        .enumerate()
        .filter(|(_, column)| is_needed(column))
    {
        output.push(Column::Input(place));
        attributes.push(column.clone());
    }
    for (place, column) in columns.iter().enumerate() {
        results::check(&column.data_type)?;
        if is_needed(column) {
            output.push(Column::Result(place));
            attributes.push(column.clone());
        }
    }
    let types = arguments.iter().map(|value| value.data_type.clone());
    let plan = Arc::new(Plan {
        call: PythonCall {
            callees,
            job_artifact_uuid: artifacts.map(str::to_owned),
        },
        pickler: RowPickler::new(types.collect())?,
        arguments: arguments
            .into_iter()
            .map(|value| lower(value, &input))
            .collect::<Result<_>>()?,
        results: columns
            .iter()
            .map(|column| column.data_type.clone())
            .collect(),
        output,
    });
    let schema = rows::types::schema_of(&attributes)?;
    let build: Build = Box::new(move |task, inputs| {
        let input = child.build(task, inputs)?;
        let (plan, sources) = (Arc::clone(&plan), Arc::clone(&task.sources));
        let start = move |start: &Start<'_>| Ok(Evaluation::start(&plan, &sources, start)?.boxed());
        Ok(Arc::new(OperatorExec::new(
            "BatchEvalPythonExec",
            vec![input],
            Arc::clone(&schema),
            Arc::new(start),
        )))
    });
    Lowered::new(attributes, build)
}

/// Whether values of a type have no parts, and go both ways.
fn is_simple(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Null
            | DataType::Boolean
            | DataType::Byte
            | DataType::Short
            | DataType::Integer
            | DataType::Long
            | DataType::Float
            | DataType::Double
            | DataType::Decimal(_)
            | DataType::String
            | DataType::Date
            | DataType::Timestamp
            | DataType::TimestampNtz
    )
}

/// What is called, and the values that it is called with. A column is sent once.
fn arguments(udfs: &[PythonUdf]) -> (Vec<PythonCallee>, Vec<&Expr>) {
    let mut values: Vec<&Expr> = Vec::new();
    let callees = udfs.iter().map(|udf| {
        let arguments = udf.arguments.iter().map(|argument| {
            let is_column = argument.value.children().next().is_none();
            let same = |value: &&Expr| is_column && **value == argument.value;
            let place = values.iter().position(same).unwrap_or_else(|| {
                values.push(&argument.value);
                values.len() - 1
            });
            (place, argument.name.clone())
        });
        PythonCallee {
            functions: udf.functions.clone(),
            arguments: arguments.collect(),
            result_id: udf.result_id,
        }
    });
    (callees.collect(), values)
}

/// Rows on their way through a worker.
struct Evaluation {
    plan: Arc<Plan>,
    schema: SchemaRef,
    /// Batches of which frames were made, and whose results are not all there.
    waiting: Waiting,
    /// Results, until they are as many as the first of those batches has rows.
    ready: VecDeque<(Vec<ArrayRef>, usize)>,
    ready_rows: usize,
    frames: PythonFrames,
    received: Count,
    baseline: BaselineMetrics,
}

/// Batches in the order in which they came, and their memory.
#[derive(Clone)]
struct Waiting(Arc<Mutex<(VecDeque<RecordBatch>, MemoryReservation)>>);

impl Waiting {
    fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        let memory = MemoryConsumer::new("BatchEvalPythonExec").register(pool);
        Self(Arc::new(Mutex::new((VecDeque::new(), memory))))
    }

    fn with<T>(
        &self,
        act: impl FnOnce(&mut VecDeque<RecordBatch>, &mut MemoryReservation) -> T,
    ) -> T {
        // Nobody panics while it is locked.
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (batches, memory) = &mut *waiting;
        act(batches, memory)
    }

    /// Bail-out if there is no room for it: how many rows wait is up to the worker.
    fn push(&self, batch: RecordBatch) -> DataFusionResult<()> {
        self.with(|batches, memory| {
            memory.try_grow(batch.get_array_memory_size())?;
            batches.push_back(batch);
            Ok(())
        })
    }

    fn pop(&self) -> Option<RecordBatch> {
        self.with(|batches, memory| {
            let batch = batches.pop_front()?;
            memory.shrink(batch.get_array_memory_size());
            Some(batch)
        })
    }

    /// Rows of the first.
    fn rows(&self) -> Option<usize> {
        self.with(|batches, _| batches.front().map(RecordBatch::num_rows))
    }
}

impl Evaluation {
    fn start(
        plan: &Arc<Plan>,
        sources: &Arc<dyn Sources>,
        start: &Start<'_>,
    ) -> DataFusionResult<impl futures::Stream<Item = DataFusionResult<RecordBatch>> + Send + 'static>
    {
        let counter = |name| MetricBuilder::new(start.metrics).counter(name, 0);
        let waiting = Waiting::new(start.context.memory_pool());
        let frames = Frames {
            plan: Arc::clone(plan),
            input: Some(start.input(0)?),
            waiting: waiting.clone(),
            open: None,
            sent: counter(DATA_SENT),
        };
        let times = PythonTimes::new(counter);
        let (plan, sources) = (Arc::clone(plan), Arc::clone(sources));
        let (schema, received, baseline) = (
            Arc::clone(start.schema),
            counter(DATA_RECEIVED),
            start.baseline(),
        );
        let mut begin = Some((frames, times));
        let mut evaluation = None;
        Ok(from_fn(move || {
            // A worker is asked for when somebody asks for rows.
            if let Some((frames, times)) = begin.take() {
                evaluation = Some(Self {
                    frames: sources.python(&plan.call, Box::new(frames), times)?,
                    plan: Arc::clone(&plan),
                    schema: Arc::clone(&schema),
                    waiting: waiting.clone(),
                    ready: VecDeque::new(),
                    ready_rows: 0,
                    received: received.clone(),
                    baseline: baseline.clone(),
                });
            }
            evaluation.as_mut().map_or(Ok(None), Self::next)
        }))
    }

    fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        loop {
            let first = self.waiting.rows();
            if first.is_some_and(|rows| rows <= self.ready_rows)
                && let Some(batch) = self.waiting.pop()
            {
                self.baseline.record_output(batch.num_rows());
                return self.joined(&batch).map(Some);
            }
            let Some(frame) = self.frames.next() else {
                // Of the last rows, too, which may have gone out just now.
                return match self.waiting.rows().is_none() && self.ready_rows == 0 {
                    true => Ok(None),
                    false => Err(bail_out("another number of results of Python")),
                };
            };
            let frame = frame?;
            self.received.add(frame.len());
            let (columns, rows) = results::columns(&frame, &self.plan.results)?;
            self.ready.push_back((columns, rows));
            self.ready_rows += rows;
        }
    }

    /// The rows of a batch with their results, which are there.
    fn joined(&mut self, batch: &RecordBatch) -> DataFusionResult<RecordBatch> {
        let mut missing = batch.num_rows();
        self.ready_rows -= missing;
        let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.plan.results.len()];
        while missing > 0 {
            let Some((columns, rows)) = self.ready.front_mut() else {
                return Err(bail_out("another number of results of Python"));
            };
            let count = missing.min(*rows);
            for (part, column) in parts.iter_mut().zip(columns.iter_mut()) {
                part.push(column.slice(0, count));
                *column = column.slice(count, *rows - count);
            }
            *rows -= count;
            missing -= count;
            if *rows == 0 {
                self.ready.pop_front();
            }
        }
        let columns = self.plan.output.iter().map(|column| match column {
            Column::Input(place) => Ok(batch.columns().get(*place).cloned()),
            Column::Result(place) => {
                let parts = parts.get(*place).into_iter().flatten();
                let parts: Vec<_> = parts.map(AsRef::as_ref).collect();
                // Batches without rows are not made.
                match parts[..] {
                    [] => Ok(None),
                    _ => Ok(Some(concat(&parts)?)),
                }
            }
        });
        let columns = columns.collect::<DataFusionResult<Option<Vec<_>>>>()?;
        let columns = columns.ok_or_else(|| bail_out("columns that are missing"))?;
        batch_of(&self.schema, columns, batch.num_rows())
    }
}

/// Frames of arguments, made when they are asked for.
struct Frames {
    plan: Arc<Plan>,
    input: Option<SendableRecordBatchStream>,
    waiting: Waiting,
    /// The arguments of a batch, and how many of its rows are in frames.
    open: Option<(Vec<ArrayRef>, usize, usize)>,
    sent: Count,
}

impl Frames {
    fn frame(&mut self) -> DataFusionResult<Option<Vec<u8>>> {
        loop {
            if let Some((arguments, rows, done)) = &mut self.open
                && *done < *rows
            {
                let end = rows.min(&mut (*done + ROWS_PER_FRAME)).to_owned();
                let columns = self.plan.pickler.columns(arguments);
                let columns = columns.ok_or_else(|| bail_out("arguments of another type"))?;
                let frame = self.plan.pickler.frame(&columns, *done..end);
                *done = end;
                self.sent.add(frame.len());
                return Ok(Some(frame));
            }
            self.open = None;
            let Some(input) = &mut self.input else {
                return Ok(None);
            };
            let Some(batch) = wait_for_next(input).transpose()? else {
                self.input = None;
                return Ok(None);
            };
            if batch.num_rows() > 0 {
                let arguments = evaluate(&self.plan.arguments, &batch)?;
                self.open = Some((arguments, batch.num_rows(), 0));
                self.waiting.push(batch)?;
            }
        }
    }
}

impl Iterator for Frames {
    type Item = DataFusionResult<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.frame().transpose()
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The next batch of an input, for who cannot give its thread away meanwhile. An executor of futures cannot be entered
/// twice, so this is none.
fn wait_for_next(input: &mut SendableRecordBatchStream) -> Option<DataFusionResult<RecordBatch>> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match input.poll_next_unpin(&mut context) {
            Poll::Ready(next) => return next,
            Poll::Pending => std::thread::park(),
        }
    }
}
