//! Class catalogs of distributions, and streams that were recorded.

#![allow(dead_code, unreachable_pub)]

use javaser::Catalog;
use testkit::{Distribution, from_hex, recorded_frames};

/// Catalog of a whole distribution, as `-cp jars/*` gives it.
pub fn catalog(version: &str) -> Catalog {
    let class_path = Distribution::find(version).class_path();
    Catalog::from_class_path(&[class_path.into()]).unwrap()
}

/// Java object streams inside the recorded frames of one version: what they are, and their bytes. Streams nested in
/// byte arrays and in a TaskDescription are listed too.
pub fn streams(version: &str) -> Vec<(String, Vec<u8>)> {
    let text = recorded_frames(version);
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let frame = from_hex(json["hex"].as_str().unwrap());
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
