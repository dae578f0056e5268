//! Rows to files: Spark's `FileFormatDataWriter`s.
//!
//! Nothing is visible before the driver has agreed to the attempt's commit; whatever goes wrong until then is left to
//! the JVM, which runs the same attempt.

mod format;
mod names;
mod settings;

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, AsArray, Int32Array, RecordBatch};
use catalyst::{FileWrite, Unsupported};
use datafusion_execution::memory_pool::MemoryPool;
use javaser::types::Throwable;
use rows::RowEncoder;
use rows::written::Written;

use self::format::{FileWriter, Format};
use self::names::{directory, file_name};
use self::settings::FileSettings;
use super::failure::of_run;
use super::result_format::ResultFormat;
use super::sink::{Finished, Sink};
use crate::blocks::{FileName, NotAFileName};
use crate::config::declared;
use crate::files::{CommitAlgorithm, FilePath, FileSystems, Outputs};
use crate::task::{
    AttemptDir, AttemptNames, TaskContext, TaskError, ask_to_commit, cannot_make, cannot_write,
};

/// Most files of a task with the rows of one directory: `MAX_FILE_COUNTER`.
const MAX_FILES: u32 = 1_000_000;

/// A write, judged once.
#[derive(Debug)]
pub(super) struct JudgedWrite {
    format: Format,
    outputs: Outputs,
    /// The directory of the job.
    job: FilePath,
    /// How its tasks commit.
    algorithm: CommitAlgorithm,
    /// Places of the files' columns.
    places: Vec<usize>,
}

impl JudgedWrite {
    /// Judges a write, with a session's properties.
    pub(super) fn new<'a>(
        write: &FileWrite,
        session: impl Fn(&str) -> Option<&'a str>,
        spark_version: &str,
        systems: &FileSystems,
    ) -> Result<Self, Unsupported> {
        let FileSettings {
            format,
            path,
            algorithm,
            conf,
        } = FileSettings::new(write, session, spark_version)?;
        let (places, columns): (Vec<_>, Vec<_>) = write.data.iter().cloned().unzip();
        if columns.is_empty() {
            return Err(Unsupported::of_use("a write without columns"));
        }
        let outputs = systems.outputs(&path, &conf, format.least_block());
        let outputs =
            outputs.map_err(|error| Unsupported::of_use(format!("a write: {}", error.reason())))?;
        let job = match write.dynamic_overwrite {
            true => {
                let staging = format!(".spark-staging-{}", write.job_id).parse();
                let staging: FileName = staging
                    .map_err(|error: NotAFileName| Unsupported::of_use(error.to_string()))?;
                path.child(staging.as_str())
            }
            false => path,
        };
        Ok(Self {
            format: Format::new(&columns, &write.format, &format)?,
            outputs,
            job,
            algorithm,
            places,
        })
    }
}

/// Writes the rows of one attempt.
pub(super) struct FilesSink<'a> {
    judged: &'a JudgedWrite,
    write: &'a FileWrite,
    attempt: AttemptDir<'a>,
    /// The file that is written, and how many rows it has.
    file: Option<(FileWriter<'a>, u64)>,
    /// The number of the file among those of its directory.
    number: u32,
    partition: Option<Partition>,
    /// The bucket that the rows of the file belong to, where there are buckets.
    bucket: Option<i32>,
    /// Of the columns of partitions, as Spark compares them.
    encoder: RowEncoder,
    written: Written,
    format: ResultFormat,
    memory: Arc<dyn MemoryPool>,
    context: &'a TaskContext,
}

/// The rows that belong to one directory.
struct Partition {
    /// The values of its columns.
    row: Box<[u8]>,
    directory: String,
}

