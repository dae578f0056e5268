//! `BatchEvalPythonUDTFExec`, `ArrowEvalPythonUDTFExec`: rows that a class of Python makes of each row, and of all
//! behind the last.

use std::sync::Arc;

use catalyst::{Attribute, DataType, Expr, Inputs, Operator, TableForm, TablePython, Unsupported};
use futures::stream::StreamExt as _;

use super::call::{Format, WorkerCall};
use super::tables::Tables;
use super::{Column, conversion, places_of, results};
use crate::exec::{OperatorExec, Start};
use crate::expr::lower;
use crate::lower::{Build, Demand, Lowered, Lowering, Result, needed};
use crate::sources::{PythonCallee, PythonTable};
use crate::type_json::json_of_columns;

/// What is known of the operator when it is judged.
pub(super) struct TablePlan {
    pub(super) call: Arc<WorkerCall>,
    /// The columns that the class makes.
    pub(super) made: Vec<Attribute>,
    /// Whether columns of the input come out beside them.
    pub(super) beside: bool,
    /// Places of the columns that come out: of the input, or of what is made.
    pub(super) output: Vec<Column>,
}

/// Lowers a class of Python that makes rows.
pub(in super::super) fn table_python(
    lowering: &Lowering,
    table: &TablePython,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    check(table)?;
    let beside = !table.required.is_empty();
    let values = table.arguments.iter().map(|argument| &argument.value);
    let is_needed = |column: &&Attribute| demand.columns.is_none_or(|ids| ids.contains(&column.id));
    let required = table.required.iter().filter(is_needed);
    let above = demand
        .columns
        .map(|_| required.map(|column| column.id).collect());
    // Rows may be told apart by their order: the class remembers what it likes.
    let below = Demand {
        ordered: true,
        ..demand.of(above.as_ref())
    };
    let columns = needed(below, values);
    let child = lowering.operator(child, inputs, below.of(columns.as_ref()))?;
    let input = child.output()?.to_vec();
    let (mut output, mut attributes) = (Vec::new(), Vec::new());
    for column in table.required.iter().filter(is_needed) {
        let place = input.iter().position(|own| own.id == column.id);
        let place = place.ok_or_else(|| Unsupported::of_use("a column that is missing"))?;
        output.push(Column::Input(place));
        attributes.push(column.clone());
    }
    for (place, column) in table.results.iter().enumerate() {
        if is_needed(&column) {
            output.push(Column::Result(place));
            attributes.push(column.clone());
        }
    }
    let plan = Arc::new(TablePlan {
        call: Arc::new(call(table, &input)?),
        made: table.results.clone(),
        beside,
        output,
    });
    let name = match table.form {
        TableForm::Pickled { .. } => "BatchEvalPythonUDTFExec",
        TableForm::Values(_) | TableForm::Batches(_) => "ArrowEvalPythonUDTFExec",
    };
    let schema = rows::types::schema_of(&attributes)?;
    let build: Build = Box::new(move |task, inputs| {
        let input = child.build(task, inputs)?;
        let (plan, sources) = (Arc::clone(&plan), Arc::clone(&task.sources));
        let start = move |start: &Start<'_>| Ok(Tables::start(&plan, &sources, start)?.boxed());
        Ok(Arc::new(OperatorExec::new(
            name,
            vec![input],
            Arc::clone(&schema),
            Arc::new(start),
        )))
    });
    Lowered::new(attributes, build)
}

/// Fails for what is not done natively.
fn check(table: &TablePython) -> Result<()> {
    let mut types = table.results.iter().map(|column| &column.data_type);
    match &table.form {
        TableForm::Pickled { .. } => types.try_for_each(results::check),
        TableForm::Values(_) | TableForm::Batches(_) => {
            types.try_for_each(conversion::check)?;
            match table.form {
                // How many batches it makes of one is not said, and Spark takes a row for each.
                TableForm::Batches(_) if !table.required.is_empty() => Err(Unsupported::of_use(
                    "a Python function from batches to rows beside columns",
                )),
                _ => Ok(()),
            }
        }
    }
}

fn call(table: &TablePython, input: &[Attribute]) -> Result<WorkerCall> {
    let mut values: Vec<&Expr> = Vec::new();
    let arguments = places_of(&table.arguments, &mut values);
    let of_tables = arguments.iter().zip(&table.table_arguments);
    let of_tables = of_tables.filter(|(_, is_table)| **is_table);
    let types = values.iter().map(|value| value.data_type.clone());
    let types: Vec<DataType> = types.collect();
    Ok(WorkerCall {
        table: Some(PythonTable {
            name: table.name.clone(),
            schema: json_of_columns(&table.schema),
            analyzed: table.analyzed.clone(),
            partition_columns: table.partition_columns.clone(),
            table_arguments: of_tables.map(|((place, _), _)| *place).collect(),
        }),
        callees: vec![PythonCallee {
            functions: vec![table.function],
            arguments,
            result_id: 0,
        }],
        job_artifact_uuid: table.job_artifact_uuid.clone(),
        arguments: values
            .into_iter()
            .map(|value| lower(value, input))
            .collect::<Result<_>>()?,
        format: Format::of_table(&table.form, types)?,
        results: table
            .results
            .iter()
            .map(|column| column.data_type.clone())
            .collect(),
    })
}
