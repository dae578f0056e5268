//! `InMemoryTableScanExec`: batches of a cached table, which are made if nobody has them.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use catalyst::{Attribute, DataType, ExprId, InMemoryTableScan, Inputs, TaskInputs, Unsupported};
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::StreamExt as _;
use rows::cached::{CachedBatch, CachedBatchBuilder, CachedBatchDecoder, ColumnStatistics};
use rows::error::bail_out;
use rows::types::schema_of;
use rows::{RowEncoder, array_of};

use super::exec::{OperatorExec, Start, batch_of, from_fn};
use super::expr::lower;
use super::filter::mask;
use super::lower::{Demand, Lowered, Lowering, Result, places};
use super::metrics::INPUT_BATCHES;
use super::sources::{CachedBatches, Sources};

/// What is known of a scan when it is judged.
struct Plan {
    scan: InMemoryTableScan,
    /// Types of all columns of the table.
    types: Vec<DataType>,
    decoder: CachedBatchDecoder,
    /// What batches are left out by.
    filter: Option<BatchFilter>,
}

/// Lowers the scan of a cached table with these columns.
pub(super) fn scan(
    lowering: &Lowering,
    scan: &InMemoryTableScan,
    output: &[Attribute],
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let Inputs::Cached(below) = inputs else {
        return Err(Unsupported::of_use("inputs of another shape"));
    };
    // Whoever reads the table may rely on the order of its rows.
    let all = Demand {
        columns: None,
        ordered: true,
    };
    let child = lowering.operator(&scan.table.child, below, all)?;
    let types = child.output()?.iter();
    let types: Vec<_> = types.map(|column| column.data_type.clone()).collect();
    let (kept, columns) = places(output, demand);
    let kept = kept.unwrap_or_else(|| (0..output.len()).collect());
    let kept = kept.iter().filter_map(|place| scan.places.get(*place));
    let kept: Vec<_> = kept.copied().collect();
    let plan = Arc::new(Plan {
        scan: scan.clone(),
        decoder: CachedBatchDecoder::new(&types, &kept, scan.table.batch_size)?,
        filter: BatchFilter::new(scan, &types)?,
        types,
    });
    // Judged here, made by tasks.
    plan.maker()?;
    let schema = schema_of(&columns)?;
    Lowered::new(
        columns,
        Box::new(move |task, inputs| {
            let TaskInputs::Cached(partition, below) = inputs else {
                return Err(Unsupported::of_use("inputs of another shape"));
            };
            let input = child.build(task, below)?;
            let (plan, partition) = (Arc::clone(&plan), *partition);
            let sources = Arc::clone(&task.sources);
            let start = move |start: &Start<'_>| {
                let schema = Arc::clone(start.schema);
                let mut scan = Scan {
                    plan: Arc::clone(&plan),
                    partition,
                    sources: Arc::clone(&sources),
                    input: start.inputs.first().map(Arc::clone),
                    context: Arc::clone(start.context),
                    batches: None,
                    baseline: start.baseline(),
                    read: MetricBuilder::new(start.metrics).counter(INPUT_BATCHES, 0),
                };
                Ok(from_fn(move || {
                    let Some(batch) = scan.next()? else {
                        return Ok(None);
                    };
                    let _timer = scan.baseline.elapsed_compute().timer();
                    let columns = scan.plan.decoder.decode(&batch)?;
                    batch_of(&schema, columns, batch.num_rows).map(Some)
                })
                .boxed())
            };
            Ok(Arc::new(OperatorExec::new(
                "InMemoryTableScanExec",
                vec![input],
                Arc::clone(&schema),
                Arc::new(start),
            )))
        }),
    )
}

impl Plan {
    fn maker(&self) -> Result<(RowEncoder, CachedBatchBuilder)> {
        let table = &self.scan.table;
        Ok((
            RowEncoder::new(&self.types)?,
            CachedBatchBuilder::new(&self.types, table.batch_size, table.compressed)?,
        ))
    }
}

/// A scan in a task.
struct Scan {
    plan: Arc<Plan>,
    partition: i32,
    sources: Arc<dyn Sources>,
    /// The rows of the table, if they are needed.
    input: Option<Arc<dyn ExecutionPlan>>,
    context: Arc<TaskContext>,
    batches: Option<CachedBatches>,
    baseline: BaselineMetrics,
    read: Count,
}

