//! Operators on objects of users' classes, which run in the JVM beside the task: rows of their inputs go there as they
//! are wanted, and rows that are made come back a batch at a time.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use catalyst::{
    Attribute, DataType, ExprId, Inputs, LeafInput, Objects, ObjectsAnswer, ObjectsCall,
    ObjectsInput, Operator, ScanCall, TaskInputs, Unsupported,
};
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::stream::{self, StreamExt as _};
use rows::error::bail_out;
use rows::types::schema_of;
use rows::{RowDecoder, RowEncoder};

use super::exec::{Batches, OperatorExec, Start, batch_of};
use super::jvm_calls::message;
use super::lower::{Build, Demand, Lowered, Lowering, Result, built, inputs_of, leaf_input};
use super::sources::Sources;
use super::type_json::json_of_row;

/// What is known of the operators when they are judged.
struct Plan {
    objects: Arc<Objects>,
    /// Places of the columns that they are given, in those of the inputs.
    given: Vec<Vec<usize>>,
    /// Places of the input's columns that come out.
    kept: Vec<usize>,
    /// Types of the columns that are made.
    types: Vec<DataType>,
    /// Places of those that come out.
    made: Vec<usize>,
}

/// Lowers operators on objects.
pub(super) fn objects(
    lowering: &Lowering,
    objects: &Objects,
    children: &[Operator],
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    if objects.stream.is_empty() {
        return Err(Unsupported::of_use("objects of which no rows are made"));
    }
    let of_children = match objects.leaf {
        Some(_) if children.is_empty() => &[],
        Some(_) => return Err(Unsupported::of_use("inputs of another shape")),
        None => inputs_of(children, inputs)?,
    };
    let is_needed = |column: &Attribute| demand.columns.is_none_or(|ids| ids.contains(&column.id));
    let (mut lowered, mut given) = (Vec::new(), Vec::new());
    for ((child, inputs), wanted) in children.iter().zip(of_children).zip(&objects.inputs) {
        let mut below: HashSet<ExprId> = wanted.iter().map(|column| column.id).collect();
        if objects.appends {
            let columns = child.output.require()?.iter();
            below.extend(
                columns
                    .filter(|column| is_needed(column))
                    .map(|column| column.id),
            );
        }
        // Functions see the order of rows.
        let below = Demand {
            columns: Some(&below),
            ordered: true,
        };
        let child = lowering.operator(child, inputs, below)?;
        given.push(places(wanted, child.output()?)?);
        RowEncoder::new(wanted.iter().map(|column| &column.data_type))?;
        lowered.push(child);
    }
    let mut output = Vec::new();
    let mut kept = Vec::new();
    if let (Some(child), true) = (lowered.first(), objects.appends) {
        for (place, column) in child.output()?.iter().enumerate() {
            if is_needed(column) {
                kept.push(place);
                output.push(column.clone());
            }
        }
    }
    let mut made = Vec::new();
    for (place, column) in objects.made.iter().enumerate() {
        if is_needed(column) {
            made.push(place);
            output.push(column.clone());
        }
    }
    let types: Vec<_> = objects
        .made
        .iter()
        .map(|column| column.data_type.clone())
        .collect();
    RowDecoder::of_places(&types, &made)?;
    let schema = schema_of(&output)?;
    let plan = Arc::new(Plan {
        objects: Arc::new(objects.clone()),
        given,
        kept,
        types,
        made,
    });
    let build: Build = Box::new(move |task, inputs| {
        let scan = plan.scan(inputs)?;
        let children = match scan {
            Some(_) => Vec::new(),
            None => built(&lowered, task, inputs)?,
        };
        let (plan, sources) = (Arc::clone(&plan), Arc::clone(&task.sources));
        let start = move |start: &Start<'_>| Running::begin(&plan, &scan, &sources, start);
        Ok(Arc::new(OperatorExec::new(
            "ObjectsExec",
            children,
            Arc::clone(&schema),
            Arc::new(start),
        )))
    });
    Lowered::new(output, build)
}

impl Plan {
    /// What a leaf reads in a task.
    fn scan(&self, inputs: &TaskInputs) -> Result<Option<ScanCall>> {
        let Some(leaf) = self.objects.leaf else {
            return Ok(None);
        };
        let LeafInput::Object(partition) = leaf_input(leaf, inputs)? else {
            return Err(Unsupported::of_use("a scan without partition"));
        };
        Ok(Some(ScanCall {
            partition: partition.clone(),
            schema: json_of_row(&self.types),
        }))
    }
}

fn places(columns: &[Attribute], input: &[Attribute]) -> Result<Vec<usize>> {
    let place = |column: &Attribute| {
        let place = input.iter().position(|own| own.id == column.id);
        place.ok_or_else(|| Unsupported::of_use("an attribute without input"))
    };
    columns.iter().map(place).collect()
}

/// Operators at work.
struct Running {
    plan: Arc<Plan>,
    call: ObjectsCall,
    sources: Arc<dyn Sources>,
    inputs: Vec<Input>,
    decoder: RowDecoder,
    /// Rows of the input that were given, and come out behind those of which something was made.
    behind: VecDeque<RecordBatch>,
    passed: Vec<Count>,
    last: bool,
    schema: SchemaRef,
    baseline: BaselineMetrics,
}

/// An input, of which rows are given as they are wanted.
struct Input {
    batches: Option<SendableRecordBatchStream>,
    encoder: RowEncoder,
    /// Rows that are ready.
    messages: VecDeque<Vec<u8>>,
}

