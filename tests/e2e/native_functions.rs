//! Functions of shared libraries in queries, next to plain Spark, where Python calls the same libraries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::jobs::{both_sides, equal_sides};
use crate::places;
use crate::report;
use crate::submit::{Application, Outcome, Side};

const RIGHT: Application = Application {
    name: "native-functions",
    program: "spark-submit",
    seconds: 400,
    arguments: |distribution, work| arguments(distribution, work, "right"),
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/native_functions.py",
        "jobs/native_values.py",
        "jobs/support.py",
        "c/functions",
        "../examples/functions",
        "../src/native_functions/python",
    ],
};

const WRONG: Application = Application {
    name: "native-functions-wrong",
    arguments: |distribution, work| arguments(distribution, work, "wrong"),
    ..RIGHT
};

/// With functions in processes of their own.
const ISOLATED: Application = Application {
    name: "native-functions-isolated",
    arguments: |distribution, work| {
        let isolate = ["--conf", "spark.firesteel.functions.isolate=true"].map(str::to_owned);
        [isolate.to_vec(), arguments(distribution, work, "right")].concat()
    },
    ..RIGHT
};

/// Functions that crash and that never end, in processes of their own.
const CRASHES: Application = Application {
    name: "native-crashes",
    arguments: |_, work| {
        let folder = libraries();
        let module = folder.join("firesteel_bad_calls.py").display().to_string();
        let job = places::jobs().join("native_crashes.py");
        [
            "--conf",
            "spark.firesteel.functions=libbad_calls.so",
            "--conf",
            "spark.firesteel.functions.isolate=true",
            "--py-files",
            &module,
            &job.display().to_string(),
            &work.join("result.json").display().to_string(),
        ]
        .map(str::to_owned)
        .to_vec()
    },
    sources: &[
        "jobs/native_crashes.py",
        "c/functions",
        "../src/native_functions/python",
    ],
    ..RIGHT
};

/// The libraries that are fine: where their source is below the repository, and their name.
const LIBRARIES: [(&str, &str); 4] = [
    ("examples/functions/c/haversine.c", "geo"),
    ("examples/functions/c/lines.c", "lines"),
    ("examples/functions/cpp/text.cpp", "text"),
    ("tests/c/functions/everything.c", "everything"),
];

/// A directory with the libraries, their modules of Python and what the driver's jar reads of them.
pub(crate) fn libraries() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = places::fresh_dir("native-functions-libraries");
        let root = testkit::repository();
        let bad_calls = ("tests/c/functions/bad_calls.c", "bad_calls");
        for (source, name) in LIBRARIES.into_iter().chain([bad_calls]) {
            let library = folder.join(format!("lib{name}.so"));
            testkit::shared_library(&root.join(source), &root.join("include"), &library);
            for (what, file) in [
                ("python", format!("firesteel_{name}.py")),
                ("catalog", format!("{name}.json")),
            ] {
                let mut write = Command::new(testkit::firesteel().join("bin/firesteel"));
                write
                    .args(["functions", what])
                    .arg(&library)
                    .arg("--output")
                    .arg(folder.join(file));
                let output = write.output().unwrap();
                let words = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success(), "{write:?}: {words}");
            }
        }
        folder
    })
}

fn arguments(_: &Distribution, work: &Path, kind: &str) -> Vec<String> {
    let folder = libraries();
    let names: Vec<_> = LIBRARIES
        .iter()
        .map(|(_, name)| format!("lib{name}.so"))
        .collect();
    let modules: Vec<_> = LIBRARIES
        .iter()
        .map(|(_, name)| {
            let module = folder.join(format!("firesteel_{name}.py"));
            module.display().to_string()
        })
        .chain(
            ["support.py", "native_values.py"]
                .map(|name| places::jobs().join(name).display().to_string()),
        )
        .collect();
    [
        "--conf".to_owned(),
        format!("spark.firesteel.functions={}", names.join(",")),
        "--py-files".to_owned(),
        modules.join(","),
        places::jobs()
            .join("native_functions.py")
            .display()
            .to_string(),
        work.join("result.json").display().to_string(),
        work.join("scratch").display().to_string(),
        kind.to_owned(),
    ]
    .to_vec()
}

/// What the executors' reports say of native functions, and of tasks.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// Rows by function.
    pub(crate) called: BTreeMap<String, u64>,
    pub(crate) left_to_python: BTreeMap<String, u64>,
    /// Reasons for which tasks ran in a JVM.
    pub(crate) left_to_jvm: BTreeMap<String, u64>,
    pub(crate) native: u64,
    pub(crate) jvms: usize,
    /// Processes that functions had for themselves, and those that were ended.
    pub(crate) processes: u64,
    pub(crate) processes_ended: u64,
}

