//! Stages of generated code that carry their operators (`jars/firesteel-plan.jar`): with Spark's default settings TPC-H
//! and TPC-DS run natively, random queries have plain Spark's answers, and nothing else changes.

use std::path::Path;
use std::process::Command;

use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::jobs::equal_sides;
use crate::lanes::{Reason, Report, check_native, check_reasons, ended, reports};
use crate::places;
use crate::process::{Running, one_at_a_time, read_lossy};
use crate::sql_lane::{self, GENERATED};
use crate::sql_random::{self, NOT_NATIVE, RANDOM, UNKNOWN_COLUMNS};
use crate::submit::{self, Application, NO_JVM_EXPRESSIONS, Outcome};

const TPCH: Application = Application {
    name: "carried-tpch",
    arguments: |distribution, work| {
        let job = sql_lane::arguments(distribution, work, "generated");
        [carried(), job].concat()
    },
    ..GENERATED
};

const TPCDS: Application = Application {
    name: "tpcds",
    program: "spark-submit",
    seconds: 1800,
    arguments: |distribution, work| tpcds_arguments(distribution, work, &[]),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_tpcds.py", "jobs/support.py", "jobs/make_tpcds.py"],
};

/// Of TPC-DS, what runs where not all of it does: unions below joins, `INTERSECT`, `EXCEPT`, windows, full outer joins,
/// rollups.
const TPCDS_SHORT: Application = Application {
    name: "tpcds-short",
    arguments: |distribution, work| {
        let queries = [
            "q02", "q05", "q14a", "q38", "q51", "q67", "q76", "q87", "q97",
        ];
        tpcds_arguments(distribution, work, &queries)
    },
    ..TPCDS
};

const CARRIED_TPCDS: Application = Application {
    arguments: |distribution, work| [carried(), (TPCDS.arguments)(distribution, work)].concat(),
    ..TPCDS
};

const CARRIED_TPCDS_SHORT: Application = Application {
    arguments: |distribution, work| {
        [carried(), (TPCDS_SHORT.arguments)(distribution, work)].concat()
    },
    ..TPCDS_SHORT
};

const QUERIES: Application = Application {
    name: "carried-random",
    arguments: |_, work| [carried(), sql_random::arguments(work, &[])].concat(),
    ..RANDOM
};

fn tpcds_arguments(distribution: &Distribution, work: &Path, queries: &[&str]) -> Vec<String> {
    let jobs = places::jobs();
    let paths = [
        jobs.join("support.py"),
        jobs.join("sql_tpcds.py"),
        work.join("result.json"),
        places::tpcds(distribution),
    ];
    let mut arguments = vec!["--py-files".to_owned()];
    arguments.extend(paths.map(|path| path.display().to_string()));
    arguments.extend(queries.iter().map(|query| (*query).to_owned()));
    arguments
}

/// The driver's jar.
pub(crate) fn plan_jar() -> String {
    let jar = testkit::firesteel().join("jars/firesteel-plan.jar");
    jar.display().to_string()
}

/// What a user sets, but that what has no native form is delegated, so that it is known.
pub(crate) fn carried() -> Vec<String> {
    [
        "--jars",
        &plan_jar(),
        "--conf",
        "spark.sql.extensions=org.firesteel.CarriedPlans",
        "--conf",
        NO_JVM_EXPRESSIONS,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn tpch(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    let Some(outcome) = equal_sides(&GENERATED, &TPCH, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    check_native(&reports);
    let tasks = ended(&reports, "sql");
    assert!(tasks >= 180, "{tasks} tasks ran natively: {reports:#?}");
    shown(&outcome, tasks);
}

fn tpcds(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let (plain, carried, least) = match places::everything() {
        true => (&TPCDS, &CARRIED_TPCDS, 1200),
        false => (&TPCDS_SHORT, &CARRIED_TPCDS_SHORT, 120),
    };
    let Some(outcome) = equal_sides(plain, carried, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    check_native(&reports);
    let tasks = ended(&reports, "sql");
    assert!(tasks >= least, "{tasks} tasks ran natively: {reports:#?}");
    shown(&outcome, tasks);
}

/// The SQL page shows what ran natively: a task for each of its stages of code, of which tasks have none or several.
fn shown(outcome: &Outcome, tasks: u64) {
    let shown = outcome.result["native tasks"].as_u64();
    assert!(
        shown.is_some_and(|shown| shown > tasks / 2),
        "{shown:?} of {tasks}"
    );
}

fn random(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&RANDOM, &QUERIES, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    let known = [Reason::Whole(&[UNKNOWN_COLUMNS]), Reason::Part(&NOT_NATIVE)];
    let left = check_reasons(&reports, Report::left_native, &known);
    // Of those whose operators are not natively there, and of what is no operator.
    let (native, others) = (ended(&reports, "sql"), left.values().sum::<u64>());
    assert!(native > 4 * others, "{native} native tasks: {left:#?}");
}

/// Plans, code, stages and answers with and without, on plain Spark's executors.
fn unchanged(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let work = places::fresh_dir(&format!("{version}-carried-unchanged"));
    let home = places::spark_home(&distribution, &work);
    let mut command = Command::new(home.join("bin/spark-submit"));
    command
        .args(["--master", "local[2]"])
        .args(submit::common_conf(&work))
        .args(carried())
        .arg(places::jobs().join("carried_plans.py"))
        .arg(work.join("scratch"))
        .current_dir(&work);
    submit::environment(&mut command, &distribution, &work);
    let mut application = Running::start(&mut command, &work, "driver", false);
    let code = application.exit_code(300);
    let said = read_lossy(&application.stdout);
    assert_eq!(code, 0, "{}\n{said}", application.log());
    assert!(said.contains("42 queries are as without"), "{said}");
}

each_version!(tpch_with_carried_plans_is_native, super::tpch);
each_version!(tpcds_with_carried_plans_is_native, super::tpcds);
each_version!(random_queries_with_carried_plans, super::random);
each_version!(plain_spark_stays_as_it_is, super::unchanged);
