//! A real JVM with Spark's own classes reads what we write, and what it writes back is what we meant.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use javaser::Catalog;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::{Distribution, VERSIONS, from_hex, to_hex};
use wire::ids::{BlockId, BlockManagerId, StorageLevel, TaskState};
use wire::map_status::{CompressedMapStatus, HighlyCompressedMapStatus, MapStatus, MergeStatus};
use wire::messages::*;
use wire::task_description::{TaskCpus, TaskResource};
use wire::{WireError, WireVersion};

/// A tool of the JDK.
fn jdk(tool: &str) -> Command {
    Command::new(testkit::jdk().join("bin").join(tool))
}

/// Compiles `tools/WireEcho.java` into a directory.
fn compile(classes: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/WireEcho.java");
    let done = jdk("javac").arg("-d").args([classes, &source]).status();
    assert!(done.unwrap().success(), "javac failed");
}

/// What the JVM writes after it has read each of these streams.
fn echo(classes: &Path, version: &str, streams: &[Vec<u8>]) -> Vec<Result<Vec<u8>, String>> {
    let input: String = streams.iter().map(|stream| to_hex(stream) + "\n").collect();
    let distribution = Distribution::find(version);
    let class_path = format!("{}:{}", classes.display(), distribution.class_path());
    let mut jvm = jdk("java")
        .arg("-XX:TieredStopAtLevel=1")
        .arg("-cp")
        .arg(class_path)
        .arg("WireEcho")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = jvm.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = jvm.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> = text
        .lines()
        .map(|line| match line.strip_prefix("! ") {
            Some(error) => Err(error.to_owned()),
            None => Ok(from_hex(line)),
        })
        .collect();
    assert_eq!(answers.len(), streams.len(), "{version}: the JVM gave up");
    answers
}

/// Whether a stream holds the message of a [`Case`].
type Same = Box<dyn Fn(&[u8]) -> Result<bool, WireError>>;

/// A message, its bytes, and whether other bytes hold the same message.
struct Case {
    name: String,
    bytes: Vec<u8>,
    same: Same,
}

fn case<T: PartialEq + std::fmt::Debug + 'static>(
    message: T,
    encode: impl Fn(&T) -> Result<Vec<u8>, WireError>,
    decode: impl Fn(&[u8]) -> Result<T, WireError> + 'static,
) -> Case {
    let name = format!("{message:?}");
    let bytes = encode(&message).unwrap_or_else(|error| panic!("{name}: {error}"));
    Case {
        name,
        bytes,
        same: Box::new(move |bytes| Ok(decode(bytes)? == message)),
    }
}

macro_rules! cases {
    ($catalog:expr, $($type:ident $fields:tt),* $(,)?) => {
        vec![$(case($type $fields, |message| message.encode($catalog), $type::decode)),*]
    };
}

fn block_manager_id() -> BlockManagerId {
    BlockManagerId {
        executor_id: "7".into(),
        host: "hö\0st".into(),
        port: 7077,
        topology_info: Some("/rack".into()),
    }
}

