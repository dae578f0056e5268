//! `BatchEvalPythonUDTFExec`, `ArrowEvalPythonUDTFExec`: rows that a class of Python makes of each row, and of all
//! behind the last.

use std::fmt;

use javaser::arena::{NodeId, Value};

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, list, read_attributes};
use crate::map_in_batch::is_described;
use crate::metrics::read_map;
use crate::object::{Object, Reader};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::python::{
    ArrowSession, PythonArgument, arrow_session, function_of, has_worker_logs, text_option,
};
use crate::types::{StructField, read_fields};

/// How a class of Python is given rows, and gives them.
#[derive(Debug, Clone, PartialEq)]
pub enum TableForm {
    /// `SQL_TABLE_UDF`: pickled.
    Pickled {
        /// As for functions of values, [`crate::PythonForm::Pickled`].
        binary_as_bytes: bool,
    },
    /// `SQL_ARROW_TABLE_UDF`: as values, in Arrow streams.
    Values(ArrowSession),
    /// `SQL_ARROW_UDTF` (from Spark 4.1 on): as record batches and arrays.
    Batches(ArrowSession),
}

/// A `PythonUDTF`.
#[derive(Debug, Clone, PartialEq)]
pub struct TablePython {
    /// How it is given rows.
    pub form: TableForm,
    /// Its name.
    pub name: String,
    /// The `PythonFunction` in the stage's graph, whose command is the class.
    pub function: NodeId,
    /// What its `eval` takes.
    pub arguments: Vec<PythonArgument>,
    /// For each of them: whether it is a row of a table (from Spark 4.1 on, nobody asks before).
    pub table_arguments: Vec<bool>,
    /// The columns that it makes, as it is told of them.
    pub schema: Vec<StructField>,
    /// What its `analyze` gave, pickled (from Spark 4.0 on).
    pub analyzed: Option<Vec<u8>>,
    /// Places within the row of a table by whose values its rows are divided (from Spark 4.0 on).
    pub partition_columns: Vec<usize>,
    /// Columns of the input that come out.
    pub required: Vec<Attribute>,
    /// The columns that it makes, behind those.
    pub results: Vec<Attribute>,
    /// Artifacts of which session workers see, if the session has its own.
    pub job_artifact_uuid: Option<String>,
}

/// `PythonEvalType.SQL_ARROW_TABLE_UDF`
const SQL_ARROW_TABLE_UDF: i32 = 301;
/// `PythonEvalType.SQL_ARROW_UDTF`
const SQL_ARROW_UDTF: i32 = 302;

impl TableForm {
    fn read(reader: &Reader<'_>, plan: Object<'_>) -> Result<Self> {
        if plan.name() == "BatchEvalPythonUDTFExec" {
            return Ok(Self::Pickled {
                binary_as_bytes: reader.settings.binary_as_bytes(),
            });
        }
        let session = arrow_session(reader, plan)?;
        match plan.int("evalType")? {
            SQL_ARROW_TABLE_UDF => Ok(Self::Values(session)),
            SQL_ARROW_UDTF => Ok(Self::Batches(session)),
            _ => Err(Unsupported::of_use("a Python function of another kind")),
        }
    }

    /// The number of its `PythonEvalType`.
    #[must_use]
    pub fn eval_type(&self) -> i32 {
        match self {
            Self::Pickled { .. } => 300,
            Self::Values(_) => SQL_ARROW_TABLE_UDF,
            Self::Batches(_) => SQL_ARROW_UDTF,
        }
    }
}

