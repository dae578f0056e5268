//! TPC-H in Spark SQL: without generated code every task of all queries belongs to the sql lane and no executor starts
//! a JVM; with Spark's default settings lanes take turns, and answers are the same.

use std::path::Path;

use testkit::{Distribution, NEWEST, OLDEST, each_middle_version, each_version, of_series};

use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{ended, reports};
use crate::places;
use crate::submit::Application;

const INTERPRETED: Application = Application {
    name: "sql-interpreted",
    program: "spark-submit",
    seconds: 1200,
    arguments: |distribution, work| arguments(distribution, work, "interpreted"),
    stdin: None,
    lanes: None,
    sources: SOURCES,
};

pub(crate) const GENERATED: Application = Application {
    name: "sql-generated",
    program: "spark-submit",
    seconds: 1200,
    arguments: |distribution, work| arguments(distribution, work, "generated"),
    stdin: None,
    lanes: None,
    sources: SOURCES,
};

/// Every attempt natively and in the JVM.
const VERIFIED: Application = Application {
    name: "sql-verified",
    program: "spark-submit",
    seconds: 1800,
    arguments: |distribution, work| {
        [verify(), arguments(distribution, work, "interpreted")].concat()
    },
    stdin: None,
    lanes: None,
    sources: SOURCES,
};

/// The same of six queries.
const SIX_VERIFIED: Application = Application {
    name: "sql-six-verified",
    seconds: 900,
    arguments: |distribution, work| [verify(), arguments(distribution, work, "six")].concat(),
    ..VERIFIED
};

fn verify() -> Vec<String> {
    ["--conf", "spark.firesteel.verify=both"]
        .map(str::to_owned)
        .to_vec()
}

/// Quick enough to run on every version.
const SIX: Application = Application {
    name: "sql-six",
    program: "spark-submit",
    seconds: 400,
    arguments: |distribution, work| arguments(distribution, work, "six"),
    stdin: None,
    lanes: None,
    sources: SOURCES,
};

const SOURCES: &[&str] = &[
    "jobs/sql_tpch.py",
    "jobs/support.py",
    "jobs/make_tpch.py",
    "jobs/tpch",
];

pub(crate) fn arguments(distribution: &Distribution, work: &Path, mode: &str) -> Vec<String> {
    let jobs = places::jobs();
    let mut arguments = vec![
        "--py-files".to_owned(),
        jobs.join("support.py").display().to_string(),
    ];
    for path in [
        jobs.join("sql_tpch.py"),
        work.join("result.json"),
        places::tpch(distribution),
        jobs.join("tpch"),
    ] {
        arguments.push(path.display().to_string());
    }
    arguments.push(mode.to_owned());
    arguments
}

fn interpreted(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&INTERPRETED, version) {
        for report in reports(&outcome, version) {
            assert!(report.ended("sql") > 0, "{report:#?}");
            report.check_native();
            let (written, made_rows) = report.shuffle_columns();
            assert!(written > 50 && made_rows == 0, "{report:#?}");
        }
    }
}

/// Six queries that have every operator of TPC-H between them, on the versions on which not all run.
fn six(version: &'static str) {
    if !places::asked_for(version, &[of_series("4.1")]) {
        return;
    }
    let Some(outcome) = both_sides(&SIX, version) else {
        return;
    };
    for report in reports(&outcome, version) {
        assert!(report.ended("sql") > 0, "{report:#?}");
        report.check_native();
    }
    let themes = outcome.result["metrics"].as_object().expect("metrics");
    let operators: Vec<&str> = themes
        .values()
        .flat_map(|theme| theme["operators"].as_array().expect("operators"))
        .filter_map(|operator| operator[0].as_str())
        .collect();
    for operator in [
        "Filter",
        "HashAggregate",
        "Sort",
        "BroadcastHashJoin",
        "SortMergeJoin",
        "ShuffledHashJoin",
    ] {
        assert!(operators.contains(&operator), "{operator} of {operators:?}");
    }
}

fn generated(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = both_sides(&GENERATED, version) {
        let reports = reports(&outcome, version);
        for report in &reports {
            let reasons: Vec<String> = report.left_native().into_keys().collect();
            assert_eq!(reasons, ["generated code without operators"], "{report:#?}");
        }
        // Of all 208 tasks, 91 were native: a few depend on how adaptive execution plans.
        for (lane, least) in [("sql", 80), ("jvm", 1)] {
            let tasks = ended(&reports, lane);
            assert!(tasks >= least, "{tasks} in lane {lane}: {reports:#?}");
        }
    }
}

/// The JVM runs what was run natively, and both come to the same.
fn verified(version: &'static str) {
    let (plain, verified, least) = if places::asked_for(version, &[]) {
        (&INTERPRETED, &VERIFIED, 100)
    } else if places::asked_for(version, &[NEWEST]) {
        (&SIX, &SIX_VERIFIED, 25)
    } else {
        return;
    };
    let Some(outcome) = equal_sides(plain, verified, version) else {
        return;
    };
    for report in reports(&outcome, version) {
        let verified = report.verified();
        assert_eq!(verified["different"], 0, "{report:#?}");
        assert_eq!(verified["unverified"], serde_json::json!({}), "{report:#?}");
        let equal = verified["equal"].as_u64().expect("a count");
        assert!(equal > least, "{report:#?}");
        let given_up = report.left_native();
        assert_eq!(given_up.len(), 1, "{report:#?}");
        assert_eq!(given_up["spark.firesteel.verify is both"], equal);
        assert_eq!(report.ended("jvm"), equal, "{report:#?}");
    }
}

each_version!(tpch_without_generated_code, super::interpreted);
each_version!(tpch_with_default_settings, super::generated);
each_version!(tpch_with_verification, super::verified);

each_middle_version!(six_queries_of_tpch, super::six);
