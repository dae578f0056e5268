//! Python RDD jobs: the examples of the distribution, themes of which every task belongs to the python lane, and themes
//! that need several lanes.

use std::path::Path;

use serde_json::Value;
use testkit::{Distribution, NEWEST, OLDEST, each_middle_version, each_version};

use crate::jobs::both_sides;
use crate::lanes::{Reason, Report, check_native, check_reasons, contexts, ended, reports_without};
use crate::places;
use crate::submit::{Application, Outcome};

const EXAMPLES: Application = Application {
    name: "examples",
    program: "spark-submit",
    seconds: 1200,
    arguments: |_, work| example_arguments(work, &SHIPPED),
    stdin: None,
    lanes: None,
    sources: &["jobs/examples.py", "jobs/clustered.py"],
};

/// Quick enough to run on every version.
const TWO_EXAMPLES: Application = Application {
    name: "two-examples",
    arguments: |_, work| example_arguments(work, &TWO),
    ..EXAMPLES
};

const RDD: Application = Application {
    name: "python-rdd",
    program: "spark-submit",
    seconds: 1200,
    arguments: |distribution, work| lane_arguments(distribution, work, "rdd"),
    stdin: None,
    lanes: None,
    sources: LANE_SOURCES,
};

const MIXED: Application = Application {
    name: "python-mixed",
    program: "spark-submit",
    seconds: 1200,
    arguments: |distribution, work| lane_arguments(distribution, work, "mixed"),
    stdin: None,
    lanes: None,
    sources: LANE_SOURCES,
};

const LANE_SOURCES: &[&str] = &[
    "jobs/python_lane.py",
    "jobs/support.py",
    "jobs/rdd_themes.py",
    "jobs/cluster_themes.py",
    "jobs/failure_themes.py",
    "jobs/mixed_themes.py",
];

/// The last five read their input with `spark.read.text(…).rdd`, rows of Spark SQL.
const SHIPPED: [&str; 8] = [
    "pi",
    "als",
    "transitive_closure",
    "wordcount",
    "sort",
    "pagerank",
    "kmeans",
    "logistic_regression",
];

/// One of each kind.
const TWO: [&str; 2] = ["pi", "wordcount"];

/// What mixed jobs have for the JVM: rows of data frames that come to Python or from it, Hadoop's formats, generated
/// code, and stages of Spark SQL where Kryo is the serializer.
const NOT_NATIVE: [&str; 8] = [
    "EvaluatePython$::javaToPython",
    "PythonHadoopUtil$::convertRDD",
    "RDD::saveAs",
    "RDDScanExec",
    "SerDeUtil$::",
    "SparkContext::objectFile",
    "generated code without operators",
    "spark.serializer is org.apache.spark.serializer.KryoSerializer",
];

fn confs(entries: &[&str]) -> Vec<String> {
    entries
        .iter()
        .flat_map(|entry| ["--conf".to_owned(), (*entry).to_owned()])
        .collect()
}

