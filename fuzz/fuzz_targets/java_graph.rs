//! Object streams: whatever parses is written back byte for byte.
#![no_main]

use javaser::arena::Graph;
use javaser::{Limits, peek_class};

firesteel_fuzz::target!(|data: &[u8]| {
    let _ = peek_class(data);
    let Ok(graph) = Graph::parse(data, &Limits::default()) else {
        return;
    };
    assert_eq!(graph.to_bytes(), data);
    let _ = graph.check_not_aborted();
    let _ = graph.to_json();
    for value in graph.root_values() {
        let mut copy = Graph::default();
        if let Ok(value) = copy.import(&graph, value) {
            // A stream that ends with an exception may have roots that are no objects.
            if copy.push_root(value).is_err() {
                continue;
            }
            let bytes = copy.to_bytes();
            let again = Graph::parse(&bytes, &Limits::default()).expect("a copy parses");
            assert_eq!(again.to_bytes(), bytes);
        }
    }
});
