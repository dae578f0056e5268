//! Functions of Python that are given rows of the same keys, next to plain Spark: `applyInPandas` and `applyInArrow` of
//! groups and of co-groups run natively, in PySpark's own workers.

use std::path::Path;

use testkit::{NEWEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::Reason;
use crate::places;
use crate::sql_python::{check_lanes, with_table};
use crate::submit::{Application, Outcome, interpreted};

/// Without generated code.
const INTERPRETED: Application = Application {
    name: "sql-groups",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), job(work)].concat(),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_groups.py",
        "jobs/sql_pandas.py",
        "jobs/sql_python.py",
        "jobs/support.py",
    ],
};

/// With generated code around the functions.
const GENERATED: Application = Application {
    name: "sql-groups-generated",
    arguments: |_, work| job(work),
    ..INTERPRETED
};

/// The same, with operators that the code carries.
const CARRIED: Application = Application {
    name: "sql-groups-carried",
    arguments: |_, work| [carried(), job(work)].concat(),
    ..INTERPRETED
};

fn job(work: &Path) -> Vec<String> {
    let modules = ["support.py", "sql_python.py", "sql_pandas.py"];
    with_table(&modules, "sql_groups.py", work)
}

fn check(outcome: &Outcome, version: &str) {
    let known = [Reason::Whole(&[
        "RDDScanExec",
        "batches of any number of rows for Python",
        "groups by keys of different types",
        "keys of two inputs that are the same but look otherwise",
    ])];
    check_lanes(outcome, version, &known, 500);
}

fn groups(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = both_sides(&INTERPRETED, version) {
        check(&outcome, version);
    }
}

fn around(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        check(&outcome, version);
    }
}

each_version!(functions_of_groups_equal_plain_spark, super::groups);
each_version!(so_they_do_within_generated_code, super::around);
