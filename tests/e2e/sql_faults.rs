//! Spark SQL's tasks in fleets of both kinds of executors, and when map outputs are lost or damaged.

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Distribution, NEWEST, each_version};

use crate::hold::{Hold, plain_answers};
use crate::lanes::Report;
use crate::places;
use crate::process::{Running, one_at_a_time};
use crate::report;
use crate::submit::NO_JVM_EXPRESSIONS;

/// Plain Spark's answers depend on these.
const SOURCES: &[&str] = &[
    "jobs/sql_faults.py",
    "jobs/support.py",
    "jobs/make_tpch.py",
    "jobs/tpch",
    "e2e/sql_faults.rs",
];

const SETTINGS: [&str; 3] = [
    "spark.sql.codegen.wholeStage=false",
    // Every shuffle has tasks for all executors.
    "spark.sql.adaptive.coalescePartitions.enabled=false",
    "spark.locality.wait=0",
];

fn start(distribution: &Distribution, name: &str, more: &[&str]) -> Hold {
    testkit::firesteel();
    let mut settings = SETTINGS.to_vec();
    settings.extend(more);
    Hold::start(distribution, name, &settings)
}

fn number(found: &Value, name: &str) -> u64 {
    found[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {found}"))
}

/// Ends the application; the executor must have done everything natively.
fn stop(hold: &mut Hold, executor: &mut Running, id: &str, version: &str) -> Report {
    let report = end(hold, executor, id, version);
    report.check_native();
    report
}

/// Ends the application.
fn end(hold: &mut Hold, executor: &mut Running, id: &str, version: &str) -> Report {
    let counted = hold.executor(id);
    hold.ask(json!({"do": "stop"}));
    let report = stopped(hold, executor, id, &counted, version);
    assert!(report.ended("sql") > 0, "{report:#?}");
    report
}

/// Aggregates, shuffles of all kinds, joins of all kinds, subqueries.
const QUERIES: [&str; 9] = [
    "q01", "q03", "q05", "q09", "q13", "q16", "q18", "q21", "q22",
];

/// With broadcasts, and with shuffles in place of them.
fn tpch(hold: &mut Hold, mut check: impl FnMut(&str, &Value)) -> Vec<Value> {
    let mut answers = Vec::new();
    for threshold in ["10m", "-1"] {
        for query in QUERIES {
            let file = places::jobs().join(format!("tpch/{query}.sql"));
            let conf = json!({"spark.sql.autoBroadcastJoinThreshold": threshold});
            let found = hold.ask(json!({"do": "sql_run", "file": file, "conf": conf}));
            check(&format!("{query}, {threshold}"), &found);
            answers.push(found["answer"].clone());
        }
    }
    answers
}

/// Outputs are columns whatever others want: rows are made of all that the plain executor asks for.
fn fleet(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let columns = ["spark.firesteel.shuffle.format=columns"];
    let mut hold = start(&distribution, "sql-fleet", &columns);
    let tables = places::tpch(&distribution);
    hold.ask(json!({"do": "sql_tables", "directory": tables}));
    let expected = plain_answers(&distribution, "sql-fleet", SOURCES, || {
        let plain = hold.add_executor(&distribution, &testkit::jdk(), "0", &[]);
        let answers = tpch(&mut hold, |_, _| ());
        plain.signal(Signal::KILL);
        hold.wait_for_executors(&[]);
        answers
    });
    let mut native = hold.add_executor(&distribution, &testkit::firesteel(), "1", &[]);
    let _plain = hold.add_executor(&distribution, &testkit::jdk(), "2", &["1"]);
    let (mut shared, mut stages) = (0, 0);
    let found = tpch(&mut hold, |query, found| {
        assert!(
            number(found, "shared") > 0,
            "{query}: both have tasks of a stage: {found}"
        );
        shared += number(found, "shared");
        stages += number(found, "stages");
    });
    assert_eq!(found, expected);
    assert!(shared * 4 > stages * 3, "{shared} of {stages} stages");
    let report = stop(&mut hold, &mut native, "1", version);
    let (written, made_rows) = report.shuffle_columns();
    assert!(written > 100 && made_rows > 100, "{report:#?}");
}

/// Executors of both kinds that read each other's files: two of ours, which write columns until the plain one comes.
fn neighbours(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    // Local clusters turn it off.
    let files = ["spark.shuffle.readHostLocalDisk=true"];
    let mut hold = start(&distribution, "sql-neighbours", &files);
    let mut first = hold.add_executor(&distribution, &testkit::firesteel(), "0", &[]);
    let mut second = hold.add_executor(&distribution, &testkit::firesteel(), "1", &["0"]);
    let kept = json!({"do": "sql_keep", "query": KEPT});
    let expected = hold.ask(kept.clone());
    let again = hold.ask(json!({"do": "sql_kept"}));
    assert_eq!(again["answer"], expected["answer"], "{again}");
    let _plain = hold.add_executor(&distribution, &testkit::jdk(), "2", &["0", "1"]);
    // The shuffles are there already, as columns.
    for _ in 0..3 {
        let found = hold.ask(json!({"do": "sql_kept"}));
        assert_eq!(found["answer"], expected["answer"], "{found}");
        assert_eq!(number(&found, "failed_fetches"), 0, "{found}");
    }
    for _ in 0..3 {
        let found = hold.ask(kept.clone());
        assert_eq!(found["answer"], expected["answer"], "{found}");
        assert_eq!(number(&found, "failed_fetches"), 0, "{found}");
    }
    let counted = hold.executor("1");
    let reports = [
        stop(&mut hold, &mut first, "0", version),
        stopped(&hold, &mut second, "1", &counted, version),
    ];
    for report in &reports {
        report.check_native();
        let (written, made_rows) = report.shuffle_columns();
        assert!(written >= made_rows, "{report:#?}");
    }
    let (written, made_rows) = shuffle_columns(&reports);
    assert!(written >= 4 && made_rows >= 1, "{reports:#?}");
}

/// A query whose last stage is left to the JVM as a whole where it may not evaluate `sin` alone, which is HotSpot's
/// own.
const LEFT_TO_JVM: &str = "select k, round(sin(n), 3) as s from (select id % 1000 as k, count(*) as n \
     from range(0, 400000, 1, 4) group by id % 1000, id % 7)";

/// The JVMs of two executors read what was written as columns, their own and the other's.
fn jvms(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let all = [
        ("sql-jvms", "spark.shuffle.readHostLocalDisk=true"),
        ("sql-jvms-far", "spark.shuffle.readHostLocalDisk=false"),
    ];
    let count = if places::everything() { all.len() } else { 1 };
    for (name, more) in all.into_iter().take(count) {
        let mut hold = start(&distribution, name, &[more, NO_JVM_EXPRESSIONS]);
        let mut first = hold.add_executor(&distribution, &testkit::firesteel(), "0", &[]);
        let mut second = hold.add_executor(&distribution, &testkit::firesteel(), "1", &["0"]);
        let query = json!({"do": "sql_run", "query": LEFT_TO_JVM});
        let mut answers = Vec::new();
        for _ in 0..3 {
            let found = hold.ask(query.clone());
            assert_eq!(number(&found, "failed_fetches"), 0, "{found}");
            answers.push(found["answer"].clone());
        }
        assert_eq!(answers[0]["rows"], 7000, "{answers:?}");
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{answers:?}"
        );
        let counted = hold.executor("1");
        let reports = [
            end(&mut hold, &mut first, "0", version),
            stopped(&hold, &mut second, "1", &counted, version),
        ];
        let (written, made_rows) = shuffle_columns(&reports);
        assert!(written >= 4 && made_rows >= 4, "{reports:#?}");
        for report in &reports {
            assert!(
                report.ended("jvm") > 0 && report.bailed_out().is_empty(),
                "{report:#?}"
            );
        }
    }
}

