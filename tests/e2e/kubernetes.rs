//! Executors in pods: a mock of Kubernetes' API server, a small kubelet, and a driver in client mode.
//!
//! The jars come from packages (`setup_services` of `scripts/lib.sh`), and each application starts its own server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{Distribution, NEWEST, each_version};

use crate::jobs::compared;
use crate::lanes;
use crate::places;
use crate::process::{Running, read_lossy, wait_for};
use crate::submit::{Application, Cluster, Side, logs_below};

/// Two pods, of which one is killed and one deleted; with the secret that the driver gives to pods.
const PODS: Application = Application {
    name: "kubernetes",
    program: "spark-submit",
    seconds: 300,
    arguments,
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/kubernetes.py",
        "jobs/kubelet.py",
        "jobs/containers.py",
        "jobs/support.py",
        "java/MockKube.java",
        "services",
        "e2e/kubernetes.rs",
        "e2e/submit.rs",
    ],
};

fn arguments(_: &Distribution, work: &Path) -> Vec<String> {
    let jobs = places::jobs();
    let modules = ["support.py", "containers.py"].map(|name| jobs.join(name).display().to_string());
    let mut arguments = vec!["--py-files".to_owned(), modules.join(",")];
    for path in [
        jobs.join("kubernetes.py"),
        work.join("result.json"),
        work.join("scratch"),
    ] {
        arguments.push(path.display().to_string());
    }
    arguments
}

fn start_server(work: &Path) -> (Running, String) {
    let jars = testkit::cache_dir().join("services/mock-kube");
    assert!(
        jars.is_dir(),
        "{} is missing: scripts/test installs it",
        jars.display()
    );
    let mut command = Command::new(testkit::jdk().join("bin/java"));
    command
        .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"])
        .arg("-cp")
        .arg(jars.join("*"))
        .arg(testkit::repository().join("tests/java/MockKube.java"))
        // It ends with its standard input.
        .stdin(Stdio::piped());
    let server = Running::start(&mut command, work, "api-server", false);
    let url = wait_for("the API server", 60, || {
        let said = read_lossy(&server.stdout);
        let url = said.lines().find(|line| line.starts_with("http"))?;
        Some(url.to_owned())
    });
    (server, url)
}

/// Pods have an image with this side's `JAVA_HOME`.
fn start_kubelet(
    distribution: &Distribution,
    work: &Path,
    side: Side,
    url: &str,
    pods: &Path,
) -> Running {
    let mut command = Command::new(&distribution.python);
    command
        .arg(places::jobs().join("kubelet.py"))
        .arg(url)
        .arg(pods)
        .arg(format!("JAVA_HOME={}", side.java_home().display()))
        .arg(format!("FIRESTEEL_JAVA_HOME={}", testkit::jdk().display()))
        .arg(format!("SPARK_HOME={}", work.join("home").display()))
        .arg(format!(
            "PYTHONPATH={0}/python/lib/pyspark.zip:{0}/python/lib/{1}",
            work.join("home").display(),
            py4j(distribution)
        ))
        .stdin(Stdio::piped());
    Running::start(&mut command, work, "kubelet", false)
}

/// The name of Py4J's archive.
fn py4j(distribution: &Distribution) -> String {
    let lib = distribution.home.join("python/lib");
    let names = std::fs::read_dir(lib).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .find(|name| name.starts_with("py4j-") && name.ends_with(".zip"))
        .expect("Py4J is part of a distribution")
}

/// An API server and a kubelet for one application.
fn kubernetes(distribution: &Distribution, work: &Path, side: Side) -> Cluster {
    let pods = work.join("pods");
    std::fs::create_dir_all(&pods).unwrap();
    let (server, url) = start_server(work);
    let kubelet = start_kubelet(distribution, work, side, &url, &pods);
    let mut arguments = vec!["--master".to_owned(), format!("k8s://{url}")];
    for conf in [
        "spark.executor.instances=2".to_owned(),
        "spark.executor.cores=2".to_owned(),
        "spark.executor.memory=600m".to_owned(),
        "spark.kubernetes.container.image=spark:test".to_owned(),
        "spark.kubernetes.allocation.batch.delay=500ms".to_owned(),
        "spark.authenticate=true".to_owned(),
        "spark.decommission.enabled=true".to_owned(),
        "spark.storage.decommission.enabled=true".to_owned(),
        "spark.sql.codegen.wholeStage=false".to_owned(),
    ] {
        arguments.extend(["--conf".to_owned(), conf]);
    }
    Cluster {
        arguments,
        environment: Vec::new(),
        logs: pods,
        processes: vec![server, kubelet],
    }
}

fn pods(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let outcome = compared(PODS.name, version, |distribution, side| {
        PODS.run_on(distribution, side, |work| {
            kubernetes(distribution, work, side)
        })
    });
    let Some(outcome) = outcome else {
        return;
    };
    assert_eq!(outcome.result["lost"], serde_json::json!(["2", "3"]));
    let deleted = &outcome.result["answers"]["deleted"];
    assert_eq!(deleted["same"], true, "{deleted}");
    // Neither the killed executor nor the decommissioned one: its report is looked at, too.
    let reports = lanes::reports_without(&outcome, version, &["2"]);
    lanes::check_native(&reports);
    for lane in ["python", "sql"] {
        assert!(lanes::ended(&reports, lane) > 0, "{lane}: {reports:#?}");
    }
    let logs: PathBuf = outcome.executor_logs.expect("a run of now");
    let logs = logs_below(&logs);
    let moved = "Will exit when finished decommissioning";
    assert!(logs.len() >= 4, "{} logs", logs.len());
    assert!(
        logs.iter().any(|(_, text)| text.contains(moved)),
        "no executor says '{moved}'"
    );
}

each_version!(pods_as_plain_spark, super::pods);
