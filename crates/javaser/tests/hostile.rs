//! Limits, hostile and rare input.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use javaser::arena::{Content, Graph, Node, Value};
use javaser::{Error, Limits, from_slice, peek_class};
use testkit::{NEWEST, VERSIONS};

fn parse(bytes: &[u8]) -> Result<Graph, Error> {
    Graph::parse(bytes, &Limits::default())
}

/// Header and the given pieces.
fn stream(pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![0xAC, 0xED, 0, 5];
    out.extend(pieces.concat());
    out
}

fn utf(text: &str) -> Vec<u8> {
    [
        &u16::try_from(text.len()).unwrap().to_be_bytes()[..],
        text.as_bytes(),
    ]
    .concat()
}

/// A class descriptor without annotations and super class. Fields are given as in the stream.
fn desc(name: &str, flags: u8, fields: &[&[u8]]) -> Vec<u8> {
    let count = u16::try_from(fields.len()).unwrap().to_be_bytes();
    [
        &[0x72][..],
        &utf(name),
        &[0; 8],
        &[flags],
        &count,
        &fields.concat(),
        &[0x78, 0x70],
    ]
    .concat()
}

fn array(name: &str, len: i32) -> Vec<u8> {
    [&[0x75][..], &desc(name, 2, &[]), &len.to_be_bytes()].concat()
}

#[test]
fn a_small_stream_that_claims_a_2_gb_array_costs_nothing() {
    for class in ["[B", "[J", "[Ljava.lang.Object;", "[[B"] {
        let bytes = stream(&[&array(class, i32::MAX)]);
        assert!(bytes.len() < 60);
        let started = std::time::Instant::now();
        let error = parse(&bytes).unwrap_err();
        assert_eq!(error.code(), "java-limit-array", "{class}: {error}");
        let unlimited = Limits {
            max_array_len: usize::MAX,
            ..Limits::default()
        };
        let error = Graph::parse(&bytes, &unlimited).unwrap_err();
        assert_eq!(error.code(), "java-stream-truncated", "{class}: {error}");
        assert!(started.elapsed().as_millis() < 100);
    }
    let text = [&[0x7C][..], &i64::MAX.to_be_bytes()].concat();
    assert_eq!(
        parse(&stream(&[&text])).unwrap_err().code(),
        "java-limit-string"
    );
    let block = [&[0x7A][..], &i32::MAX.to_be_bytes()].concat();
    assert_eq!(
        parse(&stream(&[&block])).unwrap_err().code(),
        "java-stream-truncated"
    );
}

#[test]
fn every_limit_has_its_error() {
    let nested = stream(&[
        &array("[Ljava.lang.Object;", 1),
        &[0x75, 0x71, 0, 0x7E, 0, 0, 0, 0, 0, 1],
        &[0x70],
    ]);
    assert!(parse(&nested).is_ok());
    let code = |bytes: &[u8], limits: Limits| Graph::parse(bytes, &limits).unwrap_err().code();
    let d = Limits::default();
    assert_eq!(
        code(&nested, Limits { max_depth: 1, ..d }),
        "java-limit-depth"
    );
    assert_eq!(
        code(
            &nested,
            Limits {
                max_handles: 2,
                ..d
            }
        ),
        "java-limit-handles"
    );
    assert_eq!(
        code(
            &nested,
            Limits {
                max_array_len: 0,
                ..d
            }
        ),
        "java-limit-array"
    );
    assert_eq!(
        code(
            &nested,
            Limits {
                max_total: nested.len() - 1,
                ..d
            }
        ),
        "java-limit-total"
    );
    let text = stream(&[&[0x74, 0, 2, b'h', b'i']]);
    assert_eq!(
        code(
            &text,
            Limits {
                max_string_len: 1,
                ..d
            }
        ),
        "java-limit-string"
    );
}

/// Arrays inside arrays: 10 bytes each.
fn deep(levels: usize) -> Vec<u8> {
    let mut bytes = stream(&[&array("[Ljava.lang.Object;", 1)]);
    for _ in 1..levels {
        bytes.extend([0x75, 0x71, 0, 0x7E, 0, 0, 0, 0, 0, 1]);
    }
    bytes.push(0x70);
    bytes
}

