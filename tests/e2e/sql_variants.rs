//! Variants, next to plain Spark: made of JSON and of values, read at paths as every type, passed on in rows, and read
//! from Parquet files.

use std::path::Path;

use testkit::{NEWEST, each_version, is_since};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Reason, Report, check_reasons, ended};
use crate::places;
use crate::report;
use crate::submit::{Application, Outcome, interpreted, job_with};

const VARIANTS: Application = Application {
    name: "sql-variants",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), arguments(work)].concat(),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_variants.py", "jobs/support.py"],
};

/// The same of generated code.
const GENERATED: Application = Application {
    name: "sql-variants-generated",
    arguments: |_, work| arguments(work),
    ..VARIANTS
};

const CARRIED: Application = Application {
    arguments: |_, work| [carried(), arguments(work)].concat(),
    ..GENERATED
};

fn arguments(work: &Path) -> Vec<String> {
    let mut arguments = vec!["--conf".to_owned(), "spark.task.maxFailures=1".to_owned()];
    arguments.extend(job_with(&["support.py"], "sql_variants.py", work));
    if places::everything() {
        arguments.push("all".to_owned());
    }
    arguments
}

/// Why tasks of the job are delegated: making its tables.
const NOT_NATIVE: [&str; 3] = [
    "a write of a column of type ",
    "a write with org.apache.spark.sql.parquet.variant.shredding.",
    "RDDScanExec",
];

/// Why tasks are bailed out of.
const REASONS: [&str; 13] = [
    // Wanted: the first is of names that differ in case only.
    "a malformed variant",
    "a variant of another type",
    "variants of another form",
    "text that may be no JSON for a variant",
    // Of values that only Java knows how to write, or to read.
    "a float that Javas write differently",
    "a double with different digits in different Javas",
    "a date whose year has not four digits as text",
    "a timestamp that overflows",
    "a string that may be a value of the type",
    "a date or timestamp of another calendar",
    "a cast from timestamp to decimal",
    "bytes that are no text",
    "a column of type \"variant\"",
];

/// Tasks that must have run natively, and reasons for others that must be known.
fn checked(outcome: &Outcome, least: u64) {
    let reports: Vec<_> = report::all(&outcome.reports)
        .into_iter()
        .map(Report::new)
        .collect();
    let known = [Reason::Part(&NOT_NATIVE), Reason::Part(&REASONS)];
    let left = check_reasons(&reports, Report::left_native, &known);
    let native = ended(&reports, "sql");
    assert!(native >= least, "{native} native tasks: {left:#?}");
}

fn variants(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) || !is_since(version, "4.0") {
        return;
    }
    if let Some(outcome) = both_sides(&VARIANTS, version) {
        checked(&outcome, 100);
    }
}

fn generated(version: &'static str) {
    if !places::asked_for(version, &[]) || !is_since(version, "4.0") {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        checked(&outcome, 100);
    }
}

each_version!(variants_equal_plain_spark, super::variants);
each_version!(
    variants_of_generated_code_equal_plain_spark,
    super::generated
);
