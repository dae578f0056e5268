//! `WindowInPandasExec`, `ArrowWindowPythonExec`: values that functions of Python compute of the rows of frames. Each
//! partition goes to a worker as a group, with bounds of the frames of its rows; its rows wait here for their results.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use catalyst::{
    Attribute, DataType, Expr, ExprId, Frame, FrameFunction, Inputs, Operator, WindowPython,
};
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::memory_pool::MemoryConsumer;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::stream::StreamExt as _;
use rows::error::bail_out;

use super::batches::BatchWriter;
use super::conversion::type_for_python;
use super::evaluation::joined;
use super::group_frames::{Form, GroupFrames, Side};
use super::queue::RowQueue;
use super::stream::{ArrowDecoder, zone_of};
use super::waiting::Waiting;
use super::{Column, DATA_RECEIVED, DATA_SENT};
use crate::exec::{OperatorExec, Start, batch_of, from_fn};
use crate::expr::lower;
use crate::groups::GroupKeys;
use crate::lower::{Build, Demand, Lowered, Lowering, Result, needed};
use crate::sources::{PythonCall, PythonCallee, PythonFrames, PythonRows, PythonTimes, Sources};
use crate::window::with_bounds;

const NAME: &str = "WindowPythonExec";

/// What is known of the operator when it is judged.
struct Plan {
    window: WindowPython,
    callees: Vec<PythonCallee>,
    /// What workers are told of the frame of each function.
    bound_types: String,
    keys: Arc<GroupKeys>,
    /// What functions are given of each row: bounds, and values, each once.
    given: Arc<[Arc<dyn PhysicalExpr>]>,
    given_types: Vec<DataType>,
    /// Types of the results, in the order of the callees.
    results: Vec<DataType>,
    /// Places of the columns that come out: of the input, or of results.
    output: Vec<Column>,
}

/// Lowers functions of Python of the windows of an input.
pub(in super::super) fn window_python(
    lowering: &Lowering,
    window: &WindowPython,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let is_needed = |column: &Attribute| demand.columns.is_none_or(|ids| ids.contains(&column.id));
    let own: HashSet<ExprId> = window.functions.iter().map(|of| of.output.id).collect();
    let above = demand.columns.map(|ids| ids - &own);
    let arguments = window.functions.iter().flat_map(|of| &of.udf.arguments);
    let keys = window.order.iter().map(|by| &by.child);
    let values = arguments.map(|argument| &argument.value);
    let values = values.chain(&window.partition).chain(keys);
    // Functions see the order of rows.
    let below = Demand {
        columns: above.as_ref(),
        ordered: true,
    };
    let below = needed(below, values);
    let frames = frames(&window.functions);
    let operator = (&frames[..], &window.partition[..], &window.order[..], child);
    let (rows, bounds) = with_bounds(lowering, operator, inputs, below.as_ref())?;
    let input = rows.output()?.to_vec();
    let (mut output, mut attributes) = (Vec::new(), Vec::new());
    for (place, column) in input.iter().enumerate() {
        let is_bound = bounds.iter().flatten().flatten().any(|of| of == column);
        if is_needed(column) && !is_bound {
            output.push(Column::Input(place));
            attributes.push(column.clone());
        }
    }
    let called = in_frames(&window.functions, &frames);
    for function in &window.functions {
        if is_needed(&function.output) {
            let of = called
                .iter()
                .position(|(of, _)| of.output.id == function.output.id);
            // All are called.
            output.extend(of.map(Column::Result));
            attributes.push(function.output.clone());
        }
    }
    let plan = Arc::new(Plan::new(window, &called, &bounds, &input, output)?);
    let schema = rows::types::schema_of(&attributes)?;
    let build: Build = Box::new(move |task, inputs| {
        let input = rows.build(task, inputs)?;
        let (plan, sources) = (Arc::clone(&plan), Arc::clone(&task.sources));
        let start = move |start: &Start<'_>| Ok(Windows::start(&plan, &sources, start)?.boxed());
        let (inputs, schema) = (vec![input], Arc::clone(&schema));
        Ok(Arc::new(OperatorExec::new(
            NAME,
            inputs,
            schema,
            Arc::new(start),
        )))
    });
    Lowered::new(attributes, build)
}

