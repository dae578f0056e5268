//! Frames captured from real drivers and executors, objects written by real JVMs, and the distributions
//! they come from, for tests.

use crate::envelope::RequestEnvelope;
use crate::frame::{Frame, MAX_FRAME};
use bytes::{Bytes, BytesMut};
use javaser::Catalog;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The Spark versions that fixtures and distributions exist for.
pub(crate) const VERSIONS: [&str; 5] = ["3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"];

/// Classes of a real distribution: `FIRESTEEL_SPARK_DIR_<V>` (dots as underscores), or where the
/// set-up puts it.
pub(crate) fn catalog(version: &str) -> &'static Catalog {
    static CATALOGS: [OnceLock<Catalog>; 5] = [const { OnceLock::new() }; 5];
    let index = VERSIONS.iter().position(|known| *known == version).unwrap();
    CATALOGS[index]
        .get_or_init(|| Catalog::from_class_path(&[distribution(version).join("jars/*")]).unwrap())
}

pub(crate) fn distribution(version: &str) -> PathBuf {
    let variable = format!("FIRESTEEL_SPARK_DIR_{}", version.replace('.', "_"));
    let found = match std::env::var_os(&variable) {
        Some(dir) => Some(PathBuf::from(dir)),
        None => installed(version),
    };
    match found.filter(|dir| dir.join("jars").is_dir()) {
        Some(dir) => dir,
        None => panic!(
            "Spark {version} is missing: run scripts/test, which installs it, or set {variable} to its pyspark directory"
        ),
    }
}

fn installed(version: &str) -> Option<PathBuf> {
    let lib =
        Path::new(&std::env::var_os("HOME")?).join(format!(".cache/firesteel/spark-{version}/lib"));
    let pyspark = |entry: std::fs::DirEntry| entry.path().join("site-packages/pyspark");
    std::fs::read_dir(lib)
        .ok()?
        .flatten()
        .map(pyspark)
        .find(|dir| dir.join("jars").is_dir())
}

/// A Java object stream that a JVM wrote.
pub(crate) struct Sample {
    /// Spark version, source and name, for messages of tests.
    pub(crate) name: String,
    /// The stream.
    pub(crate) content: Bytes,
}

/// Streams of that version: the contents of captured requests and replies, and `tests/fixtures/wire`.
pub(crate) fn samples(version: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (index, (kind, bytes)) in frames(version).into_iter().enumerate() {
        let frame = Frame::decode(&mut BytesMut::from(&bytes[..]), MAX_FRAME)
            .unwrap()
            .unwrap();
        let content = match frame {
            Frame::RpcRequest { body, .. } | Frame::OneWayMessage { body } => {
                RequestEnvelope::read(&body)
                    .map(|envelope| envelope.content)
                    .unwrap_or_default()
            }
            Frame::RpcResponse { body, .. } => body,
            _ => continue,
        };
        if content.starts_with(&[0xac, 0xed]) {
            samples.push(Sample {
                name: format!("{version} frame {} {kind}", index + 1),
                content,
            });
        }
    }
    for (name, bytes) in objects(version) {
        if bytes.starts_with(&[0xac, 0xed]) {
            samples.push(Sample {
                name: format!("{version} {name}"),
                content: bytes.into(),
            });
        }
    }
    assert!(
        samples.len() > 90,
        "{version}: only {} streams",
        samples.len()
    );
    samples
}

/// Name and bytes of what `tools/WireVectors.java` wrote with that version's classes.
pub(crate) fn objects(version: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../tests/fixtures/wire/{version}.jsonl"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            (
                object["name"].as_str().unwrap().to_owned(),
                hex(object["hex"].as_str().unwrap()),
            )
        })
        .collect()
}

/// Bytes of a hexadecimal text.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// Name of the frame type and bytes of every frame captured with that Spark version.
pub(crate) fn frames(version: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../tests/fixtures/vectors/{version}.jsonl"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let frames: Vec<_> = text
        .lines()
        .map(|line| {
            let frame: serde_json::Value = serde_json::from_str(line).unwrap();
            (
                frame["type"].as_str().unwrap().to_owned(),
                hex(frame["hex"].as_str().unwrap()),
            )
        })
        .collect();
    assert!(frames.len() > 40, "{version}: only {} frames", frames.len());
    frames
}
