//! What a task that writes files returns: `WriteTaskResult`.

use std::collections::BTreeMap;

use datafusion_common::Result;
use javaser::Catalog;
use javaser::types::{Body, External, Typed};
use serde::Serialize;

use crate::error::bail_out;

/// What a task has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The directories of partitions below that of the table, each once: `a=1/b=x`.
    pub directories: Vec<String>,
    /// Values of the partitions' columns, as `UnsafeRow`s.
    pub partitions: Vec<Box<[u8]>>,
    /// How many columns those have.
    pub partition_columns: usize,
    /// Files.
    pub files: i32,
    /// Bytes of the files.
    pub bytes: i64,
    /// Rows.
    pub rows: i64,
}

/// What a task returns that was committed as part of a job of `SparkHadoopWriter`.
///
/// # Errors
/// Bail-out: a class is not as expected.
pub fn committed(catalog: &Catalog) -> Result<Vec<u8>> {
    let message = TaskCommitMessage::new(Vec::new());
    javaser::to_vec(&message, catalog).map_err(|why| bail_out(format!("a result: {why}")))
}

#[derive(Serialize)]
#[serde(
    rename = "org.apache.spark.sql.execution.datasources.WriteTaskResult",
    rename_all = "camelCase"
)]
struct WriteTaskResult {
    commit_msg: TaskCommitMessage,
    summary: ExecutedWriteSummary,
}

#[derive(Serialize)]
#[serde(rename = "org.apache.spark.internal.io.FileCommitProtocol$TaskCommitMessage")]
struct TaskCommitMessage {
    /// Files with locations of their own, and the partitions that are replaced.
    obj: (Typed<BTreeMap<String, String>>, Typed<Vec<String>>),
}

impl TaskCommitMessage {
    fn new(replaced: Vec<String>) -> Self {
        Self {
            obj: (
                Typed::new("Lscala/collection/immutable/Map;", BTreeMap::new()),
                Typed::new("Lscala/collection/immutable/Set;", replaced),
            ),
        }
    }
}

#[derive(Serialize)]
#[serde(
    rename = "org.apache.spark.sql.execution.datasources.ExecutedWriteSummary",
    rename_all = "camelCase"
)]
struct ExecutedWriteSummary {
    updated_partitions: Vec<String>,
    stats: [BasicWriteTaskStats; 1],
}

#[derive(Serialize)]
#[serde(
    rename = "org.apache.spark.sql.execution.datasources.BasicWriteTaskStats",
    rename_all = "camelCase"
)]
struct BasicWriteTaskStats {
    partitions: Vec<External>,
    num_files: i32,
    num_bytes: i64,
    num_rows: i64,
}

impl Written {
    /// The result of the task. With `dynamic_overwrite` the committer is told which partitions it replaces.
    ///
    /// # Errors
    /// Bail-out: a class is not as expected.
    pub fn result(&self, catalog: &Catalog, dynamic_overwrite: bool) -> Result<Vec<u8>> {
        let replaced = match dynamic_overwrite {
            true => self.directories.clone(),
            false => Vec::new(),
        };
        let result = WriteTaskResult {
            commit_msg: TaskCommitMessage::new(replaced),
            summary: ExecutedWriteSummary {
                updated_partitions: self.directories.clone(),
                stats: [BasicWriteTaskStats {
                    partitions: self.partitions.iter().map(|row| self.row(row)).collect(),
                    num_files: self.files,
                    num_bytes: self.bytes,
                    num_rows: self.rows,
                }],
            },
        };
        javaser::to_vec(&result, catalog).map_err(|why| bail_out(format!("a result: {why}")))
    }

    fn row(&self, row: &[u8]) -> External {
        // Rows are of at most 2 GiB, and of far fewer columns.
        let body = Body::new()
            .i32((row.len() as u32).cast_signed())
            .i32((self.partition_columns as u32).cast_signed())
            .bytes(row);
        External::new("org.apache.spark.sql.catalyst.expressions.UnsafeRow", body)
    }
}
