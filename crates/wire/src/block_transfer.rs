//! Requests and answers of block servers (`BlockTransferMessage` of Spark's `network-shuffle`).
//!
//! A message is the body of an `RpcRequest` or `RpcResponse` frame, or the meta part of an `UploadStream`
//! frame: one type byte and the fields. All integers are big-endian; strings and byte arrays have an i32 length,
//! arrays an i32 count. Nothing is allocated for a count that the bytes cannot hold, so a message never
//! takes more memory than a small multiple of its own size.
//!
//! The layout is the same in Spark 3.5 to 4.3.

use crate::WireError;
use crate::codec::{Reader, Write};
use bytes::Bytes;
use serde::Serialize;

/// One message. The fields carry Spark's names and mean what they mean there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the fields carry Spark's names")]
pub enum BlockTransferMessage {
    /// Asks for blocks by name; answered with [`Self::StreamHandle`], chunk `i` is block `i`.
    OpenBlocks {
        app_id: String,
        exec_id: String,
        block_ids: Vec<String>,
    },
    /// A block to be stored; answered with an empty body. `metadata` is a Java object stream.
    UploadBlock {
        app_id: String,
        exec_id: String,
        block_id: String,
        #[serde(serialize_with = "crate::json::serialize_bytes")]
        metadata: Bytes,
        #[serde(serialize_with = "crate::json::serialize_bytes")]
        block_data: Bytes,
    },
    /// An executor makes itself known to the external shuffle service.
    RegisterExecutor {
        app_id: String,
        exec_id: String,
        executor_info: ExecutorShuffleInfo,
    },
    /// A stream was opened.
    StreamHandle { stream_id: i64, num_chunks: i32 },
    /// A block to be stored whose data follow the frame.
    UploadBlockStream {
        block_id: String,
        #[serde(serialize_with = "crate::json::serialize_bytes")]
        metadata: Bytes,
    },
    /// Asks the external shuffle service to remove blocks.
    RemoveBlocks {
        app_id: String,
        exec_id: String,
        block_ids: Vec<String>,
    },
    /// The answer to [`Self::RemoveBlocks`].
    BlocksRemoved { num_removed_blocks: i32 },
    /// Asks for shuffle blocks; answered with [`Self::StreamHandle`].
    FetchShuffleBlocks(FetchShuffleBlocks),
    /// Asks for the local directories of executors on this host.
    GetLocalDirsForExecutors {
        app_id: String,
        exec_ids: Vec<String>,
    },
    /// The answer to [`Self::GetLocalDirsForExecutors`]: directories by executor.
    LocalDirsForExecutors {
        local_dirs_by_exec: Vec<(String, Vec<String>)>,
    },
    /// A shuffle block to be merged; its data follow the frame.
    PushBlockStream {
        app_id: String,
        app_attempt_id: i32,
        shuffle_id: i32,
        shuffle_merge_id: i32,
        map_index: i32,
        reduce_id: i32,
        index: i32,
    },
    /// Asks the external shuffle service to end a merge.
    FinalizeShuffleMerge {
        app_id: String,
        app_attempt_id: i32,
        shuffle_id: i32,
        shuffle_merge_id: i32,
    },
    /// The answer to [`Self::FinalizeShuffleMerge`]. Bitmaps are serialized Roaring bitmaps.
    MergeStatuses {
        shuffle_id: i32,
        shuffle_merge_id: i32,
        #[serde(serialize_with = "crate::json::serialize_byte_arrays")]
        bitmaps: Vec<Bytes>,
        reduce_ids: Vec<i32>,
        sizes: Vec<i64>,
    },
    /// Asks for chunks of merged shuffle blocks.
    FetchShuffleBlockChunks {
        app_id: String,
        exec_id: String,
        shuffle_id: i32,
        shuffle_merge_id: i32,
        reduce_ids: Vec<i32>,
        chunk_ids: Vec<Vec<i32>>,
    },
    /// Asks why a shuffle block arrived damaged.
    DiagnoseCorruption {
        app_id: String,
        exec_id: String,
        shuffle_id: i32,
        map_id: i64,
        reduce_id: i32,
        checksum: i64,
        algorithm: String,
    },
    /// The answer to [`Self::DiagnoseCorruption`].
    CorruptionCause { cause: Cause },
    /// The answer to [`Self::PushBlockStream`]: 0 for success, else why not.
    BlockPushReturnCode {
        return_code: u8,
        failure_block_id: String,
    },
    /// Asks the external shuffle service to remove merged blocks.
    RemoveShuffleMerge {
        app_id: String,
        app_attempt_id: i32,
        shuffle_id: i32,
        shuffle_merge_id: i32,
    },
}

