//! Random queries over tables that are no files, next to plain Spark, and with every task held against the JVM's.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version};

use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::submit::{Application, Outcome};

/// Number of queries, and of the threads of the driver that ask them.
const QUERIES: &str = "120";
const THREADS: &str = "3";

/// Least number of tasks that they take which run natively.
const NATIVE_TASKS: u64 = 400;

pub(crate) const RANDOM: Application = Application {
    name: "sql-random",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| arguments(work, &[]),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_random.py", "e2e/sql_random.rs"],
};

const VERIFIED: Application = Application {
    name: "sql-random-verified",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| arguments(work, &["spark.firesteel.verify=both"]),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_random.py", "e2e/sql_random.rs"],
};

/// With the other serializer, of which answers are no other.
const KRYO: Application = Application {
    name: "sql-random-kryo",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| {
        let kryo = "spark.serializer=org.apache.spark.serializer.KryoSerializer";
        arguments(work, &[kryo])
    },
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_random.py", "e2e/sql_random.rs"],
};

/// Parts of all reasons for which tasks of these queries are left to the JVM.
pub(crate) const NOT_NATIVE: [&str; 11] = [
    "ArrayTransform",
    // What ANSI mode fails with.
    "a map with a null key",
    "an element that is not there",
    "EmptyRDD",
    "PythonRDD$::toLocalIteratorAndServe",
    "RDDScanExec",
    "a join by the bits of floats",
    "a merge by float",
    "generated code without operators",
    // Both are of nested loop joins that are full outer joins.
    "a shuffle with JavaSerializer",
    "null instead of an object",
];

/// What is made of local rows that nobody names, and looked into all the same: the first rows of a bare table in an
/// order.
pub(crate) const UNKNOWN_COLUMNS: &str = "rows of unknown columns";

pub(crate) fn arguments(work: &Path, settings: &[&str]) -> Vec<String> {
    let mut arguments = Vec::new();
    for setting in settings {
        arguments.extend(["--conf".to_owned(), (*setting).to_owned()]);
    }
    let job = places::jobs().join("sql_random.py");
    let result = work.join("result.json");
    arguments.extend([job, result].map(|path| path.display().to_string()));
    arguments.extend(["1", "0", QUERIES, THREADS].map(str::to_owned));
    arguments
}

fn random(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&RANDOM, version) {
        check(&outcome, version);
    }
}

fn with_kryo(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = equal_sides(&RANDOM, &KRYO, version) {
        check(&outcome, version);
    }
}

fn check(outcome: &Outcome, version: &str) {
    let reports = reports(outcome, version);
    let known = [Reason::Whole(&[UNKNOWN_COLUMNS]), Reason::Part(&NOT_NATIVE)];
    check_reasons(&reports, Report::left_native, &known);
    let tasks = ended(&reports, "sql");
    assert!(
        tasks >= NATIVE_TASKS,
        "{tasks} tasks ran natively: {reports:#?}"
    );
}

fn verified(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&RANDOM, &VERIFIED, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    let mut equal = 0;
    for report in &reports {
        let verified = report.verified();
        assert_eq!(verified["different"], 0, "{report:#?}");
        equal += verified["equal"].as_u64().expect("a count");
    }
    assert!(
        equal >= NATIVE_TASKS,
        "{equal} tasks were equal: {reports:#?}"
    );
}

each_version!(random_queries_equal_plain_spark, super::random);
each_version!(so_they_do_with_kryo, super::with_kryo);
each_version!(random_queries_equal_the_jvm_task_by_task, super::verified);
