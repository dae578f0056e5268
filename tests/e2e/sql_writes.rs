//! Parquet files that are written natively, next to plain Spark: the same files with the same rows and columns, which
//! Spark's own readers find as they find Spark's.

use std::path::Path;

use testkit::{OLDEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::sql_python::started;
use crate::submit::{Application, Outcome, interpreted};

/// Without generated code.
const INTERPRETED: Application = Application {
    name: "sql-writes",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), job(work)].concat(),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_writes.py",
        "jobs/sql_writes_read.py",
        "jobs/sql_cached.py",
        "jobs/sql_random.py",
        "jobs/sql_windows.py",
        "jobs/support.py",
    ],
};

/// The same with Kryo, in which tasks tell the driver what they have written.
const KRYO: Application = Application {
    name: "sql-writes-kryo",
    arguments: |_, work| {
        let kryo = [
            "--conf",
            "spark.serializer=org.apache.spark.serializer.KryoSerializer",
        ];
        let kryo = kryo.map(str::to_owned).to_vec();
        [interpreted(), kryo, job(work)].concat()
    },
    ..INTERPRETED
};

/// With generated code.
const GENERATED: Application = Application {
    name: "sql-writes-generated",
    arguments: |_, work| job(work),
    ..INTERPRETED
};

/// The same, with operators that the code carries.
const CARRIED: Application = Application {
    name: "sql-writes-carried",
    arguments: |_, work| [carried(), job(work)].concat(),
    ..INTERPRETED
};

/// What the job writes in ways that are left to the JVM.
const DELEGATED: [&str; 6] = [
    "a write of orc files",
    "a write of partitions by a column of type double",
    "a write with parquet.bloom.filter.enabled",
    "a write with several open files",
    "a write with spark.sql.parquet.datetimeRebaseModeInWrite",
    "a write with spark.sql.parquet.writeLegacyFormat",
];

fn job(work: &Path) -> Vec<String> {
    let modules = [
        "support.py",
        "sql_random.py",
        "sql_windows.py",
        "sql_cached.py",
    ];
    let mut arguments = started(&modules, "sql_writes.py", work);
    arguments.push(work.join("scratch/tables").display().to_string());
    arguments
}

/// What else is left to the JVM under Kryo.
const OF_KRYO: [&str; 1] = ["SchemaMergeUtils$::mergeSchemasInParallel"];

fn check(outcome: &Outcome, version: &str, also: &[&str], least: u64) {
    let reports = reports(outcome, version);
    // Rows that fail.
    let failing = Reason::Part(&[
        "when there were two calendars",
        "divi",
        "zero",
        "a cast that overflows",
    ]);
    let known = [failing, Reason::Start(&DELEGATED), Reason::Start(also)];
    let counts = check_reasons(&reports, Report::left_native, &known);
    for delegated in DELEGATED {
        assert!(
            counts.keys().any(|reason| reason.starts_with(delegated)),
            "natively: {delegated}: {reports:#?}"
        );
    }
    let tasks = ended(&reports, "sql");
    assert!(tasks >= least, "{tasks} tasks ran natively: {reports:#?}");
}

fn writes(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    if places::everything()
        && let Some(outcome) = both_sides(&INTERPRETED, version)
    {
        check(&outcome, version, &[], 160);
    }
    if let Some(outcome) = equal_sides(&INTERPRETED, &KRYO, version) {
        check(&outcome, version, &OF_KRYO, 150);
    }
}

fn generated(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        check(&outcome, version, &[], 160);
    }
}

each_version!(written_tables_equal_plain_spark, super::writes);
each_version!(so_they_do_of_generated_code, super::generated);
