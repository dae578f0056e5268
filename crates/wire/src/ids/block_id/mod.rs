mod parse;

use crate::printable::Printable;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// `org.apache.spark.storage.BlockId`: the name of a block of bytes or objects.
///
/// A block id travels as text (block transfer protocol, `UpdateBlockInfo`, file names) or as a Java object
/// (`RemoveBlock`, `IndirectTaskResult`, ...). Whoever sends it may be a stranger, and names become names of files:
/// only the forms that Spark itself reads are ids, and none of them has a `/` or a control character, whatever Spark's
/// pattern lets through. `parse(s)?.to_string() == s` for every id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(
    missing_docs,
    reason = "the fields carry Spark's names and mean what they mean there"
)]
pub enum BlockId {
    /// A partition of a cached RDD: `rdd_R_P`.
    #[serde(
        rename = "org.apache.spark.storage.RDDBlockId",
        rename_all = "camelCase"
    )]
    Rdd { rdd_id: i32, split_index: i32 },
    /// One reducer's part of one map output: `shuffle_S_M_R`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleBlockId",
        rename_all = "camelCase"
    )]
    Shuffle {
        shuffle_id: i32,
        map_id: i64,
        reduce_id: i32,
    },
    /// The parts of reducers `start_reduce_id..end_reduce_id` of one map output: `shuffle_S_M_R0_R1`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleBlockBatchId",
        rename_all = "camelCase"
    )]
    ShuffleBatch {
        shuffle_id: i32,
        map_id: i64,
        start_reduce_id: i32,
        end_reduce_id: i32,
    },
    /// A chunk of a merged shuffle file: `shuffleChunk_S_MERGE_R_C`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleBlockChunkId",
        rename_all = "camelCase"
    )]
    ShuffleChunk {
        shuffle_id: i32,
        shuffle_merge_id: i32,
        reduce_id: i32,
        chunk_id: i32,
    },
    /// The data file of one map output: `shuffle_S_M_R.data`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleDataBlockId",
        rename_all = "camelCase"
    )]
    ShuffleData {
        shuffle_id: i32,
        map_id: i64,
        reduce_id: i32,
    },
    /// The index file of one map output: `shuffle_S_M_R.index`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleIndexBlockId",
        rename_all = "camelCase"
    )]
    ShuffleIndex {
        shuffle_id: i32,
        map_id: i64,
        reduce_id: i32,
    },
    /// The checksum file of one map output, without the algorithm that its file name ends with:
    /// `shuffle_S_M_R.checksum`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleChecksumBlockId",
        rename_all = "camelCase"
    )]
    ShuffleChecksum {
        shuffle_id: i32,
        map_id: i64,
        reduce_id: i32,
    },
    /// A block pushed to a merger: `shufflePush_S_MERGE_MAPINDEX_R`.
    #[serde(
        rename = "org.apache.spark.storage.ShufflePushBlockId",
        rename_all = "camelCase"
    )]
    ShufflePush {
        shuffle_id: i32,
        shuffle_merge_id: i32,
        map_index: i32,
        reduce_id: i32,
    },
    /// What a merger has of one reducer: `shuffleMerged_S_MERGE_R`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleMergedBlockId",
        rename_all = "camelCase"
    )]
    ShuffleMerged {
        shuffle_id: i32,
        shuffle_merge_id: i32,
        reduce_id: i32,
    },
    /// A merged data file: `shuffleMerged_APP_S_MERGE_R.data`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleMergedDataBlockId",
        rename_all = "camelCase"
    )]
    ShuffleMergedData {
        #[serde(deserialize_with = "harmless")]
        app_id: String,
        shuffle_id: i32,
        shuffle_merge_id: i32,
        reduce_id: i32,
    },
    /// A merged index file: `shuffleMerged_APP_S_MERGE_R.index`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleMergedIndexBlockId",
        rename_all = "camelCase"
    )]
    ShuffleMergedIndex {
        #[serde(deserialize_with = "harmless")]
        app_id: String,
        shuffle_id: i32,
        shuffle_merge_id: i32,
        reduce_id: i32,
    },
    /// A merged meta file: `shuffleMerged_APP_S_MERGE_R.meta`.
    #[serde(
        rename = "org.apache.spark.storage.ShuffleMergedMetaBlockId",
        rename_all = "camelCase"
    )]
    ShuffleMergedMeta {
        #[serde(deserialize_with = "harmless")]
        app_id: String,
        shuffle_id: i32,
        shuffle_merge_id: i32,
        reduce_id: i32,
    },
    /// A broadcast variable (`field` empty) or a piece of it (`field` is `pieceK`): `broadcast_N`,
    /// `broadcast_N_pieceK`.
    #[serde(
        rename = "org.apache.spark.storage.BroadcastBlockId",
        rename_all = "camelCase"
    )]
    Broadcast {
        broadcast_id: i64,
        #[serde(deserialize_with = "harmless")]
        field: String,
    },
    /// The result of a task that is too large to send directly: `taskresult_T`.
    #[serde(
        rename = "org.apache.spark.storage.TaskResultBlockId",
        rename_all = "camelCase"
    )]
    TaskResult { task_id: i64 },
    /// A block received by a DStream receiver: `input-S-U`.
    #[serde(
        rename = "org.apache.spark.storage.StreamBlockId",
        rename_all = "camelCase"
    )]
    Stream { stream_id: i32, unique_id: i64 },
    /// A block of a Python streaming source, from Spark 4.0: `python-stream-S-U`.
    #[serde(
        rename = "org.apache.spark.storage.PythonStreamBlockId",
        rename_all = "camelCase"
    )]
    PythonStream { stream_id: i32, unique_id: i64 },
    /// Log lines of a Python worker, from Spark 4.1: `python_worker_log_TIME_EXECUTOR_SESSION_WORKER`.
    #[serde(
        rename = "org.apache.spark.storage.PythonWorkerLogBlockId",
        rename_all = "camelCase"
    )]
    PythonWorkerLog {
        last_log_time: i64,
        #[serde(deserialize_with = "harmless")]
        executor_id: String,
        #[serde(deserialize_with = "harmless")]
        session_id: String,
        #[serde(deserialize_with = "harmless")]
        worker_id: String,
    },
    /// Temporary data outside shuffles: `temp_local_UUID`.
    #[serde(rename = "org.apache.spark.storage.TempLocalBlockId")]
    TempLocal {
        #[serde(with = "java_uuid")]
        id: Uuid,
    },
    /// Temporary data of a shuffle: `temp_shuffle_UUID`.
    #[serde(rename = "org.apache.spark.storage.TempShuffleBlockId")]
    TempShuffle {
        #[serde(with = "java_uuid")]
        id: Uuid,
    },
    /// Log lines of Spark's own tests, from Spark 4.1: `test_log_TIME_EXECUTOR`.
    #[serde(
        rename = "org.apache.spark.storage.TestLogBlockId",
        rename_all = "camelCase"
    )]
    TestLog {
        last_log_time: i64,
        #[serde(deserialize_with = "harmless")]
        executor_id: String,
    },
    /// A block of Spark's own tests: `test_X`.
    #[serde(rename = "org.apache.spark.storage.TestBlockId")]
    Test {
        #[serde(deserialize_with = "harmless")]
        id: String,
    },
}

