//! Files of CSV and JSON that are read natively, next to plain Spark: the same values, the same malformed records, and
//! the same numbers of rows that scans count.

use std::path::Path;

use testkit::{NEWEST, each_version};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::Reason;
use crate::places;
use crate::sql_python::{check_lanes, with_table};
use crate::submit::{Application, Outcome, interpreted};

/// Without generated code.
const INTERPRETED: Application = Application {
    name: "sql-records",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), job(work)].concat(),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_records.py", "jobs/support.py"],
};

/// With generated code.
const GENERATED: Application = Application {
    name: "sql-records-generated",
    arguments: |_, work| job(work),
    ..INTERPRETED
};

/// The same, with operators that the code carries.
const CARRIED: Application = Application {
    name: "sql-records-carried",
    arguments: |_, work| [carried(), job(work)].concat(),
    ..INTERPRETED
};

fn job(work: &Path) -> Vec<String> {
    with_table(&["support.py"], "sql_records.py", work)
}

fn check(outcome: &Outcome, version: &str) {
    let known = [
        Reason::Start(&[
            // Texts in another encoding than UTF-8.
            "ExternalRDDScanExec::doExecute",
            "MultiLineCSVDataSource$::infer",
            "SampleExec",
            // With options, or of a sample.
            "JsonInferSchema::infer",
            "TextInputCSVDataSource$::inferFromDataset",
            "the date format ",
            "the path ",
        ]),
        Reason::Whole(&[
            "CSV with separators of several characters",
            "JSON in another encoding than UTF-8",
            "JSON that is kept as text",
            "JSON that is not as columns want it",
            "JSON with a name twice",
            "JSON with long names or a name twice",
            "JSON with long numbers",
            "a float that Javas write differently",
            "a malformed record",
            "a negative zero in JSON",
            "a number in JSON that is kept as text",
            "a number of JSON",
            "a text that may be a value",
            "an empty text in JSON",
            "an offset from UTC with seconds",
            "characters of JSON beyond the first plane",
            "lines with control characters",
            "lines with too many columns",
            "names of JSON in other letters",
            "names of CSV that are not those of columns",
            "quotes of CSV that are not escaped",
            "text that is no JSON",
            "to_json with pretty",
            "values with many characters",
        ]),
    ];
    check_lanes(outcome, version, &known, 10500);
}

fn records(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = both_sides(&INTERPRETED, version) {
        check(&outcome, version);
    }
}

fn generated(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        check(&outcome, version);
    }
}

each_version!(files_of_records_equal_plain_spark, super::records);
each_version!(so_they_do_of_generated_code, super::generated);
