//! Windows through a worker that adds numbers.

use arrow::array::{AsArray as _, Int32Array, Int64Array};
use arrow::datatypes::Int32Type;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use catalyst::{
    ArrowSession, Bound, ExprKind, FrameUnit, Literal, OperatorKind, PythonArgument, PythonUdf,
    SortOrder, TaskInputs, WindowUdf,
};
use rows::error::RunError;

use super::*;
use crate::sources::PythonArguments;
use crate::testing::{
    Given, batch, broadcast, column, divided, local, operator, plan, reference, rows, run,
    run_within, simple, text,
};

/// Partitions of 90 rows, two peers each; values 0, 1, ...
const ROWS: i32 = 200;

fn columns() -> [Attribute; 3] {
    [1, 2, 3].map(|id| column(id, DataType::Integer))
}

fn table() -> Vec<ArrayRef> {
    let of = |value: fn(i32) -> i32| -> ArrayRef {
        Arc::new((0..ROWS).map(value).map(Some).collect::<Int32Array>())
    };
    vec![of(|row| row / 90), of(|row| row / 2), of(|row| row)]
}

fn offset(rows: i32) -> Bound {
    Bound::Offset(Expr {
        kind: ExprKind::Literal(Literal::Integer(rows)),
        data_type: DataType::Integer,
        nullable: false,
    })
}

fn frame(unit: FrameUnit, lower: Bound, upper: Bound) -> Frame {
    Frame {
        unit,
        lower,
        upper,
        time_zone: None,
    }
}

/// Sums of the values of frames, behind the columns of the input.
fn sums(frames: Vec<Frame>) -> Operator {
    let [partition, key, value] = columns();
    let functions = frames
        .into_iter()
        .zip(10..)
        .map(|(frame, id)| FrameFunction {
            udf: PythonUdf {
                name: "total".to_owned(),
                functions: vec![broadcast().node],
                arguments: vec![PythonArgument {
                    name: None,
                    value: reference(&value),
                }],
                data_type: DataType::Long,
                deterministic: true,
                result_id: 0,
            },
            frame,
            output: column(id, DataType::Long),
        });
    let functions: Vec<_> = functions.collect();
    let own = functions.iter().map(|of| of.output.clone());
    let output: Vec<Attribute> = columns().into_iter().chain(own).collect();
    let window = WindowPython {
        kind: WindowUdf::Series,
        functions,
        partition: vec![reference(&partition)],
        order: vec![SortOrder {
            child: reference(&key),
            ascending: true,
            nulls_first: true,
        }],
        in_batches: false,
        bound_types: "pandas_window_bound_types",
        session: Some(ArrowSession {
            time_zone: Some("UTC".to_owned()),
            batch_size: 0,
            settings: vec![("pandas_window_bound_types".to_owned(), "another".to_owned())],
            validates_schemas: false,
        }),
        job_artifact_uuid: None,
    };
    let kind = OperatorKind::WindowPython {
        window: Box::new(window),
        child: local(0, &columns()),
    };
    operator(kind, output)
}