impl Running {
    fn begin(
        plan: &Arc<Plan>,
        scan: &Option<ScanCall>,
        sources: &Arc<dyn Sources>,
        start: &Start<'_>,
    ) -> DataFusionResult<Batches> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let refused = |why: Unsupported| bail_out(why.to_string());
        let mut inputs = Vec::new();
        for (place, columns) in plan.objects.inputs.iter().enumerate() {
            let types = columns.iter().map(|column| &column.data_type);
            inputs.push(Input {
                batches: Some(start.input(place)?),
                encoder: RowEncoder::new(types).map_err(refused)?,
                messages: VecDeque::new(),
            });
        }
        let passed = (0..plan.objects.filters)
            .map(|filter| MetricBuilder::new(start.metrics).counter(Objects::passed(filter), 0));
        let running = Self {
            call: ObjectsCall {
                number: NEXT.fetch_add(1, Ordering::Relaxed),
                objects: Arc::clone(&plan.objects),
                scan: scan.clone(),
            },
            sources: Arc::clone(sources),
            inputs,
            decoder: RowDecoder::of_places(&plan.types, &plan.made).map_err(refused)?,
            behind: VecDeque::new(),
            passed: passed.collect(),
            last: false,
            schema: Arc::clone(start.schema),
            baseline: start.baseline(),
            plan: Arc::clone(plan),
        };
        let batches = stream::try_unfold(running, |mut running| async move {
            let batch = running.next().await?;
            Ok(batch.map(|batch| (batch, running)))
        });
        Ok(batches.boxed())
    }

    async fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        loop {
            let mut made = self.decoder.next()?;
            if made.is_none() {
                // What is there is given at once: a function may take long for what is next.
                made = self.decoder.finish()?;
            }
            if let Some(made) = made {
                self.baseline.record_output(made.num_rows());
                return self.with_input(&made).map(Some);
            }
            if self.last {
                return match self.behind.is_empty() {
                    true => Ok(None),
                    false => Err(bail_out("fewer columns than rows to put them behind")),
                };
            }
            self.go_on().await?;
        }
    }

    /// Has the operators make rows.
    async fn go_on(&mut self) -> DataFusionResult<()> {
        let mut answer = self.sources.jvm_objects(&self.call, ObjectsInput::Next)?;
        loop {
            let place = match answer {
                ObjectsAnswer::Wanted(place) => place,
                ObjectsAnswer::Made { rows, passed, last } => {
                    if passed.len() != self.passed.len() {
                        return Err(bail_out("other filters in the JVM"));
                    }
                    for (count, passed) in self.passed.iter().zip(passed) {
                        count.add(usize::try_from(passed).unwrap_or(usize::MAX));
                    }
                    self.decoder.push(rows);
                    self.last = last;
                    return Ok(());
                }
            };
            let rows = self.rows_of(place).await?;
            let input = rows
                .as_deref()
                .map_or(ObjectsInput::End, ObjectsInput::Rows);
            answer = self.sources.jvm_objects(&self.call, input)?;
        }
    }

    /// The next rows of an input; `None` after the last.
    async fn rows_of(&mut self, place: usize) -> DataFusionResult<Option<Vec<u8>>> {
        let missing = || bail_out("an input that is not there");
        let input = self.inputs.get_mut(place).ok_or_else(missing)?;
        let given = self.plan.given.get(place).ok_or_else(missing)?;
        loop {
            if let Some(message) = input.messages.pop_front() {
                return Ok(Some(message));
            }
            let Some(batches) = &mut input.batches else {
                return Ok(None);
            };
            let Some(batch) = batches.next().await.transpose()? else {
                input.batches = None;
                return Ok(None);
            };
            if batch.num_rows() == 0 {
                continue;
            }
            input.push(&batch.project(given)?)?;
            if self.plan.objects.appends {
                self.behind.push_back(batch.project(&self.plan.kept)?);
            }
        }
    }

    /// Columns that were made, behind those of the rows that they were made of.
    fn with_input(&mut self, made: &RecordBatch) -> DataFusionResult<RecordBatch> {
        let rows = made.num_rows();
        let mut columns = Vec::new();
        if self.plan.objects.appends {
            let mut parts = Vec::new();
            let mut missing = rows;
            while missing > 0 {
                let Some(first) = self.behind.pop_front() else {
                    return Err(bail_out("more columns than rows to put them behind"));
                };
                let taken = missing.min(first.num_rows());
                parts.push(first.slice(0, taken));
                if taken < first.num_rows() {
                    self.behind
                        .push_front(first.slice(taken, first.num_rows() - taken));
                }
                missing -= taken;
            }
            let schema = parts.first().map(RecordBatch::schema);
            if let Some(schema) = schema.filter(|schema| !schema.fields().is_empty()) {
                columns.extend_from_slice(concat_batches(&schema, &parts)?.columns());
            }
        }
        columns.extend_from_slice(made.columns());
        batch_of(&self.schema, columns, rows)
    }
}

impl Input {
    /// Makes messages of a few MiB of rows.
    fn push(&mut self, batch: &RecordBatch) -> DataFusionResult<()> {
        let rows = self.encoder.encode(batch)?;
        let mut start = 0;
        while start < rows.len() {
            let (message, end) = message(&rows, start)?;
            self.messages.push_back(message.to_vec());
            start = end;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "objects_tests.rs"]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod tests;
