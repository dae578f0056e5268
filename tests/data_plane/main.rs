//! Blocks of others: our clients with our servers, with real drivers, and our streams with Spark's classes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod drivers;
mod peers;
mod streams;

use std::path::PathBuf;

const VERSIONS: [&str; 5] = ["3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"];

/// The `pyspark` directory of a distribution, and the `python` that it was installed for.
fn distribution(version: &str) -> (PathBuf, PathBuf) {
    let variable = format!("FIRESTEEL_SPARK_DIR_{}", version.replace('.', "_"));
    if let Some(dir) = std::env::var_os(&variable) {
        return (dir.into(), "python3".into());
    }
    let cache = std::env::var_os("FIRESTEEL_CACHE").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache/firesteel"),
        PathBuf::from,
    );
    let home = cache.join(format!("spark-{version}"));
    let pythons = std::fs::read_dir(home.join("lib"));
    let pythons = pythons.unwrap_or_else(|error| panic!("Spark {version} is missing: {error}"));
    let mut dirs = pythons.map(|python| python.unwrap().path().join("site-packages/pyspark"));
    let dir = dirs.find(|dir| dir.join("jars").is_dir());
    (dir.expect("an installed pyspark"), home.join("bin/python"))
}

fn java() -> PathBuf {
    let home = ["FIRESTEEL_JAVA_HOME", "JAVA_HOME"]
        .iter()
        .find_map(std::env::var_os);
    home.map_or("java".into(), |home| PathBuf::from(home).join("bin/java"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// Data as they come: runs, text, noise.
fn sample(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut data = Vec::with_capacity(len + 1000);
    while data.len() < len {
        match noise() % 3 {
            0 => data.extend(std::iter::repeat_n(noise(), 2 * usize::from(noise()))),
            1 => data.extend_from_slice(b"the quick brown fox jumps over the lazy dog "),
            _ => data.extend((0..300).map(|_| noise())),
        }
    }
    data.truncate(len);
    data
}
