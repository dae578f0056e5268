//! Classes of Python that make rows, next to plain Spark: they are called natively, pickled and over Arrow.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version};

use crate::jobs::both_sides;
use crate::places;
use crate::report::native_tasks;
use crate::submit::{Application, job_with};

const NATIVE: Application = Application {
    name: "sql-tables",
    program: "spark-submit",
    seconds: 300,
    arguments: |_, work| arguments(work, "native"),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_tables.py",
        "jobs/sql_python.py",
        "jobs/support.py",
    ],
};

const LEFT: Application = Application {
    name: "sql-tables-left",
    arguments: |_, work| arguments(work, "left"),
    ..NATIVE
};

fn arguments(work: &Path, kind: &str) -> Vec<String> {
    let mut arguments = job_with(&["support.py", "sql_python.py"], "sql_tables.py", work);
    arguments.push(kind.to_owned());
    arguments
}

fn tables(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&NATIVE, version) else {
        return;
    };
    let (native, jvm_started, reasons) = native_tasks(&outcome.reports);
    assert!(!jvm_started && reasons.is_empty(), "{reasons:?}");
    assert!(native >= 150, "{native} tasks ran natively");
}

fn left(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&LEFT, version) else {
        return;
    };
    let (native, _, reasons) = native_tasks(&outcome.reports);
    assert!(native > 0);
    for reason in &reasons {
        assert!(reason.contains("of Python"), "{reasons:?}");
    }
    assert!(reasons.len() > 1, "{reasons:?}");
}

each_version!(classes_that_make_rows_equal_plain_spark, super::tables);
each_version!(what_spark_knows_better_is_left_to_it, super::left);
