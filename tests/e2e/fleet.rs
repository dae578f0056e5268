//! Python jobs on one plain Spark executor and one of Firesteel's, each of which needs the other's blocks.

use rustix::process::Signal;
use serde_json::json;
use testkit::{Distribution, NEWEST, each_version};

use crate::hold::{Hold, plain_answers};
use crate::lanes::Report;
use crate::places;
use crate::process::one_at_a_time;
use crate::report;

fn fleet(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    testkit::firesteel();
    let mut hold = Hold::start(
        &distribution,
        "fleet",
        &[
            "spark.locality.wait=0",
            "spark.task.maxDirectResultSize=64k",
        ],
    );
    let native = hold.add_executor(&distribution, &testkit::firesteel(), "0", &[]);
    let plain = hold.add_executor(&distribution, &testkit::jdk(), "1", &["0"]);
    let nothing_wrong = json!([]);
    assert_eq!(hold.ask(json!({"do": "exchange"})), nothing_wrong);
    assert_eq!(hold.ask(json!({"do": "cached_table"})), nothing_wrong);
    for id in ["0", "1"] {
        let finished = hold.executor(id)["finished"].as_u64().expect("a count");
        assert!(finished > 20, "executor {id} finished {finished} tasks");
    }

    // Each in turn takes its map outputs along; another one makes them again.
    native.signal(Signal::KILL);
    let mut second = hold.add_executor(&distribution, &testkit::firesteel(), "2", &["1"]);
    assert_eq!(hold.ask(json!({"do": "exchange_again"})), true);
    plain.signal(Signal::KILL);
    let _other = hold.add_executor(&distribution, &testkit::jdk(), "3", &["2"]);
    assert_eq!(hold.ask(json!({"do": "exchange_again"})), true);
    assert_eq!(hold.ask(json!({"do": "exchange"})), nothing_wrong);

    let counted = hold.executor("2");
    hold.ask(json!({"do": "stop"}));
    assert_eq!(second.exit_code(20), 0, "{}", second.log());
    let report = Report::new(report::read(&hold.reports(), "2"));
    report.check_counts(version, &counted);
    report.check_native();
}

/// Every value that a driver gets of a task is in Kryo's format.
fn kryo(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    testkit::firesteel();
    let settings = [
        "spark.serializer=org.apache.spark.serializer.KryoSerializer",
        "spark.task.maxDirectResultSize=64k",
        "spark.locality.wait=0",
        // Statuses of both forms, some in broadcasts.
        "spark.shuffle.minNumPartitionsToHighlyCompress=5",
        "spark.shuffle.accurateBlockThreshold=2k",
        "spark.shuffle.mapOutput.minSizeForBroadcast=300",
        if version.starts_with('3') {
            "spark.kryo.unsafe=false"
        } else {
            "spark.kryo.classesToRegister=java.util.BitSet,java.util.TreeMap"
        },
    ];
    let mut hold = Hold::start(&distribution, "kryo", &settings);
    let expected = plain_answers(
        &distribution,
        "kryo",
        &["jobs/hold.py", "e2e/fleet.rs"],
        || {
            let plain = hold.add_executor(&distribution, &testkit::jdk(), "0", &[]);
            let answer = hold.ask(json!({"do": "results"}));
            plain.signal(Signal::KILL);
            vec![answer]
        },
    );
    let mut native = hold.add_executor(&distribution, &testkit::firesteel(), "1", &[]);
    assert_eq!(vec![hold.ask(json!({"do": "results"}))], expected);
    let nothing_wrong = json!([]);
    assert_eq!(hold.ask(json!({"do": "exchange"})), nothing_wrong);
    // Each keeps batches that the other one reads.
    let _plain = hold.add_executor(&distribution, &testkit::jdk(), "2", &["1"]);
    assert_eq!(hold.ask(json!({"do": "cached_table"})), nothing_wrong);
    let counted = hold.executor("1");
    hold.ask(json!({"do": "stop"}));
    assert_eq!(native.exit_code(20), 0, "{}", native.log());
    let report = Report::new(report::read(&hold.reports(), "1"));
    report.check_counts(version, &counted);
    report.check_native();
}

each_version!(results_in_kryo_s_format, super::kryo);
each_version!(python_jobs_on_executors_of_both_kinds, super::fleet);
