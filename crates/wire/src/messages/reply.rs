//! Replies that are no messages of their own: boxed primitives, strings, `None`, empty collections.

use super::java::{decode, decode_any, encode};
use super::{BlockLocationsAndStatus, ReplicateBlock, RpcFailure, ThreadStackTrace};
use crate::WireError;
use crate::ids::{BlockManagerId, StorageLevel};
use javaser::Catalog;
use javaser::types::{ScalaOption, Throwable, Typed};
use serde::{Deserialize, Serialize};

/// `java.lang.Boolean`.
///
/// # Errors
/// None in practice: the class is the JDK's. The same holds for the other functions that name no class.
pub fn boolean(value: bool, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    encode(&value, "java.lang.Boolean", catalog)
}

/// `java.lang.Integer`.
///
/// # Errors
/// As [`boolean`].
pub fn integer(value: i32, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    encode(&value, "java.lang.Integer", catalog)
}

/// `java.lang.String`.
///
/// # Errors
/// As [`boolean`].
pub fn string(value: &str, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    encode(value, "java.lang.String", catalog)
}

/// `scala.None`.
///
/// # Errors
/// [`WireError::Unsupported`] if the class path has no Scala library.
pub fn none(catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    encode(&ScalaOption::<()>::None, "scala.None$", catalog)
}

/// `()`, which is `scala.runtime.BoxedUnit`.
///
/// # Errors
/// [`WireError::Unsupported`] if the class path has no Scala library.
pub fn unit(catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    encode(&(), "scala.runtime.BoxedUnit", catalog)
}

/// An empty `Seq`.
///
/// # Errors
/// [`WireError::Unsupported`] if the class path has no Scala library.
pub fn empty_seq(catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    const LIST: &str = "Lscala/collection/immutable/List;";
    encode(
        &Typed::new(LIST, [(); 0]),
        "scala.collection.immutable.List",
        catalog,
    )
}

/// An empty array with elements of that class.
///
/// # Errors
/// [`WireError::Unsupported`] if the class path does not have the class.
pub fn empty_array(class: &'static str, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    encode(
        &Typed::new(format!("[L{};", class.replace('.', "/")), [(); 0]),
        class,
        catalog,
    )
}

const THREAD_STACK_TRACE: &str = "org.apache.spark.status.api.v1.ThreadStackTrace";

/// `ThreadStackTrace[]`, the reply to [`TriggerThreadDump`](super::TriggerThreadDump).
///
/// # Errors
/// [`WireError::Unsupported`] if the distribution's class does not fit.
pub fn threads(threads: &[ThreadStackTrace], catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    let signature = format!("[L{};", THREAD_STACK_TRACE.replace('.', "/"));
    encode(&Typed::new(signature, threads), THREAD_STACK_TRACE, catalog)
}

/// `Option[ThreadStackTrace]`, the reply to [`TaskThreadDump`](super::TaskThreadDump).
///
/// # Errors
/// [`WireError::Unsupported`] if the distribution's class does not fit.
pub fn thread(thread: Option<ThreadStackTrace>, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    encode(&ScalaOption::from(thread), THREAD_STACK_TRACE, catalog)
}

/// `org.apache.spark.storage.BlockStatus`: what an executor has of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.storage.BlockStatus",
    rename_all = "camelCase"
)]
pub struct BlockStatus {
    /// Where it is.
    pub storage_level: StorageLevel,
    /// Bytes in memory.
    pub mem_size: i64,
    /// Bytes on disk.
    pub disk_size: i64,
}

/// `Option[BlockStatus]`, the reply to [`GetBlockStatus`](super::GetBlockStatus).
///
/// # Errors
/// [`WireError::Unsupported`] if the distribution's class does not fit.
pub fn block_status(status: Option<BlockStatus>, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    encode(
        &ScalaOption::from(status),
        "org.apache.spark.storage.BlockStatus",
        catalog,
    )
}

/// An [`RpcFailure`] with an exception of that class, without stack trace.
///
/// # Errors
/// [`WireError::Unsupported`] if the class is neither the JDK's nor on the class path.
pub fn rpc_failure(class: &str, message: &str, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
    RpcFailure {
        error: Throwable::new(class, message),
    }
    .encode(catalog)
}

/// Reads a `java.lang.Boolean`.
///
/// # Errors
/// [`WireError`] if the reply is something else, such as an [`RpcFailure`].
pub fn read_boolean(content: &[u8]) -> Result<bool, WireError> {
    decode(content, "java.lang.Boolean")
}

/// Reads a `java.lang.Integer`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_integer(content: &[u8]) -> Result<i32, WireError> {
    decode(content, "java.lang.Integer")
}