fn messages(catalog: &Catalog, version: &WireVersion) -> Vec<Case> {
    let string = |text: &str| text.to_owned();
    let block_id = BlockId::Rdd {
        rdd_id: 1,
        split_index: 2,
    };
    let gpu = || ResourceInformation {
        name: "gpu".into(),
        addresses: vec!["0".into(), "1".into()],
    };
    let calls = || {
        vec![StackTraceElement {
            declaring_class: "a.B".into(),
            method_name: "c".into(),
            file_name: Some("B.rs".into()),
            line_number: 12,
            ..StackTraceElement::default()
        }]
    };
    let many = || {
        (0..9)
            .map(|i| (format!("NAME_{i}"), format!("value {i}")))
            .collect()
    };
    let mut cases = cases![
        catalog,
        RetrieveSparkAppConfig {
            resource_profile_id: 3
        },
        LaunchedExecutor {
            executor_id: string("7")
        },
        KillTask {
            task_id: 1 << 40,
            executor: string("7"),
            interrupt_thread: true,
            reason: string("\u{1f600}")
        },
        ExecutorDecommissioning {
            executor_id: string("7")
        },
        UpdateDelegationTokens {
            tokens: vec![0, 255]
        },
        HeartbeatResponse {
            reregister_block_manager: true
        },
        RemoveRdd { rdd_id: 1 },
        RemoveShuffle { shuffle_id: 1 },
        RemoveBroadcast {
            broadcast_id: 1 << 40,
            remove_from_driver: true
        },
        GetBlockStatus {
            block_id: block_id.clone(),
            ask_storage_endpoints: false
        },
        ReplicateBlock {
            block_id: block_id.clone(),
            replicas: vec![block_manager_id(); 3],
            max_replicas: 2
        },
        GetLocations {
            block_id: BlockId::broadcast(1)
        },
        GetLocationsMultipleBlockIds {
            block_ids: vec![BlockId::broadcast(1), block_id.clone()]
        },
        GetLocationsAndStatus {
            block_id: BlockId::parse("broadcast_1_piece0").unwrap(),
            requester_host: string("host")
        },
        BlockLocationsAndStatus {
            locations: vec![block_manager_id(); 2],
            status: BlockStatus {
                storage_level: StorageLevel::MEMORY_AND_DISK_SER,
                mem_size: 5,
                disk_size: 0
            },
            local_dirs: Some(vec![string("/a"), string("/b")])
        },
        GetPeers {
            block_manager_id: block_manager_id()
        },
        GetReplicateInfoForRddBlocks {
            block_manager_id: block_manager_id()
        },
        IsExecutorAlive {
            executor_id: string("7")
        },
        GetRddBlockVisibility {
            block_id: block_id.clone()
        },
        UpdateRddBlockTaskInfo {
            block_id: block_id.clone(),
            task_id: 1 << 40
        },
        MarkRddBlockAsVisible { block_id },
        CheckExistence {
            name: string("Executor")
        },
        GenerateExecId {
            pod_name: string("pod")
        },
        LaunchTask {
            data: Bytes::from(vec![7; 5000])
        },
        RegisterExecutor {
            executor_id: string("7"),
            executor_ref: RpcEndpointRef::client("Executor", 120),
            hostname: string("host"),
            cores: 4,
            log_urls: [("stdout".to_owned(), "http://h/out".to_owned())].into(),
            attributes: many(),
            resources: [("gpu".to_owned(), gpu())].into(),
            resource_profile_id: 0
        },
        RegisterBlockManager {
            block_manager_id: block_manager_id(),
            local_dirs: vec![string("/a"), string("/b")],
            max_on_heap_mem_size: 1 << 40,
            max_off_heap_mem_size: 0,
            sender: RpcEndpointRef::client("BlockManagerEndpoint1", 120),
            is_re_register: true
        },
        Heartbeat {
            executor_id: string("7"),
            block_manager_id: block_manager_id(),
            accum_updates: vec![],
            executor_updates: (0..20)
                .map(|stage_id| (
                    StageAttempt {
                        stage_id,
                        attempt: 1
                    },
                    ExecutorMetrics {
                        metrics: vec![9; version.executor_metrics]
                    }
                ))
                .collect()
        },
        RemoveExecutor {
            executor_id: string("7"),
            reason: ExecutorLossReason {
                message: string("bye")
            }
        },
        TaskKilled {
            reason: string("why"),
            accum_updates: vec![],
            accums: vec![],
            metric_peaks: vec![1, 2]
        },
        RpcFailure {
            error: Throwable {
                class: string("java.lang.IllegalStateException"),
                message: None,
                stack_trace: calls(),
                cause: Some(Box::new(Throwable::new(
                    "org.apache.spark.SparkException",
                    "inner"
                )))
            }
        },
    ];
    let failure = ExceptionFailure {
        metric_peaks: vec![5],
        ..ExceptionFailure::new("a.Error", "it broke", calls(), "a.Error: it broke")
    };
    cases.push(case(
        failure,
        |f| f.encode(catalog),
        ExceptionFailure::decode,
    ));
    cases.extend([
        case(StopExecutor, |m| m.encode(catalog), StopExecutor::decode),
        case(
            DecommissionExecutor,
            |m| m.encode(catalog),
            DecommissionExecutor::decode,
        ),
        case(
            TriggerThreadDump,
            |m| m.encode(catalog),
            TriggerThreadDump::decode,
        ),
        case(
            TriggerHeapHistogram,
            |m| m.encode(catalog),
            TriggerHeapHistogram::decode,
        ),
        case(
            block_manager_id(),
            |m| m.encode(catalog),
            BlockManagerId::decode,
        ),
    ]);
    let thread = ThreadStackTrace {
        thread_id: 17,
        thread_name: string("a thread"),
        thread_state: ThreadState::Waiting,
        stack_trace: StackTrace {
            elems: vec![string("a.B.c(D.rs)"), string("e.F.g(Native Method)")],
        },
        blocked_by_thread_id: Some(18),
        in_native: version.scala_213,
        priority: if version.scala_213 { 5 } else { 0 },
        ..ThreadStackTrace::default()
    };
    cases.push(case(
        vec![thread.clone(), ThreadStackTrace::default()],
        |threads| reply::threads(threads, catalog),
        reply::read_threads,
    ));
    cases.push(case(
        Some(thread),
        |thread| reply::thread(thread.clone(), catalog),
        reply::read_thread,
    ));
    for name in [
        "shuffle_1_2_3",
        "shuffleMerged_app_1_2_3_4.data",
        "broadcast_1_piece0",
        "taskresult_9",
        "temp_local_00000000-0000-0001-8000-000000000002",
    ] {
        cases.push(case(
            RemoveBlock {
                block_id: BlockId::parse(name).unwrap(),
            },
            |m| m.encode(catalog),
            RemoveBlock::decode,
        ));
    }
    for state in 0..6 {
        let amount = version.resource_amounts.then_some(10_000_000_000_000_000);
        let update = StatusUpdate {
            executor_id: "7".into(),
            task_id: 1 << 40,
            state: TaskState(state),
            data: Bytes::from(vec![1; 3000]),
            task_cpus: if version.decimal_cpus {
                TaskCpus {
                    nanos: 1_500_000_000,
                }
            } else {
                TaskCpus::whole(2)
            },
            resources: vec![TaskResource {
                name: "gpu".into(),
                addresses: vec![("0".into(), amount), ("1".into(), amount)],
            }],
        };
        cases.push(case(update, |m| m.encode(catalog), StatusUpdate::decode));
    }
    if version.block_info_checksum {
        let block_id = BlockId::parse("rdd_1_2").unwrap();
        cases.push(case(
            GetSealedChecksum { block_id },
            |m| m.encode(catalog),
            GetSealedChecksum::decode,
        ));
    }
    if version.scala_213 {
        cases.push(case(
            TaskThreadDump { task_id: 7 },
            |m| m.encode(catalog),
            TaskThreadDump::decode,
        ));
        cases.push(case(
            UpdateExecutorLogLevel {
                log_level: "DEBUG".into(),
            },
            |m| m.encode(catalog),
            UpdateExecutorLogLevel::decode,
        ));
    }
    cases.extend(statuses(catalog, version));
    cases.extend(configs(catalog, version));
    cases
}

