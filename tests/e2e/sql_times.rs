//! Times of a day (`TimeType`) in operators, casts, functions, files, next to plain Spark: native but for what fails.

use std::path::Path;

use testkit::{NEWEST, each_version, is_since};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{ended, reports};
use crate::places;
use crate::submit::{Application, Outcome, interpreted, job_with};

const TIMES: Application = Application {
    name: "sql-times",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), job(work, None)].concat(),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_times.py",
        "jobs/sql_random.py",
        "jobs/sql_windows.py",
    ],
};

/// With Spark's defaults and generated code.
const GENERATED: Application = Application {
    name: "sql-times-generated",
    arguments: |_, work| [carried(), job(work, None)].concat(),
    ..TIMES
};

/// In every mode in several time zones.
const ZONES: Application = Application {
    name: "sql-times-zones",
    arguments: |_, work| [interpreted(), job(work, Some("more"))].concat(),
    ..TIMES
};

/// What is left to Spark: finding out the columns of files, what fails, and where only Java knows whether it does.
const LEFT: [&str; 9] = [
    "a cast that overflows",
    "a column of type",
    "a string that is no value of the type",
    "a text that may be a time",
    "a time that is none",
    "TimeDiff by DAYS",
    "TimeTrunc by DAY",
    "a window of",
    "a pivot",
];

fn job(work: &Path, more: Option<&str>) -> Vec<String> {
    let modules = ["sql_random.py", "sql_windows.py"];
    let mut job = job_with(&modules, "sql_times.py", work);
    // What fails would fail again.
    let once = ["--conf", "spark.task.maxFailures=1"].map(str::to_owned);
    job.splice(0..0, once);
    let result = job.pop();
    job.push(work.join("scratch").display().to_string());
    job.extend(result);
    job.extend(more.map(str::to_owned));
    job
}

fn check(outcome: &Outcome, version: &str, least: u64) {
    let reports = reports(outcome, version);
    for report in &reports {
        let left = report.left_native();
        let unknown = left
            .keys()
            .find(|reason| !LEFT.iter().any(|known| reason.starts_with(known)));
        assert_eq!(unknown, None, "{left:#?}");
    }
    let native = ended(&reports, "sql");
    assert!(native >= least, "{native} tasks ran natively: {reports:#?}");
}

/// Whether Spark has the type.
fn has_times(version: &str) -> bool {
    is_since(version, "4.1")
}

fn times(version: &'static str) {
    if !has_times(version) || !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&TIMES, version) {
        check(&outcome, version, 200);
    }
}

each_version!(times_equal_plain_spark, super::times);

fn generated(version: &'static str) {
    if !has_times(version) || !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = equal_sides(&TIMES, &GENERATED, version) {
        check(&outcome, version, 200);
    }
}

each_version!(so_they_do_with_generated_code, super::generated);

fn zones(version: &'static str) {
    if !has_times(version) || !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = both_sides(&ZONES, version) {
        check(&outcome, version, 200);
    }
}

each_version!(so_they_do_in_all_time_zones, super::zones);
