//! Pipelines of simple Python functions: real workers of every version run them by native code, unless that is switched
//! off.

use serde_json::{Value, json};
use testkit::{Distribution, NEWEST, each_version, is_since};

use crate::hold::Hold;
use crate::lanes::Report;
use crate::places;
use crate::process::one_at_a_time;
use crate::report;

/// What workers talk through.
const UNIX: &str = "spark.python.unix.domain.socket.enabled=true";
const PREPARE: &str = "spark.firesteel.python.prepare=false";
const COMPILE: &str = "spark.firesteel.python.compile=false";

fn pipelines(version: &'static str) {
    let _turn = one_at_a_time();
    check_compiled(version, "pipelines", &[]);
    let has_unix_sockets = is_since(version, "4.1");
    if has_unix_sockets && places::asked_for(version, &[NEWEST]) {
        check_compiled(version, "pipelines-unix", &[UNIX]);
    }
    if version == NEWEST {
        check_not_compiled(version, "pipelines-plain", &[PREPARE]);
        check_not_compiled(version, "pipelines-off", &[COMPILE]);
    }
}

fn check_compiled(version: &'static str, name: &str, settings: &[&str]) {
    let (tasks, report) = run(version, name, settings);
    // One pipeline for each task, and none of them left.
    assert_eq!(tasks, json!([[1, 0], [1, 0], [1, 0]]));
    let pipelines = report::count(&report, "/python_compiled/pipelines");
    // Those tasks of two jobs; there are more that the tasks do not tell of.
    assert!(pipelines >= 6, "{report:#}");
    // A step, and two functions that merge.
    let functions = report::count(&report, "/python_compiled/functions");
    assert!(functions >= 3 * pipelines, "{report:#}");
    let left = report::count(&report, "/python_compiled/left_to_python");
    assert_eq!(left, 0, "{report:#}");
    // The three tasks of the job that is not simple.
    let path = "/python_compiled/not_simple/an unknown method or attribute";
    assert!(report::count(&report, path) >= 3, "{report:#}");
}

fn check_not_compiled(version: &'static str, name: &str, settings: &[&str]) {
    let (tasks, report) = run(version, name, settings);
    assert_eq!(tasks, json!([null, null, null]));
    let nothing = json!({"pipelines": 0, "functions": 0, "left_to_python": 0, "not_simple": {}});
    assert_eq!(report["python_compiled"], nothing, "{report:#}");
}

/// What native code did in the tasks of both simple jobs, and the executor's report. The answers of all jobs are right.
fn run(version: &'static str, name: &str, settings: &[&str]) -> (Value, Value) {
    let distribution = Distribution::find(version);
    let mut hold = Hold::start(&distribution, name, settings);
    let mut executor = hold.add_executor(&distribution, &testkit::firesteel(), "0", &[]);
    let found = hold.ask(json!({"do": "pipelines"}));
    for job in ["words", "sums", "squares"] {
        assert_eq!(found[job]["right"], true, "{job}: {found}");
    }
    assert_eq!(found["words"]["native"], found["sums"]["native"], "{found}");
    hold.ask(json!({"do": "stop"}));
    assert_eq!(executor.exit_code(20), 0, "{}", executor.log());
    let report = report::read(&hold.reports(), "0");
    Report::new(report.clone()).check_native();
    (found["words"]["native"].clone(), report)
}

each_version!(simple_functions_are_run_by_native_code, super::pipelines);
