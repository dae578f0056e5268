//! `BatchEvalPythonExec`, `ArrowEvalPythonExec`: columns that functions of Python compute in workers.
//!
//! Rows go out as they come in, in frames of arguments, and wait here until the results are there. The worker sets the
//! pace: a frame is made when it takes one.

mod aggregate;
mod arrow_result;
mod batches;
mod call;
mod conversion;
mod dicts;
mod evaluation;
mod frames;
mod group_frames;
mod groups;
mod java_map;
mod made;
mod map;
mod native;
mod native_groups;
mod native_rows;
mod objects;
mod pickle;
mod queue;
mod results;
mod simple;
mod stream;
mod table;
mod tables;
mod unpickle;
mod waiting;
mod windows;

#[cfg(fuzzing)]
pub(crate) mod fuzzing;

use std::collections::HashSet;
use std::sync::Arc;

use catalyst::{
    Attribute, DataType, Expr, ExprId, Inputs, Operator, PythonArgument, PythonForm, PythonUdf,
};
use datafusion_physical_expr::PhysicalExpr;
use futures::stream::StreamExt as _;

pub(super) use self::aggregate::aggregate_python;
pub use self::arrow_result::{ArrowResult, EncodedBatch};
pub(super) use self::conversion::{converted, type_for_python};
pub(super) use self::groups::map_groups;
pub(super) use self::map::map_in_batch;
pub(super) use self::objects::pickled_scan;
pub use self::pickle::DataFramePickler;
pub(super) use self::table::table_python;
pub(super) use self::windows::window_python;

use self::call::Format;
use self::evaluation::Evaluation;
use super::exec::{OperatorExec, Start};
use super::expr::lower;
use super::lower::{Build, Demand, Lowered, Lowering, Result, needed};
use super::sources::PythonCallee;

/// Names of the metrics of what goes to workers and comes from them, in bytes.
pub(super) const DATA_SENT: &str = "pythonDataSent";
pub(super) const DATA_RECEIVED: &str = "pythonDataReceived";

/// What is known of the operator when it is judged.
struct Plan {
    callees: Vec<PythonCallee>,
    job_artifact_uuid: Option<String>,
    /// What the functions are given, each value once.
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    /// Their types.
    argument_types: Vec<DataType>,
    /// How rows are given to the functions.
    form: PythonForm,
    /// Types of the results.
    results: Vec<DataType>,
    /// Places of the columns that come out: of the input, or of results.
    output: Vec<Column>,
}

enum Column {
    Input(usize),
    Result(usize),
}

/// The operator: functions, their columns, and whose artifacts workers see.
#[derive(Clone, Copy)]
pub(super) struct Functions<'a> {
    pub(super) form: &'a PythonForm,
    pub(super) udfs: &'a [PythonUdf],
    pub(super) columns: &'a [Attribute],
    pub(super) job_artifact_uuid: Option<&'a str>,
}

/// Lowers functions of Python over an input.
pub(super) fn eval_python(
    lowering: &Lowering,
    functions: Functions<'_>,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let Functions { udfs, columns, .. } = functions;
    let is_needed = |column: &Attribute| demand.columns.is_none_or(|ids| ids.contains(&column.id));
    let all = udfs.iter().flat_map(|udf| &udf.arguments);
    let values = all.map(|argument| &argument.value);
    let own: HashSet<ExprId> = columns.iter().map(|column| column.id).collect();
    let above = demand.columns.map(|ids| ids - &own);
    let below = needed(demand.of(above.as_ref()), values);
    let child = lowering.operator(child, inputs, demand.of(below.as_ref()))?;
    let input = child.output()?.to_vec();
    let (callees, arguments) = arguments(udfs);
    let mut output = Vec::new();
    let mut attributes = Vec::new();
    for (place, column) in input
        .iter()
        .enumerate()
        .filter(|(_, column)| is_needed(column))
    {
        output.push(Column::Input(place));
        attributes.push(column.clone());
    }
    for (place, column) in columns.iter().enumerate() {
        check(functions.form, &column.data_type)?;
        if is_needed(column) {
            output.push(Column::Result(place));
            attributes.push(column.clone());
        }
    }
    let types = arguments.iter().map(|value| value.data_type.clone());
    let argument_types: Vec<_> = types.collect();
    // Tasks make their own, for the functions that are left to workers.
    Format::new(functions.form, argument_types.clone())?;
    let plan = Arc::new(Plan {
        callees,
        job_artifact_uuid: functions.job_artifact_uuid.map(str::to_owned),
        form: functions.form.clone(),
        argument_types,
        arguments: arguments
            .into_iter()
            .map(|value| lower(value, &input))
            .collect::<Result<_>>()?,
        results: columns
            .iter()
            .map(|column| column.data_type.clone())
            .collect(),
        output,
    });
    let name = match functions.form {
        PythonForm::Pickled { .. } => "BatchEvalPythonExec",
        PythonForm::Arrow { .. } => "ArrowEvalPythonExec",
    };
    let schema = rows::types::schema_of(&attributes)?;
    let build: Build = Box::new(move |task, inputs| {
        let input = child.build(task, inputs)?;
        let (plan, sources) = (Arc::clone(&plan), Arc::clone(&task.sources));
        let start = move |start: &Start<'_>| Ok(Evaluation::start(&plan, &sources, start)?.boxed());
        Ok(Arc::new(OperatorExec::new(
            name,
            vec![input],
            Arc::clone(&schema),
            Arc::new(start),
        )))
    });
    Lowered::new(attributes, build)
}

/// Fails for types whose results are not taken natively.
fn check(form: &PythonForm, of: &DataType) -> Result<()> {
    match form {
        PythonForm::Pickled { .. } => results::check(of),
        PythonForm::Arrow { .. } => conversion::check(of),
    }
}

/// Whether values of a type have no parts, and go both ways.
fn is_simple(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Null
            | DataType::Boolean
            | DataType::Byte
            | DataType::Short
            | DataType::Integer
            | DataType::Long
            | DataType::Float
            | DataType::Double
            | DataType::Decimal(_)
            | DataType::String
            | DataType::Date
            | DataType::Timestamp
            | DataType::TimestampNtz
    )
}

/// What is called, and the values that it is called with. A column is sent once.
fn arguments(udfs: &[PythonUdf]) -> (Vec<PythonCallee>, Vec<&Expr>) {
    let mut values: Vec<&Expr> = Vec::new();
    let callees = udfs.iter().map(|udf| PythonCallee {
        functions: udf.functions.clone(),
        arguments: places_of(&udf.arguments, &mut values),
        result_id: udf.result_id,
    });
    (callees.collect(), values)
}

/// Places of arguments among the values, which get those that are missing, and their names.
fn places_of<'a>(
    arguments: &'a [PythonArgument],
    values: &mut Vec<&'a Expr>,
) -> Vec<(usize, Option<String>)> {
    let places = arguments.iter().map(|argument| {
        let is_column = argument.value.children().next().is_none();
        let same = |value: &&Expr| is_column && **value == argument.value;
        let place = values.iter().position(same).unwrap_or_else(|| {
            values.push(&argument.value);
            values.len() - 1
        });
        (place, argument.name.clone())
    });
    places.collect()
}
