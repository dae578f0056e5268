//! `BatchEvalPythonExec`, `ArrowEvalPythonExec`: columns that functions of Python compute in workers.
//!
//! Rows go out as they come in, in frames of arguments, and wait here until the results are there. The worker sets the
//! pace: a frame is made when it takes one.

mod aggregate;
mod arrow_result;
mod batches;
mod conversion;
mod dicts;
mod frames;
mod group_frames;
mod groups;
mod java_map;
mod made;
mod map;
mod message;
mod native;
mod native_groups;
mod native_rows;
mod objects;
mod pickle;
mod queue;
mod results;
mod schema;
mod stream;
mod unpickle;
mod windows;

#[cfg(fuzzing)]
pub(crate) mod fuzzing;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use catalyst::{
    ArrowSession, ArrowUdf, Attribute, DataType, Expr, ExprId, Inputs, Operator, PythonForm,
    PythonUdf,
};
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::stream::StreamExt as _;
use rows::error::bail_out;

pub(super) use self::aggregate::aggregate_python;
pub use self::arrow_result::ArrowResult;
pub(super) use self::groups::map_groups;
pub(super) use self::map::map_in_batch;
pub(super) use self::objects::pickled_scan;
pub use self::pickle::DataFramePickler;
pub(super) use self::windows::window_python;

use self::frames::{Frames, wait_for_next};
use self::native::{Candidates, NativeColumn};
use self::pickle::RowPickler;
use self::queue::RowQueue;
use self::stream::{ArrowDecoder, ArrowEncoder};
use super::exec::{OperatorExec, Start, batch_of, from_fn};
use super::expr::lower;
use super::lower::{Build, Demand, Lowered, Lowering, Result, needed};
use super::sources::{PythonCall, PythonCallee, PythonFrames, PythonRows, PythonTimes, Sources};

/// Names of the metrics of what goes to workers and comes from them, in bytes.
pub(super) const DATA_SENT: &str = "pythonDataSent";
pub(super) const DATA_RECEIVED: &str = "pythonDataReceived";

/// What is known of the operator when it is judged.
struct Plan {
    callees: Vec<PythonCallee>,
    job_artifact_uuid: Option<String>,
    /// What the functions are given, each value once.
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    /// Their types.
    argument_types: Vec<DataType>,
    format: Format,
    /// Types of the results.
    results: Vec<DataType>,
    /// Places of the columns that come out: of the input, or of results.
    output: Vec<Column>,
}

/// How rows are given to the functions.
enum Format {
    Pickled(RowPickler),
    Arrow {
        kind: ArrowUdf,
        /// Types of the arguments.
        types: Vec<DataType>,
        /// If the plan has it.
        session: Option<ArrowSession>,
    },
}

enum Column {
    Input(usize),
    Result(usize),
}

/// The operator: functions, their columns, and whose artifacts workers see.
#[derive(Clone, Copy)]
pub(super) struct Functions<'a> {
    pub(super) form: &'a PythonForm,
    pub(super) udfs: &'a [PythonUdf],
    pub(super) columns: &'a [Attribute],
    pub(super) job_artifact_uuid: Option<&'a str>,
}

