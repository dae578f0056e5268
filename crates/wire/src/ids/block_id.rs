use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// `org.apache.spark.storage.BlockId`: the name of a block of bytes or objects.
///
/// A block id travels as text (block transfer protocol, `UpdateBlockInfo`, file names) or as a Java object
/// (`RemoveBlock`, `IndirectTaskResult`, ...). [`BlockId::parse`] never fails: text that is no known form is
/// kept as [`BlockId::Unknown`], and `parse(s).to_string() == s` for every `s`.
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
    /// The checksum file of one map output, without the algorithm that its file name ends with: `shuffle_S_M_R.checksum`.
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
        app_id: String,
        shuffle_id: i32,
        shuffle_merge_id: i32,
        reduce_id: i32,
    },
    /// A broadcast variable (`field` empty) or a piece of it (`field` is `pieceK`): `broadcast_N`, `broadcast_N_pieceK`.
    #[serde(
        rename = "org.apache.spark.storage.BroadcastBlockId",
        rename_all = "camelCase"
    )]
    Broadcast { broadcast_id: i64, field: String },
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
        executor_id: String,
        session_id: String,
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
        executor_id: String,
    },
    /// A block of Spark's own tests: `test_X`.
    #[serde(rename = "org.apache.spark.storage.TestBlockId")]
    Test { id: String },
    /// A name of no known form. It has no Java object form.
    #[serde(skip)]
    Unknown(String),
}

