//! PySpark's own test modules of RDDs and of functions in SQL, as every distribution ships them, on a local cluster of
//! Firesteel's executors next to plain Spark's: case by case, and which lanes ran their tasks.
//!
//! By default a few quick modules on the newest version; `FIRESTEEL_E2E_ALL=1` runs all modules on every version, and
//! `FIRESTEEL_E2E_MODULES=test_rdd,test_join` those that it names on every version. The table of what came out is in
//! `pyspark-modules.md` beside the logs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Distribution, NEWEST, VERSIONS, each_version};

use crate::carried_plans::carried;
use crate::lanes::{Context, contexts};
use crate::places;
use crate::submit::{Application, Side};

/// A module of `pyspark.tests`, or of `pyspark.sql.tests` as `sql.MODULE`.
struct Module {
    name: &'static str,
    /// Whether it runs by default.
    quick: bool,
    application: Application,
    /// `None` if any is none: functions of SQL are given all that Spark has.
    delegations: Option<&'static [Delegation]>,
}

/// A delegation that is no defect. Every other one fails the test.
struct Delegation {
    /// The class of tests.
    class: &'static str,
    /// How the reason begins.
    reason: &'static str,
}

const fn delegated(class: &'static str, reason: &'static str) -> Delegation {
    Delegation { class, reason }
}

macro_rules! module {
    ($name:literal, quick: $quick:literal, $delegations:expr) => {
        module!(
            $name,
            $quick,
            |_, work| module_arguments(work, $name),
            Some($delegations)
        )
    };
    ($name:literal) => {
        module!(
            $name,
            false,
            |_, work| [carried(), module_arguments(work, $name)].concat(),
            None
        )
    };
    ($name:literal, $quick:literal, $arguments:expr, $delegations:expr) => {
        Module {
            name: $name,
            quick: $quick,
            application: Application {
                name: concat!("pyspark-", $name),
                program: "spark-submit",
                seconds: 3000,
                arguments: $arguments,
                stdin: None,
                lanes: None,
                sources: &["jobs/pyspark_modules.py", "jobs/clustered.py"],
            },
            delegations: $delegations,
        }
    };
}

/// What `RDDTests` does that is no task of Python code alone.
const OF_RDD_TESTS: &[Delegation] = &[
    // Rows of a DataFrame: Spark SQL.
    delegated("RDDTests", "EvaluatePython$::javaToPython"),
    // `countApprox` and its kin, and conversions that a test asks for: pickles become Java objects.
    delegated("RDDTests", "SerDeUtil$::"),
    delegated("RDDTests", "RDD::saveAsTextFile"),
    // `saveAsPickleFile` and `pickleFile`: sequence files of Java objects.
    delegated("RDDTests", "RDD::saveAsObjectFile"),
    delegated("RDDTests", "SparkContext::objectFile"),
    // `PythonUtils.generateRDDWithNull`, Java code for this test only.
    delegated("RDDTests", "a collection of String"),
];

/// Hadoop's formats are Java classes, and records become Java objects for them.
const OF_READ_WRITE: &[Delegation] = &[
    delegated("OutputFormatTests", "PythonHadoopUtil$::convertRDD"),
    delegated("OutputFormatTests", "SerDeUtil$::"),
    delegated("InputFormatTests", "PythonHadoopUtil$::convertRDD"),
    delegated("InputFormatTests", "SerDeUtil$::"),
];

/// A DataFrame is collected: Spark SQL with generated code.
const OF_BROADCAST: &[Delegation] = &[delegated(
    "BroadcastTest",
    "generated code without operators",
)];

/// A UDF in Spark SQL with generated code.
const OF_PROFILER: &[Delegation] = &[delegated(
    "ProfilerTests2",
    "generated code without operators",
)];

/// `SparkContext._checkpointFile`: what its elements are is known to Python only.
const OF_CONTEXT: &[Delegation] = &[delegated(
    "CheckpointTests",
    "a checkpoint of java.lang.Object",
)];

