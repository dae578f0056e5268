//! From operator objects, or what closures captured of them, to [`Operator`]s. Children are read already.

use crate::aggregate::{AggregateExpression, place_buffers};
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Draw, Expr, Share, read_attributes, read_sort_orders};
use crate::generate::generate;
use crate::join::{BuildSide, EquiJoin, JoinType};
use crate::metrics::{Metric, of_operator};
use crate::object::{Object, Reader};
use crate::objects::{self, ObjectOperator, gives_objects, object_operator};
use crate::output::plan_output;
use crate::plan::{AggregateStrategy, Broadcast, Columns, Operator, OperatorKind};
use crate::python::eval_python;
use crate::table_python::table_python;
use crate::window::{RankLike, read_expressions, read_spec};

/// An operator with one input, from its object or from the evaluator factory of its closure.
pub(crate) fn unary(reader: &Reader<'_>, plan: Object<'_>, child: Operator) -> Result<Operator> {
    match plan.name() {
        "WindowExec" | "WindowEvaluatorFactory" => return window(reader, plan, child),
        "WindowGroupLimitExec" | "WindowGroupLimitEvaluatorFactory" => {
            return group_limit(reader, plan, child);
        }
        "GenerateExec" => return generate(reader, plan, child),
        "BatchEvalPythonExec" | "ArrowEvalPythonExec" => {
            return eval_python(reader, plan, child);
        }
        "BatchEvalPythonUDTFExec" | "ArrowEvalPythonUDTFExec" => {
            return table_python(reader, plan, child);
        }
        class => {
            if let Some(operator) = ObjectOperator::of(class) {
                return object_operator(reader, operator, plan, vec![child]);
            }
        }
    }
    let mut metrics = of_operator(reader, plan)?;
    let output = child.output.clone();
    let child = Box::new(child);
    let (kind, output) = match plan.name() {
        name @ ("FilterExec" | "FilterEvaluatorFactory") => {
            if name == "FilterEvaluatorFactory" {
                metrics = vec![metric(reader, plan, "numOutputRows")?];
            }
            if gives_objects(&child) {
                return objects::filter(plan, metrics, *child);
            }
            output.require()?;
            let condition = Expr::read(reader, plan.value("condition")?)?;
            (OperatorKind::Filter { condition, child }, output)
        }
        "ProjectExec" | "ProjectEvaluatorFactory" => {
            if gives_objects(&child) {
                return objects::project(reader, plan, *child);
            }
            child.output.require()?;
            let list = Expr::read_all(reader, plan.elements("projectList")?)?;
            let output = Columns::Known(attributes(&list)?);
            (OperatorKind::Project { list, child }, output)
        }
        "HashAggregateExec" => aggregate(reader, plan, AggregateStrategy::Hash, child)?,
        "SortAggregateExec" => aggregate(reader, plan, AggregateStrategy::Sort, child)?,
        "ObjectHashAggregateExec" => {
            // The closure has it; this is Spark's default.
            let strategy = AggregateStrategy::ObjectHash { sorts_from: 128 };
            aggregate(reader, plan, strategy, child)?
        }
        "SampleExec" => {
            if plan.bool("withReplacement")? {
                return Err(Unsupported::of_use("a sample with replacement"));
            }
            let (lower, upper) = (plan.double("lowerBound")?, plan.double("upperBound")?);
            output.require()?;
            // From Spark 4.2 on a seed need not be given.
            let seed = match plan.get("resolvedSeed") {
                Some(_) => plan.long("resolvedSeed")?,
                None => plan.long("seed")?,
            };
            let condition = sampled(lower, upper, seed);
            (OperatorKind::Filter { condition, child }, output)
        }
        "SortExec" => {
            output.require()?;
            let order = read_sort_orders(reader, plan.elements("sortOrder")?)?;
            let global = plan.bool("global")?;
            let kind = OperatorKind::Sort {
                order,
                global,
                child,
            };
            (kind, output)
        }
        "LocalLimitExec" => {
            let kind = OperatorKind::Limit {
                limit: plan.int("limit")?,
                offset: 0,
                child,
            };
            (kind, output)
        }
        "GlobalLimitExec" => {
            let kind = OperatorKind::Limit {
                limit: plan.int("limit")?,
                offset: plan.int("offset")?,
                child,
            };
            (kind, output)
        }
        "ExpandExec" => {
            let mut projections = Vec::new();
            for projection in plan.elements("projections")? {
                let values = reader.graph.elements(projection);
                let values = values.ok_or_else(|| plan.missing("projections"))?;
                projections.push(Expr::read_all(reader, values)?);
            }
            let output = read_attributes(reader, plan.elements("output")?)?;
            if projections.iter().any(|of| of.len() != output.len()) {
                return Err(plan.missing("projections"));
            }
            child.output.require()?;
            (
                OperatorKind::Expand { projections, child },
                Columns::Known(output),
            )
        }
        other => return Err(Unsupported::Class(other.to_owned())),
    };
    Ok(Operator {
        kind,
        output,
        metrics,
    })
}