pub(crate) fn counted(reports: &Path) -> Counted {
    let mut all = Counted::default();
    let add = |to: &mut BTreeMap<String, u64>, of: &Value| {
        for (key, count) in of.as_object().expect("counts") {
            let count = count.as_u64().or_else(|| count["rows"].as_u64());
            *to.entry(key.clone()).or_default() += count.expect("a number");
        }
    };
    for report in report::all(reports) {
        add(&mut all.called, &report["native_functions"]["called"]);
        add(
            &mut all.left_to_python,
            &report["native_functions"]["left_to_python"],
        );
        add(&mut all.left_to_jvm, &report["delegated"]);
        add(&mut all.left_to_jvm, &report["bailed_out"]);
        all.native += report::count(&report, "/tasks/sql/finished");
        all.processes += report::count(&report, "/native_functions/processes");
        all.processes_ended += report::count(&report, "/native_functions/processes_ended");
        all.jvms += usize::from(report["jvm_started"] == true);
    }
    all
}

fn functions(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&RIGHT, version) else {
        return;
    };
    let counted = all_native(&outcome, version);
    assert_eq!(counted.processes, 0);
}

fn isolated(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&RIGHT, &ISOLATED, version) else {
        return;
    };
    let counted = all_native(&outcome, version);
    assert!(counted.processes > 0, "{counted:#?}");
    assert_eq!(counted.processes_ended, 0);
}

/// Looks whether all functions were called without Python and without a JVM.
fn all_native(outcome: &Outcome, version: &str) -> Counted {
    let counted = counted(&outcome.reports);
    for function in [
        "geo.haversine",
        "geo.haversine_miles",
        "text.word_count",
        "text.reverse_words",
        "text.tokens",
        "lines.parse_pairs",
        "everything.answer",
        "everything.twice",
        "everything.same_boolean",
        "everything.same_tinyint",
        "everything.same_smallint",
        "everything.same_int",
        "everything.same_bigint",
        "everything.same_float",
        "everything.same_double",
        "everything.same_decimal",
        "everything.same_string",
        "everything.same_binary",
        "everything.same_date",
        "everything.same_timestamp",
        "everything.same_timestamp_ntz",
        "everything.same_array",
        "everything.same_map",
        "everything.same_struct",
        "everything.pass_through",
        "everything.task_of",
    ] {
        let rows = counted.called.get(function);
        assert!(
            rows.is_some_and(|rows| *rows > 0),
            "{function}: {counted:#?}"
        );
    }
    // Aggregates are functions over Arrow's arrays, which Spark has from 4.1 on.
    let aggregates = ["everything.sum_of", "text.longest"];
    for function in aggregates.iter().filter(|_| version >= "4.1") {
        assert!(
            counted.called.contains_key(*function),
            "{function}: {counted:#?}"
        );
    }
    assert_eq!(counted.left_to_python, BTreeMap::new());
    assert_eq!(counted.left_to_jvm, BTreeMap::new());
    assert_eq!(counted.jvms, 0);
    assert!(counted.native > 50, "{counted:#?}");
    counted
}

each_version!(native_functions_equal_python, super::functions);
each_version!(isolated_functions_equal_python, super::isolated);
each_version!(isolated_functions_that_crash, super::crashes);

fn crashes(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let distribution = Distribution::find(version);
    let outcome = CRASHES.run(&distribution, Side::Firesteel);
    let said = |of: &str| outcome.result[of].to_string();
    for (of, words) in [
        (
            "crash",
            "function 'crash' of libbad_calls.so (bad_calls 1.0) crashed: its process ended by signal 11 (SIGSEGV)",
        ),
        (
            "abort_me",
            "function 'abort_me' of libbad_calls.so (bad_calls 1.0) crashed: its process ended by signal 6 (SIGABRT)",
        ),
        ("spin", "cancelled"),
    ] {
        assert!(
            said(of).contains(words),
            "{version}, {of}: {}",
            outcome.result
        );
    }
    // What ran beside it, what came after it, and who ran it.
    assert_eq!(outcome.result["beside"], outcome.result["beside, alone"]);
    assert_eq!(outcome.result["after"], serde_json::json!([1, 1, 1, 1]));
    assert_eq!(
        outcome.result["executors after"],
        outcome.result["executors"]
    );
    let counted = counted(&outcome.reports);
    assert_eq!(counted.left_to_jvm, BTreeMap::new());
    assert_eq!(counted.jvms, 0);
    // Each of four attempts, twice, and at least one of what never ends.
    assert!(counted.processes_ended >= 9, "{counted:#?}");
}

#[test]
fn calls_that_fail_have_the_words_of_python() {
    let Some(outcome) = both_sides(&WRONG, NEWEST) else {
        return;
    };
    let counted = counted(&outcome.reports);
    let bailed = counted.left_to_jvm.keys();
    let mut bailed =
        bailed.filter(|why| why.contains("function 'no_negatives' of libeverything.so"));
    let why = bailed.next().unwrap_or_else(|| panic!("{counted:#?}"));
    assert!(why.contains("is negative (SQLSTATE 22023, row "), "{why}");
    assert!(!counted.left_to_python.is_empty(), "{counted:#?}");
}
