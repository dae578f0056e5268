//! The reports that Firesteel's executors write at exit, held against what the driver counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::process::wait_for;

/// Reasons of bail-outs that tell of rows of other columns than their reader was promised: no job has such rows.
const DAMAGED: [&str; 4] = [
    "a row that is too short",
    "a broadcast that is damaged",
    "columns of other types than declared",
    "whole rows in another number of columns",
];

/// The report of executor `id`, which must be there within some seconds.
pub(crate) fn read(dir: &Path, id: &str) -> Value {
    let path = dir.join(format!("{id}.json"));
    let report: Value = wait_for(&format!("the report {}", path.display()), 10, || {
        serde_json::from_slice(&fs::read(&path).ok()?).ok()
    });
    for reason in report["bailed_out"].as_object().expect("reasons").keys() {
        let damaged = DAMAGED.iter().any(|known| reason.contains(known));
        assert!(!damaged, "executor {id} met {reason}: {report:#}");
    }
    report
}

/// The reports of all executors that wrote one.
pub(crate) fn all(dir: &Path) -> Vec<Value> {
    let entries = fs::read_dir(dir).unwrap();
    let ids = entries.map(|entry| {
        let name = entry.unwrap().file_name();
        name.to_str().unwrap().trim_end_matches(".json").to_owned()
    });
    ids.map(|id| read(dir, &id)).collect()
}

/// A number in a report, by its JSON pointer.
pub(crate) fn count(report: &Value, path: &str) -> u64 {
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
    for lane in ["python", "sql"] {
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

/// Tasks that ran natively, whether an executor started a JVM, and reasons for which tasks were left to it.
pub(crate) fn native_tasks(reports: &Path) -> (u64, bool, BTreeSet<String>) {
    let (mut native, mut jvm_started, mut reasons) = (0, false, BTreeSet::new());
    for report in all(reports) {
        native += count(&report, "/tasks/sql/finished");
        jvm_started |= report["jvm_started"].as_bool().expect("a flag");
        for kind in ["delegated", "bailed_out"] {
            let all = report[kind].as_object().expect("reasons").keys();
            reasons.extend(all.cloned());
        }
    }
    (native, jvm_started, reasons)
}
