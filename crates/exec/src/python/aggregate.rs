//! `AggregateInPandasExec`, `ArrowAggregatePythonExec`: values that functions of Python compute of rows of the same
//! keys. A row comes out for each group, of its keys and its results.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::{Field, Schema, SchemaRef};
use catalyst::{AggregatePython, Attribute, DataType, Expr, Inputs, Operator};
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::memory_pool::MemoryConsumer;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::stream::StreamExt as _;
use rows::error::bail_out;

use super::batches::BatchWriter;
use super::conversion::type_for_python;
use super::group_frames::{Beginnings, Form, GroupFrames, Side};
use super::native_groups::{GroupFunctions, GroupInput, NativeGroups};
use super::queue::RowQueue;
use super::stream::ArrowDecoder;
use super::{DATA_RECEIVED, DATA_SENT};
use crate::exec::{OperatorExec, Start, batch_of, from_fn};
use crate::expr::lower;
use crate::groups::GroupKeys;
use crate::lower::{Build, Demand, Lowered, Lowering, Result, needed};
use crate::project::evaluate;
use crate::sources::{PythonCall, PythonCallee, PythonFrames, PythonRows, PythonTimes, Sources};

/// Groups of which a batch comes out, if there are so many.
const GROUPS_PER_BATCH: usize = 1024;

/// What is known of the operator when it is judged.
struct Plan {
    aggregate: AggregatePython,
    keys: Arc<GroupKeys>,
    given: Arc<[Arc<dyn PhysicalExpr>]>,
    /// Of what is given.
    schema: Schema,
    /// Types of the results.
    results: Vec<DataType>,
    /// Values of groups, and results behind them.
    joined: SchemaRef,
    /// What comes out of these.
    output: Vec<Arc<dyn PhysicalExpr>>,
}

/// Lowers functions of Python of groups of the rows of an input.
pub(in super::super) fn aggregate_python(
    lowering: &Lowering,
    aggregate: &AggregatePython,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let below = aggregate.grouping.iter().chain(&aggregate.given);
    let none = Demand {
        columns: Some(&std::collections::HashSet::new()),
        ordered: false,
    };
    let below = needed(none, below);
    // Functions see the order of rows.
    let below = Demand {
        columns: below.as_ref(),
        ordered: true,
    };
    let child = lowering.operator(child, inputs, below)?;
    let is_needed = |expr: &&Expr| {
        let column = expr.to_attribute();
        column.is_none_or(|column| demand.columns.is_none_or(|ids| ids.contains(&column.id)))
    };
    let result: Vec<&Expr> = aggregate.result.iter().filter(is_needed).collect();
    let attributes = result.iter().filter_map(|expr| expr.to_attribute());
    let attributes: Vec<Attribute> = attributes.collect();
    let plan = Arc::new(Plan::new(aggregate, child.output()?, &result)?);
    let schema = rows::types::schema_of(&attributes)?;
    let build: Build = Box::new(move |task, inputs| {
        let input = child.build(task, inputs)?;
        let (plan, sources) = (Arc::clone(&plan), Arc::clone(&task.sources));
        let start =
            move |start: &Start<'_>| Ok(Aggregation::start(&plan, &sources, start)?.boxed());
        Ok(Arc::new(OperatorExec::new(
            "AggregatePythonExec",
            vec![input],
            Arc::clone(&schema),
            Arc::new(start),
        )))
    });
    Lowered::new(attributes, build)
}

impl Plan {
    fn new(aggregate: &AggregatePython, input: &[Attribute], result: &[&Expr]) -> Result<Self> {
        let zone = Arc::from(aggregate.time_zone.as_str());
        let given = aggregate.given.iter().map(|expr| lower(expr, input));
        let fields = aggregate.given.iter().enumerate().map(|(place, of)| {
            let of = type_for_python(&of.data_type, &zone)?;
            Ok(Field::new(format!("_{place}"), of, true))
        });
        let columns = aggregate.functions.iter().map(|function| &function.column);
        let results: Vec<_> = columns.clone().map(|of| of.data_type.clone()).collect();
        for of in &results {
            type_for_python(of, &zone)?;
        }
        let keys = aggregate.grouping.iter().map(|key| {
            let column = key.to_attribute();
            column.ok_or_else(|| catalyst::Unsupported::of_use("a group without a name"))
        });
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let joined: Vec<Attribute> = keys.into_iter().chain(columns.cloned()).collect();
        let output = result.iter().map(|expr| lower(expr, &joined));
        Ok(Self {
            keys: Arc::new(GroupKeys::new(aggregate.grouping.iter().cloned(), input)?),
            given: given.collect::<Result<_>>()?,
            schema: Schema::new(fields.collect::<Result<Vec<_>>>()?),
            results,
            output: output.collect::<Result<_>>()?,
            joined: rows::types::schema_of(&joined)?,
            aggregate: aggregate.clone(),
        })
    }

    /// A worker for the groups of an input; `None` if there are no rows.
    fn worker(
        &self,
        sources: &dyn Sources,
        side: Side,
        (sent, times): (Count, PythonTimes),
    ) -> DataFusionResult<Option<Groups>> {
        let divides = !self.aggregate.kind.sees_batches();
        let form = Form::of(1, self.aggregate.in_batches, sources)?;
        let mut frames = GroupFrames::new(vec![side], form, divides, sent);
        if !frames.has_rows()? {
            return Ok(None);
        }
        let frames = sources.python(&self.call(), Box::new(frames), times)?;
        let decoder = ArrowDecoder::new(&self.results)?;
        Ok(Some(Groups::Worker(frames, Box::new(decoder))))
    }

