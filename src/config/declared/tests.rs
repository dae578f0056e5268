use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::{SparkProperties, apply_version_defaults, refuse_unsupported};
use super::*;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
/// The reader of the settings of queries, which come with tasks.
const CATALYST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/catalyst/src");

/// What reads settings of drivers.
const DRIVER_JAR: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/jvm-bridge/plan/src/main/java/org/firesteel/NativeFunctions.java"
));

/// Every source file below `root` that is no test, with its text. Tests at the end of a file do not belong to it.
fn sources(root: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut dirs = vec![PathBuf::from(root)];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                if name != "tests" {
                    dirs.push(path);
                }
            } else if path.extension().is_some_and(|is| is == "rs")
                && !["tests", "testing", "fuzzing"].contains(&name.as_str())
                && !name.ends_with("_tests")
            {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                found.push((path, code.to_owned()));
            }
        }
    }
    assert!(found.len() > 10, "only {} files", found.len());
    found
}

/// Literals that begin with the name of a property, or with one that is put together.
fn named_properties(code: &str) -> Vec<&str> {
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let literals = lines.flat_map(|line| {
        line.match_indices("\"spark.")
            .map(|(at, _)| &line[at + 1..])
    });
    literals
        .filter(|text| {
            let first = text.chars().nth("spark.".len());
            first.is_some_and(|ch| ch.is_ascii_lowercase() || ch == '{')
        })
        .map(|text| text.split('"').next().unwrap())
        .collect()
}

#[test]
fn readers_use_the_declarations() {
    let sample = "f(\"spark.a.b\", format!(\"spark.{x}\")); // c\n  /// \"spark.c\"\n\"a spark.d\" \"spark.\"";
    assert_eq!(named_properties(sample), ["spark.a.b", "spark.{x}"]);
    let config = Path::new(SOURCES).join("config");
    for (path, code) in sources(SOURCES) {
        if !path.starts_with(&config) {
            let named = named_properties(&code);
            assert!(
                named.is_empty(),
                "{}: {named:?} should be declared in src/config/declared",
                path.display()
            );
        }
    }
}

#[test]
fn what_is_declared_is_read() {
    let declared = Path::new(SOURCES).join("config/declared");
    let words: BTreeSet<String> = [sources(SOURCES), sources(CATALYST)]
        .into_iter()
        .flatten()
        .filter(|(path, _)| !path.starts_with(&declared))
        .flat_map(|(_, code)| {
            let words = code.split(|ch: char| !ch.is_ascii_alphanumeric() && ch != '_');
            words.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    for declaration in all() {
        let constant = declaration.about().constant;
        let of_drivers = DRIVER_JAR.contains(&format!("\"{}\"", declaration.title()));
        assert!(
            words.contains(constant) || of_drivers,
            "nobody reads {constant}"
        );
    }
}

#[test]
fn declarations_are_complete_and_different() {
    let mut titles = BTreeSet::new();
    let mut constants = BTreeSet::new();
    for declaration in all() {
        let (title, about) = (declaration.title(), declaration.about());
        assert!(title.starts_with(PREFIX), "{title}");
        assert!(
            about.meaning().ends_with('.'),
            "{title}: {}",
            about.meaning()
        );
        assert!(constants.insert(about.constant), "{title}");
        assert!(titles.insert(title.clone()), "{title} is declared twice");
    }
    for owner in Owner::ALL {
        assert!(all().any(|of| of.about().owner == owner), "{owner:?}");
    }
}

#[test]
fn defaults_are_of_the_kind() {
    for declaration in all() {
        let Some(key) = declaration.key() else {
            continue;
        };
        let default = declaration.about().default;
        let changed = KNOWN_VERSIONS.map(|version| default.changed(version));
        for text in changed.into_iter().chain([default.first()]).flatten() {
            let mut properties = SparkProperties::default();
            properties.set(key, text);
            assert_eq!(declaration.check(&properties, key), Ok(()), "{key}={text}");
        }
    }
}

#[test]
fn defaults_change_with_versions() {
    let of = |version: &str| {
        let mut properties = SparkProperties::default();
        properties.set(RDD_COMPRESS.key, "false");
        apply_version_defaults(&mut properties, version);
        let set = properties
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        set.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of("3.5.9"), "spark.rdd.compress=false");
    assert_eq!(
        of("4.0.0"),
        "spark.rdd.compress=false spark.shuffle.service.removeShuffle=true"
    );
    let later = "spark.checkpoint.compress=true spark.rdd.compress=false spark.shuffle.service.removeShuffle=true";
    assert_eq!(of("4.1.0-SNAPSHOT"), later);
    assert_eq!(of("4.3.0"), later);
    let mut properties = SparkProperties::default();
    apply_version_defaults(&mut properties, "4.3.1");
    assert_eq!(properties.raw(RDD_COMPRESS), Some("true"));
}

#[test]
fn lanes_are_all_by_default() {
    let names: Vec<_> = super::super::LaneName::ALL
        .iter()
        .map(|lane| lane.name())
        .collect();
    assert_eq!(LANES.default_value().unwrap(), names);
}

#[test]
fn what_is_said_to_be_refused_is() {
    let mut refused = 0;
    for declaration in all() {
        if let (Effect::Refused, Some(key)) = (declaration.about().effect, declaration.key()) {
            let mut properties = SparkProperties::default();
            properties.set(key, "true");
            assert!(refuse_unsupported(&properties).is_err(), "{key}");
            refused += 1;
        }
    }
    assert_eq!(refused, 1);
}

#[test]
fn properties_are_found_by_their_names() {
    let title = |key: &str| find(key).map(Declaration::title);
    assert_eq!(
        title("spark.network.timeout").as_deref(),
        Some("spark.network.timeout")
    );
    assert_eq!(
        title("spark.hadoop.fs.s3a.endpoint").as_deref(),
        Some("spark.hadoop.*")
    );
    assert_eq!(
        title("spark.executor.resource.gpu.amount").as_deref(),
        Some("spark.executor.resource.*.amount")
    );
    assert_eq!(
        title("spark.files.io.backLog").as_deref(),
        Some("spark.{rpc,files,shuffle}.io.backLog")
    );
    for unknown in ["spark.x", "spark.hadoop.", "spark.other.io.backLog", ""] {
        assert_eq!(title(unknown), None, "{unknown}");
    }
}