/// The frames of functions, each once.
fn frames(functions: &[FrameFunction]) -> Vec<&Frame> {
    let mut frames: Vec<&Frame> = Vec::new();
    for function in functions {
        if !frames.contains(&&function.frame) {
            frames.push(&function.frame);
        }
    }
    frames
}

/// Functions in the order in which they are called, with the places of their frames: those of the same frame together.
/// In which order Spark has frames depends on hashes.
fn in_frames<'f>(
    functions: &'f [FrameFunction],
    frames: &[&Frame],
) -> Vec<(&'f FrameFunction, usize)> {
    let frames = frames.iter().enumerate();
    let called = frames.flat_map(|(place, frame)| {
        let of_frame = functions.iter().filter(|of| of.frame == **frame);
        of_frame.map(move |of| (of, place))
    });
    called.collect()
}

impl Plan {
    fn new(
        window: &WindowPython,
        called: &[(&FrameFunction, usize)],
        bounds: &[Option<[Attribute; 2]>],
        input: &[Attribute],
        output: Vec<Column>,
    ) -> Result<Self> {
        let of_bounds = bounds.iter().flatten().flatten().cloned();
        let mut given: Vec<Expr> = of_bounds.map(Expr::attribute).collect();
        let mut place_of = |value: &Expr| match given.iter().position(|of| of == value) {
            Some(place) => place,
            None => {
                given.push(value.clone());
                given.len() - 1
            }
        };
        let (mut callees, mut bound_types) = (Vec::new(), Vec::new());
        for (function, frame) in called {
            let bounds = bounds.get(*frame).into_iter().flatten().flatten();
            let bounds = bounds.map(|of| (place_of(&Expr::attribute(of.clone())), None));
            let mut arguments: Vec<_> = bounds.collect();
            bound_types.push(match arguments.is_empty() {
                true => "unbounded",
                false => "bounded",
            });
            let own = function.udf.arguments.iter();
            arguments.extend(own.map(|of| (place_of(&of.value), of.name.clone())));
            callees.push(PythonCallee {
                functions: function.udf.functions.clone(),
                arguments,
                result_id: function.udf.result_id,
            });
        }
        let results = called.iter().map(|(of, _)| of.udf.data_type.clone());
        let results: Vec<DataType> = results.collect();
        let given_types = given.iter().map(|of| of.data_type.clone());
        let given_types: Vec<DataType> = given_types.collect();
        for of in given_types.iter().chain(&results) {
            type_for_python(of, &Arc::from("UTC"))?;
        }
        let lowered = given.iter().map(|of| lower(of, input));
        Ok(Self {
            window: window.clone(),
            callees,
            bound_types: bound_types.join(","),
            keys: Arc::new(GroupKeys::new(window.partition.iter().cloned(), input)?),
            given: lowered.collect::<Result<_>>()?,
            given_types,
            results,
            output,
        })
    }

    /// For a task: what writes what functions are given, and the call.
    fn call(&self, sources: &dyn Sources) -> DataFusionResult<(BatchWriter, PythonCall)> {
        let session = match &self.window.session {
            Some(session) => session.clone(),
            None => sources.arrow_session()?,
        };
        let seen: Vec<_> = self
            .given_types
            .iter()
            .chain(&self.results)
            .cloned()
            .collect();
        let zone = zone_of(&session, &seen)?;
        let fields = self.given_types.iter().enumerate().map(|(place, of)| {
            let of = type_for_python(of, &zone).map_err(|why| bail_out(why.to_string()))?;
            Ok(Field::new(format!("_{place}"), of, true))
        });
        let fields = fields.collect::<DataFusionResult<Vec<_>>>()?;
        let writer = BatchWriter::new(Schema::new(fields), None)?;
        let mut settings = session.settings;
        settings.retain(|(key, _)| key != self.window.bound_types);
        settings.push((self.window.bound_types.to_owned(), self.bound_types.clone()));
        let call = PythonCall {
            callees: self.callees.clone(),
            job_artifact_uuid: self.window.job_artifact_uuid.clone(),
            table: None,
            rows: PythonRows::without_types(self.window.kind.eval_type(), settings),
        };
        Ok((writer, call))
    }
}

