//! From Spark's operators to what makes a task's plan.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_physical_plan::ExecutionPlan;

use super::draws::{Drawn, Draws};
use super::exec::{Batches, OperatorExec, Start, StartFn};
use super::metrics::Measured;
use super::plan::Task;
use super::{
    aggregate, cached, checkpoint, filter, generate, join, leaves, limit, objects, project, python,
    scan, shuffle_read, sort, union, window,
};
use catalyst::Metric;
use catalyst::Unsupported;
use catalyst::{Attribute, Expr, ExprId, ExprKind};
use catalyst::{Columns, LeafId, Operator, OperatorKind};
use catalyst::{Inputs, LeafInput, TaskInputs};
use rows::error::bail_out;
use rows::opaque_schema;
use rows::types::schema_of;

/// Result of lowering and of making a task's plan.
pub(super) type Result<T> = std::result::Result<T, Unsupported>;

/// Makes the plan of an operator in a task, from its part of the task's inputs.
pub(super) type Build =
    Box<dyn Fn(&mut Task, &TaskInputs) -> Result<Arc<dyn ExecutionPlan>> + Send + Sync>;

/// Starts an operator for batches of which something is drawn.
pub(super) type DrawingFn =
    dyn Fn(&Start<'_>, Drawn) -> datafusion_common::Result<Batches> + Send + Sync;

/// An operator that was judged.
pub(super) struct Lowered {
    /// The columns of its batches. May be fewer than the operator's, and in another order, where the operator above
    /// said what it needs. If they are not known, batches have one column of whole rows.
    pub(super) columns: Columns,
    /// Of the batches.
    pub(super) schema: SchemaRef,
    build: Build,
    metrics: Arc<[Metric]>,
    /// Metrics of sorts below that may have been left out.
    sorts: Arc<[i64]>,
    /// Whether it is the input of the plan that does what Spark's operator does.
    measured_by_input: bool,
}

impl Lowered {
    /// An operator with these columns.
    pub(super) fn new(output: Vec<Attribute>, build: Build) -> Result<Self> {
        Self::of(Columns::Known(output), build)
    }

    /// An operator with these columns, known or not.
    pub(super) fn of(columns: Columns, build: Build) -> Result<Self> {
        Ok(Self {
            schema: schema_of_columns(&columns)?,
            columns,
            build,
            metrics: Arc::new([]),
            sorts: Arc::new([]),
            measured_by_input: false,
        })
    }

    /// The columns of its batches, for an operator that looks into them.
    pub(super) fn output(&self) -> Result<&[Attribute]> {
        self.columns.require()
    }

    /// An operator of ours with one input, whose columns it has to know.
    pub(super) fn unary(
        name: &'static str,
        output: Vec<Attribute>,
        child: Self,
        start: Arc<StartFn>,
    ) -> Result<Self> {
        child.output()?;
        Self::unary_of(name, Columns::Known(output), child, start)
    }

    /// As [`Lowered::unary`], for an operator that need not know the columns.
    pub(super) fn unary_of(
        name: &'static str,
        columns: Columns,
        child: Self,
        start: Arc<StartFn>,
    ) -> Result<Self> {
        let schema = schema_of_columns(&columns)?;
        let build: Build = Box::new(move |task, inputs| {
            let input = child.build(task, inputs)?;
            let (schema, start) = (Arc::clone(&schema), Arc::clone(&start));
            Ok(Arc::new(OperatorExec::new(
                name,
                vec![input],
                schema,
                start,
            )))
        });
        Self::of(columns, build)
    }

    /// An operator of ours with one input, for batches of which something is drawn. `start` makes its start function
    /// of what is drawn in a partition.
    pub(super) fn drawing(
        name: &'static str,
        output: Vec<Attribute>,
        child: Self,
        draws: Draws,
        start: Arc<DrawingFn>,
    ) -> Result<Self> {
        let input = child.output()?.to_vec();
        let schema = schema_of(&output)?;
        let build: Build = Box::new(move |task, inputs| {
            let plan = child.build(task, inputs)?;
            let partition = task.sources.partition();
            let partition =
                partition.ok_or_else(|| Unsupported::of_use("a partition without a number"))?;
            // Also for its errors.
            draws.start(&input, partition)?;
            let (draws, input, start) = (draws.clone(), input.clone(), Arc::clone(&start));
            let start = move |own: &Start<'_>| {
                let drawn = draws.start(&input, partition);
                start(own, drawn.map_err(|why| bail_out(why.to_string()))?)
            };
            let (schema, start) = (Arc::clone(&schema), Arc::new(start));
            Ok(Arc::new(OperatorExec::new(name, vec![plan], schema, start)))
        });
        Self::new(output, build)
    }

    /// The same, where it is the input of the plan whose metrics are the operator's.
    pub(super) fn measured_by_input(self) -> Self {
        Self {
            measured_by_input: true,
            ..self
        }
    }

    /// The same with the metrics of Spark's operator.
    pub(super) fn with_metrics(self, metrics: Vec<Metric>) -> Self {
        Self {
            metrics: metrics.into(),
            ..self
        }
    }

    /// The plan for a task.
    pub(super) fn build(
        &self,
        task: &mut Task,
        inputs: &TaskInputs,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = (self.build)(task, inputs)?;
        if !self.metrics.is_empty() || !self.sorts.is_empty() {
            let input = plan.children().first().copied();
            let measured = input.filter(|_| self.measured_by_input);
            task.measured.push(Measured {
                plan: Arc::clone(measured.unwrap_or(&plan)),
                metrics: Arc::clone(&self.metrics),
                sorts: Arc::clone(&self.sorts),
            });
        }
        Ok(plan)
    }
}

