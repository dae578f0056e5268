//! Functions in Java, and other expressions that only Spark's own code evaluates, next to plain Spark: the stages that
//! have them run natively, and the embedded JVM evaluates the expressions.

use std::path::Path;

use testkit::{NEWEST, each_version};

use crate::carried_plans::plan_jar;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::WithJvm;
use crate::places;
use crate::submit::{Application, job_with};

const EXPRESSIONS: Application = Application {
    name: "sql-jvm-expressions",
    program: "spark-submit",
    seconds: 900,
    arguments: |distribution, work| {
        let off = ["--conf", "spark.sql.codegen.wholeStage=false"].map(str::to_owned);
        let jars = [
            "--jars".to_owned(),
            places::jar_of(distribution, work, "functions"),
        ];
        [off.to_vec(), jars.to_vec(), arguments(work)].concat()
    },
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_jvm_expressions.py",
        "jobs/asking.py",
        "jobs/support.py",
        "jobs/functions",
    ],
};

/// The same of generated code.
const GENERATED: Application = Application {
    name: "sql-jvm-expressions-generated",
    arguments: |distribution, work| {
        let jars = [
            "--jars".to_owned(),
            places::jar_of(distribution, work, "functions"),
        ];
        [jars.to_vec(), arguments(work)].concat()
    },
    ..EXPRESSIONS
};

const CARRIED: Application = Application {
    arguments: |distribution, work| {
        let jars = format!(
            "{},{}",
            places::jar_of(distribution, work, "functions"),
            plan_jar()
        );
        let extension = "spark.sql.extensions=org.firesteel.CarriedPlans";
        let jars = ["--jars", &jars, "--conf", extension].map(str::to_owned);
        [jars.to_vec(), arguments(work)].concat()
    },
    ..GENERATED
};

/// Why tasks are delegated: what must see all rows in their order, or tells the driver something.
const NOT_NATIVE: [&str; 2] = [
    "a function that is not deterministic",
    "a function with an accumulator",
];

/// Why tasks are bailed out of: what fails fails in Spark's words, and odd values of the table.
const BAILED_OUT: [&str; 3] = [
    "a write of timestamps of times when there were two calendars",
    "letters whose case depends on Java's Unicode",
    "ScalaUDF fails in the JVM",
];

const EXPECTED: WithJvm<'_> = WithJvm {
    delegated: &NOT_NATIVE,
    bailed_out: &BAILED_OUT,
    native: 100,
    in_jvm: 60,
};

fn arguments(work: &Path) -> Vec<String> {
    let mut arguments = vec!["--conf".to_owned(), "spark.task.maxFailures=1".to_owned()];
    arguments.extend(job_with(
        &["support.py", "asking.py"],
        "sql_jvm_expressions.py",
        work,
    ));
    if places::everything() {
        arguments.push("all".to_owned());
    }
    arguments
}

fn expressions(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&EXPRESSIONS, version) {
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

each_version!(functions_in_java_equal_plain_spark, super::expressions);
each_version!(
    functions_in_java_of_generated_code_equal_plain_spark,
    super::generated
);
