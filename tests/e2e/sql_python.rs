//! Functions of Python in Spark SQL, next to plain Spark: stages call them natively, in PySpark's own workers.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::submit::{Application, Outcome};

const FUNCTIONS: Application = Application {
    name: "sql-python",
    program: "spark-submit",
    seconds: 900,
    arguments: |distribution, work| {
        let interpreted = ["--conf", "spark.sql.codegen.wholeStage=false"];
        let mut arguments = interpreted.map(str::to_owned).to_vec();
        arguments.extend(job(work));
        if !in_full(distribution.version) {
            arguments.push("short".to_owned());
        }
        arguments
    },
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_python.py", "jobs/support.py"],
};

/// With generated code around the functions.
const GENERATED: Application = Application {
    name: "sql-python-generated",
    arguments: |_, work| [job(work), vec!["short".to_owned()]].concat(),
    ..FUNCTIONS
};

/// The same, with operators that the code carries.
const CARRIED: Application = Application {
    name: "sql-python-carried",
    arguments: |_, work| [carried(), job(work), vec!["short".to_owned()]].concat(),
    ..FUNCTIONS
};

fn job(work: &Path) -> Vec<String> {
    let jobs = places::jobs();
    let conf = [
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
    arguments
}

/// Whether results of every type are asked for, which takes two minutes.
fn in_full(version: &str) -> bool {
    places::everything() || [OLDEST, NEWEST].contains(&version)
}

fn check(outcome: &Outcome, version: &str, least: u64) {
    let reports = reports(outcome, version);
    // What Java makes of a value, and errors of its own.
    let known = [Reason::Part(&["of Python"])];
    check_reasons(&reports, Report::left_native, &known);
    let tasks = ended(&reports, "sql");
    assert!(tasks >= least, "{tasks} tasks ran natively: {reports:#?}");
}

fn functions(version: &'static str) {
    if let Some(outcome) = both_sides(&FUNCTIONS, version) {
        check(&outcome, version, if in_full(version) { 500 } else { 250 });
    }
}

fn around(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        check(&outcome, version, 200);
    }
}

each_version!(functions_equal_plain_spark, super::functions);
each_version!(so_they_do_within_generated_code, super::around);