/// Map outputs that are columns move before their executor leaves: nothing is computed again.
fn leaver(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let settings = [
        "spark.decommission.enabled=true",
        "spark.storage.decommission.enabled=true",
        "spark.storage.decommission.replicationReattemptInterval=1s",
    ];
    let mut hold = start(&distribution, "sql-leaver", &settings);
    let mut first = hold.add_executor(&distribution, &testkit::firesteel(), "0", &[]);
    let expected = hold.ask(json!({"do": "sql_keep", "query": KEPT}));
    let mut second = hold.add_executor(&distribution, &testkit::firesteel(), "1", &["0"]);
    first.signal(Signal::POWER);
    assert_eq!(first.exit_code(60), 0, "{}", first.log());
    hold.wait_for_executors(&["1"]);
    let found = hold.ask(json!({"do": "sql_kept"}));
    assert_eq!(found["answer"], expected["answer"], "{found}");
    assert_eq!(number(&found, "failed_fetches"), 0, "{found}");
    assert_eq!(number(&found, "attempts"), 1, "{found}");
    let left = Report::new(report::read(&hold.reports(), "0"));
    left.check_native();
    let (written, made_rows) = left.shuffle_columns();
    assert!(written > 0 && made_rows == written, "{left:#?}");
    stop(&mut hold, &mut second, "1", version);
}

