//! Typed values to streams of both Scala versions and back.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use javaser::arena::Graph;
use javaser::types::{
    Body, External, JavaBytes, JavaEnum, Raw, ScalaEnumeration, ScalaModule, ScalaOption,
    StackTraceElement, Throwable, Typed,
};
use javaser::{Catalog, Error, Limits, from_slice, peek_class, to_vec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use testkit::{NEWEST, OLDEST, VERSIONS};

fn read<T: DeserializeOwned>(bytes: &[u8]) -> T {
    from_slice(bytes, &Limits::default()).unwrap()
}

/// Writes, checks that the stream is one that parses and writes back, and reads.
fn round_trip<T: Serialize + DeserializeOwned>(value: &T, catalog: &Catalog) -> T {
    let bytes = to_vec(value, catalog).unwrap();
    let graph = Graph::parse(&bytes, &Limits::default()).unwrap();
    assert_eq!(graph.to_bytes(), bytes);
    read(&bytes)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StatusUpdate")]
struct StatusUpdate {
    #[serde(rename = "executorId")]
    executor_id: String,
    #[serde(rename = "taskId")]
    task_id: i64,
    state: ScalaEnumeration,
    data: SerializableBuffer,
    #[serde(rename = "taskCpus")]
    task_cpus: i64,
    resources: BTreeMap<String, Raw>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.util.SerializableBuffer")]
struct SerializableBuffer {
    #[serde(rename = "$body")]
    body: Body,
}

#[test]
fn a_status_update_is_the_executor_s_own_bytes_again() {
    for version in VERSIONS {
        let catalog = common::catalog(version);
        let mut compared = 0;
        for (what, bytes) in common::streams(version) {
            if peek_class(&bytes)
                != Some(
                    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StatusUpdate",
                )
            {
                continue;
            }
            let update: StatusUpdate = read(&bytes);
            assert_eq!(update.state.module, "org.apache.spark.TaskState$", "{what}");
            assert_eq!(update.task_cpus, 1, "{what}");
            let again: StatusUpdate = round_trip(&update, &catalog);
            assert_eq!(again, update, "{what}");
            compared += 1;
        }
        assert!(compared >= 3, "{version}: {compared} status updates");
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename = "scala.Tuple5")]
struct Values {
    _1: Vec<String>,
    _2: BTreeMap<String, i64>,
    _3: ScalaOption<JavaBytes>,
    _4: Option<(i32, f64)>,
    _5: BTreeSet<char>,
}

#[test]
fn collections_of_every_size_come_back() {
    for version in [OLDEST, NEWEST] {
        let catalog = common::catalog(version);
        for size in [0, 1, 2, 3, 4, 5, 40, 1000] {
            let strings: Vec<String> = (0..size).map(|i| format!("s{i}\0ü😀")).collect();
            let map: BTreeMap<String, i64> = (0..size).map(|i| (i.to_string(), i)).collect();
            let set: BTreeSet<char> = (0..size as u32).filter_map(char::from_u32).collect();
            let values = Values {
                _1: strings.clone(),
                _2: map.clone(),
                _3: Some(JavaBytes(vec![7; size as usize])).into(),
                _4: (size > 3).then_some((-1, 0.5)),
                _5: set.clone(),
            };
            assert_eq!(round_trip(&values, &catalog), values, "{version} {size}");

            for class in [
                "immutable/List",
                "immutable/Seq",
                "Seq",
                "mutable/Buffer",
                "IndexedSeq",
                "immutable/Set",
                "mutable/Set",
            ] {
                let typed = Typed::new(format!("Lscala/collection/{class};"), strings.clone());
                assert_eq!(
                    round_trip(&typed, &catalog).value,
                    strings,
                    "{version} {class} {size}"
                );
            }
            for class in ["java/util/List", "java/util/Set", "java/util/LinkedHashSet"] {
                let typed = Typed::new(format!("L{class};"), strings.clone());
                assert_eq!(
                    round_trip(&typed, &catalog).value,
                    strings,
                    "{version} {class} {size}"
                );
            }
            for class in [
                "scala/collection/immutable/Map",
                "scala/collection/mutable/Map",
                "java/util/Map",
                "java/util/Hashtable",
            ] {
                let typed = Typed::new(format!("L{class};"), map.clone());
                assert_eq!(
                    round_trip(&typed, &catalog).value,
                    map,
                    "{version} {class} {size}"
                );
            }
            for class in ["[J", "[I", "[S", "[Ljava/lang/Long;", "[Ljava/lang/Object;"] {
                let typed = Typed::new(class.to_owned(), (0..size).collect::<Vec<i64>>());
                assert_eq!(
                    round_trip(&typed, &catalog).value,
                    typed.value,
                    "{version} {class} {size}"
                );
            }
        }
    }
}

#[test]
fn modules_enums_and_exceptions_come_back() {
    for version in VERSIONS {
        let catalog = common::catalog(version);
        let module = ScalaModule::new(
            "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StopExecutor$",
        );
        let bytes = to_vec(&module, &catalog).unwrap();
        assert_eq!(peek_class(&bytes), Some(&*module.class), "{version}");
        assert_eq!(read::<ScalaModule>(&bytes), module);
        let recorded = common::streams(version)
            .into_iter()
            .find(|(_, b)| peek_class(b) == Some(&*module.class))
            .unwrap();
        assert_eq!(
            bytes, recorded.1,
            "{version}: StopExecutor of a real driver"
        );

        let unit = JavaEnum::new("java.util.concurrent.TimeUnit", "SECONDS");
        assert_eq!(round_trip(&unit, &catalog), unit);
        let value = ScalaEnumeration::new("org.apache.spark.TaskState$", 2);
        assert_eq!(round_trip(&value, &catalog), value);

        let exception = Throwable {
            cause: Some(Box::new(Throwable {
                stack_trace: Vec::new(),
                ..Throwable::new("java.lang.IllegalStateException", "inner")
            })),
            stack_trace: vec![StackTraceElement {
                declaring_class: "a.B".into(),
                method_name: "c".into(),
                file_name: Some("B.scala".into()),
                line_number: 17,
                ..StackTraceElement::default()
            }],
            ..Throwable::new("org.apache.spark.SparkException", "outer")
        };
        assert_eq!(round_trip(&exception, &catalog), exception, "{version}");
        let e = to_vec(&Throwable::new("java.lang.Integer", "no"), &catalog).unwrap_err();
        assert!(matches!(e, Error::WrongClass { .. }), "{e}");
    }
}

#[test]
fn bodies_are_cut_as_a_jvm_cuts_them() {
    let catalog = common::catalog(NEWEST);
    let id: External = External::new(
        "org.apache.spark.storage.BlockManagerId",
        Body::new().utf("driver").utf("host").i32(1).bool(false),
    );
    assert_eq!(round_trip(&id, &catalog), id);
    let buffer = SerializableBuffer {
        body: Body::new()
            .i32(5000)
            .bytes(&[9; 5000])
            .object(Raw(to_vec("end", &catalog).unwrap())),
    };
    let bytes = to_vec(&buffer, &catalog).unwrap();
    assert_eq!(
        bytes.windows(5).filter(|w| w[..3] == [0x7A, 0, 0]).count(),
        5
    );
    let again: SerializableBuffer = read(&bytes);
    let mut r = again.body.reader();
    assert_eq!(r.i32().unwrap(), 5000);
    assert_eq!(r.bytes(5000).unwrap(), [9; 5000]);
    assert_eq!(read::<String>(&r.object().unwrap().0), "end");
    assert_eq!(r.u8().unwrap_err().code(), "java-stream-truncated");
}
