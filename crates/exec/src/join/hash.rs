//! A table of one side of a shuffled join. If it does not fit into memory, what there is of it goes to disk, and both
//! sides are sorted and merged instead.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use datafusion_common::{DataFusionError, Result as DataFusionResult, resources_datafusion_err};
use datafusion_execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::{
    BaselineMetrics, Count, Gauge, MetricBuilder, SpillMetrics,
};
use datafusion_physical_plan::spill::{SpillManager, get_record_batch_memory_size};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::merge::Merge;
use super::probe::{Build, Plan, Probe};
use super::side::Column;
use super::{Sides, emit, lower_keys};
use crate::exec::{Batches, OperatorExec, Start, batch_of, pipe};
use crate::lower::{Demand, Lowered, Result};
use crate::metrics::{PEAK_MEMORY, spilled_bytes};
use crate::sources::Sources;
use catalyst::Attribute;
use catalyst::Unsupported;
use catalyst::{BuildSide, EquiJoin};
use rows::error::bail_out;
use rows::{RelationKind, RelationTable};

/// Most bytes of a value in a column but for texts.
const MAX_SLOT: usize = 16;

/// A join with a table of one side.
pub(super) struct Hash {
    pub(super) side: BuildSide,
    plan: Arc<Plan>,
    build_keys: Vec<Arc<dyn PhysicalExpr>>,
}

impl Hash {
    pub(super) fn new(
        join: &EquiJoin,
        side: BuildSide,
        left: &Lowered,
        right: &Lowered,
        output: &[Attribute],
    ) -> Result<Self> {
        let (streamed, build) = match side {
            BuildSide::Left => ((right, &join.right_keys), (left, &join.left_keys)),
            BuildSide::Right => ((left, &join.left_keys), (right, &join.right_keys)),
        };
        let sides = Sides {
            join_type: &join.join_type,
            build_side: side,
            streamed: streamed.0.output()?,
            build: build.0.output()?,
        };
        let everything = Demand::unordered(None);
        let (columns, places) = sides.output(everything);
        let place = |of: &Attribute| {
            let at = columns.iter().position(|column| column.id == of.id);
            at.and_then(|at| places.get(at)).copied()
        };
        let columns: Option<Vec<Column>> = output.iter().map(place).collect();
        Ok(Self {
            side,
            plan: Arc::new(Plan {
                emit: emit(&join.join_type, side, false)?,
                keys: lower_keys(streamed.1, streamed.0.output()?)?,
                condition: sides.condition(join.condition.as_ref())?,
                output: columns.ok_or_else(|| Unsupported::of_use("a join of other columns"))?,
            }),
            build_keys: lower_keys(build.1, build.0.output()?)?,
        })
    }

    /// The join of a task. What does not fit into memory is left to `instead`.
    pub(super) fn exec(
        &self,
        sources: &Arc<dyn Sources>,
        (left, right): (Arc<dyn ExecutionPlan>, Arc<dyn ExecutionPlan>),
        schema: SchemaRef,
        instead: Option<Arc<Merge>>,
    ) -> Arc<dyn ExecutionPlan> {
        let side = self.side;
        let (streamed, build) = match side {
            BuildSide::Left => (right, left),
            BuildSide::Right => (left, right),
        };
        let (plan, keys) = (Arc::clone(&self.plan), self.build_keys.clone());
        let sources = Arc::clone(sources);
        let start = move |start: &Start<'_>| {
            let env = start.context.runtime_env();
            // Sorts need the disk, too.
            let instead = instead.clone();
            let instead = instead.filter(|_| env.disk_manager.tmp_files_enabled());
            let gather = Gather::new(start, keys.clone(), instead.is_some())?;
            let streamed = start.input(0)?;
            let (plan, baseline) = (Arc::clone(&plan), start.baseline());
            let sources = Arc::clone(&sources);
            let (schema, size) = (Arc::clone(start.schema), start.batch_size());
            let context = Arc::clone(start.context);
            let spilled = MetricBuilder::new(start.metrics).spilled_bytes(0);
            let batches = stream::once(async move {
                let (rows, instead) = match (gather.build(size).await?, instead) {
                    (Gathered::Table(build, memory), _) => {
                        let columns = streamed.schema();
                        let probe = Probe::new(sources, plan, build, columns, schema, size);
                        let batches = pipe(probe, streamed, baseline);
                        return Ok(with_memory(batches, memory));
                    }
                    (Gathered::TooMuch(rows), Some(instead)) => (rows, instead),
                    (Gathered::TooMuch(_), None) => return Err(bail_out("memory exhausted")),
                };
                let (left, right) = match side {
                    BuildSide::Left => (rows, streamed),
                    BuildSide::Right => (streamed, rows),
                };
                let merge = instead
                    .exec(given(left), given(right), schema)
                    .map_err(|why| bail_out(why.to_string()))?;
                merged(merge, context, baseline, spilled)
            });
            Ok(batches.try_flatten().boxed())
        };
        let inputs = vec![streamed, build];
        let name = "ShuffledHashJoinExec";
        Arc::new(OperatorExec::new(name, inputs, schema, Arc::new(start)))
    }
}

