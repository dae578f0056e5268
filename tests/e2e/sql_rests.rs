//! What only Spark's own code does with the rows of native operators, next to plain Spark: functions of RDDs, writes to
//! sinks of others, operators without a native form. The stages run natively up to there, and the embedded JVM does the
//! rest.

use std::path::Path;

use testkit::{Distribution, NEWEST, each_version};

use crate::carried_plans::plan_jar;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Report, WithJvm};
use crate::places;
use crate::report;
use crate::submit::{Application, Outcome, job_with};

const RESTS: Application = Application {
    name: "sql-rests",
    program: "spark-submit",
    seconds: 900,
    arguments: |distribution, work| {
        let off = ["--conf", "spark.sql.codegen.wholeStage=false"].map(str::to_owned);
        let jars = ["--jars".to_owned(), jar(distribution, work)];
        [off.to_vec(), jars.to_vec(), arguments(work)].concat()
    },
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_rests.py",
        "jobs/sql_scans.py",
        "jobs/asking.py",
        "jobs/support.py",
        "jobs/rests",
    ],
};

/// The same of generated code.
const GENERATED: Application = Application {
    name: "sql-rests-generated",
    arguments: |distribution, work| {
        let jars = ["--jars".to_owned(), jar(distribution, work)];
        [jars.to_vec(), arguments(work)].concat()
    },
    ..RESTS
};

const CARRIED: Application = Application {
    arguments: |distribution, work| {
        let jars = format!("{},{}", jar(distribution, work), plan_jar());
        let extension = "spark.sql.extensions=org.firesteel.CarriedPlans";
        let jars = ["--jars", &jars, "--conf", extension].map(str::to_owned);
        [jars.to_vec(), arguments(work)].concat()
    },
    ..GENERATED
};

/// Why tasks are delegated: they are not of queries, or read and filter only before what is not native.
const NOT_NATIVE: [&str; 12] = [
    "CollectMetricsExec",
    "Dataset::materializedRdd",
    "JavaPairRDD$::pairFunToScalaFun",
    "JavaRDDLike::mapPartitions",
    "OrcFileFormat::buildReaderWithPartitionValues",
    "RDD::distinct",
    "RangePartitioner$::sketch",
    "ScalaAggregator",
    "SerializedLambda",
    "SparkPlan::executeToIterator",
    "V2TableWriteExec::writeWithV2",
    "a write of orc files",
];

/// Why tasks are bailed out of: what fails fails in Spark's words.
const BAILED_OUT: [&str; 1] = ["arithmetic overflow"];

const EXPECTED: WithJvm<'_> = WithJvm {
    delegated: &NOT_NATIVE,
    bailed_out: &BAILED_OUT,
    native: 500,
    in_jvm: 200,
};

fn jar(distribution: &Distribution, work: &Path) -> String {
    places::jar_of(distribution, work, "rests")
}

fn arguments(work: &Path) -> Vec<String> {
    let mut arguments = ["--conf", "spark.task.maxFailures=2"]
        .map(str::to_owned)
        .to_vec();
    let modules = ["support.py", "asking.py", "sql_scans.py"];
    arguments.extend(job_with(&modules, "sql_rests.py", work));
    if places::everything() {
        arguments.push("all".to_owned());
    }
    arguments
}

fn check(outcome: &Outcome) {
    EXPECTED.check(outcome);
    let reports = report::all(&outcome.reports).into_iter();
    let reports: Vec<_> = reports.map(Report::new).collect();
    let rests = Report::jvm_rests(&reports);
    assert!(rests >= 150, "{rests} tasks of which the JVM did the rest");
}

fn rests(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&RESTS, version) {
        check(&outcome);
    }
}

fn generated(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        check(&outcome);
    }
}

each_version!(rests_in_the_jvm_equal_plain_spark, super::rests);
each_version!(rests_of_generated_code_equal_plain_spark, super::generated);
