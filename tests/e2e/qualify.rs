//! `firesteel qualify`: what the event log of a job on plain Spark says would run natively is what then does.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::carried_plans::plan_jar;
use crate::jobs::equal_sides;
use crate::lanes::{ended, reports};
use crate::places;
use crate::submit::{Application, Side};

/// Parts of a hundred by which a prediction may be wrong.
const POINTS: f64 = 5.0;

const JOB: Application = Application {
    name: "qualify",
    program: "spark-submit",
    seconds: 400,
    arguments: |_, work| arguments(work),
    stdin: None,
    lanes: None,
    sources: &["jobs/qualify.py", "jobs/support.py", "e2e/qualify.rs"],
};

const WITH_JAR: Application = Application {
    name: "qualify-with-jar",
    arguments: |_, work| {
        let extension = "spark.sql.extensions=org.firesteel.CarriedPlans";
        let jar = ["--jars", &plan_jar(), "--conf", extension].map(str::to_owned);
        [jar.to_vec(), arguments(work)].concat()
    },
    ..JOB
};

fn arguments(work: &Path) -> Vec<String> {
    let logs = work.join("logs");
    fs::create_dir_all(&logs).unwrap();
    let settings = [
        "spark.eventLog.enabled=true".to_owned(),
        "spark.eventLog.compress=true".to_owned(),
        format!("spark.eventLog.dir={}", logs.display()),
        "spark.sql.session.timeZone=UTC".to_owned(),
    ];
    let settings = settings
        .into_iter()
        .flat_map(|setting| ["--conf".to_owned(), setting]);
    let paths =
        ["support.py", "qualify.py"].map(|name| places::jobs().join(name).display().to_string());
    let job = [work.join("result.json"), work.join("scratch"), logs]
        .map(|path| path.display().to_string());
    settings
        .chain(["--py-files".to_owned()])
        .chain(paths)
        .chain(job)
        .collect()
}

/// What the program says about the log that is in a result.
fn qualified(result: &Value, work: &Path) -> Value {
    for (name, content) in result["log"].as_object().unwrap() {
        let path = work.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let encoded = places::logs().join("event-log.base64");
        fs::write(&encoded, content.as_str().unwrap()).unwrap();
        let decoded = Command::new("base64").arg("-d").arg(&encoded).output();
        fs::write(&path, decoded.unwrap().stdout).unwrap();
    }
    let program = testkit::firesteel().join("bin/firesteel");
    let said = Command::new(program)
        .args(["qualify", "--json"])
        .arg(work)
        .output()
        .unwrap();
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    let [application] = said["applications"].as_array().unwrap().as_slice() else {
        panic!("one application: {said:#}");
    };
    assert_eq!(application["lines"]["malformed"], 0);
    application.clone()
}

fn number(of: &Value, place: &str) -> f64 {
    of.pointer(place).and_then(Value::as_f64).expect("a number")
}

/// Holds the prediction of `column` by plain Spark's log against the reports of Firesteel's executors.
fn predicted(application: &Application, column: &str, version: &'static str) {
    let Some(outcome) = equal_sides(&JOB, application, version) else {
        return;
    };
    // What was kept of it, now that it has run.
    let plain = JOB.run(&Distribution::find(version), Side::Plain);
    let work = places::fresh_dir(&format!("{version}-{}-logs", application.name));
    let said = qualified(&plain.result, &work);
    let reports = reports(&outcome, version);
    let native = (ended(&reports, "sql") + ended(&reports, "python")) as f64;
    let all = native + ended(&reports, "jvm") as f64;
    let part = |kind: &str| number(&said, &format!("/{column}/tasks/{kind}"));
    let told = part("native") + part("delegated") + part("unknown");
    let (actual, expected) = (native / all * 100.0, part("native") / told * 100.0);
    println!(
        "Spark {version}, {column}: {expected:.1} % of {told} tasks predicted, {actual:.1} % of {all} native"
    );
    assert!(
        (actual - expected).abs() <= POINTS,
        "Spark {version}: {expected:.1} % of {told} tasks were predicted, {actual:.1} % of {all} ran natively: {:#}\n{reports:#?}",
        said[column]
    );
    // A job in which everything is one way would say little.
    assert!((20.0..99.0).contains(&actual), "{actual:.1} % ran natively");
    assert!(
        part("unknown") / told * 100.0 <= POINTS,
        "{:#}",
        said[column]
    );
}

fn with_jar(version: &'static str) {
    if places::asked_for(version, &[NEWEST]) {
        predicted(&WITH_JAR, "with_jar", version);
    }
}

fn without_jar(version: &'static str) {
    if places::asked_for(version, &[OLDEST]) {
        predicted(&JOB, "without_jar", version);
    }
}

each_version!(event_logs_tell_what_runs_with_the_jar, super::with_jar);
each_version!(event_logs_tell_what_runs_without_it, super::without_jar);
