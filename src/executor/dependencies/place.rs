//! Putting files into the working directory, beside an embedded JVM that may do the same at the same time.
//!
//! A file appears there whole or not at all. The JVM copies in place, so what it is writing right now may be seen half
//! done.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tracing::info;
use uuid::Uuid;

use crate::cancel::Cancellation;
use crate::task::TaskError;

/// How long a file that is shorter than ours may stay unchanged before it counts as another file and not as one being
/// written.
const GROWING: Duration = Duration::from_secs(2);
/// How often a tree is swapped for one that somebody else removes meanwhile.
const ATTEMPTS: usize = 5;
const BUFFER: usize = 64 << 10;

/// A file or directory that goes away with this value, unless it has been moved.
#[derive(Debug)]
pub(super) struct Temp(PathBuf);

impl Temp {
    /// A name in `dir` like those of Spark's own unfinished downloads.
    pub(super) fn in_dir(dir: &Path) -> Self {
        Self(dir.join(format!("fetchFileTemp{}.tmp", Uuid::new_v4().simple())))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the file, readable and writable as the process's umask allows.
    pub(super) fn create(&self) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&self.0)
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = remove(&self.0);
    }
}

/// Removes a file or a tree; what is not there is no error. A symbolic link is removed, not followed.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Moves `new` to `dest`, which came from `url`, by Spark's rules (`Utils.copyFile`): what is there already with equal
/// content stays, other content is replaced if `overwrite` and else an error.
pub(super) fn place(
    url: &str,
    new: Temp,
    dest: &Path,
    overwrite: bool,
    cancellation: &Cancellation,
) -> Result<(), TaskError> {
    if rename_new(new.path(), dest)? {
        return Ok(());
    }
    if settle(url, new.path(), dest, overwrite, cancellation)? {
        return Ok(());
    }
    // Replaced at once: others see the old file or the new one.
    if fs::symlink_metadata(dest).is_ok_and(|meta| meta.is_dir()) {
        remove(dest)?;
    }
    fs::rename(new.path(), dest)?;
    Ok(())
}

/// As [`place`], for a source that stays where it is.
pub(super) fn copy(
    url: &str,
    source: &Path,
    dest: &Path,
    overwrite: bool,
    cancellation: &Cancellation,
) -> Result<(), TaskError> {
    if dest.exists() && settle(url, source, dest, overwrite, cancellation)? {
        return Ok(());
    }
    let dir = dest.parent().unwrap_or(Path::new("."));
    let new = Temp::in_dir(dir);
    info!(target: "Utils", "Copying {} to {}", source.display(), dest.display());
    copy_tree(source, new.path(), cancellation)?;
    place(url, new, dest, overwrite, cancellation)
}

/// True if `dest` has the content of `source` (perhaps after another writer has finished), false if it shall be
/// replaced.
fn settle(
    url: &str,
    source: &Path,
    dest: &Path,
    overwrite: bool,
    cancellation: &Cancellation,
) -> Result<bool, TaskError> {
    let len = |path| {
        fs::metadata(path)
            .ok()
            .filter(Metadata::is_file)
            .map(|meta| meta.len())
    };
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        // Before the contents are compared: the other writer may finish between the two.
        let lengths = (len(dest), len(source));
        if equal(source, dest)? {
            info!(target: "Utils", "{} has been previously copied to {}", source.display(), dest.display());
            return Ok(true);
        }
        match lengths {
            (Some(now), Some(whole)) if now < whole => {
                if now != seen {
                    (seen, since) = (now, Instant::now());
                }
                if since.elapsed() >= GROWING {
                    break;
                }
            }
            _ => break,
        }
        check(cancellation)?;
        std::thread::sleep(Duration::from_millis(20));
    }
    let shown = dest.display();
    if !overwrite {
        return Err(TaskError::spark(format!(
            "File {shown} exists and does not match contents of {url}"
        )));
    }
    info!(target: "Utils", "File {shown} exists and does not match contents of {url}, replacing it with {url}");
    Ok(false)
}

/// Fails if the task has been told to stop.
pub(super) fn check(cancellation: &Cancellation) -> Result<(), TaskError> {
    cancellation
        .reason()
        .map_or(Ok(()), |reason| Err(TaskError::Killed(reason)))
}

