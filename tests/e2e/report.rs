//! The reports that Firesteel's executors write at exit, held against what the driver counted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::process::wait_for;
use crate::submit::Outcome;

/// The report of executor `id`, which must be there within some seconds.
pub(crate) fn read(dir: &Path, id: &str) -> Value {
    let path = dir.join(format!("{id}.json"));
    wait_for(&format!("the report {}", path.display()), 10, || {
        serde_json::from_slice(&fs::read(&path).ok()?).ok()
    })
}

fn count(report: &Value, path: &str) -> u64 {
    report
        .pointer(path)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("the report has no number at {path}: {report:#}"))
}

/// Checks that all tasks ran in lane `jvm`, each delegated for a reason, and that their number is the driver's (which
/// does not count killed tasks by executor).
pub(crate) fn check_all_delegated(report: &Value, version: &str, finished: u64, failed: u64) {
    let delegated = check_lanes(report, version, finished, failed);
    let killed = count(report, "/tasks/jvm/killed");
    assert_eq!(
        delegated,
        finished + failed + killed,
        "delegations, and tasks: {report:#}"
    );
}

/// The same for an executor that ended with tasks under way, which are delegations without an outcome.
pub(crate) fn check_lost(report: &Value, version: &str, finished: u64, failed: u64) {
    let delegated = check_lanes(report, version, finished, failed);
    let killed = count(report, "/tasks/jvm/killed");
    let ended = finished + failed + killed;
    // The tests lose executors of two cores.
    assert!(
        (ended..=ended + 2).contains(&delegated),
        "delegations, and tasks: {report:#}"
    );
    assert_ne!(report["exit_code"], 0, "{report:#}");
}

/// Gives the number of delegations.
fn check_lanes(report: &Value, version: &str, finished: u64, failed: u64) -> u64 {
    let id = &report["executor_id"];
    assert_eq!(report["spark_version"], version, "executor {id}");
    let jvm = |end: &str| count(report, &format!("/tasks/jvm/{end}"));
    assert_eq!(
        (jvm("finished"), jvm("failed")),
        (finished, failed),
        "executor {id}: tasks by the report, against tasks by the driver: {report:#}"
    );
    for lane in ["python", "sql", "native"] {
        for end in ["finished", "failed", "killed"] {
            assert_eq!(
                count(report, &format!("/tasks/{lane}/{end}")),
                0,
                "executor {id}, lane {lane}"
            );
        }
    }
    let delegated: BTreeMap<String, u64> =
        serde_json::from_value(report["delegated"].clone()).unwrap();
    assert!(
        delegated.keys().all(|reason| !reason.trim().is_empty()),
        "a delegation without a reason: {report:#}"
    );
    assert_eq!(report["bailed_out"], serde_json::json!({}), "executor {id}");
    assert_eq!(
        report["jvm_started"],
        finished + failed > 0,
        "executor {id}"
    );
    assert!(
        (1..60_000).contains(&count(report, "/ms_to_registered")),
        "ms_to_registered: {report:#}"
    );
    assert!(
        (1 << 20..8 << 30).contains(&count(report, "/peak_rss_bytes")),
        "peak_rss_bytes: {report:#}"
    );
    delegated.values().sum()
}

/// One executor's report.
#[derive(Debug)]
pub(crate) struct Report(Value);

impl Report {
    pub(crate) fn new(value: Value) -> Self {
        Self(value)
    }

    /// Tasks that ended in `lane`, one way or another.
    pub(crate) fn ended(&self, lane: &str) -> u64 {
        ["finished", "failed", "killed"]
            .iter()
            .map(|end| count(&self.0, &format!("/tasks/{lane}/{end}")))
            .sum()
    }

    fn all_lanes(&self, end: &str) -> u64 {
        ["python", "sql", "native", "jvm"]
            .iter()
            .map(|lane| count(&self.0, &format!("/tasks/{lane}/{end}")))
            .sum()
    }

    pub(crate) fn delegated(&self) -> BTreeMap<String, u64> {
        serde_json::from_value(self.0["delegated"].clone()).unwrap()
    }

    pub(crate) fn jvm_started(&self) -> bool {
        self.0["jvm_started"].as_bool().expect("a flag")
    }

    /// Holds it against what the driver counted for this executor.
    pub(crate) fn check_counts(&self, version: &str, counted: &Value) {
        assert_eq!(self.0["spark_version"], version);
        for end in ["finished", "failed"] {
            assert_eq!(
                self.all_lanes(end),
                counted[end].as_u64().expect("a count"),
                "{end} tasks by the report, against those by the driver ({counted}): {:#}",
                self.0
            );
        }
    }

    /// Every task was of the python lane, and no JVM was started.
    pub(crate) fn check_native(&self) {
        assert!(
            self.ended("jvm") == 0 && !self.jvm_started() && self.delegated().is_empty(),
            "all tasks are of kinds that the python lane runs: {:#}",
            self.0
        );
    }
}

/// One of the contexts that an application had, one after the other (`tests/jobs/clustered.py`).
#[derive(Debug)]
pub(crate) struct Context {
    /// What the application called itself then.
    pub(crate) label: String,
    /// Of the executors that were alive at the end.
    pub(crate) reports: Vec<Report>,
    counted: Vec<Value>,
}

impl Context {
    /// Holds all reports against the driver's counts.
    pub(crate) fn check_counts(&self, version: &str) {
        for (report, counted) in self.reports.iter().zip(&self.counted) {
            report.check_counts(version, counted);
        }
    }

    /// Every task was of the python lane, and no JVM was started.
    pub(crate) fn check_native(&self) {
        for report in &self.reports {
            report.check_native();
        }
    }
}

/// All contexts of an application, in order.
pub(crate) fn contexts(outcome: &Outcome) -> Vec<Context> {
    let entries = outcome.result["contexts"].as_array().expect("contexts");
    entries
        .iter()
        .map(|entry| {
            let dir = outcome
                .reports
                .join(entry["reports"].as_str().expect("a name"));
            let (reports, counted) = entry["executors"]
                .as_object()
                .expect("executors")
                .iter()
                .filter(|(_, counted)| counted["active"] == true)
                .map(|(id, counted)| (Report::new(read(&dir, id)), counted.clone()))
                .unzip();
            Context {
                label: entry["label"].as_str().expect("a text").to_owned(),
                reports,
                counted,
            }
        })
        .collect()
}
