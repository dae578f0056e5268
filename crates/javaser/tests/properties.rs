//! Properties over random graphs, values and bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use javaser::arena::{Elements, Graph, NodeId, Value};
use javaser::types::{ScalaOption, StackTraceElement, Throwable, Typed};
use javaser::{Catalog, ClassFile, Limits, from_slice, peek_class, to_vec};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use testkit::{NEWEST, OLDEST, VERSIONS};

fn catalog(version: &'static str) -> &'static Catalog {
    static OLD: OnceLock<Catalog> = OnceLock::new();
    static NEW: OnceLock<Catalog> = OnceLock::new();
    let cell = if version == OLDEST { &OLD } else { &NEW };
    cell.get_or_init(|| common::catalog(version))
}

/// One step of building a graph; numbers choose among what is there.
#[derive(Debug, Clone)]
enum Op {
    Text(String),
    Bytes(Vec<u8>),
    Longs(Vec<i64>),
    Array(Vec<usize>),
    Pair(usize, usize),
    Boxed(i64),
    List(Vec<usize>, Vec<u8>),
    Constant,
    Set(usize, usize),
    Root(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let place = 0..64usize;
    prop_oneof![
        any::<String>().prop_map(Op::Text),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Op::Bytes),
        prop::collection::vec(any::<i64>(), 0..8).prop_map(Op::Longs),
        prop::collection::vec(place.clone(), 0..6).prop_map(Op::Array),
        (place.clone(), place.clone()).prop_map(|(a, b)| Op::Pair(a, b)),
        any::<i64>().prop_map(Op::Boxed),
        (
            prop::collection::vec(place.clone(), 0..6),
            prop::collection::vec(any::<u8>(), 0..2500)
        )
            .prop_map(|(o, b)| Op::List(o, b)),
        Just(Op::Constant),
        (place.clone(), place.clone()).prop_map(|(a, b)| Op::Set(a, b)),
        place.prop_map(Op::Root),
    ]
}

/// Any graph: shared and cyclic references, all kinds of nodes, several roots.
fn build(ops: &[Op]) -> Graph {
    let catalog = catalog(NEWEST);
    let mut graph = Graph::default();
    let mut nodes: Vec<NodeId> = Vec::new();
    let mut pairs: Vec<NodeId> = Vec::new();
    let desc =
        |graph: &mut Graph, class: &str| graph.add_desc(&catalog.lookup(class).unwrap()).unwrap();
    for op in ops {
        let pick = |at: &usize| {
            nodes
                .get(at % (nodes.len() + 1))
                .map_or(Value::Null, |id| Value::Ref(*id))
        };
        let node = match op {
            Op::Text(text) => graph.new_string(text),
            Op::Bytes(bytes) => {
                let class = desc(&mut graph, "[B");
                graph
                    .new_array(class, Elements::Primitive(b'B', bytes.as_slice().into()))
                    .unwrap()
            }
            Op::Longs(values) => {
                let class = desc(&mut graph, "[J");
                let bytes = values.iter().flat_map(|v| v.to_be_bytes()).collect();
                graph
                    .new_array(class, Elements::Primitive(b'J', bytes))
                    .unwrap()
            }
            Op::Array(places) => {
                let class = desc(&mut graph, "[Ljava.lang.Object;");
                graph
                    .new_ref_array(class, places.iter().map(pick).collect())
                    .unwrap()
            }
            Op::Pair(a, b) => {
                let class = desc(&mut graph, "scala.Tuple2");
                let pair = graph.new_object(class).unwrap();
                graph.set_field(pair, "_1", pick(a)).unwrap();
                graph.set_field(pair, "_2", pick(b)).unwrap();
                pairs.push(pair);
                pair
            }
            Op::Boxed(value) => {
                let class = desc(&mut graph, "java.lang.Long");
                let boxed = graph.new_object(class).unwrap();
                graph
                    .set_field(boxed, "value", Value::Long(*value))
                    .unwrap();
                boxed
            }
            Op::List(objects, bytes) => {
                let class = desc(&mut graph, "java.util.LinkedList");
                let list = graph.new_object(class).unwrap();
                let mut body = Graph::blocks(bytes);
                body.extend(
                    objects
                        .iter()
                        .map(|at| javaser::arena::Content::Value(pick(at))),
                );
                graph.set_body(list, None, body).unwrap();
                list
            }
            Op::Constant => {
                let class = desc(&mut graph, "java.util.concurrent.TimeUnit");
                graph.new_enum(class, "DAYS").unwrap()
            }
            Op::Set(pair, value) => {
                if let Some(pair) = pairs.get(pair % (pairs.len() + 1)) {
                    graph.set_field(*pair, "_1", pick(value)).unwrap();
                }
                continue;
            }
            Op::Root(at) => {
                graph.push_root(pick(at)).unwrap();
                continue;
            }
        };
        nodes.push(node);
    }
    graph
        .push_root(nodes.last().map_or(Value::Null, |id| Value::Ref(*id)))
        .unwrap();
    graph
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename = "scala.Tuple6")]
struct Typical {
    _1: Vec<(String, i64)>,
    _2: BTreeMap<String, Vec<bool>>,
    _3: ScalaOption<String>,
    _4: Option<f64>,
    _5: Typed<Vec<i16>>,
    _6: Throwable,
}

