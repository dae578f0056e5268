//! What the compiler and expressions make of functions, held against what CPython does, in every version that is here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use pyfunc::{Expression, LeftToPython, NoInterpreter, NotSimple, Operation, Value};
use serde_json::Value as Json;

/// Minor versions of CPython 3 that have a table.
const VERSIONS: std::ops::RangeInclusive<u32> = 9..=13;

/// Programs of interpreters of known versions, by version: in `PATH`, and of pyenv.
fn interpreters() -> BTreeMap<u32, PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let pyenv = home.join(".pyenv/versions").read_dir();
    places.extend(
        pyenv
            .into_iter()
            .flatten()
            .flatten()
            .map(|found| found.path().join("bin")),
    );
    let names = VERSIONS
        .map(|minor| format!("python3.{minor}"))
        .chain(["python3".to_owned()]);
    let programs = names.flat_map(|name| places.iter().map(move |place| place.join(&name)));
    let mut found = BTreeMap::new();
    for program in programs.filter(|program| program.exists()) {
        let asked = Command::new(&program)
            .args(["-c", "import json, sys; print(*sys.version_info[:2])"])
            .output();
        // A launcher may be there that starts none.
        let Ok(answer) = asked else { continue };
        let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
        let minor = answer
            .trim()
            .strip_prefix("3 ")
            .and_then(|minor| minor.parse().ok());
        if let Some(minor) = minor.filter(|minor| VERSIONS.contains(minor)) {
            found.entry(minor).or_insert(program);
        }
    }
    assert!(!found.is_empty(), "there is no CPython 3.9 to 3.13");
    found
}

/// What a script of this directory prints.
fn run(program: &Path, script: &str, arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(program)
        .arg(root.join("tests").join(script))
        .arg(root.join("python"))
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", program.display());
    String::from_utf8(output.stdout).unwrap()
}

/// Whether two values are the same to Python: types and signs of zeros count, and not a number is itself.
fn same(one: &Value<'_>, other: &Value<'_>) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => {
            one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan())
        }
        (Value::List(ones), Value::List(others)) | (Value::Tuple(ones), Value::Tuple(others)) => {
            ones.len() == others.len()
                && ones.iter().zip(others).all(|(one, other)| same(one, other))
        }
        (one, other) => one == other,
    }
}

/// Outcomes of random functions.
#[derive(Debug, Default)]
struct Tally {
    /// Computed as Python does.
    equal: usize,
    /// Left to Python, which has a value.
    left: usize,
    /// Left to Python, which raises an error, has another value or changes an argument.
    not_ours: usize,
    /// Functions that are not simple.
    not_simple: usize,
}

fn check(line: &str, tally: &mut Tally) {
    let found: Json = serde_json::from_str(line).unwrap();
    let source = found["source"].as_str().unwrap();
    if let Some(reason) = found["reason"].as_str() {
        assert!(NotSimple::of_text(reason).is_some(), "{reason}: {source}");
        tally.not_simple += 1;
        return;
    }
    let expression = Expression::decode(found["expression"].as_str().unwrap(), 2)
        .unwrap_or_else(|error| panic!("{error}: {line}"));
    for case in found["cases"].as_array().unwrap() {
        let arguments = case["arguments"].as_array().unwrap().iter();
        let arguments: Vec<_> = arguments.map(|one| Value::decode(one).unwrap()).collect();
        let computed = expression.value(&NoInterpreter, &arguments);
        match (computed, case.get("value")) {
            (Ok(computed), Some(expected)) => {
                let expected = Value::decode(expected).unwrap();
                assert!(
                    same(&computed, &expected),
                    "{computed:?}, not {expected:?}: {case} of {source}"
                );
                tally.equal += 1;
            }
            (Ok(computed), None) => panic!("{computed:?}: {case} of {source}"),
            (Err(LeftToPython), Some(_)) => tally.left += 1,
            (Err(LeftToPython), None) => tally.not_ours += 1,
        }
    }
}

/// A number for a longer run, or another one, of a test.
fn setting(name: &str, usual: u32) -> u32 {
    std::env::var(name).map_or(usual, |given| given.parse().unwrap())
}

/// `PYFUNC_FUNCTIONS` is how many in each version, `PYFUNC_SEED` makes them others.
#[test]
fn random_functions_have_the_values_that_cpython_computes() {
    for (minor, program) in interpreters() {
        let mut tally = Tally::default();
        let count = setting("PYFUNC_FUNCTIONS", 2000);
        let seed = (setting("PYFUNC_SEED", 2026) + minor).to_string();
        let arguments = [&*seed, &count.to_string()];
        for line in run(&program, "random_functions.py", &arguments).lines() {
            check(line, &mut tally);
        }
        println!("CPython 3.{minor}: {tally:?}");
        assert!(tally.equal > 4000, "CPython 3.{minor}: {tally:?}");
        assert!(tally.equal > 2 * tally.left, "CPython 3.{minor}: {tally:?}");
        assert!(tally.not_ours > 1000, "CPython 3.{minor}: {tally:?}");
    }
}