/// A text that is no block's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("org.apache.spark.storage.UnrecognizedBlockId: Failed to parse {} into a block ID", Printable(.0))]
pub struct UnrecognizedBlockId(String);

/// Bytes of the longest name: a file cannot have a longer one.
const MAX_NAME: usize = 255;

/// Whether a text may be a part of an id.
fn is_harmless(text: &str) -> bool {
    text.len() <= MAX_NAME && !text.chars().any(|c| c == '/' || c.is_control())
}

impl BlockId {
    /// Reads the text form.
    ///
    /// # Errors
    /// [`UnrecognizedBlockId`] if the text has none of the forms.
    pub fn parse(name: &str) -> Result<Self, UnrecognizedBlockId> {
        let id = is_harmless(name).then(|| parse::known(name)).flatten();
        // Also refuses what a number's text loses, such as leading zeros.
        id.filter(|id| id.to_string() == name).ok_or_else(|| {
            // Enough for the message.
            UnrecognizedBlockId(name.chars().take(MAX_NAME).collect())
        })
    }

    /// The id of a whole broadcast variable.
    pub fn broadcast(broadcast_id: i64) -> Self {
        Self::Broadcast {
            broadcast_id,
            field: String::new(),
        }
    }

    /// Whether the bytes belong to a shuffle: a block, batch, chunk or one of its files.
    pub fn is_shuffle(&self) -> bool {
        matches!(
            self,
            Self::Shuffle { .. }
                | Self::ShuffleBatch { .. }
                | Self::ShuffleChunk { .. }
                | Self::ShuffleData { .. }
                | Self::ShuffleIndex { .. }
                | Self::ShuffleChecksum { .. }
                | Self::ShufflePush { .. }
                | Self::ShuffleMerged { .. }
                | Self::ShuffleMergedData { .. }
                | Self::ShuffleMergedIndex { .. }
                | Self::ShuffleMergedMeta { .. }
        )
    }
}

impl FromStr for BlockId {
    type Err = UnrecognizedBlockId;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::parse(name)
    }
}

