//! `BatchEvalPythonExec`, `ArrowEvalPythonExec`: columns that functions of Python compute.

use std::fmt;

use javaser::arena::{NodeId, Value};

use crate::aggregate_python::AggregateUdf;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, ExprKind, list, read_attributes};
use crate::metrics::read_map;
use crate::object::{Object, Reader};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::types::DataType;

/// How functions of Python are given rows.
#[derive(Debug, Clone, PartialEq)]
pub enum PythonForm {
    /// `BatchEvalPythonExec`: pickled.
    Pickled {
        /// `spark.sql.execution.pyspark.binaryAsBytes` (4.1 and later): binary values are `bytes`, else `bytearray`s.
        binary_as_bytes: bool,
    },
    /// `ArrowEvalPythonExec`: in Arrow streams.
    Arrow {
        /// What the functions take and give.
        kind: ArrowUdf,
        /// What Spark 3.5 keeps with the operator; later versions ask the session.
        session: Option<ArrowSession>,
    },
}

/// What functions take and give that are given Arrow streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrowUdf {
    /// `SQL_ARROW_BATCHED_UDF`: values.
    Values,
    /// `SQL_SCALAR_PANDAS_UDF`: series.
    Series,
    /// `SQL_SCALAR_PANDAS_ITER_UDF`: iterators of series.
    SeriesIterator,
    /// `SQL_SCALAR_ARROW_UDF`: arrays.
    Arrays,
    /// `SQL_SCALAR_ARROW_ITER_UDF`: iterators of arrays.
    ArrayIterator,
}

/// The session's part in Arrow streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrowSession {
    /// Time zone in which functions see timestamps, where it is known.
    pub time_zone: Option<String>,
    /// Most rows in a batch; none if not positive.
    pub batch_size: i32,
    /// What workers are told.
    pub settings: Vec<(String, String)>,
    /// Whether Spark compares the types of what functions of whole partitions give with those that were declared.
    pub validates_schemas: bool,
}

/// `PythonEvalType.SQL_BATCHED_UDF`
const SQL_BATCHED_UDF: i32 = 100;

impl ArrowUdf {
    const ALL: [Self; 5] = [
        Self::Values,
        Self::Series,
        Self::SeriesIterator,
        Self::Arrays,
        Self::ArrayIterator,
    ];

    /// The number of its `PythonEvalType`.
    #[must_use]
    pub fn eval_type(self) -> i32 {
        match self {
            Self::Values => 101,
            Self::Series => 200,
            Self::SeriesIterator => 204,
            Self::Arrays => 250,
            Self::ArrayIterator => 251,
        }
    }
}

impl PythonForm {
    fn read(reader: &Reader<'_>, plan: Object<'_>) -> Result<Self> {
        if plan.name() == "BatchEvalPythonExec" {
            return Ok(Self::Pickled {
                binary_as_bytes: reader.settings.binary_as_bytes(),
            });
        }
        let number = plan.int("evalType")?;
        let kind = ArrowUdf::ALL
            .into_iter()
            .find(|kind| kind.eval_type() == number);
        let kind = kind.ok_or_else(|| Unsupported::of_use("a Python function of another kind"))?;
        let session = plan.get("batchSize");
        let session = session.map(|_| arrow_session(reader, plan)).transpose()?;
        Ok(Self::Arrow { kind, session })
    }

    fn eval_type(&self) -> i32 {
        match self {
            Self::Pickled { .. } => SQL_BATCHED_UDF,
            Self::Arrow { kind, .. } => kind.eval_type(),
        }
    }
}

/// The session's part in Arrow streams, where an operator keeps it.
pub(crate) fn arrow_session(reader: &Reader<'_>, plan: Object<'_>) -> Result<ArrowSession> {
    if plan.flag("largeVarTypes") {
        return Err(Unsupported::of_use("Arrow streams with large texts"));
    }
    Ok(ArrowSession {
        time_zone: Some(plan.text("sessionLocalTimeZone")?.into_owned()),
        batch_size: plan.int("batchSize")?,
        settings: texts(reader, plan, "pythonRunnerConf")?,
        validates_schemas: false,
    })
}

/// Whether an operator is of a session with logs of its own for workers (from Spark 4.1 on).
pub(crate) fn has_worker_logs(plan: Object<'_>) -> Result<bool> {
    Ok(plan.get("sessionUUID").is_some() && plan.option("sessionUUID")?.is_some())
}

/// A map of texts.
pub(crate) fn texts(
    reader: &Reader<'_>,
    object: Object<'_>,
    field: &str,
) -> Result<Vec<(String, String)>> {
    let pairs = text_pairs(reader, object.value(field)?);
    pairs.ok_or_else(|| object.missing(field))
}

/// The same, of the map itself; `None` if it is another.
pub(crate) fn text_pairs(reader: &Reader<'_>, map: Value) -> Option<Vec<(String, String)>> {
    let text = |value| Some(reader.graph.str(value)?.into_owned());
    let pairs = reader.graph.pairs(map)?.into_iter();
    let pairs = pairs.map(|(key, value)| Some((text(key)?, text(value)?)));
    pairs.collect()
}