impl Scan {
    /// The next batch that is not left out.
    fn next(&mut self) -> DataFusionResult<Option<CachedBatch>> {
        self.open()?;
        if self.plan.scan.only_made {
            return Ok(None);
        }
        while let Some(batches) = &mut self.batches {
            self.sources.alive()?;
            let Some(batch) = batches.next().transpose()? else {
                break;
            };
            let filter = self.plan.filter.as_ref();
            if filter.map_or(Ok(true), |filter| filter.keeps(&batch))? {
                self.read.add(1);
                self.baseline.record_output(batch.num_rows);
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn open(&mut self) -> DataFusionResult<()> {
        if self.batches.is_some() {
            return Ok(());
        }
        let (plan, context) = (Arc::clone(&self.plan), Arc::clone(&self.context));
        let input = self.input.take();
        let make = Box::new(move || {
            let input = input.ok_or_else(|| bail_out("a cached table without rows"))?;
            let (encoder, builder) = plan.maker().map_err(|why| bail_out(why.to_string()))?;
            Ok(Box::new(MadeBatches {
                rows: Some(input.execute(0, context)?),
                encoder,
                builder,
                ready: VecDeque::new(),
            }) as CachedBatches)
        });
        let Plan {
            scan,
            types,
            filter,
            ..
        } = &*self.plan;
        let statistics = filter.is_some();
        let partition = self.partition;
        let batches = self
            .sources
            .cached(&scan.table, types, statistics, partition, make)?;
        self.batches = Some(batches);
        Ok(())
    }
}

/// Batches of the rows of the plan below.
struct MadeBatches {
    rows: Option<SendableRecordBatchStream>,
    encoder: RowEncoder,
    builder: CachedBatchBuilder,
    ready: VecDeque<CachedBatch>,
}

impl MadeBatches {
    fn push(&mut self, batch: &RecordBatch) -> DataFusionResult<()> {
        let rows = self.encoder.encode(batch)?;
        self.ready.extend(self.builder.push(&rows)?);
        Ok(())
    }
}

impl Iterator for MadeBatches {
    type Item = DataFusionResult<CachedBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            let rows = self.rows.as_mut()?;
            // The task's thread runs the stream of the scan, which waits here for that of the plan below.
            let done = match pollster::block_on(rows.next()) {
                Some(batch) => batch.and_then(|batch| self.push(&batch)),
                None => {
                    self.rows = None;
                    self.ready.extend(self.builder.finish());
                    Ok(())
                }
            };
            if let Err(why) = done {
                self.rows = None;
                return Some(Err(why));
            }
        }
    }
}

/// Leaves out batches by their statistics.
struct BatchFilter {
    /// Types of the values of the statistics.
    types: Vec<DataType>,
    schema: SchemaRef,
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl BatchFilter {
    fn new(scan: &InMemoryTableScan, columns: &[DataType]) -> Result<Option<Self>> {
        if scan.filters.is_empty() {
            return Ok(None);
        }
        let types: Vec<_> = columns.iter().flat_map(ColumnStatistics::types).collect();
        let attribute = |(place, data_type): (i64, &DataType)| Attribute {
            name: "statistics".to_owned(),
            data_type: data_type.clone(),
            nullable: true,
            id: ExprId {
                id: place,
                jvm_id: 0,
            },
        };
        let attributes: Vec<_> = (0..).zip(&types).map(attribute).collect();
        let filters = scan.filters.iter();
        let filters = filters.map(|filter| lower(filter, &attributes));
        Ok(Some(Self {
            filters: filters.collect::<Result<_>>()?,
            schema: schema_of(&attributes)?,
            types,
        }))
    }

    /// Whether rows of the batch may be wanted.
    fn keeps(&self, batch: &CachedBatch) -> DataFusionResult<bool> {
        let values = batch.statistics.iter().flat_map(ColumnStatistics::values);
        let values: Vec<_> = values.collect();
        let refused = |why: Unsupported| bail_out(why.to_string());
        if values.len() != self.types.len() {
            return Err(bail_out("a cached batch with other statistics"));
        }
        let arrays = self.types.iter().zip(&values);
        let arrays = arrays.map(|(of, value)| array_of(of, vec![value]));
        let arrays = arrays.collect::<Result<Vec<_>>>().map_err(refused)?;
        let row = batch_of(&self.schema, arrays, 1)?;
        for filter in &self.filters {
            let mask = mask(filter, &row)?;
            if mask.is_empty() || !mask.value(0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
