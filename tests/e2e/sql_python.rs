//! Functions of Python in Spark SQL, next to plain Spark: stages call them natively, in PySpark's own workers.

use std::path::Path;

use testkit::{NEWEST, OLDEST, each_version, of_series};

use crate::carried_plans::carried;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::report;
use crate::submit::{Application, Outcome, interpreted, job_with};

const FUNCTIONS: Application = Application {
    name: "sql-python",
    program: "spark-submit",
    seconds: 900,
    arguments: |_, work| [interpreted(), short(work, Rows::Pickled)].concat(),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_python.py", "jobs/support.py"],
};

/// With results of every type, which take two minutes.
const ALL_RESULTS: Application = Application {
    name: "sql-python-results",
    arguments: |_, work| [interpreted(), job(work, Rows::Pickled)].concat(),
    ..FUNCTIONS
};

/// With rows in Arrow streams.
const OVER_ARROW: Application = Application {
    name: "sql-python-arrow",
    arguments: |_, work| [interpreted(), short(work, Rows::Arrow)].concat(),
    ..FUNCTIONS
};

/// The same with results of every type.
const ALL_RESULTS_OVER_ARROW: Application = Application {
    name: "sql-python-arrow-results",
    arguments: |_, work| [interpreted(), job(work, Rows::Arrow)].concat(),
    ..FUNCTIONS
};

/// Functions of series and of arrays.
const PANDAS: Application = Application {
    name: "sql-pandas",
    arguments: |_, work| [interpreted(), pandas_job(work)].concat(),
    sources: &[
        "jobs/sql_pandas.py",
        "jobs/sql_python.py",
        "jobs/support.py",
    ],
    ..FUNCTIONS
};

/// With generated code around functions of series, and batches of columns below them.
const GENERATED_PANDAS: Application = Application {
    name: "sql-pandas-generated",
    arguments: |_, work| pandas_job(work),
    ..PANDAS
};

/// The same, with operators that the code carries.
const CARRIED_PANDAS: Application = Application {
    name: "sql-pandas-carried",
    arguments: |_, work| [carried(), pandas_job(work)].concat(),
    ..PANDAS
};

/// With generated code around the functions.
const GENERATED: Application = Application {
    name: "sql-python-generated",
    arguments: |_, work| short(work, Rows::Pickled),
    ..FUNCTIONS
};

/// The same over Arrow streams.
const GENERATED_OVER_ARROW: Application = Application {
    name: "sql-python-arrow-generated",
    arguments: |_, work| short(work, Rows::Arrow),
    ..FUNCTIONS
};

/// Pickled rows, with operators that the code carries.
const CARRIED: Application = Application {
    name: "sql-python-carried",
    arguments: |_, work| [carried(), short(work, Rows::Pickled)].concat(),
    ..FUNCTIONS
};

/// The same over Arrow streams.
const CARRIED_OVER_ARROW: Application = Application {
    name: "sql-python-arrow-carried",
    arguments: |_, work| [carried(), short(work, Rows::Arrow)].concat(),
    ..FUNCTIONS
};

/// How functions are given rows, for which versions have other defaults.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    Pickled,
    Arrow,
}

/// Without results of every type.
fn short(work: &Path, rows: Rows) -> Vec<String> {
    let mut arguments = job(work, rows);
    arguments.push("short".to_owned());
    arguments
}

fn job(work: &Path, rows: Rows) -> Vec<String> {
    let arrow = rows == Rows::Arrow;
    let arrow = format!("spark.sql.execution.pythonUDF.arrow.enabled={arrow}");
    // Its sizes are held against plain Spark's.
    let rows = "spark.firesteel.shuffle.format=rows".to_owned();
    let conf = [arrow, rows].map(|entry| ["--conf".to_owned(), entry]);
    let job = started(&["support.py"], "sql_python.py", work);
    [conf.concat(), job].concat()
}

fn pandas_job(work: &Path) -> Vec<String> {
    with_table(&["support.py", "sql_python.py"], "sql_pandas.py", work)
}

/// A job that writes a table, and reads it.
pub(crate) fn with_table(modules: &[&str], job: &str, work: &Path) -> Vec<String> {
    let mut arguments = started(modules, job, work);
    arguments.push(work.join("scratch/table").display().to_string());
    arguments
}

/// A job with its modules, which writes a result, and the settings of all of them.
pub(crate) fn started(modules: &[&str], job: &str, work: &Path) -> Vec<String> {
    let conf = [
        "spark.sql.shuffle.partitions=3",
        "spark.sql.session.timeZone=Europe/Zurich",
        "spark.task.maxFailures=1",
    ];
    let conf = conf
        .into_iter()
        .flat_map(|entry| ["--conf".to_owned(), entry.to_owned()]);
    conf.chain(job_with(modules, job, work)).collect()
}

fn check(outcome: &Outcome, version: &str, least: u64) {
    // What Java makes of a value, and errors of its own; tables that are written; batches as a scan of columns makes
    // them.
    let known = [
        Reason::Part(&["of Python"]),
        Reason::Start(&["Python functions that see how long"]),
    ];
    check_lanes(outcome, version, &known, least);
}

/// That functions were computed without Python.
fn check_simple(outcome: &Outcome) {
    let reports = report::all(&outcome.reports);
    let computed = reports
        .iter()
        .map(|report| report::count(report, "/python_functions/computed"));
    let computed: u64 = computed.sum();
    assert!(computed > 100, "{computed} functions were computed");
}

/// That tasks were left to the JVM for known reasons only, and that so many at least ran natively.
pub(crate) fn check_lanes(outcome: &Outcome, version: &str, known: &[Reason<'_>], least: u64) {
    let reports = reports(outcome, version);
    check_reasons(&reports, Report::left_native, known);
    let tasks = ended(&reports, "sql");
    assert!(tasks >= least, "{tasks} tasks ran natively: {reports:#?}");
}

fn functions(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let in_full = places::everything() || version == NEWEST;
    let (job, least) = match in_full {
        true => (&ALL_RESULTS, 500),
        false => (&FUNCTIONS, 250),
    };
    if let Some(outcome) = both_sides(job, version) {
        check(&outcome, version, least);
        check_simple(&outcome);
    }
}

fn over_arrow(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let (job, least) = match places::everything() {
        true => (&ALL_RESULTS_OVER_ARROW, 400),
        false => (&OVER_ARROW, 250),
    };
    if let Some(outcome) = both_sides(job, version) {
        check(&outcome, version, least);
    }
}

fn pandas(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, of_series("4.1")]) {
        return;
    }
    if let Some(outcome) = both_sides(&PANDAS, version) {
        check(&outcome, version, 120);
    }
}

fn around(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    for (generated, carried, least) in [
        (&GENERATED, &CARRIED, 200),
        (&GENERATED_OVER_ARROW, &CARRIED_OVER_ARROW, 200),
        (&GENERATED_PANDAS, &CARRIED_PANDAS, 100),
    ] {
        // It differs from the first in its arguments, as without generated code.
        if carried.name == CARRIED_OVER_ARROW.name && !places::everything() {
            continue;
        }
        if let Some(outcome) = equal_sides(generated, carried, version) {
            check(&outcome, version, least);
        }
    }
}

each_version!(functions_equal_plain_spark, super::functions);
each_version!(functions_over_arrow_equal_plain_spark, super::over_arrow);
each_version!(functions_of_series_equal_plain_spark, super::pandas);
each_version!(so_they_do_within_generated_code, super::around);
