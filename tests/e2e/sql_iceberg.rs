//! Tables of Iceberg's, next to plain Spark: scans of them are native, whatever became of the table since its files
//! were written.

use crate::carried_plans::plan_jar;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Reason, WithJvm, check_alone};
use crate::places;
use crate::sql_lakes::{arguments, has_jars};
use crate::submit::Application;
use testkit::{OLDEST, each_version, of_series};

const JOB: &str = "sql_iceberg.py";

const ICEBERG: Application = Application {
    name: "sql-iceberg",
    program: "spark-submit",
    seconds: 1200,
    arguments: |distribution, work| {
        let off = ["--conf", "spark.sql.codegen.wholeStage=false"].map(str::to_owned);
        [off.to_vec(), arguments(distribution, work, JOB, &[], &[])].concat()
    },
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_iceberg.py",
        "jobs/sql_lakes.py",
        "jobs/asking.py",
        "jobs/support.py",
        "services",
    ],
};

/// The same of generated code.
const GENERATED: Application = Application {
    name: "sql-iceberg-generated",
    arguments: |distribution, work| arguments(distribution, work, JOB, &[], &[]),
    ..ICEBERG
};

const CARRIED: Application = Application {
    arguments: |distribution, work| {
        let jar = plan_jar();
        let extension = "org.firesteel.CarriedPlans";
        arguments(distribution, work, JOB, &[&jar], &[extension])
    },
    ..GENERATED
};

/// Rows that are deleted where they are read, of which the JVM reads nothing beside native tasks.
const NATIVE: Application = Application {
    name: "sql-iceberg-native",
    arguments: |distribution, work| {
        let off = "spark.sql.codegen.wholeStage=false";
        let alone = "spark.firesteel.sql.jvmExpressions=false";
        let settings = ["--conf", off, "--conf", alone].map(str::to_owned);
        let own = arguments(distribution, work, JOB, &[], &[]);
        let mut arguments = [settings.to_vec(), own].concat();
        arguments.retain(|argument| argument != "all");
        arguments.extend(["deletes 2", "deletes 3"].map(str::to_owned));
        arguments
    },
    ..ICEBERG
};

/// Why tasks are delegated: writers above nothing but scans, and what Iceberg does with lists of its own files.
const NOT_NATIVE: [&str; 2] = [
    "V2TableWriteExec::writeWithV2",
    "a serializer of another type",
];

/// Why tasks are bailed out of: files that others wrote, and structs of which nothing that is wanted is in a file.
const BAILED_OUT: [&str; 2] = [
    "a file whose columns have no ids",
    "a file whose structs have other fields",
];

/// Why more tasks are delegated where the JVM does nothing beside native ones: lineage of rows, and what Iceberg reads
/// of its own.
const WITHOUT_JVM: [&str; 3] = [
    "BaseFilesTable$ManifestReadTask",
    "MergeRowsExec",
    "the column _row_id",
];

const EXPECTED: WithJvm<'_> = WithJvm {
    delegated: &NOT_NATIVE,
    bailed_out: &BAILED_OUT,
    native: 500,
    in_jvm: 10,
};

fn iceberg(version: &'static str) {
    if !has_jars(version) || !places::asked_for(version, &[OLDEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&ICEBERG, version) {
        EXPECTED.check(&outcome);
    }
}

fn native(version: &'static str) {
    if !has_jars(version) || !places::asked_for(version, &[of_series("4.1")]) {
        return;
    }
    if let Some(outcome) = both_sides(&NATIVE, version) {
        let known = [Reason::Part(&NOT_NATIVE), Reason::Part(&WITHOUT_JVM)];
        check_alone(&outcome, &known, 400);
    }
}

fn generated(version: &'static str) {
    if !has_jars(version) || !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        EXPECTED.check(&outcome);
    }
}

each_version!(tables_equal_plain_spark, super::iceberg);
each_version!(tables_are_read_natively, super::native);
each_version!(tables_of_generated_code_equal_plain_spark, super::generated);
