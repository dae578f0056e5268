//! The directories in which an executor keeps its files (Spark's `DiskBlockManager`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;

use super::FileName;

/// Names that are tried in one root.
const ATTEMPTS: usize = 10;

/// One `blockmgr-<uuid>` directory in each root. A file lives in a two-digit subdirectory that its name determines, so
/// that every process that knows the directories finds it: the JVM in this process, other executors on this host, the
/// external shuffle service.
#[derive(Debug)]
pub struct LocalDirs {
    dirs: Vec<PathBuf>,
    sub_directories: u32,
    keep: bool,
    /// What each directory looked like at the last [`LocalDirs::restore`].
    seen: Vec<Mutex<Seen>>,
    /// They are another executor's, or the executor has ended: none is made again.
    gone: AtomicBool,
}

/// A directory as it was.
#[derive(Debug, Default)]
struct Seen {
    /// Its permissions.
    mode: Option<u32>,
    /// When an entry came or went last, in seconds and nanoseconds of the file system's clock.
    changed: Option<(i64, i64)>,
    /// Subdirectories and their permissions.
    subdirectories: BTreeMap<OsString, u32>,
}

/// No root can hold a directory. Spark exits with code 53.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Failed to create any local dir.")]
pub struct NoLocalDir;

impl LocalDirs {
    /// Makes a directory in each of `roots`; a root where that fails is left out and logged. `sub_directories` is
    /// `spark.diskStore.subDirectories`. With `keep` the files outlive this process, because the external shuffle
    /// service serves them.
    ///
    /// # Errors
    /// No root could be used.
    pub fn create(roots: &[PathBuf], sub_directories: u32, keep: bool) -> Result<Self, NoLocalDir> {
        let mut dirs = Vec::with_capacity(roots.len());
        for root in roots {
            match create_in(root) {
                Ok(dir) => {
                    tracing::info!(target: "DiskBlockManager", "Created local directory at {}", dir.display());
                    dirs.push(dir);
                }
                Err(error) => tracing::error!(
                    target: "DiskBlockManager",
                    "Failed to create local dir in {}. Ignoring this directory. {error}", root.display()
                ),
            }
        }
        if dirs.is_empty() {
            return Err(NoLocalDir);
        }
        let dirs = Self::new(dirs, sub_directories, keep, false);
        dirs.restore();
        Ok(dirs)
    }

    fn new(dirs: Vec<PathBuf>, sub_directories: u32, keep: bool, gone: bool) -> Self {
        Self {
            seen: dirs.iter().map(|_| Mutex::default()).collect(),
            dirs,
            sub_directories: sub_directories.max(1),
            keep,
            gone: AtomicBool::new(gone),
        }
    }

    /// The directories that another executor on this host keeps its files in. They are not touched.
    pub(super) fn of_another(dirs: Vec<PathBuf>, sub_directories: u32) -> Self {
        Self::new(dirs, sub_directories, true, true)
    }

    /// Makes directories again that something else has removed, such as a cleaner of temporary files, with the
    /// subdirectories that they had: Spark's disk block manager in the JVM never looks again whether one that it has
    /// used is there. What was in them is lost. To be called before a task runs; looks at each directory itself only,
    /// unless that has changed.
    pub fn restore(&self) {
        for (dir, seen) in self.dirs.iter().zip(&self.seen) {
            // Not while they are being removed.
            let mut seen = seen.lock();
            if self.gone.load(Ordering::Acquire) {
                return;
            }
            if let Err(error) = seen.restore(dir) {
                tracing::error!(target: "DiskBlockManager", "Cannot make {} again: {error}", dir.display());
            }
        }
    }

    /// The directories, in the order that decides which file is where.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Where the file of that name is, if it exists.
    pub fn path(&self, name: &FileName) -> PathBuf {
        let name = name.as_str();
        let hash = non_negative_hash(name);
        // Their number fits the hash's range; another executor may say that it has none.
        let count = self.dirs.len().max(1) as u32;
        let dir = self
            .dirs
            .get((hash % count) as usize)
            .map(PathBuf::as_path)
            .unwrap_or(Path::new(""));
        dir.join(format!("{:02x}", hash / count % self.sub_directories))
            .join(name)
    }

