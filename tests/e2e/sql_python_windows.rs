//! Functions of Python over windows, next to plain Spark: they are called natively for all frames but ranges by
//! calendar intervals.

use std::collections::BTreeSet;
use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version};

use crate::jobs::both_sides;
use crate::places;
use crate::report::native_tasks;
use crate::submit::{Application, job_with};

const NATIVE: Application = Application {
    name: "sql-python-windows",
    program: "spark-submit",
    seconds: 300,
    arguments: |_, work| arguments(work, "native"),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_python_windows.py", "jobs/support.py"],
};

const LEFT: Application = Application {
    name: "sql-python-windows-left",
    arguments: |_, work| arguments(work, "left"),
    ..NATIVE
};

fn arguments(work: &Path, kind: &str) -> Vec<String> {
    let mut arguments = job_with(&["support.py"], "sql_python_windows.py", work);
    arguments.push(kind.to_owned());
    arguments
}

fn windows(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&NATIVE, version) else {
        return;
    };
    let (native, jvm_started, reasons) = native_tasks(&outcome.reports);
    assert_eq!((jvm_started, reasons), (false, BTreeSet::new()));
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
        let known = reason.contains("a range of") && reason.contains("interval");
        assert!(known, "{reasons:?}");
    }
    assert!(!reasons.is_empty());
}

each_version!(functions_over_windows_equal_plain_spark, super::windows);
each_version!(ranges_by_calendar_intervals_are_left_to_spark, super::left);