/// Map outputs of all executors that were columns, and those that rows were made of.
fn shuffle_columns(reports: &[Report]) -> (u64, u64) {
    let counts = reports.iter().map(Report::shuffle_columns);
    counts.fold((0, 0), |(written, made), (more, rows)| {
        (written + more, made + rows)
    })
}

/// An executor of an application that has ended.
fn stopped(
    hold: &Hold,
    executor: &mut Running,
    id: &str,
    counted: &Value,
    version: &str,
) -> Report {
    assert_eq!(executor.exit_code(20), 0, "{}", executor.log());
    let report = Report::new(report::read(&hold.reports(), id));
    report.check_counts(version, counted);
    report
}

/// A query whose map outputs have some size.
const KEPT: &str = "select id % 1000 as k, count(*), sum(id), max(xxhash64(id)) from range(0, 400000, 1, 4) \
     group by id % 1000, id % 7, id % 60";

/// A query whose tasks need no memory but a broadcast table.
const BROADCAST: &str = "select /*+ broadcast(v) */ r.id, v.name from range(0, 100, 1, 2) r \
     join values (1L, 'one'), (2L, 'two') v(id, name) on r.id = v.id";

fn files(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let settings = ["spark.shuffle.readHostLocalDisk=false"];
    let mut hold = start(&distribution, "sql-files", &settings);
    let mut native = hold.add_executor(&distribution, &testkit::firesteel(), "0", &[]);
    let kept = json!({"do": "sql_keep", "query": KEPT});
    let expected = hold.ask(kept.clone());
    assert_eq!(number(&expected, "attempts"), 1, "{expected}");
    // A join's broadcast table is execution memory of each task that uses it, as in Spark.
    let joined = json!({"do": "sql_run", "query": BROADCAST});
    let joined = hold.ask(joined);
    assert!(number(&joined, "peak") > 0, "{joined}");
    let damage = |hold: &mut Hold, how: &str, id: &str| {
        let directory = hold.work.join(format!("executor-{id}"));
        // On a busy machine one of two executors may run all tasks that write map outputs.
        let damaged = (0..20).any(|_| {
            let found = hold.ask(kept.clone());
            assert_eq!(found["answer"], expected["answer"], "{found}");
            let damaged = hold.ask(json!({"do": "sql_damage", "how": how, "directory": directory}));
            damaged.as_u64() >= Some(1)
        });
        assert!(damaged, "no map outputs of {id}");
        let found = hold.ask(json!({"do": "sql_kept"}));
        assert_eq!(found["answer"], expected["answer"], "{how} {id}: {found}");
        assert!(number(&found, "failed_fetches") > 0, "{how} {id}: {found}");
        assert!(number(&found, "attempts") > 1, "{how} {id}: {found}");
    };
    damage(&mut hold, "lose", "0");
    damage(&mut hold, "corrupt", "0");
    // Blocks of the other one come over the network.
    let plain = hold.add_executor(&distribution, &testkit::jdk(), "1", &["0"]);
    for how in ["lose", "corrupt"] {
        for id in ["1", "0"] {
            damage(&mut hold, how, id);
        }
    }
    plain.signal(Signal::KILL);
    hold.wait_for_executors(&["0"]);
    let found = hold.ask(json!({"do": "sql_kept"}));
    assert_eq!(found["answer"], expected["answer"], "{found}");
    stop(&mut hold, &mut native, "0", version);
}

each_version!(sql_on_executors_of_both_kinds, super::fleet);
each_version!(sql_survives_lost_and_damaged_files, super::files);
each_version!(neighbours_of_both_kinds_read_files, super::neighbours);
each_version!(jvms_read_columns_as_rows, super::jvms);
each_version!(columns_of_an_executor_that_leaves, super::leaver);
