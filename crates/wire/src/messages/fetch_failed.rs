use super::message;
use crate::ids::BlockManagerId;
use serde::{Deserialize, Serialize};

/// Why a task attempt failed that could not read a shuffle block: `org.apache.spark.FetchFailed`, the `data` of a
/// [`StatusUpdate`](super::StatusUpdate) with state `FAILED`. The driver runs the map stage again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.FetchFailed", rename_all = "camelCase")]
pub struct FetchFailed {
    /// Who should have served the block.
    pub bm_address: Option<BlockManagerId>,
    /// The shuffle.
    pub shuffle_id: i32,
    /// Task attempt id of the map task, -1 if unknown.
    pub map_id: i64,
    /// Map partition, -1 if unknown.
    pub map_index: i32,
    /// Reduce partition.
    pub reduce_id: i32,
    /// What went wrong.
    pub message: String,
}

message!(FetchFailed, "org.apache.spark.FetchFailed");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::catalog;
    use testkit::VERSIONS;

    #[test]
    fn with_and_without_address() {
        for version in VERSIONS {
            for bm_address in [
                None,
                Some(BlockManagerId {
                    executor_id: "1".into(),
                    host: "h".into(),
                    port: 7,
                    topology_info: None,
                }),
            ] {
                let failure = FetchFailed {
                    bm_address,
                    shuffle_id: 1,
                    map_id: 2,
                    map_index: 3,
                    reduce_id: 4,
                    message: "gone".into(),
                };
                let bytes = failure.encode(catalog(version)).unwrap();
                assert_eq!(FetchFailed::decode(&bytes).unwrap(), failure);
            }
        }
    }
}
