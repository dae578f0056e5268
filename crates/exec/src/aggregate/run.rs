//! An aggregation in a task.

use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::SpillFile;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, Gauge, MetricBuilder,
};
use futures::stream::{self, StreamExt};

use super::spill::{Spill, check};
use super::table::Table;
use super::{Columns, Output, Plan};
use crate::exec::{Batches, Start, batch_of};
use crate::metrics::{PEAK_MEMORY, SORT_FALLBACKS};
use crate::project::evaluate;
use rows::{is_ordered, order_key};

/// Rows after which it is known whether aggregating them is of use.
const ROWS_BEFORE_PASSING: usize = 128 << 10;

/// If there are so many groups of ten rows, or more, they go out at once, to be aggregated by whoever reads them.
const LEAST_GROUPS_OF_TEN: usize = 8;

/// What becomes of groups before the input ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passing {
    /// Not known before so many rows were added.
    After(usize),
    /// They stay.
    Never,
    /// They go out after each batch.
    Always,
}

/// Aggregates an input.
pub(super) fn run(plan: Arc<Plan>, start: &Start<'_>) -> Result<Batches> {
    let consumer = MemoryConsumer::new("HashAggregateExec").with_can_spill(true);
    let run = Run {
        table: Table::new(Arc::clone(&plan))?,
        spill: Spill::new(&plan, start),
        parts: Vec::new(),
        aside: None,
        sorted: false,
        passing: match plan.may_repeat {
            true => Passing::After(ROWS_BEFORE_PASSING),
            false => Passing::Never,
        },
        fallbacks: start.metrics.clone(),
        input: Some(start.input(0)?),
        output: None,
        schema: Arc::clone(start.schema),
        batch_size: start.batch_size(),
        memory: consumer.register(start.context.memory_pool()),
        peak: MetricBuilder::new(start.metrics).gauge(PEAK_MEMORY, 0),
        baseline: start.baseline(),
        plan,
    };
    let batches = stream::try_unfold(run, |mut run| async move {
        let batch = run.next().await?;
        Ok(batch.map(|batch| (batch, run)))
    });
    Ok(batches.boxed())
}

/// Rows in the order of the first columns, nulls first.
fn by_keys(columns: Columns, keys: usize, rows: usize) -> Result<Columns> {
    let keys = columns.get(..keys).unwrap_or_default();
    if rows == 0 || !keys.iter().all(|key| is_ordered(key.data_type())) {
        return Ok(columns);
    }
    let keys = keys.iter().map(order_key).collect::<Result<Vec<_>>>()?;
    let fields = keys
        .iter()
        .map(|key| SortField::new(key.data_type().clone()));
    let converter = RowConverter::new(fields.collect())?;
    let keys = converter.convert_columns(&keys)?;
    // Groups are numbered by less than that.
    let mut places: Vec<u32> = (0..).take(rows).collect();
    places.sort_by(|left, right| keys.row(*left as usize).cmp(&keys.row(*right as usize)));
    let places = UInt32Array::from(places);
    let columns = columns.iter().map(|column| take(column, &places, None));
    Ok(columns.collect::<std::result::Result<_, _>>()?)
}

struct Run {
    plan: Arc<Plan>,
    table: Table,
    spill: Spill,
    /// What was spilled, once the input is done.
    parts: Vec<Vec<Arc<dyn SpillFile>>>,
    /// Keys and buffers that are added to those of later rows, as Spark does.
    aside: Option<RecordBatch>,
    /// Whether groups come out in the order of their keys: Spark has sorted them then.
    sorted: bool,
    passing: Passing,
    /// Where it is counted that they were set aside.
    fallbacks: ExecutionPlanMetricsSet,
    input: Option<SendableRecordBatchStream>,
    /// Keys with buffers or results, and how many rows of them are out.
    output: Option<(RecordBatch, usize)>,
    schema: SchemaRef,
    batch_size: usize,
    memory: MemoryReservation,
    peak: Gauge,
    baseline: BaselineMetrics,
}

