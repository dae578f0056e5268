//! Files and directories of Hadoop's file systems (Spark's `Utils.fetchHcfsFile`).

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::place::check;
use super::uri::{Uri, is_plain_name};
use crate::cancel::Cancellation;
use crate::files::{FileError, FilePath, FileStatus, FileSystems};
use crate::task::TaskError;

/// Deepest directory that is believed.
const MAX_DEPTH: usize = 100;

/// Fails if the JVM has to fetch it.
pub(super) fn accepts(systems: &FileSystems, uri: &Uri<'_>) -> Result<(), TaskError> {
    let path = path_of(uri)?;
    systems.of(&path, systems.executor_conf()?)?;
    Ok(())
}

fn path_of(uri: &Uri<'_>) -> Result<FilePath, TaskError> {
    FilePath::of_uri(uri.target)
        .ok_or_else(|| TaskError::BailOut(format!("files of {}: with such names", uri.scheme)))
}

/// Copies a file, or a directory and what is below it, to `dest`, where nothing is.
pub(super) fn fetch(
    systems: &FileSystems,
    uri: &Uri<'_>,
    dest: &Path,
    cancellation: &Cancellation,
) -> Result<(), TaskError> {
    let path = path_of(uri)?;
    let file_system = systems.of(&path, systems.executor_conf()?)?;
    let found = systems.wait(cancellation, file_system.status(&path))?;
    let copy = Copy {
        systems,
        cancellation,
    };
    copy.tree(&found, dest, 0)
}

struct Copy<'a> {
    systems: &'a FileSystems,
    cancellation: &'a Cancellation,
}

impl Copy<'_> {
    fn tree(&self, found: &FileStatus, dest: &Path, depth: usize) -> Result<(), TaskError> {
        check(self.cancellation)?;
        let conf = self.systems.executor_conf()?;
        if !found.is_dir {
            let part = 0..found.length;
            let input = self
                .systems
                .input(&found.path, part, conf, self.cancellation);
            io::copy(&mut input?, &mut File::create_new(dest)?)?;
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(TaskError::io(format!("{} is too deep", found.path)));
        }
        fs::create_dir(dest)?;
        let file_system = self.systems.of(&found.path, conf)?;
        let entries = self
            .systems
            .wait(self.cancellation, file_system.list(&found.path))?;
        for entry in entries {
            let name = entry.path.name().to_owned();
            if !is_plain_name(&name) {
                let error = FileError::NotFound(entry.path.to_string().into());
                return Err(error.into());
            }
            self.tree(&entry, &dest.join(name), depth + 1)?;
        }
        Ok(())
    }
}
