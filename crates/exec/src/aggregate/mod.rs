//! `HashAggregateExec` and its kin. Buffers are Spark's: its executors may compute the other half of an aggregation.

mod accumulator;
mod bits;
mod boolean;
mod bytes;
mod collect;
mod collect_set;
mod common;
mod comoment;
mod decimal;
mod digest;
mod extremes_by;
mod extremum_by;
mod first;
mod frequencies;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod histogram;
mod hll;
mod interval;
mod list_agg;
mod minmax;
mod mode;
mod moment;
mod nested;
mod number;
mod number_groups;
mod percentile;
mod pivot;
mod run;
mod scala_set;
mod sketch;
mod spill;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::PhysicalExpr;

pub(super) use self::accumulator::Factory;
pub(super) use self::decimal::average;
pub(super) use self::moment::{Buffer as MomentBuffer, moment_of};

use self::common::take_common;
use self::run::run;
use super::exec::Start;
use super::expr::lower;
use super::lower::{Demand, Lowered, Lowering, Result, references, without_sort};
use catalyst::DataType;
use catalyst::Inputs;
use catalyst::Unsupported;
use catalyst::{AggregateExpression, AggregateFunction, AggregateKind, AggregateMode};
use catalyst::{AggregateStrategy, Operator, OperatorKind};
use catalyst::{Attribute, Expr, ExprId, ExprKind, Function};
use rows::types::{ToArrow as _, schema_of_types};

/// An aggregation that was judged. Shared by the tasks of a stage.
#[derive(Debug)]
struct Plan {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// Columns of the keys.
    key_schema: SchemaRef,
    /// What arguments have in common; each may use those before it.
    common: Vec<Arc<dyn PhysicalExpr>>,
    /// Columns of the input with those that are common.
    input_schema: SchemaRef,
    /// Arguments and buffers of the functions, each once: a sum and an average of the same have the same.
    args: Vec<Arc<dyn PhysicalExpr>>,
    functions: Vec<Judged>,
    /// Keys and buffers: what is spilled.
    buffer_schema: SchemaRef,
    output: Output,
    /// Whether groups are to come out in the order in which they are met.
    ordered: bool,
    /// With how many groups Spark sets their buffers aside and adds them to those of all later rows.
    sets_aside: Option<usize>,
    /// Whether rows of a group have to be added up at once, for what comes of parts is something else.
    in_one_piece: bool,
    /// Whether another aggregation adds up what comes out, so that a group may come out several times, and nothing
    /// depends on which rows were added up before.
    may_repeat: bool,
}

#[derive(Debug)]
struct Judged {
    factory: Factory,
    /// Whether the arguments are buffers.
    merges: bool,
    /// Places of the arguments or buffers among those of all functions.
    args: Vec<usize>,
    filter: Option<Arc<dyn PhysicalExpr>>,
}

/// What comes out.
#[derive(Debug)]
enum Output {
    /// Keys and buffers.
    Buffers,
    /// Expressions of keys and results.
    Results {
        /// Keys and results.
        schema: SchemaRef,
        exprs: Vec<Arc<dyn PhysicalExpr>>,
    },
}

