//! Every stream that a real JVM wrote and that we have a type for decodes, and encodes to the same bytes with the
//! class descriptors of the version it came from.
//!
//! Not the same bytes, but an equal object, come out where the JVM's form depends on what a decoded struct does not
//! hold and no reader cares for: which strings, boxes and empty collections happen to be the same object in its memory,
//! and which of several collection classes a value was built as. [`NOT_BYTE_FOR_BYTE`] lists them.

use super::*;
use crate::WireError;
use crate::ids::{BlockManagerId, StorageLevel};
use crate::map_status::{CompressedMapStatus, HighlyCompressedMapStatus, MapStatus, MergeStatus};
use crate::test_vectors::{catalog, samples};
use crate::version::WireVersion;
use indexmap::IndexMap;
use javaser::Catalog;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Debug;
use testkit::{OLDEST, VERSIONS};

/// End of the class name, part of the sample's name, and why its bytes differ.
const NOT_BYTE_FOR_BYTE: [(&str, &str, &str); 11] = [
    (
        "$StatusUpdate",
        OLDEST,
        "Scala 2.12 writes every value of TaskState$; its reader only takes the id of one",
    ),
    (
        ".RequestToSync",
        OLDEST,
        "Scala 2.12 writes every value of RequestMethod$; its reader only takes the id of one",
    ),
    (
        "$SparkAppConfig",
        "",
        "settings are in a Tuple2[] instead of an Object[]; equal strings and boxes are one object",
    ),
    (
        "$RegisterExecutor",
        "frame",
        "Spark 4 builds the two log URLs as a HashMap instead of a Map2",
    ),
    (
        ".Heartbeat",
        "frame",
        "two tasks without updates have the same empty Vector",
    ),
    ("$ReplicateBlock", "", "replicas were built as a List"),
    (".ThreadStackTrace;", "[1]", "lines were built as a List"),
    (
        "$RemoveExecutor",
        "ExecutorExited",
        "of a subclass of ExecutorLossReason only the message is kept",
    ),
    (".ExceptionFailure", "", "the empty lists are the same List"),
    (".TaskKilled", "", "the empty lists are the same List"),
    (
        ".RpcFailure",
        "cause",
        "the empty lists of suppressed exceptions are the same object",
    ),
];

/// Classes in the fixtures that are not read by a type of their own: replies without content, which `reply.rs` tests,
/// and what only tasks ask and get.
const NO_TYPE: [&str; 9] = [
    "[B",
    "[Ljava.lang.String;",
    "scala.None$",
    "scala.Some",
    "scala.collection.generic.DefaultSerializationProxy",
    "scala.collection.immutable.List$SerializationProxy",
    "scala.collection.immutable.Vector",
    "scala.runtime.BoxedUnit",
    "org.apache.spark.scheduler.AskPermissionToCommitOutput",
];

struct Outcome {
    bytes: Vec<u8>,
    /// Whether the encoded bytes decode to an equal value.
    stable: bool,
}

fn again<T: PartialEq + Debug>(
    content: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, WireError>,
    encode: impl Fn(&T) -> Result<Vec<u8>, WireError>,
) -> Result<Outcome, WireError> {
    let value = decode(content)?;
    let bytes = encode(&value)?;
    let stable = decode(&bytes)? == value;
    Ok(Outcome { bytes, stable })
}

/// Decodes and encodes a stream of a class we have a type for.
fn reencode(
    class: &str,
    content: &[u8],
    catalog: &Catalog,
    version: &WireVersion,
) -> Option<Result<Outcome, WireError>> {
    macro_rules! types {
        ($($type:ty),* $(,)?) => {
            match class {
                $(<$type>::CLASS => Some(again(content, <$type>::decode, |value| value.encode(catalog))),)*
                UpdateBlockInfo::CLASS => Some(again(content, UpdateBlockInfo::decode, |value| value.encode(catalog, version))),
                CompressedMapStatus::CLASS | HighlyCompressedMapStatus::CLASS => {
                    Some(again(content, MapStatus::decode, |value| value.encode(catalog, version)))
                }
                "[Lorg.apache.spark.status.api.v1.ThreadStackTrace;" => {
                    Some(again(content, reply::read_threads, |value| reply::threads(value, catalog)))
                }
                "java.lang.Boolean" => Some(again(content, reply::read_boolean, |value| reply::boolean(*value, catalog))),
                "java.lang.Integer" => Some(again(content, reply::read_integer, |value| reply::integer(*value, catalog))),
                "java.lang.String" => Some(again(content, reply::read_string, |value| reply::string(value, catalog))),
                _ => None,
            }
        };
    }
    types![
        BlockManagerId,
        StorageLevel,
        MergeStatus,
        AskPermissionToCommitOutput,
        CheckExistence,
        DecommissionExecutor,
        ExceptionFailure,
        ExecutorDecommissioning,
        GenerateExecId,
        GetBlockStatus,
        GetMapOutputStatuses,
        GetLocations,
        GetLocationsAndStatus,
        GetLocationsMultipleBlockIds,
        GetPeers,
        GetRddBlockVisibility,
        GetReplicateInfoForRddBlocks,
        IsExecutorAlive,
        UpdateRddBlockTaskInfo,
        GetMatchingBlockIds,
        Heartbeat,
        HeartbeatResponse,
        KillTask,
        LaunchTask,
        LaunchedExecutor,
        MarkRddBlockAsVisible,
        RegisterBlockManager,
        RegisterExecutor,
        RemoveBlock,
        RemoveBroadcast,
        RemoveExecutor,
        RemoveRdd,
        RemoveShuffle,
        ReplicateBlock,
        RequestToSync,
        RetrieveSparkAppConfig,
        RpcFailure,
        SparkAppConfig,
        StatusUpdate,
        StopExecutor,
        TaskCommitDenied,
        TaskKilled,
        TaskThreadDump,
        TriggerHeapHistogram,
        TriggerThreadDump,
        UpdateDelegationTokens,
        UpdateExecutorLogLevel,
    ]
}