/// Renames unless `dest` exists; false if it does.
fn rename_new(from: &Path, dest: &Path) -> io::Result<bool> {
    match renameat_with(CWD, from, CWD, dest, RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(true),
        Err(rustix::io::Errno::EXIST) => return Ok(false),
        // The file system cannot do it.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
        Err(error) => return Err(error.into()),
    }
    if fs::symlink_metadata(from)?.is_dir() {
        // A directory replaces nothing but an empty directory.
        return match fs::rename(from, dest) {
            Err(error) if fs::symlink_metadata(dest).is_ok() => {
                tracing::debug!(target: "Utils", "{}: {error}", dest.display());
                Ok(false)
            }
            done => done.map(|()| true),
        };
    }
    match fs::hard_link(from, dest) {
        Ok(()) => fs::remove_file(from).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Puts the unpacked tree (or plain file) `new` where `dest` is or shall be. A tree that has the same content already
/// stays, because tasks may be using it; what Python's compiler has added to it does not count.
pub(super) fn swap_tree(new: Temp, dest: &Path) -> io::Result<()> {
    if let Some(parent) = dest.parent() {
        fs::create_dir_all(parent)?;
    }
    for _ in 0..ATTEMPTS {
        if rename_new(new.path(), dest)? {
            return Ok(());
        }
        match covers(dest, new.path()) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        match renameat_with(CWD, new.path(), CWD, dest, RenameFlags::EXCHANGE) {
            // What was there has the temporary name now.
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::NOENT) => {}
            Err(_) => remove(dest)?,
        }
    }
    Err(io::Error::other(format!(
        "{} is changed by somebody else all the time",
        dest.display()
    )))
}

/// True if `old` has everything that `new` has, and nothing more than compiled Python.
fn covers(old: &Path, new: &Path) -> io::Result<bool> {
    let (old_meta, new_meta) = (fs::symlink_metadata(old)?, fs::symlink_metadata(new)?);
    if old_meta.file_type() != new_meta.file_type() {
        return Ok(false);
    }
    if new_meta.is_symlink() {
        return Ok(fs::read_link(old)? == fs::read_link(new)?);
    }
    if !new_meta.is_dir() {
        return files_equal(old, new);
    }
    for entry in fs::read_dir(new)? {
        let entry = entry?;
        let twin = old.join(entry.file_name());
        match fs::symlink_metadata(&twin) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            _ if !covers(&twin, &entry.path())? => return Ok(false),
            _ => {}
        }
    }
    for entry in fs::read_dir(old)? {
        let name = entry?.file_name();
        let compiled =
            name == "__pycache__" || Path::new(&name).extension().is_some_and(|e| e == "pyc");
        if !compiled && fs::symlink_metadata(new.join(&name)).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two files or trees have the same names and contents (`Utils.filesEqualRecursive`).
fn equal(one: &Path, other: &Path) -> io::Result<bool> {
    let (Ok(one_meta), Ok(other_meta)) = (fs::metadata(one), fs::metadata(other)) else {
        return Ok(false);
    };
    if one_meta.is_file() && other_meta.is_file() {
        let same = one_meta.ino() == other_meta.ino() && one_meta.dev() == other_meta.dev();
        return Ok(same || files_equal(one, other)?);
    }
    if !one_meta.is_dir() || !other_meta.is_dir() {
        return Ok(false);
    }
    let (names, others) = (names(one)?, names(other)?);
    if names != others {
        return Ok(false);
    }
    for name in names {
        if !equal(&one.join(&name), &other.join(&name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn names(dir: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names = fs::read_dir(dir)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn files_equal(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (Vec::with_capacity(BUFFER), Vec::with_capacity(BUFFER));
    loop {
        left.clear();
        right.clear();
        (&mut one).take(BUFFER as u64).read_to_end(&mut left)?;
        (&mut other).take(BUFFER as u64).read_to_end(&mut right)?;
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
    }
}

/// Copies a file with its permissions as far as the umask lets, or a directory with all that is in it.
pub(super) fn copy_tree(
    source: &Path,
    dest: &Path,
    cancellation: &Cancellation,
) -> Result<(), TaskError> {
    check(cancellation)?;
    let meta = fs::metadata(source).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            TaskError::exception("java.nio.file.NoSuchFileException", source.display())
        }
        _ => error.into(),
    })?;
    if !meta.is_dir() {
        fs::copy(source, dest)?;
        return Ok(());
    }
    fs::create_dir(dest)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        copy_tree(&entry.path(), &dest.join(entry.file_name()), cancellation)?;
    }
    Ok(())
}

/// `chmod a+x`: scripts are called by their names. A file of another user stays as it is.
pub(super) fn make_executable(path: &Path) {
    let Ok(meta) = fs::metadata(path) else {
        return;
    };
    let mode = meta.permissions().mode();
    if mode & 0o111 != 0o111 {
        let changed = fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o111));
        if let Err(error) = changed {
            tracing::debug!(target: "Utils", "chmod a+x {}: {error}", path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temp_with(dir: &Path, content: &str) -> Temp {
        let temp = Temp::in_dir(dir);
        fs::write(temp.path(), content).unwrap();
        temp
    }

    #[test]
    fn equal_content_stays_and_other_content_is_an_error_unless_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let dest = dir.path().join("a.txt");
        let switch = Cancellation::default();
        let put = |content: &str, overwrite| {
            place(
                "u://x",
                temp_with(dir.path(), content),
                &dest,
                overwrite,
                &switch,
            )
        };
        put("one", false).unwrap();
        let inode = fs::metadata(&dest).unwrap().ino();
        put("one", true).unwrap();
        assert_eq!(fs::metadata(&dest).unwrap().ino(), inode);
        let shown = dest.display();
        let refused = format!("File {shown} exists and does not match contents of u://x");
        assert_eq!(put("two", false), Err(TaskError::spark(refused)));
        assert_eq!(fs::read_to_string(&dest).unwrap(), "one");
        put("two", true).unwrap();
        assert_eq!(fs::read_to_string(&dest).unwrap(), "two");
        assert_eq!(
            names(dir.path()).unwrap(),
            ["a.txt"],
            "nothing is left behind"
        );
    }

    #[test]
    fn a_file_that_another_writer_is_copying_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let dest = dir.path().join("big");
        fs::write(&dest, "12").unwrap();
        let writer = std::thread::spawn({
            let dest = dest.clone();
            move || {
                for content in ["1234", "123456", "12345678"] {
                    std::thread::sleep(Duration::from_millis(60));
                    fs::write(&dest, content).unwrap();
                }
            }
        });
        let new = temp_with(dir.path(), "12345678");
        place("u", new, &dest, false, &Cancellation::default()).unwrap();
        writer.join().unwrap();
    }

    #[test]
    fn waiting_ends_when_the_task_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let dest = dir.path().join("big");
        fs::write(&dest, "12").unwrap();
        let switch = Cancellation::default();
        switch.cancel("enough");
        let placed = place("u", temp_with(dir.path(), "123"), &dest, false, &switch);
        assert_eq!(placed, Err(TaskError::Killed("enough".into())));
    }

    #[test]
    fn trees_are_copied_and_compared() {
        let dir = tempfile::tempdir().unwrap();
        let (source, dest) = (dir.path().join("s"), dir.path().join("d"));
        fs::create_dir_all(source.join("x/y")).unwrap();
        fs::write(source.join("x/y/f"), "1").unwrap();
        let switch = Cancellation::default();
        copy("u", &source, &dest, false, &switch).unwrap();
        assert_eq!(fs::read_to_string(dest.join("x/y/f")).unwrap(), "1");
        copy("u", &source, &dest, false, &switch).unwrap();
        fs::write(source.join("more"), "").unwrap();
        assert!(copy("u", &source, &dest, false, &switch).is_err());
        copy("u", &source, &dest, true, &switch).unwrap();
        assert!(dest.join("more").exists());
        let missing = copy(
            "u",
            &dir.path().join("no"),
            &dir.path().join("n"),
            false,
            &switch,
        );
        assert!(
            matches!(missing, Err(TaskError::Exception(e)) if e.class_name.ends_with("NoSuchFileException"))
        );
    }

    #[test]
    fn a_tree_in_use_stays_unless_its_content_changes() {
        let dir = tempfile::tempdir().unwrap();
        let dest = dir.path().join("deep/env");
        let tree = |content: &str| {
            let temp = Temp::in_dir(dir.path());
            fs::create_dir_all(temp.path().join("lib")).unwrap();
            fs::write(temp.path().join("lib/m.py"), content).unwrap();
            std::os::unix::fs::symlink("lib", temp.path().join("link")).unwrap();
            temp
        };
        swap_tree(tree("1"), &dest).unwrap();
        let inode = fs::metadata(&dest).unwrap().ino();
        fs::create_dir(dest.join("lib/__pycache__")).unwrap();
        swap_tree(tree("1"), &dest).unwrap();
        assert_eq!(fs::metadata(&dest).unwrap().ino(), inode);
        swap_tree(tree("2"), &dest).unwrap();
        assert_eq!(fs::read_to_string(dest.join("lib/m.py")).unwrap(), "2");
        assert!(!dest.join("lib/__pycache__").exists());
        fs::write(dest.join("stray"), "").unwrap();
        swap_tree(tree("2"), &dest).unwrap();
        assert!(!dest.join("stray").exists());
        assert_eq!(names(dir.path()).unwrap(), ["deep"]);
    }

    #[test]
    fn everybody_may_call_what_was_fetched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.sh");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        make_executable(&path);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o751);
    }
}