/// Lowers an aggregation.
pub(super) fn aggregate(
    lowering: &Lowering,
    operator: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let OperatorKind::Aggregate {
        grouping,
        aggregates,
        aggregate_attributes,
        result,
        child,
        strategy,
        ..
    } = &operator.kind
    else {
        return Err(Unsupported::of_use("no aggregation"));
    };
    let below = needed(grouping, aggregates);
    // Groups come out in the order in which they are met: sorted, if the input of Spark's operator is.
    let ordered = demand.ordered && *strategy == AggregateStrategy::Sort;
    let by_order = |aggregate: &AggregateExpression| aggregate.function.kind.depends_on_order();
    let below = Demand {
        columns: below.as_ref(),
        ordered: ordered || aggregates.iter().any(by_order),
    };
    // Spark's sort leaves rows of equal keys in their order: that is what functions see of it.
    let sorted = ordered || (below.ordered && !is_sorted_by_keys(child, grouping));
    let child = if sorted { child } else { without_sort(child) };
    let child = lowering.operator(child, inputs, below)?;
    let input = child.output()?;
    let output_columns = operator.output.require()?;
    let keys = grouping.iter().map(|key| lower(key, input));
    let keys = keys.collect::<Result<Vec<_>>>()?;
    if grouping.iter().any(|key| key.data_type == DataType::Null) {
        return Err(Unsupported::of_use("a grouping by nulls"));
    }
    if grouping.iter().any(|key| has_maps(&key.data_type)) {
        return Err(Unsupported::of_use("a grouping by maps"));
    }
    if grouping.iter().any(|key| key.data_type.has_variants()) {
        return Err(Unsupported::of_use("a grouping by variants"));
    }
    let mut distinct = Vec::new();
    let functions = aggregates.iter();
    let functions = functions.map(|aggregate| function(aggregate, input, &mut distinct));
    let functions = functions.collect::<Result<Vec<_>>>()?;
    let common = take_common(&mut distinct);
    let mut columns = input.to_vec();
    let mut common_exprs = Vec::new();
    for (column, expr) in common {
        common_exprs.push(lower(&expr, &columns)?);
        columns.push(column);
    }
    let args = distinct.iter().map(|arg| lower(arg, &columns));
    let args = args.collect::<Result<Vec<_>>>()?;
    let key_types = || grouping.iter().map(|key| &key.data_type);
    let buffers = functions
        .iter()
        .flat_map(|function| &function.factory.buffer);
    let types: Vec<&DataType> = key_types().chain(buffers).collect();
    let buffer_schema = schema_of_types(types.iter().copied())?;
    let ends = |mode| matches!(mode, AggregateMode::Final | AggregateMode::Complete);
    let output = if aggregates.iter().any(|aggregate| !ends(aggregate.mode)) {
        if aggregates.iter().any(|aggregate| ends(aggregate.mode)) {
            return Err(Unsupported::of_use(
                "an aggregation with partial and final functions",
            ));
        }
        // By place: Spark does not look at the result expressions here either.
        let same = output_columns.iter().map(|column| &column.data_type);
        if !same.eq(types.iter().copied()) {
            return Err(Unsupported::of_use(
                "a partial aggregation of another output",
            ));
        }
        Output::Buffers
    } else {
        results(grouping, aggregates, aggregate_attributes, result)?
    };
    let may_repeat = *strategy == AggregateStrategy::Hash
        && matches!(output, Output::Buffers)
        && !(ordered || grouping.is_empty() || aggregates.is_empty())
        && aggregates.iter().zip(&functions).all(may_be_split);
    let plan = Arc::new(Plan {
        may_repeat,
        key_schema: schema_of_types(key_types())?,
        keys,
        common: common_exprs,
        input_schema: rows::types::schema_of(&columns)?,
        args,
        functions,
        buffer_schema,
        output,
        ordered,
        in_one_piece: aggregates
            .iter()
            .any(|aggregate| aggregate.function.kind.depends_on_parts()),
        sets_aside: match strategy {
            AggregateStrategy::ObjectHash { sorts_from } if !grouping.is_empty() => {
                Some(usize::try_from(*sorts_from).unwrap_or_default().max(1))
            }
            _ => None,
        },
    });
    let start = move |start: &Start<'_>| run(Arc::clone(&plan), start);
    let name = "HashAggregateExec";
    Lowered::unary(name, output_columns.to_vec(), child, Arc::new(start))
}

/// Whether rows of a group may be in several buffers, without any difference to the result of all together.
fn may_be_split((aggregate, judged): (&AggregateExpression, &Judged)) -> bool {
    let is_float = |of: &DataType| matches!(of, DataType::Float | DataType::Double);
    // Buffers of other functions, and of these that merge, are of groups that come once.
    aggregate.mode == AggregateMode::Partial
        && match aggregate.function.kind {
            AggregateKind::Count
            | AggregateKind::Min
            | AggregateKind::Max
            | AggregateKind::Bits(_) => true,
            // What was rounded depends on what was added before.
            AggregateKind::Sum { .. } | AggregateKind::Average { .. } => {
                !judged.factory.buffer.iter().any(is_float)
            }
            _ => false,
        }
}

