//! Which columns Parquet files have: the tasks of the job that `spark.read.parquet` starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalyst::StructField;
use catalyst::{SchemaFile, SchemaMerge};
use exec::schema;
use javaser::arena::NodeId;

use super::sources::open_local;
use crate::task::AcceptedTask;
use crate::task::{DecodedTask, TaskContext, TaskError, TaskValue};

/// A task that the lane can run.
#[derive(Debug)]
pub(super) struct SchemaPlan {
    merge: SchemaMerge,
    files: Vec<(PathBuf, u64)>,
}

impl SchemaPlan {
    /// Reads the task's partition.
    ///
    /// # Errors
    /// Why it is to be delegated.
    pub(super) fn new(merge: &SchemaMerge, task: &DecodedTask) -> Result<Self, String> {
        let files = merge
            .files(&task.task.graph, task.task.partition)
            .map_err(|why| why.to_string())?;
        let local = files.into_iter().map(|SchemaFile { path, size }| {
            local_path(&path)
                .map(|path| (path, size))
                .ok_or_else(|| "columns of files of other machines".to_owned())
        });
        Ok(Self {
            merge: merge.clone(),
            files: local.collect::<Result<_, _>>()?,
        })
    }

    /// The columns of all files, if they have the same.
    fn columns(&self, context: &TaskContext) -> Result<Option<Vec<StructField>>, TaskError> {
        let mut all = None;
        for (path, size) in &self.files {
            context.check()?;
            let columns = self.columns_of(path, *size).map_err(TaskError::BailOut)?;
            match &all {
                None => all = Some(columns),
                Some(known) if *known == columns => {}
                Some(_) => return Err(TaskError::BailOut("files with other columns".to_owned())),
            }
        }
        Ok(all)
    }

    fn columns_of(&self, path: &Path, size: u64) -> Result<Vec<StructField>, String> {
        schema::read(&open_local(path, size)?, self.merge.options)
    }
}

/// The path in what Hadoop's `Path` of a file of this host prints.
fn local_path(path: &str) -> Option<PathBuf> {
    let path = path.strip_prefix("file:")?;
    (path.starts_with('/') && !path.starts_with("//")).then(|| PathBuf::from(path))
}

impl AcceptedTask for SchemaPlan {
    fn run(self: Box<Self>, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError> {
        let columns = self.columns(context)?;
        schema::result(&context.blocks.catalog, columns.as_deref())
            .map(TaskValue::Result)
            .map_err(|why| TaskError::BailOut(format!("columns: {why}")))
    }

    fn accumulator(&self) -> Option<NodeId> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_not_escaped() {
        let path = |text| local_path(text).map(|path| path.display().to_string());
        assert_eq!(path("file:/a/b %20c.parquet").unwrap(), "/a/b %20c.parquet");
        for other in ["hdfs://host/a", "file://host/a", "/a", "file:a"] {
            assert_eq!(path(other), None, "{other}");
        }
    }
}
