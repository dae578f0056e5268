//! Windows of every function over every frame, next to plain Spark: all of them are computed natively.

use std::path::Path;

use testkit::{NEWEST, each_version};

use crate::jobs::both_sides;
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::submit::Application;

const WINDOWS: Application = Application {
    name: "sql-windows",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| arguments(work),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_windows.py", "jobs/sql_random.py"],
};

fn arguments(work: &Path) -> Vec<String> {
    let paths = [
        places::jobs().join("sql_windows.py"),
        work.join("result.json"),
    ];
    paths.map(|path| path.display().to_string()).to_vec()
}

fn windows(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&WINDOWS, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    // What Spark makes of `row_number() <= n` without partitions.
    let known = [Reason::Part(&["TakeOrderedAndProjectExec"])];
    check_reasons(&reports, Report::left_native, &known);
    let tasks = ended(&reports, "sql");
    assert!(tasks >= 600, "{tasks} tasks ran natively: {reports:#?}");
}

each_version!(windows_equal_plain_spark, super::windows);