impl fmt::Debug for Lowered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lowered")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// Schema of batches with these columns: of one column of whole rows if they are not known.
pub(super) fn schema_of_columns(columns: &Columns) -> Result<SchemaRef> {
    match columns {
        Columns::Known(columns) => schema_of(columns),
        Columns::Opaque { .. } => Ok(opaque_schema()),
    }
}

/// What the operator above needs of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand<'a> {
    /// Which columns; all, in Spark's order, if `None`.
    pub(super) columns: Option<&'a HashSet<ExprId>>,
    /// Whether rows are to come in the order in which Spark's operator gives them, where that is an order of keys.
    pub(super) ordered: bool,
}

impl<'a> Demand<'a> {
    /// The same of the operator below, but for columns.
    pub(super) fn of<'b>(self, columns: Option<&'b HashSet<ExprId>>) -> Demand<'b> {
        Demand {
            columns,
            ordered: self.ordered,
        }
    }

    /// Columns in any order of rows.
    pub(super) fn unordered(columns: Option<&'a HashSet<ExprId>>) -> Self {
        Self {
            columns,
            ordered: false,
        }
    }
}

/// Lowers the operators of a stage.
#[derive(Debug)]
pub(super) struct Lowering;

impl Lowering {
    pub(super) fn new() -> Self {
        Self
    }

