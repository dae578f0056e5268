//! Functions of Python in Spark SQL, next to plain Spark: stages call them natively, in PySpark's own workers.

use std::path::Path;

use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::jobs::both_sides;
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::submit::Application;

const FUNCTIONS: Application = Application {
    name: "sql-python",
    program: "spark-submit",
    seconds: 900,
    arguments,
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_python.py", "jobs/support.py"],
};

fn arguments(distribution: &Distribution, work: &Path) -> Vec<String> {
    let jobs = places::jobs();
    let conf = [
        "spark.sql.codegen.wholeStage=false",
        // Pickled rows, which is not every version's default.
        "spark.sql.execution.pythonUDF.arrow.enabled=false",
        "spark.sql.shuffle.partitions=3",
        "spark.sql.session.timeZone=Europe/Zurich",
        "spark.task.maxFailures=1",
    ];
    let mut arguments: Vec<String> = conf
        .into_iter()
        .flat_map(|entry| ["--conf".to_owned(), entry.to_owned()])
        .collect();
    let support = jobs.join("support.py");
    arguments.extend(["--py-files".to_owned(), support.display().to_string()]);
    for path in [jobs.join("sql_python.py"), work.join("result.json")] {
        arguments.push(path.display().to_string());
    }
    if !in_full(distribution.version) {
        arguments.push("short".to_owned());
    }
    arguments
}

/// Whether results of every type are asked for, which takes two minutes.
fn in_full(version: &str) -> bool {
    places::asked_for(version, &[OLDEST, NEWEST])
}

fn functions(version: &'static str) {
    let Some(outcome) = both_sides(&FUNCTIONS, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    let known = [Reason::Part(&["of Python"])];
    check_reasons(&reports, Report::left_native, &known);
    let tasks = ended(&reports, "sql");
    let least = if in_full(version) { 600 } else { 200 };
    assert!(tasks >= least, "{tasks} tasks ran natively: {reports:#?}");
}

each_version!(functions_equal_plain_spark, super::functions);
