//! Expressions of real stages on the inputs that Spark had, compared with what Spark made of them.
//!
//! `tests/capture/expressions.py` says how they were captured. `UPDATE_GOLDEN=1` writes anew what is not computed
//! natively, and for how many rows.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, RecordBatch, StructArray};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Float32Type, Float64Type, TimestampMicrosecondType,
};
use catalyst::{Attribute, Expr, Operator, OperatorKind, Settings, Stage};
use exec::expr::lower;
use javaser::Limits;
use javaser::arena::Graph;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rows::error::RunError;
use rows::types::ToArrow as _;
use rows::types::schema_of;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn bytes(hex: &serde_json::Value) -> Vec<u8> {
    testkit::from_hex(hex.as_str().unwrap())
}

/// `None` if there is text that is not UTF-8.
fn table(parquet: &serde_json::Value) -> Option<RecordBatch> {
    let bytes = bytes::Bytes::from(bytes(parquet));
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes)
        .unwrap()
        .with_batch_size(1 << 20)
        .build()
        .unwrap();
    let batches = reader.collect::<Result<Vec<_>, _>>().ok()?;
    arrow::compute::concat_batches(&batches[0].schema(), &batches).ok()
}

/// The projection of a stage and what is below it.
fn projection(operator: &Operator) -> Option<(&[Expr], &Operator)> {
    match &operator.kind {
        OperatorKind::Project { list, child } => Some((list, child)),
        _ => operator.children().find_map(projection),
    }
}

/// Columns as they are natively.
fn adapt(array: &ArrayRef, to: &ArrowType) -> ArrayRef {
    match (array.data_type(), to) {
        (from, to) if from == to => Arc::clone(array),
        (ArrowType::Struct(_), ArrowType::Struct(fields)) => {
            let of = array.as_struct();
            let columns = of.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| adapt(column, field.data_type()));
            let columns: Vec<_> = columns.collect();
            let adapted = StructArray::new(fields.clone(), columns, of.nulls().cloned());
            Arc::new(adapted)
        }
        (ArrowType::List(_), ArrowType::List(field)) => {
            let of = array.as_list::<i32>();
            let values = adapt(of.values(), field.data_type());
            let (offsets, nulls) = (of.offsets().clone(), of.nulls().cloned());
            Arc::new(ListArray::new(Arc::clone(field), offsets, values, nulls))
        }
        (ArrowType::Map(..), ArrowType::Map(field, sorted)) => {
            let of = array.as_map();
            let ArrowType::Struct(entry) = field.data_type() else {
                panic!("{field}");
            };
            let columns = of.entries().columns().iter().zip(entry);
            let columns = columns.map(|(column, field)| adapt(column, field.data_type()));
            let entries = StructArray::new(entry.clone(), columns.collect(), None);
            let (offsets, nulls) = (of.offsets().clone(), of.nulls().cloned());
            let field = Arc::clone(field);
            Arc::new(MapArray::new(field, offsets, entries, nulls, *sorted))
        }
        _ => arrow::compute::cast(array, to).unwrap(),
    }
}

/// What an operator puts out: columns of the table, or what is made of them because several expressions want it.
fn input(table: &RecordBatch, operator: &Operator) -> RecordBatch {
    let attributes = operator.output.require().unwrap();
    let schema = schema_of(attributes).unwrap();
    let columns: Vec<_> = match &operator.kind {
        OperatorKind::Project { list, child } => {
            let batch = input(table, child);
            let columns = child.output.require().unwrap();
            let lowered = list.iter().map(|expr| lower(expr, columns).unwrap());
            lowered
                .map(|expr| evaluate(&expr, &batch).unwrap())
                .collect()
        }
        _ => {
            let columns = attributes.iter().zip(schema.fields());
            let columns = columns.map(|(attribute, field)| {
                let column = table.column_by_name(&attribute.name).unwrap();
                adapt(column, field.data_type())
            });
            columns.collect()
        }
    };
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(table.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options).unwrap()
}

