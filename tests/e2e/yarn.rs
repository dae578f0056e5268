//! Applications on YARN: a resource manager, a node manager and HDFS of Hadoop's own, and containers that are processes.
//!
//! The jars come from packages (`setup_services` of `scripts/lib.sh`), and each application starts its own cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::jobs::compared;
use crate::lanes::{self, Reason};
use crate::places;
use crate::process::{Running, read_lossy, wait_for};
use crate::submit::{Application, Cluster, Outcome, logs_below};

/// Jars of the oldest Spark that its shuffle service needs in a node manager.
const OF_SHUFFLE_SERVICE: [&str; 15] = [
    "spark-network-common_",
    "spark-network-shuffle_",
    "spark-common-utils_",
    "netty-",
    "leveldbjni-all-",
    "rocksdbjni-",
    "jackson-core-2",
    "jackson-databind-2",
    "jackson-annotations-2",
    "commons-lang3-",
    "commons-crypto-",
    "commons-io-",
    "metrics-core-",
    "scala-library-",
    "guava-",
];

const SOURCES: &[&str] = &[
    "jobs/yarn.py",
    "jobs/containers.py",
    "jobs/support.py",
    "java/MiniYarn.java",
    "services",
    "e2e/yarn.rs",
    "e2e/submit.rs",
];

/// Tasks without a JVM, resources, links, and containers that are killed; with the secret that YARN hands out.
const CLIENT: Application = Application {
    name: "yarn-client",
    program: "spark-submit",
    seconds: 300,
    arguments: |distribution, work| {
        let conf = [
            "spark.authenticate=true",
            "spark.network.crypto.enabled=true",
            "spark.executor.instances=2",
        ];
        arguments(distribution, work, "native", &conf)
    },
    stdin: None,
    lanes: None,
    sources: SOURCES,
};

/// The driver in a container, Spark's jars as an archive from HDFS, and executors that end when they are idle: the node
/// manager serves their files, to those who have the application's secret.
const CLUSTER: Application = Application {
    name: "yarn-cluster",
    arguments: |distribution, work| {
        let conf = [
            "spark.authenticate=true",
            "spark.shuffle.service.enabled=true",
            "spark.dynamicAllocation.enabled=true",
            "spark.dynamicAllocation.initialExecutors=0",
            "spark.dynamicAllocation.maxExecutors=2",
            "spark.dynamicAllocation.executorIdleTimeout=3s",
        ];
        arguments(distribution, work, "shared", &conf)
    },
    ..CLIENT
};

fn arguments(distribution: &Distribution, work: &Path, kind: &str, conf: &[&str]) -> Vec<String> {
    let inputs = places::dependencies(distribution, work);
    let jobs = places::jobs();
    let input = |name: &str| inputs.join(name).display().to_string();
    let modules = ["support.py", "containers.py"].map(|name| jobs.join(name).display().to_string());
    let mut arguments: Vec<String> = conf
        .iter()
        .flat_map(|entry| ["--conf".to_owned(), (*entry).to_owned()])
        .collect();
    for (option, value) in [
        ("--files", input("early.txt")),
        ("--archives", input("early.tgz") + "#tree"),
        (
            "--py-files",
            format!("{},{}", modules.join(","), input("early_module.zip")),
        ),
    ] {
        arguments.extend([option.to_owned(), value]);
    }
    for path in [
        jobs.join("yarn.py"),
        work.join("result.json"),
        work.join("scratch"),
    ] {
        arguments.push(path.display().to_string());
    }
    arguments.push(kind.to_owned());
    arguments
}

