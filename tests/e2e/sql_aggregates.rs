//! Aggregate functions of every kind, next to plain Spark: all of them run natively.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{check_native, ended, reports};
use crate::places;
use crate::submit::{Application, Outcome, interpreted, job_with};

const AGGREGATES: Application = Application {
    name: "sql-aggregates",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), job(work)].concat(),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_aggregates.py",
        "jobs/sql_cached.py",
        "jobs/sql_random.py",
        "jobs/sql_windows.py",
    ],
};

/// With Spark's defaults and generated code.
const GENERATED: Application = Application {
    name: "sql-aggregates-generated",
    arguments: |_, work| [carried(), job(work)].concat(),
    ..AGGREGATES
};

fn job(work: &Path) -> Vec<String> {
    let modules = ["sql_cached.py", "sql_random.py", "sql_windows.py"];
    job_with(&modules, "sql_aggregates.py", work)
}

fn check(outcome: &Outcome, version: &str) {
    let reports = reports(outcome, version);
    check_native(&reports);
    let native = ended(&reports, "sql");
    assert!(native >= 300, "{native} tasks ran natively: {reports:#?}");
}

fn aggregates(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&AGGREGATES, version) {
        check(&outcome, version);
    }
}

each_version!(aggregates_equal_plain_spark, super::aggregates);

fn generated(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = equal_sides(&AGGREGATES, &GENERATED, version) {
        check(&outcome, version);
    }
}

each_version!(so_they_do_with_generated_code, super::generated);