/// A value such that equal texts are equal values to the last bit.
fn text(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "null".to_owned();
    }
    match array.data_type() {
        ArrowType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            format!(
                "{value:?} {:x}",
                if value.is_nan() { 0 } else { value.to_bits() }
            )
        }
        ArrowType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            format!(
                "{value:?} {:x}",
                if value.is_nan() { 0 } else { value.to_bits() }
            )
        }
        ArrowType::List(_) => {
            let elements = array.as_list::<i32>().value(row);
            let elements = (0..elements.len()).map(|at| text(elements.as_ref(), at));
            format!("[{}]", elements.collect::<Vec<_>>().join(", "))
        }
        ArrowType::Map(..) => {
            let entries = array.as_map().value(row);
            let entries = (0..entries.len()).map(|at| text(&entries, at));
            format!("[{}]", entries.collect::<Vec<_>>().join(", "))
        }
        ArrowType::Struct(_) => {
            let fields = array.as_struct().columns().iter();
            let fields: Vec<_> = fields.map(|field| text(field.as_ref(), row)).collect();
            format!("{{{}}}", fields.join(", "))
        }
        ArrowType::Timestamp(..) => array
            .as_primitive::<TimestampMicrosecondType>()
            .value(row)
            .to_string(),
        ArrowType::Date32 => array.as_primitive::<Date32Type>().value(row).to_string(),
        ArrowType::Utf8View => format!("{:?}", array.as_string_view().value(row)),
        ArrowType::BinaryView => format!("{:02x?}", array.as_binary_view().value(row)),
        _ => {
            let options = arrow::util::display::FormatOptions::default();
            let formatter = arrow::util::display::ArrayFormatter::try_new(array, &options);
            formatter.unwrap().value(row).to_string()
        }
    }
}

