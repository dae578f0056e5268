//! Queries over the rows of other queries, and queries whose generated code is too long, next to plain Spark.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{check_native, ended, reports};
use crate::places;
use crate::submit::{Application, job_with};

const GENERATED: Application = Application {
    name: "sql-steps",
    program: "spark-submit",
    seconds: 600,
    arguments: |_, work| job(work, "steps"),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_steps.py",
        "jobs/sql_cached.py",
        "jobs/sql_random.py",
        "jobs/sql_windows.py",
    ],
};

const CARRIED: Application = Application {
    arguments: |_, work| [carried(), job(work, "steps")].concat(),
    ..GENERATED
};

/// Without the plan jar: what Spark interprets says what it is.
const LONG: Application = Application {
    name: "sql-steps-long",
    arguments: |_, work| job(work, "long"),
    ..GENERATED
};

fn job(work: &Path, kind: &str) -> Vec<String> {
    let modules = ["sql_cached.py", "sql_random.py", "sql_windows.py"];
    let mut arguments = job_with(&modules, "sql_steps.py", work);
    arguments.push(work.join("scratch").display().to_string());
    arguments.push(kind.to_owned());
    arguments
}

fn steps(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    check_native(&reports);
    let least = if version >= "4.1" { 400 } else { 10 };
    let native = ended(&reports, "sql");
    assert!(native >= least, "{native} tasks ran natively: {reports:#?}");
}

fn too_long(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let Some(outcome) = both_sides(&LONG, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    check_native(&reports);
    let native = ended(&reports, "sql");
    assert!(native >= 30, "{native} tasks ran natively: {reports:#?}");
}

each_version!(queries_over_rows_of_queries_equal_plain_spark, super::steps);
each_version!(so_do_queries_whose_code_is_too_long, super::too_long);
