//! Frames captured from real drivers and executors, for tests.

use std::path::Path;

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