    /// A name for a new file outside of the hashed subdirectories, which the JVM wants to make itself, with its own
    /// permissions.
    pub(super) fn scratch(&self) -> PathBuf {
        let name = format!("temp_local_{}", Uuid::new_v4());
        let dir = self
            .dirs
            .get(non_negative_hash(&name) as usize % self.dirs.len())
            .map(PathBuf::as_path)
            .unwrap_or(Path::new(""));
        if !dir.exists() {
            self.restore();
        }
        dir.join(name)
    }

    /// Makes the subdirectory of a file of which [`LocalDirs::path`] gave the path; it may come into being at the same
    /// time elsewhere. `open` allows the external shuffle service, another user of the same group, to remove files in
    /// it.
    pub(super) fn create_parent(&self, of: &Path, open: bool) -> io::Result<()> {
        let Some(dir) = of.parent() else {
            return Ok(());
        };
        let mut made = std::fs::create_dir(dir);
        if matches!(&made, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            self.restore();
            made = std::fs::create_dir(dir);
        }
        match made {
            Ok(()) if open => add_permissions(dir, 0o020),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Allows the external shuffle service, another user, to read a file.
    pub(super) fn make_world_readable(path: &Path) -> io::Result<()> {
        add_permissions(path, 0o004)
    }

    /// Removes the directories and everything in them, unless they outlive this process.
    pub fn remove(&self) {
        if self.keep {
            return;
        }
        self.gone.store(true, Ordering::Release);
        for (dir, seen) in self.dirs.iter().zip(&self.seen) {
            let _not_restored = seen.lock();
            match std::fs::remove_dir_all(dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::error!(
                        target: "DiskBlockManager",
                        "Exception while deleting local spark dir: {}: {error}", dir.display()
                    );
                }
                _ => {}
            }
        }
    }
}

impl Seen {
    fn restore(&mut self, dir: &Path) -> io::Result<()> {
        match dir.metadata() {
            Ok(now) if self.changed == Some(changed(&now)) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                tracing::warn!(target: "DiskBlockManager", "Local directory {} is gone: it is made again", dir.display());
                std::fs::create_dir_all(dir)?;
                if let Some(mode) = self.mode {
                    std::fs::set_permissions(dir, Permissions::from_mode(mode))?;
                }
            }
            Err(error) => return Err(error),
        }
        for (name, mode) in &self.subdirectories {
            let path = dir.join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => std::fs::set_permissions(path, Permissions::from_mode(*mode))?,
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => {}
            }
        }
        // What comes while the entries are read is seen the next time.
        let now = dir.metadata()?;
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            if is_subdirectory(&entry) {
                let mode = entry.metadata()?.mode();
                self.subdirectories.insert(entry.file_name(), mode);
            }
        }
        self.mode = Some(now.mode());
        self.changed = Some(changed(&now));
        Ok(())
    }
}

fn changed(metadata: &std::fs::Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

/// Whether this is one of the hashed subdirectories: others come and go with those who made them.
fn is_subdirectory(entry: &std::fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.as_encoded_bytes();
    name.len() >= 2
        && name.iter().all(u8::is_ascii_hexdigit)
        && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn add_permissions(path: &Path, mode: u32) -> io::Result<()> {
    let now = std::fs::metadata(path)?.permissions().mode();
    std::fs::set_permissions(path, Permissions::from_mode(now | mode))
}

fn create_in(root: &Path) -> io::Result<PathBuf> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let dir = root.join(format!("blockmgr-{}", Uuid::new_v4()));
        match std::fs::create_dir_all(&dir).and_then(|()| dir.canonicalize()) {
            Ok(dir) => return Ok(dir),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::Other.into()))
}