/// What became of an expression.
#[derive(Default)]
struct Outcome {
    compared: usize,
    bailed_out: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

fn evaluate(
    expr: &Arc<dyn datafusion_physical_expr::PhysicalExpr>,
    batch: &RecordBatch,
) -> Result<ArrayRef, String> {
    expr.evaluate(batch)
        .and_then(|value| value.into_array(batch.num_rows()))
        .map_err(|error| match RunError::of(error) {
            RunError::BailOut(reason) => reason,
            other => panic!("{other:?}"),
        })
}

fn compare(
    outcome: &mut Outcome,
    found: &ArrayRef,
    expected: &ArrayRef,
    batch: &RecordBatch,
    first: usize,
) {
    for row in 0..found.len() {
        let (ours, sparks) = (text(found, row), text(expected, row));
        outcome.compared += 1;
        if ours != sparks {
            let columns = batch.columns().iter();
            let columns: Vec<_> = columns.map(|column| text(column, row)).collect();
            outcome.wrong.push(format!(
                "row {}: {ours} instead of {sparks} of {}",
                first + row,
                columns.join(" | ").chars().take(300).collect::<String>()
            ));
        }
    }
}

fn check_expression(
    expr: &Expr,
    attributes: &[Attribute],
    batch: &RecordBatch,
    expected: Option<&ArrayRef>,
) -> Result<Outcome, String> {
    let lowered = lower(expr, attributes).map_err(|reason| reason.to_string())?;
    let to = expr
        .data_type
        .to_arrow()
        .map_err(|reason| reason.to_string())?;
    let mut outcome = Outcome::default();
    let whole = evaluate(&lowered, batch);
    let Some(expected) = expected else {
        // Spark failed: so must this, in one way or another.
        match whole {
            Err(reason) => *outcome.bailed_out.entry(reason).or_default() += 1,
            Ok(_) => outcome.wrong.push("a result where Spark fails".to_owned()),
        }
        return Ok(outcome);
    };
    let expected = adapt(expected, &to);
    if let Ok(found) = &whole {
        assert_eq!(found.data_type(), &to);
        compare(&mut outcome, found, &expected, batch, 0);
    }
    // Row by row: what is bailed out of hides no other rows. Some rows alone are enough otherwise.
    let rows = if whole.is_ok() {
        batch.num_rows().min(50)
    } else {
        batch.num_rows()
    };
    for row in 0..rows {
        let one = batch.slice(row, 1);
        match evaluate(&lowered, &one) {
            Ok(found) => compare(&mut outcome, &found, &expected.slice(row, 1), &one, row),
            Err(reason) => *outcome.bailed_out.entry(reason).or_default() += 1,
        }
    }
    Ok(outcome)
}

fn check(kind: &str, version: &str, least: usize) {
    let path = directory("fixtures").join(format!("{kind}-{version}.jsonl.zst"));
    let packed = fs::read(path).unwrap();
    let lines = String::from_utf8(zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
    let table_of_zones = fs::read(testkit::jdk().join("lib/tzdb.dat")).unwrap();
    let zones = javatime::Zones::read(table_of_zones).unwrap();
    let mut numbers = version.split('.').map(|number| number.parse().unwrap());
    let (major, minor) = (numbers.next().unwrap(), numbers.next().unwrap());
    let mut tables = HashMap::new();
    let mut summary = String::new();
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(parquet) = line.get("parquet") {
            tables.insert(
                line["table"].as_str().unwrap().to_owned(),
                table(parquet).unwrap(),
            );
            continue;
        }
        let label = line["label"].as_str().unwrap();
        let (binary, _) = Graph::parse_first(&bytes(&line["binary"]), &Limits::default()).unwrap();
        let pair = binary.tuple(binary.root().unwrap()).unwrap();
        let mut settings = Settings::new(|name| line["properties"][name].as_str());
        settings.zones = zones.clone();
        settings.spark = (major, minor);
        settings.java = 17;
        let (rdd, target) = (pair[0].node().unwrap(), pair[1].node().unwrap());
        let stage = match Stage::read(&binary, rdd, target, settings) {
            Ok(stage) => stage,
            Err(reason) => {
                writeln!(summary, "{label}: not decoded: {reason}").unwrap();
                continue;
            }
        };
        let Some((list, below)) = projection(&stage.root) else {
            writeln!(summary, "{label}: no projection").unwrap();
            continue;
        };
        let attributes = below.output.require().unwrap();
        let batch = input(&tables[line["table"].as_str().unwrap()], below);
        let mut results = None;
        if !line["results"].is_null() {
            results = table(&line["results"]);
            if results.is_none() {
                writeln!(summary, "{label}: no UTF-8").unwrap();
                continue;
            }
        }
        for (index, expr) in list.iter().enumerate() {
            let name: String = expr.to_string().chars().take(120).collect();
            let expected = results.as_ref().map(|results| results.column(index));
            match check_expression(expr, attributes, &batch, expected) {
                Ok(outcome) => {
                    compared += outcome.compared;
                    if expected.is_some() {
                        for (reason, rows) in &outcome.bailed_out {
                            writeln!(summary, "{label}: {name}: {rows} rows: {reason}").unwrap();
                        }
                    }
                    if let Some(first) = outcome.wrong.first() {
                        let count = outcome.wrong.len();
                        wrong.push(format!("{label}: {name}: {count} wrong: {first}"));
                    }
                }
                Err(reason) => writeln!(summary, "{label}: {name}: unsupported: {reason}").unwrap(),
            }
        }
    }
    println!("{version}: {compared} values compared");
    let golden = directory("golden").join(format!("{kind}-{version}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &summary).unwrap();
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared > least, "{compared}");
    assert_eq!(fs::read_to_string(&golden).unwrap(), summary);
}

fn plain(version: &str) {
    check("expressions", version, 1_000_000);
}

fn nested(version: &str) {
    check("nested", version, 100_000);
}

fn lambdas(version: &str) {
    check("lambdas", version, 100_000);
}

fn functions(version: &str) {
    check("functions", version, 1_000_000);
}

fn texts(version: &str) {
    check("texts", version, 500_000);
}

fn ordering(version: &str) {
    check("ordering", version, 100_000);
}

fn maths(version: &str) {
    check("maths", version, 100_000);
}

testkit::oldest_and_newest!(expressions_are_sparks, super::plain);
testkit::oldest_and_newest!(expressions_of_arrays_and_maps_are_sparks, super::nested);
testkit::oldest_and_newest!(functions_are_sparks, super::functions);
testkit::oldest_and_newest!(texts_and_times_are_sparks, super::texts);
testkit::oldest_and_newest!(expressions_of_lambdas_are_sparks, super::lambdas);
testkit::oldest_and_newest!(
    comparisons_of_arrays_and_structs_are_sparks,
    super::ordering
);
testkit::oldest_and_newest!(maths_and_codecs_are_sparks, super::maths);
