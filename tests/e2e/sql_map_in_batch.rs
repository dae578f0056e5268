//! Functions of Python that are given all rows of a partition, next to plain Spark: `mapInPandas` and `mapInArrow` run
//! natively, in PySpark's own workers.

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
    name: "sql-map-in-batch",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), job(work)].concat(),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_map_in_batch.py",
        "jobs/sql_pandas.py",
        "jobs/sql_python.py",
        "jobs/support.py",
    ],
};

/// With generated code around the functions.
const GENERATED: Application = Application {
    name: "sql-map-in-batch-generated",
    arguments: |_, work| job(work),
    ..INTERPRETED
};

/// The same, with operators that the code carries.
const CARRIED: Application = Application {
    name: "sql-map-in-batch-carried",
    arguments: |_, work| [carried(), job(work)].concat(),
    ..INTERPRETED
};

fn job(work: &Path) -> Vec<String> {
    let modules = ["support.py", "sql_python.py", "sql_pandas.py"];
    with_table(&modules, "sql_map_in_batch.py", work)
}

fn check(outcome: &Outcome, version: &str) {
    // Values and types that Spark takes or refuses in its own way; tables that are written.
    let known = [
        Reason::Part(&["of Python", "for Python", "to Python"]),
        Reason::Start(&["RDDScanExec"]),
        Reason::Whole(&[
            "a barrier stage of Spark SQL",
            "Python functions of fields of one name",
            "Python functions with spark.sql.execution.arrow.maxBytesPerBatch",
        ]),
    ];
    check_lanes(outcome, version, &known, 400);
}

fn whole_partitions(version: &'static str) {
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

each_version!(
    functions_of_partitions_equal_plain_spark,
    super::whole_partitions
);
each_version!(so_they_do_within_generated_code, super::around);