/// Modules, and what of them may go to a JVM. Modules without delegations must run without any JVM.
const MODULES: &[Module] = &[
    module!("test_rddbarrier", quick: true, &[]),
    module!("test_join", quick: true, &[]),
    module!("test_rddsampler", quick: true, &[]),
    module!("test_shuffle", quick: false, &[]),
    module!("test_worker", quick: false, &[]),
    module!("test_taskcontext", quick: false, &[]),
    module!("test_appsubmit", quick: false, &[]),
    module!("test_broadcast", quick: false, OF_BROADCAST),
    module!("test_conf", quick: false, &[]),
    module!("test_context", quick: false, OF_CONTEXT),
    module!("test_daemon", quick: false, &[]),
    module!("test_memory_profiler", quick: false, &[]),
    module!("test_pin_thread", quick: false, &[]),
    module!("test_profiler", quick: false, OF_PROFILER),
    module!("test_rdd", quick: false, OF_RDD_TESTS),
    module!("test_readwrite", quick: false, OF_READ_WRITE),
    module!("test_serializers", quick: false, &[]),
    module!("test_stage_sched", quick: false, &[]),
    module!("test_statcounter", quick: false, &[]),
    module!("test_util", quick: false, &[]),
    module!("sql.test_udf"),
    module!("sql.test_udf_combinations"),
    module!("sql.test_udf_profiler"),
    module!("sql.test_udtf"),
    module!("sql.arrow.test_arrow_cogrouped_map"),
    module!("sql.arrow.test_arrow_grouped_map"),
    module!("sql.arrow.test_arrow_map"),
    module!("sql.arrow.test_arrow_python_udf"),
    module!("sql.arrow.test_arrow_udf"),
    module!("sql.arrow.test_arrow_udf_grouped_agg"),
    module!("sql.arrow.test_arrow_udf_scalar"),
    module!("sql.arrow.test_arrow_udf_typehints"),
    module!("sql.arrow.test_arrow_udf_window"),
    module!("sql.arrow.test_arrow_udtf"),
    module!("sql.pandas.test_pandas_cogrouped_map"),
    module!("sql.pandas.test_pandas_grouped_map"),
    module!("sql.pandas.test_pandas_map"),
    module!("sql.pandas.test_pandas_udf"),
    module!("sql.pandas.test_pandas_udf_grouped_agg"),
    module!("sql.pandas.test_pandas_udf_scalar"),
    module!("sql.pandas.test_pandas_udf_typehints"),
    module!("sql.pandas.test_pandas_udf_window"),
];

fn module_arguments(work: &Path, module: &str) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "spark.ui.enabled=false",
        // Many short-lived executors: the second compiler and the parallel collector would not pay.
        "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    ]
    .into_iter()
    .flat_map(|entry| ["--conf".to_owned(), entry.to_owned()])
    .collect();
    for path in [
        places::jobs().join("pyspark_modules.py"),
        work.join("result.json"),
    ] {
        arguments.push(path.display().to_string());
    }
    arguments.push(module.to_owned());
    arguments
}

/// The modules that are to run on a version.
fn chosen(version: &str) -> Vec<&'static Module> {
    let named = std::env::var("FIRESTEEL_E2E_MODULES").ok();
    MODULES
        .iter()
        .filter(|module| match &named {
            Some(names) => names.split(',').any(|name| name == module.name),
            None => places::everything() || module.quick && version == NEWEST,
        })
        .collect()
}

/// Outcomes of a module's cases, counted.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    fn of(cases: &Value) -> Self {
        let mut counts = Self::default();
        for case in cases
            .as_object()
            .into_iter()
            .flat_map(|cases| cases.values())
        {
            match outcome(case) {
                "passed" => counts.passed += 1,
                "skipped" => counts.skipped += 1,
                _ => counts.failed += 1,
            }
        }
        counts
    }

    fn text(self) -> String {
        format!("{}/{}/{}", self.passed, self.failed, self.skipped)
    }
}

fn outcome(case: &Value) -> &str {
    match case["outcome"].as_str() {
        Some("error") => "failed",
        Some(other) => other,
        None => "absent",
    }
}

/// Whether what became of a case here is no worse than there.
fn as_good(here: &str, there: &str) -> bool {
    here == there || here == "passed" || there == "failed"
}

/// Cases that are worse here than on plain Spark.
fn worse(module: &str, there: &Value, here: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (name, case) in there.as_object().expect("cases") {
        let mine = &here[name];
        if !as_good(outcome(mine), outcome(case)) {
            found.push(format!(
                "{module}: {name}: {} on plain Spark, {} here:\n{}",
                outcome(case),
                outcome(mine),
                mine["detail"].as_str().unwrap_or_default()
            ));
        }
    }
    // What replaces a case, such as a class that could not be set up.
    for (name, case) in here.as_object().into_iter().flatten() {
        if there.get(name).is_none() && outcome(case) == "failed" {
            found.push(format!("{module}: {name}: {}", case["detail"]));
        }
    }
    found
}

/// What the executors of one module did, and what of it must not be.
#[derive(Default)]
struct Lanes {
    tasks: BTreeMap<&'static str, u64>,
    delegated: BTreeMap<String, u64>,
    jvms: u64,
    wrong: Vec<String>,
}

