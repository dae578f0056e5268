//! Data frames that PySpark makes of Python's objects, and RDDs of data frames' rows: no task needs a JVM.

use std::path::Path;

use testkit::{NEWEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::both_sides;
use crate::lanes::{Reason, Report, check_native, check_reasons, ended, reports};
use crate::places;
use crate::sql_python::started;
use crate::submit::{Application, interpreted};

const NATIVE: Application = Application {
    name: "sql-frames",
    program: "spark-submit",
    seconds: 600,
    arguments: |_, work| [interpreted(), arguments(work, "native")].concat(),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_frames.py",
        "jobs/sql_python.py",
        "jobs/support.py",
    ],
};

/// With operators that generated code carries.
const CARRIED: Application = Application {
    name: "sql-frames-carried",
    arguments: |_, work| [carried(), arguments(work, "native")].concat(),
    ..NATIVE
};

/// What only Java has a value for.
const LEFT: Application = Application {
    name: "sql-frames-left",
    arguments: |_, work| [interpreted(), arguments(work, "left")].concat(),
    ..NATIVE
};

fn arguments(work: &Path, kind: &str) -> Vec<String> {
    let mut arguments = started(&["support.py", "sql_python.py"], "sql_frames.py", work);
    let scratch = work.join("scratch").display().to_string();
    arguments.extend([scratch, kind.to_owned()]);
    arguments
}

fn frames(version: &'static str) {
    // Stages of all versions are decoded in `crates/exec/tests/decode.rs`.
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let job = if version == NEWEST { &CARRIED } else { &NATIVE };
    let Some(outcome) = both_sides(job, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    check_native(&reports);
    let (python, sql) = (ended(&reports, "python"), ended(&reports, "sql"));
    assert!(python >= 150 && sql >= 150, "{python}, {sql}: {reports:#?}");
}

#[test]
fn what_java_alone_knows_is_left_to_it() {
    // Five minutes, most of them Spark's own.
    if !places::asked_for(NEWEST, &[]) {
        return;
    }
    let version = NEWEST;
    let Some(outcome) = both_sides(&LEFT, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    // Of values, of types, and what ANSI refuses.
    let known = Reason::Part(&["Python", "division by zero", "no value of the type"]);
    check_reasons(&reports, Report::left_native, &[known]);
    let (native, left) = (ended(&reports, "sql"), ended(&reports, "jvm"));
    assert!(
        native >= 100 && left >= 20,
        "{native}, {left}: {reports:#?}"
    );
}

each_version!(frames_equal_plain_spark, super::frames);
