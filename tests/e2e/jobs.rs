//! Whole applications, with the same answers, task metrics and views on both sides.

use std::path::Path;

use serde_json::Value;
use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::compare::differences;
use crate::places::{self, Inputs};
use crate::report;
use crate::submit::{Application, Outcome, Side, logs_below};

/// Every task delegated. Python: RDDs, DataFrames, dependencies, exceptions, cancellation, web UI, a killed executor.
const PARITY: Application = Application {
    name: "parity",
    program: "spark-submit",
    seconds: 400,
    arguments: parity_arguments,
    stdin: None,
    lanes: Some("jvm"),
    sources: &[
        "jobs/parity.py",
        "jobs/support.py",
        "jobs/rdd_themes.py",
        "jobs/sql_themes.py",
        "jobs/cluster_themes.py",
        "jobs/make_tpch.py",
        "jobs/tpch",
        "jobs/jar",
        "e2e/jobs.rs",
        "e2e/submit.rs",
    ],
};

/// Every task delegated. Scala, typed into the shell.
const SHELL: Application = Application {
    name: "shell",
    program: "spark-shell",
    seconds: 240,
    arguments: |_, _| Vec::new(),
    stdin: Some("shell.scala"),
    lanes: Some("jvm"),
    sources: &["jobs/shell.scala", "e2e/jobs.rs", "e2e/submit.rs"],
};

fn parity_arguments(distribution: &Distribution, work: &Path) -> Vec<String> {
    let inputs = Inputs::make(distribution, work);
    let jobs = places::jobs();
    let input = |name: &str| inputs.dir.join(name).display().to_string();
    let modules = [
        "support.py",
        "rdd_themes.py",
        "sql_themes.py",
        "cluster_themes.py",
    ]
    .map(|name| jobs.join(name).display().to_string())
    .join(",");
    let mut arguments: Vec<String> = [
        "spark.task.maxDirectResultSize=64k",
        // Blocks above this size are fetched as streams.
        "spark.network.maxRemoteBlockSizeFetchToMem=512k",
        // Executors of one host must fetch from each other, as those of different hosts do.
        "spark.shuffle.readHostLocalDisk=false",
        "spark.executor.heartbeatInterval=2s",
        "spark.executorEnv.E2E_VARIABLE=set",
        "spark.executor.extraJavaOptions=-De2e.option=given -XX:TieredStopAtLevel=1",
    ]
    .into_iter()
    .flat_map(|entry| ["--conf".to_owned(), entry.to_owned()])
    .collect();
    for (option, value) in [
        ("--driver-class-path", inputs.late_jar.display().to_string()),
        ("--jars", inputs.probe_jar.display().to_string()),
        ("--files", input("early.txt")),
        ("--archives", input("early.tgz")),
        (
            "--py-files",
            format!("{modules},{}", input("early_module.zip")),
        ),
    ] {
        arguments.extend([option.to_owned(), value]);
    }
    arguments.extend(job_of_themes("parity.py", distribution, work, &inputs));
    arguments
}

/// A job of several modules of themes, and its arguments.
pub(crate) fn job_of_themes(
    name: &str,
    distribution: &Distribution,
    work: &Path,
    inputs: &Inputs,
) -> [String; 6] {
    let jobs = places::jobs();
    [
        jobs.join(name),
        work.join("result.json"),
        work.join("scratch"),
        inputs.dir.clone(),
        places::tpch(distribution),
        jobs.join("tpch"),
    ]
    .map(|path| path.display().to_string())
}

/// Runs both sides and compares answers and metrics. `FIRESTEEL_E2E_SELF=1` puts plain Spark on both sides: a check of
/// the jobs themselves.
pub(crate) fn both_sides(application: &Application, version: &'static str) -> Option<Outcome> {
    equal_sides(application, application, version)
}

/// The same with a job whose settings change nothing for plain Spark, which then needs no run of its own.
pub(crate) fn equal_sides(
    plain: &Application,
    application: &Application,
    version: &'static str,
) -> Option<Outcome> {
    compared(application.name, version, |distribution, side| match side {
        Side::Plain => plain.run(distribution, side),
        Side::Firesteel => application.run(distribution, side),
    })
}

/// The same for whatever runs the job `name` on one side.
pub(crate) fn compared(
    name: &str,
    version: &'static str,
    run: impl Fn(&Distribution, Side) -> Outcome,
) -> Option<Outcome> {
    let distribution = Distribution::find(version);
    let myself = std::env::var_os("FIRESTEEL_E2E_SELF").is_some();
    if !myself {
        testkit::firesteel();
    }
    let plain = run(&distribution, Side::Plain);
    let other = match myself {
        true => run(&distribution, Side::Plain),
        false => run(&distribution, Side::Firesteel),
    };
    assert_eq!(plain.result["version"], version);
    for part in ["answers", "metrics"] {
        let found = differences(&plain.result[part], &other.result[part], 20);
        assert!(
            found.is_empty(),
            "Spark {version}, {name}: {part} differ in {} places:\n{}",
            found.len(),
            found.join("\n")
        );
    }
    (!myself).then_some(other)
}

/// What becomes of the report of an executor that is lost during the job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Killed by SIGKILL: no report.
    Silently,
    /// Ended by its own task: a report with tasks that have no outcome.
    ByTask,
}

/// Holds the executors' reports against the driver's counts.
fn check_reports(outcome: &Outcome, version: &str, losses: usize, kind: Lost) {
    let counters = outcome.result["counters"].as_object().expect("counters");
    assert!(counters.len() >= 2, "{counters:?}");
    let lost: Vec<&str> = outcome.result["lost"]
        .as_array()
        .expect("lost executors")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(lost.len(), losses, "{lost:?}");
    for (id, counted) in counters {
        let number = |key: &str| counted[key].as_u64().expect("a count");
        let (finished, failed) = (number("finished"), number("failed"));
        if !lost.contains(&id.as_str()) {
            let report = report::read(&outcome.reports, id);
            report::check_all_delegated(&report, version, finished, failed);
        } else if kind == Lost::ByTask {
            let report = report::read(&outcome.reports, id);
            report::check_lost(&report, version, finished, failed);
        }
    }
    let logs = logs_below(outcome.executor_logs.as_deref().expect("a run of our own"));
    assert!(
        logs.len() >= 4,
        "stdout and stderr of two executors: {logs:?}"
    );
    for (path, text) in logs {
        assert!(!text.contains("panicked at"), "{}:\n{text}", path.display());
    }
}

fn parity(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&PARITY, version) {
        check_reports(&outcome, version, 1, Lost::Silently);
    }
}

fn shell(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&SHELL, version) {
        check_reports(&outcome, version, 2, Lost::ByTask);
    }
}

each_version!(python_jobs_equal_plain_spark, super::parity);
each_version!(shell_jobs_equal_plain_spark, super::shell);
