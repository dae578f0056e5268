//! Simple functions of Python in Spark SQL, next to plain Spark: they are computed without Python, and left to it where
//! only it knows the answer.

use std::collections::BTreeSet;

use testkit::{NEWEST, each_version, is_since};

use crate::jobs::both_sides;
use crate::places;
use crate::report;
use crate::submit::{Application, interpreted, job_with};

const SIMPLE: Application = Application {
    name: "sql-simple",
    program: "spark-submit",
    seconds: 300,
    arguments: |_, work| {
        let job = job_with(&["support.py"], "sql_simple.py", work);
        [interpreted(), job].concat()
    },
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_simple.py", "jobs/support.py"],
};

/// Why functions of the job are Python's.
const NOT_SIMPLE: [&str; 7] = [
    "a callable that is not a Python function",
    "a constant of another kind or size",
    "a function or comprehension within the function",
    "a loop",
    "arguments by name",
    "arguments of another type",
    "results of another type",
];

fn simple(version: &'static str) {
    // On the oldest one `sql_python` has such functions.
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&SIMPLE, version) else {
        return;
    };
    let (mut native, mut computed, mut rows, mut left) = (0, 0, 0, 0);
    let mut reasons = BTreeSet::new();
    for report in report::all(&outcome.reports) {
        assert_eq!(report["jvm_started"], false, "{report:#}");
        native += report::count(&report, "/tasks/sql/finished");
        computed += report::count(&report, "/python_functions/computed");
        rows += report::count(&report, "/python_functions/rows");
        left += report::count(&report, "/python_functions/left_to_python");
        let not_simple = report["python_functions"]["not_simple"].as_object();
        reasons.extend(not_simple.expect("reasons").keys().cloned());
    }
    assert!(native > 100, "{native} tasks ran natively");
    assert!(computed > 300, "{computed} functions were computed");
    assert!(rows > 500_000, "for {rows} rows");
    assert!(left > 10, "{left} batches were left to Python");
    let by_name = is_since(version, "4.0");
    let expected = NOT_SIMPLE.iter().copied();
    let expected = expected.filter(|reason| by_name || *reason != "arguments by name");
    assert_eq!(reasons, expected.map(str::to_owned).collect());
}

each_version!(simple_functions_equal_plain_spark, super::simple);