/// `PYFUNC_PAIRS` is how many pairs of values each operation gets in each version.
#[test]
fn all_operations_have_the_values_that_cpython_computes() {
    for (minor, program) in interpreters() {
        let mut tally = Tally::default();
        let pairs = setting("PYFUNC_PAIRS", 400).to_string();
        let seed = (setting("PYFUNC_SEED", 2026) + minor).to_string();
        for line in run(&program, "all_values.py", &[&seed, &pairs]).lines() {
            check(line, &mut tally);
        }
        println!("CPython 3.{minor}: {tally:?}");
        assert!(
            tally.equal > 10 * tally.left,
            "CPython 3.{minor}: {tally:?}"
        );
    }
}

/// A value as `floats.py` writes it.
fn read(text: &str) -> Value<'static> {
    let bits = text.strip_prefix('f').filter(|digits| digits.len() == 16);
    if let Some(bits) = bits.and_then(|bits| u64::from_str_radix(bits, 16).ok()) {
        return Value::Float(f64::from_bits(bits));
    }
    match text {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        text => match text.parse() {
            Ok(value) => Value::Int(value),
            Err(_) => Value::Str(text.to_owned().into()),
        },
    }
}

/// Holds lines of `floats.py` against what is computed, and counts what is equal and what is left to Python.
fn check_floats(said: &str, counted: &mut BTreeMap<String, (usize, usize)>) {
    for line in said.lines().skip(1) {
        let words: Vec<_> = line.split(' ').collect();
        let [name, count, values @ ..] = words.as_slice() else {
            panic!("{line}");
        };
        let (arguments, expected) = values.split_at(count.parse().unwrap());
        let arguments: Vec<_> = arguments.iter().map(|one| read(one)).collect();
        let (operation, ..) = Operation::named(name).unwrap();
        let inner = (0..arguments.len()).map(Expression::Argument).collect();
        let expression = Expression::Call(operation, inner);
        let (equal, left) = counted.entry((*name).to_owned()).or_default();
        match (expression.value(&NoInterpreter, &arguments), expected) {
            (Ok(Value::Str(computed)), [expected]) => {
                assert_eq!(computed, *expected, "{line}");
                *equal += 1;
            }
            (Ok(computed), [expected]) => {
                assert!(same(&computed, &read(expected)), "{computed:?}: {line}");
                *equal += 1;
            }
            (Ok(computed), _) => panic!("{computed:?}: {line}"),
            (Err(LeftToPython), _) => *left += 1,
        }
    }
}

/// `PYFUNC_FLOATS` is how many in each version, `PYFUNC_SEED` makes them others.
#[test]
fn random_floats_have_the_values_that_cpython_computes() {
    let count = setting("PYFUNC_FLOATS", 2000).to_string();
    for (minor, program) in interpreters() {
        let seed = (setting("PYFUNC_SEED", 2026) + minor).to_string();
        let said = run(&program, "floats.py", &[&seed, &count]);
        let mut counted = BTreeMap::new();
        check_floats(&said, &mut counted);
        println!("CPython 3.{minor}, equal and left to it: {counted:?}");
        for (name, (equal, _)) in counted {
            assert!(equal > 100, "CPython 3.{minor}, {name}: {equal}");
        }
    }
}

#[test]
fn operations_have_the_numbers_of_arguments_that_the_compiler_knows() {
    for (minor, program) in interpreters() {
        let said = run(&program, "floats.py", &["0", "0"]);
        let counts: BTreeMap<String, (usize, usize)> = serde_json::from_str(&said).unwrap();
        for (name, (fewest, most)) in counts {
            let found = Operation::named(&name).map(|(_, fewest, most)| (fewest, most));
            assert_eq!(found, Some((fewest, most)), "CPython 3.{minor}, {name}");
        }
    }
}

#[test]
fn functions_are_not_simple_for_the_reasons_that_are_known() {
    for (minor, program) in interpreters() {
        let said = run(&program, "reasons.py", &[]);
        let reasons: Vec<_> = said
            .lines()
            .map(|text| (NotSimple::of_text(text), text))
            .collect();
        let version = NotSimple::Version {
            major: 3,
            minor: 15,
        };
        for expected in NotSimple::FIXED.into_iter().chain([version]) {
            let found = reasons
                .iter()
                .filter(|(reason, _)| *reason == Some(expected));
            assert_eq!(found.count(), 1, "CPython 3.{minor}, {expected}: {said}");
        }
        assert_eq!(
            reasons.len(),
            NotSimple::FIXED.len() + 1,
            "CPython 3.{minor}: {said}"
        );
    }
}