/// A text inside of an id that arrives as an object.
fn harmless<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match is_harmless(&text) {
        true => Ok(text),
        false => Err(de::Error::custom(UnrecognizedBlockId(
            text.chars().take(MAX_NAME).collect(),
        ))),
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rdd {
                rdd_id,
                split_index,
            } => write!(f, "rdd_{rdd_id}_{split_index}"),
            Self::Shuffle {
                shuffle_id,
                map_id,
                reduce_id,
            } => {
                write!(f, "shuffle_{shuffle_id}_{map_id}_{reduce_id}")
            }
            Self::ShuffleBatch {
                shuffle_id,
                map_id,
                start_reduce_id,
                end_reduce_id,
            } => {
                write!(
                    f,
                    "shuffle_{shuffle_id}_{map_id}_{start_reduce_id}_{end_reduce_id}"
                )
            }
            Self::ShuffleChunk {
                shuffle_id,
                shuffle_merge_id,
                reduce_id,
                chunk_id,
            } => {
                write!(
                    f,
                    "shuffleChunk_{shuffle_id}_{shuffle_merge_id}_{reduce_id}_{chunk_id}"
                )
            }
            Self::ShuffleData {
                shuffle_id,
                map_id,
                reduce_id,
            } => {
                write!(f, "shuffle_{shuffle_id}_{map_id}_{reduce_id}.data")
            }
            Self::ShuffleIndex {
                shuffle_id,
                map_id,
                reduce_id,
            } => {
                write!(f, "shuffle_{shuffle_id}_{map_id}_{reduce_id}.index")
            }
            Self::ShuffleChecksum {
                shuffle_id,
                map_id,
                reduce_id,
            } => {
                write!(f, "shuffle_{shuffle_id}_{map_id}_{reduce_id}.checksum")
            }
            Self::ShufflePush {
                shuffle_id,
                shuffle_merge_id,
                map_index,
                reduce_id,
            } => {
                write!(
                    f,
                    "shufflePush_{shuffle_id}_{shuffle_merge_id}_{map_index}_{reduce_id}"
                )
            }
            Self::ShuffleMerged {
                shuffle_id,
                shuffle_merge_id,
                reduce_id,
            } => {
                write!(
                    f,
                    "shuffleMerged_{shuffle_id}_{shuffle_merge_id}_{reduce_id}"
                )
            }
            Self::ShuffleMergedData {
                app_id,
                shuffle_id,
                shuffle_merge_id,
                reduce_id,
            } => {
                write!(
                    f,
                    "shuffleMerged_{app_id}_{shuffle_id}_{shuffle_merge_id}_{reduce_id}.data"
                )
            }
            Self::ShuffleMergedIndex {
                app_id,
                shuffle_id,
                shuffle_merge_id,
                reduce_id,
            } => {
                write!(
                    f,
                    "shuffleMerged_{app_id}_{shuffle_id}_{shuffle_merge_id}_{reduce_id}.index"
                )
            }
            Self::ShuffleMergedMeta {
                app_id,
                shuffle_id,
                shuffle_merge_id,
                reduce_id,
            } => {
                write!(
                    f,
                    "shuffleMerged_{app_id}_{shuffle_id}_{shuffle_merge_id}_{reduce_id}.meta"
                )
            }
            Self::Broadcast {
                broadcast_id,
                field,
            } if field.is_empty() => {
                write!(f, "broadcast_{broadcast_id}")
            }
            Self::Broadcast {
                broadcast_id,
                field,
            } => write!(f, "broadcast_{broadcast_id}_{field}"),
            Self::TaskResult { task_id } => write!(f, "taskresult_{task_id}"),
            Self::Stream {
                stream_id,
                unique_id,
            } => write!(f, "input-{stream_id}-{unique_id}"),
            Self::PythonStream {
                stream_id,
                unique_id,
            } => {
                write!(f, "python-stream-{stream_id}-{unique_id}")
            }
            Self::PythonWorkerLog {
                last_log_time,
                executor_id,
                session_id,
                worker_id,
            } => {
                write!(
                    f,
                    "python_worker_log_{last_log_time}_{executor_id}_{session_id}_{worker_id}"
                )
            }
            Self::TempLocal { id } => write!(f, "temp_local_{id}"),
            Self::TempShuffle { id } => write!(f, "temp_shuffle_{id}"),
            Self::TestLog {
                last_log_time,
                executor_id,
            } => {
                write!(f, "test_log_{last_log_time}_{executor_id}")
            }
            Self::Test { id } => write!(f, "test_{id}"),
        }
    }
}

/// `java.util.UUID` as two longs.
mod java_uuid {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use uuid::Uuid;

    #[derive(Serialize, Deserialize)]
    #[serde(rename = "java.util.UUID", rename_all = "camelCase")]
    struct JavaUuid {
        least_sig_bits: i64,
        most_sig_bits: i64,
    }

    pub(super) fn serialize<S: Serializer>(id: &Uuid, serializer: S) -> Result<S::Ok, S::Error> {
        let (most, least) = id.as_u64_pair();
        JavaUuid {
            least_sig_bits: least.cast_signed(),
            most_sig_bits: most.cast_signed(),
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Uuid, D::Error> {
        let id = JavaUuid::deserialize(deserializer)?;
        Ok(Uuid::from_u64_pair(
            id.most_sig_bits.cast_unsigned(),
            id.least_sig_bits.cast_unsigned(),
        ))
    }
}
