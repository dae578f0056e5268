//! Files of reliable checkpoints (`ReliableCheckpointRDD`), one for each partition of an RDD.

use super::{FileError, FilePath, Output, Outputs};
use crate::cancel::Cancellation;

/// The file of a partition.
pub fn checkpoint_part(dir: &FilePath, partition: i32) -> FilePath {
    dir.child(&format!("part-{partition:05}"))
}

/// A file in the making. It has another name until it is whole, and is removed if it is dropped before.
#[derive(Debug)]
pub struct CheckpointFile<'o> {
    outputs: &'o Outputs,
    unfinished: FilePath,
    path: FilePath,
    is_done: bool,
}

impl<'o> CheckpointFile<'o> {
    /// Begins the file of a partition. Blocks.
    ///
    /// # Errors
    /// As [`Outputs::create`]
    pub fn create(
        outputs: &'o Outputs,
        dir: &FilePath,
        partition: i32,
        task_attempt_id: i64,
        cancellation: &Cancellation,
    ) -> Result<(Self, Output), FileError> {
        let name = format!(".part-{partition:05}-attempt-{task_attempt_id}");
        let file = Self {
            outputs,
            unfinished: dir.child(&name),
            path: checkpoint_part(dir, partition),
            is_done: false,
        };
        let output = outputs.create(&file.unfinished, cancellation)?;
        Ok((file, output))
    }

    /// Gives the file its name, after its output was finished. One that is there is kept: another attempt was faster.
    /// Blocks.
    ///
    /// # Errors
    /// As [`Outputs::rename_file`]
    pub fn finish(mut self) -> Result<(), FileError> {
        self.outputs.rename_file(&self.unfinished, &self.path)?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for CheckpointFile<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // What is left of it, if there is something.
            let _ = self.outputs.remove_file(&self.unfinished);
        }
    }
}
