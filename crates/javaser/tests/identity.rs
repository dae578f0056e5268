//! Decoding and encoding real streams gives the same bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use javaser::Limits;
use javaser::arena::{Elements, Graph, Node};
use testkit::VERSIONS;

/// Checks a stream and everything inside its byte arrays that is a stream again; returns how many were checked.
fn check(what: &str, bytes: &[u8]) -> usize {
    let (graph, used) =
        Graph::parse_first(bytes, &Limits::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(
        graph.to_bytes() == bytes[..used],
        "{what}: written back differently"
    );
    // A stream in a body has the body's other fields behind it, one in an array may have the zeros of a larger buffer.
    let in_body = what.ends_with("(body)");
    assert!(
        in_body || bytes[used..].iter().all(|&b| b == 0),
        "{what}: bytes behind the stream"
    );
    let mut checked = 1;
    let mut nested = |what: &str, bytes: &[u8]| {
        // A TaskDescription has its task at the end; anything else is a stream from its first byte on.
        let zstd = bytes.get(1..5) == Some(&[0x28, 0xB5, 0x2F, 0xFD]);
        if let Some(at) = common::find_header(bytes).filter(|_| !zstd) {
            checked += check(what, &bytes[at..]);
        }
    };
    for (id, node) in graph.nodes() {
        match node {
            Node::Array(array) => {
                if let Elements::Primitive(b'B', bytes) = array.elements() {
                    nested(&format!("{what} > byte[]"), bytes);
                }
            }
            Node::Object(_) => {
                for level in graph.levels(id) {
                    nested(
                        &format!("{what} > {} (body)", level.desc.name()),
                        &level.block_bytes(),
                    );
                }
            }
            _ => {}
        }
    }
    checked
}

#[test]
fn recorded_streams_are_written_back_byte_for_byte() {
    for version in VERSIONS {
        let streams = common::streams(version);
        let checked: usize = streams.iter().map(|(what, bytes)| check(what, bytes)).sum();
        assert!(streams.len() >= 38, "{version}: {} streams", streams.len());
        assert!(
            checked > streams.len() + 5,
            "{version}: only {} nested streams",
            checked - streams.len()
        );
        println!(
            "{version}: {} streams, {checked} with nested ones",
            streams.len()
        );
    }
}
