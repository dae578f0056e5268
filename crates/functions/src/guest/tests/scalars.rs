use std::process::Command;
use std::ptr::null_mut;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array,
    ListBuilder, MapBuilder, StringArray, StringBuilder, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Float64Type, Int32Type};

use super::library;
use crate::abi::*;
use crate::testing::{Host, call, call_with, struct_of};
use crate::types;

fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn one_to(last: i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(1..=last))
}

#[test]
fn values_nulls_and_no_rows() {
    let host = Host::new(library::module);
    let add = host.bind("add", "int, int").unwrap();
    let left = ints(&[Some(1), None, Some(3)]);
    let right = ints(&[Some(10), Some(20), None]);
    let sum = add.execute(&[left, right]).unwrap();
    assert_eq!(sum.as_ref(), &Int32Array::from(vec![Some(11), None, None]));

    let none = add.execute(&[ints(&[]), ints(&[])]).unwrap();
    assert_eq!(none.len(), 0);

    let doubles = host.bind("add", "double, double").unwrap();
    let half: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
    let sum = doubles.execute(&[half.clone(), half]).unwrap();
    assert_eq!(sum.as_primitive::<Float64Type>().values(), &[1.0]);
}

#[test]
fn without_arguments_there_are_rows() {
    let host = Host::new(library::module);
    let rows = host.bind("rows", "").unwrap();
    let arguments = ArrowArray::new(&struct_of(&[], 3).to_data());
    let result = rows.execute_raw(&arguments).unwrap();
    assert_eq!(result.as_ref(), &Int64Array::from(vec![7, 7, 7]));
}

#[test]
fn sliced_arguments() {
    let host = Host::new(library::module);
    let add = host.bind("add", "int, int").unwrap();
    let numbers = ints(&[Some(1), None, Some(3), Some(4), None]);
    let sum = add
        .execute(&[numbers.slice(1, 3), numbers.slice(2, 3)])
        .unwrap();
    assert_eq!(sum.as_ref(), &Int32Array::from(vec![None, Some(7), None]));

    // As C has them: the children have offsets, and are longer than the struct.
    let arguments = ArrowArray::new(&struct_of(&[numbers.clone(), numbers], 5).to_data());
    let mut arguments = arguments;
    arguments.length = 2;
    for (child, offset) in [(0, 2), (1, 1)] {
        // SAFETY: there are two children, of five rows each.
        unsafe {
            let child = *arguments.children.add(child);
            (*child).offset = offset;
            (*child).length = 3;
            (*child).null_count = -1;
        }
    }
    let sum = add.execute_raw(&arguments).unwrap();
    assert_eq!(sum.as_ref(), &Int32Array::from(vec![None, Some(7)]));
}

#[test]
fn panics_end_at_the_border() {
    let host = Host::new(library::module);
    for (name, message) in [
        ("panics", "no way"),
        ("throws", "a panic without a message"),
    ] {
        let function = host.bind(name, "int").unwrap();
        for _ in 0..2 {
            let failed = function.execute(&[one_to(3)]).unwrap_err();
            assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
            assert!(failed.message.ends_with(message), "{failed:?}");
            assert_eq!(failed.row, -1);
        }
    }
}

#[test]
fn failures_have_row_and_sqlstate() {
    let host = Host::new(library::module);
    let fails = host.bind("fails", "int").unwrap();
    let failed = fails.execute(&[one_to(3)]).unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_INVALID);
    assert_eq!(failed.message, "ééé is out of range");
    assert_eq!((failed.row, failed.sqlstate.as_str()), (2, "22003"));

    // A message that is too long is cut between characters; a shorter struct has less.
    let arguments = ArrowArray::new(&struct_of(&[one_to(3)], 3).to_data());
    let with = |room, size| {
        call_with(room, size, |failure| {
            let mut result = ArrowArray::empty();
            let execute = fails.function.execute.unwrap();
            // SAFETY: all are alive.
            unsafe {
                let (arguments, result) = (&raw const arguments, &raw mut result);
                execute(fails.instance, fails.task(), arguments, result, failure)
            }
        })
        .unwrap_err()
    };
    let size = size_of::<firesteel_failure>();
    assert_eq!(with(5, size).message, "éé");
    assert_eq!(with(0, size).message, "");
    let short = with(512, size - 1);
    assert_eq!((short.message.as_str(), short.row), ("", 2));
    assert_eq!(short.sqlstate, "22003");
    assert_eq!(with(512, 16).sqlstate, "");
    assert_eq!(with(512, 16).row, 2);
    assert_eq!(with(512, 8).row, -1);
    // Nobody wants to know.
    let mut result = ArrowArray::empty();
    let execute = fails.function.execute.unwrap();
    // SAFETY: all are alive.
    let status = unsafe {
        let (arguments, result) = (&raw const arguments, &raw mut result);
        execute(fails.instance, fails.task(), arguments, result, null_mut())
    };
    assert_eq!(status, FIRESTEEL_STATUS_INVALID);
}

#[test]
fn results_are_checked() {
    let host = Host::new(library::module);
    let failed = host
        .bind("fewer", "int")
        .unwrap()
        .execute(&[one_to(3)])
        .unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
    assert_eq!(
        failed.message,
        "result: the function gives 2 values where there should be 3"
    );
    let failed = host
        .bind("other", "int")
        .unwrap()
        .execute(&[one_to(3)])
        .unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
    assert_eq!(
        failed.message,
        "result: the function gives `string` and declares `int`"
    );
}