impl<'a> FilesSink<'a> {
    pub(super) fn new(
        judged: &'a JudgedWrite,
        write: &'a FileWrite,
        format: ResultFormat,
        memory: &Arc<dyn MemoryPool>,
        context: &'a TaskContext,
    ) -> Result<Self, TaskError> {
        let bail_out = |why: String| TaskError::BailOut(why);
        // `taskAttemptId.toInt & Int.MaxValue`
        let attempt = (context.task_attempt_id & i64::from(i32::MAX)) as i32;
        let names = AttemptNames::new(&write.tracker_id, context, attempt);
        let names = names.map_err(|error| bail_out(error.to_string()))?;
        let types = write.partitions.iter();
        let types = types.map(|partition| &partition.attribute.data_type);
        Ok(Self {
            judged,
            write,
            attempt: AttemptDir::new(&judged.outputs, &judged.job, judged.algorithm, &names),
            file: None,
            number: 0,
            partition: None,
            bucket: None,
            encoder: RowEncoder::new(types).map_err(|why| bail_out(why.to_string()))?,
            written: Written {
                partition_columns: write.partitions.len(),
                ..Written::default()
            },
            format,
            memory: Arc::clone(memory),
            context,
        })
    }

    /// Writes rows that belong to the directory of the file.
    fn write_rows(&mut self, mut batch: RecordBatch) -> Result<(), TaskError> {
        while batch.num_rows() > 0 {
            let most = self.write.max_records.unwrap_or(u64::MAX);
            if self.file.as_ref().is_some_and(|(_, rows)| *rows >= most) {
                self.close()?;
                self.number += 1;
            }
            if self.file.is_none() {
                self.open()?;
            }
            let Some((writer, rows)) = &mut self.file else {
                return Err(TaskError::BailOut("no open file".to_owned()));
            };
            let room = usize::try_from(most - *rows).unwrap_or(usize::MAX);
            let count = batch.num_rows().min(room);
            let now = batch.slice(0, count);
            let written = writer.write(&now, &self.judged.places);
            written.map_err(of_run)?;
            *rows += count as u64;
            self.written.rows += i64::try_from(count).unwrap_or(i64::MAX);
            batch = batch.slice(count, batch.num_rows() - count);
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), TaskError> {
        if self.number >= MAX_FILES {
            return Err(TaskError::BailOut("too many files of a task".to_owned()));
        }
        let extension = self.judged.format.extension();
        let name = file_name(
            self.write,
            self.context.partition_id,
            (self.bucket, self.number),
            extension,
        );
        let name = name.map_err(|error| TaskError::BailOut(error.to_string()))?;
        let directory = self.partition.as_ref().map(|of| of.directory.as_str());
        let out = self
            .attempt
            .create(directory, &name, &self.context.cancellation);
        let out = out.map_err(|error| cannot_make(&error))?;
        let writer = self.judged.format.writer(out, &self.memory);
        let writer = writer.map_err(of_run)?;
        self.file = Some((writer, 0));
        Ok(())
    }

    fn close(&mut self) -> Result<(), TaskError> {
        let Some((writer, _)) = self.file.take() else {
            return Ok(());
        };
        let output = writer.finish().map_err(of_run)?;
        let length = output.finish().map_err(cannot_write)?;
        self.written.files += 1;
        self.written.bytes += i64::try_from(length).unwrap_or(i64::MAX);
        Ok(())
    }

    /// Writes rows that are sorted by their partitions and buckets.
    fn write_groups(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let places: Vec<_> = self.write.partitions.iter().map(|of| of.place).collect();
        let values = batch.project(&places);
        let values = values.map_err(|error| TaskError::BailOut(error.to_string()))?;
        let mut encoder = std::mem::replace(&mut self.encoder, RowEncoder::opaque(None));
        let rows = encoder.encode(&values).map_err(of_run)?;
        let buckets = buckets(self.write, batch)?;
        let bucket = |at: usize| buckets.map(|buckets| buckets.value(at));
        let mut start = 0;
        while start < batch.num_rows() {
            let (row, own) = (rows.row(start), bucket(start));
            let all = start..batch.num_rows();
            let count = all
                .take_while(|at| rows.row(*at) == row && bucket(*at) == own)
                .count();
            let is_new =
                !places.is_empty() && self.partition.as_ref().is_none_or(|of| *of.row != *row);
            if is_new || self.bucket != own {
                self.close()?;
                self.number = 0;
                self.bucket = own;
            }
            if is_new {
                self.begin_partition(row, batch, start)?;
            }
            self.write_rows(batch.slice(start, count))?;
            start += count;
        }
        self.encoder = encoder;
        Ok(())
    }

    fn begin_partition(
        &mut self,
        row: &[u8],
        batch: &RecordBatch,
        at: usize,
    ) -> Result<(), TaskError> {
        let directory = directory(&self.write.partitions, batch, at)
            .ok_or_else(|| TaskError::BailOut("a partition that names no directory".to_owned()))?;
        self.written.partitions.push(row.into());
        self.written.directories.push(directory.clone());
        let row = row.into();
        self.partition = Some(Partition { row, directory });
        Ok(())
    }

    /// Whether the rows say which file they belong to.
    fn is_divided(&self) -> bool {
        !self.write.partitions.is_empty() || self.write.bucket.is_some()
    }

    /// Takes the files for those of the task.
    fn commit(self) -> Result<(), TaskError> {
        let properties = &self.context.blocks.properties;
        let failed = |why: &dyn std::fmt::Display| {
            let spark = self.context.blocks.catalog.spark_version();
            let spark = declared::version_of(&spark.unwrap_or_default());
            write_failed(&self.write.path, spark, why)
        };
        let coordinated = properties.switch(&declared::OUTPUT_COMMIT_COORDINATION);
        if coordinated.map_err(|error| failed(&error))? {
            ask_to_commit(self.context)?;
        }
        self.attempt.commit().map_err(|error| failed(&error))
    }
}

/// The buckets of rows, if there are any.
fn buckets<'b>(
    write: &FileWrite,
    batch: &'b RecordBatch,
) -> Result<Option<&'b Int32Array>, TaskError> {
    let Some(place) = write.bucket else {
        return Ok(None);
    };
    let column = batch.columns().get(place);
    let buckets = column.and_then(|column| column.as_primitive_opt());
    let buckets = buckets.filter(|buckets: &&Int32Array| buckets.null_count() == 0);
    match buckets {
        Some(buckets) => Ok(Some(buckets)),
        None => Err(TaskError::BailOut("rows without buckets".to_owned())),
    }
}

