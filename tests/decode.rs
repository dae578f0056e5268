//! `firesteel decode` on frames that real drivers and executors exchanged.

// Tests may panic; `allow-*-in-tests` of clippy.toml covers only functions that carry `#[test]`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use testkit::{NEWEST, VERSIONS, from_hex, recorded_frames};

fn decode(file: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firesteel"))
        .arg("decode")
        .args(options)
        .arg(file)
        .output()
        .unwrap()
}

/// Frames of one Spark version with the type and message class that the capture noted.
fn captured(version: &str) -> Vec<(Vec<u8>, Value)> {
    let lines = recorded_frames(version);
    let parsed = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    parsed
        .map(|value| (from_hex(value["hex"].as_str().unwrap()), value))
        .collect()
}

#[test]
fn captures_of_every_version_are_shown_whole() {
    let dir = tempfile::tempdir().unwrap();
    for version in VERSIONS {
        let frames = captured(version);
        let file = dir.path().join(version);
        let mut wire = Vec::new();
        for (frame, noted) in &frames {
            wire.extend_from_slice(frame);
            if noted["type"] == "StreamResponse" {
                // The capture left out the file that follows; its size ends the frame.
                let size = u64::from_be_bytes(frame[frame.len() - 8..].try_into().unwrap());
                wire.resize(wire.len() + usize::try_from(size).unwrap(), b'x');
            }
        }
        std::fs::write(&file, wire).unwrap();
        let output = decode(&file, &["--compact"]);
        let (text, errors) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "{version}: {errors}");
        let shown: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(shown.len(), frames.len(), "{version}");
        for (value, (frame, noted)) in shown.iter().zip(&frames) {
            assert_eq!(value["frame"], noted["type"], "{version}");
            assert_eq!(value["size"], frame.len(), "{version}: {noted}");
            if let Some(class) = noted["message"]
                .as_str()
                .filter(|message| message.starts_with("org."))
            {
                assert!(
                    value.to_string().contains(class),
                    "{version}: {class} is not in {value}"
                );
            }
        }
    }
}

#[test]
fn an_object_stream_is_shown_with_its_classes_and_fields() {
    let (frame, _) = captured(NEWEST)
        .into_iter()
        .find(|(_, noted)| noted["endpoint"] == "HeartbeatReceiver")
        .unwrap();
    let start = frame
        .windows(4)
        .position(|bytes| bytes == [0xac, 0xed, 0, 5])
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("object");
    std::fs::write(&file, &frame[start..]).unwrap();
    let output = decode(&file, &[]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    for name in ["org.apache.spark.Heartbeat", "executorId", "blockManagerId"] {
        assert!(value.to_string().contains(name), "{name} is not in {value}");
    }
    std::fs::write(&file, &frame[start..frame.len() - 1]).unwrap();
    let output = decode(&file, &[]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        message.contains("not a whole Java object stream")
            && message.contains(file.to_str().unwrap()),
        "{message}"
    );
}

#[test]
fn what_is_neither_is_refused_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("odd");
    let huge = [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3];
    for (content, expected) in [
        (&b""[..], "the file is empty"),
        (&huge[..], "no frame of Spark's protocol"),
        (&b"\0\0\0\0\0\0\0\x20\x06"[..], "ends inside a frame"),
    ] {
        std::fs::write(&file, content).unwrap();
        let output = decode(&file, &[]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            message.contains(expected) && message.contains(file.to_str().unwrap()),
            "{message}"
        );
    }
    let output = decode(&dir.path().join("absent"), &[]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read"));
    assert_eq!(output.status.code(), Some(1));
}
