//! `WindowInPandasExec`, from Spark 4.1 on `ArrowWindowPythonExec`: values that functions of Python compute of the rows
//! of frames.
//!
//! Spark 3.5's closure captured the operator and what it had made of the session. From 4.0 on there is an evaluator
//! factory, whose evaluators ask the session when a task runs.

use javaser::Closure;

use crate::aggregate_python::AggregateUdf;
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, SortOrder};
use crate::lineage::{Hint, Lineage, Tree};
use crate::metrics::{Metric, of_operator, read_map};
use crate::object::{Object, Reader};
use crate::operators::{metric, over_windows};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::python::{
    ArrowSession, PythonUdf, groups_in_batches, has_worker_logs, kind_of, text_option, text_pairs,
};
use crate::window::{Frame, WindowExpression, WindowFunction, read_expressions, read_spec};

/// What functions take that compute a value of the rows of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowUdf {
    /// `SQL_WINDOW_AGG_PANDAS_UDF`: series.
    Series,
    /// `SQL_WINDOW_AGG_ARROW_UDF`: arrays.
    Arrays,
}

/// Functions that compute values of frames.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowPython {
    /// What they take.
    pub kind: WindowUdf,
    /// The functions, with the frames that they are called for.
    pub functions: Vec<FrameFunction>,
    /// Rows of which these are the same are a partition. The input is sorted by them.
    pub partition: Vec<Expr>,
    /// The order within a partition.
    pub order: Vec<SortOrder>,
    /// Whether each partition comes in a stream of its own, and in batches as long as the session says, as from 4.1 on,
    /// or as one batch.
    pub in_batches: bool,
    /// Name of the setting by which workers are told which frames have bounds.
    pub bound_types: &'static str,
    /// What Spark 3.5 keeps with the operator; later versions ask the session.
    pub session: Option<ArrowSession>,
    /// Artifacts of which session workers see, if the session has its own.
    pub job_artifact_uuid: Option<String>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameFunction {
    /// The function.
    pub udf: PythonUdf,
    /// Of which rows it is given values.
    pub frame: Frame,
    /// The column of its results.
    pub output: Attribute,
}

impl WindowUdf {
    /// Each once.
    pub const ALL: [Self; 2] = [Self::Series, Self::Arrays];

    /// The number of its `PythonEvalType`.
    #[must_use]
    pub fn eval_type(self) -> i32 {
        match self {
            Self::Series => 203,
            Self::Arrays => 253,
        }
    }

    /// What the functions are declared as: they do not know that they are called for frames.
    fn declared(self) -> AggregateUdf {
        match self {
            Self::Series => AggregateUdf::Series,
            Self::Arrays => AggregateUdf::Arrays,
        }
    }
}

/// The places of the parameters of Spark 3.5's closure.
mod parameter {
    pub(super) const TIME_ZONE: usize = 16;
    pub(super) const LARGE_TYPES: usize = 17;
    pub(super) const SETTINGS: usize = 18;
    pub(super) const ARTIFACTS: usize = 19;
}

/// What Spark 3.5 made of the session: its part in Arrow streams, and whose artifacts workers see.
fn captured_session(
    reader: &Reader<'_>,
    closure: &Closure,
) -> Result<(ArrowSession, Option<String>)> {
    let captured = |place: usize| closure.args.get(place).copied();
    let unknown = || closure.unsupported();
    let large = captured(parameter::LARGE_TYPES).and_then(|large| reader.graph.bool(large));
    if large.ok_or_else(unknown)? {
        return Err(Unsupported::of_use("Arrow streams with large texts"));
    }
    let zone = captured(parameter::TIME_ZONE).and_then(|zone| reader.graph.str(zone));
    let settings = captured(parameter::SETTINGS).and_then(|map| text_pairs(reader, map));
    let artifacts = captured(parameter::ARTIFACTS);
    let artifacts = artifacts.and_then(|value| reader.graph.scala_option(value));
    let session = ArrowSession {
        time_zone: Some(zone.ok_or_else(unknown)?.into_owned()),
        // A partition is one batch.
        batch_size: 0,
        settings: settings.ok_or_else(unknown)?,
        validates_schemas: false,
    };
    Ok((session, text_option(reader, artifacts.ok_or_else(unknown)?)))
}

impl WindowPython {
    /// Of the operator or of its evaluator factory: it, and the columns that come out behind the input's, if they are
    /// not those of the results.
    fn read(
        reader: &Reader<'_>,
        plan: Object<'_>,
        captured: Option<(ArrowSession, Option<String>)>,
    ) -> Result<(Self, Vec<Expr>)> {
        let kind = kind_of(plan, &WindowUdf::ALL, WindowUdf::eval_type)?;
        if has_worker_logs(plan)? {
            return Err(Unsupported::of_use("logs of Python workers"));
        }
        let (expressions, list) = read_expressions(reader, plan)?;
        let functions = expressions.into_iter();
        let functions = functions.map(|expression| FrameFunction::new(expression, kind));
        let (partition, order) = read_spec(reader, plan)?;
        let in_batches = groups_in_batches(reader)?;
        let (session, job_artifact_uuid) = captured.unzip();
        let window = Self {
            kind,
            functions: functions.collect::<Result<_>>()?,
            partition,
            order,
            in_batches,
            // It was renamed when groups became streams.
            bound_types: match in_batches {
                false => "pandas_window_bound_types",
                true => "window_bound_types",
            },
            session,
            job_artifact_uuid: job_artifact_uuid.flatten(),
        };
        Ok((window, list))
    }
}

impl FrameFunction {
    fn new(expression: WindowExpression, kind: WindowUdf) -> Result<Self> {
        match expression.function {
            WindowFunction::Python {
                kind: declared,
                udf,
            } if declared == kind.declared() => Ok(Self {
                udf: *udf,
                frame: expression.frame,
                output: expression.output,
            }),
            _ => Err(Unsupported::of_use("a Python function of another kind")),
        }
    }
}

impl<'g> Lineage<'_, 'g> {
    /// What functions compute of the windows of an RDD, by Spark 3.5's closure.
    pub(crate) fn window_python(&mut self, closure: &Closure, child: Object<'g>) -> Result<Tree> {
        let plan = closure.arg(self.reader, 0)?;
        let child = self.rdd(child, Hint::plan(plan.object("child")?))?;
        let captured = captured_session(self.reader, closure)?;
        let metrics = of_operator(self.reader, plan)?;
        self.windows(plan, Some(captured), metrics, child)
    }

    /// The same by the evaluator factory of later versions.
    pub(crate) fn window_python_evaluated(
        &mut self,
        factory: Object<'g>,
        child: Tree,
    ) -> Result<Tree> {
        let mut metrics = read_map(self.reader, factory, "pythonMetrics")?;
        metrics.push(metric(self.reader, factory, "spillSize")?);
        self.windows(factory, None, metrics, child)
    }

    fn windows(
        &self,
        plan: Object<'g>,
        captured: Option<(ArrowSession, Option<String>)>,
        metrics: Vec<Metric>,
        child: Tree,
    ) -> Result<Tree> {
        let (window, list) = WindowPython::read(self.reader, plan, captured)?;
        let input = child.operator.output.require()?.to_vec();
        let own = window.functions.iter().map(|function| &function.output);
        let windows = Operator {
            output: Columns::Known(input.iter().chain(own).cloned().collect()),
            kind: OperatorKind::WindowPython {
                window: Box::new(window),
                child: Box::new(child.operator),
            },
            metrics,
        };
        Ok(Tree {
            operator: over_windows(windows, input, list)?,
            inputs: child.inputs,
        })
    }
}