/// Starts HDFS and YARN in `work`, with these settings of theirs.
fn start_yarn(work: &Path, settings: &[String]) -> Running {
    let services = testkit::cache_dir().join("services");
    let jars = |name: &str| {
        let jars = services.join(name);
        assert!(
            jars.is_dir(),
            "{} is missing: scripts/test installs it",
            jars.display()
        );
        format!("{}/*", jars.display())
    };
    let spark = Distribution::find(OLDEST);
    let of_service = std::fs::read_dir(spark.jars()).unwrap();
    let of_service = of_service.map(|entry| entry.unwrap().path()).filter(|jar| {
        let name = jar.file_name().unwrap().to_string_lossy();
        OF_SHUFFLE_SERVICE
            .iter()
            .any(|start| name.starts_with(start))
    });
    let class_path: Vec<String> = [jars("miniyarn"), jars("yarn-shuffle")]
        .into_iter()
        .chain(of_service.map(|jar| jar.display().to_string()))
        .collect();
    let (data, conf) = (work.join("yarn"), work.join("hadoop"));
    for dir in [&data, &conf] {
        std::fs::create_dir_all(dir).unwrap();
    }
    let jdk = testkit::jdk();
    let mut command = Command::new(jdk.join("bin/java"));
    for package in ["java.lang", "java.util", "java.nio", "sun.nio.ch"] {
        command.arg(format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
    }
    command
        .args(["-Xmx400m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"])
        .arg(format!("-Dtest.build.data={}/data", data.display()))
        .args(["-cp", &class_path.join(":")])
        .arg(testkit::repository().join("tests/java/MiniYarn.java"))
        .args([&data, &conf])
        .args(settings)
        .env("JAVA_HOME", &jdk)
        .env("HADOOP_USER_NAME", "firesteel")
        // It ends with its standard input.
        .stdin(std::process::Stdio::piped())
        .current_dir(&data);
    let process = Running::start(&mut command, work, "yarn", false);
    wait_for("YARN", 120, || {
        read_lossy(&process.stdout).contains("ready").then_some(())
    });
    process
}

/// YARN for one application of `distribution`, whose driver is in `mode`.
fn yarn(distribution: &Distribution, work: &Path, mode: &str) -> Cluster {
    let jdk = testkit::jdk();
    let jdk = jdk.display();
    let python = distribution.python.display();
    let mut settings = vec!["spark.authenticate=true".to_owned()];
    let mut conf = vec![
        "spark.yarn.maxAppAttempts=1".to_owned(),
        "spark.yarn.am.memory=400m".to_owned(),
        "spark.driver.memory=700m".to_owned(),
        "spark.executor.memory=600m".to_owned(),
        "spark.executor.cores=2".to_owned(),
        "spark.sql.codegen.wholeStage=false".to_owned(),
        "spark.executorEnv.E2E_EXPANDED={{PWD}}/x:{{JAVA_HOME}}".to_owned(),
        format!("spark.executorEnv.FIRESTEEL_JAVA_HOME={jdk}"),
    ];
    if mode == "cluster" {
        let of_driver = [
            ("PYSPARK_PYTHON", python.to_string()),
            ("SPARK_LOCAL_IP", "127.0.0.1".to_owned()),
            ("SPARK_LOCAL_HOSTNAME", "localhost".to_owned()),
            ("E2E_ROOT", work.display().to_string()),
        ];
        conf.extend(
            of_driver.map(|(name, value)| format!("spark.yarn.appMasterEnv.{name}={value}")),
        );
        let class = "org.apache.spark.network.yarn.YarnShuffleService";
        settings.extend([
            "yarn.nodemanager.aux-services=spark_shuffle".to_owned(),
            format!("yarn.nodemanager.aux-services.spark_shuffle.class={class}"),
            // Executors find it in YARN's settings.
            format!("spark.shuffle.service.port={}", testkit::free_port()),
        ]);
    } else {
        let jars = work.join("home/jars");
        conf.push(format!("spark.yarn.jars=local:{}/*", jars.display()));
    }
    let mut arguments: Vec<String> = ["--master", "yarn", "--deploy-mode", mode]
        .map(str::to_owned)
        .to_vec();
    arguments.extend(
        conf.into_iter()
            .flat_map(|entry| ["--conf".to_owned(), entry]),
    );
    Cluster {
        arguments,
        environment: vec![
            ("HADOOP_CONF_DIR", work.join("hadoop")),
            ("HADOOP_USER_NAME", PathBuf::from("firesteel")),
        ],
        logs: work.join("yarn"),
        processes: vec![start_yarn(work, &settings)],
        of_image: false,
    }
}

/// Runs both sides and compares them.
fn both(application: &Application, version: &'static str, mode: &str) -> Option<Outcome> {
    compared(application.name, version, |distribution, side| {
        application.run_on(distribution, side, |work| yarn(distribution, work, mode))
    })
}

/// The secret that the driver made is in no log and no report.
fn check_secret(outcome: &Outcome) {
    let logs = outcome.executor_logs.as_ref().expect("a run of now");
    let work = logs.parent().expect("the run's directory");
    let secret = std::fs::read_to_string(work.join("scratch/secret.txt")).unwrap();
    assert_eq!(secret.len(), 64);
    let logs = logs_below(logs);
    let of_executors = logs
        .iter()
        .filter(|(_, text)| text.contains("Successfully registered with driver"));
    assert!(of_executors.count() >= 4, "{} logs", logs.len());
    for (path, text) in logs {
        assert!(
            !text.contains(&secret),
            "the secret is in {}",
            path.display()
        );
    }
    for report in std::fs::read_dir(&outcome.reports).unwrap() {
        assert!(!read_lossy(&report.unwrap().path()).contains(&secret));
    }
}

fn client(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let Some(outcome) = both(&CLIENT, version, "client") else {
        return;
    };
    check_secret(&outcome);
    assert_eq!(outcome.result["lost"], serde_json::json!(["2", "3"]));
    let reports = lanes::reports_without(&outcome, version, &["2", "3"]);
    lanes::check_native(&reports);
    // How many of them the executors had that were killed is chance.
    for lane in ["python", "sql"] {
        assert!(lanes::ended(&reports, lane) > 0, "{lane}: {reports:#?}");
    }
}

fn cluster(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both(&CLUSTER, version, "cluster") else {
        return;
    };
    check_secret(&outcome);
    assert_eq!(outcome.result["mode"], "cluster");
    let reports = lanes::reports(&outcome, version);
    assert!(lanes::ended(&reports, "python") >= 18, "{reports:#?}");
    assert!(lanes::ended(&reports, "sql") > 0, "{reports:#?}");
    let known = ["ArrowEvalPythonExec", "a write", "SchemaMergeUtils$"];
    lanes::check_reasons(
        &reports,
        lanes::Report::left_native,
        &[Reason::Start(&known)],
    );
}

each_version!(in_client_mode_as_plain_spark, super::client);
each_version!(in_cluster_mode_as_plain_spark, super::cluster);
