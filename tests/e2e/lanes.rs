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
        ["python", "sql", "jvm"]
            .iter()
            .map(|lane| count(&self.0, &format!("/tasks/{lane}/{end}")))
            .sum()
    }

    pub(crate) fn delegated(&self) -> BTreeMap<String, u64> {
        serde_json::from_value(self.0["delegated"].clone()).unwrap()
    }

    pub(crate) fn bailed_out(&self) -> BTreeMap<String, u64> {
        serde_json::from_value(self.0["bailed_out"].clone()).unwrap()
    }

    /// Tasks by the reason for which no native lane took or finished them.
    pub(crate) fn left_native(&self) -> BTreeMap<String, u64> {
        let mut all = self.delegated();
        for (reason, count) in self.bailed_out() {
            *all.entry(reason).or_default() += count;
        }
        all
    }

    /// Map outputs that were written as columns, and those of them that rows were made of.
    pub(crate) fn shuffle_columns(&self) -> (u64, u64) {
        let of = |name: &str| count(&self.0, &format!("/shuffle_columns/{name}"));
        (of("written"), of("made_rows"))
    }

    /// Native tasks for which the JVM evaluated expressions, and batches of rows that it did so for, by all reports.
    pub(crate) fn jvm_expressions(reports: &[Self]) -> (u64, u64) {
        let of = |name: &str| {
            let counts = reports.iter();
            let counts = counts.map(|report| count(&report.0, &format!("/jvm_expressions/{name}")));
            counts.sum()
        };
        (of("tasks"), of("batches"))
    }

    /// Native tasks of which the JVM did what was above their native operators, by all reports.
    pub(crate) fn jvm_rests(reports: &[Self]) -> u64 {
        let rests = |report: &Self| count(&report.0, "/jvm_expressions/rests");
        reports.iter().map(rests).sum()
    }

    /// What came of `spark.firesteel.verify=both`.
    pub(crate) fn verified(&self) -> &Value {
        &self.0["verified"]
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

    /// Every task ran in a native lane, and no JVM was started.
    pub(crate) fn check_native(&self) {
        self.check_no_jvm();
        assert_eq!(self.ended("jvm"), 0, "{:#}", self.0);
    }

    /// No task was left to a JVM, and none was started. A task that is killed before it has a lane is counted among the
    /// JVM's.
    pub(crate) fn check_no_jvm(&self) {
        assert!(
            !self.jvm_started() && self.left_native().is_empty(),
            "all tasks are of kinds that run natively: {:#}",
            self.0
        );
    }
}

/// Reports of an application's executors, held against the driver's counts.
pub(crate) fn reports(outcome: &Outcome, version: &str) -> Vec<Report> {
    reports_without(outcome, version, &[])
}

/// The same without the executors that were lost.
pub(crate) fn reports_without(outcome: &Outcome, version: &str, lost: &[&str]) -> Vec<Report> {
    let counters = outcome.result["counters"].as_object().expect("counters");
    counters
        .iter()
        .filter(|(id, _)| !lost.contains(&id.as_str()))
        .map(|(id, counted)| {
            let report = Report::new(report::read(&outcome.reports, id));
            report.check_counts(version, counted);
            report
        })
        .collect()
}

/// Tasks that ended in `lane` on all executors.
pub(crate) fn ended(reports: &[Report], lane: &str) -> u64 {
    reports.iter().map(|report| report.ended(lane)).sum()
}

/// All tasks by one of the maps of their reports, such as [`Report::delegated`].
fn count_by(
    reports: &[Report],
    reasons: impl Fn(&Report) -> BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (reason, count) in reports.iter().flat_map(reasons) {
        *all.entry(reason).or_default() += count;
    }
    all
}

/// Every reason for which tasks ran in the JVM, in order.
pub(crate) fn reasons(reports: &[Report]) -> Vec<String> {
    count_by(reports, Report::left_native).into_keys().collect()
}

/// Reasons that tests know.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reason<'a> {
    /// The whole texts.
    Whole(&'a [&'a str]),
    /// What texts begin with.
    Start(&'a [&'a str]),
    /// Parts of texts.
    Part(&'a [&'a str]),
}

impl Reason<'_> {
    fn has(self, reason: &str) -> bool {
        match self {
            Self::Whole(all) => all.contains(&reason),
            Self::Start(all) => all.iter().any(|known| reason.starts_with(known)),
            Self::Part(all) => all.iter().any(|known| reason.contains(known)),
        }
    }
}

/// Holds the reasons in one of the maps of the reports, such as [`Report::left_native`], against those that are known:
/// others would be of tasks in the wrong lane. Gives the tasks by reason.
pub(crate) fn check_reasons(
    reports: &[Report],
    of: impl Fn(&Report) -> BTreeMap<String, u64>,
    known: &[Reason<'_>],
) -> BTreeMap<String, u64> {
    let counts = count_by(reports, of);
    for reason in counts.keys() {
        assert!(
            known.iter().any(|known| known.has(reason)),
            "left to the JVM for a new reason: {reason}: {reports:#?}"
        );
    }
    counts
}

/// What an application was whose native stages have parts that the JVM does, beside native tasks.
pub(crate) struct WithJvm<'a> {
    /// Parts of the reasons for which tasks may be delegated.
    pub(crate) delegated: &'a [&'a str],
    /// Parts of the reasons for which tasks may be bailed out of.
    pub(crate) bailed_out: &'a [&'a str],
    /// Native tasks, at least.
    pub(crate) native: u64,
    /// Of those, tasks for which the JVM did something, at least.
    pub(crate) in_jvm: u64,
}

impl WithJvm<'_> {
    pub(crate) fn check(&self, outcome: &Outcome) {
        let reports = report::all(&outcome.reports).into_iter();
        let reports: Vec<_> = reports.map(Report::new).collect();
        check_reasons(
            &reports,
            Report::bailed_out,
            &[Reason::Part(self.bailed_out)],
        );
        check_reasons(&reports, Report::delegated, &[Reason::Part(self.delegated)]);
        let native = ended(&reports, "sql");
        assert!(native >= self.native, "{native} native tasks: {reports:#?}");
        let (tasks, batches) = Report::jvm_expressions(&reports);
        assert!(
            tasks >= self.in_jvm && batches > tasks,
            "{tasks} tasks, {batches} batches"
        );
    }
}

/// So many tasks were native, others were delegated for known reasons, and the JVM did nothing beside native ones.
pub(crate) fn check_alone(outcome: &Outcome, delegated: &[Reason<'_>], at_least: u64) {
    let reports = report::all(&outcome.reports).into_iter();
    let reports: Vec<_> = reports.map(Report::new).collect();
    check_reasons(&reports, Report::delegated, delegated);
    let native = ended(&reports, "sql");
    assert!(native >= at_least, "{native} native tasks: {reports:#?}");
    assert_eq!(Report::jvm_expressions(&reports), (0, 0));
}

/// Every task of all executors ran in a native lane, and no JVM was started.
pub(crate) fn check_native(reports: &[Report]) {
    reports.iter().for_each(Report::check_native);
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

    /// Every task ran in a native lane, and no JVM was started.
    pub(crate) fn check_native(&self) {
        check_native(&self.reports);
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