/// Stands behind a [`FetchShuffleBlocks`] or a `GetLocalDirsForExecutors` of a native executor: whoever asks can read
/// columns. Nothing of Spark's looks behind the last field of a message.
pub const TAKES_COLUMNS: &[u8] = b"FCOL";

/// Blocks of one shuffle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchShuffleBlocks {
    /// Application id.
    pub app_id: String,
    /// Id of the executor that is asked.
    pub exec_id: String,
    /// Shuffle.
    pub shuffle_id: i32,
    /// Map outputs.
    pub map_ids: Vec<i64>,
    /// For each map output the reducers, or `[start, end)` with `batch_fetch_enabled`.
    pub reduce_ids: Vec<Vec<i32>>,
    /// Whether a chunk is a range of reducers of one map output instead of one reducer's block.
    pub batch_fetch_enabled: bool,
}

/// Where an executor keeps its shuffle files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutorShuffleInfo {
    /// Its `blockmgr-…` directories.
    pub local_dirs: Vec<String>,
    /// `spark.diskStore.subDirectories`.
    pub sub_dirs_per_local_dir: i32,
    /// Class name of the shuffle manager, with `:` and a JSON object behind it for push-based shuffle.
    pub shuffle_manager: String,
}

/// Why a shuffle block arrived damaged. An unknown value survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cause(pub u8);

impl Cause {
    /// The block is damaged in the file.
    pub const DISK_ISSUE: Self = Self(0);
    /// The block was damaged on its way.
    pub const NETWORK_ISSUE: Self = Self(1);
    /// It cannot be found out.
    pub const UNKNOWN_ISSUE: Self = Self(2);
    /// The block is as it was written.
    pub const CHECKSUM_VERIFY_PASS: Self = Self(3);
    /// The checksum's algorithm is not known.
    pub const UNSUPPORTED_CHECKSUM_ALGORITHM: Self = Self(4);
}