    /// Judges an operator and all below it. `inputs` is the shape of its part of the stage's inputs.
    pub(super) fn operator(
        &self,
        operator: &Operator,
        inputs: &Inputs,
        demand: Demand<'_>,
    ) -> Result<Lowered> {
        let mut lowered = match &operator.kind {
            OperatorKind::FileSourceScan(scan) => {
                return scan::scan_or_jvm(self, operator, scan, None, inputs, demand);
            }
            OperatorKind::InMemoryTableScan(scan) => {
                cached::scan(self, scan, operator.output.require()?, inputs, demand)?
            }
            OperatorKind::CheckpointScan(scan) => checkpoint::scan(scan, &operator.output, demand)?,
            OperatorKind::KeepRows { rows, child } => {
                checkpoint::keep(self, *rows, child, inputs, demand)?
            }
            OperatorKind::Filter { condition, child } => {
                filter::filter(self, condition, child, inputs, demand)?
            }
            OperatorKind::Project { list, child } => {
                project::project(self, list, child, inputs, demand)?
            }
            OperatorKind::Expand { projections, child } => {
                let output = operator.output.require()?;
                project::expand(self, projections, output, child, inputs, demand)?
            }
            OperatorKind::Aggregate { .. } => aggregate::aggregate(self, operator, inputs, demand)?,
            OperatorKind::Sort { order, child, .. } => {
                sort::sort(self, (order, child), inputs, demand)?
            }
            OperatorKind::TopK {
                limit,
                order,
                child,
            } => sort::top(self, (*limit, order, child), inputs, demand)?,
            OperatorKind::Limit {
                limit,
                offset,
                child,
            } => {
                // Which rows are the first depends on their order.
                let demand = Demand {
                    ordered: true,
                    ..demand
                };
                let child = self.operator(child, inputs, demand)?;
                limit::limit(*limit, *offset, child)?
            }
            OperatorKind::ShuffleRead { leaf, shuffle } => {
                shuffle_read::shuffle(*leaf, *shuffle, &operator.output, demand)?
            }
            OperatorKind::LocalTableScan { leaf } => {
                leaves::local("LocalTableScanExec", *leaf, &operator.output, demand)?
            }
            OperatorKind::PickledScan(scan) => {
                python::pickled_scan(scan, operator.output.require()?, demand)?
            }
            OperatorKind::OneRowRelation { leaf } => {
                leaves::local("OneRowRelationExec", *leaf, &operator.output, demand)?
            }
            OperatorKind::Range {
                leaf,
                start,
                step,
                end,
                num_slices,
            } => {
                let range = leaves::Range {
                    start: *start,
                    step: *step,
                    end: *end,
                    num_slices: *num_slices,
                };
                leaves::range(*leaf, range, operator.output.require()?)?
            }
            OperatorKind::BroadcastHashJoin {
                join,
                build_side,
                null_aware_anti,
                broadcast,
                build_output,
                streamed,
            } => {
                let join = join::BroadcastJoin {
                    keys: Some(join),
                    join_type: &join.join_type,
                    condition: join.condition.as_ref(),
                    build_side: *build_side,
                    null_aware_anti: *null_aware_anti,
                    broadcast: *broadcast,
                    build_output,
                    streamed,
                };
                join::broadcast(self, join, inputs, demand)?
            }
            OperatorKind::BroadcastNestedLoopJoin {
                join_type,
                condition,
                build_side,
                broadcast,
                build_output,
                streamed,
            } => {
                let join = join::BroadcastJoin {
                    keys: None,
                    join_type,
                    condition: condition.as_ref(),
                    build_side: *build_side,
                    null_aware_anti: false,
                    broadcast: *broadcast,
                    build_output,
                    streamed,
                };
                join::broadcast(self, join, inputs, demand)?
            }
            OperatorKind::ShuffledHashJoin {
                join,
                build_side,
                left,
                right,
            } => {
                let sides = (&**left, &**right);
                join::shuffled(self, join, Some(*build_side), sides, inputs, demand)?
            }
            OperatorKind::SortMergeJoin { join, left, right } => {
                join::shuffled(self, join, None, (left, right), inputs, demand)?
            }
            OperatorKind::CartesianProduct {
                condition,
                left,
                right,
            } => join::cartesian(self, condition.as_ref(), (left, right), inputs, demand)?,
            OperatorKind::Union(children) => {
                union::union(self, children, &operator.output, inputs, demand)?
            }
            OperatorKind::Coalesce(child) => union::coalesce(self, child, inputs, demand)?,
            OperatorKind::Window {
                expressions,
                partition,
                order,
                child,
            } => {
                let operator = (&expressions[..], &partition[..], &order[..], &**child);
                window::window(self, operator, inputs, demand)?
            }
            OperatorKind::WindowGroupLimit {
                partition,
                order,
                rank,
                limit,
                child,
            } => {
                let operator = (&partition[..], &order[..], *rank, *limit, &**child);
                window::group_limit(self, operator, inputs, demand)?
            }
            OperatorKind::Generate {
                generator,
                outer,
                required,
                generated,
                child,
            } => {
                let operator = (generator, *outer, &required[..], &generated[..]);
                generate::generate(self, operator, child, inputs, demand)?
            }
            OperatorKind::EvalPython {
                form,
                udfs,
                results,
                job_artifact_uuid,
                child,
            } => {
                let operator = python::Functions {
                    form,
                    udfs,
                    columns: results,
                    job_artifact_uuid: job_artifact_uuid.as_deref(),
                };
                python::eval_python(self, operator, child, inputs, demand)?
            }
            OperatorKind::TablePython { table, child } => {
                python::table_python(self, table, child, inputs, demand)?
            }
            OperatorKind::AggregatePython { aggregate, child } => {
                python::aggregate_python(self, aggregate, child, inputs, demand)?
            }
            OperatorKind::WindowPython { window, child } => {
                python::window_python(self, window, child, inputs, demand)?
            }
            OperatorKind::MapGroups { map, children } => {
                python::map_groups(self, map, children, inputs, demand)?
            }
            OperatorKind::Objects { objects, children } => {
                objects::objects(self, objects, children, inputs, demand)?
            }
            OperatorKind::MapInBatch { map, child } => {
                python::map_in_batch(self, map, child, inputs, demand)?
            }
        };
        lowered.metrics = operator.metrics.clone().into();
        lowered.sorts = sorts_below(operator);
        Ok(lowered)
    }