/// Functions of which each takes what the one before it gives, and the id of their results, where versions have one
/// (from 4.0 on).
pub(crate) fn chained(reader: &Reader<'_>, value: Value) -> Result<(Vec<NodeId>, i64)> {
    let (chain, result_id) = match reader.graph.tuple(value).as_deref() {
        Some([chain, id]) => (*chain, reader.graph.int(*id)),
        _ => (value, Some(0)),
    };
    let chain = reader.expect(chain)?;
    let result_id = result_id.ok_or_else(|| chain.missing("resultId"))?;
    let functions = chain.elements("funcs")?.into_iter();
    let functions = functions.map(|function| {
        let function = reader.expect(function)?;
        match function.name() {
            "SimplePythonFunction" => Ok(function.node),
            other => Err(Unsupported::Class(other.to_owned())),
        }
    });
    Ok((functions.collect::<Result<_>>()?, result_id))
}

/// Whether a group comes in a stream of its own, in batches as long as the session says, as from 4.1 on.
///
/// # Errors
/// The version is not known.
pub(crate) fn groups_in_batches(reader: &Reader<'_>) -> Result<bool> {
    match reader.settings.spark {
        (0, 0) => Err(Unsupported::of_use("groups for Python of any version")),
        version => Ok(version >= (4, 1)),
    }
}

/// The only function of `chainedFunc`, and the id of its results.
pub(crate) fn only_function(reader: &Reader<'_>, object: Object<'_>) -> Result<(NodeId, i64)> {
    let [only] = object.elements("chainedFunc")?[..] else {
        return Err(object.missing("chainedFunc"));
    };
    let (functions, result_id) = chained(reader, only)?;
    match functions[..] {
        [function] => Ok((function, result_id)),
        _ => Err(Unsupported::of_use("several Python functions in one")),
    }
}

/// A text that may be missing.
pub(crate) fn text_option(reader: &Reader<'_>, value: Option<Value>) -> Option<String> {
    let text = value.and_then(|value| reader.graph.str(value));
    text.map(std::borrow::Cow::into_owned)
}

/// A `PythonUDF`, and those whose results are its only argument.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonUdf {
    /// Its name.
    pub name: String,
    /// The `PythonFunction`s in the stage's graph; each takes what the one before it gives.
    pub functions: Vec<NodeId>,
    /// What the first function takes.
    pub arguments: Vec<PythonArgument>,
    /// Type of the result.
    pub data_type: DataType,
    /// Whether the same arguments give the same result.
    pub deterministic: bool,
    /// `resultId`, by which profiles are kept.
    pub result_id: i64,
}

/// An argument of a [`PythonUdf`].
#[derive(Debug, Clone, PartialEq)]
pub struct PythonArgument {
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// The value.
    pub value: Expr,
}

impl PythonUdf {
    /// The `PythonUDAF` of an `AggregateExpression` over windows, and what it takes. It is given columns, not the
    /// results of other functions.
    pub(crate) fn of_aggregate(
        reader: &Reader<'_>,
        aggregate: Object<'_>,
    ) -> Result<(AggregateUdf, Self)> {
        if aggregate.option("filter")?.is_some() || aggregate.bool("isDistinct")? {
            return Err(Unsupported::of_use("a Python function of some rows"));
        }
        let udf = aggregate.object("aggregateFunction")?;
        udf.only(&[
            "name",
            "func",
            "dataType",
            "children",
            "udfDeterministic",
            "evalType",
            "resultId",
        ])?;
        let kind = kind_of(udf, &AggregateUdf::ALL, AggregateUdf::eval_type)?;
        let arguments = udf.elements("children")?.into_iter();
        let arguments = arguments.map(|value| PythonArgument::read(reader, value));
        let udf = Self {
            functions: vec![function_of(udf)?],
            ..Self::calling(reader, udf, arguments.collect::<Result<_>>()?)?
        };
        Ok((kind, udf))
    }

    fn read(reader: &Reader<'_>, udf: Object<'_>, eval_type: i32) -> Result<Self> {
        reader.nested(|| Self::nested(reader, udf, eval_type))
    }

    fn nested(reader: &Reader<'_>, udf: Object<'_>, eval_type: i32) -> Result<Self> {
        if udf.name() != "PythonUDF" {
            return Err(Unsupported::Class(udf.name().to_owned()));
        }
        udf.only(&[
            "name",
            "func",
            "dataType",
            "children",
            "evalType",
            "udfDeterministic",
            "resultId",
            "resultAttribute",
        ])?;
        if udf.int("evalType")? != eval_type {
            return Err(Unsupported::of_use("a Python function of another kind"));
        }
        let function = function_of(udf)?;
        let children = udf.elements("children")?;
        let mut deterministic = udf.bool("udfDeterministic")?;
        let (mut functions, arguments) = match children[..] {
            [only] if reader.expect(only).is_ok_and(|of| of.name() == "PythonUDF") => {
                let inner = Self::read(reader, reader.expect(only)?, eval_type)?;
                deterministic &= inner.deterministic;
                (inner.functions, inner.arguments)
            }
            _ => {
                let arguments = children.into_iter();
                let arguments = arguments.map(|value| PythonArgument::read(reader, value));
                (Vec::new(), arguments.collect::<Result<_>>()?)
            }
        };
        functions.push(function);
        Ok(Self {
            functions,
            deterministic,
            ..Self::calling(reader, udf, arguments)?
        })
    }