impl BlockTransferMessage {
    /// Reads a message; byte fields share the body's memory.
    ///
    /// # Errors
    /// [`WireError`] if the type is not known or a field runs past the end.
    pub fn read(body: &Bytes) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let r = &mut r;
        let shared = |bytes: &[u8]| body.slice_ref(bytes);
        Ok(match r.u8("message type")? {
            0 => Self::OpenBlocks {
                app_id: r.str32("appId")?,
                exec_id: r.str32("execId")?,
                block_ids: strings(r, "blockIds")?,
            },
            1 => Self::UploadBlock {
                app_id: r.str32("appId")?,
                exec_id: r.str32("execId")?,
                block_id: r.str32("blockId")?,
                metadata: shared(r.bytes32("metadata")?),
                block_data: shared(r.bytes32("blockData")?),
            },
            2 => Self::RegisterExecutor {
                app_id: r.str32("appId")?,
                exec_id: r.str32("execId")?,
                executor_info: ExecutorShuffleInfo {
                    local_dirs: strings(r, "localDirs")?,
                    sub_dirs_per_local_dir: r.i32("subDirsPerLocalDir")?,
                    shuffle_manager: r.str32("shuffleManager")?,
                },
            },
            3 => Self::StreamHandle {
                stream_id: r.i64("streamId")?,
                num_chunks: r.i32("numChunks")?,
            },
            6 => Self::UploadBlockStream {
                block_id: r.str32("blockId")?,
                metadata: shared(r.bytes32("metadata")?),
            },
            7 => Self::RemoveBlocks {
                app_id: r.str32("appId")?,
                exec_id: r.str32("execId")?,
                block_ids: strings(r, "blockIds")?,
            },
            8 => Self::BlocksRemoved {
                num_removed_blocks: r.i32("numRemovedBlocks")?,
            },
            9 => Self::FetchShuffleBlocks(FetchShuffleBlocks {
                app_id: r.str32("appId")?,
                exec_id: r.str32("execId")?,
                shuffle_id: r.i32("shuffleId")?,
                map_ids: longs(r, "mapIds")?,
                reduce_ids: int_arrays(r, "reduceIds")?,
                batch_fetch_enabled: r.bool("batchFetchEnabled")?,
            }),
            10 => Self::GetLocalDirsForExecutors {
                app_id: r.str32("appId")?,
                exec_ids: strings(r, "execIds")?,
            },
            11 => local_dirs_for_executors(r)?,
            12 => Self::PushBlockStream {
                app_id: r.str32("appId")?,
                app_attempt_id: r.i32("appAttemptId")?,
                shuffle_id: r.i32("shuffleId")?,
                shuffle_merge_id: r.i32("shuffleMergeId")?,
                map_index: r.i32("mapIndex")?,
                reduce_id: r.i32("reduceId")?,
                index: r.i32("index")?,
            },
            13 => Self::FinalizeShuffleMerge {
                app_id: r.str32("appId")?,
                app_attempt_id: r.i32("appAttemptId")?,
                shuffle_id: r.i32("shuffleId")?,
                shuffle_merge_id: r.i32("shuffleMergeId")?,
            },
            14 => Self::MergeStatuses {
                shuffle_id: r.i32("shuffleId")?,
                shuffle_merge_id: r.i32("shuffleMergeId")?,
                bitmaps: few_items(r, "bitmaps", |r| Ok(shared(r.bytes32("bitmap")?)))?,
                reduce_ids: ints(r, "reduceIds")?,
                sizes: longs(r, "sizes")?,
            },
            15 => Self::FetchShuffleBlockChunks {
                app_id: r.str32("appId")?,
                exec_id: r.str32("execId")?,
                shuffle_id: r.i32("shuffleId")?,
                shuffle_merge_id: r.i32("shuffleMergeId")?,
                reduce_ids: ints(r, "reduceIds")?,
                chunk_ids: int_arrays(r, "chunkIds")?,
            },
            16 => Self::DiagnoseCorruption {
                app_id: r.str32("appId")?,
                exec_id: r.str32("execId")?,
                shuffle_id: r.i32("shuffleId")?,
                map_id: r.i64("mapId")?,
                reduce_id: r.i32("reduceId")?,
                checksum: r.i64("checksum")?,
                algorithm: r.str32("algorithm")?,
            },
            17 => Self::CorruptionCause {
                cause: Cause(r.u8("cause")?),
            },
            18 => Self::BlockPushReturnCode {
                return_code: r.u8("returnCode")?,
                failure_block_id: r.str32("failureBlockId")?,
            },
            19 => Self::RemoveShuffleMerge {
                app_id: r.str32("appId")?,
                app_attempt_id: r.i32("appAttemptId")?,
                shuffle_id: r.i32("shuffleId")?,
                shuffle_merge_id: r.i32("shuffleMergeId")?,
            },
            kind => {
                let why = format!("Unknown message type: {kind}");
                return Err(WireError::malformed("block transfer message", why));
            }
        })
    }

    /// The bytes of the message.
    ///
    /// # Errors
    /// [`WireError::Length`] if a field is longer than 2 GiB.
    pub fn write(&self) -> Result<Vec<u8>, WireError> {
        let mut out = vec![self.kind()];
        match self {
            Self::OpenBlocks {
                app_id,
                exec_id,
                block_ids,
            }
            | Self::RemoveBlocks {
                app_id,
                exec_id,
                block_ids,
            } => {
                put_texts(&mut out, &[app_id, exec_id])?;
                put_strings(&mut out, block_ids)?;
            }
            Self::UploadBlock {
                app_id,
                exec_id,
                block_id,
                metadata,
                block_data,
            } => {
                put_texts(&mut out, &[app_id, exec_id, block_id])?;
                out.put_bytes32("metadata", metadata)?;
                out.put_bytes32("blockData", block_data)?;
            }
            Self::RegisterExecutor {
                app_id,
                exec_id,
                executor_info,
            } => {
                put_texts(&mut out, &[app_id, exec_id])?;
                put_strings(&mut out, &executor_info.local_dirs)?;
                out.put_i32(executor_info.sub_dirs_per_local_dir);
                put_texts(&mut out, &[&executor_info.shuffle_manager])?;
            }
            Self::StreamHandle {
                stream_id,
                num_chunks,
            } => {
                out.put_i64(*stream_id);
                out.put_i32(*num_chunks);
            }
            Self::UploadBlockStream { block_id, metadata } => {
                put_texts(&mut out, &[block_id])?;
                out.put_bytes32("metadata", metadata)?;
            }
            Self::BlocksRemoved { num_removed_blocks } => out.put_i32(*num_removed_blocks),
            Self::FetchShuffleBlocks(fetch) => {
                put_texts(&mut out, &[&fetch.app_id, &fetch.exec_id])?;
                out.put_i32(fetch.shuffle_id);
                put_longs(&mut out, &fetch.map_ids)?;
                put_int_arrays(&mut out, &fetch.reduce_ids)?;
                out.put_bool(fetch.batch_fetch_enabled);
            }
            Self::GetLocalDirsForExecutors { app_id, exec_ids } => {
                put_texts(&mut out, &[app_id])?;
                put_strings(&mut out, exec_ids)?;
            }
            Self::LocalDirsForExecutors { local_dirs_by_exec } => {
                out.put_count("execIds", local_dirs_by_exec.len())?;
                for (exec_id, _) in local_dirs_by_exec {
                    put_texts(&mut out, &[exec_id])?;
                }
                out.put_count("numLocalDirsByExec", local_dirs_by_exec.len())?;
                for (_, dirs) in local_dirs_by_exec {
                    out.put_count("numLocalDirs", dirs.len())?;
                }
                out.put_count(
                    "allLocalDirs",
                    local_dirs_by_exec.iter().map(|(_, dirs)| dirs.len()).sum(),
                )?;
                for dir in local_dirs_by_exec.iter().flat_map(|(_, dirs)| dirs) {
                    put_texts(&mut out, &[dir])?;
                }
            }
            Self::PushBlockStream {
                app_id,
                app_attempt_id,
                shuffle_id,
                shuffle_merge_id,
                map_index,
                reduce_id,
                index,
            } => {
                put_texts(&mut out, &[app_id])?;
                for value in [
                    app_attempt_id,
                    shuffle_id,
                    shuffle_merge_id,
                    map_index,
                    reduce_id,
                    index,
                ] {
                    out.put_i32(*value);
                }
            }
            Self::FinalizeShuffleMerge {
                app_id,
                app_attempt_id,
                shuffle_id,
                shuffle_merge_id,
            }
            | Self::RemoveShuffleMerge {
                app_id,
                app_attempt_id,
                shuffle_id,
                shuffle_merge_id,
            } => {
                put_texts(&mut out, &[app_id])?;
                for value in [app_attempt_id, shuffle_id, shuffle_merge_id] {
                    out.put_i32(*value);
                }
            }
            Self::MergeStatuses {
                shuffle_id,
                shuffle_merge_id,
                bitmaps,
                reduce_ids,
                sizes,
            } => {
                out.put_i32(*shuffle_id);
                out.put_i32(*shuffle_merge_id);
                out.put_count("bitmaps", bitmaps.len())?;
                for bitmap in bitmaps {
                    out.put_bytes32("bitmap", bitmap)?;
                }
                put_ints(&mut out, reduce_ids)?;
                put_longs(&mut out, sizes)?;
            }
            Self::FetchShuffleBlockChunks {
                app_id,
                exec_id,
                shuffle_id,
                shuffle_merge_id,
                reduce_ids,
                chunk_ids,
            } => {
                put_texts(&mut out, &[app_id, exec_id])?;
                out.put_i32(*shuffle_id);
                out.put_i32(*shuffle_merge_id);
                put_ints(&mut out, reduce_ids)?;
                put_int_arrays(&mut out, chunk_ids)?;
            }
            Self::DiagnoseCorruption {
                app_id,
                exec_id,
                shuffle_id,
                map_id,
                reduce_id,
                checksum,
                algorithm,
            } => {
                put_texts(&mut out, &[app_id, exec_id])?;
                out.put_i32(*shuffle_id);
                out.put_i64(*map_id);
                out.put_i32(*reduce_id);
                out.put_i64(*checksum);
                put_texts(&mut out, &[algorithm])?;
            }
            Self::CorruptionCause { cause } => out.push(cause.0),
            Self::BlockPushReturnCode {
                return_code,
                failure_block_id,
            } => {
                out.push(*return_code);
                put_texts(&mut out, &[failure_block_id])?;
            }
        }
        Ok(out)
    }

    /// The type byte. 4 and 5 are reserved.
    fn kind(&self) -> u8 {
        match self {
            Self::OpenBlocks { .. } => 0,
            Self::UploadBlock { .. } => 1,
            Self::RegisterExecutor { .. } => 2,
            Self::StreamHandle { .. } => 3,
            Self::UploadBlockStream { .. } => 6,
            Self::RemoveBlocks { .. } => 7,
            Self::BlocksRemoved { .. } => 8,
            Self::FetchShuffleBlocks(_) => 9,
            Self::GetLocalDirsForExecutors { .. } => 10,
            Self::LocalDirsForExecutors { .. } => 11,
            Self::PushBlockStream { .. } => 12,
            Self::FinalizeShuffleMerge { .. } => 13,
            Self::MergeStatuses { .. } => 14,
            Self::FetchShuffleBlockChunks { .. } => 15,
            Self::DiagnoseCorruption { .. } => 16,
            Self::CorruptionCause { .. } => 17,
            Self::BlockPushReturnCode { .. } => 18,
            Self::RemoveShuffleMerge { .. } => 19,
        }
    }
}