/// A worker that reads all that it is given, one batch for each partition, before it answers.
fn worker(call: &PythonCall, arguments: PythonArguments) -> PythonFrames {
    let bytes: Vec<u8> = arguments.flat_map(|frame| frame.unwrap()).collect();
    let PythonRows::Arrow { settings, .. } = &call.rows else {
        unreachable!();
    };
    let [(name, bounds)] = &settings[..] else {
        panic!("{settings:?}");
    };
    assert_eq!(name, "pandas_window_bound_types");
    let fields = (0..call.callees.len())
        .map(|place| Field::new(format!("_{place}"), arrow::datatypes::DataType::Int64, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    let mut parts = divided(std::mem::take(writer.get_mut()));
    for batch in StreamReader::try_new(&bytes[..], None).unwrap() {
        let batch = batch.unwrap();
        let numbers = |place: usize| batch.column(place).as_primitive::<Int32Type>().clone();
        let results = call
            .callees
            .iter()
            .zip(bounds.split(','))
            .map(|(callee, bounds)| {
                let places: Vec<usize> = callee.arguments.iter().map(|(place, _)| *place).collect();
                let total =
                    |values: &[i32]| values.iter().map(|value| i64::from(*value)).sum::<i64>();
                let sums: Vec<i64> = match (&places[..], bounds) {
                    ([value], "unbounded") => {
                        vec![total(numbers(*value).values()); batch.num_rows()]
                    }
                    ([begin, end, value], "bounded") => {
                        let (begin, end, value) = (numbers(*begin), numbers(*end), numbers(*value));
                        let edges = begin.values().iter().zip(end.values());
                        let edges = edges.map(|(begin, end)| *begin as usize..*end as usize);
                        edges.map(|frame| total(&value.values()[frame])).collect()
                    }
                    other => panic!("{other:?}"),
                };
                Arc::new(Int64Array::from(sums)) as ArrayRef
            });
        let results = RecordBatch::try_new(Arc::clone(&schema), results.collect()).unwrap();
        writer.write(&results).unwrap();
        parts.extend(divided(std::mem::take(writer.get_mut())));
    }
    Box::new(parts.into_iter().map(Ok))
}

fn given() -> Given {
    Given {
        worker: Some(worker),
        ..Given::default()
    }
}

fn input(table: Vec<ArrayRef>) -> TaskInputs {
    TaskInputs::Leaf(0, rows(&columns(), &[batch(&columns(), table)]))
}

#[test]
fn frames_of_partitions_that_are_longer_than_batches() {
    let whole = || {
        let (first, last) = (Bound::UnboundedPreceding, Bound::UnboundedFollowing);
        frame(FrameUnit::Rows, first, last)
    };
    let near = frame(FrameUnit::Rows, offset(-1), offset(1));
    let peers = frame(FrameUnit::Range, offset(-1), Bound::CurrentRow);
    // The first again, behind others: functions of a frame are called together.
    let stage = simple(sums(vec![near.clone(), whole(), peers, near]));
    let found = text(&run(&plan(&stage, &input(table()), given())));
    let expected = (0..ROWS).map(|row| {
        let start = row / 90 * 90;
        let partition = start..(start + 90).min(ROWS);
        let of = |rows: std::ops::Range<i32>| -> i32 {
            rows.filter(|row| partition.contains(row)).sum()
        };
        let peer = row / 2 * 2;
        let (near, whole, peers) = (of(row - 1..row + 2), of(0..ROWS), of(peer - 2..peer + 2));
        format!("{start} {} {row} {near} {whole} {peers} {near}", row / 2).replacen(
            &start.to_string(),
            &(row / 90).to_string(),
            1,
        )
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn whole_partitions_need_no_bounds() {
    let (first, last) = (Bound::UnboundedPreceding, Bound::UnboundedFollowing);
    let stage = simple(sums(vec![frame(FrameUnit::Range, first, last)]));
    let found = text(&run(&plan(&stage, &input(table()), given())));
    let of = |row: i32| -> i32 { (row / 90 * 90..(row / 90 * 90 + 90).min(ROWS)).sum() };
    let expected = (0..ROWS).map(|row| format!("{} {} {row} {}", row / 90, row / 2, of(row)));
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn no_rows_need_no_worker() {
    let stage = simple(sums(vec![frame(FrameUnit::Rows, offset(-1), offset(1))]));
    let none = table().iter().map(|column| column.slice(0, 0)).collect();
    let without = plan(&stage, &input(none), Given::default());
    assert_eq!(run(&without).len(), 0);
}

#[test]
fn a_partition_without_room_is_an_error() {
    let stage = simple(sums(vec![frame(FrameUnit::Rows, offset(-1), offset(1))]));
    let end = run_within(&plan(&stage, &input(table()), given()), 2000);
    assert!(matches!(end, Err(RunError::BailOut(_))), "{end:?}");
}