    /// What an expression says of itself, but for the functions.
    fn calling(
        reader: &Reader<'_>,
        udf: Object<'_>,
        arguments: Vec<PythonArgument>,
    ) -> Result<Self> {
        Ok(Self {
            name: udf.text("name")?.into_owned(),
            functions: Vec::new(),
            arguments,
            data_type: DataType::read(reader, udf.value("dataType")?)?,
            deterministic: udf.bool("udfDeterministic")?,
            result_id: udf.object("resultId")?.long("id")?,
        })
    }
}

/// What functions are that an operator or an expression calls, by its `evalType`. Those that have none are of the first
/// kind: there is no other up to Spark 4.0.
pub(crate) fn kind_of<T: Copy>(
    object: Object<'_>,
    all: &[T],
    eval_type: fn(T) -> i32,
) -> Result<T> {
    let found = match object.get("evalType") {
        Some(_) => {
            let number = object.int("evalType")?;
            all.iter().find(|kind| eval_type(**kind) == number)
        }
        None => all.first(),
    };
    let found = found.copied();
    found.ok_or_else(|| Unsupported::of_use("a Python function of another kind"))
}

/// The `PythonFunction` of an expression.
pub(crate) fn function_of(udf: Object<'_>) -> Result<NodeId> {
    let function = udf.object("func")?;
    match function.name() {
        "SimplePythonFunction" => Ok(function.node),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}

impl PythonArgument {
    pub(crate) fn read(reader: &Reader<'_>, value: Value) -> Result<Self> {
        let named = reader.expect(value)?;
        if named.name() != "NamedArgumentExpression" {
            return Ok(Self {
                name: None,
                value: Expr::read(reader, value)?,
            });
        }
        named.only(&["key", "value"])?;
        Ok(Self {
            name: Some(named.text("key")?.into_owned()),
            value: Expr::read(reader, named.value("value")?)?,
        })
    }
}

impl fmt::Display for PythonUdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<_> = self
            .arguments
            .iter()
            .map(|argument| &argument.value)
            .collect();
        let chained = self.functions.len();
        write!(f, "{}({})", self.name, list(values))?;
        match chained {
            0 | 1 => Ok(()),
            _ => write!(f, " of {chained} functions"),
        }
    }
}

/// A `BatchEvalPythonExec` or `ArrowEvalPythonExec` over its input.
pub(crate) fn eval_python(
    reader: &Reader<'_>,
    plan: Object<'_>,
    child: Operator,
) -> Result<Operator> {
    let input = child.output.require()?;
    let form = PythonForm::read(reader, plan)?;
    let udfs = plan.elements("udfs")?.into_iter();
    let udfs = udfs.map(|udf| PythonUdf::read(reader, reader.expect(udf)?, form.eval_type()));
    let udfs = udfs.collect::<Result<Vec<_>>>()?;
    let results: Vec<Attribute> = read_attributes(reader, plan.elements("resultAttrs")?)?;
    let same = udfs.len() == results.len()
        && udfs
            .iter()
            .zip(&results)
            .all(|(udf, column)| udf.data_type == column.data_type);
    if !same || udfs.is_empty() {
        return Err(Unsupported::of_use("Python functions of other columns"));
    }
    if has_worker_logs(plan)? {
        return Err(Unsupported::of_use("logs of Python workers"));
    }
    let output = [input, &results].concat();
    Ok(Operator {
        kind: OperatorKind::EvalPython {
            form,
            udfs,
            results,
            job_artifact_uuid: text_option(reader, plan.option("jobArtifactUUID")?),
            child: Box::new(child),
        },
        output: Columns::Known(output),
        metrics: read_map(reader, plan, "pythonMetrics")?,
    })
}

/// Functions over batches of columns (from Spark 4.2 on, `ColumnarArrowEvalPythonEvaluatorFactory`).
///
/// # Errors
/// Functions would see how long the batches are: arguments that are columns are sent as they come, others as rows.
pub(crate) fn over_columns(operator: &Operator) -> Result<()> {
    if let OperatorKind::EvalPython { form, udfs, .. } = &operator.kind {
        let values = PythonForm::Arrow {
            kind: ArrowUdf::Values,
            session: None,
        };
        let mut arguments = udfs.iter().flat_map(|udf| &udf.arguments);
        if *form != values
            && arguments.all(|argument| matches!(argument.value.kind, ExprKind::Attribute(_)))
        {
            let why = "Python functions that see how long batches of columns are";
            return Err(Unsupported::of_use(why));
        }
    }
    Ok(())
}
