//! Every expression and cast that is computed natively, over generated inputs, next to plain Spark.

use std::path::Path;

use testkit::{Distribution, each_version};

use crate::jobs::both_sides;
use crate::places;
use crate::report;
use crate::submit::Application;

const EXPRESSIONS: Application = Application {
    name: "sql-expressions",
    program: "spark-submit",
    seconds: 900,
    arguments,
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_expressions.py", "e2e/sql_expressions.rs"],
};

/// What the job has that the lane leaves to the JVM: making the tables, and a cast that differs between versions.
const NOT_NATIVE: [&str; 2] = ["a write of ", "a cast from timestamp to decimal"];

fn arguments(_: &Distribution, work: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "spark.executor.extraJavaOptions=-Duser.timezone=UTC",
        "spark.task.maxFailures=1",
    ]
    .into_iter()
    .flat_map(|entry| ["--conf".to_owned(), entry.to_owned()])
    .collect();
    for path in [
        places::jobs().join("sql_expressions.py"),
        work.join("scratch"),
        work.join("result.json"),
    ] {
        arguments.push(path.display().to_string());
    }
    arguments
}

fn expressions(version: &'static str) {
    // A quarter of an hour on two cores, most of it plain Spark's; crates/exec/tests/expressions.rs has what was
    // captured of it.
    if !places::asked_for(version, &[]) {
        return;
    }
    let Some(outcome) = both_sides(&EXPRESSIONS, version) else {
        return;
    };
    // Most tasks are one group of expressions each; what a group has that is not computed natively delegates it.
    let mut native = 0;
    for entry in std::fs::read_dir(&outcome.reports).unwrap() {
        let name = entry.unwrap().file_name();
        let id = name.to_str().unwrap().trim_end_matches(".json").to_owned();
        let report = report::read(&outcome.reports, &id);
        native += report::count(&report, "/tasks/sql/finished");
        for reason in report["delegated"].as_object().expect("reasons").keys() {
            assert!(
                NOT_NATIVE.iter().any(|known| reason.starts_with(known)),
                "executor {id} delegated {reason}"
            );
        }
    }
    assert!(native > 400, "{native} tasks ran natively");
}

each_version!(expressions_equal_plain_spark, super::expressions);
