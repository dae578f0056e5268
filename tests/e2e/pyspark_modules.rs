//! PySpark's own test modules of RDDs, as every distribution ships them, on a local cluster of Firesteel's executors next
//! to plain Spark's: case by case. `FIRESTEEL_E2E_ALL=1` runs all modules on every version.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::each_version;
use crate::lanes::{Context, contexts};
use crate::places::{self, Distribution};
use crate::submit::{Application, Side};

const MODULES: Application = Application {
    name: "pyspark-modules",
    program: "spark-submit",
    seconds: 2400,
    arguments: module_arguments,
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/pyspark_modules.py",
        "jobs/pyspark_modules.json",
        "jobs/clustered.py",
    ],
};

fn module_arguments(distribution: &Distribution, work: &Path) -> Vec<String> {
    let text = std::fs::read(places::jobs().join("pyspark_modules.json")).unwrap();
    let lists: Value = serde_json::from_slice(&text).unwrap();
    let list = |name: &str| -> Vec<String> { serde_json::from_value(lists[name].clone()).unwrap() };
    let mut arguments: Vec<String> = [
        "spark.ui.enabled=false",
        // Many short-lived executors: the second compiler and the parallel collector would not pay.
        "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    ]
    .into_iter()
    .flat_map(|entry| ["--conf".to_owned(), entry.to_owned()])
    .collect();
    arguments.push(
        places::jobs()
            .join("pyspark_modules.py")
            .display()
            .to_string(),
    );
    arguments.push(work.join("result.json").display().to_string());
    let all = all_modules()
        || list("some_in")
            .iter()
            .any(|version| version == distribution.version);
    for part in ["everywhere", "some", "everywhere_last", "some_last"] {
        if all || part.starts_with("everywhere") {
            arguments.extend(list(part));
        }
    }
    arguments
}

fn all_modules() -> bool {
    std::env::var_os("FIRESTEEL_E2E_ALL").is_some()
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

    fn to_json(self) -> Value {
        json!({"passed": self.passed, "failed": self.failed, "skipped": self.skipped})
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

/// What the executors of one module did.
fn lanes_of(contexts: &[Context], module: &str) -> Value {
    let mut tasks: BTreeMap<String, u64> = BTreeMap::new();
    let mut delegated: BTreeMap<String, u64> = BTreeMap::new();
    let mut jvms = 0;
    for context in contexts
        .iter()
        .filter(|context| context.label.split('.').next() == Some(module))
    {
        for report in &context.reports {
            for lane in ["python", "sql", "native", "jvm"] {
                *tasks.entry(lane.to_owned()).or_default() += report.ended(lane);
            }
            for (reason, count) in report.delegated() {
                *delegated.entry(reason).or_default() += count;
            }
            jvms += u64::from(report.jvm_started());
        }
    }
    tasks.retain(|_, count| *count > 0);
    json!({"tasks": tasks, "delegated": delegated, "jvms_started": jvms})
}

fn modules(version: &'static str) {
    let distribution = Distribution::find(version);
    places::firesteel();
    let application = Application {
        // What plain Spark did with fewer modules is no answer to this.
        name: if all_modules() {
            "pyspark-modules-all"
        } else {
            MODULES.name
        },
        ..MODULES
    };
    let plain = application.run(&distribution, Side::Plain).result;
    let outcome_here = application.run(&distribution, Side::Firesteel);
    let here = &outcome_here.result;
    let contexts = contexts(&outcome_here);
    let mut table = serde_json::Map::new();
    let mut worse = Vec::new();
    println!(
        "Spark {version}: passed/failed/skipped\n{:24}{:>16}{:>16}  tasks by lane",
        "module", "plain", "Firesteel"
    );
    for (module, there) in plain["modules"].as_object().expect("modules") {
        let mine = &here["modules"][module];
        let counts = [Counts::of(&there["cases"]), Counts::of(&mine["cases"])];
        let lanes = lanes_of(&contexts, module);
        let [left, right] = counts.map(|c| format!("{}/{}/{}", c.passed, c.failed, c.skipped));
        println!("{module:24}{left:>16}{right:>16}  {}", lanes["tasks"]);
        table.insert(
            module.clone(),
            json!({"plain": counts[0].to_json(), "firesteel": counts[1].to_json(), "lanes": lanes}),
        );
        for (name, case) in there["cases"].as_object().expect("cases") {
            let found = &mine["cases"][name];
            if !as_good(outcome(found), outcome(case)) {
                worse.push(format!(
                    "{module}: {name}: {} on plain Spark, {} here:\n{}",
                    outcome(case),
                    outcome(found),
                    found["detail"].as_str().unwrap_or_default()
                ));
            }
        }
        // What replaces a case, such as a class that could not be set up.
        for (name, found) in mine["cases"].as_object().into_iter().flatten() {
            if there["cases"].get(name).is_none() && outcome(found) == "failed" {
                worse.push(format!("{module}: {name}: {}", found["detail"]));
            }
        }
    }
    let path = places::logs().join(format!("pyspark-modules-{version}.json"));
    std::fs::write(&path, serde_json::to_vec_pretty(&table).unwrap()).unwrap();
    println!("table: {}", path.display());
    assert!(
        worse.is_empty(),
        "Spark {version}: {} cases are worse than on plain Spark's executors:\n{}",
        worse.len(),
        worse.join("\n")
    );
}

each_version!(pyspark_modules_equal_plain_spark, super::modules);
