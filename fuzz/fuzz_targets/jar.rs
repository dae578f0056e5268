//! Jars: central directory, entries, and a class inside.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use javaser::Catalog;

/// One file for the whole run.
static JAR: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("{}-spark-core_2.13-4.3.0.jar", std::process::id());
    std::env::temp_dir().join(name)
});

firesteel_fuzz::target!(|data: &[u8]| {
    fs::write(&*JAR, data).expect("a file system with space");
    let catalog = Catalog::from_class_path(&[JAR.clone()]).expect("no directory to list");
    let _ = catalog.resource("spark-version-info.properties");
    let _ = catalog.spark_version();
    let _ = catalog.spark_versions_found();
    let _ = catalog.scala_version();
    let _ = catalog.lookup("a.B");
    let _ = catalog.jar_of("a.B");
    let _ = fs::remove_file(&*JAR);
});
