//! `AggregateInPandasExec`, from Spark 4.1 on `ArrowAggregatePythonExec`: values that functions of Python compute of
//! rows of the same keys.
//!
//! The closure captured the operator, what the functions are given, the functions, where they find it, its types, and
//! the session's part.

use javaser::Closure;
use javaser::arena::{NodeId, Value};

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, expr_id};
use crate::lineage::{Hint, Lineage, Tree};
use crate::metrics::read_map;
use crate::object::{Object, Reader};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::python::{chained, groups_in_batches, kind_of, text_option, text_pairs};
use crate::types::DataType;

/// What functions take that compute a value of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateUdf {
    /// `SQL_GROUPED_AGG_PANDAS_UDF`: series.
    Series,
    /// `SQL_GROUPED_AGG_ARROW_UDF`: arrays.
    Arrays,
    /// `SQL_GROUPED_AGG_PANDAS_ITER_UDF`: iterators of series.
    SeriesIterator,
    /// `SQL_GROUPED_AGG_ARROW_ITER_UDF`: iterators of arrays.
    ArrayIterator,
}

/// Functions that compute values of groups.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregatePython {
    /// What they take.
    pub kind: AggregateUdf,
    /// The functions.
    pub functions: Vec<GroupFunction>,
    /// What they are given of each row.
    pub given: Vec<Expr>,
    /// Rows of which these are the same are a group. The input is sorted by them.
    pub grouping: Vec<Expr>,
    /// Columns that come out, of those of groups and of results.
    pub result: Vec<Expr>,
    /// Whether each group comes in a stream of its own, and in batches as long as the session says, as from 4.1 on, or
    /// as one batch.
    pub in_batches: bool,
    /// Time zone in which the functions see timestamps.
    pub time_zone: String,
    /// What workers are told.
    pub settings: Vec<(String, String)>,
    /// Artifacts of which session workers see, if the session has its own.
    pub job_artifact_uuid: Option<String>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupFunction {
    /// The `PythonFunction`s in the stage's graph; each takes what the one before it gives.
    pub functions: Vec<NodeId>,
    /// `resultId`, by which profiles are kept.
    pub result_id: i64,
    /// Which of what is given it takes, and the names of those that have one.
    pub arguments: Vec<(usize, Option<String>)>,
    /// The column of its results.
    pub column: Attribute,
}

impl AggregateUdf {
    /// Each once.
    pub const ALL: [Self; 4] = [
        Self::Series,
        Self::Arrays,
        Self::SeriesIterator,
        Self::ArrayIterator,
    ];

    /// The number of its `PythonEvalType`.
    #[must_use]
    pub fn eval_type(self) -> i32 {
        match self {
            Self::Series => 202,
            Self::SeriesIterator => 217,
            Self::Arrays => 252,
            Self::ArrayIterator => 254,
        }
    }

    /// Whether functions see in which batches a group comes.
    #[must_use]
    pub fn sees_batches(self) -> bool {
        matches!(self, Self::SeriesIterator | Self::ArrayIterator)
    }
}

/// The places of the closure's parameters behind the operator.
mod parameter {
    pub(super) const GIVEN: usize = 1;
    pub(super) const FUNCTIONS: usize = 2;
    pub(super) const ARGUMENTS: usize = 3;
    pub(super) const TIME_ZONE: usize = 5;
    pub(super) const LARGE_TYPES: usize = 6;
    pub(super) const SETTINGS: usize = 7;
    pub(super) const ARTIFACTS: usize = 8;
    pub(super) const SESSION: usize = 9;
}

impl AggregatePython {
    fn read(reader: &Reader<'_>, plan: Object<'_>, closure: &Closure) -> Result<Self> {
        let kind = kind_of(plan, &AggregateUdf::ALL, AggregateUdf::eval_type)?;
        let captured = |place: usize| closure.args.get(place).copied();
        let unknown = || closure.unsupported();
        let option = |place| match captured(place) {
            Some(value) => reader.graph.scala_option(value).ok_or_else(unknown),
            None => Ok(None),
        };
        if option(parameter::SESSION)?.is_some() {
            return Err(Unsupported::of_use("logs of Python workers"));
        }
        let large = captured(parameter::LARGE_TYPES).and_then(|large| reader.graph.bool(large));
        if large.ok_or_else(unknown)? {
            return Err(Unsupported::of_use("Arrow streams with large texts"));
        }
        if plan.option("sessionWindowOption")?.is_some() {
            return Err(Unsupported::of_use("session windows"));
        }
        let zone = captured(parameter::TIME_ZONE).and_then(|zone| reader.graph.str(zone));
        let settings = captured(parameter::SETTINGS).ok_or_else(unknown)?;
        let exprs = |values: Vec<Value>| -> Result<Vec<Expr>> {
            let values = values.into_iter();
            values.map(|value| Expr::read(reader, value)).collect()
        };
        let given = exprs(closure.elements(reader, parameter::GIVEN)?)?;
        Ok(Self {
            kind,
            functions: functions(reader, plan, closure, given.len())?,
            given,
            grouping: exprs(plan.elements("groupingExpressions")?)?,
            result: exprs(plan.elements("resultExpressions")?)?,
            in_batches: groups_in_batches(reader)?,
            time_zone: zone.ok_or_else(unknown)?.into_owned(),
            settings: text_pairs(reader, settings).ok_or_else(unknown)?,
            job_artifact_uuid: text_option(reader, option(parameter::ARTIFACTS)?),
        })
    }
}

