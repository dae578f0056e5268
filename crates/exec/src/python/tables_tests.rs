//! Rows of a worker that makes as many of each number as that says, and two behind the last.

use arrow::array::{AsArray as _, Int32Array, Int64Array, StructArray};
use arrow::datatypes::{Field, Int32Type, Schema};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use catalyst::{
    ArrowSession, Attribute, ExprId, Operator, OperatorKind, PythonArgument, StructField,
    TableForm, TablePython, TaskInputs,
};
use rows::error::RunError;

use super::*;
use crate::sources::{PythonArguments, PythonCall};
use crate::testing::{
    Given, batch, broadcast, column, divided, local, operator, plan, reference, rows, run,
    run_within, simple, text,
};

/// A worker stops where it is given this number, as if that had no results.
const STOP: i32 = 1000;

fn columns() -> [Attribute; 2] {
    [1, 2].map(|id| column(id, DataType::Integer))
}

/// What the worker makes of the first column beside these columns.
fn made_of(required: &[Attribute]) -> Operator {
    let made = column(9, DataType::Long);
    let [given, _] = columns();
    let argument = PythonArgument {
        name: Some("n".to_owned()),
        value: reference(&given),
    };
    let table = TablePython {
        form: TableForm::Values(ArrowSession {
            time_zone: None,
            batch_size: 5,
            settings: Vec::new(),
            validates_schemas: false,
        }),
        name: "made".to_owned(),
        function: broadcast().node,
        arguments: vec![argument],
        table_arguments: vec![false],
        schema: vec![StructField {
            name: "made".to_owned(),
            data_type: DataType::Long,
            nullable: true,
            field_id: None,
            exists_default: None,
        }],
        analyzed: None,
        partition_columns: Vec::new(),
        required: required.to_vec(),
        results: vec![made.clone()],
        job_artifact_uuid: None,
    };
    let kind = OperatorKind::TablePython {
        table: Box::new(table),
        child: local(0, &columns()),
    };
    operator(kind, [required, &[made]].concat())
}

fn worker(call: &PythonCall, arguments: PythonArguments) -> PythonFrames {
    let table = call.table.as_ref().unwrap();
    let schema = r#"{"fields":[{"metadata":{},"name":"made","nullable":true,"type":"long"}],"type":"struct"}"#;
    assert_eq!(
        (table.name.as_str(), table.schema.as_str()),
        ("made", schema)
    );
    assert_eq!(call.callees[0].arguments, [(0, Some("n".to_owned()))]);
    let bytes: Vec<u8> = arguments.flat_map(|frame| frame.unwrap()).collect();
    let field = Arc::new(Field::new("any", arrow::datatypes::DataType::Int64, true));
    let row = arrow::datatypes::DataType::Struct(vec![field.clone()].into());
    let schema = Arc::new(Schema::new(vec![Field::new("_0", row, false)]));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    let mut parts = divided(take(writer.get_mut()));
    let mut write = |values: Vec<i64>| {
        let values: ArrayRef = Arc::new(Int64Array::from(values));
        let rows = StructArray::from(vec![(Arc::clone(&field), values)]);
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(rows)]).unwrap();
        writer.write(&batch).unwrap();
        parts.extend(divided(take(writer.get_mut())));
    };
    let batches = StreamReader::try_new(&bytes[..], None).unwrap();
    let numbers: Vec<i32> = batches
        .flat_map(|batch| {
            batch
                .unwrap()
                .column(0)
                .as_primitive::<Int32Type>()
                .values()
                .to_vec()
        })
        .collect();
    for number in numbers.iter().take_while(|number| **number != STOP) {
        write(vec![i64::from(*number); *number as usize]);
    }
    write(vec![-1, -2]);
    Box::new(parts.into_iter().map(Ok))
}

fn found(required: &[Attribute], numbers: Vec<i32>) -> Vec<String> {
    let stage = simple(made_of(required));
    text(&run(&plan(&stage, &input(numbers), given())))
}

fn given() -> Given {
    Given {
        worker: Some(worker),
        ..Given::default()
    }
}

fn input(numbers: Vec<i32>) -> TaskInputs {
    let places = (0..).take(numbers.len());
    let places: ArrayRef = Arc::new(Int32Array::from_iter_values(places));
    let numbers: ArrayRef = Arc::new(Int32Array::from(numbers));
    TaskInputs::Leaf(
        0,
        rows(&columns(), &[batch(&columns(), vec![numbers, places])]),
    )
}

#[test]
fn rows_come_out_beside_those_that_they_were_made_of() {
    let [_, place] = columns();
    let required = std::slice::from_ref(&place);
    assert_eq!(
        found(required, vec![0, 2, 0, 1]),
        ["1 2", "1 2", "3 1", "3 -1", "3 -2"]
    );
    // More than a batch on both sides.
    let numbers: Vec<i32> = (0..300).map(|place| place % 4).collect();
    let expected = numbers.iter().enumerate().flat_map(|(place, number)| {
        std::iter::repeat_n(format!("{place} {number}"), *number as usize)
    });
    let mut expected: Vec<_> = expected.collect();
    expected.extend(["299 -1".to_owned(), "299 -2".to_owned()]);
    assert_eq!(found(required, numbers), expected);
}

#[test]
fn what_is_behind_a_row_that_was_skipped_comes_out_beside_it() {
    let [_, place] = columns();
    assert_eq!(
        found(&[place], vec![1, 0, STOP, 5]),
        ["0 1", "2 -1", "2 -2"]
    );
}

#[test]
fn rows_beside_nothing() {
    assert_eq!(found(&[], vec![1, 2]), ["1", "2", "2", "-1", "-2"]);
    let [_, place] = columns();
    for required in [&[][..], &[place]] {
        let stage = simple(made_of(required));
        let end = run_within(&plan(&stage, &input(vec![]), given()), 1 << 30);
        assert!(matches!(end, Err(RunError::BailOut(_))), "{end:?}");
    }
}

#[test]
fn columns_that_nobody_wants_are_not_made() {
    let [_, place] = columns();
    let table = made_of(std::slice::from_ref(&place));
    let kind = OperatorKind::Project {
        list: vec![reference(&place)],
        child: Box::new(table),
    };
    let stage = simple(operator(kind, vec![place]));
    let rows = text(&run(&plan(&stage, &input(vec![0, 2, 1]), given())));
    assert_eq!(rows, ["1", "1", "2", "2", "2"]);
    let id = ExprId { id: 9, jvm_id: 0 };
    let made = Attribute {
        id,
        ..column(9, DataType::Long)
    };
    let kind = OperatorKind::Project {
        list: vec![reference(&made)],
        child: Box::new(made_of(&[])),
    };
    let stage = simple(operator(kind, vec![made]));
    assert_eq!(
        text(&run(&plan(&stage, &input(vec![1]), given()))),
        ["1", "-1", "-2"]
    );
}