/// Whether a row is in a sample.
pub(crate) fn sampled(lower: f64, upper: f64, seed: i64) -> Expr {
    let share = Share::new(lower, upper);
    Draw::Sampled { seed, share }.into()
}

fn window(reader: &Reader<'_>, plan: Object<'_>, child: Operator) -> Result<Operator> {
    let metrics = match plan.name() {
        "WindowExec" => of_operator(reader, plan)?,
        _ => window_metrics(reader, plan)?,
    };
    let (expressions, list) = read_expressions(reader, plan)?;
    let (partition, order) = read_spec(reader, plan)?;
    let input = child.output.require()?.to_vec();
    let own = expressions.iter().map(|expression| &expression.output);
    let windows = Operator {
        output: Columns::Known(input.iter().chain(own).cloned().collect()),
        kind: OperatorKind::Window {
            expressions,
            partition,
            order,
            child: Box::new(child),
        },
        metrics,
    };
    over_windows(windows, input, list)
}

/// Windows behind the columns of an input, and these columns if they are others than the windows' own.
pub(crate) fn over_windows(
    windows: Operator,
    input: Vec<Attribute>,
    list: Vec<Expr>,
) -> Result<Operator> {
    if list.is_empty() {
        return Ok(windows);
    }
    let columns = input.into_iter().map(Expr::attribute);
    let list: Vec<Expr> = columns.chain(list).collect();
    Ok(Operator {
        output: Columns::Known(attributes(&list)?),
        kind: OperatorKind::Project {
            list,
            child: Box::new(windows),
        },
        metrics: Vec::new(),
    })
}

fn group_limit(reader: &Reader<'_>, plan: Object<'_>, child: Operator) -> Result<Operator> {
    child.output.require()?;
    let (partition, order) = read_spec(reader, plan)?;
    Ok(Operator {
        output: child.output.clone(),
        kind: OperatorKind::WindowGroupLimit {
            partition,
            order,
            rank: RankLike::read(plan)?,
            limit: plan.int("limit")?,
            child: Box::new(child),
        },
        metrics: match plan.name() {
            "WindowGroupLimitExec" => of_operator(reader, plan)?,
            _ => vec![metric(reader, plan, "numOutputRows")?],
        },
    })
}

/// The metrics of a `WindowEvaluatorFactory`: which there are depends on the release.
fn window_metrics(reader: &Reader<'_>, factory: Object<'_>) -> Result<Vec<Metric>> {
    let fields = [
        "spillSize",
        "segmentTreeFrames",
        "segmentTreeFallbackFrames",
        "monotonicDequeFrames",
    ];
    let there = fields.iter().filter(|name| factory.get(name).is_some());
    there.map(|name| metric(reader, factory, name)).collect()
}

/// A metric in a field of its name.
pub(crate) fn metric(reader: &Reader<'_>, object: Object<'_>, name: &str) -> Result<Metric> {
    Metric::read(reader, name, object.value(name)?)
}

pub(crate) fn attributes(list: &[Expr]) -> Result<Vec<Attribute>> {
    list.iter()
        .map(|named| {
            named
                .to_attribute()
                .ok_or_else(|| Unsupported::of_use("an output without a name"))
        })
        .collect()
}

