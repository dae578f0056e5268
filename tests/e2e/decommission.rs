//! Executors that are told to leave give their blocks to others first: nothing is computed again.

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Distribution, NEWEST, each_version};

use crate::hold::{Hold, plain_answers};
use crate::lanes::Report;
use crate::places;
use crate::process::{Running, one_at_a_time};
use crate::report;
use crate::submit::Side;

const CONF: [&str; 4] = [
    "spark.decommission.enabled=true",
    "spark.storage.decommission.enabled=true",
    "spark.storage.decommission.replicationReattemptInterval=1s",
    "spark.locality.wait=0",
];

/// Lets an executor leave, by its signal or by the driver's order, and waits for its end.
fn leave(hold: &mut Hold, id: &str, executor: &mut Running, by_signal: bool) {
    if by_signal {
        executor.signal(Signal::POWER);
    } else {
        assert_eq!(hold.ask(json!({"do": "decommission", "id": id})), true);
    }
    assert_eq!(executor.exit_code(60), 0, "{}", executor.log());
}

/// Waits until an executor has run a task. A driver hears of Spark's own executor before that can take blocks; one of
/// 4.0 that gets some too early never finds its shuffle manager.
fn work_at(hold: &mut Hold, id: &str) {
    for _ in 0..100 {
        if hold.executor(id)["finished"].as_u64() > Some(0) {
            return;
        }
        hold.ask(json!({"do": "tiny", "tasks": 20}));
    }
    panic!("executor {id} gets no task");
}

/// What RDDs answered before and after executors left, first without and then with tasks of Java.
fn leaving(distribution: &Distribution, side: Side) -> Vec<Value> {
    let name = format!("decommission-{}", side.name());
    let home = side.java_home();
    let mut hold = Hold::start(distribution, &name, &CONF);
    let mut answers = Vec::new();
    for (java, ids) in [(false, ["0", "1", "2"]), (true, ["3", "4", "5"])] {
        let [first, second, third] = ids;
        let mut leaver = hold.add_executor(distribution, &home, first, &[]);
        let mut next = hold.add_executor(distribution, &home, second, &[first]);
        let kept = hold.ask(json!({"do": "keep", "level": "MEMORY_ONLY", "java": java}));
        let again = hold.ask(json!({"do": "kept_answers"}));
        for key in ["files", "parts", "java"] {
            assert_eq!(again[key]["answer"], kept[key]["answer"], "{key}");
        }
        let counted = hold.executor(first);
        assert!(counted["finished"].as_u64() > Some(4), "{counted}");
        leave(&mut hold, first, &mut leaver, true);
        hold.wait_for_executors(&[second]);
        let after = hold.ask(json!({"do": "kept_answers"}));
        assert_eq!(after, again, "{side:?}: nothing was computed again");
        // What came from the first one goes on to the third.
        let mut last = hold.add_executor(distribution, &home, third, &[second]);
        if side == Side::Plain {
            work_at(&mut hold, third);
        }
        leave(&mut hold, second, &mut next, false);
        hold.wait_for_executors(&[third]);
        let after = hold.ask(json!({"do": "kept_answers"}));
        assert_eq!(after, again, "{side:?}: nothing was computed again");
        if side == Side::Firesteel {
            let report = Report::new(report::read(&hold.reports(), first));
            report.check_counts(distribution.version, &counted);
            if java {
                assert!(
                    report.jvm_started() && report.ended("python") > 0,
                    "{report:?}"
                );
            } else {
                report.check_native();
            }
        }
        answers.extend([kept, again]);
        last.signal(Signal::TERM);
        last.exit_code(20);
        hold.wait_for_executors(&[]);
    }
    hold.ask(json!({"do": "stop"}));
    answers
}

fn decommission(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    testkit::firesteel();
    let native = leaving(&distribution, Side::Firesteel);
    let sources = ["jobs/hold.py", "e2e/decommission.rs"];
    let plain = plain_answers(&distribution, "decommission", &sources, || {
        leaving(&distribution, Side::Plain)
    });
    assert_eq!(native, plain);
}

each_version!(blocks_move_before_executors_leave, super::decommission);
