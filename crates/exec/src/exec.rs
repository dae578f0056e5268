//! The plan node of all operators that are not DataFusion's own.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion_physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning,
    PlanProperties, ReplaceChildrenOptions,
};
use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt};

/// What an operator is started with.
pub(super) struct Start<'a> {
    pub(super) inputs: &'a [Arc<dyn ExecutionPlan>],
    pub(super) context: &'a Arc<TaskContext>,
    pub(super) metrics: &'a ExecutionPlanMetricsSet,
    pub(super) schema: &'a SchemaRef,
}

impl Start<'_> {
    /// Rows of an input.
    pub(super) fn input(&self, index: usize) -> Result<SendableRecordBatchStream> {
        match self.inputs.get(index) {
            Some(input) => input.execute(0, Arc::clone(self.context)),
            None => Err(DataFusionError::Internal("no such input".to_owned())),
        }
    }

    pub(super) fn baseline(&self) -> BaselineMetrics {
        BaselineMetrics::new(self.metrics, 0)
    }

    pub(super) fn batch_size(&self) -> usize {
        self.context.session_config().batch_size().max(1)
    }
}

/// The batches of an operator.
pub(super) type Batches = BoxStream<'static, Result<RecordBatch>>;

/// Starts an operator: its batches have the schema of [`Start`].
pub(super) type StartFn = dyn Fn(&Start<'_>) -> Result<Batches> + Send + Sync;

/// An operator of ours: one partition, no order that anybody may rely on.
pub(super) struct OperatorExec {
    name: &'static str,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    start: Arc<StartFn>,
}

impl OperatorExec {
    pub(super) fn new(
        name: &'static str,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        schema: SchemaRef,
        start: Arc<StartFn>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            name,
            inputs,
            schema,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            start,
        }
    }
}

impl fmt::Debug for OperatorExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.name)
            .field("inputs", &self.inputs)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for OperatorExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl ExecutionPlan for OperatorExec {
    fn name(&self) -> &str {
        self.name
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        // Ours are not for DataFusion's optimizer to look at.
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self {
            name: self.name,
            inputs: children,
            schema: Arc::clone(&self.schema),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
            start: Arc::clone(&self.start),
        }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(
            children,
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = (self.start)(&Start {
            inputs: &self.inputs,
            context: &context,
            metrics: &self.metrics,
            schema: &self.schema,
        })?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches,
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// A batch of these columns. Columns of other types than the schema's are an error, never converted silently.
pub(super) fn batch_of(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

/// The batches that a function gives, until it gives none. It may block.
pub(super) fn from_fn<F>(next: F) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static
where
    F: FnMut() -> Result<Option<RecordBatch>> + Send + 'static,
{
    stream::try_unfold(next, |mut next| async move {
        Ok(next()?.map(|batch| (batch, next)))
    })
}

/// Batches made of an input's by an operator that keeps some back.
pub(super) trait Pipe: Send + 'static {
    /// Takes a batch of the input.
    fn push(&mut self, batch: RecordBatch) -> Result<()>;
    /// After the last batch.
    fn finish(&mut self) -> Result<()>;
    /// What is ready. Called until there is nothing.
    fn pop(&mut self) -> Result<Option<RecordBatch>>;
    /// Whether no more input is needed.
    fn done(&self) -> bool {
        false
    }
}

struct Piped<P> {
    pipe: P,
    input: Option<SendableRecordBatchStream>,
    baseline: BaselineMetrics,
}

/// Runs a [`Pipe`] over an input, measuring the time it takes and the rows that come out.
pub(super) fn pipe<P: Pipe>(
    pipe: P,
    input: SendableRecordBatchStream,
    baseline: BaselineMetrics,
) -> Batches {
    let piped = Piped {
        pipe,
        input: Some(input),
        baseline,
    };
    stream::try_unfold(piped, |mut piped| async move {
        loop {
            let ready = {
                let _timer = piped.baseline.elapsed_compute().timer();
                piped.pipe.pop()?
            };
            if let Some(batch) = ready {
                if batch.num_rows() == 0 {
                    continue;
                }
                piped.baseline.record_output(batch.num_rows());
                return Ok(Some((batch, piped)));
            }
            let Some(input) = &mut piped.input else {
                return Ok(None);
            };
            let next = if piped.pipe.done() {
                None
            } else {
                input.next().await.transpose()?
            };
            let _timer = piped.baseline.elapsed_compute().timer();
            match next {
                Some(batch) => piped.pipe.push(batch)?,
                None => {
                    piped.input = None;
                    piped.pipe.finish()?;
                }
            }
        }
    })
    .boxed()
}
