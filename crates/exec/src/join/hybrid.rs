//! A hybrid hash join: if the rows of the table's side do not fit into memory, both sides are divided by hashes of
//! their keys. Parts that fit are joined at once, the others are written to disk and joined one after the other. A part
//! with too many rows of one key is sorted and merged.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::{MemoryPool, MemoryReservation};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::{
    BaselineMetrics, Count, Gauge, MetricBuilder, SpillMetrics,
};
use datafusion_physical_plan::spill::SpillManager;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::divide::{self, BuildSide, Divide, Files, StreamedSide, Written};
use super::gather::{Gather, Gathered};
use super::merge::Merge;
use super::probe::{Build, Emit, Plan, Probe};
use crate::exec::{Batches, OperatorExec, Start, pipe};
use crate::metrics::{PEAK_MEMORY, spilled_bytes};
use crate::sources::Sources;
use catalyst::BuildSide as Side;
use rows::error::bail_out;

/// How often rows are divided. What is too much then, has too many rows of one key.
const MAX_DEPTH: u32 = 2;

/// How a join is done in parts.
#[derive(Clone)]
pub(super) struct InParts {
    /// The side with the table.
    pub(super) side: Side,
    /// For a part that has too many rows of one key.
    pub(super) merge: Option<Arc<Merge>>,
}

impl InParts {
    /// The same in a task, if it may write to disk. `schemas` are those of the streamed side and the other.
    pub(super) fn disk(&self, start: &Start<'_>, schemas: (SchemaRef, SchemaRef)) -> Option<Disk> {
        let context = start.context;
        let env = context.runtime_env();
        if !env.disk_manager.tmp_files_enabled() {
            return None;
        }
        let disk = |schema| {
            let metrics = SpillMetrics::new(start.metrics, 0);
            SpillManager::new(Arc::clone(&env), metrics, schema)
                .with_compression_type(context.session_config().spill_compression())
        };
        Some(Disk {
            in_parts: self.clone(),
            streamed: disk(schemas.0),
            build: disk(schemas.1),
            context: Arc::clone(context),
            spilled: MetricBuilder::new(start.metrics).spilled_bytes(0),
        })
    }
}

/// Where parts of a join go.
pub(super) struct Disk {
    in_parts: InParts,
    streamed: SpillManager,
    build: SpillManager,
    context: Arc<TaskContext>,
    /// By what is not among the task's operators.
    spilled: Count,
}

/// A join in a task.
pub(super) struct HashJoin {
    sources: Arc<dyn Sources>,
    plan: Arc<Plan>,
    build_keys: Vec<Arc<dyn PhysicalExpr>>,
    pool: Arc<dyn MemoryPool>,
    peak: Gauge,
    baseline: BaselineMetrics,
    schema: SchemaRef,
    batch_size: usize,
    /// If something may go there.
    disk: Option<Arc<Disk>>,
}

impl HashJoin {
    pub(super) fn new(
        start: &Start<'_>,
        sources: Arc<dyn Sources>,
        plan: Arc<Plan>,
        build_keys: Vec<Arc<dyn PhysicalExpr>>,
        disk: Option<Disk>,
    ) -> Self {
        Self {
            sources,
            plan,
            build_keys,
            pool: Arc::clone(start.context.memory_pool()),
            peak: MetricBuilder::new(start.metrics).gauge(PEAK_MEMORY, 0),
            baseline: start.baseline(),
            schema: Arc::clone(start.schema),
            batch_size: start.batch_size(),
            disk: disk.map(Arc::new),
        }
    }

    /// Joins rows that were divided so often.
    pub(super) fn run(
        self: Arc<Self>,
        mut build: SendableRecordBatchStream,
        streamed: SendableRecordBatchStream,
        depth: u32,
    ) -> Batches {
        let batches = stream::once(async move {
            let (keys, peak) = (self.build_keys.clone(), self.peak.clone());
            let in_parts = self.disk.is_some();
            let gather = Gather::new("ShuffledHashJoinExec", keys, &self.pool, peak, in_parts);
            let rows = match gather.all(&mut build).await? {
                Gathered::Table(table) => return Ok(self.probe(table, gather.memory, streamed)),
                Gathered::TooMuch(rows) => rows,
            };
            let Some(disk) = self.disk.clone() else {
                return Err(bail_out("memory exhausted"));
            };
            if depth >= MAX_DEPTH {
                return self.merge(&disk, rows, gather, build, streamed);
            }
            let with_nulls = matches!(
                self.plan.emit,
                Emit::Pairs { build: true, .. } | Emit::BuildAnti
            );
            let divide = Divide::new(self.build_keys.clone(), depth);
            let written = disk.build.clone();
            let mut side = BuildSide::new(divide, written, gather, self.batch_size, with_nulls);
            for batch in rows {
                let _timer = self.baseline.elapsed_compute().timer();
                side.add(&batch)?;
            }
            self.divide(&disk, side, build, streamed, depth).await
        });
        batches.try_flatten().boxed()
    }

