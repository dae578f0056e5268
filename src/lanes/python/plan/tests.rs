//! Real tasks of all versions.

use std::fs;
use std::sync::Arc;

use javaser::Limits;
use testkit::{NEWEST, VERSIONS, from_hex};

use super::*;
use crate::task::{DecodedTask, StageBinary, TaskKind, TaskObject};

/// The tasks of `tests/fixtures/python_tasks`, by name.
pub(crate) fn tasks(version: &str) -> Vec<(String, DecodedTask)> {
    let path = testkit::fixtures().join(format!("python_tasks/{version}.jsonl.zst"));
    let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    std::str::from_utf8(&text)
        .unwrap()
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let bytes = |field: &str| from_hex(line[field].as_str().unwrap());
            let limits = Limits::default();
            let task = TaskObject::decode(&bytes("task"), &limits).unwrap();
            let stage = StageBinary::decode(&bytes("binary"), &limits).unwrap();
            let stage = Arc::new(stage);
            let name = line["name"].as_str().unwrap().to_owned();
            (name, DecodedTask { task, stage })
        })
        .collect()
}

/// A task of that name of the newest version.
pub(in crate::lanes::python) fn task(name: &str) -> DecodedTask {
    let mut all = tasks(NEWEST).into_iter();
    all.find(|(found, _)| found == name).unwrap().1
}

fn judged(stage: &StageBinary) -> Result<StagePlan, String> {
    StagePlan::judge(stage, &|_| Err("rows of a data frame".to_owned()))
}

/// The plan in short: `count of python(values)`.
fn describe(task: &DecodedTask) -> String {
    let judge = || -> Result<String, String> {
        let plan = judged(&task.stage)?;
        let step = bind(&plan.rdd, task, task.task.partition, None)?;
        let target = match &plan.target {
            Target::Array { class, limit } => match limit {
                None => class.clone(),
                Some(limit) => format!("{class} of {limit}"),
            },
            Target::Count => "count".to_owned(),
            Target::Checkpoint(_) => "checkpoint".to_owned(),
            Target::TextFile(_) => "text file".to_owned(),
            Target::Shuffle(output) => {
                format!("shuffle by {:?} to {}", output.key, output.num_partitions)
            }
        };
        Ok(format!("{target}: {}", describe_step(&step)))
    };
    judge().unwrap_or_else(|reason| format!("no: {reason}"))
}

fn describe_step(step: &Step) -> String {
    let one = |name: &str, input: &Step| format!("{name}({})", describe_step(input));
    let two = |name: &str, a: &Step, b: &Step| {
        format!("{name}({}, {})", describe_step(a), describe_step(b))
    };
    match step {
        Step::Values(values) => format!("values {}", values.len()),
        Step::Python { split, input, .. } => one(&format!("python {split}"), input),
        Step::Pairwise(input) => one("pairs", input),
        Step::Second(input) => one("second", input),
        Step::Strings(input) => one("strings", input),
        Step::Distribute {
            partitions, input, ..
        } => one(&format!("distribute {partitions}"), input),
        Step::Shuffle { input, partition } => {
            format!("read {} of {} maps", partition, input.num_maps)
        }
        Step::Chain(inputs) => inputs
            .iter()
            .map(|input| describe_step(input))
            .collect::<Vec<_>>()
            .join(" + "),
        Step::Zip(a, b) => two("zip", a, b),
        Step::Cartesian(a, b) => two("cartesian", a, b),
        Step::Files { files, ranges } => format!(
            "{:?} of {}",
            files.format,
            ranges
                .iter()
                .map(|range| format!("{}-{}", range.start, range.length))
                .collect::<Vec<_>>()
                .join(" ")
        ),
        Step::Cached {
            split,
            level,
            text,
            input,
            ..
        } => one(
            &format!(
                "cached {split} {} {} {text}",
                level.flags, level.replication
            ),
            input,
        ),
        Step::ReliableCheckpoint { split, .. } => format!("checkpoint {split}"),
        Step::Rows(_) => "rows".to_owned(),
        Step::LocalCheckpoint { split, .. } => format!("local checkpoint {split}"),
    }
}

