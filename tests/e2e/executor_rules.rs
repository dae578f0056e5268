//! What executors do besides running tasks, next to plain Spark's: killed tasks that go on, running tasks on executors
//! that leave, custom resources that plugins find, and local directories that somebody removes.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::hold::{Hold, plain_answers};
use crate::lanes::Report;
use crate::places;
use crate::process::{Running, one_at_a_time};
use crate::report;
use crate::submit::Side;

const SOURCES: [&str; 3] = [
    "jobs/executor_rules.py",
    "jobs/jar/probe",
    "e2e/executor_rules.rs",
];

/// A driver with an executor `0`.
fn start(distribution: &Distribution, side: Side, name: &str, conf: &[&str]) -> (Hold, Running) {
    let mut hold = Hold::start(distribution, &format!("{name}-{}", side.name()), conf);
    let executor = hold.add_executor(distribution, &side.java_home(), "0", &[]);
    (hold, executor)
}

/// Answers of both sides to the same questions.
fn both_sides(
    version: &'static str,
    name: &str,
    ask: impl Fn(&Distribution, Side) -> Vec<Value>,
) -> (Vec<Value>, Vec<Value>) {
    let distribution = Distribution::find(version);
    let native = ask(&distribution, Side::Firesteel);
    let plain = plain_answers(&distribution, name, &SOURCES, || {
        ask(&distribution, Side::Plain)
    });
    (native, plain)
}

/// A task that goes on after it was killed ends its executor, with the exit code that Spark's has.
fn reap(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let (native, plain) = both_sides(version, "reaper", |distribution, side| {
        let conf = [
            "spark.task.reaper.enabled=true",
            "spark.task.reaper.killTimeout=1s",
            "spark.task.reaper.pollingInterval=500ms",
        ];
        let (mut hold, mut executor) = start(distribution, side, "reaper", &conf);
        hold.ask(json!({"do": "begin_marked", "job": "stubborn"}));
        let cancelled = hold.ask(json!({"do": "cancel", "job": "stubborn"}));
        let code = executor.exit_code(60);
        hold.wait_for_executors(&[]);
        if side == Side::Firesteel {
            let report = report::read(&hold.reports(), "0");
            assert_eq!(report["exit_code"], code, "{report:#}");
            // It is the JVM that reaps.
            assert_eq!(report["jvm_started"], true, "{report:#}");
            assert_eq!(Report::new(report).ended("python"), 0);
        }
        // The next one works.
        let mut next = hold.add_executor(distribution, &side.java_home(), "1", &[]);
        let squares = hold.ask(json!({"do": "squares", "count": 100}));
        hold.ask(json!({"do": "stop"}));
        next.exit_code(30);
        vec![cancelled, json!(code), squares]
    });
    assert_eq!(native, plain);
    let code = if version.starts_with('3') { 50 } else { 57 };
    assert_eq!(
        native,
        [json!(true), json!(code), json!("328350 of 100")],
        "Spark's own exit code"
    );
}

each_version!(killed_tasks_that_go_on_end_their_executor, super::reap);

/// A task in the JVM sees that its executor has been told to leave.
fn leave(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let (native, plain) = both_sides(version, "running-tasks-see-it", |distribution, side| {
        let conf = [
            "spark.decommission.enabled=true",
            "spark.storage.decommission.enabled=true",
        ];
        let (mut hold, mut executor) = start(distribution, side, "leave", &conf);
        hold.ask(json!({"do": "begin_marked", "job": "decommissioned"}));
        let told = hold.ask(json!({"do": "decommission", "id": "0"}));
        let seen = hold.ask(json!({"do": "finish", "name": "decommissioned"}));
        let code = executor.exit_code(60);
        if side == Side::Firesteel {
            // Only a JVM has the class that the tasks ask.
            let report = Report::new(report::read(&hold.reports(), "0"));
            assert!(report.ended("jvm") >= 2);
        }
        hold.ask(json!({"do": "stop"}));
        vec![told, seen, json!(code)]
    });
    assert_eq!(native, plain);
    assert_eq!(native, [json!(true), json!(2), json!(0)]);
}

each_version!(running_tasks_see_that_it_leaves, super::leave);