/// Rows on their way past a worker.
struct Windows {
    plan: Arc<Plan>,
    schema: SchemaRef,
    frames: PythonFrames,
    decoder: ArrowDecoder,
    /// Batches whose results are not all there.
    waiting: Waiting,
    /// Results, until they are as many as the first of those batches has rows.
    results: RowQueue,
    /// What goes out next: batches wait in whole partitions, which may be long.
    ready: VecDeque<RecordBatch>,
    batch_size: usize,
    received: Count,
    baseline: BaselineMetrics,
}

impl Windows {
    fn start(
        plan: &Arc<Plan>,
        sources: &Arc<dyn Sources>,
        start: &Start<'_>,
    ) -> DataFusionResult<impl futures::Stream<Item = DataFusionResult<RecordBatch>> + Send + use<>>
    {
        let counter = |name| MetricBuilder::new(start.metrics).counter(name, 0);
        let pool = Arc::clone(start.context.memory_pool());
        let waiting = Waiting::new(NAME, &pool);
        let memory = MemoryConsumer::new(NAME).register(&pool);
        let (input, sent) = (start.input(0)?, counter(DATA_SENT));
        let times = PythonTimes::new(counter);
        let (plan, sources) = (Arc::clone(plan), Arc::clone(sources));
        let (schema, batch_size) = (Arc::clone(start.schema), start.batch_size());
        let (received, baseline) = (counter(DATA_RECEIVED), start.baseline());
        let mut begin = Some((input, memory, times));
        let mut windows = None;
        Ok(from_fn(move || {
            // A worker is asked for when somebody asks for rows.
            if let Some((input, memory, times)) = begin.take() {
                let (writer, call) = plan.call(&*sources)?;
                let (keys, given) = (Arc::clone(&plan.keys), Arc::clone(&plan.given));
                let side = Side::new(input, keys, given, writer, memory);
                let side = side.with_kept(waiting.clone());
                let form = Form::of(1, plan.window.in_batches, &*sources)?;
                let mut frames = GroupFrames::new(vec![side], form, true, sent.clone());
                if !frames.has_rows()? {
                    return Ok(None);
                }
                windows = Some(Self {
                    frames: sources.python(&call, Box::new(frames), times)?,
                    decoder: ArrowDecoder::new(&plan.results)?,
                    results: RowQueue::new(plan.results.len()),
                    plan: Arc::clone(&plan),
                    schema: Arc::clone(&schema),
                    waiting: waiting.clone(),
                    ready: VecDeque::new(),
                    batch_size,
                    received: received.clone(),
                    baseline: baseline.clone(),
                });
            }
            windows.as_mut().map_or(Ok(None), Self::next)
        }))
    }

    fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                self.baseline.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            let first = self.waiting.rows();
            if first.is_some_and(|rows| rows <= self.results.rows())
                && let Some(batch) = self.waiting.pop()
            {
                self.join(&batch)?;
                continue;
            }
            let Some(frame) = self.frames.next() else {
                // Of the last rows, too, which may have gone out just now.
                return match self.waiting.rows().is_none() && self.results.rows() == 0 {
                    true => Ok(None),
                    false => Err(other()),
                };
            };
            if let Some((columns, rows, bytes)) = self.decoder.push(frame?)? {
                self.received.add(bytes);
                self.results.push(columns, rows).ok_or_else(other)?;
            }
        }
    }

    /// Joins results, which are there, to the rows of a batch.
    fn join(&mut self, batch: &RecordBatch) -> DataFusionResult<()> {
        let rows = batch.num_rows();
        let parts = self.results.take(rows).ok_or_else(other)?;
        let columns = self.plan.output.iter().map(|column| {
            let column = match column {
                Column::Input(place) => batch.columns().get(*place).cloned(),
                Column::Result(place) => joined(parts.get(*place))?,
            };
            column.ok_or_else(|| bail_out("columns that are missing"))
        });
        let columns = columns.collect::<DataFusionResult<Vec<ArrayRef>>>()?;
        let batch = batch_of(&self.schema, columns, rows)?;
        for start in (0..rows).step_by(self.batch_size) {
            let part = batch.slice(start, self.batch_size.min(rows - start));
            self.ready.push_back(part);
        }
        Ok(())
    }
}

fn other() -> DataFusionError {
    bail_out("another number of results of Python")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "windows_tests.rs"]
mod tests;
