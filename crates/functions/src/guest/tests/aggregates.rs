use std::ptr::null;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{Float64Type, Int64Type};

use super::library;
use crate::abi::*;
use crate::testing::{Host, call, struct_of};

fn doubles(values: &[f64]) -> [ArrayRef; 1] {
    [Arc::new(Float64Array::from(values.to_vec()))]
}

#[test]
fn rows_states_and_results() {
    let host = Host::new(library::module);
    let first = host.bind("total", "double").unwrap();
    first
        .update(&doubles(&[1.0, 2.0, 3.0]), &[0, 1, 0])
        .unwrap();
    first
        .update(&doubles(&[]), &[])
        .unwrap_or_else(|failed| panic!("{failed:?}"));
    first.update(&doubles(&[10.0]), &[2]).unwrap();
    assert_eq!(first.size(), 48);
    let states = first.states(3).unwrap();
    assert_eq!(states.len(), 3);
    assert_eq!(
        states.column(0).as_primitive::<Float64Type>().value(2),
        10.0
    );
    assert_eq!(states.column(1).as_primitive::<Int64Type>().value(2), 1);

    let second = host.bind("total", "double").unwrap();
    second.merge(&states, &[1, 1, 0]).unwrap();
    second.merge(&states.slice(1, 2), &[1, 0]).unwrap();
    let results = second.finish(3).unwrap();
    let results: Vec<_> = results.as_primitive::<Float64Type>().iter().collect();
    assert_eq!(results.len(), 3);
    assert_eq!(results[2], None);
    // All groups are forgotten.
    assert_eq!(second.size(), 0);
    assert_eq!(second.finish(0).unwrap().len(), 0);
}

#[test]
fn failures_of_aggregates() {
    let host = Host::new(library::module);
    let total = host.bind("total", "double").unwrap();
    let failed = total.update(&doubles(&[f64::INFINITY]), &[0]).unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_INVALID);
    // Not an SQLSTATE.
    assert_eq!(failed.sqlstate, "");

    total
        .update(&doubles(&[1.0; 10]), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        .unwrap();
    for (count, message) in [
        (
            3,
            "state `sum`: the function gives 10 values where there should be 3",
        ),
        (
            10,
            "state `count`: the function gives `double` and declares `bigint`",
        ),
        (11, "the function gives 1 columns and declares 2"),
    ] {
        let failed = total.states(count).unwrap_err();
        assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
        assert_eq!(failed.message, message);
    }
    total.update(&doubles(&[1.0]), &[12]).unwrap();
    assert_eq!(total.size(), 0, "a panic has no number");

    let arguments = ArrowArray::new(&struct_of(&doubles(&[1.0]), 1).to_data());
    let update = total.function.update.unwrap();
    let failed = call(|failure| {
        let arguments = &raw const arguments;
        // SAFETY: alive, or NULL, which is refused.
        unsafe { update(total.instance, total.task(), arguments, null(), 1, failure) }
    });
    let failed = failed.unwrap_err();
    assert!(
        failed.message.contains("list of groups is NULL"),
        "{failed:?}"
    );
}

#[test]
fn aggregates_may_not_keep_arguments() {
    let host = Host::new(library::module);
    let hoard = host.bind("hoard", "double").unwrap();
    let failed = hoard.update(&doubles(&[1.0]), &[0]).unwrap_err();
    assert_eq!(failed.status, FIRESTEEL_STATUS_INTERNAL);
    assert!(failed.message.contains("keeps its arguments"), "{failed:?}");
    for failed in [hoard.states(1).unwrap_err(), hoard.finish(1).unwrap_err()] {
        assert!(failed.message.contains("was ended"), "{failed:?}");
    }
    assert_eq!(hoard.size(), 0);

    let total = host.bind("total", "double").unwrap();
    total.update(&doubles(&[1.0]), &[0]).unwrap();
    let hoard = host.bind("hoard", "double").unwrap();
    let failed = hoard.merge(&total.states(1).unwrap(), &[0]).unwrap_err();
    assert!(failed.message.contains("keeps its arguments"), "{failed:?}");
}