/// What Spark makes of an error while rows are written.
fn write_failed(path: &str, spark: (u32, u32), cause: impl std::fmt::Display) -> TaskError {
    let state = match spark >= (4, 0) {
        true => " SQLSTATE: 58030",
        false => "",
    };
    let text = format!("[TASK_WRITE_FAILED] Task failed while writing rows to {path}.{state}");
    let cause = Throwable::new("java.io.IOException", cause.to_string());
    TaskError::spark(text).caused_by(cause)
}

impl Sink for FilesSink<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        match self.is_divided() {
            false => self.write_rows(batch.clone()),
            true => self.write_groups(batch),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Finished, TaskError> {
        let is_first = self.context.partition_id == 0;
        if is_first && !self.is_divided() && self.file.is_none() {
            // Of a table without rows, there is a file to read the columns from.
            self.open()?;
        }
        self.close()?;
        self.written.directories.sort_unstable();
        self.written.directories.dedup();
        // Once the driver has agreed, there is no way back to the JVM.
        let catalog = &self.context.blocks.catalog;
        let dynamic = self.write.dynamic_overwrite;
        let value = self.format.written(catalog, &self.written, dynamic);
        let mut finished = Finished::result(value.map_err(of_run)?);
        let metrics = &self.context.metrics.output;
        let (bytes, rows) = (self.written.bytes, self.written.rows);
        let begun = Instant::now();
        let commit_time = self.write.commit_time;
        if self.written.files > 0 {
            self.commit()?;
        }
        metrics.bytes_written.set(bytes);
        metrics.records_written.set(rows);
        let millis = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        finished.metrics.push((commit_time, millis));
        Ok(finished)
    }
}
