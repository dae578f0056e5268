//! Which lanes ran the tasks, by the reports of executors, held against what the driver counted.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::report::{self, count};
use crate::submit::Outcome;

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

    /// Tasks by the reason for which no native lane took or finished them.
    pub(crate) fn left_native(&self) -> BTreeMap<String, u64> {
        let bailed_out = serde_json::from_value(self.0["bailed_out"].clone());
        let bailed_out: BTreeMap<String, u64> = bailed_out.unwrap();
        let mut all = self.delegated();
        for (reason, count) in bailed_out {
            *all.entry(reason).or_default() += count;
        }
        all
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
            self.ended("jvm") == 0 && !self.jvm_started() && self.left_native().is_empty(),
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
                .map(|(id, counted)| (Report::new(report::read(&dir, id)), counted.clone()))
                .unzip();
            Context {
                label: entry["label"].as_str().expect("a text").to_owned(),
                reports,
                counted,
            }
        })
        .collect()
}