#[test]
fn depth_costs_no_stack() {
    // Every way through a graph, on the stack of a small thread.
    let work = || {
        let bytes = deep(1_000_000);
        let error = parse(&bytes).unwrap_err();
        assert_eq!(
            error,
            Error::TooDeep {
                at: error_at(&error),
                max: Limits::default().max_depth
            }
        );
        let limits = Limits {
            max_depth: 2_000_000,
            ..Limits::default()
        };
        let graph = Graph::parse(&bytes, &limits).unwrap();
        assert!(graph.to_bytes() == bytes);
        let mut copy = Graph::default();
        let root = copy.import(&graph, graph.root().unwrap()).unwrap();
        copy.push_root(root).unwrap();
        assert!(copy.to_bytes() == bytes);
        let shallow = Graph::parse(&deep(10_000), &limits).unwrap();
        let json = serde_json::to_string(&shallow.to_json()).unwrap();
        assert!(json.contains("deeper"));
        assert!(from_slice::<serde_json::Value>(&deep(90_000), &limits).is_err());
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

fn error_at(error: &Error) -> usize {
    match error {
        Error::TooDeep { at, .. } => *at,
        other => panic!("{other}"),
    }
}

#[test]
fn references_to_references_do_not_explode() {
    // Object[2] { a, a } forty times around: 2^40 values for a reader that follows every reference.
    let mut bytes = stream(&[&array("[Ljava.lang.Object;", 0)]);
    for handle in 1..40u8 {
        let reference = [0x71, 0, 0x7E, 0, handle];
        bytes.extend(
            [
                &[0x75, 0x71, 0, 0x7E, 0, 0, 0, 0, 0, 2],
                &reference[..],
                &reference,
            ]
            .concat(),
        );
    }
    let graph = parse(&bytes).unwrap();
    let last = graph.root_values().last().unwrap();
    let error = javaser::from_value::<serde_json::Value>(&graph, last).unwrap_err();
    assert_eq!(error.code(), "java-limit-values");
    assert!(graph.to_json().to_string().len() < 20_000);

    // A string of 60 kB, five thousand times.
    let mut bytes = stream(&[
        &array("[Ljava.lang.Object;", 5001),
        &[0x74, 0xEA, 0x60],
        &[b'x'; 60_000],
    ]);
    for _ in 0..5000 {
        bytes.extend([0x71, 0, 0x7E, 0, 2]);
    }
    assert!(parse(&bytes).unwrap().to_json().to_string().len() < 100 << 20);
}

#[test]
fn descriptors_that_java_refuses_are_refused() {
    let object = |desc: Vec<u8>| stream(&[&[0x73], &desc]);
    let code = |bytes: Vec<u8>| parse(&bytes).unwrap_err().code();
    // Its own super class: the descriptor has the first handle.
    let own = [
        &[0x72][..],
        &utf("A"),
        &[0; 8],
        &[2, 0, 0, 0x78, 0x71, 0, 0x7E, 0, 0],
    ]
    .concat();
    assert_eq!(code(object(own)), "java-stream-handle");
    assert_eq!(
        code(object(desc("A", 2 | 4 | 8, &[]))),
        "java-stream-descriptor"
    );
    assert_eq!(code(object(desc("A", 4, &[]))), "java-stream-descriptor");
    assert_eq!(
        code(object(desc("A", 2 | 16, &[]))),
        "java-stream-descriptor"
    );
    assert_eq!(code(object(desc("[I", 2, &[]))), "java-stream-descriptor");
    assert_eq!(code(stream(&[&array("I", 0)])), "java-stream-descriptor");
    assert_eq!(code(stream(&[&array("[X", 0)])), "java-stream-descriptor");
    assert_eq!(
        code(stream(&[&[0x7E], &desc("A", 2, &[])])),
        "java-stream-descriptor"
    );
    let reference_first: &[&[u8]] = &[b"L\0\x01a\x74\0\x01L", b"I\0\x01b"];
    assert_eq!(
        code(object(desc("A", 2, reference_first))),
        "java-stream-descriptor"
    );
    assert_eq!(
        code(object(desc("A", 2, &[b"Q\0\x01a"]))),
        "java-stream-type-code"
    );
    assert_eq!(code(stream(&[&[0x73, 0x70]])), "java-stream-type-code");
    assert_eq!(code(stream(&[&[0x78]])), "java-stream-type-code");
    assert_eq!(
        code(stream(&[&[0x71, 0, 0x7E, 0, 0]])),
        "java-stream-handle"
    );
    assert_eq!(code(stream(&[&[0x74, 0, 1, 0xFF]])), "java-stream-string");
    assert_eq!(code(vec![1, 2, 3]), "java-stream-header");
    assert_eq!(
        code([object(desc("A", 2, &[b"Z\0\x01a"])), vec![2]].concat()),
        "java-stream-value"
    );
    assert_eq!(code(stream(&[&array("[I", -1)])), "java-stream-value");
    let mut many = desc("A", 2, &[]);
    for _ in 0..300 {
        many.pop();
        many.extend(desc("A", 2, &[]));
    }
    assert_eq!(code(object(many)), "java-stream-descriptor");
}

#[test]
fn rare_streams_are_written_back() {
    let proxy = [&[0x7D, 0, 0, 0, 2][..], &utf("a.I"), &utf("b.J"), &[0x78]].concat();
    let handler = desc("java.lang.reflect.Proxy", 2, &[b"L\0\x01h\x74\0\x01L"]);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", stream(&[])),
        ("null", stream(&[&[0x70]])),
        (
            "several roots and a reset",
            stream(&[&[
                0x74, 0, 1, b'a', 0x77, 2, 1, 2, 0x79, 0x74, 0, 1, b'b', 0x71, 0, 0x7E, 0, 0,
            ]]),
        ),
        (
            "long forms of short things",
            stream(&[&[
                0x7C, 0, 0, 0, 0, 0, 0, 0, 1, b'a', 0x7A, 0, 0, 0, 1, 9, 0x77, 0,
            ]]),
        ),
        (
            "a lone surrogate",
            stream(&[&[0x74, 0, 3, 0xED, 0xA0, 0x80]]),
        ),
        (
            "a dynamic proxy",
            stream(&[&[0x73], &proxy, &handler, &[0x70]]),
        ),
        (
            "annotated descriptor",
            stream(&[
                &[0x73, 0x72],
                &utf("A"),
                &[0; 8],
                &[2, 0, 0, 0x77, 1, 5, 0x70, 0x74, 0, 0, 0x78, 0x70],
            ]),
        ),
        (
            "a descriptor as a value",
            stream(&[&desc("A", 0, &[]), &[0x76, 0x71, 0, 0x7E, 0, 0]]),
        ),
        (
            "a cycle",
            stream(&[&array("[Ljava.lang.Object;", 1), &[0x71, 0, 0x7E, 0, 1]]),
        ),
        ("flags without data", stream(&[&[0x73], &desc("A", 0, &[])])),
        (
            "externalizable",
            stream(&[
                &[0x73],
                &desc("A", 12, &[]),
                &[0x77, 1, 1, 0x70, 0x77, 1, 2, 0x78],
            ]),
        ),
    ];
    for (what, bytes) in cases {
        let graph = parse(&bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(graph.to_bytes(), bytes, "{what}");
        assert!(!graph.to_json().is_null());
    }
}

#[test]
fn an_exception_in_the_stream_ends_what_was_open() {
    // Object[2] { "x", Object[1] { TC_EXCEPTION exception, and then the next root.
    let exception = [
        &[0x7B, 0x73][..],
        &desc(
            "java.io.IOException",
            2,
            &[b"L\0\x0ddetailMessage\x74\0\x01L"],
        ),
        b"\x74\0\x03bad",
    ]
    .concat();
    let bytes = stream(&[
        &array("[Ljava.lang.Object;", 2),
        b"\x74\0\x01x",
        &[0x75, 0x71, 0, 0x7E, 0, 0, 0, 0, 0, 1],
        &exception,
        b"\x74\0\x04next",
        // The next root has the first handle again.
        &[0x71, 0, 0x7E, 0, 0],
    ]);
    let graph = parse(&bytes).unwrap();
    assert_eq!(graph.to_bytes(), bytes);
    let roots: Vec<_> = graph.root_values().collect();
    assert_eq!(roots.len(), 3);
    assert_eq!(graph.str(roots[1]).unwrap(), "next");
    let first = graph.array(roots[0]).unwrap();
    assert_eq!(first.len(), 2);
    let inner = graph.array(first[1]).unwrap();
    assert!(
        matches!(inner[..], [Value::Aborted(id)] if graph.class_name(Value::Ref(id)) == Some("java.io.IOException"))
    );
    let expected = Error::WriteAborted {
        class: "java.io.IOException".into(),
        message: "bad".into(),
    };
    assert_eq!(graph.check_not_aborted().unwrap_err(), expected);
    let one = parse(&stream(&[&exception])).unwrap();
    assert!(matches!(one.roots[..], [Content::Value(Value::Aborted(_))]));
    assert_eq!(
        from_slice::<String>(&stream(&[&exception]), &Limits::default()).unwrap_err(),
        expected
    );
    // An exception while an exception is written.
    let nested = [
        &[0x7B, 0x75][..],
        &desc("[Ljava.lang.Object;", 2, &[]),
        &[0, 0, 0, 1],
        &exception,
    ]
    .concat();
    assert_eq!(
        parse(&stream(&[&nested])).unwrap_err().code(),
        "java-stream-type-code"
    );
}

#[test]
fn one_value_may_have_resets_around_it_and_nothing_else() {
    let read = |parts: &[&[u8]]| from_slice::<String>(&stream(parts), &Limits::default());
    // With `spark.serializer.objectStreamReset=1` Spark's own messages end with a reset.
    let (value, reset, block) = (&[0x74, 0, 1, b'a'][..], &[0x79][..], &[0x77, 1, 0][..]);
    assert_eq!(read(&[value]).unwrap(), "a");
    assert_eq!(read(&[value, reset]).unwrap(), "a");
    assert_eq!(read(&[reset, value, reset, reset]).unwrap(), "a");
    for (found, parts) in [
        (0, &[reset][..]),
        (1, &[block, reset]),
        (2, &[value, reset, value]),
        (2, &[value, block]),
    ] {
        assert_eq!(read(parts).unwrap_err(), Error::NotOneValue { found });
    }
}

#[test]
fn truncated_streams_say_so_wherever_they_are_cut() {
    for (what, bytes) in common::streams(NEWEST) {
        // Every place in short streams, a sample in long ones.
        let step = (bytes.len() / 200).max(1);
        for end in (4..bytes.len()).step_by(step) {
            match Graph::parse(&bytes[..end], &Limits::default()) {
                Ok(graph) => assert!(end == 4 && graph.roots.is_empty(), "{what} cut at {end}"),
                Err(e) => assert_eq!(
                    e.code(),
                    "java-stream-truncated",
                    "{what} cut at {end}: {e}"
                ),
            }
        }
    }
}

#[test]
fn the_root_s_class_is_seen_without_parsing() {
    for version in VERSIONS {
        for (what, bytes) in common::streams(version) {
            let graph = parse(&bytes).unwrap();
            let root = graph.root().unwrap();
            let class = graph.module(root).or_else(|| graph.class_name(root));
            assert_eq!(peek_class(&bytes), class, "{what}");
        }
    }
    assert_eq!(peek_class(&[0xAC, 0xED, 0, 5, 0x70]), None);
    assert_eq!(
        peek_class(&[0xAC, 0xED, 0, 5, 0x73, 0x72, 0xFF, 0xFF]),
        None
    );
    assert_eq!(peek_class(b"GET / HTTP/1.1"), None);
}

#[test]
fn lying_classes_are_read() {
    // Scala 2.12 ListBuffer(null) with its four declared fields, none of them written.
    let fields: &[&[u8]] = &[
        b"Z\0\x08exported",
        b"I\0\x03len",
        b"L\0\x05last0\x74\0\x01L",
        b"L\0\x05start\x74\0\x01L",
    ];
    let end = [
        &[0x73][..],
        &desc("scala.collection.immutable.ListSerializeEnd$", 2, &[]),
    ]
    .concat();
    let list = desc("scala.collection.mutable.ListBuffer", 3, fields);
    let bytes = stream(&[
        &[0x73],
        &list,
        &[0x70],
        &end,
        &[0x77, 5, 0, 0, 0, 0, 1, 0x78],
    ]);
    let graph = parse(&bytes).unwrap();
    assert_eq!(graph.to_bytes(), bytes);
    assert_eq!(
        graph.elements(graph.root().unwrap()).unwrap(),
        [Value::Null]
    );

    // RangePartitioner writes its fields only for the Java serializer.
    let fields: &[&[u8]] = &[b"Z\0\x09ascending"];
    let partitioner = desc("org.apache.spark.RangePartitioner", 3, fields);
    for data in [&[0x77, 1, 1, 0x78][..], &[1, 0x77, 1, 1, 0x78]] {
        let bytes = stream(&[&[0x73], &partitioner, data]);
        let graph = parse(&bytes).unwrap();
        assert_eq!(graph.to_bytes(), bytes);
        let Some(Value::Ref(id)) = graph.root() else {
            panic!()
        };
        assert!(matches!(graph.node(id), Some(Node::Object(_))));
        assert_eq!(graph.field(id, "ascending").is_some(), data[0] == 1);
        assert_eq!(&*graph.levels(id).next().unwrap().block_bytes(), [1]);
    }

    // A class whose first field is a reference cannot hide it.
    let bytes = stream(&[
        &[0x73],
        &desc("x.Y", 3, &[b"L\0\x01a\x74\0\x01L"]),
        &[0x77, 1, 1, 0x78],
    ]);
    assert_eq!(parse(&bytes).unwrap().to_bytes(), bytes);
}