impl Lanes {
    fn of(module: &Module, contexts: &[Context]) -> Self {
        let mut lanes = Self::default();
        for context in contexts {
            let class = context.label.rsplit('.').next().unwrap_or_default();
            let of_class = |d: &&Delegation| d.class == class;
            let expected = module.delegations;
            let expected = expected.map(|all| all.iter().filter(of_class).collect::<Vec<_>>());
            for report in &context.reports {
                for lane in ["python", "sql", "jvm"] {
                    let ended = report.ended(lane);
                    if ended > 0 {
                        *lanes.tasks.entry(lane).or_default() += ended;
                    }
                }
                lanes.jvms += u64::from(report.jvm_started());
                for (reason, count) in report.left_native() {
                    let is_known = |all: &Vec<&Delegation>| {
                        all.iter().any(|known| reason.starts_with(known.reason))
                    };
                    if !expected.as_ref().is_none_or(is_known) {
                        lanes.wrong.push(format!(
                            "{}: {count} tasks were delegated: {reason}",
                            context.label
                        ));
                    }
                    *lanes.delegated.entry(reason).or_default() += count;
                }
                let may = expected.as_ref().is_none_or(|all| !all.is_empty());
                if report.jvm_started() && !may {
                    lanes
                        .wrong
                        .push(format!("{}: a JVM was started", context.label));
                }
            }
        }
        lanes
    }
}

/// What `contexts` of the result have reports of: applications that a test itself starts are not among them.
fn run(distribution: &Distribution, module: &Module) -> (Value, Vec<String>) {
    let application = &module.application;
    let plain = application.run(distribution, Side::Plain).result;
    let outcome = application.run(distribution, Side::Firesteel);
    let there = &plain["modules"][module.name]["cases"];
    let here = &outcome.result["modules"][module.name]["cases"];
    let lanes = Lanes::of(module, &contexts(&outcome));
    if there.get("(import)").is_some() && here.get("(import)").is_some() {
        // Not in this version.
        return (json!({}), Vec::new());
    }
    let mut wrong = worse(module.name, there, here);
    wrong.extend(lanes.wrong);
    let row = json!({
        "plain": Counts::of(there).text(),
        "firesteel": Counts::of(here).text(),
        "tasks": lanes.tasks,
        "delegated": lanes.delegated,
        "jvms": lanes.jvms,
    });
    (row, wrong)
}

fn modules(version: &'static str) {
    let chosen = chosen(version);
    if chosen.is_empty() {
        eprintln!("Spark {version} runs with FIRESTEEL_E2E_ALL=1 only");
        return;
    }
    let distribution = Distribution::find(version);
    testkit::firesteel();
    let path = places::logs().join(format!("pyspark-modules-{version}.json"));
    let mut table: serde_json::Map<String, Value> = std::fs::read(&path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let mut wrong = Vec::new();
    for module in chosen {
        let (row, found) = run(&distribution, module);
        println!("{} on Spark {version}: {row}", module.name);
        wrong.extend(found);
        table.insert(module.name.to_owned(), row);
        std::fs::write(&path, serde_json::to_vec_pretty(&table).unwrap()).unwrap();
    }
    let summary = places::logs().join("pyspark-modules.md");
    std::fs::write(&summary, markdown()).unwrap();
    println!("table: {}", summary.display());
    assert!(
        wrong.is_empty(),
        "Spark {version}: {} findings:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The table of all versions, as far as they have run.
fn markdown() -> String {
    let tables: Vec<Value> = VERSIONS
        .iter()
        .map(|version| {
            let path = places::logs().join(format!("pyspark-modules-{version}.json"));
            let text = std::fs::read(path).unwrap_or_default();
            serde_json::from_slice(&text).unwrap_or_default()
        })
        .collect();
    let mut text = format!(
        "| module | {} | JVM |\n| --- |{} --- |\n",
        VERSIONS.join(" | "),
        " --- |".repeat(VERSIONS.len())
    );
    for module in MODULES {
        let rows = tables.iter().map(|table| &table[module.name]);
        let cells: Vec<String> = rows
            .clone()
            .map(
                |row| match (row["firesteel"].as_str(), row["plain"].as_str()) {
                    (Some(here), Some(there)) if here == there => here.to_owned(),
                    (Some(here), Some(there)) => format!("{here} ({there})"),
                    _ => String::new(),
                },
            )
            .collect();
        let jvm = match rows.filter_map(|row| row["jvms"].as_u64()).sum::<u64>() {
            0 => "no",
            _ => "for some tasks",
        };
        writeln!(
            text,
            "| `{}` | {} | {jvm} |",
            module.name,
            cells.join(" | ")
        )
        .unwrap();
    }
    text
}

each_version!(pyspark_modules_equal_plain_spark, super::modules);
