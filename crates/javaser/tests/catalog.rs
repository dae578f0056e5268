//! The catalog against what five real distributions' classes say of themselves.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use std::collections::HashMap;
use std::io::Read;

use javaser::{CatalogError, ScalaVersion};
use serde_json::Value;
use testkit::{Distribution, NEWEST, OLDEST, VERSIONS};

fn golden(version: &str) -> Vec<Value> {
    let file = std::fs::File::open(format!(
        "{}/tests/fixtures/classdesc/{version}.json.gz",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn descriptors_equal_the_jdk_s() {
    for version in VERSIONS {
        let catalog = common::catalog(version);
        let mut wrong = Vec::new();
        let golden = golden(version);
        for class in &golden {
            let name = class["name"].as_str().unwrap();
            let wanted_fields: Vec<_> = class["fields"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| {
                    format!(
                        "{} {}",
                        f["name"].as_str().unwrap(),
                        f["type"].as_str().unwrap()
                    )
                })
                .collect();
            let wanted_super = &class["supers"][0];
            let wanted_super = (wanted_super["serializable"] == true)
                .then(|| wanted_super["name"].as_str().unwrap().to_owned());
            let wanted = (
                class["serialVersionUID"]
                    .as_str()
                    .unwrap()
                    .parse::<i64>()
                    .unwrap(),
                u8::try_from(class["streamFlags"].as_u64().unwrap()).unwrap(),
                wanted_fields,
                wanted_super,
            );
            match catalog.lookup(name) {
                Ok(desc) => {
                    let fields: Vec<_> = desc
                        .fields
                        .iter()
                        .map(|f| format!("{} {}", f.name, f.signature))
                        .collect();
                    let got = (
                        desc.suid,
                        desc.flags,
                        fields,
                        desc.super_desc.as_ref().map(|s| s.name.clone()),
                    );
                    if got != wanted || desc.name != name {
                        wrong.push(format!("{name}: {got:?} instead of {wanted:?}"));
                    }
                }
                Err(e) => wrong.push(format!("{name}: {e}")),
            }
        }
        assert!(
            wrong.is_empty(),
            "{version}: {} of {} classes\n{}",
            wrong.len(),
            golden.len(),
            wrong.join("\n")
        );
        assert!(
            golden.len() > 900,
            "{version}: only {} classes in the golden file",
            golden.len()
        );
    }
}

#[test]
fn versions_are_found() {
    for version in VERSIONS {
        let catalog = common::catalog(version);
        assert_eq!(catalog.spark_version().unwrap(), version);
        assert_eq!(
            catalog.scala_version(),
            if version.starts_with('3') {
                ScalaVersion::V2_12
            } else {
                ScalaVersion::V2_13
            }
        );
        let versions: HashMap<_, _> = catalog.spark_versions_found().into_iter().collect();
        assert_eq!(versions.keys().collect::<Vec<_>>(), [version]);
    }
}

#[test]
fn mixed_distributions_are_seen() {
    let jars = |v: &str| Distribution::find(v).class_path().into();
    let catalog = javaser::Catalog::from_class_path(&[jars(OLDEST), jars(NEWEST)]).unwrap();
    let mut versions: Vec<_> = catalog
        .spark_versions_found()
        .into_iter()
        .map(|(v, _)| v)
        .collect();
    versions.dedup();
    assert_eq!(versions, [OLDEST, NEWEST]);
    let jar = catalog.jar_of("org.apache.spark.Heartbeat").unwrap();
    let jar = jar.file_name().unwrap().to_str().unwrap();
    assert_eq!(jar, format!("spark-core_2.12-{OLDEST}.jar"));
}

#[test]
fn missing_and_unserializable_classes_are_named() {
    let catalog = common::catalog(NEWEST);
    let e = catalog.lookup("org.apache.spark.NoSuchThing").unwrap_err();
    assert!(
        matches!(&e, CatalogError::ClassNotFound { class, .. } if class == "org.apache.spark.NoSuchThing"),
        "{e}"
    );
    assert_eq!(e.code(), "class-not-found");
    let e = catalog.lookup("org.apache.spark.SparkEnv").unwrap_err();
    let jar = format!("spark-core_2.13-{NEWEST}.jar");
    assert!(e.to_string().contains(&jar), "{e}");
    assert_eq!(e.code(), "class-not-serializable");
    assert_eq!(
        catalog
            .lookup_any("org.apache.spark.SparkEnv")
            .unwrap()
            .flags,
        0
    );
}
