//! Files of `saveAsTextFile`: Spark's `SparkHadoopWriter` with Hadoop's `TextOutputFormat`.

use std::io::Write;

use javaser::types::Throwable;
use textfile::{Compression, Packed};

use crate::blocks::FileName;
use crate::config::declared;
use crate::files::{
    CommitAlgorithm, FileError, FilePath, FileSystems, HadoopConf, Output, Outputs, job_path,
    packed_by,
};
use crate::python::{Element, Elements};
use crate::task::{AttemptDir, AttemptNames, TaskContext, TaskError, ask_to_commit, cannot_write};

const FORMAT: &str = "mapred.output.format.class";
const TEXT: &str = "org.apache.hadoop.mapred.TextOutputFormat";
const COMMITTER: &str = "mapred.output.committer.class";
const FILE_COMMITTER: &str = "org.apache.hadoop.mapred.FileOutputCommitter";

/// Where a job writes, by its newer and older name.
const DIRECTORY: [&str; 2] = [
    "mapreduce.output.fileoutputformat.outputdir",
    "mapred.output.dir",
];

/// How a job writes, judged by its settings.
struct Job {
    path: FilePath,
    algorithm: CommitAlgorithm,
    outputs: Outputs,
    compression: Compression,
}

impl Job {
    fn new(conf: &HadoopConf, systems: &FileSystems) -> Result<Self, FileError> {
        let other = |key: &str| FileError::Unsupported(format!("a write with {key}").into());
        let directory = DIRECTORY.iter().find_map(|key| conf.text(key));
        let directory = directory.ok_or_else(|| other(DIRECTORY[0]))?;
        if conf.text(FORMAT).as_deref() != Some(TEXT) {
            return Err(other(FORMAT));
        }
        if conf
            .text(COMMITTER)
            .is_some_and(|class| class != FILE_COMMITTER)
        {
            return Err(other(COMMITTER));
        }
        let (path, algorithm) = job_path(&directory, conf)?;
        Ok(Self {
            outputs: systems.outputs(&path, conf, 0)?,
            compression: packed_by(conf)?,
            path,
            algorithm,
        })
    }
}

/// Writes the lines of a task of the job that the driver calls `tracker`, and commits them. Nothing is bailed out of
/// once the driver has agreed.
pub(in super::super) fn write(
    tracker: &str,
    (conf, systems): (&HadoopConf, &FileSystems),
    lines: Elements<'_>,
    context: &TaskContext,
) -> Result<(), TaskError> {
    let job = Job::new(conf, systems)?;
    let bail_out = |why: &dyn std::fmt::Display| TaskError::BailOut(why.to_string());
    // Attempts of a stage do not have numbers of their own.
    let number = context.stage_attempt << 16 | context.attempt_number;
    let names = AttemptNames::new(tracker, context, number);
    let names = names.map_err(|why| bail_out(&why))?;
    let mut attempt = AttemptDir::new(&job.outputs, &job.path, job.algorithm, &names);
    let name = format!(
        "part-{:05}{}",
        context.partition_id,
        job.compression.extension()
    );
    let name: FileName = name.parse().map_err(|why| bail_out(&why))?;
    let file = attempt.create(None, &name, &context.cancellation)?;
    let (bytes, count) = write_lines(Packed::new(job.compression, file), lines, context)?;
    let coordinated = &context.blocks.properties;
    let coordinated = coordinated.switch(&declared::OUTPUT_COMMIT_COORDINATION);
    if coordinated.map_err(|why| bail_out(&why))? {
        ask_to_commit(context)?;
    }
    attempt.commit().map_err(|error| {
        let cause = Throwable::new("java.io.IOException", error.to_string());
        TaskError::spark("Task failed while writing rows").caused_by(cause)
    })?;
    context.metrics.output.bytes_written.set(bytes);
    context.metrics.output.records_written.set(count);
    Ok(())
}

/// Gives the bytes of the file, and its lines.
fn write_lines(
    mut file: Packed<Output>,
    lines: Elements<'_>,
    context: &TaskContext,
) -> Result<(i64, i64), TaskError> {
    let mut count = 0;
    for line in lines {
        context.check()?;
        let Element::Text(line) = line? else {
            return Err(TaskError::BailOut("a line of something else".to_owned()));
        };
        file.write_all(&line)
            .and_then(|()| file.write_all(b"\n"))
            .map_err(cannot_write)?;
        count += 1;
    }
    let length = file
        .finish()
        .and_then(Output::finish)
        .map_err(cannot_write)?;
    Ok((i64::try_from(length).unwrap_or(i64::MAX), count))
}
