//! Object streams: whatever parses is written back byte for byte.
#![no_main]

use javaser::arena::Graph;
use javaser::{Limits, peek_class};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
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
            copy.push_root(value)
                .expect("an imported value is of this graph");
            let bytes = copy.to_bytes();
            let again = Graph::parse(&bytes, &Limits::default()).expect("a copy parses");
            assert_eq!(again.to_bytes(), bytes);
        }
    }
});
