//! Checkpoints of data frames, next to plain Spark: kept in blocks and in files, and read by both lanes.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version, oldest_and_newest};

use crate::carried_plans::carried;
use crate::jobs::equal_sides;
use crate::lanes::{check_native, ended, reasons, reports};
use crate::places;
use crate::submit::{Application, job_with};

const GENERATED: Application = Application {
    name: "sql-checkpoints",
    program: "spark-submit",
    seconds: 600,
    arguments: |_, work| job(work, "native"),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_checkpoints.py",
        "jobs/sql_cached.py",
        "jobs/sql_random.py",
        "jobs/sql_windows.py",
    ],
};

const CARRIED: Application = Application {
    arguments: |_, work| [carried(), job(work, "native")].concat(),
    ..GENERATED
};

const MIXED: Application = Application {
    name: "sql-checkpoints-mixed",
    arguments: |_, work| job(work, "mixed"),
    ..GENERATED
};

const MIXED_CARRIED: Application = Application {
    arguments: |_, work| [carried(), job(work, "mixed")].concat(),
    ..MIXED
};

fn job(work: &Path, kind: &str) -> Vec<String> {
    let modules = ["sql_cached.py", "sql_random.py", "sql_windows.py"];
    let mut arguments = job_with(&modules, "sql_checkpoints.py", work);
    arguments.push(work.join("scratch").display().to_string());
    arguments.push(kind.to_owned());
    arguments
}

fn checkpoints(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    check_native(&reports);
    let native = ended(&reports, "sql");
    assert!(native >= 500, "{native} tasks ran natively: {reports:#?}");
}

fn of_both_lanes(version: &'static str) {
    let Some(outcome) = equal_sides(&MIXED, &MIXED_CARRIED, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    let (native, delegated) = (ended(&reports, "sql"), ended(&reports, "jvm"));
    assert!(native >= 4 && delegated >= 6, "{reports:#?}");
    let reasons = reasons(&reports);
    assert!(
        reasons
            .iter()
            .all(|reason| reason.contains("CallMethodViaReflection")),
        "{reasons:#?}"
    );
}

each_version!(checkpoints_equal_plain_spark, super::checkpoints);
oldest_and_newest!(either_lane_reads_what_the_other_kept, super::of_both_lanes);