fn aggregate(
    reader: &Reader<'_>,
    plan: Object<'_>,
    strategy: AggregateStrategy,
    child: Box<Operator>,
) -> Result<(OperatorKind, Columns)> {
    let mut aggregates = plan
        .elements("aggregateExpressions")?
        .into_iter()
        .map(|value| AggregateExpression::read(reader, value))
        .collect::<Result<Vec<_>>>()?;
    let result = Expr::read_all(reader, plan.elements("resultExpressions")?)?;
    let output = attributes(&result)?;
    let offset = usize::try_from(plan.int("initialInputBufferOffset")?)
        .map_err(|_| plan.missing("initialInputBufferOffset"))?;
    place_buffers(&mut aggregates, child.output.require()?, offset)?;
    let kind = OperatorKind::Aggregate {
        strategy,
        grouping: Expr::read_all(reader, plan.elements("groupingExpressions")?)?,
        aggregates,
        aggregate_attributes: read_attributes(reader, plan.elements("aggregateAttributes")?)?,
        result,
        initial_input_buffer_offset: offset,
        child,
    };
    Ok((kind, Columns::Known(output)))
}

/// The sides of a broadcast join: what was broadcast and what is streamed.
pub(crate) fn broadcast_sides<'g>(plan: Object<'g>) -> Result<(Object<'g>, Object<'g>)> {
    Ok(match BuildSide::read(plan)? {
        BuildSide::Left => (plan.object("left")?, plan.object("right")?),
        BuildSide::Right => (plan.object("right")?, plan.object("left")?),
    })
}

/// A join with a broadcast side.
pub(crate) fn broadcast_join(
    reader: &Reader<'_>,
    plan: Object<'_>,
    broadcast: Broadcast,
    streamed: Operator,
) -> Result<Operator> {
    let metrics = of_operator(reader, plan)?;
    let build_side = BuildSide::read(plan)?;
    let build_output = plan_output(reader, broadcast_sides(plan)?.0)?;
    let join_type = JoinType::read(reader, plan)?;
    let streamed_output = streamed.output.require()?;
    let output = Columns::Known(match build_side {
        BuildSide::Left => join_type.output(&build_output, streamed_output),
        BuildSide::Right => join_type.output(streamed_output, &build_output),
    });
    let streamed = Box::new(streamed);
    let kind = match plan.name() {
        "BroadcastHashJoinExec" => OperatorKind::BroadcastHashJoin {
            join: EquiJoin::read(reader, plan)?,
            build_side,
            null_aware_anti: plan.bool("isNullAwareAntiJoin")?,
            broadcast,
            build_output,
            streamed,
        },
        "BroadcastNestedLoopJoinExec" => OperatorKind::BroadcastNestedLoopJoin {
            join_type,
            condition: Expr::read_option(reader, plan.option("condition")?)?,
            build_side,
            broadcast,
            build_output,
            streamed,
        },
        other => return Err(Unsupported::Class(other.to_owned())),
    };
    Ok(Operator {
        kind,
        output,
        metrics,
    })
}

/// A join of two inputs, from its object or from the evaluator factory of its closure.
pub(crate) fn shuffled_join(
    reader: &Reader<'_>,
    plan: Object<'_>,
    left: Operator,
    right: Operator,
) -> Result<Operator> {
    let join = EquiJoin::read(reader, plan)?;
    let (left_output, right_output) = (left.output.require()?, right.output.require()?);
    let output = Columns::Known(join.join_type.output(left_output, right_output));
    let (left, right) = (Box::new(left), Box::new(right));
    let (kind, metrics) = match plan.name() {
        "SortMergeJoinExec" => {
            let kind = OperatorKind::SortMergeJoin { join, left, right };
            (kind, of_operator(reader, plan)?)
        }
        "SortMergeJoinEvaluatorFactory" => {
            let metrics = ["numOutputRows", "spillSize"].map(|name| metric(reader, plan, name));
            let kind = OperatorKind::SortMergeJoin { join, left, right };
            (kind, metrics.into_iter().collect::<Result<_>>()?)
        }
        "ShuffledHashJoinExec" => {
            let kind = OperatorKind::ShuffledHashJoin {
                join,
                build_side: BuildSide::read(plan)?,
                left,
                right,
            };
            (kind, of_operator(reader, plan)?)
        }
        other => return Err(Unsupported::Class(other.to_owned())),
    };
    Ok(Operator {
        kind,
        output,
        metrics,
    })
}

/// Whether the left input of a join of two is its first: Spark's streamed side is.
pub(crate) fn left_is_streamed(reader: &Reader<'_>, plan: Object<'_>) -> Result<bool> {
    match plan.name() {
        "ShuffledHashJoinExec" => Ok(BuildSide::read(plan)? == BuildSide::Right),
        "SortMergeJoinExec" => Ok(JoinType::read(reader, plan)? != JoinType::RightOuter),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}