/// Arrays of every shape, each with nulls.
fn shapes() -> Vec<(&'static str, ArrayRef)> {
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("ccc")]));
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("x"), None]);
    lists.append_null();
    lists.append_value([Some("yy")]);
    let mut doubles = ListBuilder::new(Float64Array::builder(0));
    doubles.append_value([Some(1.5)]);
    doubles.append_value([]);
    doubles.append_value([None, Some(2.5)]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Array::builder(0));
    for row in 0..3 {
        maps.keys().append_value(format!("key {row}"));
        maps.values().append_option((row > 0).then_some(row));
        maps.append(row != 1).unwrap();
    }
    let DataType::Struct(fields) =
        types::data_type("struct<a:int,b:array<double>>", "UTC").unwrap()
    else {
        panic!("a struct")
    };
    let doubles = arrow::array::make_array(
        doubles
            .finish()
            .to_data()
            .into_builder()
            .data_type(fields[1].data_type().clone())
            .build()
            .unwrap(),
    );
    let structs = StructArray::new(fields, vec![ints(&[Some(1), None, Some(3)]), doubles], None);
    let decimals = Decimal128Array::from(vec![Some(1), None, Some(-3)]);
    let times = TimestampMicrosecondArray::from(vec![Some(1), None, Some(3)]);
    vec![
        ("int", ints(&[Some(1), None, Some(3)])),
        ("string", strings),
        (
            "boolean",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        ("array<string>", Arc::new(lists.finish())),
        ("map<string,int>", Arc::new(maps.finish())),
        ("struct<a:int,b:array<double>>", Arc::new(structs)),
        (
            "decimal(20,2)",
            Arc::new(decimals.with_precision_and_scale(20, 2).unwrap()),
        ),
        ("timestamp", Arc::new(times.with_timezone("Asia/Tokyo"))),
    ]
}

/// A result that is an argument is copied: it is still there when the argument is gone.
#[test]
fn results_that_are_arguments_are_copied() {
    let host = Host::new(library::module);
    for (data_type, array) in shapes() {
        let identity = host.bind("identity", data_type).unwrap();
        for (offset, rows) in [(0, 3), (1, 2), (2, 1), (1, 0)] {
            let given = array.slice(offset, rows);
            let begin = given
                .to_data()
                .buffers()
                .first()
                .map(|buffer| buffer.as_ptr());
            let result = identity.execute(std::slice::from_ref(&given)).unwrap();
            let data = result.to_data();
            assert!(rows == 0 || begin.is_none() || begin != Some(data.buffers()[0].as_ptr()));
            // Names within maps are Arrow's before, and Spark's after.
            let given = format!("{given:?}").replace("\"keys\"", "\"key\"");
            let given = given.replace("\"values\"", "\"value\"");
            assert_eq!(given, format!("{result:?}"), "{data_type}");
        }
    }
}

#[test]
fn an_instance_that_keeps_arguments_is_ended() {
    let host = Host::new(library::module);
    let keeps = host.bind("keeps", "int").unwrap();
    let failed = keeps.execute(&[one_to(3)]).unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
    assert!(failed.message.contains("keeps its arguments"), "{failed:?}");
    let failed = keeps.execute(&[one_to(3)]).unwrap_err();
    assert!(failed.message.contains("was ended"), "{failed:?}");
    // Another is as good as new.
    let keeps = host.bind("keeps", "int").unwrap();
    let failed = keeps.execute(&[one_to(3)]).unwrap_err();
    assert!(failed.message.contains("keeps its arguments"), "{failed:?}");
}

#[test]
fn a_thread_may_be_a_moment_late() {
    let host = Host::new(library::module);
    let in_thread = host.bind("in_thread", "int").unwrap();
    let sum = in_thread.execute(&[one_to(4)]).unwrap();
    assert_eq!(sum.as_primitive::<Int32Type>().values(), &[10; 4]);
}

/// Nothing else would keep the memory from being read: the child process does not survive it.
#[test]
fn arguments_in_a_static_end_the_process() {
    const CHILD: &str = "FIRESTEEL_TEST_ARGUMENTS_IN_A_STATIC";
    if std::env::var_os(CHILD).is_some() {
        let host = Host::new(library::module);
        let in_static = host.bind("in_static", "int").unwrap();
        let _ = in_static.execute(&[one_to(3)]);
        return;
    }
    let name = "guest::tests::scalars::arguments_in_a_static_end_the_process";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(!child.status.success());
    let printed = String::from_utf8_lossy(&child.stderr);
    assert!(printed.contains("the process is ended"), "{printed}");
}

#[test]
fn callers_that_are_wrong_are_told() {
    let host = Host::new(library::module);
    let other = Host::new(library::module);
    let add = host.bind("add", "int, int").unwrap();
    let arguments = ArrowArray::new(&struct_of(&[one_to(2), one_to(2)], 2).to_data());
    let arguments = &raw const arguments;
    let released = ArrowArray::empty();
    let released = &raw const released;
    let mut result = ArrowArray::empty();
    let result = &raw mut result;
    let (task, instance) = (add.task(), add.instance);
    let other = &raw const *other.task;
    for (instance, task, arguments, result, message) in [
        (null_mut(), task, arguments, result, "instance is NULL"),
        (instance, other, arguments, result, "for another task"),
        (instance, task, std::ptr::null(), result, "array is NULL"),
        (instance, task, released, result, "array is released"),
        (instance, task, arguments, null_mut(), "result is NULL"),
    ] {
        let execute = add.function.execute.unwrap();
        // SAFETY: alive, or NULL, which is refused.
        let call = call(|failure| unsafe { execute(instance, task, arguments, result, failure) });
        let failed = call.unwrap_err();
        assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
        assert!(failed.message.contains(message), "{failed:?}");
    }
    // SAFETY: NULL is nothing to be freed.
    unsafe { add.function.unbind.unwrap()(null_mut()) };

    let failed = host.bind("add", "int").err().unwrap();
    assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
    assert!(
        failed.message.contains("the function takes `int, int`"),
        "{failed:?}"
    );
}
