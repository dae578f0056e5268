use std::ptr::null_mut;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{Int32Type, Int64Type};
use arrow::ffi_stream::ArrowArrayStreamReader;
use arrow::record_batch::RecordBatchReader;

use super::library;
use crate::abi::*;
use crate::testing::{Host, call};
use crate::types;

fn numbers(numbers: &[i32]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int32Array::from(numbers.to_vec()));
    RecordBatch::try_from_iter([("n", numbers)]).unwrap()
}

fn read(output: ArrowArrayStreamReader) -> Result<Vec<i32>, String> {
    let mut all = Vec::new();
    for batch in output {
        let batch = batch.map_err(|error| error.to_string())?;
        all.extend_from_slice(batch.column(0).as_primitive::<Int32Type>().values());
    }
    Ok(all)
}

#[test]
fn rows_of_partitions() {
    let host = Host::new(library::module);
    let doubled = host.bind("doubled", "n:int").unwrap();
    let output = doubled
        .open(vec![numbers(&[1, 2]), numbers(&[]), numbers(&[3])])
        .unwrap();
    let declared = types::columns("twice:int, list:array<int>", "UTC").unwrap();
    assert_eq!(output.schema().fields, declared);
    assert_eq!(read(output), Ok(vec![2, 4, 6]));
    // Again, with another input; read in part.
    let mut output = doubled.open(vec![numbers(&[1]), numbers(&[2])]).unwrap();
    let batch = output.next().unwrap().unwrap();
    let list = batch.column(1).as_list::<i32>().value(0);
    assert_eq!(list.as_primitive::<Int32Type>().values(), &[2]);
    drop(output);
    let failed = host.bind("doubled", "m:int").err().unwrap();
    assert!(failed.message.contains("`m:int`"), "{failed:?}");
}

#[test]
fn streams_that_fail_say_so_again() {
    let host = Host::new(library::module);
    let doubled = host.bind("doubled", "n:int").unwrap();
    let errors = |number, expected_code: i32, message: &str| {
        let mut output = doubled
            .open_raw(vec![numbers(&[1]), numbers(&[number]), numbers(&[2])])
            .0
            .unwrap();
        let mut array = ArrowArray::empty();
        let stream = &raw mut output;
        // SAFETY: a stream that is not released, and whose error is read before it is used again.
        unsafe {
            let next = output.get_next.unwrap();
            let last_error = output.get_last_error.unwrap();
            assert!(last_error(stream).is_null());
            assert_eq!(next(stream, &raw mut array), 0);
            for _ in 0..2 {
                assert_eq!(next(stream, &raw mut array), expected_code);
                let text = std::ffi::CStr::from_ptr(last_error(stream));
                let text = text.to_str().unwrap();
                assert!(text.contains(message), "{text}");
            }
        }
    };
    errors(-1, 22, "nul \u{fffd} (row 1) SQLSTATE: 22003");
    errors(-2, 5, "minus two");
    errors(
        -3,
        5,
        "the function gives the columns `twice:int,list:int` and declares `twice:int,list:array<int>`",
    );
    host.cancel();
    let (opened, is_left) = doubled.open_raw(vec![numbers(&[1])]);
    let failed = opened.unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_CANCELLED);
    assert!(!is_left, "the input is released, and says so");
}

/// A task that is cancelled between two batches.
#[test]
fn cancelled_streams_end() {
    let host = Host::new(library::module);
    let doubled = host.bind("doubled", "n:int").unwrap();
    let mut output = doubled.open(vec![numbers(&[1]), numbers(&[2])]).unwrap();
    output.next().unwrap().unwrap();
    host.cancel();
    let error = output.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("cancelled"), "{error}");
}

#[test]
fn outputs_have_the_declared_columns() {
    let mut host = Host::new(library::module);
    host.task.stage_id = 99;
    let doubled = host.bind("doubled", "n:int").unwrap();
    let failed = doubled.open(vec![numbers(&[1])]).unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
    assert!(
        failed.message.contains("gives the columns ``"),
        "{failed:?}"
    );
}

#[test]
fn inputs_that_are_none() {
    let host = Host::new(library::module);
    let doubled = host.bind("doubled", "n:int").unwrap();
    let open = doubled.function.open.unwrap();
    let mut released = ArrowArrayStream::empty();
    for (input, message) in [
        (null_mut(), "input is NULL"),
        (&raw mut released, "already released"),
    ] {
        let mut output = ArrowArrayStream::empty();
        let failed = call(|failure| {
            let output = &raw mut output;
            // SAFETY: alive, or NULL, which is refused.
            unsafe { open(doubled.instance, doubled.task(), input, output, failure) }
        });
        let failed = failed.unwrap_err();
        assert!(failed.message.contains(message), "{failed:?}");
    }
}

fn calls(names: [&str; 2], rows: &[(Option<&str>, i32)]) -> Vec<RecordBatch> {
    let values: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<StringArray>());
    let times: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.1)));
    vec![RecordBatch::try_from_iter([(names[0], values), (names[1], times)]).unwrap()]
}

#[test]
fn rows_of_calls() {
    let host = Host::new(library::module);
    let repeat = host.bind("repeat", "string, int").unwrap();
    let names = ["_0", "_1"];
    let rows = [(Some("a"), 3), (Some("none"), 0), (None, 1), (Some("b"), 2)];
    let output = repeat.open(calls(names, &rows)).unwrap();
    let mut all = Vec::new();
    for batch in output {
        let batch = batch.unwrap();
        assert!(batch.num_rows() <= 2);
        let call = batch.column(0).as_primitive::<Int64Type>();
        let rows = batch.column(1).as_struct();
        let value = rows.column(0).as_string::<i32>();
        let number = rows.column(1).as_primitive::<Int32Type>();
        for row in 0..batch.num_rows() {
            let value = value.is_valid(row).then(|| value.value(row).to_owned());
            all.push((call.value(row), value, number.value(row)));
        }
    }
    let a = || Some("a".to_owned());
    let b = || Some("b".to_owned());
    let expected = [
        (0, a(), 0),
        (0, a(), 1),
        (0, a(), 2),
        (2, None, 0),
        (3, b(), 0),
        (3, b(), 1),
    ];
    assert_eq!(all, expected);

    assert_eq!(repeat.open(calls(names, &[])).unwrap().count(), 0);
    let mut failing = repeat.open(calls(names, &[(None, 1), (None, -1)])).unwrap();
    failing.next().unwrap().unwrap();
    let error = failing.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("-1 times (row 1)"), "{error}");

    let mut backwards = repeat
        .open(calls(["backwards", "_1"], &[(None, 1)]))
        .unwrap();
    backwards.next().unwrap().unwrap();
    let error = backwards.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("rows of call 2 too late"), "{error}");
}