/// Lowers functions of Python over an input.
pub(super) fn eval_python(
    lowering: &Lowering,
    functions: Functions<'_>,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let Functions { udfs, columns, .. } = functions;
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
        check(functions.form, &column.data_type)?;
        if is_needed(column) {
            output.push(Column::Result(place));
            attributes.push(column.clone());
        }
    }
    let types = arguments.iter().map(|value| value.data_type.clone());
    let argument_types: Vec<_> = types.collect();
    let plan = Arc::new(Plan {
        callees,
        job_artifact_uuid: functions.job_artifact_uuid.map(str::to_owned),
        format: Format::new(functions.form, argument_types.clone())?,
        argument_types,
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
    let name = match functions.form {
        PythonForm::Pickled { .. } => "BatchEvalPythonExec",
        PythonForm::Arrow { .. } => "ArrowEvalPythonExec",
    };
    let schema = rows::types::schema_of(&attributes)?;
    let build: Build = Box::new(move |task, inputs| {
        let input = child.build(task, inputs)?;
        let (plan, sources) = (Arc::clone(&plan), Arc::clone(&task.sources));
        let start = move |start: &Start<'_>| Ok(Evaluation::start(&plan, &sources, start)?.boxed());
        Ok(Arc::new(OperatorExec::new(
            name,
            vec![input],
            Arc::clone(&schema),
            Arc::new(start),
        )))
    });
    Lowered::new(attributes, build)
}

/// Fails for types whose results are not taken natively.
fn check(form: &PythonForm, of: &DataType) -> Result<()> {
    match form {
        PythonForm::Pickled { .. } => results::check(of),
        PythonForm::Arrow { .. } => conversion::type_for_python(of, &Arc::from("UTC")).map(drop),
    }
}

impl Format {
    fn new(form: &PythonForm, types: Vec<DataType>) -> Result<Self> {
        Ok(match form {
            PythonForm::Pickled { binary_as_bytes } => {
                Self::Pickled(RowPickler::new(types, *binary_as_bytes)?)
            }
            PythonForm::Arrow { kind, session } => {
                types.iter().try_for_each(|of| check(form, of))?;
                Self::Arrow {
                    kind: *kind,
                    types,
                    session: session.clone(),
                }
            }
        })
    }
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
    ready: RowQueue,
    /// For each of the results: whose it is.
    results: Vec<Whose>,
    worker: Worker,
    received: Count,
    baseline: BaselineMetrics,
}

/// Who computes a column of results.
enum Whose {
    /// A worker, as the column of this place.
    Worker(usize),
    /// A native function.
    Native(NativeColumn),
}

/// Who is given rows.
enum Worker {
    /// One of Python, with the types of its results.
    Python(PythonFrames, Decoder, Vec<DataType>),
    /// None: all functions are native.
    None(SendableRecordBatchStream),
}

/// What makes frames of the arguments of batches.
enum Encoder {
    Pickled {
        /// The arguments of a batch, and how many of its rows are in frames.
        open: Option<(Vec<ArrayRef>, usize, usize)>,
    },
    Arrow(Box<ArrowEncoder>),
}

/// What makes columns of frames of results.
enum Decoder {
    /// With the version of Java that would read them.
    Pickled(u32),
    Arrow(Box<ArrowDecoder>),
}

impl Decoder {
    /// Columns, how many rows they have, and bytes that they took, as Spark counts them.
    fn columns(
        &mut self,
        types: &[DataType],
        frame: Bytes,
    ) -> DataFusionResult<Option<stream::Results>> {
        match self {
            Self::Pickled(java_major) => {
                let (columns, rows) = results::columns(&frame, types, *java_major)?;
                Ok(Some((columns, rows, frame.len())))
            }
            Self::Arrow(decoder) => decoder.push(frame),
        }
    }
}

impl Plan {
    /// For a task: the call of these functions, and what makes its frames and reads those of results.
    fn call(
        &self,
        sources: &dyn Sources,
        (callees, results): (Vec<PythonCallee>, &[DataType]),
    ) -> DataFusionResult<(PythonCall, Encoder, Decoder)> {
        let call = |rows| PythonCall {
            callees,
            job_artifact_uuid: self.job_artifact_uuid.clone(),
            rows,
        };
        let Format::Arrow {
            kind,
            types,
            session,
        } = &self.format
        else {
            let open = Encoder::Pickled { open: None };
            let decoder = Decoder::Pickled(sources.java_major());
            return Ok((call(PythonRows::Pickled), open, decoder));
        };
        let session = match session {
            Some(session) => session.clone(),
            None => sources.arrow_session()?,
        };
        // Also for those that only come back: workers read times of no zone in that of the session.
        stream::zone_of(&session, results)?;
        let encoder = ArrowEncoder::new(*kind, types, &session)?;
        let decoder = ArrowDecoder::new(results)?;
        let rows = PythonRows::Arrow {
            eval_type: kind.eval_type(),
            settings: session.settings,
            schema: schema::json_of_row(types),
        };
        let (encoder, decoder) = (Box::new(encoder), Box::new(decoder));
        Ok((call(rows), Encoder::Arrow(encoder), Decoder::Arrow(decoder)))
    }
}

/// Batches in the order in which they came, and their memory.
#[derive(Clone)]
struct Waiting(Arc<Mutex<(VecDeque<RecordBatch>, MemoryReservation)>>);

impl Waiting {
    fn new(operator: &'static str, pool: &Arc<dyn MemoryPool>) -> Self {
        let memory = MemoryConsumer::new(operator).register(pool);
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
        let pool = Arc::clone(start.context.memory_pool());
        let waiting = Waiting::new("EvalPythonExec", &pool);
        let input = start.input(0)?;
        let sent = counter(DATA_SENT);
        let times = PythonTimes::new(counter);
        let (plan, sources) = (Arc::clone(plan), Arc::clone(sources));
        let (schema, received, baseline) = (
            Arc::clone(start.schema),
            counter(DATA_RECEIVED),
            start.baseline(),
        );
        let mut begin = Some((input, sent, times));
        let mut evaluation = None;
        Ok(from_fn(move || {
            // A worker is asked for when somebody asks for rows.
            if let Some((input, sent, times)) = begin.take() {
                let columns = Candidates {
                    callees: &plan.callees,
                    results: &plan.results,
                    arguments: &plan.argument_types,
                };
                let columns = columns.native(&*sources, &pool)?;
                let (results, callees, types) = shared(&plan, columns);
                let worker = match callees.is_empty() {
                    true => Worker::None(input),
                    false => {
                        let (call, encoder, decoder) = plan.call(&*sources, (callees, &types))?;
                        let frames = Frames::new(&plan, encoder, input, waiting.clone(), sent);
                        let frames = sources.python(&call, Box::new(frames), times)?;
                        Worker::Python(frames, decoder, types)
                    }
                };
                evaluation = Some(Self {
                    ready: RowQueue::new(worker.columns()),
                    results,
                    worker,
                    plan: Arc::clone(&plan),
                    schema: Arc::clone(&schema),
                    waiting: waiting.clone(),
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
            if first.is_some_and(|rows| rows <= self.ready.rows())
                && let Some(batch) = self.waiting.pop()
            {
                return self.joined(&batch).map(Some);
            }
            let (frames, decoder, types) = match &mut self.worker {
                Worker::Python(frames, decoder, types) => (frames, decoder, types),
                Worker::None(input) => match wait_for_next(input).transpose()? {
                    Some(batch) if batch.num_rows() == 0 => continue,
                    Some(batch) => return self.joined(&batch).map(Some),
                    None => return Ok(None),
                },
            };
            let Some(frame) = frames.next() else {
                // Of the last rows, too, which may have gone out just now.
                return match self.waiting.rows().is_none() && self.ready.rows() == 0 {
                    true => Ok(None),
                    false => Err(bail_out("another number of results of Python")),
                };
            };
            let results = decoder.columns(types, frame?)?;
            if let Some((columns, rows, bytes)) = results {
                self.received.add(bytes);
                let pushed = self.ready.push(columns, rows);
                pushed.ok_or_else(|| bail_out("another number of results of Python"))?;
            }
        }
    }

    /// The rows of a batch with their results, which are there.
    fn joined(&mut self, batch: &RecordBatch) -> DataFusionResult<RecordBatch> {
        self.baseline.record_output(batch.num_rows());
        let parts = match &self.worker {
            Worker::Python(..) => self.ready.take(batch.num_rows()),
            Worker::None(_) => Some(Vec::new()),
        };
        let parts = parts.ok_or_else(|| bail_out("another number of results of Python"))?;
        let mut columns = Vec::with_capacity(self.plan.output.len());
        for column in &self.plan.output {
            let column = match column {
                Column::Input(place) => batch.columns().get(*place).cloned(),
                Column::Result(place) => match self.results.get_mut(*place) {
                    Some(Whose::Native(native)) => {
                        Some(native.evaluate(&self.plan.arguments, batch)?)
                    }
                    Some(Whose::Worker(place)) => joined(parts.get(*place))?,
                    None => None,
                },
            };
            columns.push(column.ok_or_else(|| bail_out("columns that are missing"))?);
        }
        batch_of(&self.schema, columns, batch.num_rows())
    }
}

impl Worker {
    /// How many columns of results it gives.
    fn columns(&self) -> usize {
        match self {
            Self::Python(_, _, types) => types.len(),
            Self::None(_) => 0,
        }
    }
}

/// Whose each result is, and what is left to Python: functions, and the types of their results.
fn shared(
    plan: &Plan,
    columns: Vec<Option<NativeColumn>>,
) -> (Vec<Whose>, Vec<PythonCallee>, Vec<DataType>) {
    let (mut results, mut callees, mut types) = (Vec::new(), Vec::new(), Vec::new());
    let of = plan.callees.iter().zip(&plan.results);
    for ((callee, of), column) in of.zip(columns) {
        results.push(match column {
            Some(column) => Whose::Native(column),
            None => {
                callees.push(callee.clone());
                types.push(of.clone());
                Whose::Worker(types.len() - 1)
            }
        });
    }
    (results, callees, types)
}

/// One column of its parts. Batches without rows are not made.
fn joined(parts: Option<&Vec<ArrayRef>>) -> DataFusionResult<Option<ArrayRef>> {
    let parts = parts.into_iter().flatten();
    let parts: Vec<_> = parts.map(AsRef::as_ref).collect();
    match parts[..] {
        [] => Ok(None),
        _ => Ok(Some(concat(&parts)?)),
    }
}
