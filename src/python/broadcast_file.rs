//! Files of broadcast variables, which workers read.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::BroadcastFile;
use crate::blocks::broadcast::{Broadcasts, PythonBroadcastReader, TorrentBroadcastRef};
use crate::blocks::{FileName, LocalDirs};
use crate::task::{TaskContext, TaskError};

/// The file of a broadcast variable, fetched when it is asked for.
#[derive(Debug)]
pub struct FetchedFile {
    /// The variable.
    pub broadcast: TorrentBroadcastRef,
    /// Values of broadcasts.
    pub broadcasts: Arc<Broadcasts>,
}

/// Where the file of a Python program's broadcast is; Spark's name for the block.
pub fn broadcast_file(dirs: &LocalDirs, id: i64) -> PathBuf {
    dirs.path(&FileName::of_python_broadcast(id))
}

impl BroadcastFile for FetchedFile {
    fn path(&self, context: &TaskContext) -> Result<PathBuf, TaskError> {
        let path = broadcast_file(&context.blocks.local_dirs, self.broadcast.id);
        if path.exists() {
            return Ok(path);
        }
        let value = self
            .broadcasts
            .blocking_reader(&self.broadcast, &context.cancellation)?;
        let mut value = PythonBroadcastReader::new(BufReader::new(value))?;
        // Several tasks may do this at a time; the last one's file stays.
        let unfinished = path.with_extension(uuid::Uuid::new_v4().to_string());
        let written =
            write_file(&unfinished, &mut value).and_then(|()| std::fs::rename(&unfinished, &path));
        if let Err(error) = written {
            // What is left of it.
            let _ = std::fs::remove_file(&unfinished);
            return Err(error.into());
        }
        Ok(path)
    }
}

fn write_file(path: &Path, value: &mut impl Read) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    io::copy(value, &mut File::create(path)?).map(drop)
}
