//! Functions of shared libraries that the driver's jar makes known to SQL: in the sql lane, in the JVM of executors,
//! and in JVMs without Firesteel. Answers are those of the same libraries' modules of Python on plain Spark.

use std::path::Path;

use serde_json::Value;
use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::jobs::equal_sides;
use crate::native_functions::{counted, libraries};
use crate::places;
use crate::submit::{Application, Outcome, Side};

/// Libraries of scalar functions.
const LIBRARIES: [&str; 3] = ["geo", "text", "everything"];

const SOURCES: &[&str] = &[
    "jobs/native_catalog.py",
    "jobs/native_values.py",
    "c/functions",
    "../examples/functions",
    "../src/native_functions/python",
];

const PYTHON: Application = Application {
    name: "native-catalog-python",
    program: "spark-submit",
    seconds: 400,
    arguments: |_, work| by_python(work, "right"),
    stdin: None,
    lanes: None,
    sources: SOURCES,
};

const JAR: Application = Application {
    name: "native-catalog",
    arguments: |_, work| by_jar(work, "right", true),
    ..PYTHON
};

const PYTHON_DELEGATED: Application = Application {
    name: "native-catalog-python-delegated",
    arguments: |_, work| by_python(work, "delegated"),
    ..PYTHON
};

const DELEGATED: Application = Application {
    name: "native-catalog-delegated",
    arguments: |_, work| by_jar(work, "delegated", true),
    ..PYTHON
};

/// With functions in processes of their own, also for the executor's JVM.
const ISOLATED: Application = Application {
    name: "native-catalog-isolated",
    arguments: |_, work| {
        let isolate = ["--conf", "spark.firesteel.functions.isolate=true"].map(str::to_owned);
        [isolate.to_vec(), by_jar(work, "delegated", true)].concat()
    },
    ..PYTHON
};

/// In the driver's own JVM.
const LOCAL: Application = Application {
    name: "native-catalog-local",
    arguments: |_, work| {
        let local = ["--master", "local[2]"].map(str::to_owned);
        [local.to_vec(), by_jar(work, "right", true)].concat()
    },
    ..PYTHON
};

const WRONG: Application = Application {
    name: "native-catalog-wrong",
    arguments: |_, work| by_jar(work, "wrong", true),
    ..PYTHON
};

const PYTHON_WRONG: Application = Application {
    name: "native-catalog-python-wrong",
    arguments: |_, work| by_python(work, "wrong"),
    ..PYTHON
};

const MISSING: Application = Application {
    name: "native-catalog-missing",
    arguments: |_, work| by_jar(work, "missing", false),
    ..PYTHON
};

/// The job and its arguments, with modules that it needs.
fn job(work: &Path, modules: &[String], kind: &str, by: &str) -> Vec<String> {
    let jobs = places::jobs();
    let values = jobs.join("native_values.py").display().to_string();
    let modules = [modules, &[values]].concat().join(",");
    [
        "--py-files".to_owned(),
        modules,
        jobs.join("native_catalog.py").display().to_string(),
        work.join("result.json").display().to_string(),
        work.join("scratch").display().to_string(),
        kind.to_owned(),
        by.to_owned(),
    ]
    .to_vec()
}

/// Files of the libraries.
fn files(of: impl Fn(&str) -> String) -> Vec<String> {
    let folder = libraries();
    let names = LIBRARIES.iter().map(|name| folder.join(of(name)));
    names.map(|file| file.display().to_string()).collect()
}

fn by_python(work: &Path, kind: &str) -> Vec<String> {
    job(
        work,
        &files(|name| format!("firesteel_{name}.py")),
        kind,
        "python",
    )
}

/// What a user sets; libraries may be forgotten.
fn by_jar(work: &Path, kind: &str, sends: bool) -> Vec<String> {
    let jar = testkit::firesteel().join("jars/firesteel-plan.jar");
    let mut arguments = vec!["--jars".to_owned(), jar.display().to_string()];
    for conf in [
        "spark.sql.extensions=org.firesteel.CarriedPlans,org.firesteel.NativeFunctions".to_owned(),
        format!(
            "spark.firesteel.functions.catalog={}",
            files(|name| format!("{name}.json")).join(",")
        ),
    ] {
        arguments.extend(["--conf".to_owned(), conf]);
    }
    if sends {
        let libraries = files(|name| format!("lib{name}.so")).join(",");
        arguments.extend(["--files".to_owned(), libraries]);
    }
    [arguments, job(work, &[], kind, "jar")].concat()
}