    /// Joins what fits, and leaves the rest for later.
    async fn divide(
        self: Arc<Self>,
        disk: &Disk,
        mut side: BuildSide,
        mut build: SendableRecordBatchStream,
        streamed: SendableRecordBatchStream,
        depth: u32,
    ) -> Result<Batches> {
        while let Some(batch) = build.next().await.transpose()? {
            let _timer = self.baseline.elapsed_compute().timer();
            side.add(&batch)?;
        }
        let (table, memory, parts) = side.finish()?;
        let divide = Divide::new(self.plan.keys.clone(), depth);
        let side = StreamedSide::new(divide, disk.streamed.clone(), &parts, self.batch_size);
        let (streamed, files) = side.split(streamed);
        let first = self.probe(table, memory, streamed);
        let rest = stream::once(async move { self.parts(parts, &files, depth + 1) });
        Ok(first.chain(rest.try_flatten()).boxed())
    }

    /// Streams one side along the table of the other.
    fn probe(
        &self,
        table: Arc<Build>,
        memory: MemoryReservation,
        streamed: SendableRecordBatchStream,
    ) -> Batches {
        let probe = Probe::new(
            Arc::clone(&self.sources),
            Arc::clone(&self.plan),
            table,
            streamed.schema(),
            Arc::clone(&self.schema),
            self.batch_size,
        );
        with_memory(pipe(probe, streamed, self.baseline.clone()), memory)
    }

    /// The parts that went to disk, one after the other.
    fn parts(
        self: Arc<Self>,
        parts: Vec<Option<Written>>,
        files: &Files,
        depth: u32,
    ) -> Result<Batches> {
        let files = std::mem::take(&mut *files.lock().unwrap_or_else(PoisonError::into_inner));
        if files.len() != parts.len() {
            return Err(DataFusionError::Internal(
                "rows of a join that are not divided".to_owned(),
            ));
        }
        let parts = parts.into_iter().zip(files);
        let parts = parts.filter_map(|(part, streamed)| Some((part?, streamed)));
        let parts = stream::iter(parts).map(move |(part, streamed)| {
            let Some(disk) = &self.disk else {
                return Err(bail_out("memory exhausted"));
            };
            self.sources.alive()?;
            let depth = if part.is_most { MAX_DEPTH } else { depth };
            let build = divide::read(&disk.build, part.file)?;
            let streamed = divide::read(&disk.streamed, streamed)?;
            Ok(Arc::clone(&self).run(build, streamed, depth))
        });
        Ok(parts.try_flatten().boxed())
    }

    /// Sorts and merges both sides.
    fn merge(
        &self,
        disk: &Disk,
        rows: Vec<RecordBatch>,
        gather: Gather,
        build: SendableRecordBatchStream,
        streamed: SendableRecordBatchStream,
    ) -> Result<Batches> {
        let Some(merge) = &disk.in_parts.merge else {
            return Err(bail_out("memory exhausted"));
        };
        let file = disk.build.spill_record_batch_and_finish(&rows, "join")?;
        drop(rows);
        gather.memory.free();
        let schema = build.schema();
        let rows = divide::read(&disk.build, file)?.chain(build);
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, rows));
        let (left, right): (SendableRecordBatchStream, _) = match disk.in_parts.side {
            Side::Left => (rows, streamed),
            Side::Right => (streamed, rows),
        };
        let plan = merge.exec(given(left), given(right), Arc::clone(&self.schema));
        let plan = plan.map_err(|why| bail_out(why.to_string()))?;
        let context = Arc::clone(&disk.context);
        merged(plan, context, self.baseline.clone(), disk.spilled.clone())
    }
}

/// Batches that are made of something in memory.
pub(super) fn with_memory(batches: Batches, memory: MemoryReservation) -> Batches {
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
) -> Result<Batches> {
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