/// All pairs of the rows of two inputs. The right one is kept in memory, and nothing goes to disk.
pub(super) fn product(
    sources: Arc<dyn Sources>,
    plan: Arc<Plan>,
    (left, right): (Arc<dyn ExecutionPlan>, Arc<dyn ExecutionPlan>),
    schema: SchemaRef,
) -> Arc<dyn ExecutionPlan> {
    let start = move |start: &Start<'_>| {
        let gather = Gather::new(start, Vec::new(), false)?;
        let streamed = start.input(0)?;
        let (plan, baseline) = (Arc::clone(&plan), start.baseline());
        let sources = Arc::clone(&sources);
        let (schema, size) = (Arc::clone(start.schema), start.batch_size());
        let batches = stream::once(async move {
            let Gathered::Table(build, memory) = gather.build(size).await? else {
                return Err(bail_out("memory exhausted"));
            };
            let probe = Probe::new(sources, plan, build, streamed.schema(), schema, size);
            Ok(with_memory(pipe(probe, streamed, baseline), memory))
        });
        Ok(batches.try_flatten().boxed())
    };
    let inputs = vec![left, right];
    let name = "CartesianProductExec";
    Arc::new(OperatorExec::new(name, inputs, schema, Arc::new(start)))
}

/// Batches that are made of something in memory.
fn with_memory(batches: Batches, memory: MemoryReservation) -> Batches {
    let memory = stream::once(async move {
        memory.free();
        None
    });
    let batches = batches.map(Some).chain(memory);
    batches.filter_map(|batch| async move { batch }).boxed()
}

/// A plan of rows that come already.
fn given(rows: SendableRecordBatchStream) -> Arc<dyn ExecutionPlan> {
    let schema = rows.schema();
    let rows = Mutex::new(Some(rows));
    let start =
        move |_: &Start<'_>| match rows.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(rows) => Ok(rows.boxed()),
            None => Err(DataFusionError::Internal("executed twice".to_owned())),
        };
    let start = Arc::new(start);
    Arc::new(OperatorExec::new("GivenExec", Vec::new(), schema, start))
}

/// Runs a plan that is not among those of the task: what it measures is added to the join's numbers.
fn merged(
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    baseline: BaselineMetrics,
    spilled: Count,
) -> DataFusionResult<Batches> {
    let batches = plan.execute(0, context)?;
    let measured = Measured { plan, spilled };
    let batches = batches.map(move |batch| {
        // Lives as long as rows are asked for.
        let _ = &measured;
        let batch = batch?;
        baseline.record_output(batch.num_rows());
        Ok(batch)
    });
    Ok(batches.boxed())
}

struct Measured {
    plan: Arc<dyn ExecutionPlan>,
    spilled: Count,
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.spilled.add(spilled_bytes(&self.plan));
    }
}

/// Gathers the rows of a side, for a table by the keys if there are any.
struct Gather {
    memory: MemoryReservation,
    pool: Arc<dyn MemoryPool>,
    peak: Gauge,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    input: SendableRecordBatchStream,
    /// Where rows go that are too many.
    disk: Option<SpillManager>,
}

/// What became of the rows of a side.
enum Gathered {
    Table(Arc<Build>, MemoryReservation),
    /// All of them, of which some are on disk.
    TooMuch(SendableRecordBatchStream),
}