fn local_dirs_for_executors(r: &mut Reader<'_>) -> Result<BlockTransferMessage, WireError> {
    let exec_ids = strings(r, "execIds")?;
    let counts = ints(r, "numLocalDirsByExec")?;
    let mut dirs = strings(r, "allLocalDirs")?.into_iter();
    let malformed = |why: &str| WireError::malformed("LocalDirsForExecutors", why);
    if exec_ids.len() != counts.len() {
        return Err(malformed(
            "the number of counts differs from the number of executors",
        ));
    }
    let local_dirs_by_exec = exec_ids
        .into_iter()
        .zip(counts)
        .map(|(exec_id, count)| match usize::try_from(count) {
            Ok(count) if count <= dirs.len() => Ok((exec_id, dirs.by_ref().take(count).collect())),
            _ => Err(malformed("a count of directories is wrong")),
        })
        .collect::<Result<_, _>>()?;
    Ok(BlockTransferMessage::LocalDirsForExecutors { local_dirs_by_exec })
}

/// An i32 count and that many items of at least `size` bytes each.
fn items<'a, T>(
    r: &mut Reader<'a>,
    what: &'static str,
    size: usize,
    mut item: impl FnMut(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    let count = r.count(what, size)?;
    (0..count).map(|_| item(r)).collect()
}