/// Spark's `Utils.nonNegativeHash` of a Java string.
fn non_negative_hash(text: &str) -> u32 {
    let hash = text.encode_utf16().fold(0i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(unit.into())
    });
    hash.checked_abs().unwrap_or(0).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Directory and subdirectory of three with 64 as a JVM computes them.
    #[test]
    fn files_are_where_a_jvm_looks_for_them() {
        let root = tempfile::tempdir().unwrap();
        let roots: Vec<_> = ["a", "b", "c"]
            .iter()
            .map(|name| root.path().join(name))
            .collect();
        let dirs = LocalDirs::create(&roots, 64, false).unwrap();
        for (name, dir, sub) in [
            ("shuffle_0_0_0.data", 0, "04"),
            ("shuffle_0_0_0.index", 2, "3a"),
            ("shuffle_12_345_0.checksum.ADLER32", 1, "1c"),
            ("rdd_3_7", 1, "1f"),
            ("temp_local_\u{e9}\u{1f600}", 1, "04"),
            ("shuffle_1_2147483648_0.index", 2, "38"),
        ] {
            assert_eq!(
                dirs.path(&name.parse().unwrap()),
                dirs.dirs()[dir].join(sub).join(name),
                "{name}"
            );
        }
        assert_eq!(
            non_negative_hash("polygenelubricants"),
            0,
            "Integer.MIN_VALUE"
        );
    }

    #[test]
    fn directories_come_and_go_as_spark_s() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        let roots = [file.join("x"), root.path().join("deep/er")];
        let dirs = LocalDirs::create(&roots, 64, false).unwrap();
        let [dir] = dirs.dirs() else {
            panic!("{dirs:?}")
        };
        assert!(
            dir.starts_with(root.path().canonicalize().unwrap().join("deep/er")),
            "{dir:?}"
        );
        assert!(
            dir.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("blockmgr-")
        );
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o700, 0o700);
        std::fs::create_dir(dir.join("0a")).unwrap();
        std::fs::write(dir.join("0a/rdd_1_1"), "x").unwrap();
        dirs.remove();
        assert!(!dir.exists());
        dirs.remove();
        // Nor is it made again by what still runs.
        dirs.restore();
        let late = dirs.path(&"shuffle_0_0_0.data".parse().unwrap());
        assert!(dirs.create_parent(&late, false).is_err());
        assert!(!dirs.scratch().parent().unwrap().exists());

        let kept = LocalDirs::create(&roots[1..], 64, true).unwrap();
        kept.remove();
        assert!(kept.dirs()[0].exists());
        assert_eq!(
            LocalDirs::create(&roots[..1], 64, false).unwrap_err(),
            NoLocalDir
        );
        assert_eq!(LocalDirs::create(&[], 64, false).unwrap_err(), NoLocalDir);
    }

    /// A cleaner of temporary files comes along.
    #[test]
    fn removed_directories_are_made_again() {
        let root = tempfile::tempdir().unwrap();
        let roots = ["a", "b"].map(|name| root.path().join(name));
        let dirs = LocalDirs::create(&roots, 64, false).unwrap();
        let file = dirs.path(&"shuffle_0_0_0.data".parse().unwrap());
        let (dir, sub) = (&dirs.dirs()[0], file.parent().unwrap());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        std::fs::set_permissions(dir, Permissions::from_mode(0o750)).unwrap();
        dirs.create_parent(&file, true).unwrap();
        assert_eq!(mode(sub) & 0o020, 0o020);
        // The JVM makes one, too, and a lane something else.
        std::fs::create_dir(dir.join("2f")).unwrap();
        std::fs::create_dir(dir.join("datafusion-x")).unwrap();
        dirs.restore();
        // With everything above it.
        std::fs::remove_dir_all(root.path()).unwrap();
        dirs.restore();
        assert_eq!((mode(dir), mode(sub) & 0o020), (0o750, 0o020));
        assert!(dir.join("2f").is_dir() && !dir.join("datafusion-x").exists());
        assert!(dirs.dirs()[1].is_dir());
        // One subdirectory only.
        std::fs::remove_dir(sub).unwrap();
        dirs.restore();
        assert!(sub.is_dir());
        // Native lanes make it when they need it.
        std::fs::remove_dir_all(root.path()).unwrap();
        std::fs::write(dirs.scratch(), "x").unwrap();
        std::fs::remove_dir_all(root.path()).unwrap();
        dirs.create_parent(&file, false).unwrap();
        std::fs::write(&file, "x").unwrap();
        // Another executor's are left alone.
        std::fs::remove_dir_all(root.path()).unwrap();
        LocalDirs::of_another(dirs.dirs().to_vec(), 64).restore();
        assert!(!root.path().exists());
    }
}
