//! `BatchEvalPythonExec`: columns that functions of Python compute.

use std::fmt;

use javaser::arena::NodeId;

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, list, read_attributes};
use crate::metrics::read_map;
use crate::object::{Object, Reader};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::types::DataType;

/// `PythonEvalType.SQL_BATCHED_UDF`: rows are pickled.
const SQL_BATCHED_UDF: i32 = 100;

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
    fn read(reader: &Reader<'_>, udf: Object<'_>) -> Result<Self> {
        reader.nested(|| Self::nested(reader, udf))
    }

    fn nested(reader: &Reader<'_>, udf: Object<'_>) -> Result<Self> {
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
        if udf.int("evalType")? != SQL_BATCHED_UDF {
            return Err(Unsupported::of_use("a Python function of another kind"));
        }
        let function = udf.object("func")?;
        if function.name() != "SimplePythonFunction" {
            return Err(Unsupported::Class(function.name().to_owned()));
        }
        let children = udf.elements("children")?;
        let mut deterministic = udf.bool("udfDeterministic")?;
        let (mut functions, arguments) = match children[..] {
            [only] if reader.expect(only).is_ok_and(|of| of.name() == "PythonUDF") => {
                let inner = Self::read(reader, reader.expect(only)?)?;
                deterministic &= inner.deterministic;
                (inner.functions, inner.arguments)
            }
            _ => {
                let arguments = children.into_iter();
                let arguments = arguments.map(|value| PythonArgument::read(reader, value));
                (Vec::new(), arguments.collect::<Result<_>>()?)
            }
        };
        functions.push(function.node);
        Ok(Self {
            name: udf.text("name")?.into_owned(),
            functions,
            arguments,
            data_type: DataType::read(reader, udf.value("dataType")?)?,
            deterministic,
            result_id: udf.object("resultId")?.long("id")?,
        })
    }
}

impl PythonArgument {
    fn read(reader: &Reader<'_>, value: javaser::arena::Value) -> Result<Self> {
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

/// A `BatchEvalPythonExec` over its input.
pub(crate) fn eval_python(
    reader: &Reader<'_>,
    plan: Object<'_>,
    child: Operator,
) -> Result<Operator> {
    let input = child.output.require()?;
    let udfs = plan.elements("udfs")?.into_iter();
    let udfs = udfs.map(|udf| PythonUdf::read(reader, reader.expect(udf)?));
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
    // A session with logs of its own for workers.
    if plan.get("sessionUUID").is_some() && plan.option("sessionUUID")?.is_some() {
        return Err(Unsupported::of_use("logs of Python workers"));
    }
    let artifacts = plan.option("jobArtifactUUID")?;
    let artifacts = artifacts.and_then(|uuid| reader.graph.str(uuid));
    let output = [input, &results].concat();
    Ok(Operator {
        kind: OperatorKind::BatchEvalPython {
            udfs,
            results,
            job_artifact_uuid: artifacts.map(std::borrow::Cow::into_owned),
            child: Box::new(child),
        },
        output: Columns::Known(output),
        metrics: read_map(reader, plan, "pythonMetrics")?,
    })
}
