//! Queries of a client of Spark Connect, next to plain Spark. Distributions have its server from Spark 4 on.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::equal_sides;
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::submit::{Application, job_with};

const GENERATED: Application = Application {
    name: "sql-connect",
    program: "spark-submit",
    seconds: 500,
    arguments: |_, work| job(work),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_connect.py",
        "jobs/sql_cached.py",
        "jobs/sql_random.py",
        "jobs/sql_windows.py",
    ],
};

const CARRIED: Application = Application {
    arguments: |_, work| [carried(), job(work)].concat(),
    ..GENERATED
};

fn job(work: &Path) -> Vec<String> {
    let modules = ["sql_cached.py", "sql_random.py", "sql_windows.py"];
    let mut arguments = job_with(&modules, "sql_connect.py", work);
    arguments.push(work.join("scratch").display().to_string());
    arguments
}

fn connect(version: &'static str) {
    if version == OLDEST || !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    // A query that fails, and the last rows of one.
    let known = [Reason::Part(&["division by zero", "CollectTailExec"])];
    check_reasons(&reports, Report::left_native, &known);
    let native = ended(&reports, "sql");
    assert!(native >= 80, "{native} tasks ran natively: {reports:#?}");
}

each_version!(
    clients_of_connect_get_what_plain_spark_gives,
    super::connect
);
