//! A table of one side of a shuffled join, along which the other is streamed.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::MetricBuilder;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::gather::{Gather, Gathered};
use super::hybrid::{HashJoin, InParts, with_memory};
use super::probe::{Plan, Probe};
use super::side::Column;
use super::{Sides, emit, lower_keys};
use crate::exec::{OperatorExec, Start, pipe};
use crate::lower::{Demand, Lowered, Result};
use crate::metrics::PEAK_MEMORY;
use crate::sources::Sources;
use catalyst::Attribute;
use catalyst::Unsupported;
use catalyst::{BuildSide, EquiJoin};
use rows::error::bail_out;

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

    /// The join of a task. If it may be done in parts, rows come in no order.
    pub(super) fn exec(
        &self,
        sources: &Arc<dyn Sources>,
        (left, right): (Arc<dyn ExecutionPlan>, Arc<dyn ExecutionPlan>),
        schema: SchemaRef,
        in_parts: Option<InParts>,
    ) -> Arc<dyn ExecutionPlan> {
        let (streamed, build) = match self.side {
            BuildSide::Left => (right, left),
            BuildSide::Right => (left, right),
        };
        let (plan, build_keys) = (Arc::clone(&self.plan), self.build_keys.clone());
        let sources = Arc::clone(sources);
        let start = move |start: &Start<'_>| {
            let (plan, build_keys) = (Arc::clone(&plan), build_keys.clone());
            let sources = Arc::clone(&sources);
            let (streamed, build) = (start.input(0)?, start.input(1)?);
            let schemas = (streamed.schema(), build.schema());
            let in_parts = in_parts.as_ref();
            let in_parts = in_parts.and_then(|in_parts| in_parts.disk(start, schemas));
            let join = HashJoin::new(start, sources, plan, build_keys, in_parts);
            Ok(Arc::new(join).run(build, streamed, 0))
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
        let pool = start.context.memory_pool();
        let peak = MetricBuilder::new(start.metrics).gauge(PEAK_MEMORY, 0);
        let gather = Gather::new("CartesianProductExec", Vec::new(), pool, peak, false);
        let (streamed, mut build) = (start.input(0)?, start.input(1)?);
        let (plan, baseline) = (Arc::clone(&plan), start.baseline());
        let sources = Arc::clone(&sources);
        let (schema, size) = (Arc::clone(start.schema), start.batch_size());
        let batches = stream::once(async move {
            let Gathered::Table(build) = gather.all(&mut build).await? else {
                return Err(bail_out("memory exhausted"));
            };
            let probe = Probe::new(sources, plan, build, streamed.schema(), schema, size);
            Ok(with_memory(pipe(probe, streamed, baseline), gather.memory))
        });
        Ok(batches.try_flatten().boxed())
    };
    let inputs = vec![left, right];
    let name = "CartesianProductExec";
    Arc::new(OperatorExec::new(name, inputs, schema, Arc::new(start)))
}