impl TablePython {
    fn read(reader: &Reader<'_>, plan: Object<'_>) -> Result<Self> {
        let udtf = plan.object("udtf")?;
        udtf.only(&[
            "name",
            "func",
            "elementSchema",
            "pickledAnalyzeResult",
            "children",
            "evalType",
            "udfDeterministic",
            "resultId",
            "pythonUDTFPartitionColumnIndexes",
            "tableArguments",
        ])?;
        let form = TableForm::read(reader, plan)?;
        if udtf.int("evalType")? != form.eval_type() {
            return Err(Unsupported::of_use("a Python function of another kind"));
        }
        let arguments = udtf.elements("children")?.into_iter();
        let arguments = arguments.map(|value| PythonArgument::read(reader, value));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        let schema = udtf.object("elementSchema")?;
        for field in schema.elements("fields")? {
            if is_described(reader, reader.expect(field)?)? {
                let what = "Python functions of columns with metadata";
                return Err(Unsupported::of_use(what));
            }
        }
        Ok(Self {
            name: udtf.text("name")?.into_owned(),
            function: function_of(udtf)?,
            table_arguments: table_arguments(reader, udtf, arguments.len())?,
            arguments,
            schema: read_fields(reader, schema)?,
            analyzed: optional(udtf, "pickledAnalyzeResult", |value| {
                Some(reader.graph.byte_array(value)?.to_vec())
            })?,
            partition_columns: partition_columns(reader, udtf)?,
            required: read_attributes(reader, plan.elements("requiredChildOutput")?)?,
            results: read_attributes(reader, plan.elements("resultAttrs")?)?,
            job_artifact_uuid: text_option(reader, plan.option("jobArtifactUUID")?),
            form,
        })
    }
}

/// A field that older versions do not have, and that may be none.
fn optional<T>(
    object: Object<'_>,
    field: &str,
    read: impl FnOnce(Value) -> Option<T>,
) -> Result<Option<T>> {
    if object.get(field).is_none() {
        return Ok(None);
    }
    let value = object.option(field)?;
    let value = value.map(|value| read(value).ok_or_else(|| object.missing(field)));
    value.transpose()
}

fn table_arguments(reader: &Reader<'_>, udtf: Object<'_>, count: usize) -> Result<Vec<bool>> {
    let found = optional(udtf, "tableArguments", |value| {
        let values = reader.graph.elements(value)?.into_iter();
        values.map(|value| reader.graph.bool(value)).collect()
    })?;
    match found {
        None => Ok(vec![false; count]),
        Some(all) if Vec::len(&all) == count => Ok(all),
        Some(_) => Err(udtf.missing("tableArguments")),
    }
}

fn partition_columns(reader: &Reader<'_>, udtf: Object<'_>) -> Result<Vec<usize>> {
    let found = optional(udtf, "pythonUDTFPartitionColumnIndexes", |value| {
        let indexes = reader.expect(value).ok()?;
        let indexes = indexes.elements("partitionChildIndexes").ok()?.into_iter();
        let indexes = indexes.map(|index| usize::try_from(reader.graph.int(index)?).ok());
        indexes.collect()
    })?;
    Ok(found.unwrap_or_default())
}

impl fmt::Display for TablePython {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match &self.form {
            TableForm::Pickled { .. } => "pickled",
            TableForm::Values(_) => "values",
            TableForm::Batches(_) => "batches",
        };
        let values: Vec<_> = self.arguments.iter().map(|of| &of.value).collect();
        write!(f, "TablePython {form} {}({})", self.name, list(values))?;
        if !self.partition_columns.is_empty() {
            write!(f, " by {:?}", self.partition_columns)?;
        }
        if self.analyzed.is_some() {
            f.write_str(" analyzed")?;
        }
        write!(f, " to ({})", list(&self.results))?;
        match &self.required[..] {
            [] => Ok(()),
            required => write!(f, " beside ({})", list(required)),
        }
    }
}

/// A `BatchEvalPythonUDTFExec` or `ArrowEvalPythonUDTFExec` over its input.
pub(crate) fn table_python(
    reader: &Reader<'_>,
    plan: Object<'_>,
    child: Operator,
) -> Result<Operator> {
    child.output.require()?;
    if has_worker_logs(plan)? {
        return Err(Unsupported::of_use("logs of Python workers"));
    }
    let table = TablePython::read(reader, plan)?;
    let mut pairs = table.schema.iter().zip(&table.results);
    let same = table.schema.len() == table.results.len()
        && pairs.all(|(field, column)| field.data_type == column.data_type);
    if !same {
        return Err(Unsupported::of_use("a Python function to other columns"));
    }
    Ok(Operator {
        output: Columns::Known([&table.required[..], &table.results].concat()),
        kind: OperatorKind::TablePython {
            table: Box::new(table),
            child: Box::new(child),
        },
        metrics: read_map(reader, plan, "pythonMetrics")?,
    })
}
