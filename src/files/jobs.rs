//! What Hadoop's settings say of all jobs that write files.

use textfile::Compression;

use super::{FileError, FilePath, HadoopConf, is_written_scheme};

/// Settings that have one of these values, or must not be set if there is none, and whether Spark always sets them.
const EXPECTED: [(&str, bool, &[&str]); 1] =
    [("mapreduce.job.application.attempt.id", false, &["0"])];

/// How tasks commit. Spark always sets it.
const ALGORITHM: &str = "mapreduce.fileoutputcommitter.algorithm.version";

/// Who commits jobs, by a class and by file systems.
const COMMITTER_FACTORY: &str = "mapreduce.outputcommitter.factory";

/// Whether files of lines are packed, and by which codec.
const PACKED: &str = "mapreduce.output.fileoutputformat.compress";
const PACKED_BY: &str = "mapreduce.output.fileoutputformat.compress.codec";

/// How what an attempt has written becomes that of its job: the algorithms of `FileOutputCommitter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitAlgorithm {
    /// 1: the attempt's directory becomes the task's, and the driver moves the files of all tasks.
    Rename,
    /// 2: the attempt's files are moved to the job's.
    Merge,
}

fn refused(key: &str) -> FileError {
    FileError::unsupported(format!("a write with {key}"))
}

/// Where a job writes, and how its tasks commit.
///
/// # Errors
/// [`FileError::Unsupported`]: a file system that is not written to, or a job that is committed by something else than
/// a `FileOutputCommitter`.
pub fn job_path(path: &str, conf: &HadoopConf) -> Result<(FilePath, CommitAlgorithm), FileError> {
    // A path without a scheme is of whatever file system is Hadoop's default.
    let scheme = path.split_once(":/").map_or("", |(scheme, _)| scheme);
    if !is_written_scheme(scheme) {
        return Err(FileError::unsupported(format!("a write to {scheme}:")));
    }
    let path = FilePath::parse(path);
    check_committer(&path, conf)?;
    let algorithm = match conf.text(ALGORITHM).as_deref() {
        Some("1") => CommitAlgorithm::Rename,
        Some("2") => CommitAlgorithm::Merge,
        _ => return Err(refused(ALGORITHM)),
    };
    Ok((path, algorithm))
}

fn check_committer(path: &FilePath, conf: &HadoopConf) -> Result<(), FileError> {
    let of_scheme = format!("{COMMITTER_FACTORY}.scheme.{}", path.scheme);
    let usual: &[&str] = match path.scheme.as_str() {
        // It asks a setting of the file system, which is looked at with the others.
        "s3a" => &["org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"],
        _ => &[],
    };
    let every = format!("{COMMITTER_FACTORY}.class");
    let factories = [(&*every, false, &[][..]), (&*of_scheme, false, usual)];
    for (key, is_always_set, values) in EXPECTED.into_iter().chain(factories) {
        match conf.text(key) {
            None if is_always_set => return Err(refused(key)),
            Some(value) if !values.iter().any(|it| it.eq_ignore_ascii_case(&value)) => {
                return Err(refused(key));
            }
            _ => {}
        }
    }
    Ok(())
}

/// How files of lines are packed.
///
/// # Errors
/// [`FileError::Unsupported`]: a codec that is not here.
pub fn packed_by(conf: &HadoopConf) -> Result<Compression, FileError> {
    if !conf.flag(PACKED, false) {
        return Ok(Compression::None);
    }
    let codec = conf.text(PACKED_BY).ok_or_else(|| refused(PACKED_BY))?;
    let known = Compression::of_codec(&codec);
    known.ok_or_else(|| FileError::unsupported(format!("a write with {PACKED_BY} {codec}")))
}