fn statuses(catalog: &Catalog, version: &WireVersion) -> Vec<Case> {
    let checksum = if version.map_status_checksum { 99 } else { 0 };
    let few = CompressedMapStatus {
        location: block_manager_id(),
        compressed_sizes: vec![0, 1, 255],
        map_task_id: 5,
        checksum,
    };
    let many = HighlyCompressedMapStatus {
        location: block_manager_id(),
        empty_blocks: (0..1000).chain([70_000]).collect(),
        avg_size: 1 << 40,
        huge_block_sizes: vec![(2000, 255)],
        map_task_id: 5,
        checksum,
    };
    let merged = MergeStatus {
        location: block_manager_id(),
        shuffle_merge_id: 1,
        map_tracker: [1, 5].into_iter().collect(),
        total_size: 9,
    };
    let mut cases: Vec<_> = [
        MapStatus::Compressed(few),
        MapStatus::HighlyCompressed(many),
    ]
    .into_iter()
    .map(|status| case(status, |s| s.encode(catalog, version), MapStatus::decode))
    .collect();
    cases.push(case(merged, |s| s.encode(catalog), MergeStatus::decode));
    let update = UpdateBlockInfo {
        block_manager_id: block_manager_id(),
        block_id: BlockId::broadcast(3),
        storage_level: StorageLevel::MEMORY_AND_DISK_SER,
        mem_size: 5,
        disk_size: 6,
        checksum: version.block_info_checksum.then_some(-1),
    };
    cases.push(case(
        update,
        |m| m.encode(catalog, version),
        UpdateBlockInfo::decode,
    ));
    cases
}

fn configs(catalog: &Catalog, version: &WireVersion) -> Vec<Case> {
    [false, true]
        .map(|task_only| {
            let cores = ExecutorResourceRequest {
                resource_name: "cores".into(),
                amount: 2,
                discovery_script: String::new(),
                vendor: String::new(),
            };
            let cpus = TaskResourceRequest {
                resource_name: "cpus".into(),
                amount: 0.5,
            };
            let config = SparkAppConfig {
                spark_properties: vec![("spark.app.name".into(), "café".into())],
                io_encryption_key: Some(vec![1, 2]),
                hadoop_delegation_creds: None,
                resource_profile: ResourceProfile {
                    id: 4,
                    executor_resources: [("cores".to_owned(), cores)].into(),
                    task_resources: [("cpus".to_owned(), cpus)].into(),
                    task_only,
                },
                log_level: version.scala_213.then(|| "WARN".to_owned()),
            };
            case(config, |m| m.encode(catalog), SparkAppConfig::decode)
        })
        .into()
}

#[test]
fn a_jvm_understands_our_messages() {
    let classes = testkit::temp_dir();
    compile(classes.path());
    for version in VERSIONS {
        let catalog =
            Catalog::from_class_path(&[Distribution::find(version).class_path().into()]).unwrap();
        let cases = messages(&catalog, &WireVersion::detect(&catalog).unwrap());
        let streams: Vec<_> = cases.iter().map(|case| case.bytes.clone()).collect();
        for (case, answer) in cases.iter().zip(echo(classes.path(), version, &streams)) {
            match answer.map(|bytes| (case.same)(&bytes)) {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => panic!(
                    "{version}: the JVM understood something else than {}",
                    case.name
                ),
                Ok(Err(error)) => {
                    panic!("{version}: {error} in what the JVM made of {}", case.name)
                }
                Err(error) => panic!("{version}: {error} for {}", case.name),
            }
        }
    }
}
