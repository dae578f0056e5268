//! Frames captured from real drivers and executors, objects written by real JVMs, and the classes of the distributions
//! they come from, for tests.

use crate::envelope::RequestEnvelope;
use crate::frame::{Frame, MAX_FRAME};
use bytes::{Bytes, BytesMut};
use javaser::Catalog;
use std::sync::OnceLock;
use testkit::{Distribution, VERSIONS, from_hex};

/// Classes of a real distribution.
pub(crate) fn catalog(version: &str) -> &'static Catalog {
    static CATALOGS: [OnceLock<Catalog>; VERSIONS.len()] =
        [const { OnceLock::new() }; VERSIONS.len()];
    let index = VERSIONS.iter().position(|known| *known == version).unwrap();
    CATALOGS[index].get_or_init(|| {
        let class_path = Distribution::find(version).class_path();
        Catalog::from_class_path(&[class_path.into()]).unwrap()
    })
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
    let path = testkit::fixtures().join(format!("wire/{version}.jsonl"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            (
                object["name"].as_str().unwrap().to_owned(),
                from_hex(object["hex"].as_str().unwrap()),
            )
        })
        .collect()
}

/// Name of the frame type and bytes of every frame captured with that Spark version.
pub(crate) fn frames(version: &str) -> Vec<(String, Vec<u8>)> {
    let text = testkit::recorded_frames(version);
    let frames: Vec<_> = text
        .lines()
        .map(|line| {
            let frame: serde_json::Value = serde_json::from_str(line).unwrap();
            (
                frame["type"].as_str().unwrap().to_owned(),
                from_hex(frame["hex"].as_str().unwrap()),
            )
        })
        .collect();
    assert!(frames.len() > 40, "{version}: only {} frames", frames.len());
    frames
}
