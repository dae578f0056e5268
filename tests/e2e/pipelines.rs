//! Pipelines of simple Python functions: real workers of every version run them by native code, unless that is switched off.

use serde_json::{Value, json};

use crate::each_version;
use crate::hold::Hold;
use crate::lanes::Report;
use crate::places::{self, Distribution};
use crate::process::one_at_a_time;
use crate::report;

/// What workers talk through.
const UNIX: &str = "spark.python.unix.domain.socket.enabled=true";
const PREPARE: &str = "spark.firesteel.python.prepare=false";

fn pipelines(version: &'static str) {
    let _turn = one_at_a_time();
    // One pipeline for each task, and none of them left.
    let all = json!([[1, 0], [1, 0], [1, 0]]);
    assert_eq!(native(version, "pipelines", &[]), all);
    let has_unix_sockets = !matches!(version, "3.5.9" | "4.0.5");
    if has_unix_sockets && places::asked_for(version, &[places::NEWEST]) {
        assert_eq!(native(version, "pipelines-unix", &[UNIX]), all);
    }
    if version == places::NEWEST {
        let none = json!([null, null, null]);
        assert_eq!(native(version, "pipelines-plain", &[PREPARE]), none);
    }
}

/// What native code did in the tasks of both jobs, whose answers are right.
fn native(version: &'static str, name: &str, settings: &[&str]) -> Value {
    let distribution = Distribution::find(version);
    let mut hold = Hold::start(&distribution, name, settings);
    let mut executor = hold.add_executor(&distribution, &places::firesteel(), "0", &[]);
    let found = hold.ask(json!({"do": "pipelines"}));
    for job in ["words", "sums"] {
        assert_eq!(found[job]["right"], true, "{job}: {found}");
    }
    assert_eq!(found["words"]["native"], found["sums"]["native"], "{found}");
    hold.ask(json!({"do": "stop"}));
    assert_eq!(executor.exit_code(20), 0, "{}", executor.log());
    Report::new(report::read(&hold.reports(), "0")).check_native();
    found["words"]["native"].clone()
}

each_version!(simple_functions_are_run_by_native_code, super::pipelines);
