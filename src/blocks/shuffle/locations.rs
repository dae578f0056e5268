//! From statuses of maps to blocks: which blocks of whom a reader wants.

use super::error::{FetchFailure, ShuffleError};
use indexmap::IndexMap;
use std::fmt;
use std::ops::Range;
use wire::ids::{BlockId, BlockManagerId};
use wire::map_status::MapStatus;

/// Spark's name of the storage that takes blocks of executors that go away without a peer.
const FALLBACK_STORAGE: &str = "fallback";

/// A part of a shuffle's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRange {
    /// The shuffle.
    pub shuffle_id: i32,
    /// Map partitions; an end beyond the last one stands for all.
    pub maps: Range<usize>,
    /// Reduce partitions.
    pub partitions: Range<i32>,
    /// Whether blocks of one map for neighbouring reducers may be read as one: the records' serializer allows it.
    pub batch: bool,
    /// Whether blocks may be columns.
    pub columns: bool,
}

/// One block that has data, or several neighbours of one map.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShuffleBlock {
    /// The shuffle.
    pub shuffle_id: i32,
    /// The map task.
    pub map_id: i64,
    /// Its partition.
    pub map_index: i32,
    /// Reduce partitions.
    pub reducers: Range<i32>,
    /// Whether this is a batch, even if of one.
    pub batch: bool,
    /// About how many bytes it has.
    pub size: i64,
}

impl ShuffleBlock {
    /// The block's id.
    pub fn id(&self) -> BlockId {
        let Self {
            shuffle_id, map_id, ..
        } = *self;
        match self.batch {
            false => BlockId::Shuffle {
                shuffle_id,
                map_id,
                reduce_id: self.reducers.start,
            },
            true => BlockId::ShuffleBatch {
                shuffle_id,
                map_id,
                start_reduce_id: self.reducers.start,
                end_reduce_id: self.reducers.end,
            },
        }
    }

    /// That this block could not be read from `address`.
    pub(super) fn failure(&self, address: &BlockManagerId, why: &str) -> FetchFailure {
        FetchFailure {
            address: Some(address.clone()),
            shuffle_id: self.shuffle_id,
            map_id: self.map_id,
            map_index: self.map_index,
            reduce_id: self.reducers.start,
            message: format!("org.apache.spark.shuffle.FetchFailedException: {why}"),
        }
    }
}

impl fmt::Display for ShuffleBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(f)
    }
}

/// The blocks with data in `range`, by who has them (`MapOutputTracker.convertMapStatuses`).
///
/// # Errors
/// An output is missing, or lies where only a JVM can read it.
pub(super) fn blocks_by_address(
    statuses: &[Option<MapStatus>],
    range: &ReadRange,
) -> Result<IndexMap<BlockManagerId, Vec<ShuffleBlock>>, ShuffleError> {
    let mut found: IndexMap<BlockManagerId, Vec<ShuffleBlock>> = IndexMap::new();
    let maps = statuses.iter().enumerate();
    let count = range.maps.end.saturating_sub(range.maps.start);
    for (map_index, status) in maps.skip(range.maps.start).take(count) {
        let Some(status) = status else {
            let why = format!(
                "Missing an output location for shuffle {} partition {}",
                range.shuffle_id, range.partitions.start
            );
            tracing::error!("{why}");
            let failure = FetchFailure::metadata(range.shuffle_id, range.partitions.start, &why);
            return Err(failure.into());
        };
        let mut blocks = Vec::new();
        for reducer in range.partitions.clone() {
            let size = match u32::try_from(reducer) {
                Ok(reducer) => status.size_for_block(reducer),
                Err(_) => 0,
            };
            if size == 0 {
                continue;
            }
            blocks.push(ShuffleBlock {
                shuffle_id: range.shuffle_id,
                map_id: status.map_id(),
                map_index: i32::try_from(map_index).unwrap_or(-1),
                reducers: reducer..reducer.saturating_add(1),
                batch: false,
                size,
            });
        }
        if blocks.is_empty() {
            continue;
        }
        let address = status.location();
        if address.executor_id == FALLBACK_STORAGE {
            let why = "shuffle files in fallback storage".to_owned();
            return Err(ShuffleError::Unsupported(why));
        }
        if range.batch && blocks.len() > 1 {
            blocks = batches(blocks);
        }
        found.entry(address.clone()).or_default().extend(blocks);
    }
    Ok(found)
}

