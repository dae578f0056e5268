//! The columns of Parquet files, found out without a JVM where they are those that Spark wrote or plain ones.

use std::path::Path;

use testkit::{Distribution, NEWEST, each_version};

use crate::jobs::both_sides;
use crate::lanes::{check_native, ended, reasons, reports};
use crate::places;
use crate::submit::Application;

const NATIVE: Application = Application {
    name: "sql-schemas",
    program: "spark-submit",
    seconds: 200,
    arguments: |distribution, work| arguments(distribution, work, "native"),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_schemas.py", "jobs/support.py"],
};

const LEFT: Application = Application {
    name: "sql-schemas-left",
    arguments: |distribution, work| arguments(distribution, work, "left"),
    ..NATIVE
};

fn arguments(_: &Distribution, work: &Path, kind: &str) -> Vec<String> {
    let jobs = places::jobs();
    [
        "--py-files",
        &jobs.join("support.py").display().to_string(),
        &jobs.join("sql_schemas.py").display().to_string(),
        &work.join("result.json").display().to_string(),
        &work.join("scratch").display().to_string(),
        kind,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn schemas(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&NATIVE, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    check_native(&reports);
    assert!(ended(&reports, "sql") >= 7, "{reports:#?}");
}

#[test]
fn what_spark_alone_knows_is_left_to_it() {
    let version = NEWEST;
    let Some(outcome) = both_sides(&LEFT, version) else {
        return;
    };
    let expected = [
        "a file without a footer that can be read",
        "columns with metadata",
        "files with other columns",
        "nested columns of a file that Spark did not write",
    ];
    assert_eq!(reasons(&reports(&outcome, version)), expected);
}

each_version!(schemas_equal_plain_spark, super::schemas);
