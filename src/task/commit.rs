//! Committing what an attempt has written: Spark's `HadoopMapReduceCommitProtocol` over both algorithms of Hadoop's
//! `FileOutputCommitter`. The attempt's directory becomes that of the task, or its files those of the job, once the
//! driver's `OutputCommitCoordinator` has agreed to it.

use std::io;
use std::str::FromStr;
use std::sync::Arc;

use wire::messages::{AskPermissionToCommitOutput, reply};

use super::{TaskContext, TaskError};
use crate::blocks::{FileName, NotAFileName};
use crate::cancel::Cancellation;
use crate::files::{CommitAlgorithm, FileError, FilePath, Output, Outputs};

/// What Hadoop calls the directories of work that is not done.
const PENDING: &str = "_temporary";
/// The attempt of the application, which Spark does not count.
const APPLICATION_ATTEMPT: &str = "0";

/// The names of an attempt's directories below that of the job (`FileOutputCommitter`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptNames {
    /// Where the attempt writes: `attempt_20260101120000123_0003_m_000007_42`
    attempt: FileName,
    /// Where the driver finds it: `task_20260101120000123_0003_m_000007`
    task: FileName,
}

impl AttemptNames {
    /// Those of a task's attempt that its job has this number for.
    ///
    /// # Errors
    /// What the driver calls its job is no part of a name.
    pub fn new(
        tracker_id: &str,
        context: &TaskContext,
        attempt: i32,
    ) -> Result<Self, NotAFileName> {
        let (stage, partition) = (context.stage_id, context.partition_id);
        let task = format!("{tracker_id}_{stage:04}_m_{partition:06}");
        Ok(Self {
            attempt: FileName::from_str(&format!("attempt_{task}_{attempt}"))?,
            task: FileName::from_str(&format!("task_{task}"))?,
        })
    }
}

/// The directory of an attempt. It is removed if it was not committed.
#[derive(Debug)]
pub struct AttemptDir<'a> {
    outputs: &'a Outputs,
    /// Where the attempt writes.
    work: FilePath,
    /// Where the driver looks.
    committed: FilePath,
    algorithm: CommitAlgorithm,
    /// The files, as their names below the directory; they are removed if they were not committed.
    files: Vec<String>,
}

impl<'a> AttemptDir<'a> {
    /// That of an attempt of a job that writes to `job`. It is made with its first file.
    pub fn new(
        outputs: &'a Outputs,
        job: &FilePath,
        algorithm: CommitAlgorithm,
        names: &AttemptNames,
    ) -> Self {
        let pending = job.child(PENDING).child(APPLICATION_ATTEMPT);
        Self {
            outputs,
            work: pending.child(PENDING).child(names.attempt.as_str()),
            committed: match algorithm {
                CommitAlgorithm::Rename => pending.child(names.task.as_str()),
                CommitAlgorithm::Merge => job.clone(),
            },
            algorithm,
            files: Vec::new(),
        }
    }

    /// Makes a file in a directory below this one, or in this one.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(
        &mut self,
        directory: Option<&str>,
        name: &FileName,
        cancellation: &Cancellation,
    ) -> Result<Output, FileError> {
        let file = match directory {
            Some(directory) => format!("{directory}/{name}"),
            None => name.to_string(),
        };
        let path = self.work.child(&file);
        self.files.push(file);
        self.outputs.create(&path, cancellation)
    }

    /// Makes the files those of the task, or of the job.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn commit(mut self) -> Result<(), FileError> {
        let (work, committed) = (&self.work, &self.committed);
        match self.algorithm {
            CommitAlgorithm::Rename => self.outputs.replace_dir(work, committed)?,
            CommitAlgorithm::Merge => self.outputs.merge_dir(work, committed, &self.files)?,
        }
        self.files.clear();
        Ok(())
    }
}

impl Drop for AttemptDir<'_> {
    fn drop(&mut self) {
        if self.files.is_empty() {
            return;
        }
        if let Err(error) = self.outputs.remove_dir(&self.work) {
            tracing::warn!("Could not delete {}: {error}", self.work);
        }
    }
}