/// Items of one list that take more memory than bytes of the message. No executor has as many blocks.
const MAX_ITEMS: usize = 1 << 20;

/// As [`items`], of a kind that takes more memory than bytes of the message.
fn few_items<'a, T>(
    r: &mut Reader<'a>,
    what: &'static str,
    item: impl FnMut(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    match r.clone().i32(what)? {
        count if usize::try_from(count).is_ok_and(|count| count > MAX_ITEMS) => {
            Err(WireError::Length {
                what,
                len: count.into(),
                max: MAX_ITEMS as u64,
            })
        }
        _ => items(r, what, 4, item),
    }
}

fn strings(r: &mut Reader<'_>, what: &'static str) -> Result<Vec<String>, WireError> {
    few_items(r, what, |r| r.str32(what))
}

fn ints(r: &mut Reader<'_>, what: &'static str) -> Result<Vec<i32>, WireError> {
    items(r, what, 4, |r| r.i32(what))
}

fn longs(r: &mut Reader<'_>, what: &'static str) -> Result<Vec<i64>, WireError> {
    items(r, what, 8, |r| r.i64(what))
}

fn int_arrays(r: &mut Reader<'_>, what: &'static str) -> Result<Vec<Vec<i32>>, WireError> {
    few_items(r, what, |r| ints(r, what))
}

fn put_texts(out: &mut Vec<u8>, texts: &[&String]) -> Result<(), WireError> {
    texts
        .iter()
        .try_for_each(|text| out.put_bytes32("string", text.as_bytes()))
}

fn put_strings(out: &mut Vec<u8>, texts: &[String]) -> Result<(), WireError> {
    out.put_count("strings", texts.len())?;
    texts
        .iter()
        .try_for_each(|text| out.put_bytes32("string", text.as_bytes()))
}

fn put_ints(out: &mut Vec<u8>, values: &[i32]) -> Result<(), WireError> {
    out.put_count("ints", values.len())?;
    values.iter().for_each(|value| out.put_i32(*value));
    Ok(())
}

fn put_longs(out: &mut Vec<u8>, values: &[i64]) -> Result<(), WireError> {
    out.put_count("longs", values.len())?;
    values.iter().for_each(|value| out.put_i64(*value));
    Ok(())
}

fn put_int_arrays(out: &mut Vec<u8>, arrays: &[Vec<i32>]) -> Result<(), WireError> {
    out.put_count("int arrays", arrays.len())?;
    arrays.iter().try_for_each(|values| put_ints(out, values))
}

#[cfg(test)]
#[path = "block_transfer_tests.rs"]
mod tests;
