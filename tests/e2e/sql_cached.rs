//! Cached tables, next to plain Spark: they are made and read natively.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{check_native, ended, reports};
use crate::places;
use crate::submit::{Application, Outcome, interpreted, job_with};

const CACHED: Application = Application {
    name: "sql-cached",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), job(work)].concat(),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_cached.py",
        "jobs/sql_random.py",
        "jobs/sql_windows.py",
    ],
};

/// With generated code, which reads columns.
const GENERATED: Application = Application {
    name: "sql-cached-generated",
    arguments: |_, work| [carried(), job(work)].concat(),
    ..CACHED
};

/// Every attempt natively and by the JVM, each of which reads what the other one keeps.
const VERIFIED: Application = Application {
    name: "sql-cached-verified",
    arguments: |_, work| [interpreted(), verified(), job(work)].concat(),
    ..CACHED
};

/// Whose batches `KryoSerializer` writes.
const KRYO: Application = Application {
    name: "sql-cached-kryo",
    arguments: |_, work| [interpreted(), kryo(), job(work)].concat(),
    ..CACHED
};

fn kryo() -> Vec<String> {
    [
        "--conf",
        "spark.serializer=org.apache.spark.serializer.KryoSerializer",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn verified() -> Vec<String> {
    ["--conf", "spark.firesteel.verify=both"]
        .map(str::to_owned)
        .to_vec()
}

fn job(work: &Path) -> Vec<String> {
    job_with(&["sql_random.py", "sql_windows.py"], "sql_cached.py", work)
}

fn check(outcome: &Outcome, version: &'static str, tasks: u64) {
    let reports = reports(outcome, version);
    check_native(&reports);
    let native = ended(&reports, "sql");
    assert!(native >= tasks, "{native} tasks ran natively: {reports:#?}");
}

fn cached(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let Some(outcome) = both_sides(&CACHED, version) else {
        return;
    };
    check(&outcome, version, 450);
}

each_version!(cached_tables_equal_plain_spark, super::cached);

fn generated(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&CACHED, &GENERATED, version) else {
        return;
    };
    check(&outcome, version, 300);
}

each_version!(so_they_do_as_columns_of_generated_code, super::generated);

fn with_kryo(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&CACHED, &KRYO, version) else {
        return;
    };
    check(&outcome, version, 450);
}

each_version!(so_they_do_with_kryo, super::with_kryo);

fn both_lanes(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&CACHED, &VERIFIED, version) else {
        return;
    };
    let mut equal = 0;
    for report in reports(&outcome, version) {
        let verified = report.verified();
        assert_eq!(verified["different"], 0, "{verified:#}");
        equal += verified["equal"].as_u64().expect("a count");
    }
    assert!(equal >= 300, "{equal} tasks were equal");
}

each_version!(both_lanes_read_what_the_other_keeps, super::both_lanes);