/// Asks the driver's `OutputCommitCoordinator` whether this attempt may commit.
///
/// # Errors
/// [`TaskError::CommitDenied`]; the task is to end; there is no answer.
pub fn ask_to_commit(context: &TaskContext) -> Result<(), TaskError> {
    let blocks = &context.blocks;
    let failed = |why: String| TaskError::spark(why);
    let request = AskPermissionToCommitOutput {
        stage: context.stage_id,
        stage_attempt: context.stage_attempt,
        partition: context.partition_id,
        attempt_number: context.attempt_number,
    };
    let request = request
        .encode(&blocks.catalog)
        .map_err(|error| failed(error.to_string()))?;
    let answer = blocks.runtime.block_on(async {
        tokio::select! {
            biased;
            reason = context.cancellation.cancelled() => Err(TaskError::Killed(reason)),
            answer = blocks.driver.may_commit(request.into(), blocks.ask_timeout) => Ok(answer),
        }
    })?;
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    match reply::read_boolean(&answer) {
        Ok(true) => Ok(()),
        Ok(false) => Err(TaskError::CommitDenied {
            stage_id: context.stage_id,
            partition_id: context.partition_id,
            attempt_number: context.attempt_number,
        }),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// What an attempt ends with that cannot make a file: the JVM finds Spark's own words for it.
pub fn cannot_make(error: &FileError) -> TaskError {
    match error {
        FileError::Cancelled(reason) => TaskError::Killed(Arc::clone(reason)),
        FileError::Unsupported(reason) => TaskError::BailOut(format!("a write: {reason}")),
        FileError::NotFound(_) | FileError::Failed { .. } => {
            tracing::warn!("Could not write: {error}");
            TaskError::BailOut("a file that cannot be written".to_owned())
        }
    }
}

/// The same of one that cannot write it.
pub fn cannot_write(error: io::Error) -> TaskError {
    match FileError::of_io(&error) {
        Some(error) => cannot_make(error),
        None => TaskError::BailOut(format!("a file that cannot be written: {}", error.kind())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use tokio::runtime::Runtime;

    use super::*;
    use crate::files::{FileSystems, HadoopConf};

    struct Job {
        dir: tempfile::TempDir,
        path: FilePath,
        outputs: Outputs,
        names: AttemptNames,
        _runtime: Runtime,
    }

    fn job() -> Job {
        let runtime = Runtime::new().unwrap();
        let systems = FileSystems::of_test(&runtime);
        let dir = tempfile::tempdir().unwrap();
        let path = FilePath::parse(&format!("file:{}", dir.path().display()));
        let outputs = systems.outputs(&path, &HadoopConf::default(), 0);
        Job {
            outputs: outputs.unwrap(),
            names: AttemptNames {
                attempt: FileName::from_str("attempt_1_0000_m_000000_7").unwrap(),
                task: FileName::from_str("task_1_0000_m_000000").unwrap(),
            },
            dir,
            path,
            _runtime: runtime,
        }
    }

    impl Job {
        fn attempt(&self, algorithm: CommitAlgorithm) -> AttemptDir<'_> {
            AttemptDir::new(&self.outputs, &self.path, algorithm, &self.names)
        }
    }

    fn write(attempt: &mut AttemptDir<'_>, directory: Option<&str>) {
        let name = FileName::from_str("part").unwrap();
        let file = attempt.create(directory, &name, &Cancellation::default());
        let mut file = file.unwrap();
        file.write_all(b"rows").unwrap();
        assert_eq!(file.finish().unwrap(), 4);
    }

    #[test]
    fn committed_files_are_where_the_driver_looks() {
        let job = job();
        let mut attempt = job.attempt(CommitAlgorithm::Rename);
        write(&mut attempt, Some("a=1/b=2"));
        let pending = job.dir.path().join("_temporary/0");
        let work = pending.join("_temporary/attempt_1_0000_m_000000_7");
        assert!(work.join("a=1/b=2/part").exists());
        // What an attempt that was lost has left.
        let task = pending.join("task_1_0000_m_000000");
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("old"), "rows").unwrap();
        attempt.commit().unwrap();
        assert_eq!(fs::read(task.join("a=1/b=2/part")).unwrap(), b"rows");
        assert!(!task.join("old").exists() && !work.exists());
    }

    #[test]
    fn what_is_not_committed_is_removed() {
        let job = job();
        let mut attempt = job.attempt(CommitAlgorithm::Rename);
        write(&mut attempt, None);
        let work = job
            .dir
            .path()
            .join("_temporary/0/_temporary/attempt_1_0000_m_000000_7");
        assert!(work.join("part").exists());
        drop(attempt);
        assert!(!work.exists());
        // Nothing was written.
        drop(job.attempt(CommitAlgorithm::Rename));
    }

    #[test]
    fn files_are_moved_to_those_of_the_job() {
        let job = job();
        let mut attempt = job.attempt(CommitAlgorithm::Merge);
        write(&mut attempt, Some("a=1/b=2"));
        write(&mut attempt, None);
        // What the committed half of an attempt that was lost has left, and what is of other tasks.
        let dir = job.dir.path();
        fs::write(dir.join("part"), "old rows").unwrap();
        fs::write(dir.join(".part.crc"), "old").unwrap();
        fs::create_dir(dir.join("a=1")).unwrap();
        fs::write(dir.join("a=1/other"), "rows").unwrap();
        attempt.commit().unwrap();
        for file in ["part", "a=1/b=2/part"] {
            assert_eq!(fs::read(dir.join(file)).unwrap(), b"rows");
        }
        assert!(
            fs::read(dir.join(".part.crc"))
                .unwrap()
                .starts_with(b"crc\0")
        );
        assert!(dir.join("a=1/b=2/.part.crc").exists() && dir.join("a=1/other").exists());
        let pending = dir.join("_temporary/0/_temporary");
        assert_eq!(fs::read_dir(pending).unwrap().count(), 0);
    }
}