    fn call(&self) -> PythonCall {
        let aggregate = &self.aggregate;
        let callees = aggregate.functions.iter().map(|function| PythonCallee {
            functions: function.functions.clone(),
            arguments: function.arguments.clone(),
            result_id: function.result_id,
        });
        PythonCall {
            callees: callees.collect(),
            job_artifact_uuid: aggregate.job_artifact_uuid.clone(),
            table: None,
            rows: PythonRows::without_types(aggregate.kind.eval_type(), aggregate.settings.clone()),
        }
    }
}

/// Results on their way out of a worker.
struct Aggregation {
    plan: Arc<Plan>,
    schema: SchemaRef,
    groups: Groups,
    /// Of the groups whose results did not go out.
    beginnings: Beginnings,
    /// Results that did not go out.
    ready: RowQueue,
    received: Count,
    baseline: BaselineMetrics,
}

/// Who computes results of groups.
enum Groups {
    /// A worker.
    Worker(PythonFrames, Box<ArrowDecoder>),
    /// Native functions.
    Native(NativeGroups),
}

impl Aggregation {
    fn start(
        plan: &Arc<Plan>,
        sources: &Arc<dyn Sources>,
        start: &Start<'_>,
    ) -> DataFusionResult<impl futures::Stream<Item = DataFusionResult<RecordBatch>> + Send + use<>>
    {
        let counter = |name| MetricBuilder::new(start.metrics).counter(name, 0);
        let beginnings = Beginnings::new(Arc::clone(plan.keys.values()));
        let pool = Arc::clone(start.context.memory_pool());
        let input = start.input(0)?;
        let (sent, times) = (counter(DATA_SENT), PythonTimes::new(counter));
        let (plan, sources) = (Arc::clone(plan), Arc::clone(sources));
        let (schema, received, baseline) = (
            Arc::clone(start.schema),
            counter(DATA_RECEIVED),
            start.baseline(),
        );
        let mut begin = Some((input, sent, times));
        let mut aggregation = None;
        Ok(from_fn(move || {
            if let Some((input, sent, times)) = begin.take() {
                let groups = match GroupFunctions::of(&plan.aggregate, &*sources, &pool)? {
                    Some(functions) => Some(Groups::Native(functions.over(GroupInput {
                        input,
                        keys: Arc::clone(&plan.keys),
                        given: Arc::clone(&plan.given),
                        beginnings: beginnings.clone(),
                    }))),
                    None => {
                        let memory = MemoryConsumer::new("AggregatePythonExec").register(&pool);
                        let writer = BatchWriter::new(plan.schema.clone(), None)?;
                        let (keys, given) = (Arc::clone(&plan.keys), Arc::clone(&plan.given));
                        let side = Side::new(input, keys, given, writer, memory);
                        let side = side.with_beginnings(beginnings.clone());
                        plan.worker(&*sources, side, (sent, times))?
                    }
                };
                let Some(groups) = groups else {
                    return Ok(None);
                };
                aggregation = Some(Self {
                    groups,
                    beginnings: beginnings.clone(),
                    ready: RowQueue::new(plan.results.len()),
                    plan: Arc::clone(&plan),
                    schema: Arc::clone(&schema),
                    received: received.clone(),
                    baseline: baseline.clone(),
                });
            }
            aggregation.as_mut().map_or(Ok(None), Self::next)
        }))
    }

    /// Takes results of more groups; whether there are any.
    fn fill(&mut self) -> DataFusionResult<bool> {
        let (columns, rows) = match &mut self.groups {
            Groups::Native(groups) => match groups.next()? {
                Some(results) => results,
                None => return Ok(false),
            },
            Groups::Worker(frames, decoder) => {
                let Some(frame) = frames.next() else {
                    return Ok(false);
                };
                let Some((columns, rows, bytes)) = decoder.push(frame?)? else {
                    return Ok(true);
                };
                self.received.add(bytes);
                // Spark takes the first row of each batch.
                if rows == 0 {
                    return Err(other());
                }
                let columns = columns.iter().map(|column| column.slice(0, 1));
                (columns.collect(), 1)
            }
        };
        self.ready.push(columns, rows).ok_or_else(other)?;
        Ok(true)
    }

    fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        while self.ready.rows() < GROUPS_PER_BATCH && self.fill()? {}
        let rows = self.ready.rows();
        if rows == 0 {
            // All groups were answered.
            return match self.beginnings.count() {
                0 => Ok(None),
                _ => Err(other()),
            };
        }
        let keys = self.beginnings.take(rows).ok_or_else(other)?;
        let results = self.ready.take(rows).ok_or_else(other)?;
        let columns = keys.iter().chain(&results).map(|parts| joined(parts));
        let columns = columns.collect::<DataFusionResult<Vec<_>>>()?;
        let batch = batch_of(&self.plan.joined, columns, rows)?;
        self.baseline.record_output(rows);
        let output = evaluate(&self.plan.output, &batch)?;
        batch_of(&self.schema, output, rows).map(Some)
    }
}

fn other() -> DataFusionError {
    bail_out("another number of results of Python")
}

/// One column of its parts, of which there is at least one.
fn joined(parts: &[ArrayRef]) -> DataFusionResult<ArrayRef> {
    let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
    Ok(concat(&parts)?)
}
