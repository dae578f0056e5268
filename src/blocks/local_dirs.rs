//! The directories in which an executor keeps its files (Spark's `DiskBlockManager`).

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Names that are tried in one root.
const ATTEMPTS: usize = 10;

/// One `blockmgr-<uuid>` directory in each root. A file lives in a two-digit subdirectory that its name determines, so that
/// every process that knows the directories finds it: the JVM in this process, other executors on this host, the external shuffle service.
#[derive(Debug)]
pub struct LocalDirs {
    dirs: Vec<PathBuf>,
    sub_directories: u32,
    keep: bool,
}

/// No root can hold a directory. Spark exits with code 53.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Failed to create any local dir.")]
pub struct NoLocalDir;

impl LocalDirs {
    /// Makes a directory in each of `roots`; a root where that fails is left out and logged. `sub_directories` is
    /// `spark.diskStore.subDirectories`. With `keep` the files outlive this process, because the external shuffle service serves them.
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
        Ok(Self {
            dirs,
            sub_directories: sub_directories.max(1),
            keep,
        })
    }

    /// The directories that another executor on this host keeps its files in. They are not touched.
    pub(super) fn of_another(dirs: Vec<PathBuf>, sub_directories: u32) -> Self {
        Self {
            dirs,
            sub_directories: sub_directories.max(1),
            keep: true,
        }
    }

    /// The directories, in the order that decides which file is where.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Where the file of that name is, if it exists. `name` must be a file name, not a path.
    pub fn path(&self, name: &str) -> PathBuf {
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

    /// A name for a new file outside of the hashed subdirectories, which the JVM wants to make itself, with its own permissions.
    pub(super) fn scratch(&self) -> PathBuf {
        let name = format!("temp_local_{}", Uuid::new_v4());
        let dir = self
            .dirs
            .get(non_negative_hash(&name) as usize % self.dirs.len())
            .map(PathBuf::as_path);
        dir.unwrap_or(Path::new("")).join(name)
    }

    /// Makes the subdirectory of a file of which [`LocalDirs::path`] gave the path; it may come into being at the same time elsewhere. `open` allows the
    /// external shuffle service, another user of the same group, to remove files in it.
    pub(super) fn create_parent(of: &Path, open: bool) -> io::Result<()> {
        let Some(dir) = of.parent() else {
            return Ok(());
        };
        match std::fs::create_dir(dir) {
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
        for dir in &self.dirs {
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
                dirs.path(name),
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

        let kept = LocalDirs::create(&roots[1..], 64, true).unwrap();
        kept.remove();
        assert!(kept.dirs()[0].exists());
        assert_eq!(
            LocalDirs::create(&roots[..1], 64, false).unwrap_err(),
            NoLocalDir
        );
        assert_eq!(LocalDirs::create(&[], 64, false).unwrap_err(), NoLocalDir);
    }
}