#[test]
fn every_version_sends_the_same_plans() {
    let expected: Vec<(&str, &str)> = EXPECTED
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .collect();
    for version in VERSIONS {
        let tasks = tasks(version);
        let found: Vec<_> = tasks
            .iter()
            .map(|(name, task)| (name.as_str(), describe(task)))
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|(name, plan)| (*name, plan.as_str()))
            .collect();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{version}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

#[test]
fn tasks_have_the_fields_that_the_executor_needs() {
    for version in VERSIONS {
        for (name, DecodedTask { task, .. }) in tasks(version) {
            let shuffles = describe_kind(&name);
            assert_eq!(
                matches!(task.kind, TaskKind::ShuffleMap),
                shuffles,
                "{name}"
            );
            assert!(task.job_id.is_some() && task.app_id.is_some());
            assert_eq!(task.is_barrier, name.starts_with("barrier"));
            assert_eq!(task.artifact_uuid, None);
            let metrics = task.serialized_task_metrics().unwrap();
            assert_eq!(
                javaser::peek_class(metrics),
                Some("org.apache.spark.executor.TaskMetrics")
            );
            assert!(task.num_partitions > 0 && task.stage_attempt_id == 0);
            let broadcast = javaser::arena::Value::Ref(task.task_binary);
            assert_eq!(
                task.graph.class_name(broadcast),
                Some("org.apache.spark.broadcast.TorrentBroadcast")
            );
        }
    }
}

fn describe_kind(name: &str) -> bool {
    EXPECTED.lines().any(|line| {
        line.trim()
            .strip_prefix(name)
            .is_some_and(|plan| plan.starts_with(": shuffle"))
    }) || name == "jvm_distinct_1"
}

#[test]
fn a_stage_is_judged_once() {
    let task = task("range_1");
    let mut count = 0;
    for _ in 0..3 {
        let plan = task.stage.judged(|stage| {
            count += 1;
            judged(stage)
        });
        assert!(plan.is_ok());
    }
    assert_eq!(count, 1);
}

#[test]
fn the_accumulator_of_the_functions_is_found() {
    for version in VERSIONS {
        for (name, task) in tasks(version) {
            let Ok(plan) = judged(&task.stage) else {
                continue;
            };
            if let Some(node) = plan.rdd.accumulator {
                assert!(
                    task.stage
                        .graph
                        .is_instance(node, "org.apache.spark.api.python.PythonAccumulatorV2"),
                    "{name}"
                );
            } else {
                assert_ne!(name, "acc_bc_1");
            }
        }
    }
}

/// What the tasks are, by name.
const EXPECTED: &str = "
    parallelize_1: [[B: values 1
    range_1: [[B: python 0(values 0)
    take_1: [[B: python 0(values 1)
    local_iter_1: [Ljava.lang.Object;: python 0(values 1)
    local_iter_2: [Ljava.lang.Object;: python 1(values 1)
    reduce_by_key_1: shuffle by Long to 2: pairs(python 0(values 1))
    reduce_by_key_2: [[B: python 0(second(read 0 of 2 maps))
    join_1: shuffle by Long to 2: pairs(python 0(python 0(values 1)))
    join_2: [[B: python 0(second(read 0 of 4 maps))
    partition_by_1: shuffle by Long to 2: pairs(python 0(values 1))
    partition_by_2: [[B: second(read 0 of 2 maps)
    repartition_1: shuffle by Int to 3: distribute 3(python 0(values 1))
    repartition_2: [[B: second(read 0 of 2 maps)
    coalesce_mapped_1: [[B: python 0(python 0(values 1) + python 1(values 2))
    union_mapped_1: [[B: python 0(python 0(values 1))
    union_partitioned_1: shuffle by Long to 2: pairs(python 0(values 1))
    union_partitioned_2: shuffle by Long to 2: pairs(python 0(values 1))
    union_partitioned_3: [[B: python 0(second(read 0 of 2 maps)) + python 0(second(read 0 of 2 maps))
    cartesian_1: [Lscala.Tuple2;: cartesian(values 1, values 1)
    cartesian_map_1: [[B: python 0(cartesian(values 1, values 1))
    zip_map_1: [[B: python 0(zip(python 0(values 1), python 0(values 1)))
    text_1: [Ljava.lang.String;: Lines of 0-8
    text_map_1: [[B: python 0(Lines of 0-8)
    text_gz_1: [Ljava.lang.String;: Lines of 0-38
    whole_map_1: [[B: python 0(WholeText of 0-8 0-5)
    binary_1: no: a result of PortableDataStream
    binary_map_1: [[B: python 0(Binary of 0-8 0-5 0-12)
    records_1: [[B: Records(4) of 0-8
    cached_1: [[B: python 0(cached 0 4 1 false(python 0(values 1)))
    cached_2: [[B: python 0(cached 0 4 1 false(python 0(values 1)))
    checkpoint_1: [[B: python 0(python 0(values 1))
    checkpoint_2: checkpoint: python 0(values 1)
    checkpoint_3: [[B: python 0(checkpoint 0)
    barrier_1: [[B: python 0(values 1)
    acc_bc_1: [[B: python 0(values 1)
    count_approx_1: no: SerDeUtil$::pythonToJava$1
    save_text_1: text file: strings(python 0(values 1))
    pickle_file_1: no: RDD::saveAsObjectFile$4
    pickle_file_2: no: SparkContext::objectFile$2
    jvm_count_1: count: python 0(values 1)
    jvm_take_1: [[B of 1: python 0(values 1)
    jvm_zip_index_1: count: python 0(values 1)
    jvm_zip_index_2: no: ZippedWithIndexRDD
    jvm_distinct_1: no: RDD::distinct$8
    jvm_distinct_2: no: RDD::distinct$10
    jvm_sample_1: no: PartitionwiseSampledRDD
    jvm_iter_1: [[B: python 0(values 1)
    jvm_iter_2: [[B: python 1(values 1)
";