/// Custom resources come from the application's plugin, and from the script where it knows nothing; each is asked for
/// once.
fn discover(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let (native, plain) = both_sides(version, "discovery", |distribution, side| {
        let name = format!("discovery-{}", side.name());
        let work = places::fresh_dir(&format!("{version}-{name}"));
        places::spark_home(distribution, &work);
        let script = work.join("fpgas");
        write_script(
            &script,
            r#"echo '{"name": "fpga", "addresses": ["f1", "f2"]}'"#,
        );
        let asked = work.join("asked");
        let conf = [
            "spark.resources.discoveryPlugin=probe.Discovery".to_owned(),
            "spark.executor.resource.gpu.amount=2".to_owned(),
            "spark.task.resource.gpu.amount=1".to_owned(),
            "spark.executor.resource.fpga.amount=2".to_owned(),
            "spark.task.resource.fpga.amount=1".to_owned(),
            format!(
                "spark.executor.resource.fpga.discoveryScript={}",
                script.display()
            ),
            format!("spark.probe.asked={}", asked.display()),
        ];
        let conf: Vec<&str> = conf.iter().map(String::as_str).collect();
        let master = "local-cluster[0,1,1024]";
        let mut hold = Hold::start_in(distribution, work.clone(), master, &name, &conf);
        let jars = distribution.class_path();
        // Without the plugin's jar no executor comes about.
        let mut lacking = hold.start_executor(&side.java_home(), &jars, "0");
        let refused = lacking.exit_code(60);
        assert!(
            lacking.log().contains("probe.Discovery"),
            "{}",
            lacking.log()
        );
        let with_probe = format!("{jars}:{}", work.join("inputs/probe.jar").display());
        let mut executor = hold.start_executor(&side.java_home(), &with_probe, "1");
        hold.wait_for_executors(&["1"]);
        let mut found = hold.ask(json!({"do": "resources"}));
        // Spark's backend goes on for a while after it has failed: mostly the process is gone before it has registered
        // without resources.
        if let Some(known) = found["known"].as_object_mut() {
            known.remove("0");
        }
        // A task of Java, too.
        let squares = hold.ask(json!({"do": "squares", "count": 100}));
        let asked = fs::read_to_string(asked).unwrap();
        let mut asked: Vec<&str> = asked.lines().collect();
        asked.sort_unstable();
        hold.ask(json!({"do": "stop"}));
        executor.exit_code(30);
        if side == Side::Firesteel {
            let report = Report::new(report::read(&hold.reports(), "1"));
            // Which kind of resource those workers keep is left to the JVM.
            let several = "several kinds of resources, of which PySpark keeps one";
            let (native, left) = if version == OLDEST { (0, 23) } else { (16, 0) };
            assert_eq!(report.ended("python"), native, "{report:#?}");
            let delegated = report.delegated();
            assert_eq!(delegated.get(several).copied().unwrap_or(0), left);
        }
        vec![json!(refused), found, squares, json!(asked)]
    });
    assert_eq!(native, plain);
    let given = match version {
        // PySpark's worker forgets one kind of resource when it reads the next.
        OLDEST => json!(["gpu left", "gpu right"]),
        _ => json!(["fpga f1", "fpga f2", "gpu left", "gpu right"]),
    };
    assert_eq!(native[0], 1);
    assert_eq!(native[1]["given"], given, "{native:?}");
    assert_eq!(native[3], json!(["fpga", "gpu"]), "each was asked for once");
}

each_version!(plugins_discover_resources, super::discover);

/// A thread dump shows which threads run tasks, without a JVM, too.
fn dump(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let (native, plain) = both_sides(version, "threads", |distribution, side| {
        let (mut hold, mut executor) = start(distribution, side, "threads", &[]);
        let shown = hold.ask(json!({"do": "threads_of_python"}));
        hold.ask(json!({"do": "stop"}));
        executor.exit_code(30);
        if side == Side::Firesteel {
            let report = report::read(&hold.reports(), "0");
            assert_eq!(report["jvm_started"], false, "{report:#}");
            assert_eq!(Report::new(report).ended("python"), 2);
        }
        vec![shown]
    });
    assert_eq!(native, plain);
    let name =
        |task| format!("Executor task launch worker for task {task}.0 in stage 0.0 (TID {task})");
    assert_eq!(native[0]["tasks"], json!([name(0), name(1)]));
    let one = if version == OLDEST {
        json!(404)
    } else {
        json!(name(1))
    };
    assert_eq!(native[0]["one"], one);
}

each_version!(thread_dumps_show_tasks, super::dump);

fn write_script(path: &Path, line: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, format!("#!/bin/sh\n{line}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A cleaner of temporary files removes the block manager's directory. Jobs go on, with and without the JVM, and what
/// was lost is computed again. Plain Spark's executor fails all further tasks.
fn clean(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let (mut hold, mut executor) = start(&distribution, Side::Firesteel, "cleaner", &[]);
    let local = hold.work.join("executor-0/local");
    let answers = |found: &Value| {
        let of = |part: &str| found[part]["answer"].clone();
        [of("files"), found["parts"]["answer"][0].clone(), of("java")]
    };
    // Until here without a JVM, then with one that has used the directories.
    for java in [false, true] {
        let kept = hold.ask(json!({"do": "keep", "level": "DISK_ONLY", "java": java}));
        assert_eq!(remove_block_directories(&local), 1);
        let again = hold.ask(json!({"do": "kept_answers"}));
        assert_eq!(answers(&again), answers(&kept), "java: {java}");
        assert_eq!(remove_block_directories(&local), 1);
        let sum = hold.ask(json!({"do": "py_pairs", "pairs": 10_000}))["answer"].clone();
        assert_eq!(sum, 49_995_000);
        if java {
            assert_eq!(remove_block_directories(&local), 1);
            let squares = hold.ask(json!({"do": "squares", "count": 1000}));
            assert_eq!(squares, "332833500 of 1000");
        }
        assert!(executor.is_running(), "{}", executor.log());
    }
    executor.signal(Signal::TERM);
    executor.exit_code(20);
    let report = report::read(&hold.reports(), "0");
    assert_eq!(report["jvm_started"], true, "{report:#}");
    let report = Report::new(report);
    assert!(report.ended("python") > 0, "{report:#?}");
    assert!(report.ended("jvm") > 0, "{report:#?}");
    assert_eq!(remove_block_directories(&local), 0, "none is left behind");
    hold.ask(json!({"do": "stop"}));
}

each_version!(removed_local_directories_are_made_again, super::clean);

/// How many there were.
fn remove_block_directories(local: &Path) -> usize {
    let entries = fs::read_dir(local).unwrap().map(|entry| entry.unwrap());
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("blockmgr-"));
    ours.map(|entry| fs::remove_dir_all(entry.path()).unwrap())
        .count()
}
