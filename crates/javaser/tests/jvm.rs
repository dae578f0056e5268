//! A real JVM with the class path of a real distribution reads what the serializer writes, and the deserializer reads
//! what that JVM writes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use javaser::arena::Graph;
use javaser::types::{
    JavaBytes, JavaEnum, ScalaEnumeration, ScalaModule, ScalaOption, Throwable, Typed,
};
use javaser::{Catalog, Limits, from_slice, to_vec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use testkit::{Distribution, VERSIONS};

/// What the JVM of this distribution makes of the streams, and the streams that it writes on its own.
fn through_jvm(version: &str, streams: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let dir = testkit::temp_dir();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    let length = |n: usize| u32::try_from(n).unwrap().to_be_bytes();
    let mut bytes = length(streams.len()).to_vec();
    for stream in streams {
        bytes.extend(length(stream.len()));
        bytes.extend(stream);
    }
    std::fs::write(&input, bytes).unwrap();
    let run = Command::new(testkit::jdk().join("bin/java"))
        .args(["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"])
        .arg(Distribution::find(version).class_path())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm/RoundTrip.java"))
        .args([&input, &output])
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{version}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    let bytes = std::fs::read(&output).unwrap();
    let mut rest = bytes.as_slice();
    let count = take_length(&mut rest);
    let mut streams = Vec::new();
    for _ in 0..count {
        let length = take_length(&mut rest);
        let (stream, tail) = rest.split_at(length);
        streams.push(stream.to_vec());
        rest = tail;
    }
    streams
}

fn take_length(rest: &mut &[u8]) -> usize {
    let (length, tail) = rest.split_first_chunk().unwrap();
    *rest = tail;
    u32::from_be_bytes(*length) as usize
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "scala.Tuple4")]
struct Sample {
    _1: Vec<String>,
    _2: BTreeMap<String, i64>,
    _3: ScalaOption<JavaBytes>,
    _4: (i32, f64, bool, Option<char>),
}

fn samples(size: i64) -> Vec<Sample> {
    vec![Sample {
        _1: (0..size).map(|i| format!("{i}\0ü😀")).collect(),
        _2: (0..size).map(|i| (i.to_string(), i)).collect(),
        _3: (size > 0).then(|| JavaBytes(vec![1; size as usize])).into(),
        _4: (-1, 0.25, true, Some('x')),
    }]
}

const SIZES: [i64; 7] = [0, 1, 2, 4, 5, 32, 1000];
const SEQUENCES: [&str; 12] = [
    "[J",
    "[Ljava/lang/Long;",
    "Lscala/collection/Seq;",
    "Lscala/collection/immutable/Seq;",
    "Lscala/collection/immutable/List;",
    "Lscala/collection/mutable/Buffer;",
    "Lscala/collection/immutable/Set;",
    "Lscala/collection/mutable/Set;",
    "Ljava/util/List;",
    "Ljava/util/Set;",
    "Ljava/util/LinkedHashSet;",
    "Ljava/lang/Object;",
];
const MAPS: [&str; 6] = [
    "Lscala/collection/Map;",
    "Lscala/collection/mutable/Map;",
    "Ljava/util/Map;",
    "Ljava/util/LinkedHashMap;",
    "Ljava/util/Hashtable;",
    "Ljava/util/Properties;",
];

fn written(catalog: &Catalog) -> Vec<Vec<u8>> {
    let mut streams = Vec::new();
    for size in SIZES {
        for sample in samples(size) {
            streams.push(to_vec(&sample, catalog).unwrap());
        }
        for signature in SEQUENCES {
            streams.push(
                to_vec(
                    &Typed::new(signature, (0..size).collect::<Vec<_>>()),
                    catalog,
                )
                .unwrap(),
            );
        }
        for signature in MAPS {
            let map: BTreeMap<_, _> = (0..size).map(|i| (i.to_string(), i)).collect();
            streams.push(to_vec(&Typed::new(signature, map), catalog).unwrap());
        }
    }
    streams
}

fn numbers(stream: &[u8]) -> Vec<i64> {
    let mut numbers: Vec<i64> = from_slice(stream, &Limits::default()).unwrap();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_jvm_reads_and_writes_what_we_write_and_read() {
    for version in VERSIONS {
        let catalog = common::catalog(version);
        let mut streams = written(&catalog);
        let exception = Throwable {
            cause: Some(Box::new(Throwable::new("java.io.IOException", "inner"))),
            ..Throwable::new("org.apache.spark.SparkException", "outer")
        };
        let module = ScalaModule::new(
            "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StopExecutor$",
        );
        let unit = JavaEnum::new("java.util.concurrent.TimeUnit", "DAYS");
        let state = ScalaEnumeration::new("org.apache.spark.TaskState$", 2);
        let decimal = Typed::new("Lscala/math/BigDecimal;", -1234i64);
        for one in [
            to_vec(&exception, &catalog),
            to_vec(&module, &catalog),
            to_vec(&unit, &catalog),
            to_vec(&state, &catalog),
            to_vec(&decimal, &catalog),
        ] {
            streams.push(one.unwrap());
        }
        let back = through_jvm(version, &streams);
        for (index, stream) in back.iter().enumerate() {
            let graph = Graph::parse(stream, &Limits::default()).unwrap();
            assert!(
                graph.to_bytes() == *stream,
                "{version}: stream {index} of the JVM is written back differently"
            );
        }

        let mut back = back.iter();
        let mut next = || back.next().unwrap().as_slice();
        for size in SIZES {
            let limits = Limits::default();
            for sample in samples(size) {
                assert_eq!(
                    from_slice::<Sample>(next(), &limits).unwrap(),
                    sample,
                    "{version} {size}"
                );
            }
            for signature in SEQUENCES {
                assert_eq!(
                    numbers(next()),
                    (0..size).collect::<Vec<_>>(),
                    "{version} {signature} {size}"
                );
            }
            for signature in MAPS {
                let map: BTreeMap<String, i64> = from_slice(next(), &limits).unwrap();
                assert_eq!(
                    map,
                    (0..size).map(|i| (i.to_string(), i)).collect(),
                    "{version} {signature} {size}"
                );
            }
        }
        let limits = Limits::default();
        assert_eq!(
            from_slice::<Throwable>(next(), &limits).unwrap(),
            exception,
            "{version}"
        );
        assert_eq!(
            from_slice::<ScalaModule>(next(), &limits).unwrap(),
            module,
            "{version}"
        );
        assert_eq!(
            from_slice::<JavaEnum>(next(), &limits).unwrap(),
            unit,
            "{version}"
        );
        assert_eq!(
            from_slice::<ScalaEnumeration>(next(), &limits).unwrap(),
            state,
            "{version}"
        );
        assert_eq!(
            from_slice::<i64>(next(), &limits).unwrap(),
            -1234,
            "{version}"
        );

        // The JVM's own collections, in the order of the Java program.
        for size in [0, 1, 4, 5, 33, 1100] {
            for kind in 0..18 {
                assert_eq!(
                    numbers(next()),
                    (0..size).collect::<Vec<_>>(),
                    "{version}: sequence {kind} of {size}"
                );
            }
            for kind in 0..12 {
                let map: BTreeMap<String, i64> = from_slice(next(), &limits).unwrap();
                assert_eq!(
                    map,
                    (0..size).map(|i| (i.to_string(), i)).collect(),
                    "{version}: map {kind} of {size}"
                );
            }
        }
        assert!(back.next().is_none());
        let any: Value = from_slice(&to_vec(&samples(1)[0], &catalog).unwrap(), &limits).unwrap();
        assert_eq!(any[1], json!({"0": 0}), "{version}");
    }
}