/// Makes one of neighbouring blocks of one map. Blocks without data between them do not matter: their segments are
/// empty.
fn batches(blocks: Vec<ShuffleBlock>) -> Vec<ShuffleBlock> {
    let mut batches: Vec<ShuffleBlock> = Vec::new();
    for block in blocks {
        match batches.last_mut() {
            Some(last) => {
                last.reducers.end = block.reducers.end;
                last.size = last.size.saturating_add(block.size);
                last.batch = true;
            }
            None => batches.push(block),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::map_status_rules::MapStatusRules;

    fn address(executor: &str) -> BlockManagerId {
        BlockManagerId {
            executor_id: executor.to_owned(),
            host: "h".into(),
            port: 1,
            topology_info: None,
        }
    }

    fn status(executor: &str, map_id: i64, sizes: &[i64]) -> Option<MapStatus> {
        Some(MapStatusRules::default().map_status(address(executor), sizes, map_id, 0))
    }

    fn names(
        statuses: &[Option<MapStatus>],
        range: &ReadRange,
    ) -> Result<Vec<(String, Vec<String>)>, ShuffleError> {
        let found = blocks_by_address(statuses, range)?.into_iter();
        Ok(found
            .map(|(address, blocks)| {
                let names = blocks.iter().map(ToString::to_string).collect();
                (address.executor_id, names)
            })
            .collect())
    }

    fn range(maps: Range<usize>, partitions: Range<i32>, batch: bool) -> ReadRange {
        ReadRange {
            shuffle_id: 7,
            maps,
            partitions,
            batch,
            columns: false,
        }
    }

    #[test]
    fn blocks_without_data_are_not_wanted() {
        let statuses = [
            status("1", 10, &[5, 0, 6]),
            status("2", 11, &[0, 0, 1]),
            status("1", 12, &[1, 1, 1]),
        ];
        let all = names(&statuses, &range(0..usize::MAX, 0..3, false)).unwrap();
        let one = ["shuffle_7_10_0", "shuffle_7_10_2", "shuffle_7_12_0"];
        let one = one.into_iter().chain(["shuffle_7_12_1", "shuffle_7_12_2"]);
        let one: Vec<_> = one.map(str::to_owned).collect();
        assert_eq!(
            all,
            [
                ("1".to_owned(), one),
                ("2".to_owned(), vec!["shuffle_7_11_2".to_owned()])
            ]
        );
        let some = names(&statuses, &range(1..2, 0..2, false)).unwrap();
        assert_eq!(some, []);
        let batches = names(&statuses, &range(0..3, 0..3, true)).unwrap();
        assert_eq!(batches[0].1, ["shuffle_7_10_0_3", "shuffle_7_12_0_3"]);
        assert_eq!(batches[1].1, ["shuffle_7_11_2"]);
    }

    #[test]
    fn a_missing_output_is_a_failed_fetch_of_nobody() {
        let statuses = [status("1", 10, &[5]), None];
        let error = names(&statuses, &range(0..2, 0..1, false)).unwrap_err();
        let ShuffleError::FetchFailed(failure) = error else {
            panic!("{error}")
        };
        assert_eq!((failure.map_id, failure.map_index), (-1, -1));
        assert_eq!(failure.address, None);
        assert_eq!(
            failure.message,
            "org.apache.spark.shuffle.MetadataFetchFailedException: Missing an output location for shuffle 7 partition 0"
        );
        assert!(names(&statuses, &range(0..1, 0..1, false)).is_ok());
    }

    #[test]
    fn fallback_storage_is_left_to_a_jvm() {
        let statuses = [status("fallback", 10, &[5])];
        let error = names(&statuses, &range(0..1, 0..1, false)).unwrap_err();
        assert!(matches!(error, ShuffleError::Unsupported(_)));
    }
}