    /// The operator below a filter.
    pub(super) fn below_filter(
        &self,
        operator: &Operator,
        condition: &Expr,
        inputs: &Inputs,
        demand: Demand<'_>,
    ) -> Result<Lowered> {
        let OperatorKind::FileSourceScan(scan) = &operator.kind else {
            return self.operator(operator, inputs, demand);
        };
        scan::scan_or_jvm(self, operator, scan, Some(condition), inputs, demand)
    }
}

/// Adds the columns that an expression refers to. False if it refers to some by their places.
pub(super) fn references(expr: &Expr, into: &mut HashSet<ExprId>) -> bool {
    match &expr.kind {
        ExprKind::Attribute(attribute) => {
            into.insert(attribute.id);
            true
        }
        ExprKind::BoundReference { .. } => false,
        _ => expr.children().all(|child| references(child, into)),
    }
}

/// The columns that expressions refer to; `None` if some refer to columns by their places.
pub(super) fn all_references<'a>(
    exprs: impl IntoIterator<Item = &'a Expr>,
) -> Option<HashSet<ExprId>> {
    let mut ids = HashSet::new();
    let mut exprs = exprs.into_iter();
    exprs.all(|expr| references(expr, &mut ids)).then_some(ids)
}

/// The columns needed of the operator below: those that are needed above, and those that expressions refer to. All, if
/// `None`.
pub(super) fn needed<'a>(
    demand: Demand<'_>,
    exprs: impl IntoIterator<Item = &'a Expr>,
) -> Option<HashSet<ExprId>> {
    let mut ids = demand.columns?.clone();
    let mut exprs = exprs.into_iter();
    exprs.all(|expr| references(expr, &mut ids)).then_some(ids)
}

/// Places of the columns that are required, if those are not all, and the columns.
pub(super) fn places(
    columns: &[Attribute],
    demand: Demand<'_>,
) -> (Option<Vec<usize>>, Vec<Attribute>) {
    let needed = |column: &Attribute| demand.columns.is_none_or(|ids| ids.contains(&column.id));
    if columns.iter().all(needed) {
        return (None, columns.to_vec());
    }
    let kept = columns.iter().enumerate();
    let kept = kept.filter(|(_, column)| needed(column));
    let (places, columns) = kept.map(|(place, column)| (place, column.clone())).unzip();
    (Some(places), columns)
}

/// The parts of inputs that children have, of which there are one or two.
pub(super) fn inputs_of<'a>(children: &[Operator], inputs: &'a Inputs) -> Result<&'a [Inputs]> {
    match (children, inputs) {
        ([_], inputs) => Ok(std::slice::from_ref(inputs)),
        ([_, _], Inputs::Zip(all)) if all.len() == 2 => Ok(all),
        _ => Err(Unsupported::of_use("inputs of another shape")),
    }
}

/// The plans of one child or of several, which have their parts of the task's inputs.
pub(super) fn built(
    children: &[Lowered],
    task: &mut Task,
    inputs: &TaskInputs,
) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
    let of_children = match (children.len(), inputs) {
        (1, inputs) => std::slice::from_ref(inputs),
        (_, TaskInputs::Zip(all)) if all.len() == children.len() => all,
        _ => return Err(Unsupported::of_use("inputs of another shape")),
    };
    let children = children.iter().zip(of_children);
    let plans = children.map(|(child, inputs)| child.build(task, inputs));
    plans.collect()
}

/// What a leaf reads, where the inputs are its own.
pub(super) fn leaf_input(leaf: LeafId, inputs: &TaskInputs) -> Result<&LeafInput> {
    match inputs {
        TaskInputs::Leaf(of, input) if *of == leaf => Ok(input),
        _ => Err(Unsupported::of_use("inputs of another shape")),
    }
}

/// Accumulators of the sorts right below, which [`without_sort`] may leave out. What is sorted adds its own numbers.
fn sorts_below(operator: &Operator) -> Arc<[i64]> {
    let sorts = operator
        .children()
        .filter(|child| !std::ptr::eq(*child, without_sort(child)));
    let metrics = sorts.flat_map(|sort| &sort.metrics);
    metrics.map(|metric| metric.accumulator).collect()
}

/// What a partition's sort sorts, where nobody needs its order.
pub(super) fn without_sort(operator: &Operator) -> &Operator {
    match &operator.kind {
        OperatorKind::Sort {
            global: false,
            child,
            ..
        } => child,
        _ => operator,
    }
}