impl BlockId {
    /// Reads the text form.
    pub fn parse(name: &str) -> Self {
        match parse_known(name) {
            // Also refuses what a number's text loses, such as leading zeros.
            Some(id) if id.to_string() == name => id,
            _ => Self::Unknown(name.to_owned()),
        }
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

fn parse_known(name: &str) -> Option<BlockId> {
    if let Some(numbers) = name.strip_prefix("rdd_") {
        let [rdd_id, split_index] = split(numbers, '_')?;
        return Some(BlockId::Rdd {
            rdd_id: int(rdd_id)?,
            split_index: int(split_index)?,
        });
    }
    if let Some(rest) = name.strip_prefix("shuffle_") {
        return parse_shuffle(rest);
    }
    if let Some(rest) = name.strip_prefix("shuffleMerged_") {
        return parse_merged(rest);
    }
    if let Some(numbers) = name.strip_prefix("shuffleChunk_") {
        let [a, b, c, d] = split(numbers, '_')?;
        return Some(BlockId::ShuffleChunk {
            shuffle_id: int(a)?,
            shuffle_merge_id: int(b)?,
            reduce_id: int(c)?,
            chunk_id: int(d)?,
        });
    }
    if let Some(numbers) = name.strip_prefix("shufflePush_") {
        let [a, b, c, d] = split(numbers, '_')?;
        return Some(BlockId::ShufflePush {
            shuffle_id: int(a)?,
            shuffle_merge_id: int(b)?,
            map_index: int(c)?,
            reduce_id: int(d)?,
        });
    }
    if let Some(rest) = name.strip_prefix("broadcast_") {
        let (id, field) = rest.split_once('_').unwrap_or((rest, ""));
        return Some(BlockId::Broadcast {
            broadcast_id: int(id)?,
            field: field.to_owned(),
        });
    }
    if let Some(task_id) = name.strip_prefix("taskresult_") {
        return Some(BlockId::TaskResult {
            task_id: int(task_id)?,
        });
    }
    if let Some(numbers) = name.strip_prefix("input-") {
        let [stream_id, unique_id] = split(numbers, '-')?;
        return Some(BlockId::Stream {
            stream_id: int(stream_id)?,
            unique_id: int(unique_id)?,
        });
    }
    if let Some(numbers) = name.strip_prefix("python-stream-") {
        let [stream_id, unique_id] = split(numbers, '-')?;
        return Some(BlockId::PythonStream {
            stream_id: int(stream_id)?,
            unique_id: int(unique_id)?,
        });
    }
    if let Some(parts) = name.strip_prefix("python_worker_log_") {
        let [time, executor_id, session_id, worker_id] = split(parts, '_')?;
        return Some(BlockId::PythonWorkerLog {
            last_log_time: int(time)?,
            executor_id: executor_id.to_owned(),
            session_id: session_id.to_owned(),
            worker_id: worker_id.to_owned(),
        });
    }
    if let Some(id) = name.strip_prefix("temp_local_") {
        return Some(BlockId::TempLocal {
            id: id.parse().ok()?,
        });
    }
    if let Some(id) = name.strip_prefix("temp_shuffle_") {
        return Some(BlockId::TempShuffle {
            id: id.parse().ok()?,
        });
    }
    // Spark's own parser asks for the wider `test_` first, so it never yields a TestLogBlockId from text.
    let id = name.strip_prefix("test_")?;
    Some(BlockId::Test { id: id.to_owned() })
}

fn parse_shuffle(rest: &str) -> Option<BlockId> {
    if let Some((numbers, suffix)) = rest.split_once('.') {
        let [a, b, c] = split(numbers, '_')?;
        let (shuffle_id, map_id, reduce_id) = (int(a)?, int(b)?, int(c)?);
        return match suffix {
            "data" => Some(BlockId::ShuffleData {
                shuffle_id,
                map_id,
                reduce_id,
            }),
            "index" => Some(BlockId::ShuffleIndex {
                shuffle_id,
                map_id,
                reduce_id,
            }),
            "checksum" => Some(BlockId::ShuffleChecksum {
                shuffle_id,
                map_id,
                reduce_id,
            }),
            _ => None,
        };
    }
    if let Some([a, b, c]) = split(rest, '_') {
        return Some(BlockId::Shuffle {
            shuffle_id: int(a)?,
            map_id: int(b)?,
            reduce_id: int(c)?,
        });
    }
    let [a, b, c, d] = split(rest, '_')?;
    Some(BlockId::ShuffleBatch {
        shuffle_id: int(a)?,
        map_id: int(b)?,
        start_reduce_id: int(c)?,
        end_reduce_id: int(d)?,
    })
}

fn parse_merged(rest: &str) -> Option<BlockId> {
    let Some((ids, suffix)) = rest.rsplit_once('.') else {
        let [a, b, c] = split(rest, '_')?;
        return Some(BlockId::ShuffleMerged {
            shuffle_id: int(a)?,
            shuffle_merge_id: int(b)?,
            reduce_id: int(c)?,
        });
    };
    // An application id has underscores of its own, so the numbers are taken from the end.
    let mut parts = ids.rsplitn(4, '_');
    let reduce_id = int(parts.next()?)?;
    let shuffle_merge_id = int(parts.next()?)?;
    let shuffle_id = int(parts.next()?)?;
    let app_id = parts.next()?.to_owned();
    match suffix {
        "data" => Some(BlockId::ShuffleMergedData {
            app_id,
            shuffle_id,
            shuffle_merge_id,
            reduce_id,
        }),
        "index" => Some(BlockId::ShuffleMergedIndex {
            app_id,
            shuffle_id,
            shuffle_merge_id,
            reduce_id,
        }),
        "meta" => Some(BlockId::ShuffleMergedMeta {
            app_id,
            shuffle_id,
            shuffle_merge_id,
            reduce_id,
        }),
        _ => None,
    }
}

/// Exactly `N` parts between separators.
fn split<const N: usize>(text: &str, separator: char) -> Option<[&str; N]> {
    let mut parts = text.split(separator);
    let mut out = [""; N];
    for slot in &mut out {
        *slot = parts.next()?;
    }
    parts.next().is_none().then_some(out)
}

fn int<T: std::str::FromStr>(digits: &str) -> Option<T> {
    digits.parse().ok()
}

impl From<&str> for BlockId {
    fn from(name: &str) -> Self {
        Self::parse(name)
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
            Self::Unknown(name) => f.write_str(name),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(name: &str) -> BlockId {
        BlockId::parse(name)
    }

    #[test]
    fn names() {
        assert_eq!(
            id("rdd_3_14"),
            BlockId::Rdd {
                rdd_id: 3,
                split_index: 14
            }
        );
        assert_eq!(
            id("shuffle_1_9223372036854775807_3"),
            BlockId::Shuffle {
                shuffle_id: 1,
                map_id: i64::MAX,
                reduce_id: 3
            }
        );
        assert_eq!(
            id("shuffle_1_2_3_4"),
            BlockId::ShuffleBatch {
                shuffle_id: 1,
                map_id: 2,
                start_reduce_id: 3,
                end_reduce_id: 4
            }
        );
        assert_eq!(
            id("shuffleChunk_1_2_3_4"),
            BlockId::ShuffleChunk {
                shuffle_id: 1,
                shuffle_merge_id: 2,
                reduce_id: 3,
                chunk_id: 4
            }
        );
        assert_eq!(
            id("shuffle_1_2_0.data"),
            BlockId::ShuffleData {
                shuffle_id: 1,
                map_id: 2,
                reduce_id: 0
            }
        );
        assert_eq!(
            id("shuffle_1_2_0.index"),
            BlockId::ShuffleIndex {
                shuffle_id: 1,
                map_id: 2,
                reduce_id: 0
            }
        );
        assert_eq!(
            id("shuffle_1_2_0.checksum"),
            BlockId::ShuffleChecksum {
                shuffle_id: 1,
                map_id: 2,
                reduce_id: 0
            }
        );
        assert_eq!(
            id("shufflePush_1_2_3_4"),
            BlockId::ShufflePush {
                shuffle_id: 1,
                shuffle_merge_id: 2,
                map_index: 3,
                reduce_id: 4
            }
        );
        assert_eq!(
            id("shuffleMerged_1_2_3"),
            BlockId::ShuffleMerged {
                shuffle_id: 1,
                shuffle_merge_id: 2,
                reduce_id: 3
            }
        );
        assert_eq!(
            id("shuffleMerged_application_1_0002_5_6_7.meta"),
            BlockId::ShuffleMergedMeta {
                app_id: "application_1_0002".into(),
                shuffle_id: 5,
                shuffle_merge_id: 6,
                reduce_id: 7
            }
        );
        assert_eq!(id("broadcast_9"), BlockId::broadcast(9));
        assert_eq!(
            id("broadcast_9_piece0"),
            BlockId::Broadcast {
                broadcast_id: 9,
                field: "piece0".into()
            }
        );
        assert_eq!(id("taskresult_77"), BlockId::TaskResult { task_id: 77 });
        assert_eq!(
            id("input-1-2"),
            BlockId::Stream {
                stream_id: 1,
                unique_id: 2
            }
        );
        assert_eq!(
            id("python-stream-1-2"),
            BlockId::PythonStream {
                stream_id: 1,
                unique_id: 2
            }
        );
        assert_eq!(
            id("python_worker_log_5_0_s-1_w"),
            BlockId::PythonWorkerLog {
                last_log_time: 5,
                executor_id: "0".into(),
                session_id: "s-1".into(),
                worker_id: "w".into()
            }
        );
        assert_eq!(
            id("temp_shuffle_00000000-0000-0001-8000-000000000002"),
            BlockId::TempShuffle {
                id: Uuid::from_u64_pair(1, 0x8000_0000_0000_0002)
            }
        );
        assert_eq!(id("test_x_y"), BlockId::Test { id: "x_y".into() });
    }

    #[test]
    fn other_text_survives_as_unknown() {
        for name in [
            "",
            "rdd_1",
            "rdd_01_2",
            "rdd_1_2_3",
            "shuffle_1_2_99999999999",
            "x",
            "shuffle_1_2_3.checksum.ADLER32",
        ] {
            assert_eq!(id(name), BlockId::Unknown(name.into()));
        }
    }

    proptest! {
        #[test]
        fn parsing_loses_nothing(
            name in "(rdd_|shuffle_|shuffleMerged_|shuffleChunk_|shufflePush_|broadcast_|input-|test_|temp_local_)?[-_.0-9a-z]{0,30}"
        ) {
            prop_assert_eq!(id(&name).to_string(), name);
        }

        #[test]
        fn numbers_survive(shuffle_id in 0i32.., map_id in 0i64.., reduce_id in 0i32..) {
            let block = BlockId::Shuffle { shuffle_id, map_id, reduce_id };
            prop_assert_eq!(id(&block.to_string()), block);
        }
    }
}