fn typical() -> impl Strategy<Value = Typical> {
    let frame = (any::<String>(), any::<i32>(), any::<Option<String>>()).prop_map(
        |(class, line_number, file_name)| StackTraceElement {
            declaring_class: class.clone(),
            method_name: class,
            line_number,
            file_name,
            ..StackTraceElement::default()
        },
    );
    let throwable = (
        any::<Option<String>>(),
        prop::collection::vec(frame, 0..4),
        any::<bool>(),
    )
        .prop_map(|(message, stack_trace, nested)| Throwable {
            class: "java.lang.RuntimeException".into(),
            message,
            stack_trace,
            cause: nested.then(|| Box::new(Throwable::new("java.io.IOException", "cause"))),
        });
    (
        prop::collection::vec(any::<(String, i64)>(), 0..40),
        prop::collection::btree_map(
            any::<String>(),
            prop::collection::vec(any::<bool>(), 0..4),
            0..12,
        ),
        any::<Option<String>>(),
        prop::option::of(-1e300..1e300f64),
        prop::collection::vec(any::<i16>(), 0..40),
        throwable,
    )
        .prop_map(|(_1, _2, _3, _4, _5, _6)| Typical {
            _1,
            _2,
            _3: _3.into(),
            _4,
            _5: Typed::new("[S", _5),
            _6,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn graphs_written_are_read_and_written_alike(ops in prop::collection::vec(op(), 0..60)) {
        let graph = build(&ops);
        let bytes = graph.to_bytes();
        let again = Graph::parse(&bytes, &Limits::default()).unwrap();
        prop_assert_eq!(again.to_bytes(), bytes.clone());
        prop_assert_eq!(again.to_json()["roots"].as_array().unwrap().len(), graph.roots.len());
        // A copy of everything into another graph writes the same.
        let mut copy = Graph::default();
        let only_root = again.root_values().last().unwrap();
        let value = copy.import(&again, only_root).unwrap();
        copy.push_root(value).unwrap();
        let copied = copy.to_bytes();
        prop_assert_eq!(Graph::parse(&copied, &Limits::default()).unwrap().to_bytes(), copied);
    }

    #[test]
    fn typed_values_come_back(value in typical(), old in any::<bool>()) {
        let bytes = to_vec(&value, catalog(if old { OLDEST } else { NEWEST })).unwrap();
        let again: Typical = from_slice(&bytes, &Limits::default()).unwrap();
        // The signature is not in the stream.
        let expected = Typical { _5: Typed::new("", value._5.value.clone()), ..value };
        prop_assert_eq!(again, expected);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        feed(&bytes);
        feed(&[&[0xAC, 0xED, 0, 5], &bytes[..]].concat());
    }

    #[test]
    fn damaged_streams_never_panic(which in any::<prop::sample::Index>(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        static STREAMS: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
        let streams = STREAMS.get_or_init(|| VERSIONS.iter().flat_map(|v| common::streams(v)).collect());
        let mut bytes = which.get(streams).1.clone();
        for (place, value) in damage {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        feed(&bytes);
    }

    #[test]
    fn damaged_class_files_never_panic(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        static CLASS: OnceLock<Vec<u8>> = OnceLock::new();
        let class = CLASS.get_or_init(|| catalog(NEWEST).resource("org/apache/spark/Heartbeat.class").unwrap());
        let mut bytes = class.clone();
        for (place, value) in damage {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        let _ = ClassFile::parse(&bytes);
        let _ = ClassFile::parse(&bytes[..bytes.len() / 2]);
    }
}

/// Everything that reads bytes of a peer. What parses is written back as it was.
fn feed(bytes: &[u8]) {
    let _ = peek_class(bytes);
    if let Ok(graph) = Graph::parse(bytes, &Limits::default()) {
        assert_eq!(graph.to_bytes(), bytes);
        let _ = graph.to_json();
        let _ = graph.check_not_aborted();
    }
    let _ = from_slice::<serde_json::Value>(bytes, &Limits::default());
    let _ = from_slice::<Typical>(bytes, &Limits::default());
}
