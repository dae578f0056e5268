//! Files of text, CSV and JSON that are written natively, next to plain Spark: the same files, byte for byte.

use std::path::Path;

use testkit::{NEWEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::sql_python::started;
use crate::submit::{Application, Outcome, interpreted};

/// Without generated code.
const INTERPRETED: Application = Application {
    name: "sql-lines",
    program: "spark-submit",
    seconds: 600,
    arguments: |_, work| [interpreted(), job(work)].concat(),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_lines.py",
        "jobs/sql_writes.py",
        "jobs/sql_cached.py",
        "jobs/sql_random.py",
        "jobs/sql_windows.py",
        "jobs/support.py",
    ],
};

/// With generated code.
const GENERATED: Application = Application {
    name: "sql-lines-generated",
    arguments: |_, work| job(work),
    ..INTERPRETED
};

/// The same, with operators that the code carries.
const CARRIED: Application = Application {
    name: "sql-lines-carried",
    arguments: |_, work| [carried(), job(work)].concat(),
    ..INTERPRETED
};

/// What the job writes in ways that are left to the JVM.
const DELEGATED: [&str; 13] = [
    "CSV with separators of several characters",
    "a write of CSV as Spark 2 wrote nulls",
    "a write of CSV in another encoding",
    "a write of CSV trimmed at the end only",
    "a write of CSV with a interval day to second",
    "a write of CSV with special names",
    "a write of JSON in another encoding",
    "a write of JSON with default values",
    "a write of JSON with pretty",
    "a write with mapreduce.output.fileoutputformat.compress.codec",
    "the date format EEEE d MMMM",
    "times as Spark 2 writes them",
    "values of type interval day to second in JSON",
];

/// Values whose texts are left to the JVM.
const BAILED_OUT: [&str; 3] = [
    "a date whose year has not four digits as text",
    "an offset from UTC with seconds",
    "a float that Javas write differently",
];

fn job(work: &Path) -> Vec<String> {
    let modules = [
        "support.py",
        "sql_random.py",
        "sql_windows.py",
        "sql_cached.py",
        "sql_writes.py",
    ];
    let mut arguments = started(&modules, "sql_lines.py", work);
    arguments.push(work.join("scratch/tables").display().to_string());
    arguments
}

fn check(outcome: &Outcome, version: &str) {
    let reports = reports(outcome, version);
    let known = [Reason::Part(&BAILED_OUT), Reason::Start(&DELEGATED)];
    let counts = check_reasons(&reports, Report::left_native, &known);
    for delegated in DELEGATED {
        assert!(
            counts.keys().any(|reason| reason.starts_with(delegated)),
            "natively: {delegated}: {reports:#?}"
        );
    }
    let (tasks, left) = (ended(&reports, "sql"), counts.values().sum::<u64>());
    assert!(
        tasks >= 320 && left <= 45,
        "{tasks} tasks ran natively: {reports:#?}"
    );
}

fn lines(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = both_sides(&INTERPRETED, version) {
        check(&outcome, version);
    }
}

fn generated(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        check(&outcome, version);
    }
}

each_version!(written_lines_equal_plain_spark, super::lines);
each_version!(so_they_do_of_generated_code, super::generated);
