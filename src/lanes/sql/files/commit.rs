//! Committing what an attempt has written: Spark's `HadoopMapReduceCommitProtocol` over the first algorithm of Hadoop's
//! `FileOutputCommitter`. The attempt's directory becomes that of the task, once the driver's
//! `OutputCommitCoordinator` has agreed to it.

use std::io;
use std::path::{Path, PathBuf};

use javaser::types::Throwable;
use wire::messages::{AskPermissionToCommitOutput, reply};

use super::names::AttemptNames;
use crate::task::{TaskContext, TaskError};

/// What Hadoop calls the directories of work that is not done.
const PENDING: &str = "_temporary";
/// The attempt of the application, which Spark does not count.
const APPLICATION_ATTEMPT: &str = "0";

/// The directory of an attempt. It is removed if it was not committed.
#[derive(Debug)]
pub(super) struct AttemptDir {
    /// Where the attempt writes.
    work: PathBuf,
    /// Where the driver looks.
    committed: PathBuf,
    done: bool,
}

impl AttemptDir {
    /// That of an attempt of a job that writes to `job`. It is made with its first file.
    pub(super) fn new(job: &Path, names: &AttemptNames) -> Self {
        let pending = job.join(PENDING).join(APPLICATION_ATTEMPT);
        Self {
            work: pending.join(PENDING).join(names.attempt.as_str()),
            committed: pending.join(names.task.as_str()),
            done: false,
        }
    }

    /// Where files go.
    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    /// Makes the files those of the task.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(super) fn commit(mut self) -> io::Result<()> {
        remove(&self.committed)?;
        std::fs::rename(&self.work, &self.committed)?;
        self.done = true;
        Ok(())
    }
}

impl Drop for AttemptDir {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if let Err(error) = remove(&self.work) {
            tracing::warn!("Could not delete {}: {error}", self.work.display());
        }
    }
}

fn remove(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Asks the driver whether this attempt may commit.
///
/// # Errors
/// [`TaskError::CommitDenied`]; the task is to end; there is no answer.
pub(super) fn ask(context: &TaskContext) -> Result<(), TaskError> {
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

/// What Spark makes of an error while rows are written.
pub(super) fn write_failed(
    path: &str,
    spark: (u32, u32),
    cause: impl std::fmt::Display,
) -> TaskError {
    let state = match spark >= (4, 0) {
        true => " SQLSTATE: 58030",
        false => "",
    };
    let text = format!("[TASK_WRITE_FAILED] Task failed while writing rows to {path}.{state}");
    let cause = Throwable::new("java.io.IOException", cause.to_string());
    TaskError::spark(text).caused_by(cause)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::str::FromStr;

    use super::*;
    use crate::blocks::FileName;

    fn names() -> AttemptNames {
        AttemptNames {
            attempt: FileName::from_str("attempt_1_0000_m_000000_7").unwrap(),
            task: FileName::from_str("task_1_0000_m_000000").unwrap(),
        }
    }

    #[test]
    fn committed_files_are_where_the_driver_looks() {
        let dir = tempfile::tempdir().unwrap();
        let attempt = AttemptDir::new(dir.path(), &names());
        let work = attempt.work().to_owned();
        assert_eq!(
            work,
            dir.path()
                .join("_temporary/0/_temporary/attempt_1_0000_m_000000_7")
        );
        fs::create_dir_all(work.join("a=1")).unwrap();
        fs::write(work.join("a=1/part"), "rows").unwrap();
        // What an attempt that was lost has left.
        let task = dir.path().join("_temporary/0/task_1_0000_m_000000");
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("old"), "rows").unwrap();
        attempt.commit().unwrap();
        assert_eq!(fs::read(task.join("a=1/part")).unwrap(), b"rows");
        assert!(!task.join("old").exists() && !work.exists());
    }

    #[test]
    fn what_is_not_committed_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let attempt = AttemptDir::new(dir.path(), &names());
        let work = attempt.work().to_owned();
        fs::create_dir_all(&work).unwrap();
        fs::write(work.join("part"), "rows").unwrap();
        drop(attempt);
        assert!(!work.exists());
        // Nothing was written.
        drop(AttemptDir::new(dir.path(), &names()));
    }
}
