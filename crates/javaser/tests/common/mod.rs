//! Where the tests find Spark distributions and fixtures.

#![allow(dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};

use javaser::Catalog;

/// Every Spark version that the project supports.
pub const VERSIONS: [&str; 5] = ["3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"];

/// The `pyspark` directory of a distribution: `FIRESTEEL_SPARK_DIR_<V>` (dots as underscores), or where the set-up
/// puts it.
pub fn distribution(version: &str) -> PathBuf {
    let variable = format!("FIRESTEEL_SPARK_DIR_{}", version.replace('.', "_"));
    let found = match std::env::var_os(&variable) {
        Some(dir) => Some(PathBuf::from(dir)),
        None => installed(version),
    };
    match found.filter(|d| d.join("jars").is_dir()) {
        Some(dir) => dir,
        None => panic!(
            "Spark {version} is missing: run scripts/test, which installs it, or set {variable} to its pyspark directory"
        ),
    }
}

fn installed(version: &str) -> Option<PathBuf> {
    let lib =
        Path::new(&std::env::var_os("HOME")?).join(format!(".cache/firesteel/spark-{version}/lib"));
    let python = std::fs::read_dir(lib)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .find(|p| p.join("site-packages/pyspark/jars").is_dir())?;
    Some(python.join("site-packages/pyspark"))
}

/// Catalog of a whole distribution, as `-cp jars/*` gives it.
pub fn catalog(version: &str) -> Catalog {
    Catalog::from_class_path(&[distribution(version).join("jars/*")]).unwrap()
}

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Java object streams inside the recorded frames of one version: what they are, and their bytes. Streams nested in byte
/// arrays and in a TaskDescription are listed too.
pub fn streams(version: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../tests/fixtures/vectors/{version}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let frame = unhex(json["hex"].as_str().unwrap());
        let what = ["message", "reply", "type"]
            .iter()
            .find_map(|k| json[k].as_str())
            .unwrap();
        // Fetched blocks are compressed; what looks like a stream in them is the start of an LZ4 block.
        if what != "ChunkFetchSuccess"
            && let Some(at) = find_header(&frame)
        {
            found.push((
                format!("{version} line {} {what}", number + 1),
                frame[at..].to_vec(),
            ));
        }
    }
    found
}

pub fn find_header(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|w| w == [0xAC, 0xED, 0, 5])
}

pub fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}