#[test]
fn streams_of_real_jvms() {
    let mut failures = Vec::new();
    for version in VERSIONS {
        let catalog = catalog(version);
        let formats = WireVersion::detect(catalog).unwrap();
        let (mut typed, mut untyped) = (BTreeSet::new(), BTreeSet::new());
        for sample in samples(version) {
            let class = javaser::peek_class(&sample.content).unwrap().to_owned();
            let Some(outcome) = reencode(&class, &sample.content, catalog, &formats) else {
                untyped.insert(class);
                continue;
            };
            typed.insert(class.clone());
            match outcome {
                Err(error) => failures.push(format!("{}: {error}", sample.name)),
                Ok(outcome) if !outcome.stable => {
                    failures.push(format!("{}: decodes differently", sample.name))
                }
                Ok(outcome) if outcome.bytes != sample.content => {
                    let known = |(end, part, _): &(&str, &str, &str)| {
                        class.ends_with(end) && sample.name.contains(part)
                    };
                    if !NOT_BYTE_FOR_BYTE.iter().any(known) {
                        failures.push(format!("{} {class}: other bytes", sample.name));
                    }
                }
                Ok(_) => {}
            }
        }
        assert!(typed.len() >= 38, "{version}: only {typed:?}");
        untyped.retain(|class| !NO_TYPE.contains(&class.as_str()));
        assert!(untyped.is_empty(), "{version}: no type for {untyped:?}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,20}", "[\\x00-\\x7f]{0,20}", "\\PC{0,300}"]
}

fn map() -> impl Strategy<Value = IndexMap<String, String>> {
    proptest::collection::vec((text(), text()), 0..9).prop_map(IndexMap::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any text, number and map arrives as it was sent, in the forms of every version.
    #[test]
    fn messages_survive(id in text(), other in text(), number: i64, map in map(), data in proptest::collection::vec(any::<u8>(), 0..3000)) {
        for version in VERSIONS {
            let catalog = catalog(version);
            let kill = KillTask { task_id: number, executor: id.clone(), interrupt_thread: number < 0, reason: other.clone() };
            prop_assert_eq!(KillTask::decode(&kill.encode(catalog).unwrap()).unwrap(), kill);
            let launch = LaunchTask { data: data.clone().into() };
            prop_assert_eq!(LaunchTask::decode(&launch.encode(catalog).unwrap()).unwrap(), launch);
            let register = RegisterExecutor {
                executor_id: id.clone(),
                executor_ref: RpcEndpointRef::client(&other, number),
                hostname: other.clone(),
                cores: number as i32,
                log_urls: map.clone(),
                attributes: map.clone(),
                resources: IndexMap::from([(id.clone(), ResourceInformation { name: id.clone(), addresses: vec![other.clone(); 3] })]),
                resource_profile_id: 0,
            };
            prop_assert_eq!(RegisterExecutor::decode(&register.encode(catalog).unwrap()).unwrap(), register);
        }
    }

    /// No byte of a real message, changed or cut off, makes a reader panic.
    #[test]
    fn damaged_messages_are_errors(index: prop::sample::Index, at: prop::sample::Index, byte: u8, cut: bool) {
        let version = VERSIONS[index.index(VERSIONS.len())];
        let samples = samples(version);
        let mut content = samples[index.index(samples.len())].content.to_vec();
        let class = javaser::peek_class(&content).unwrap().to_owned();
        let at = at.index(content.len());
        if cut {
            content.truncate(at);
        } else {
            content[at] = byte;
        }
        let formats = WireVersion::newest();
        let again = reencode(&class, &content, catalog(version), &formats);
        if cut && let Some(again) = again {
            prop_assert!(again.is_err(), "{class} cut at {at} was read");
        }
        let _ = (ExecutorMessage::decode(&content), StorageEndpointMessage::decode(&content), StatusUpdate::peek(&content));
    }
}
