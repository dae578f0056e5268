//! On real tasks of all versions.

use std::collections::BTreeSet;

use javaser::Catalog;
use testkit::{Distribution, NEWEST, VERSIONS, from_hex, is_since};

use super::*;
use crate::task::{StageBinary, TaskObject};

/// A task whose stage has a Python function.
fn python_task(version: &str) -> (TaskObject, StageBinary) {
    let path = testkit::fixtures().join(format!("python_tasks/{version}.jsonl.zst"));
    let text = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap());
    let line = lines.find(|line| line["name"] == "acc_bc_1").unwrap();
    let bytes = |field: &str| from_hex(line[field].as_str().unwrap());
    let limits = Limits::default();
    (
        TaskObject::decode(&bytes("task"), &limits).unwrap(),
        StageBinary::decode(&bytes("binary"), &limits).unwrap(),
    )
}

pub(crate) fn catalog(version: &str) -> Catalog {
    let class_path = Distribution::find(version).class_path();
    Catalog::from_class_path(&[class_path.into()]).unwrap()
}

#[test]
fn every_version_has_an_id_of_its_own_for_every_metric() {
    for version in VERSIONS {
        let (task, _) = python_task(version);
        let ids = MetricIds::read(task.serialized_task_metrics().unwrap()).unwrap();
        let found: Vec<i64> = ids.slots.iter().flatten().copied().collect();
        // Only the peak of memory off the heap came with Spark 4.0.
        let expected = SLOTS.len() - usize::from(!is_since(version, "4.0"));
        assert_eq!(found.len(), expected, "{version}");
        let distinct: BTreeSet<i64> = found.into_iter().chain(ids.result_size).collect();
        assert_eq!(distinct.len(), expected + 1, "{version}");
    }
}

#[test]
fn only_what_was_counted_is_sent() {
    let (task, _) = python_task(NEWEST);
    let ids = MetricIds::read(task.serialized_task_metrics().unwrap()).unwrap();
    let metrics = TaskMetrics::default();
    assert_eq!(ids.updates(&metrics, false), []);
    metrics.executor_run_time.set(12);
    metrics.shuffle_read.fetch_wait_time.set(3_999_999);
    let updates = ids.updates(&metrics, true);
    let sums: Vec<(i64, i64)> = updates.iter().map(|a| (a.count, a.sum)).collect();
    // Milliseconds of both; the driver fills in the size of the result and insists on 0.
    assert_eq!(sums, [(1, 12), (1, 3), (0, 0)]);
    assert_eq!(Some(updates[2].metadata.id), ids.result_size);
    assert!(MetricIds::read(b"nonsense").is_err());
}

#[test]
fn an_accumulator_goes_back_with_its_updates() {
    for version in VERSIONS {
        let (_, stage) = python_task(version);
        let graph = &stage.graph;
        let (node, _) = graph
            .nodes()
            .find(|(id, _)| {
                graph.is_instance(*id, "org.apache.spark.api.python.PythonAccumulatorV2")
                    && graph.object(*id).is_some()
            })
            .unwrap();
        let updates = [b"one".to_vec(), Vec::new()];
        let written = python_accumulator(graph, node, &updates, &catalog(version)).unwrap();
        let Accumulator::Raw(raw) = written else {
            panic!("no stream of its own")
        };
        let again = Graph::parse(&raw.0, &Limits::default()).unwrap();
        let root = again.root().unwrap().node().unwrap();
        let class = again.class_name(Value::Ref(root)).unwrap();
        assert!(class.ends_with(".PythonAccumulatorV2"), "{class}");
        assert_eq!(
            again.field(root, "atDriverSide"),
            Some(Value::Bool(false)),
            "{version}"
        );
        let id = |graph: &Graph, node| {
            let metadata = graph.field_node(node, "metadata").unwrap();
            graph.int(graph.field(metadata, "id").unwrap()).unwrap()
        };
        assert_eq!(id(&again, root), id(graph, node));
        let list = again.elements(again.field(root, "_list").unwrap()).unwrap();
        let list: Vec<&[u8]> = list
            .into_iter()
            .map(|value| again.byte_array(value).unwrap())
            .collect();
        assert_eq!(list, [b"one".as_slice(), b""]);
    }
}