/// The functions with their arguments and the columns of their results.
fn functions(
    reader: &Reader<'_>,
    plan: Object<'_>,
    closure: &Closure,
    given: usize,
) -> Result<Vec<GroupFunction>> {
    let called = closure.elements(reader, parameter::FUNCTIONS)?;
    let arguments = closure.args.get(parameter::ARGUMENTS);
    let arguments = arguments.and_then(|array| reader.graph.array(*array));
    let arguments = arguments.ok_or_else(|| closure.unsupported())?;
    let aggregates = plan.elements("aggExpressions")?;
    if called.len() != arguments.len() || called.len() != aggregates.len() {
        return Err(closure.unsupported());
    }
    let all = called.into_iter().zip(arguments).zip(aggregates);
    let all = all.map(|((called, arguments), aggregate)| {
        let (functions, result_id) = chained(reader, called)?;
        let arguments = reader.graph.array(arguments);
        let arguments = arguments.ok_or_else(|| closure.unsupported())?.into_iter();
        let arguments = arguments.map(|of| argument(reader, of));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        if arguments.iter().any(|(place, _)| *place >= given) {
            return Err(closure.unsupported());
        }
        Ok(GroupFunction {
            functions,
            result_id,
            arguments,
            column: result_column(reader, reader.expect(aggregate)?)?,
        })
    });
    all.collect()
}

/// A place (in Spark 3.5), or an `ArgumentMetadata`.
fn argument(reader: &Reader<'_>, value: Value) -> Result<(usize, Option<String>)> {
    let place = |number: i64| usize::try_from(number);
    if let Some(number) = reader.graph.int(value) {
        let number = place(number).map_err(|_| Unsupported::of_use("a negative place"))?;
        return Ok((number, None));
    }
    let of = reader.expect(value)?;
    if of.name() != "EvalPythonExec$ArgumentMetadata" {
        return Err(Unsupported::Class(of.name().to_owned()));
    }
    let number = place(of.int("offset")?.into()).map_err(|_| of.missing("offset"))?;
    Ok((number, text_option(reader, of.option("name")?)))
}

/// The column of the results of an `AggregateExpression`.
fn result_column(reader: &Reader<'_>, aggregate: Object<'_>) -> Result<Attribute> {
    if aggregate.option("filter")?.is_some() || aggregate.bool("isDistinct")? {
        return Err(Unsupported::of_use("a Python function of some rows"));
    }
    let function = aggregate.object("aggregateFunction")?;
    if function.name() != "PythonUDAF" {
        return Err(Unsupported::Class(function.name().to_owned()));
    }
    Ok(Attribute {
        name: function.text("name")?.into_owned(),
        data_type: DataType::read(reader, function.value("dataType")?)?,
        nullable: true,
        id: expr_id(aggregate.object("resultId")?)?,
    })
}

impl<'g> Lineage<'_, 'g> {
    /// What functions compute of the groups of an RDD.
    pub(crate) fn aggregate_python(
        &mut self,
        closure: &Closure,
        child: Object<'g>,
    ) -> Result<Tree> {
        let plan = closure.arg(self.reader, 0)?;
        let aggregate = AggregatePython::read(self.reader, plan, closure)?;
        let child = self.rdd(child, Hint::plan(plan.object("child")?))?;
        let output: Option<Vec<Attribute>> =
            aggregate.result.iter().map(Expr::to_attribute).collect();
        let output = output.ok_or_else(|| Unsupported::of_use("an output without a name"))?;
        Ok(Tree {
            operator: Operator {
                output: Columns::Known(output),
                metrics: read_map(self.reader, plan, "pythonMetrics")?,
                kind: OperatorKind::AggregatePython {
                    aggregate: Box::new(aggregate),
                    child: Box::new(child.operator),
                },
            },
            inputs: child.inputs,
        })
    }
}
