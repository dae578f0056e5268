//! `WindowExec` and `WindowGroupLimitExec`, over input that is sorted by partition and order.
//!
//! Own, not DataFusion's: aggregates are to be computed as Spark computes them, in its order and with its types.

mod bounds;
mod column;
mod frame;
mod gathered;
mod group_limit;
mod lists;
mod pick;
mod rank;
mod run;
mod running;
mod shift;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr};

pub(super) use self::bounds::with_bounds;

use self::bounds::Edge;
use self::column::{Column, Memory};
use self::frame::{FrameSpec, Layout};
use self::gathered::Gathered;
use self::lists::Lists;
use self::pick::Pick;
use self::rank::Placement;
use self::running::Aggregate;
use super::exec::{Start, pipe};
use super::expr::{lower, lower_sort};
use super::lower::{Demand, Lowered, Lowering, Result, needed};
use catalyst::{Attribute, Bound, Expr, Inputs, Operator, RankLike, SortOrder, Unsupported};
use catalyst::{WindowExpression, WindowFunction};

/// Windows that were judged. Shared by the tasks of a stage.
#[derive(Debug)]
struct Plan {
    keys: Keys,
    /// Each once: functions often have the same.
    frames: Vec<FrameSpec>,
    functions: Vec<Function>,
}

/// By what rows are divided, and by what they are sorted within a part.
#[derive(Debug)]
struct Keys {
    partition: Vec<PhysicalSortExpr>,
    order: Vec<PhysicalSortExpr>,
}

/// What makes a column.
#[derive(Debug)]
enum Function {
    Placement(Placement),
    Pick(Pick),
    Aggregate {
        aggregate: Aggregate,
        /// Place among the frames.
        frame: usize,
    },
    Gathered {
        gathered: Gathered,
        /// Place among the frames.
        frame: usize,
    },
    Lists {
        lists: Lists,
        /// Place among the frames.
        frame: usize,
    },
    /// Where a frame begins or ends.
    Bound {
        edge: Edge,
        /// Place among the frames.
        frame: usize,
    },
}

/// Lowers the windows of an operator.
pub(super) fn window(
    lowering: &Lowering,
    operator: (&[WindowExpression], &[Expr], &[SortOrder], &Operator),
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let (expressions, partition, order, child) = operator;
    let args = expressions.iter().flat_map(|of| of.function.args());
    let bounds = expressions
        .iter()
        .flat_map(|of| [&of.frame.lower, &of.frame.upper])
        .filter_map(|bound| match bound {
            Bound::Offset(offset) => Some(offset),
            _ => None,
        });
    let below = needed(demand, args.chain(bounds).chain(spec(partition, order)));
    let child = sorted(lowering, child, inputs, below.as_ref())?;
    let input = child.output()?.to_vec();
    let mut plan = Plan {
        keys: Keys::new(partition, order, &input)?,
        frames: Vec::new(),
        functions: Vec::new(),
    };
    for expression in expressions {
        let function = plan.function(expression, order, &input)?;
        plan.functions.push(function);
    }
    let own = expressions.iter().map(|expression| &expression.output);
    let output = input.iter().chain(own).cloned().collect();
    let plan = Arc::new(plan);
    let start = move |start: &Start<'_>| {
        let windows = run::Windows::new(Arc::clone(&plan), start);
        Ok(pipe(windows, start.input(0)?, start.baseline()))
    };
    Lowered::unary("WindowExec", output, child, Arc::new(start))
}

/// Lowers a limit of the rows of each partition.
pub(super) fn group_limit(
    lowering: &Lowering,
    operator: (&[Expr], &[SortOrder], RankLike, i32, &Operator),
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let (partition, order, rank, limit, child) = operator;
    let below = needed(demand, spec(partition, order));
    let child = sorted(lowering, child, inputs, below.as_ref())?;
    let input = child.output()?.to_vec();
    let keys = Arc::new(Keys::new(partition, order, &input)?);
    let limit = u64::try_from(limit).unwrap_or(0);
    let start = move |start: &Start<'_>| {
        let limit = group_limit::GroupLimit::new(Arc::clone(&keys), rank, limit);
        Ok(pipe(limit, start.input(0)?, start.baseline()))
    };
    Lowered::unary("WindowGroupLimitExec", input, child, Arc::new(start))
}

fn spec<'a>(partition: &'a [Expr], order: &'a [SortOrder]) -> impl Iterator<Item = &'a Expr> {
    partition.iter().chain(order.iter().map(|by| &by.child))
}

/// The input, in Spark's order.
fn sorted(
    lowering: &Lowering,
    child: &Operator,
    inputs: &Inputs,
    columns: Option<&std::collections::HashSet<catalyst::ExprId>>,
) -> Result<Lowered> {
    let demand = Demand {
        columns,
        ordered: true,
    };
    lowering.operator(child, inputs, demand)
}

impl Keys {
    fn new(partition: &[Expr], order: &[SortOrder], input: &[Attribute]) -> Result<Self> {
        let partition = partition.iter().map(|key| {
            let order = SortOrder {
                child: key.clone(),
                ascending: true,
                nulls_first: true,
            };
            lower_sort(&order, input)
        });
        Ok(Self {
            partition: partition.collect::<Result<_>>()?,
            order: order
                .iter()
                .map(|by| lower_sort(by, input))
                .collect::<Result<_>>()?,
        })
    }