/// Whether a sort of a partition has no keys but those of the groups.
fn is_sorted_by_keys(child: &Operator, grouping: &[Expr]) -> bool {
    match &child.kind {
        OperatorKind::Sort {
            order,
            global: false,
            ..
        } => order.iter().all(|by| grouping.contains(&by.child)),
        _ => false,
    }
}

/// Whether there are maps in it: the order of their entries is no part of what they are.
fn has_maps(of: &DataType) -> bool {
    match of {
        DataType::Map { .. } => true,
        DataType::Array { element, .. } => has_maps(element),
        DataType::Struct(fields) => fields.iter().any(|field| has_maps(&field.data_type)),
        _ => false,
    }
}

fn function(
    aggregate: &AggregateExpression,
    input: &[Attribute],
    distinct: &mut Vec<Expr>,
) -> Result<Judged> {
    let of = &aggregate.function;
    let factory = Factory::new(of)?;
    let merges = aggregate.mode.merges();
    let args: Vec<Expr> = match merges {
        true => of
            .input_buffer
            .iter()
            .cloned()
            .map(Expr::attribute)
            .collect(),
        false => rows_args(of),
    };
    let args = args.into_iter().map(|arg| {
        let known = distinct.iter().position(|known| *known == arg);
        known.unwrap_or_else(|| {
            distinct.push(arg);
            distinct.len() - 1
        })
    });
    let args = args.collect();
    let filter = match &aggregate.filter {
        // Rows were filtered before they went into a buffer.
        Some(filter) if !merges => Some(lower(filter, input)?),
        _ => None,
    };
    Ok(Judged {
        factory,
        merges,
        args,
        filter,
    })
}

/// What is computed of each row for a function: its arguments, for those that count hashes these before them.
pub(super) fn rows_args(of: &AggregateFunction) -> Vec<Expr> {
    let mut args = of.args.clone();
    if let AggregateKind::ApproxCountDistinct { .. } = of.kind {
        let hash = Expr {
            kind: ExprKind::Call {
                function: Function::XxHash64 { seed: 42 },
                args: args.clone(),
                mode: None,
                time_zone: None,
            },
            data_type: DataType::Long,
            nullable: false,
        };
        args.insert(0, hash);
    }
    args
}

fn results(
    grouping: &[Expr],
    aggregates: &[AggregateExpression],
    aggregate_attributes: &[Attribute],
    result: &[Expr],
) -> Result<Output> {
    // Arrays and structs may say something else of nulls.
    let own = aggregates
        .iter()
        .map(|aggregate| aggregate.function.data_type.to_arrow());
    let own = own.collect::<Result<Vec<_>>>()?;
    let others = aggregate_attributes
        .iter()
        .map(|column| column.data_type.to_arrow());
    if own != others.collect::<Result<Vec<_>>>()? {
        return Err(Unsupported::of_use("an aggregation of other results"));
    }
    let keys = grouping.iter().map(|key| match key.to_attribute() {
        Some(key) => Ok(key),
        None => Err(Unsupported::of_use("a grouping without a name")),
    });
    let mut columns = keys.collect::<Result<Vec<_>>>()?;
    columns.extend_from_slice(aggregate_attributes);
    let exprs = result.iter().map(|expr| lower(expr, &columns));
    Ok(Output::Results {
        schema: rows::types::schema_of(&columns)?,
        exprs: exprs.collect::<Result<_>>()?,
    })
}

/// The columns of the input that are needed; `None` if some are referred to by their places.
fn needed(grouping: &[Expr], aggregates: &[AggregateExpression]) -> Option<HashSet<ExprId>> {
    let mut ids = HashSet::new();
    let mut known = grouping.iter().all(|key| references(key, &mut ids));
    for aggregate in aggregates {
        let function = &aggregate.function;
        if aggregate.mode.merges() {
            ids.extend(function.input_buffer.iter().map(|column| column.id));
            continue;
        }
        let mut exprs = function.args.iter().chain(&aggregate.filter);
        known &= exprs.all(|expr| references(expr, &mut ids));
    }
    known.then_some(ids)
}

/// Whether a function of an argument of this type is computed.
pub(super) fn takes(kind: AggregateKind, input: &DataType) -> bool {
    Factory::takes(kind, input)
}

/// Columns of keys and buffers, or of keys and results.
type Columns = Vec<ArrayRef>;
