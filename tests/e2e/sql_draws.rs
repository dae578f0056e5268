//! Random numbers, ids of rows, numbers of partitions and metadata of files, next to plain Spark.

use std::collections::BTreeSet;
use std::path::Path;

use testkit::{Distribution, NEWEST, each_version};

use crate::jobs::both_sides;
use crate::places;
use crate::report;
use crate::submit::Application;

const NATIVE: Application = Application {
    name: "sql-draws",
    program: "spark-submit",
    seconds: 200,
    arguments: |distribution, work| arguments(distribution, work, "native"),
    stdin: None,
    lanes: None,
    sources: &["jobs/sql_draws.py"],
};

const LEFT: Application = Application {
    name: "sql-draws-left",
    arguments: |distribution, work| arguments(distribution, work, "left"),
    ..NATIVE
};

fn arguments(_: &Distribution, work: &Path, kind: &str) -> Vec<String> {
    [
        &places::jobs().join("sql_draws.py").display().to_string(),
        &work.join("result.json").display().to_string(),
        &work.join("scratch").display().to_string(),
        kind,
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Tasks that ran natively, and reasons for which others did not, but for writing the files and for a second look at
/// partitions of which a range partitioner has too small a sample.
fn native_tasks(reports: &Path) -> (u64, BTreeSet<String>) {
    let (mut native, mut reasons) = (0, BTreeSet::new());
    for report in report::all(reports) {
        native += report::count(&report, "/tasks/sql/finished");
        for kind in ["delegated", "bailed_out"] {
            let all = report[kind].as_object().expect("reasons").keys();
            let known = ["a write", "PartitionwiseSampledRDD"];
            let all = all.filter(|reason| !known.iter().any(|known| reason.starts_with(known)));
            reasons.extend(all.cloned());
        }
    }
    (native, reasons)
}

fn draws(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&NATIVE, version) else {
        return;
    };
    let (native, reasons) = native_tasks(&outcome.reports);
    assert_eq!(reasons, BTreeSet::new());
    assert!(native >= 40, "{native} tasks ran natively");
}

#[test]
fn draws_without_an_order_are_left_to_spark() {
    let Some(outcome) = both_sides(&LEFT, NEWEST) else {
        return;
    };
    let (_, reasons) = native_tasks(&outcome.reports);
    for expected in [
        "draws in partitions of other partitions",
        "Rand for some rows only",
        "Uuid for some rows only",
        "MonotonicallyIncreasingID of rows in no fixed order",
        "InputFileName of rows that do not come from a scan",
        "metadata of a file whose path is written unusually",
    ] {
        let found = reasons.iter().any(|reason| reason.contains(expected));
        assert!(found, "{expected}: {reasons:?}");
    }
}

each_version!(draws_equal_plain_spark, super::draws);
