//! Which columns Parquet files have: the tasks of the job that `spark.read.parquet` starts.

use std::sync::Arc;

use bytes::Bytes;
use catalyst::StructField;
use catalyst::{SchemaFile, SchemaMerge};
use exec::{FileBytes, schema};
use javaser::arena::NodeId;

use super::failure::of_source;
use super::source_files::{LocalFileBytes, open_local};
use crate::files::{FilePath, FileSystems, HadoopConf, RangeFile};
use crate::task::AcceptedTask;
use crate::task::{DecodedTask, TaskContext, TaskError, TaskValue};

/// What the tasks of a stage have in common.
#[derive(Debug, Clone)]
pub(super) struct SchemaJob {
    pub(super) merge: SchemaMerge,
    pub(super) conf: Arc<HadoopConf>,
}

/// A task that the lane can run.
#[derive(Debug)]
pub(super) struct SchemaPlan {
    job: SchemaJob,
    systems: Arc<FileSystems>,
    files: Vec<(FilePath, u64)>,
}

impl SchemaPlan {
    /// Reads the task's partition.
    ///
    /// # Errors
    /// Why it is to be delegated.
    pub(super) fn new(
        job: &SchemaJob,
        systems: &Arc<FileSystems>,
        task: &DecodedTask,
    ) -> Result<Self, String> {
        let files = job.merge.files(&task.task.graph, task.task.partition);
        let files = files.map_err(|why| why.to_string())?.into_iter();
        Ok(Self {
            job: job.clone(),
            systems: Arc::clone(systems),
            files: files
                .map(|SchemaFile { path, size }| (FilePath::parse(&path), size))
                .collect(),
        })
    }

    /// The columns of all files, if they have the same.
    fn columns(&self, context: &TaskContext) -> Result<Option<Vec<StructField>>, TaskError> {
        let mut all = None;
        for (path, size) in &self.files {
            context.check()?;
            let columns = self.columns_of(path, *size, context);
            // What was read in vain because the task is to end says nothing.
            context.check()?;
            let columns = columns.map_err(TaskError::BailOut)?;
            match &all {
                None => all = Some(columns),
                Some(known) if *known == columns => {}
                Some(_) => return Err(TaskError::BailOut("files with other columns".to_owned())),
            }
        }
        Ok(all)
    }

    fn columns_of(
        &self,
        path: &FilePath,
        size: u64,
        context: &TaskContext,
    ) -> Result<Vec<StructField>, String> {
        let bytes: Arc<dyn FileBytes> = match path.scheme.as_str() {
            "file" if path.authority.is_empty() => {
                Arc::new(LocalFileBytes(open_local(&path.local(), size)?))
            }
            _ => {
                let (conf, cancellation) = (&self.job.conf, &context.cancellation);
                let file = self.systems.ranges(path, size, conf, cancellation);
                Arc::new(Remote(file.map_err(|why| why.reason())?))
            }
        };
        schema::read(bytes, size, self.job.merge.options)
    }
}

/// A file of another machine. What is read of it is not told: Spark does not either, as these tasks read no rows.
#[derive(Debug)]
struct Remote(RangeFile);

impl FileBytes for Remote {
    fn read_at(&self, range: std::ops::Range<u64>) -> datafusion_common::Result<Bytes> {
        let mut read = self.read_ranges(&[range])?;
        Ok(read.pop().unwrap_or_default())
    }

    fn read_ranges(
        &self,
        ranges: &[std::ops::Range<u64>],
    ) -> datafusion_common::Result<Vec<Bytes>> {
        self.0.read(ranges).map_err(of_source)
    }

    fn is_remote(&self) -> bool {
        true
    }
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