/// Reads a `java.lang.String`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_string(content: &[u8]) -> Result<String, WireError> {
    decode(content, "java.lang.String")
}

/// Reads a `String[]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_strings(content: &[u8]) -> Result<Vec<String>, WireError> {
    decode_any(content, "String[]")
}

/// Reads a `ThreadStackTrace[]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_threads(content: &[u8]) -> Result<Vec<ThreadStackTrace>, WireError> {
    decode_any(content, "ThreadStackTrace[]")
}

/// Reads an `Option[ThreadStackTrace]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_thread(content: &[u8]) -> Result<Option<ThreadStackTrace>, WireError> {
    decode_any(content, "Option[ThreadStackTrace]")
}

/// Reads an `Option[BlockStatus]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_block_status(content: &[u8]) -> Result<Option<BlockStatus>, WireError> {
    decode_any(content, "Option[BlockStatus]")
}

/// Reads a `Seq[BlockManagerId]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_block_manager_ids(content: &[u8]) -> Result<Vec<BlockManagerId>, WireError> {
    decode_any(content, "Seq[BlockManagerId]")
}

/// Reads an `IndexedSeq[Seq[BlockManagerId]]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_block_manager_ids_by_block(
    content: &[u8],
) -> Result<Vec<Vec<BlockManagerId>>, WireError> {
    decode_any(content, "IndexedSeq[Seq[BlockManagerId]]")
}

/// Reads an `Option[BlockLocationsAndStatus]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_block_locations(content: &[u8]) -> Result<Option<BlockLocationsAndStatus>, WireError> {
    decode_any(content, "Option[BlockLocationsAndStatus]")
}

/// Reads a `Seq[ReplicateBlock]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_replicate_blocks(content: &[u8]) -> Result<Vec<ReplicateBlock>, WireError> {
    decode_any(content, "Seq[ReplicateBlock]")
}

/// Reads an `Option[Long]`.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_optional_long(content: &[u8]) -> Result<Option<i64>, WireError> {
    decode_any(content, "Option[Long]")
}

/// Reads a reply of which only counts that it is no failure.
///
/// # Errors
/// As [`read_boolean`].
pub fn read_anything(content: &[u8]) -> Result<(), WireError> {
    match super::java::class_of(content) {
        Ok(RpcFailure::CLASS) => Err(WireError::UnexpectedClass {
            expected: "a reply",
            found: RpcFailure::CLASS.to_owned(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::{catalog, objects};
    use std::collections::HashMap;
    use testkit::{NEWEST, VERSIONS, is_since};

    #[test]
    fn replies_are_those_of_a_jvm() {
        for version in VERSIONS {
            let catalog = catalog(version);
            let objects: HashMap<_, _> = objects(version).into_iter().collect();
            let level = StorageLevel {
                flags: StorageLevel::USE_MEMORY,
                replication: 2,
            };
            let status = Some(BlockStatus {
                storage_level: level,
                mem_size: 5,
                disk_size: 6,
            });
            for (name, ours) in [
                ("reply/Boolean", boolean(true, catalog)),
                ("reply/Integer", integer(0, catalog)),
                ("reply/String", string("7", catalog)),
                ("reply/None", none(catalog)),
                ("reply/None", block_status(None, catalog)),
                ("reply/Unit", unit(catalog)),
                ("reply/ThreadStackTrace[]", threads(&[], catalog)),
                ("reply/String[]", empty_array("java.lang.String", catalog)),
                ("reply/Some(BlockStatus)", block_status(status, catalog)),
            ] {
                assert!(ours.unwrap() == objects[name], "{version} {name}");
            }
            let theirs = &objects["reply/Some(BlockStatus)"];
            assert_eq!(read_block_status(theirs).unwrap(), status);
            // Scala 2.12's reader takes the object Nil for a List as well as the proxy its writer gives.
            if is_since(version, "4.0") {
                assert!(
                    empty_seq(catalog).unwrap() == objects["reply/Nil"],
                    "{version}"
                );
            }
        }
    }

    #[test]
    fn a_failure_is_no_boolean() {
        let failure =
            rpc_failure("java.lang.IllegalStateException", "no", catalog(NEWEST)).unwrap();
        let error = read_boolean(&failure).unwrap_err();
        assert_eq!(
            error,
            WireError::UnexpectedClass {
                expected: "java.lang.Boolean",
                found: RpcFailure::CLASS.to_owned()
            }
        );
        let failure = RpcFailure::decode(&failure).unwrap();
        assert_eq!(
            failure.error,
            Throwable::new("java.lang.IllegalStateException", "no")
        );
    }
}