fn example_arguments(work: &Path, examples: &[&str]) -> Vec<String> {
    let mut arguments = confs(&[
        "spark.ui.enabled=false",
        // Else every join adds up the partitions of both sides, and the closure ends with thousands.
        "spark.default.parallelism=4",
        "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    ]);
    for path in [
        places::jobs().join("examples.py"),
        work.join("result.json"),
        work.join("scratch"),
    ] {
        arguments.push(path.display().to_string());
    }
    arguments.extend(examples.iter().map(|name| (*name).to_owned()));
    arguments
}

fn lane_arguments(distribution: &Distribution, work: &Path, kind: &str) -> Vec<String> {
    let jobs = places::jobs();
    let dependencies = places::dependencies(distribution, work);
    let dependency = |name: &str| dependencies.join(name).display().to_string();
    let mut arguments = confs(&[
        "spark.task.maxDirectResultSize=64k",
        "spark.network.maxRemoteBlockSizeFetchToMem=512k",
        "spark.executor.heartbeatInterval=2s",
    ]);
    // One application with Spark's defaults otherwise, one with what else there is.
    arguments.extend(confs(match (kind, distribution.series()) {
        ("rdd", _) => &["spark.shuffle.readHostLocalDisk=false"],
        (_, "3.5") => &[
            "spark.io.compression.codec=snappy",
            "spark.io.encryption.enabled=true",
        ],
        (_, "4.0") => &[
            "spark.io.compression.codec=zstd",
            "spark.serializer=org.apache.spark.serializer.KryoSerializer",
        ],
        (_, "4.1") => &[
            "spark.io.compression.codec=lzf",
            "spark.python.worker.reuse=false",
            "spark.python.unix.domain.socket.enabled=true",
        ],
        (_, "4.2") => &[
            "spark.shuffle.compress=false",
            "spark.rdd.compress=false",
            "spark.broadcast.compress=false",
            "spark.python.use.daemon=false",
        ],
        _ => &[
            "spark.io.compression.codec=zstd",
            "spark.io.encryption.enabled=true",
            "spark.python.unix.domain.socket.enabled=true",
        ],
    }));
    let modules = [
        "support.py",
        "rdd_themes.py",
        "cluster_themes.py",
        "failure_themes.py",
        "mixed_themes.py",
    ]
    .map(|name| jobs.join(name).display().to_string())
    .join(",");
    for (option, value) in [
        ("--files", dependency("early.txt")),
        ("--archives", dependency("early.tgz")),
        (
            "--py-files",
            format!("{modules},{}", dependency("early_module.zip")),
        ),
    ] {
        arguments.extend([option.to_owned(), value]);
    }
    for path in [
        jobs.join("python_lane.py"),
        work.join("result.json"),
        work.join("scratch"),
        work.join("local"),
    ] {
        arguments.push(path.display().to_string());
    }
    arguments.push(kind.to_owned());
    arguments
}

fn examples(version: &'static str) {
    if places::asked_for(version, &[]) {
        examples_of(&EXAMPLES, &SHIPPED, version);
    }
}

fn two_examples(version: &'static str) {
    // Pipelines run on every version.
    if !places::asked_for(version, &["4.1.4"]) {
        return;
    }
    examples_of(&TWO_EXAMPLES, &TWO, version);
}

fn examples_of(application: &Application, examples: &[&str], version: &'static str) {
    let Some(outcome) = both_sides(application, version) else {
        return;
    };
    let contexts = contexts(&outcome);
    assert_eq!(contexts.len(), examples.len(), "a context of each example");
    for name in examples {
        let context = contexts
            .iter()
            .find(|context| context.label == *name)
            .expect("a context of each example");
        context.check_counts(version);
        context.check_native();
        let python = ended(&context.reports, "python");
        assert!(python > 0, "{name}: {:#?}", context.reports);
    }
}

/// Reports of the executors that were not lost.
fn surviving(outcome: &Outcome, version: &str) -> Vec<Report> {
    let lost: Vec<&str> = outcome.result["lost"]
        .as_array()
        .expect("lost executors")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    reports_without(outcome, version, &lost)
}

fn rdd_jobs(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&RDD, version) {
        check_native(&surviving(&outcome, version));
    }
}

fn mixed_jobs(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&MIXED, version) {
        let reports = surviving(&outcome, version);
        for lane in ["python", "jvm"] {
            let tasks = ended(&reports, lane);
            assert!(tasks > 0, "lane {lane}: {reports:#?}");
        }
        check_reasons(&reports, Report::left_native, &[Reason::Start(&NOT_NATIVE)]);
    }
}

each_version!(examples_equal_plain_spark, super::examples);

each_middle_version!(two_examples_equal_plain_spark, super::two_examples);

each_version!(rdd_jobs_equal_plain_spark, super::rdd_jobs);
each_version!(mixed_jobs_equal_plain_spark, super::mixed_jobs);