impl Gather {
    fn new(
        start: &Start<'_>,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        with_disk: bool,
    ) -> DataFusionResult<Self> {
        let consumer = MemoryConsumer::new("ShuffledHashJoinExec");
        let input = start.input(1)?;
        let disk = with_disk.then(|| {
            let metrics = SpillMetrics::new(start.metrics, 0);
            let env = start.context.runtime_env();
            SpillManager::new(env, metrics, input.schema())
                .with_compression_type(start.context.session_config().spill_compression())
        });
        Ok(Self {
            memory: consumer.register(start.context.memory_pool()),
            pool: Arc::clone(start.context.memory_pool()),
            peak: MetricBuilder::new(start.metrics).gauge(PEAK_MEMORY, 0),
            keys,
            input,
            disk,
        })
    }

    async fn build(mut self, batch_size: usize) -> DataFusionResult<Gathered> {
        let mut batches: Vec<RecordBatch> = Vec::new();
        while let Some(batch) = self.input.next().await.transpose()? {
            // As they came, and once more together: the bytes of texts are not copied then.
            let copied = batch.num_rows() * batch.num_columns() * MAX_SLOT;
            let size = get_record_batch_memory_size(&batch) + copied;
            let held = self.memory.size();
            batches.push(batch);
            if let Err(error) = self.resize(held.saturating_add(size)) {
                return self.give_up(batches, error);
            }
        }
        let batch = concat_batches(&self.input.schema(), &batches)?;
        drop(batches);
        let keys = crate::project::evaluate(&self.keys, &batch)?;
        let table = match keys.is_empty() {
            true => None,
            false => Some(RelationTable::new(&keys, batch.num_rows())?),
        };
        let table_size = table.as_ref().map_or(0, RelationTable::memory_size);
        let size = get_record_batch_memory_size(&batch) + table_size;
        self.peak.set_max(size.max(self.memory.size()));
        if let Err(error) = self.resize(size) {
            drop((table, keys));
            let rows = batch.num_rows();
            let parts = (0..rows).step_by(batch_size);
            let parts = parts.map(|from| batch.slice(from, batch_size.min(rows - from)));
            return self.give_up(parts.collect(), error);
        }
        let build = Build {
            kind: RelationKind::Unsafe,
            batch,
            table,
            memory: None,
        };
        Ok(Gathered::Table(Arc::new(build), self.memory))
    }

    fn resize(&self, size: usize) -> DataFusionResult<()> {
        let more = size.saturating_sub(self.memory.size());
        if self.disk.is_some()
            && let MemoryLimit::Finite(limit) = self.pool.memory_limit()
            && self.pool.reserved().saturating_add(more) > limit / 3 * 2
        {
            // Operators above need memory, too.
            return Err(resources_datafusion_err!("a table of {size} bytes"));
        }
        self.memory.try_resize(size)
    }

    /// There are more rows than fit into memory.
    fn give_up(self, rows: Vec<RecordBatch>, error: DataFusionError) -> DataFusionResult<Gathered> {
        let Some(disk) = self.disk else {
            return Err(error);
        };
        let file = disk.spill_record_batch_and_finish(&rows, "join")?;
        drop(rows);
        self.memory.free();
        let schema = self.input.schema();
        let rows = match file {
            Some(file) => {
                let written = disk.read_spill_as_stream_unbuffered(file, None)?;
                let written = written.map(|batch| compact(&batch?));
                written.chain(self.input).boxed()
            }
            None => self.input.boxed(),
        };
        let rows = RecordBatchStreamAdapter::new(schema, rows);
        Ok(Gathered::TooMuch(Box::pin(rows)))
    }
}

/// Texts of a batch that was read back are pieces of what was read at a time, and a sort would count the whole for each
/// piece.
fn compact(batch: &RecordBatch) -> DataFusionResult<RecordBatch> {
    let columns = batch.columns().iter().map(|column| {
        let views = column
            .as_string_view_opt()
            .map(|texts| Arc::new(texts.gc()) as ArrayRef);
        let bytes = || {
            column
                .as_binary_view_opt()
                .map(|bytes| Arc::new(bytes.gc()) as ArrayRef)
        };
        views.or_else(bytes).unwrap_or_else(|| Arc::clone(column))
    });
    batch_of(&batch.schema(), columns.collect(), batch.num_rows())
}
