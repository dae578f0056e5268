//! Every expression and cast that is computed natively, over generated inputs, next to plain Spark.

use std::collections::BTreeSet;
use std::path::Path;

use testkit::{Distribution, NEWEST, each_version};

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

/// Functions that are computed natively for all of their rows.
const FUNCTIONS: Application = Application {
    name: "sql-functions",
    arguments: |_, work| with_groups(work, &["functions"]),
    ..EXPRESSIONS
};

/// Functions of which Spark is left some rows, or that fail.
const LEFT: Application = Application {
    name: "sql-functions-left",
    arguments: |_, work| with_groups(work, &["left"]),
    ..EXPRESSIONS
};

/// Regular expressions, JSON, URLs, timestamps and intervals that are made of numbers, windows over times.
const TEXTS: Application = Application {
    name: "sql-texts",
    arguments: |_, work| with_groups(work, &["texts_and_times"]),
    ..EXPRESSIONS
};

/// Why tasks of [`LEFT`] are bailed out of.
const REASONS: [&str; 27] = [
    "a URL that only Java reads",
    "a bit that is not there",
    "a cast that overflows",
    "a count that overflows",
    "a date whose year has not four digits as text",
    "a day that is none",
    "a decimal with an exponent as text",
    "a float that Javas write differently",
    "a key of a URL that may be a pattern",
    "a number of 64 digits",
    "a number of no character",
    "a number that overflows",
    "a number with blanks or other letters",
    "a number with many digits behind the point",
    "a number without digits",
    "a place that overflows",
    "a text cut within a character",
    "a text that is no such number",
    "a text that may be a time",
    "a timestamp that overflows",
    "an element that is not there",
    "characters that are replaced by U+0000",
    "letters whose case depends on Java's Unicode",
    "a string that is no value of the type",
    "a string that may be a value of the type",
    NO_TEXT,
    INTERVALS,
];

/// Of bytes as texts, also where the job makes a table of them.
const NO_TEXT: &str = "bytes that are no text";

/// Of finding out the columns of the tables: what is read natively does not say which fields intervals have.
const INTERVALS: &str = "a column of type \"interval day to second\"";

/// Why tasks of [`TEXTS`] are delegated, besides [`NOT_NATIVE`], and why they are bailed out of: the expressions are in
/// `crates/exec/tests/golden/texts-VERSION.txt`.
const LEFT_TEXTS: [&str; 5] = [
    "RLike with such a pattern",
    "RegExpExtract of a group in something that is repeated",
    "RegExpInStr with such a pattern",
    "RegExpReplace with such a pattern",
    "StringSplit(Utf8View, Utf8View, Int32)",
];
const BAILED_OUT_TEXTS: [&str; 16] = [
    INTERVALS,
    "a date that overflows",
    "a double with different digits in different Javas",
    "a group that is not there",
    "a mask over other letters than ASCII",
    "a place behind a character of two units",
    "a result at the end of all times",
    "a timestamp that does not exist",
    "a timestamp that overflows",
    "an interval that overflows",
    "an invalid replacement",
    "boundaries of words of other letters than ASCII",
    NO_TEXT,
    "matches within a character",
    "seconds that overflow",
    "text that is no JSON",
];

/// What the job has that the lane leaves to the JVM: making the tables, and casts that differ between versions.
const NOT_NATIVE: [&str; 3] = [
    "a write of ",
    "RDDScanExec",
    "a cast from timestamp to decimal",
];

fn arguments(_: &Distribution, work: &Path) -> Vec<String> {
    with_groups(work, &[])
}

fn with_groups(work: &Path, groups: &[&str]) -> Vec<String> {
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
    arguments.extend(groups.iter().map(|group| (*group).to_owned()));
    arguments
}

/// Tasks that ran natively, and reasons for which others were bailed out of. No task was delegated for its expressions but
/// for the reasons `left`.
fn native_tasks(reports: &Path, left: &[&str]) -> (u64, BTreeSet<String>) {
    let (mut native, mut reasons) = (0, BTreeSet::new());
    for report in report::all(reports) {
        native += report::count(&report, "/tasks/sql/finished");
        for reason in report["delegated"].as_object().expect("reasons").keys() {
            assert!(
                NOT_NATIVE
                    .iter()
                    .chain(left)
                    .any(|known| reason.starts_with(known)),
                "executor {} delegated {reason}",
                report["executor_id"]
            );
        }
        let bailed_out = report["bailed_out"].as_object().expect("reasons");
        reasons.extend(bailed_out.keys().cloned());
    }
    (native, reasons)
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
    let (native, _) = native_tasks(&outcome.reports, &[]);
    assert!(native > 400, "{native} tasks ran natively");
}

fn functions(version: &'static str) {
    // Minutes, most of them plain Spark's; crates/exec/tests/expressions.rs has what was captured of both ends.
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&FUNCTIONS, version) else {
        return;
    };
    let (native, bailed_out) = native_tasks(&outcome.reports, &[]);
    assert_eq!(bailed_out, [NO_TEXT, INTERVALS].map(str::to_owned).into());
    assert!(native > 40, "{native} tasks ran natively");
}

fn texts(version: &'static str) {
    // Minutes of plain Spark's; what it answered before is in crates/exec/tests/fixtures.
    if !places::asked_for(version, &[]) {
        return;
    }
    let Some(outcome) = both_sides(&TEXTS, version) else {
        return;
    };
    let (native, bailed_out) = native_tasks(&outcome.reports, &LEFT_TEXTS);
    assert_eq!(bailed_out, BAILED_OUT_TEXTS.map(str::to_owned).into());
    assert!(native > 500, "{native} tasks ran natively");
}

fn left(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&LEFT, version) else {
        return;
    };
    let (native, bailed_out) = native_tasks(&outcome.reports, &[]);
    for reason in &bailed_out {
        let is_known = REASONS.iter().any(|known| reason.contains(known));
        assert!(is_known, "bailed out of: {reason}");
    }
    assert!(
        native > 20 && bailed_out.len() > 5,
        "{native} {bailed_out:?}"
    );
}

each_version!(functions_equal_plain_spark, super::functions);
each_version!(texts_and_times_equal_plain_spark, super::texts);
each_version!(what_functions_leave_equals_plain_spark, super::left);
each_version!(expressions_equal_plain_spark, super::expressions);
