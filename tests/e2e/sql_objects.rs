//! Typed data sets of functions in Java, next to plain Spark: their stages run natively, and the embedded JVM runs the
//! operators on objects.

use std::path::Path;

use testkit::{NEWEST, each_version};

use crate::carried_plans::plan_jar;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::WithJvm;
use crate::places;
use crate::submit::{Application, job_with};

const OBJECTS: Application = Application {
    name: "sql-objects",
    program: "spark-submit",
    seconds: 900,
    arguments: |distribution, work| {
        let off = ["--conf", "spark.sql.codegen.wholeStage=false"].map(str::to_owned);
        let jars = [
            "--jars".to_owned(),
            places::jar_of(distribution, work, "objects"),
        ];
        [off.to_vec(), jars.to_vec(), arguments(work)].concat()
    },
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_objects.py",
        "jobs/asking.py",
        "jobs/support.py",
        "jobs/objects",
    ],
};

/// The same of generated code.
const GENERATED: Application = Application {
    name: "sql-objects-generated",
    arguments: |distribution, work| {
        let jars = [
            "--jars".to_owned(),
            places::jar_of(distribution, work, "objects"),
        ];
        [jars.to_vec(), arguments(work)].concat()
    },
    ..OBJECTS
};

const CARRIED: Application = Application {
    arguments: |distribution, work| {
        let jars = format!(
            "{},{}",
            places::jar_of(distribution, work, "objects"),
            plan_jar()
        );
        let extension = "spark.sql.extensions=org.firesteel.CarriedPlans";
        let jars = ["--jars", &jars, "--conf", extension].map(str::to_owned);
        [jars.to_vec(), arguments(work)].concat()
    },
    ..GENERATED
};

/// Why tasks are delegated: somebody sees how often functions are called, or they are aggregates.
const NOT_NATIVE: [&str; 2] = [
    "an accumulator of rows that are not all needed",
    "ComplexTypedAggregateExpression",
];

/// Why tasks are bailed out of: what fails fails in Spark's words.
const BAILED_OUT: [&str; 2] = [
    "fails in the JVM",
    "expressions that the JVM does not evaluate",
];

const EXPECTED: WithJvm<'_> = WithJvm {
    delegated: &NOT_NATIVE,
    bailed_out: &BAILED_OUT,
    native: 200,
    in_jvm: 150,
};

fn arguments(work: &Path) -> Vec<String> {
    let mut arguments = vec!["--conf".to_owned(), "spark.task.maxFailures=1".to_owned()];
    arguments.extend(job_with(
        &["support.py", "asking.py"],
        "sql_objects.py",
        work,
    ));
    if places::everything() {
        arguments.push("all".to_owned());
    }
    arguments
}

fn objects(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&OBJECTS, version) {
        EXPECTED.check(&outcome);
    }
}

fn generated(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        EXPECTED.check(&outcome);
    }
}

each_version!(typed_data_sets_equal_plain_spark, super::objects);
each_version!(
    typed_data_sets_of_generated_code_equal_plain_spark,
    super::generated
);