impl Run {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.pop()? {
                self.baseline.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            if let Some(mut input) = self.input.take() {
                let mut passes = false;
                while !passes && let Some(batch) = input.next().await.transpose()? {
                    let rows = batch.num_rows();
                    self.add(batch)?;
                    if let Err(error) = self.reserve() {
                        self.spill(error)?;
                    }
                    passes = self.passes(rows);
                }
                if passes {
                    // It goes on once what there is has gone out.
                    self.input = Some(input);
                } else if self.spill.is_used() {
                    self.write_table()?;
                    if let Some(aside) = self.aside.take() {
                        let rows = aside.num_rows();
                        self.spill
                            .write(aside.columns().to_vec(), rows, self.batch_size)?;
                    }
                    self.parts = self.spill.finish();
                    continue;
                }
                if let Some(aside) = self.aside.take() {
                    self.table.add_spilled(&aside)?;
                    self.sorted = true;
                }
            } else {
                let Some(part) = self.parts.pop() else {
                    self.memory.free();
                    return Ok(None);
                };
                for file in part {
                    let mut batches = self.spill.read(file)?;
                    while let Some(batch) = batches.next().await.transpose()? {
                        {
                            let _timer = self.baseline.elapsed_compute().timer();
                            check(&batch, &self.plan)?;
                            self.table.add_spilled(&batch)?;
                        }
                        self.reserve()?;
                    }
                }
            }
            let _timer = self.baseline.elapsed_compute().timer();
            let (schema, (columns, rows)) = match &self.plan.output {
                Output::Buffers => (&self.schema, self.table.take_buffers()?),
                Output::Results { schema, .. } => (schema, self.table.take_results()?),
            };
            let columns = match self.sorted {
                true => by_keys(columns, self.plan.keys.len(), rows)?,
                false => columns,
            };
            if rows > 0 {
                self.output = Some((batch_of(schema, columns, rows)?, 0));
            }
            if self.passing == Passing::Always {
                // A large table would be looked through for each batch.
                self.table = Table::new(Arc::clone(&self.plan))?;
                self.memory.free();
            }
        }
    }

    /// Whether the groups go out although the input has not ended, after so many more rows.
    fn passes(&mut self, rows: usize) -> bool {
        if let Passing::After(missing) = self.passing {
            let missing = missing.saturating_sub(rows);
            let groups = self.table.len() * 10;
            self.passing = match missing {
                _ if self.spill.is_used() => Passing::Never,
                0 if groups >= ROWS_BEFORE_PASSING * LEAST_GROUPS_OF_TEN => Passing::Always,
                0 => Passing::Never,
                _ => Passing::After(missing),
            };
        }
        self.passing == Passing::Always
    }

    /// Adds rows. Those after the last of so many groups are added to new buffers.
    fn add(&mut self, mut batch: RecordBatch) -> Result<()> {
        let time = self.baseline.elapsed_compute().clone();
        let _timer = time.timer();
        while batch.num_rows() > 0 {
            let most = self.plan.sets_aside;
            let most = most.filter(|_| self.aside.is_none() && !self.spill.is_used());
            if let Some(most) = most.filter(|most| self.table.has(*most)) {
                let (columns, rows) = self.table.take_first_buffers(most)?;
                self.aside = Some(batch_of(&self.plan.buffer_schema, columns, rows)?);
                self.table = Table::new(Arc::clone(&self.plan))?;
                let fallbacks = MetricBuilder::new(&self.fallbacks);
                fallbacks.counter(SORT_FALLBACKS, 0).add(1);
                continue;
            }
            let rows = self.table.add(&batch, most)?;
            batch = batch.slice(rows, batch.num_rows() - rows);
        }
        Ok(())
    }

    /// The next rows that come out.
    fn pop(&mut self) -> Result<Option<RecordBatch>> {
        let _timer = self.baseline.elapsed_compute().timer();
        let Some((batch, done)) = &mut self.output else {
            return Ok(None);
        };
        let rows = self.batch_size.min(batch.num_rows() - *done);
        if rows == 0 {
            self.output = None;
            return Ok(None);
        }
        let part = batch.slice(*done, rows);
        *done += rows;
        match &self.plan.output {
            Output::Buffers => Ok(Some(part)),
            Output::Results { exprs, .. } => {
                batch_of(&self.schema, evaluate(exprs, &part)?, rows).map(Some)
            }
        }
    }

    fn reserve(&mut self) -> Result<()> {
        let aside = self.aside.as_ref();
        let size = self.table.size() + aside.map_or(0, RecordBatch::get_array_memory_size);
        self.peak.set_max(size);
        self.memory.try_resize(size)
    }

    fn spill(&mut self, error: DataFusionError) -> Result<()> {
        // Without keys there is nothing that could be given back.
        if self.plan.keys.is_empty() || self.plan.ordered || self.plan.in_one_piece {
            return Err(error);
        }
        self.write_table()
    }

    fn write_table(&mut self) -> Result<()> {
        let _timer = self.baseline.elapsed_compute().timer();
        if !self.table.is_empty() {
            let (columns, rows) = self.table.take_buffers()?;
            self.spill.write(columns, rows, self.batch_size)?;
        }
        self.table = Table::new(Arc::clone(&self.plan))?;
        self.memory.free();
        Ok(())
    }
}
