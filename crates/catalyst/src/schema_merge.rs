//! `SchemaMergeUtils.mergeSchemasInParallel` over Parquet files: the job that `spark.read.parquet` runs to find out
//! which columns there are.

use javaser::arena::{Graph, NodeId, Value};

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::parallel_job::{hadoop_conf, mapped, values};

/// A stage of such a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaMerge {
    /// Hadoop's settings in the stage's graph, a `SerializableConfiguration`.
    pub conf: NodeId,
    /// What columns are where a file's footer leaves it open.
    pub options: SchemaOptions,
}

/// Settings of `ParquetToSparkSchemaConverter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaOptions {
    /// `spark.sql.parquet.binaryAsString`
    pub binary_as_string: bool,
    /// `spark.sql.parquet.int96AsTimestamp`
    pub int96_as_timestamp: bool,
    /// `spark.sql.parquet.inferTimestampNTZ.enabled`
    pub infer_timestamp_ntz: bool,
}

/// A file of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFile {
    /// As Hadoop's `Path` prints itself: nothing is escaped.
    pub path: String,
    /// Its bytes.
    pub size: u64,
}

impl SchemaMerge {
    /// Reads the pair in a stage's binary: its RDD and the function that its partitions are given to. `None` if it is
    /// another kind of stage.
    ///
    /// # Errors
    /// [`Unsupported`] says why the stage is to be delegated.
    pub fn read(graph: &Graph, rdd: NodeId, function: NodeId) -> Result<Option<Self>> {
        let name = (
            "sql.execution.datasources.SchemaMergeUtils$",
            "mergeSchemasInParallel",
        );
        let Some(merge) = mapped(graph, (rdd, function), name)? else {
            return Ok(None);
        };
        let formats = merge.inner(graph).ok_or_else(|| merge.unsupported())?;
        if formats.name()
            != (
                "sql.execution.datasources.parquet.ParquetFileFormat$",
                "mergeSchemasInParallel",
            )
        {
            return Err(formats.unsupported());
        }
        // All versions begin with these; what others have behind them matters to files that are left to Spark.
        let flag = |index: usize| {
            let value = formats.args.get(index);
            value
                .and_then(|value| graph.bool(*value))
                .ok_or_else(|| formats.unsupported())
        };
        Ok(Some(Self {
            conf: hadoop_conf(graph, &merge)?,
            options: SchemaOptions {
                binary_as_string: flag(0)?,
                int96_as_timestamp: flag(1)?,
                infer_timestamp_ntz: flag(2)?,
            },
        }))
    }

    /// The files of a task, from the `Partition` in the task's own graph.
    ///
    /// # Errors
    /// [`Unsupported`] says why the task is to be delegated.
    pub fn files(&self, graph: &Graph, partition: NodeId) -> Result<Vec<SchemaFile>> {
        let files = values(graph, partition)?.into_iter();
        files.map(|file| read_file(graph, file)).collect()
    }
}

fn read_file(graph: &Graph, file: Value) -> Result<SchemaFile> {
    let missing = || Unsupported::of_use("files without a path and a size");
    let pair = graph.tuple(file);
    let [path, size] = pair.as_deref().unwrap_or_default() else {
        return Err(missing());
    };
    let size = graph.int(*size).and_then(|size| u64::try_from(size).ok());
    Ok(SchemaFile {
        path: graph.str(*path).ok_or_else(missing)?.into_owned(),
        size: size.ok_or_else(missing)?,
    })
}
