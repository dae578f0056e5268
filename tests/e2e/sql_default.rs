//! DataFrame jobs with Firesteel's defaults: what the sql lane takes runs natively, what it does not know in the JVM,
//! for a reason that the report has; answers are Spark's either way.

use std::path::Path;

use testkit::{Distribution, NEWEST, each_version};

use crate::jobs::{both_sides, job_of_themes};
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places::{self, Inputs};
use crate::submit::Application;

const DEFAULT: Application = Application {
    name: "sql-default",
    program: "spark-submit",
    seconds: 1200,
    arguments,
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_default.py",
        "jobs/support.py",
        "jobs/sql_themes.py",
        "jobs/delegated_themes.py",
        "jobs/cluster_themes.py",
        "jobs/make_tpch.py",
        "jobs/tpch",
        "jobs/jar",
    ],
};

/// Parts of all reasons for which tasks are left to the JVM: others would be tasks in the wrong lane.
const NOT_NATIVE: [&str; 4] = [
    "a write of ",
    "generated code without operators",
    "RaiseError",
    "ShuffleExchangeExec$",
];

/// All reasons for which tasks that began natively begin again in the JVM: values that queries of the jobs fail with or
/// take special care of.
const BAILED_OUT: [&str; 6] = [
    "HiveSimpleUDF fails in the JVM",
    "RaiseError fails in the JVM",
    "ScalaUDF fails in the JVM",
    "a string that is no value of the type",
    "a sum of integers that overflows",
    "division by zero",
];

fn arguments(distribution: &Distribution, work: &Path) -> Vec<String> {
    let inputs = Inputs::make(distribution, work);
    let jobs = places::jobs();
    let modules = [
        "support.py",
        "sql_themes.py",
        "delegated_themes.py",
        "cluster_themes.py",
    ]
    .map(|name| jobs.join(name).display().to_string())
    .join(",");
    let mut arguments: Vec<String> = [
        "--jars".to_owned(),
        inputs.probe_jar.display().to_string(),
        "--py-files".to_owned(),
        modules,
    ]
    .to_vec();
    let job = job_of_themes("sql_default.py", distribution, work, &inputs);
    arguments.extend(job);
    arguments
}

fn default(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&DEFAULT, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    for report in &reports {
        assert_ne!(report.ended("sql"), 0, "{report:#?}");
    }
    check_reasons(&reports, Report::bailed_out, &[Reason::Whole(&BAILED_OUT)]);
    check_reasons(&reports, Report::delegated, &[Reason::Part(&NOT_NATIVE)]);
    let tasks = ended(&reports, "sql");
    assert!(tasks >= 100, "{tasks} tasks ran natively: {reports:#?}");
    // Functions of Scala's, Java's and Hive's.
    let (evaluated, _) = Report::jvm_expressions(&reports);
    assert!(evaluated >= 10, "{evaluated} tasks with them: {reports:#?}");
}

each_version!(data_frames_equal_plain_spark, super::default);