    fn partition_of(&self, batch: &RecordBatch) -> DataFusionResult<Vec<ArrayRef>> {
        values(&self.partition, batch)
    }

    fn order_of(&self, batch: &RecordBatch) -> DataFusionResult<Vec<ArrayRef>> {
        values(&self.order, batch)
    }
}

fn values(keys: &[PhysicalSortExpr], batch: &RecordBatch) -> DataFusionResult<Vec<ArrayRef>> {
    keys.iter().map(|key| value(&key.expr, batch)).collect()
}

/// The values of an expression for the rows of a batch.
fn value(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> DataFusionResult<ArrayRef> {
    expr.evaluate(batch)?.into_array(batch.num_rows())
}

impl Plan {
    fn function(
        &mut self,
        expression: &WindowExpression,
        order: &[SortOrder],
        input: &[Attribute],
    ) -> Result<Function> {
        let rank = |of| Ok(Function::Placement(of));
        match &expression.function {
            WindowFunction::Python { .. } => {
                Err(Unsupported::of_use("a Python function among others"))
            }
            WindowFunction::RowNumber => rank(Placement::RowNumber),
            WindowFunction::Rank => rank(Placement::Rank),
            WindowFunction::DenseRank => rank(Placement::DenseRank),
            WindowFunction::PercentRank => rank(Placement::PercentRank),
            WindowFunction::CumeDist => rank(Placement::CumeDist),
            WindowFunction::NTile { buckets } => match usize::try_from(*buckets) {
                Ok(buckets) if buckets > 0 => rank(Placement::NTile(buckets)),
                _ => Err(Unsupported::of_use("ntile of no buckets")),
            },
            WindowFunction::Offset {
                input: value,
                offset,
                default,
                ignore_nulls,
            } => {
                let default = default.as_ref().map(|default| lower(default, input));
                Ok(Function::Pick(Pick::offset(
                    lower(value, input)?,
                    *offset,
                    default.transpose()?,
                    *ignore_nulls,
                )))
            }
            WindowFunction::NthValue {
                input: value,
                offset,
                ignore_nulls,
            } => {
                let frame = self.frame(expression, order, input)?;
                let value = lower(value, input)?;
                Pick::nth(value, frame, *offset, *ignore_nulls).map(Function::Pick)
            }
            WindowFunction::Aggregate(aggregate) => {
                let frame = self.frame(expression, order, input)?;
                let function = &aggregate.function;
                if let Some(pick) = Pick::aggregate(function, frame, input)? {
                    return Ok(Function::Pick(pick));
                }
                if let Some(aggregate) = Aggregate::new(function, input)? {
                    return Ok(Function::Aggregate { aggregate, frame });
                }
                if let Some(lists) = Lists::new(function, input)? {
                    return Ok(Function::Lists { lists, frame });
                }
                Ok(Function::Gathered {
                    gathered: Gathered::new(function, &expression.frame, input)?,
                    frame,
                })
            }
        }
    }

    /// The place of an expression's frame.
    fn frame(
        &mut self,
        expression: &WindowExpression,
        order: &[SortOrder],
        input: &[Attribute],
    ) -> Result<usize> {
        let known = self.frames.iter();
        let mut known = known.map(|known| known.frame == expression.frame);
        if let Some(place) = known.position(|same| same) {
            return Ok(place);
        }
        self.frames
            .push(FrameSpec::new(&expression.frame, order, input)?);
        Ok(self.frames.len() - 1)
    }

    /// The columns of the functions, for whole partitions.
    fn evaluate(
        &self,
        batch: &RecordBatch,
        memory: &mut Memory<'_>,
    ) -> DataFusionResult<Vec<Column>> {
        let layout = Layout::new(&self.keys, batch)?;
        let frames = self.frames.iter();
        let frames = frames.map(|frame| frame.of_rows(&layout, batch));
        let frames = frames.collect::<DataFusionResult<Vec<_>>>()?;
        let of = |place: usize| match frames.get(place) {
            Some(frames) => Ok(frames.as_slice()),
            None => Err(rows::error::bail_out("a window without a frame")),
        };
        let functions = self.functions.iter();
        let mut columns = Vec::with_capacity(functions.len());
        for function in functions {
            columns.push(Column::Own(match function {
                Function::Placement(rank) => rank.column(&layout)?,
                Function::Pick(pick) => pick.column(&layout, of, batch)?,
                Function::Bound { edge, frame } => edge.column(&layout, of(*frame)?)?,
                Function::Aggregate { aggregate, frame } => aggregate.column(of(*frame)?, batch)?,
                Function::Lists { lists, frame } => {
                    columns.push(lists.column(of(*frame)?, batch)?);
                    continue;
                }
                Function::Gathered { gathered, frame } => {
                    columns.push(gathered.column(of(*frame)?, batch, memory)?);
                    continue;
                }
            }));
        }
        Ok(columns)
    }
}

#[cfg(test)]
mod tests;