fn right(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&PYTHON, &JAR, version) else {
        return;
    };
    let counted = counted(&outcome.reports);
    for function in [
        "geo.haversine",
        "text.word_count",
        "text.reverse_words",
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
    ] {
        let rows = counted.called.get(function);
        assert!(
            rows.is_some_and(|rows| *rows > 0),
            "{function}: {counted:#?}"
        );
    }
    assert!(counted.left_to_jvm.is_empty(), "{counted:#?}");
    assert!(counted.left_to_python.is_empty(), "{counted:#?}");
    assert_eq!(counted.jvms, 0);
    assert!(counted.native > 30, "{counted:#?}");
}

fn delegated(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&PYTHON_DELEGATED, &DELEGATED, version) else {
        return;
    };
    let counted = counted(&outcome.reports);
    assert!(counted.jvms > 0, "{counted:#?}");
    let left: u64 = counted.left_to_jvm.values().sum();
    assert!(left > 15, "{counted:#?}");
}

fn isolated(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&PYTHON_DELEGATED, &ISOLATED, version) else {
        return;
    };
    let counted = counted(&outcome.reports);
    assert!(counted.jvms > 0, "{counted:#?}");
    assert!(counted.processes > 0, "{counted:#?}");
    assert_eq!(counted.processes_ended, 0, "{counted:#?}");
}

fn local(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    equal_sides(&PYTHON, &LOCAL, version);
}

/// What was said of something.
fn said(outcome: &Outcome, of: &str) -> String {
    let said = &outcome.result["said"][format!("said of {of}")];
    assert_ne!(*said, Value::Null, "{of}: {}", outcome.result["said"]);
    said.to_string()
}

fn wrong(version: &'static str) {
    if !places::asked_for(version, &[OLDEST, NEWEST]) {
        return;
    }
    let Some(outcome) = equal_sides(&PYTHON_WRONG, &WRONG, version) else {
        return;
    };
    for (of, words) in [
        (
            "a value",
            &[
                "no_negatives of libeverything.so (everything 1.0)",
                "is negative",
            ][..],
        ),
        ("a value, delegated", &["FAILED_EXECUTE_UDF", "is negative"]),
        (
            "a value of the driver",
            &["FAILED_EXECUTE_UDF", "is negative"],
        ),
        (
            "a type",
            &[
                "AnalysisException",
                "UNEXPECTED_INPUT_TYPE",
                "requires the",
                "INT",
            ],
        ),
        (
            "a type of three",
            &["UNEXPECTED_INPUT_TYPE", "INT", " or ", "BIGINT", "DOUBLE"],
        ),
        (
            "a type of the fourth",
            &["UNEXPECTED_INPUT_TYPE", "4", "DOUBLE", "STRING"],
        ),
        (
            "arguments",
            &[
                "AnalysisException",
                "WRONG_NUM_ARGS",
                "`same_int`",
                " 1 ",
                " 2",
            ],
        ),
        ("a column", &["AnalysisException", "UNRESOLVED_COLUMN"]),
        ("an aggregate", &["AnalysisException", "`sum_of`"]),
        ("overloads", &["int", "int", "bigint", "double", "double"]),
        ("a description", &["Distance in km of two points"]),
        ("counting", &["[1,2,3,4]"]),
        ("a task", &["zone=Asia/Kolkata ansi=0"]),
    ] {
        let said = said(&outcome, of);
        let mut rest = said.as_str();
        for word in words {
            let found = rest.find(word);
            let found = found.unwrap_or_else(|| panic!("{version}, {of}, {word:?}: {said}"));
            rest = rest.get(found + word.len()..).unwrap_or_default();
        }
    }
    // Named arguments are of Spark 3.5 and later.
    let named = said(&outcome, "a name");
    assert!(named.contains("AnalysisException"), "{named}");
    let counted = counted(&outcome.reports);
    let mut bailed = counted.left_to_jvm.keys();
    let why = |why: &&String| why.contains("function 'no_negatives' of libeverything.so");
    assert!(bailed.any(|key| why(&key)), "{counted:#?}");
}

fn missing(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let distribution = Distribution::find(version);
    let outcome = MISSING.run(&distribution, Side::Firesteel);
    let said = said(&outcome, "a library");
    for word in ["libeverything.so", "is not on this machine", "--files"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let counted = counted(&outcome.reports);
    let mut bailed = counted.left_to_jvm.keys();
    assert!(
        bailed.any(|why| why.contains("a library that is not there")),
        "{counted:#?}"
    );
}

each_version!(functions_of_the_jar_equal_python, super::right);
each_version!(functions_of_the_jar_in_executors_jvms, super::delegated);
each_version!(functions_of_the_jar_isolated, super::isolated);
each_version!(functions_of_the_jar_in_other_jvms, super::local);
each_version!(failures_of_functions_of_the_jar, super::wrong);
each_version!(libraries_that_were_not_sent, super::missing);
